"""Small tools of everybody who writes SQL here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

PAGE = 500
"""How many keys go into one IN (...) list, and how many rows into one page of a long reading."""


def marks(values: Sequence[object]) -> str:
    """The question marks of an IN (...) list."""
    return ",".join("?" * len(values))


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values in pieces that fit one IN (...) list."""
    for start in range(0, len(values), PAGE):
        yield values[start : start + PAGE]


LISTED = "(SELECT value FROM json_each(?))"
"""For ``IN``, with the keys as ``listed`` writes them: a statement that is the same for any number of keys is prepared
once. A search's lookups take 0.6 of the time that they take with a list of question marks."""


def listed(keys: Iterable[int]) -> str:
    """Keys as the one parameter of ``LISTED``."""
    return msgspec.json.encode(list(keys)).decode()


def at_once(db: sqlite3.Connection, sql: str, values: Sequence[object], columns: int) -> list[list[Any]]:
    """The rows of a statement with so many columns (of numbers and texts), in no order, in one step of SQLite's.

    Python gives the interpreter lock away for each step, and has to wait for it each time where other threads work:
    three hundred rows took 60 ms beside an ingest that take 2 ms alone.
    """
    names = ", ".join(f"c{number}" for number in range(columns))
    (found,) = db.execute(
        f"WITH found ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM found", values
    ).fetchone()
    rows: list[list[Any]] = msgspec.json.decode(found)
    return rows


def next_key(tx: sqlite3.Connection, table: str) -> int:
    """The next key of an AUTOINCREMENT table, for rows that are inserted with their keys given."""
    row = tx.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(row[0]) + 1 if row else 1


def to_json(value: object) -> str:
    """JSON text with sorted keys, so that equal values are equal texts."""
    return msgspec.json.encode(value, order="deterministic").decode()
