"""Scans for damage that a status can afford: in bounded time, each message and table once in the life of a process.

``verify`` reads everything, and again each time.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import suppress

from appliance.errors import StoreCorrupt, StoreError
from appliance.store import digests
from appliance.store.damage import DamagedRow, damaged_messages, message_keys
from appliance.store.messages import message_id
from appliance.store.sql import PAGE_ROWS, read_transaction


class MessageScan:
    """Looks for damaged messages, at each message once, for as long as each call allows. Safe to use from several
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._after = 0
        self._found: list[int] = []
        self.is_complete = False
        """Whether the last call has reached the last message."""

    def run(self, db: sqlite3.Connection, seconds: float) -> list[DamagedRow]:
        """Go on for about ``seconds``; return the damaged messages found so far that are still there."""
        deadline = time.monotonic() + seconds
        with self._lock:
            try:
                while time.monotonic() < deadline:
                    with read_transaction(db):
                        keys = message_keys(db, self._after, PAGE_ROWS)
                        self._found += [key for key, _ in _damaged_or_changed(db, keys)]
                    self.is_complete = not keys
                    if not keys:
                        break
                    self._after = keys[-1]
                with read_transaction(db):
                    present = set(message_keys(db)) if self._found else set()
                    self._found = [key for key in self._found if key in present]
                    rows = _damaged_or_changed(db, self._found)
            except StoreCorrupt as error:
                return [DamagedRow("recall.db", str(error.args[0]))]
            self._found = [key for key, _ in rows]
        return [row for _, row in rows]


def _damaged_or_changed(db: sqlite3.Connection, keys: list[int]) -> list[tuple[int, DamagedRow]]:
    """The messages of ``keys`` that are damaged, or not what was stored."""
    found = damaged_messages(db, keys)
    damaged = {key for key, _ in found}
    changed = dict(digests.message_disagreements(db, [key for key in keys if key not in damaged]))
    return [*found, *((key, DamagedRow(message_id(key), why)) for key, why in changed.items())]


class TableScan:
    """Checks the pages of each table and its indexes once, for as long as each call allows. Tables that are too large
    for a whole call are left to ``verify``. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[str] | None = None
        self._damaged: dict[str, str] = {}
        self._too_large: list[str] = []

    def run(self, db: sqlite3.Connection, seconds: float) -> list[DamagedRow]:
        """Go on for about ``seconds``; return the tables that have damaged pages so far as is known."""
        deadline = time.monotonic() + seconds
        with self._lock:
            if self._left is None:
                self._left = _names_with_pages(db)
            for table in [*self._damaged]:  # a reindex or a restore may have mended it
                if (reason := _damage_of_pages(db, table, deadline)) != _UNFINISHED:
                    self._damaged.pop(table)
                    self._note(table, reason)
            is_first = True
            while self._left and time.monotonic() < deadline:
                reason = _damage_of_pages(db, self._left[0], deadline)
                if reason == _UNFINISHED and not is_first:
                    break  # it gets a call of its own
                self._note(self._left.pop(0), reason)
                is_first = False
            return [DamagedRow(f"table {table}", reason) for table, reason in self._damaged.items()]

    def _note(self, table: str, reason: str) -> None:
        if reason == _UNFINISHED:
            self._too_large.append(table)
        elif reason:
            self._damaged[table] = reason

    @property
    def unchecked(self) -> list[str]:
        """The tables that have not been checked, in alphabetical order; all names before the first call."""
        return sorted([*self._too_large, *(self._left or ())])


_LARGE_TABLES = (
    "message_fts_docsize",
    "message_fts_data",
    "message_digest",
    "chunk",
    "embedding",
    "session",
    "message",
)
_UNFINISHED = "unfinished"
_STEPS_BETWEEN_LOOKS = 1_000
"""Steps of SQLite between two looks at the clock."""


def _names_with_pages(db: sqlite3.Connection) -> list[str]:
    """The tables of the program, and those in which the full text is kept; those that grow largest last."""
    rows = db.execute("PRAGMA main.table_list").fetchall()
    names = (name for _, name, kind, *_ in rows if kind in ("table", "shadow") and not name.startswith("sqlite_"))
    return sorted(names, key=lambda name: (_LARGE_TABLES.index(name) if name in _LARGE_TABLES else -1, name))


def _damage_of_pages(db: sqlite3.Connection, table: str, deadline: float) -> str:
    """What is wrong with the pages of a table and its indexes; "" if nothing, ``_UNFINISHED`` if it takes too long.

    Raises:
        StoreError: The database is closed, or the disk can't be read.
    """
    try:
        db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
        (answer,) = db.execute(f"PRAGMA main.integrity_check('{table}')").fetchone()
    except StoreCorrupt as error:
        return str(error.args[0]).rstrip(".")
    except StoreError:
        if time.monotonic() <= deadline:
            raise
        return _UNFINISHED
    finally:
        with suppress(sqlite3.ProgrammingError):  # the memory was closed meanwhile
            db.set_progress_handler(None, 0)
    return "" if answer == "ok" else str(answer).splitlines()[-1]


class DamageScans:
    """The scans of one database."""

    def __init__(self) -> None:
        self._messages, self._tables = MessageScan(), TableScan()

    def run(self, db: sqlite3.Connection, seconds: float) -> list[DamagedRow]:
        """Go on with each for about ``seconds``; return all damage that is known so far."""
        return self._messages.run(db, seconds) + self._tables.run(db, seconds)

    @property
    def unchecked(self) -> list[str]:
        """The tables that have not been checked completely, in alphabetical order."""
        return sorted({*self._tables.unchecked, *([] if self._messages.is_complete else ["message"])})
