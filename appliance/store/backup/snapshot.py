"""The files of a home as they are at one moment, while it is in use.

The database is copied first, by SQLite's online backup in one read transaction: writers go on, and the copy holds what
was committed when it began. All other files are only appended to or replaced as a whole, and what the database refers
to was on the disk before it committed; so a file that is read later has at least what the copy needs. Only an erasure
writes over what is there: the caller keeps it out.

The index is not part of a backup. It is made again from the vectors when the restored home is first opened; the token
vectors, which would be most of it, are computed again from the texts in the background.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from appliance import paths
from appliance.errors import StoreError
from appliance.lazy_dataclasses import dataclass
from appliance.paths import DATABASE, FILE_MODE, Home
from appliance.store import room
from appliance.store.database import as_store_errors
from appliance.store.token_vectors import TOKENS_SUFFIX

COPY_NAME = "backup.tmp"
"""The copy of the database while a backup is being made."""

LEFT_OUT = frozenset(
    (
        DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", COPY_NAME,
        "index",  # made again from the vectors
        "inbox", "uploads",  # exports, which have been read
        "erasing",  # words of what is being forgotten
        "lock", "socket", "daemon.json", "token", "logs",  # of this machine and its processes
        "backups",  # what is known of other backups, and one of an earlier schema
    )
)  # fmt: skip
"""Entries of a home that a backup leaves out, or takes from a copy."""


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file of the snapshot: its path in the home, and the file to read it from, up to so many bytes."""

    path: str
    source: Path
    bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a home at one moment, with the number of its messages and the version of its schema."""

    files: tuple[SnapshotFile, ...]
    messages: int
    schema: int


@contextmanager
def take(home: Home, *, is_read_only: bool = False) -> Iterator[Snapshot]:
    """The files of a home at this moment, for as long as the context lasts. A home that is read-only is not copied:
    nothing changes it.

    Raises:
        DiskFull: There is no room for a copy of the database.
        StoreError: The database can't be read.
    """
    if is_read_only:
        uri = f"{home.database.as_uri()}?mode=ro&immutable=1"
        with as_store_errors(home.database), closing(sqlite3.connect(uri, uri=True)) as database:
            messages, schema = _counts(database)
        yield Snapshot(tuple(_files(home, home.database)), messages, schema)
        return
    copy = home.root / COPY_NAME
    room.require_room(home.root, home.database.stat().st_size, "copy the database for a backup")
    try:
        messages, schema = _copy_database(home.database, copy)
        yield Snapshot(tuple(_files(home, copy)), messages, schema)
    finally:
        remove_copy(home)


def _files(home: Home, database: Path) -> Iterator[SnapshotFile]:
    yield SnapshotFile(DATABASE, database, database.stat().st_size)
    for path in _other_files(home.root):
        with suppress(FileNotFoundError):  # replaced or removed meanwhile
            yield SnapshotFile(path.relative_to(home.root).as_posix(), path, path.stat().st_size)


def remove_copy(home: Home) -> None:
    """Remove the copy of the database that a backup has left when its process was killed."""
    with suppress(OSError):
        (home.root / COPY_NAME).unlink()


def _copy_database(database: Path, copy: Path) -> tuple[int, int]:
    """Copy the database. Returns the number of its messages and the version of its schema."""
    try:
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_TRUNC, FILE_MODE))
    except OSError as error:
        raise StoreError(
            f"The database can't be copied: {error.strerror}.",
            where=str(copy),
            hint="Check that the disk works and has room, then try again.",
        ) from error
    with as_store_errors(copy), closing(sqlite3.connect(copy, isolation_level=None)) as target:
        # The copy does not outlive this process, and nothing is ever rolled back in it.
        target.execute("PRAGMA journal_mode = OFF")
        target.execute("PRAGMA synchronous = OFF")
        with as_store_errors(database), closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as source:
            source.backup(target)
        return _counts(target)


def _counts(database: sqlite3.Connection) -> tuple[int, int]:
    """The number of messages, and the version of the schema."""
    (messages,) = database.execute("SELECT count(*) FROM message").fetchone()
    (schema,) = database.execute("PRAGMA user_version").fetchone()
    return messages, schema


def _other_files(root: Path) -> Iterator[Path]:
    for entry in sorted(root.iterdir()):
        if entry.name in LEFT_OUT or entry.name.endswith(".new"):
            continue
        if entry.is_dir():
            yield from (path for path in paths.files(entry) if path.suffix != TOKENS_SUFFIX)
        elif entry.is_file():
            yield entry
