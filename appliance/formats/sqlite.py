"""Exports that are SQLite databases (iMessage, Open WebUI), read without writing next to them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from appliance.formats.base import Document

DAMAGED = (sqlite3.DatabaseError, OSError)
"""The errors of opening a damaged database."""

MAGIC = b"SQLite format 3\x00"


@contextmanager
def open_readonly(document: Document) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection; bytes of texts that are not UTF-8 become U+FFFD.

    A member of a zip, or a database with a write-ahead log (chat.db-wal), is first copied to a private temporary
    folder, because opening it in place would write there.

    Raises: sqlite3.DatabaseError if the database is damaged, and the errors of reading (``text.READ_ERRORS``).
    """
    log = document.path.with_name(document.path.name + "-wal") if document.path else None
    has_log = log is not None and log.exists() and log.stat().st_size > 0
    with tempfile.TemporaryDirectory(prefix="appliance-") as folder:
        path = document.path
        if path is None or has_log:
            path = Path(folder) / "copy.db"
            with document.open() as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            if log is not None and has_log:
                shutil.copyfile(log, path.with_name(path.name + "-wal"))
        # SQLite may merge the log of a copy; next to an original it must not even create a lock.
        mode = "mode=ro&immutable=1" if path == document.path else "mode=rw"
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = ON")
            yield connection


def table_names(document: Document) -> frozenset[str]:
    """The names of a database's tables.

    Raises: ``DAMAGED`` if it can't be read."""
    with open_readonly(document) as connection:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        return frozenset(name for (name,) in connection.execute(query))
