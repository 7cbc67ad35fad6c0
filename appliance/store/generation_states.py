"""Which generations of vectors there are, and which of them serves.

    building ──activate──▶ active ──another is activated──▶ kept ──activate (rollback)──▶ active
        └───────────────────── discard ◀─────────────────────┘

Searches read the one active generation. A building one is filled beside it, and goes on after an interruption. A kept
one served before; it gets no new messages until it is completed to serve again or to be compared. A discarded one is
only rows that ``purge`` deletes, page by page: to delete a million at once would hold up every writer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

import msgspec

from appliance.errors import NotFound
from appliance.lazy_dataclasses import dataclass
from appliance.runtime.decoding import decode
from appliance.store.database import Database
from appliance.store.sql import fetch_int, has_row, to_json
from appliance.timestamps import now

GenerationState = Literal["building", "active", "kept", "discarded"]

PURGED_ROWS = 5_000
"""Rows of a discarded generation that one transaction deletes: some 20 ms."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One set of vectors: its number, the name and the identity of the model that made it, and the vectors' dimension.
    ``complete_at`` is when a kept one last had all messages, in microseconds since 1970."""

    id: int
    model: str
    identity: str
    dimension: int
    state: GenerationState
    complete_at: int | None = None


ACTIVE_SQL = "(SELECT id FROM generation WHERE state = 'active')"

_SELECT_SQL = "SELECT id, model, identity, dimension, state, complete_at FROM generation"


def active(db: sqlite3.Connection) -> Generation | None:
    """Return the generation that searches read; None in a home that never stored anything."""
    return _first(db, "WHERE state = 'active'")


def building(db: sqlite3.Connection) -> Generation | None:
    """Return the generation whose building has begun and not ended, or None."""
    return _first(db, "WHERE state = 'building' ORDER BY id DESC LIMIT 1")


def kept(db: sqlite3.Connection) -> list[Generation]:
    """Return the generations that served before and can serve again, the latest first."""
    rows = db.execute(f"{_SELECT_SQL} WHERE state = 'kept' ORDER BY retired_at DESC, id DESC")
    return [Generation(*row) for row in rows]


def stored(db: sqlite3.Connection) -> list[Generation]:
    """Return all generations that have vectors, by their number: the active one, those that are kept, and one that is
    being built."""
    return [Generation(*row) for row in db.execute(f"{_SELECT_SQL} WHERE state <> 'discarded' ORDER BY id")]


def find(db: sqlite3.Connection, number: int) -> Generation:
    """Return a generation that serves or is kept.

    Raises:
        NotFound: There is none of this number.
    """
    found = _first(db, "WHERE id = ? AND state IN ('active', 'kept')", number)
    if found is None and (building := _first(db, "WHERE id = ? AND state = 'building'", number)) is not None:
        raise NotFound(f"Generation {number} ({building.model}) is not complete, and can't be searched yet.")
    if found is None:
        present = ", ".join(f"{one.id} ({one.model})" for one in stored(db) if one.state != "building") or "none"
        raise NotFound(f"There is no generation {number}.", hint=f"Present: {present}.")
    return found


def begin(
    tx: sqlite3.Connection, model: str, identity: str, dimension: int, state: Literal["active", "building"]
) -> Generation:
    """Add a generation without chunks and vectors."""
    key = fetch_int(
        tx,
        "INSERT INTO generation (model, identity, dimension, state, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (model, identity, dimension, state, now()),
    )
    return Generation(key, model, identity, dimension, state)


def activate(tx: sqlite3.Connection, number: int) -> None:
    """Let a generation serve. The one that served is kept."""
    retired = "UPDATE generation SET state = 'kept', retired_at = ?1, complete_at = ?1 WHERE state = 'active'"
    tx.execute(retired, (now(),))
    tx.execute("UPDATE generation SET state = 'active', retired_at = NULL, complete_at = NULL WHERE id = ?", (number,))


Chunking = tuple[int, float]
"""The settings that messages are chunked under: ``chunk.tokens`` and ``chunk.overlap``."""


def chunkings(db: sqlite3.Connection, number: int) -> set[Chunking]:
    """Return the settings that messages of a generation were chunked under; none if that is not known, because an
    earlier version did it or the row is damaged."""
    row = db.execute("SELECT chunkings FROM generation WHERE id = ?", (number,)).fetchone()
    try:
        return set(decode(row[0], list[Chunking])) if row else set()
    except (msgspec.DecodeError, TypeError):
        return set()


def set_chunkings(tx: sqlite3.Connection, number: int, found: Collection[Chunking]) -> None:
    """Note the settings that messages of a generation were chunked under."""
    tx.execute("UPDATE generation SET chunkings = ? WHERE id = ?", (to_json(sorted(found)), number))


def note_complete(tx: sqlite3.Connection, number: int, at: int) -> None:
    """Note that a kept generation had all messages at a time, in microseconds since 1970."""
    tx.execute("UPDATE generation SET complete_at = ? WHERE id = ? AND state = 'kept'", (at, number))


def discard(tx: sqlite3.Connection, number: int) -> None:
    """Give up a generation that does not serve. The caller removes its files, and ``purge`` its rows."""
    tx.execute("UPDATE generation SET state = 'discarded' WHERE id = ? AND state <> 'active'", (number,))


def has_discarded(db: sqlite3.Connection) -> bool:
    """Whether any generation waits to be purged."""
    return _first(db, "WHERE state = 'discarded' LIMIT 1") is not None


def purge(database: Database, should_continue: Callable[[], bool]) -> int:
    """Delete the rows of discarded generations, a page in each transaction; returns how many pages that took. What is
    left is deleted next time."""
    done = 0
    while (found := _first(database.read(), "WHERE state = 'discarded' LIMIT 1")) is not None:
        for query, values in _page_deletions(database.read(), found.id):
            if not should_continue():
                return done
            with database.write() as tx:
                tx.execute(query, values)
            done += 1
    return done


def _page_deletions(db: sqlite3.Connection, number: int) -> Iterator[tuple[str, Sequence[int]]]:
    """The statements, with their values, that delete a generation, a page of rows each; the last one its own row."""
    for table in ("summary_chunk", "chunk"):  # no index begins with their generation: by ranges of keys
        query = f"DELETE FROM {table} WHERE id BETWEEN ? AND ? AND generation = ?"
        last = fetch_int(db, f"SELECT coalesce(max(id), 0) FROM {table}")
        yield from ((query, (start, start + PURGED_ROWS - 1, number)) for start in range(1, last + 1, PURGED_ROWS))
    # The outbox comes after them: a trigger adds the points of deleted summaries' chunks.
    for table, key in (("outbox", "ticket"), ("token_place", "digest"), ("embedding", "digest")):
        page = f"SELECT {key} FROM {table} WHERE generation = ?1 LIMIT {PURGED_ROWS}"
        while has_row(db, f"SELECT 1 FROM {table} WHERE generation = ? LIMIT 1", (number,)):
            yield f"DELETE FROM {table} WHERE generation = ?1 AND {key} IN ({page})", (number,)
    yield "DELETE FROM generation WHERE id = ?", (number,)


def _first(db: sqlite3.Connection, where: str, *values: object) -> Generation | None:
    row = db.execute(f"{_SELECT_SQL} {where}", values).fetchone()
    return Generation(*row) if row else None
