"""``recall.db``: its connections and transactions, whatever it contains.

One writer at a time, under a lock; each reading thread has its own connection and never waits for the writer (WAL).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from appliance.errors import DiskFull, HomeReadOnly, OutOfMemory, StoreCorrupt, StoreError
from appliance.paths import FILE_MODE, Home
from appliance.runtime.address_space import MEMORY_HINT
from appliance.store import migrations, shared_files, text_frames
from appliance.store.damage import decode_text, is_utf8
from appliance.store.room import ROOM_HINT, free_bytes
from appliance.store.scripts import searchable


@dataclass(frozen=True, slots=True)
class PageCaches:
    """SQLite's page caches in megabytes: of the writer, large enough for the hot indexes of a million messages, and of
    each reading connection, of which a server has forty."""

    writer: int = 32
    reader: int = 4


class Database:
    """The connections to the database. A transaction of ``write`` has reached the disk when it ends."""

    is_read_only = False

    def __init__(self, path: Path, caches: PageCaches | None = None) -> None:
        """Open or create the database and bring its schema up to date.

        Raises:
            StoreCorrupt: The file is not a database or is damaged.
            StoreVersion: It was written by a version that this one can't read.
        """
        self.path = path
        self._caches = caches or PageCaches()
        self._create_file()
        self._lock = threading.RLock()
        self._callback_error: BaseException | None = None
        self._readers = threading.local()
        # Reentrant: an abandoned generator returns its lease wherever the garbage collector runs.
        self._leases = threading.RLock()
        self._open_readers: list[_ThreadReader] = []
        self._closed = False
        shared_files.database_opened(path)
        try:
            with as_store_errors(path):
                self._writer = self._connect()
                try:
                    self._settle_schema()
                except BaseException:
                    self._writer.close()
                    raise
        except BaseException:
            shared_files.database_closed(path)
            raise

    def _create_file(self) -> None:
        with suppress(FileExistsError):  # an existing one is not opened: see ``shared_files``
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))

    def _settle_schema(self) -> None:
        migrations.migrate(self._writer, str(self.path))

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed and on the disk when the block ends, rolled back if it raises.

        Inside another transaction of the same thread, the block becomes a part of that one.
        """
        with self._lock, as_store_errors(self.path), self._reraise_callback_error():
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
    def dry_run(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is always rolled back at the end: it shows what a change would do."""
        with self._lock, as_store_errors(self.path), self._reraise_callback_error():
            self._check_open()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            finally:
                self._roll_back()

    def _check_open(self) -> None:
        if self._closed:
            raise _closed_error(self.path)

    def _roll_back(self) -> None:
        # A full disk ends some transactions by itself, and leaves a transaction open whose COMMIT failed.
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def read(self) -> sqlite3.Connection:
        """Return this thread's reading connection, which stays open as long as the thread lives. A statement sees what
        was committed before it began. Use ``lease`` for rows that another thread may go on reading."""
        return self._thread_reader().connection

    @contextmanager
    def lease(self) -> Iterator[sqlite3.Connection]:
        """This thread's reading connection, which stays open until the block ends, even if the thread ends first: a
        generator may begin in one thread and continue in others."""
        reader = self._thread_reader()
        with self._leases:
            reader.leases += 1
        try:
            yield reader.connection
        finally:
            with self._leases:
                reader.leases -= 1
                self._close_ended()

    def _thread_reader(self) -> _ThreadReader:
        reader: _ThreadReader | None = getattr(self._readers, "reader", None)
        if reader is None:
            with self._leases:
                if self._closed:
                    raise _closed_error(self.path)
                with as_store_errors(self.path):
                    connection = self._connect(_ReadConnection)
                    connection.execute("PRAGMA query_only = ON")
                self._close_ended()
                reader = _ThreadReader(connection, threading.current_thread())
                self._open_readers.append(reader)
            self._readers.reader = reader
        return reader

    def _close_ended(self) -> None:
        """Close the connections of ended threads, except those with a lease."""
        kept = []
        for reader in self._open_readers:
            if reader.leases or reader.thread.is_alive():
                kept.append(reader)
            else:
                reader.connection.close()
        self._open_readers = kept

    def compact(self) -> None:
        """Rewrite the whole database, so that nothing deleted remains in it or in its log.

        Raises:
            StoreError: A reader is active, or the disk has no room for a second copy.
        """
        with self._lock, as_store_errors(self.path):
            # In memory, the copy would need as much space as the database.
            self._writer.execute("PRAGMA temp_store = FILE")
            try:
                self._writer.execute("VACUUM")
            finally:
                self._writer.execute("PRAGMA temp_store = MEMORY")
            (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                "The log can't be emptied while the database is being read.",
                where=str(self.path),
                hint="Try again when the running export or search has finished.",
            )

    def rebuild_indexes(self) -> None:
        """Make all indexes of the tables again, also those whose pages can't be read.

        Raises:
            StoreCorrupt: A table itself is damaged.
        """
        names = self.read().execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
        has_replaced = False
        for (name,) in names:
            try:
                with self.write() as tx:
                    tx.execute(f'REINDEX "{name}"')
            except StoreCorrupt:
                with self.write() as tx:
                    _begin_anew(tx, name)
                    tx.execute(f'REINDEX "{name}"')
                has_replaced = True
        if has_replaced:
            self.compact()  # frees the pages of the old ones

    def close(self) -> None:
        """Close all connections, after the running transaction. Reading any further raises StoreError."""
        with self._leases:
            was_closed, self._closed = self._closed, True
            readers, self._open_readers = self._open_readers, []
        for reader in readers:
            reader.connection.close()
        with self._lock:
            self._writer.close()
            if not was_closed:
                shared_files.database_closed(self.path)

    def _searchable(self, text: str | bytes | None) -> str:
        try:
            return searchable(text)
        except BaseException as error:
            self._callback_error = error
            raise

    @contextmanager
    def _reraise_callback_error(self) -> Iterator[None]:
        """Raise what ``searchable`` raised within a statement: SQLite loses it, and an interrupt must not look like an
        error of SQLite."""
        self._callback_error = None
        try:
            yield
        except sqlite3.OperationalError:
            raised, self._callback_error = self._callback_error, None
            if raised is not None:
                raise raised from None
            raise

    @staticmethod
    def _prepare(connection: sqlite3.Connection, words: Callable[[str | bytes | None], str]) -> None:
        """Let a connection read damaged text, and know the functions of the program."""
        connection.text_factory = decode_text
        connection.create_function("is_utf8", 1, is_utf8, deterministic=True)
        connection.create_function("searchable", 1, words, deterministic=True)
        text_frames.register(connection)

    def _connect(self, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
        try:
            return self._open_connection(kind)
        except UnicodeDecodeError:  # of an error of SQLite that quotes a damaged schema
            raise _damage_error("The schema of the database is damaged.", self.path) from None

    def _open_connection(self, kind: type[sqlite3.Connection]) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30, factory=kind)
        self._prepare(connection, searchable if kind is _ReadConnection else self._searchable)
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            f"cache_size = -{1024 * (self._caches.reader if kind is _ReadConnection else self._caches.writer)}",
            "temp_store = MEMORY",
            # Overwrites deleted content with zeros. An ingest takes no longer, a deletion a third.
            "secure_delete = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection to the database of a memory that another process has open: it sees what that one has committed."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, factory=_ReadConnection)
    connection.path = path
    Database._prepare(connection, searchable)
    for pragma in ("query_only = ON", f"cache_size = -{1024 * PageCaches().reader}", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class InMemoryDatabase(Database):
    """A database of which nothing reaches the disk. Its one connection serves reading and writing; its owner makes one
    request at a time."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"))

    def _create_file(self) -> None:
        """There is none."""

    def read(self) -> sqlite3.Connection:
        return self._writer

    @contextmanager
    def lease(self) -> Iterator[sqlite3.Connection]:
        yield self._writer


