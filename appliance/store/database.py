"""``recall.db``: connections, transactions, and nothing about what is in it.

One writer at a time, under a lock; readers have connections of their own and never wait for it (WAL).
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FILE_MODE
from appliance.store.migrations import migrate
from appliance.store.scripts import searchable

CACHE_KIB = 32_768
"""SQLite's page cache of the connection that writes; large enough for the hot indexes of a million messages."""

READER_CACHE_KIB = 4_096
"""The same of each one that reads: a server reads on forty threads, and what they read is in the system's cache."""

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
        self._leases = threading.Lock()
        self._open_readers: list[_Lease] = []
        self._closed = False
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
            self._check_open()
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
            self._check_open()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            finally:
                self._roll_back()

    def _check_open(self) -> None:
        if self._closed:
            raise _is_closed(self.path)

    def _roll_back(self) -> None:
        # A full disk ends some transactions by itself, and leaves one open whose COMMIT failed.
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def read(self) -> sqlite3.Connection:
        """This thread's reading connection. It sees what was committed when a statement begins."""
        lease: _Lease | None = getattr(self._readers, "lease", None)
        if lease is None:
            with self._leases:
                if self._closed:
                    raise _is_closed(self.path)
                with _as_store_errors(self.path):
                    connection = self._connect(_Reader)
                    connection.execute("PRAGMA query_only = ON")
                self._close_ended()
                # This function's own reference stands for the lease's, which is all that is left in the end.
                lease = _Lease(connection, threading.current_thread(), sys.getrefcount(connection))
                self._open_readers.append(lease)
            self._readers.lease = lease
        return lease.connection

    def _close_ended(self) -> None:
        """Close the connections of threads that have ended, unless somebody still reads with what one began."""
        kept = []
        for lease in self._open_readers:
            if lease.thread.is_alive() or sys.getrefcount(lease.connection) > lease.unused:
                kept.append(lease)
            else:
                lease.connection.close()
        self._open_readers = kept

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
        """Close all connections, after the transaction under way. Whoever reads on gets a StoreError."""
        with self._leases:
            self._closed = True
            for lease in self._open_readers:
                lease.connection.close()
            self._open_readers.clear()
        with self._lock:
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
        cache = READER_CACHE_KIB if kind is _Reader else CACHE_KIB
        connection.execute(f"PRAGMA cache_size = -{cache}")
        connection.execute("PRAGMA temp_store = MEMORY")
        # What is deleted is written over with zeros: an ingest takes no longer, a deletion a third.
        connection.execute("PRAGMA secure_delete = ON")
        return connection


@dataclass(frozen=True, slots=True)
class _Lease:
    """A reading connection, the thread that it was opened for, and how many references it has while nobody reads
    with it."""

    connection: sqlite3.Connection
    thread: threading.Thread
    unused: int


class _Reader(sqlite3.Connection):
    """A connection for reading, whose errors are the program's own: damage shows only where it is read."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.path = path

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        with _as_store_errors(self.path):
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
            if "closed database" in str(error):
                raise _is_closed(self.path) from error
            raise _store_error(error, self.path) from error

    def _as_store_errors(self) -> AbstractContextManager[None]:
        return _as_store_errors(self.path)


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.ProgrammingError as error:
        if "closed database" in str(error):
            raise _is_closed(path) from error
        raise
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise _store_error(error, path) from error


def _is_closed(path: Path) -> StoreError:
    return StoreError("the memory is closed", where=str(path), hint="open it again")


def _store_error(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    # The last byte is the kind; the others say more of it.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if kind in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreCorrupt(f"the database is damaged ({error})", where=str(path), hint=RESTORE)
    if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        hint = "see that the disk has room and is well, then do it again: all that was acknowledged is kept"
        return StoreError(f"the database can't be read or written ({error})", where=str(path), hint=hint)
    return StoreError(f"the database refuses ({error})", where=str(path))
