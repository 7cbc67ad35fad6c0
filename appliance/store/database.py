"""``recall.db``: connections, transactions, and nothing about what is in it.

One writer at a time, under a lock; readers have connections of their own and never wait for it (WAL).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FILE_MODE
from appliance.store.migrations import migrate
from appliance.store.scripts import searchable

CACHE_KIB = 32_768
"""SQLite's page cache a connection; large enough for the hot indexes of a million messages."""

RESTORE = "restore a backup, or move the file away and ingest the exports again"


class Database:
    """The truth's connections. ``write`` is a transaction that has reached the disk when it ends."""

    def __init__(self, path: Path) -> None:
        """Open or create the database and bring its schema up to date.

        Raises:
            StoreCorrupt: the file is not a database or is damaged.
            StoreVersion: it was written by a newer version.
        """
        self.path = path
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        self._lock = threading.RLock()
        self._raised: BaseException | None = None
        self._readers = threading.local()
        # A thread's connection goes with the thread: a server's threads come and go.
        self._open_readers: weakref.WeakSet[sqlite3.Connection] = weakref.WeakSet()
        with _as_store_errors(path):
            self._writer = self._connect()
            try:
                migrate(self._writer, str(path))
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed and on the disk when the block ends, rolled back if it raises.

        Within another of the same thread it is a part of that one.
        """
        with self._lock, _as_store_errors(self.path), self._as_raised():
            if self._writer.in_transaction:
                yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                self._roll_back()

    @contextmanager
    def trial(self) -> Iterator[sqlite3.Connection]:
        """What is written within is rolled back at the end: to see what a change would do."""
        with self._lock, _as_store_errors(self.path), self._as_raised():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        # A full disk ends some transactions by itself, and leaves one open whose COMMIT failed.
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def read(self) -> sqlite3.Connection:
        """This thread's reading connection. It sees what was committed when a statement begins."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            with _as_store_errors(self.path):
                connection = self._connect(_Reader)
                connection.execute("PRAGMA query_only = ON")
            self._readers.connection = connection
            with self._lock:
                self._open_readers.add(connection)
        return connection

    def compact(self) -> None:
        """Write the whole database anew, so that nothing of what was deleted is left in it or in its log.

        Raises:
            StoreError: somebody is reading, or the disk has no room for a second one.
        """
        with self._lock, _as_store_errors(self.path):
            # In memory, a copy of ten years of chats would be as large as they are.
            self._writer.execute("PRAGMA temp_store = FILE")
            try:
                self._writer.execute("VACUUM")
            finally:
                self._writer.execute("PRAGMA temp_store = MEMORY")
            (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                "something is being read, so that the log can't be emptied",
                where=str(self.path),
                hint="do it again when an export or a long search has ended",
            )

    def close(self) -> None:
        with self._lock:
            for reader in [*self._open_readers]:
                reader.close()
            self._open_readers.clear()
            self._writer.close()

    def _searchable(self, text: str) -> str:
        try:
            return searchable(text)
        except BaseException as error:
            self._raised = error
            raise

    @contextmanager
    def _as_raised(self) -> Iterator[None]:
        """SQLite forgets what a function of ours raised: an interrupt must not look like its own error."""
        self._raised = None
        try:
            yield
        except sqlite3.OperationalError:
            raised, self._raised = self._raised, None
            if raised is not None:
                raise raised from None
            raise

    def _connect(self, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=30, factory=kind
        )
        words = searchable if kind is _Reader else self._searchable
        connection.create_function("searchable", 1, words, deterministic=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        # What is deleted is written over with zeros: an ingest takes no longer, a deletion a third.
        connection.execute("PRAGMA secure_delete = ON")
        return connection


class _Reader(sqlite3.Connection):
    """A connection for reading, whose errors are the program's own: damage shows only where it is read."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.path = path

    def __del__(self) -> None:
        self.close()

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        rows = self.cursor(_Rows)
        rows.path = self.path
        return rows.execute(sql, values)


class _Rows(sqlite3.Cursor):
    path: Path

    def execute(self, sql: str, values: Any = (), /) -> Self:
        with self._as_store_errors():
            return super().execute(sql, values)

    def fetchone(self) -> Any:
        with self._as_store_errors():
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with self._as_store_errors():
            return super().fetchall()

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.DatabaseError as error:
            raise _store_error(error, self.path) from error

    def _as_store_errors(self) -> AbstractContextManager[None]:
        return _as_store_errors(self.path)


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise _store_error(error, path) from error


def _store_error(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    # The last byte is the kind; the others say more of it.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if kind in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreCorrupt(f"the database is damaged ({error})", where=str(path), hint=RESTORE)
    if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        hint = "see that the disk has room and is well, then do it again: all that was acknowledged is kept"
        return StoreError(f"the database can't be read or written ({error})", where=str(path), hint=hint)
    return StoreError(f"the database refuses ({error})", where=str(path))
