"""Helpers for writing SQL, used by all modules of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

from appliance.errors import StoreCorrupt

T = TypeVar("T")

PAGE_ROWS = 500
"""How many values go into one IN (...) list, and how many rows into one page of a long read."""

MAX_ROWS = 2**62
"""More rows than there are, and a number that SQLite takes: a larger limit or offset means the same."""


_unreadable_keys: ContextVar[set[int] | None] = ContextVar("unreadable_keys", default=None)


@contextmanager
def collect_unreadable() -> Iterator[set[int]]:
    """A block within which ``read_by_halves`` collects the keys that it can't read."""
    keys: set[int] = set()
    token = _unreadable_keys.set(keys)
    try:
        yield keys
    finally:
        _unreadable_keys.reset(token)


def note_unreadable() -> None:
    """Let ``collect_unreadable`` know that an index of the database could not be read to its end."""
    if (unreadable := _unreadable_keys.get()) is not None:
        unreadable.add(0)


def read_by_halves(read: Callable[[Sequence[int]], list[T]], keys: Sequence[int]) -> list[T]:
    """Return ``read(keys)``; where a damaged page prevents this, what can be read of each half, without the rows on
    that page. ``collect_unreadable`` shows which these are."""
    try:
        return read(keys)
    except StoreCorrupt:
        if len(keys) < 2:
            if (unreadable := _unreadable_keys.get()) is not None:
                unreadable.update(keys)
            return []
        middle = len(keys) // 2
        return [*read_by_halves(read, keys[:middle]), *read_by_halves(read, keys[middle:])]


def placeholders(values: Sequence[object]) -> str:
    """Return the question marks of an IN (...) list."""
    return ",".join("?" * len(values))


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in slices that fit one IN (...) list."""
    for start in range(0, len(values), PAGE_ROWS):
        yield values[start : start + PAGE_ROWS]


JSON_KEYS_SQL = "(SELECT value FROM json_each(?))"
"""The operand of ``IN`` for keys in the form of ``json_keys``. The statement is the same for any number of keys, so
SQLite prepares it once: the lookups of a search take 0.6 of the time that they take with a list of question marks."""


def json_keys(keys: Iterable[int] | Iterable[str]) -> str:
    """Return keys, or texts, as the one parameter of ``JSON_KEYS_SQL``."""
    return msgspec.json.encode(list(keys)).decode()


def fetch_in_one_step(db: sqlite3.Connection, sql: str, values: Sequence[object], columns: int) -> list[list[Any]]:
    """Return the rows of a query, in no particular order, in a single step of SQLite.

    Python releases the interpreter lock at each step and waits to get it back while other threads work: 300 rows took
    60 ms next to an ingest, and 2 ms without one.

    Args:
        db: The connection.
        sql: The query; its columns are numbers, texts or NULL.
        values: Its parameters.
        columns: The number of its columns.
    """
    names = ", ".join(f"c{number}" for number in range(columns))
    (encoded,) = db.execute(
        f"WITH found ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM found", values
    ).fetchone()
    rows: list[list[Any]] = msgspec.json.decode(encoded)
    return rows


def fetch_int(db: sqlite3.Connection, sql: str, values: Sequence[object] = ()) -> int:
    """Return the number that a query gives, such as a count."""
    return int(db.execute(sql, values).fetchone()[0])


def has_row(db: sqlite3.Connection, sql: str, values: Sequence[object] = ()) -> bool:
    """Whether a query gives any row."""
    return db.execute(sql, values).fetchone() is not None


def fetch_readable(
    db: sqlite3.Connection,
    sql: str,
    keys: Iterable[int],
    *,
    columns: int,
    before: Sequence[object] = (),
    after: Sequence[object] = (),
) -> list[list[Any]]:
    """Return the rows of a query about keys as ``fetch_in_one_step`` does; where pages are damaged, those of the other
    keys.

    Args:
        db: The connection.
        sql: The query, with ``JSON_KEYS_SQL``.
        keys: The keys.
        columns: The number of its columns.
        before, after: Its parameters before and after the keys.
    """
    return read_by_halves(
        lambda part: fetch_in_one_step(db, sql, (*before, json_keys(part), *after), columns), list(keys)
    )


@contextmanager
def read_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A block whose queries all see the same state of the database, whatever is committed meanwhile."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("COMMIT")


def next_key(tx: sqlite3.Connection, table: str) -> int:
    """Return the next key of an AUTOINCREMENT table, for rows that are inserted with explicit keys."""
    row = tx.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(row[0]) + 1 if row else 1


def to_json(value: object) -> str:
    """Return JSON text with sorted keys, so that equal values give equal texts."""
    return msgspec.json.encode(value, order="deterministic").decode()


def from_json(text: str) -> dict[str, Any]:
    """Return the object of JSON text of the database; an empty one if the text is damaged, which ``verify`` names."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, TypeError):
        return {}
