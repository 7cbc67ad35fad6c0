"""Exports that are SQLite databases (iMessage, Open WebUI), read without writing a byte beside them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from appliance.ingest.parse.base import Document

MAGIC = b"SQLite format 3\x00"


@contextmanager
def opened(document: Document) -> Iterator[sqlite3.Connection]:
    """A connection to the database that can only read; text that is not UTF-8 gets U+FFFD.

    A member of a zip, and a database whose last writes stand in a log beside it (chat.db-wal), is copied
    to a private temporary folder first: opening it in place would write there.

    Raises sqlite3.DatabaseError when it is damaged, and what reading raises (``text.READ_ERRORS``).
    """
    log = document.path.with_name(document.path.name + "-wal") if document.path else None
    has_log = log is not None and log.exists() and log.stat().st_size > 0
    with tempfile.TemporaryDirectory(prefix="appliance-") as folder:
        place = document.path
        if place is None or has_log:
            place = Path(folder) / "copy.db"
            with document.open() as source, place.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            if log is not None and has_log:
                shutil.copyfile(log, place.with_name(place.name + "-wal"))
        # What is a copy may get its log merged; what is not must not even get a lock beside it.
        mode = "mode=ro&immutable=1" if place == document.path else "mode=rw"
        with closing(sqlite3.connect(f"{place.absolute().as_uri()}?{mode}", uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = ON")
            yield connection


def tables(document: Document) -> frozenset[str]:
    """The names of its tables; none when it can't be read."""
    try:
        with opened(document) as connection:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            return frozenset(name for (name,) in connection.execute(query))
    except (sqlite3.DatabaseError, OSError):
        return frozenset()