class ReadOnlyDatabase(Database):
    """A database where nothing can be written, such as on a read-only mount. No other process changes it either."""

    is_read_only = True

    def __init__(self, path: Path, *, is_disk_full: bool = False) -> None:
        """Open the database; ``is_disk_full`` is why it can't be written."""
        self._is_disk_full = is_disk_full
        super().__init__(path)

    def _create_file(self) -> None:
        """There is one; it must not have changes that are still in its log, which only a writer can apply.

        Raises:
            StoreError: It was not closed.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise StoreError(
                "The memory was not closed before it became read-only: its latest changes are in its log.",
                where=str(log),
                hint="Open it once where it can be written, or copy the folder to such a place.",
            )

    def _settle_schema(self) -> None:
        migrations.require_latest(self._writer, str(self.path))

    def _connect(self, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
        # "immutable" does without the files beside the database that WAL mode would create.
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=ro&immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            factory=kind,
        )
        if isinstance(connection, _ReadConnection):
            connection.path = self.path
        self._prepare(connection, searchable)
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        if self._is_disk_full:
            raise HomeReadOnly(
                "The memory can't be changed: the disk is full.",
                where=str(self.path.parent),
                hint="Make room on the disk. Until then it can be searched, shown, exported and verified.",
            )
        raise HomeReadOnly(
            "The memory is read-only.",
            where=str(self.path.parent),
            hint="It can be searched, shown, exported and verified. To change it, copy it to where you can write.",
        )
        yield self._writer

    @contextmanager
    def dry_run(self) -> Iterator[sqlite3.Connection]:
        """The same as of any database, on a copy in memory."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy, as_store_errors(self.path):
            self._writer.backup(copy)
            self._prepare(copy, searchable)
            yield copy


