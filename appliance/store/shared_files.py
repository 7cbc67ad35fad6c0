"""Reads files that SQLite has open in this process.

POSIX releases all locks of a process on a file as soon as the process closes any descriptor of that file. SQLite guards
the database with such locks: without them another program that closes it takes itself for the last one and deletes the
log, and what is written from then on is lost (https://www.sqlite.org/howtocorrupt.html, section 2.2). A descriptor of a
file of an open database therefore stays open until the database is closed.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What the names of the files of a database end with."""

_lock = threading.RLock()
_open_databases: Counter[Path] = Counter()
_descriptors: dict[Path, dict[tuple[int, int], int]] = {}
"""Descriptors by database, and by device and number of the file: the log may be replaced by another one."""


def database_opened(path: Path) -> None:
    """Note that a database is open in this process; before its first connection."""
    with _lock:
        _open_databases[path.resolve()] += 1


def database_closed(path: Path) -> None:
    """Close what was kept open for a database; after its last connection."""
    with _lock:
        path = path.resolve()
        _open_databases[path] -= 1
        if _open_databases[path] > 0:
            return
        del _open_databases[path]
        for descriptor in _descriptors.pop(path, {}).values():
            os.close(descriptor)


@contextmanager
def descriptor_of(path: Path) -> Iterator[int]:
    """A descriptor for reading a file at given places; its own position is shared.

    Raises:
        OSError: The file can't be opened.
    """
    with _lock:
        database = _database_of(path)
        if database is None:
            descriptor = os.open(path, os.O_RDONLY)
        else:
            kept = _descriptors.setdefault(database, {})
            stat = path.stat()
            if (stat.st_dev, stat.st_ino) not in kept:
                descriptor = os.open(path, os.O_RDONLY)
                stat = os.fstat(descriptor)
                kept[stat.st_dev, stat.st_ino] = descriptor
            descriptor = kept[stat.st_dev, stat.st_ino]
    try:
        yield descriptor
    finally:
        if database is None:
            os.close(descriptor)


def _database_of(path: Path) -> Path | None:
    """The open database that a file belongs to."""
    if not _open_databases:
        return None
    resolved = path.resolve()
    names = (resolved.name.removesuffix(suffix) for suffix in DATABASE_SUFFIXES if resolved.name.endswith(suffix))
    return next((one for name in names if (one := resolved.with_name(name)) in _open_databases), None)
