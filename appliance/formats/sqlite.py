"""Histories that are SQLite databases (iMessage, Open WebUI, coding agents), read without writing next to them.

A program may be writing a database while it is read. Then a private copy of it is read, so that the program never waits
for a lock, and nothing is created or changed in its folder.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from appliance.formats.base import Document

DAMAGED = (sqlite3.DatabaseError, OSError)
"""The errors of opening a damaged database."""

MAGIC = b"SQLite format 3\x00"

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What the names of the files end with that SQLite keeps beside a database while a program uses it."""

_WAL_HEADER_BYTES = 32
# How often a database is copied that its program changes during the copy, before that is reported.
_MAX_COPIES = 8


@contextmanager
def open_readonly(document: Document) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection; bytes of texts that are not UTF-8 become U+FFFD.

    A member of a zip, or a database with a log beside it (chat.db-wal), is first copied to a private temporary folder,
    because opening it in place would write there.

    Raises: sqlite3.DatabaseError if the database is damaged, or does not stay the same for the time of a copy, and the
    errors of reading (``text.READ_ERRORS``).
    """
    with tempfile.TemporaryDirectory(prefix="appliance-") as folder:
        path = document.path
        if path is None:
            path = Path(folder) / "copy.db"
            with document.open() as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        elif is_in_use(path):
            path = _snapshot(path, Path(folder) / "copy.db")
        # SQLite may merge the log of a copy; next to an original it must not even create a lock.
        mode = "mode=ro&immutable=1" if path == document.path else "mode=rw"
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = ON")
            yield connection


def is_in_use(path: Path) -> bool:
    """Whether a program has the database at ``path`` open, or left changes in a log beside it."""
    return any(beside(path, ending).exists() for ending in SIDE_FILES)


def beside(path: Path, ending: str) -> Path:
    """The file beside a database with one of the endings of ``SIDE_FILES``."""
    return path.with_name(path.name + ending)


def _snapshot(original: Path, copy: Path) -> Path:
    """Copy a database with its log, as it was at one moment. Returns the copy.

    The log is copied after the database, and holds all that changed since it was begun. As long as it is the same log
    afterwards, a copy of the database that was cut by a checkpoint is complete with it. Without a write-ahead log,
    nothing may have changed at all.
    """
    for _ in range(_MAX_COPIES):
        before = _state(original)
        shutil.copyfile(original, copy)
        for ending in ("-wal", "-journal"):
            beside(copy, ending).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(beside(original, ending), beside(copy, ending))
        after = _state(original)
        if before == after or (len(before[1]) == _WAL_HEADER_BYTES and before[1] == after[1]):
            return copy
    raise sqlite3.OperationalError("its program changes it all the time; close the program, or try again")


def _state(path: Path) -> tuple[tuple[int, int] | None, bytes, tuple[int, int] | None]:
    """The stamp of a database, the beginning of its write-ahead log, which a new log changes, and the stamp of its
    rollback journal."""
    header = b""
    with suppress(FileNotFoundError), beside(path, "-wal").open("rb") as log:
        header = log.read(_WAL_HEADER_BYTES)
    return _stamp(path), header, _stamp(beside(path, "-journal"))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_size, stat.st_mtime_ns


def table_names(document: Document) -> frozenset[str]:
    """The names of a database's tables.

    Raises: ``DAMAGED`` if it can't be read."""
    with open_readonly(document) as connection:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        return frozenset(name for (name,) in connection.execute(query))