@dataclass(slots=True)
class _ThreadReader:
    """A reading connection, the thread that it was opened for, and the number of its leases."""

    connection: sqlite3.Connection
    thread: threading.Thread
    leases: int = 0


class _ReadConnection(sqlite3.Connection):
    """A connection for reading that raises StoreError and its subclasses: damage shows only when it is read. Another
    thread may close it: the calls of SQLite take turns, because to close it within one would end the process."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.path = path
        # Reentrant: the garbage collector may close an abandoned generator within a call.
        self.turn = threading.RLock()

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        with self.turn, as_store_errors(self.path):
            rows = self.cursor(_ReadCursor)
            rows.path, rows.turn = self.path, self.turn
            return sqlite3.Cursor.execute(rows, sql, values)

    def close(self) -> None:
        with self.turn:
            super().close()


class _ReadCursor(sqlite3.Cursor):
    path: Path
    turn: threading.RLock

    def execute(self, sql: str, values: Any = (), /) -> Self:
        with self.turn, as_store_errors(self.path):
            return super().execute(sql, values)

    def fetchone(self) -> Any:
        with self.turn, as_store_errors(self.path):
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with self.turn, as_store_errors(self.path):
            return super().fetchall()

    def __next__(self) -> Any:
        try:
            with self.turn:
                return super().__next__()
        except sqlite3.DatabaseError as error:
            raise _store_error(error, self.path) from error


def _begin_anew(tx: sqlite3.Connection, index: str) -> None:
    """Give an index an empty tree. To empty its own, SQLite would have to read the damaged pages."""
    tx.execute("CREATE TABLE blank (number)")
    tx.execute("CREATE INDEX blank_index ON blank (number)")
    tx.execute("PRAGMA writable_schema = ON")
    try:
        tx.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'blank_index')"
            " WHERE name = ?",
            (index,),
        )
        tx.execute("DELETE FROM sqlite_schema WHERE name = 'blank_index'")
    finally:
        tx.execute("PRAGMA writable_schema = RESET")
    tx.execute("DROP TABLE blank")


_FULL_DISK_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says where the disk is full: the first of a transaction, the others of the files beside the database."""

_FULL_DISK_BYTES = 262_144
"""With less room than this, an error of those files means a full disk."""


def _is_disk_full(path: Path) -> bool:
    try:
        return free_bytes(path.parent) < _FULL_DISK_BYTES
    except OSError:
        return False


class as_store_errors:
    """A block whose errors of SQLite, about the database at ``path``, become StoreError and its subclasses. It is no
    generator, because a search enters it a hundred times."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing has to be prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, sqlite3.DatabaseError):
            return
        is_misuse = isinstance(error, sqlite3.ProgrammingError) and not _is_closed(error)
        if not is_misuse and not isinstance(error, sqlite3.IntegrityError):
            raise _store_error(error, self._path) from error


def _is_closed(error: sqlite3.DatabaseError) -> bool:
    return "closed database" in str(error)


def _closed_error(path: Path) -> StoreError:
    return StoreError("The memory is closed.", where=str(path), hint="Open it again.")


def _damage_error(message: str, path: Path) -> StoreCorrupt:
    from appliance.store.backup.catalogue import restore_hint

    restore = restore_hint(Home(path.parent))
    hint = f"Save what can be read with 'appliance recover', ingest the exports again into a new home, or {restore}."
    return StoreCorrupt(message, where=str(path), hint=hint)


def _store_error(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    if _is_closed(error):
        return _closed_error(path)
    # The last byte is the primary result code; the other bytes extend it.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or "JSON" in str(error):  # a value of another type
        return _damage_error(f"The database is damaged ({error}).", path)
    if code == sqlite3.SQLITE_NOMEM:
        return OutOfMemory("The database gets no more memory.", where=str(path), hint=MEMORY_HINT)
    if code in _FULL_DISK_CODES and (code == sqlite3.SQLITE_FULL or _is_disk_full(path)):
        is_full = _is_disk_full(path)
        # A page number that leads far away looks to SQLite like a file that can't grow so much.
        reason = "the disk is full" if is_full else "your share of the disk is full, or the database is damaged"
        message = f"The database can't grow: {reason}, and {free_bytes(path.parent) / 1e6:,.1f} MB are free."
        return DiskFull(message, where=str(path), hint=ROOM_HINT)
    if code == sqlite3.SQLITE_IOERR:
        hint = "Check that the disk works and has room, then try again. Everything that was acknowledged is kept."
        return StoreError(f"The database can't be read or written ({error}).", where=str(path), hint=hint)
    # SQLite's own words about text that it can't decode quote that text.
    reason = "text that can't be decoded" if "decode" in str(error).lower() else str(error)
    return StoreError(f"SQLite refuses the operation ({reason}).", where=str(path))
