"""What of the outbox can be done without the model: chunks that have their vector and wait for their point only, as all
do after their index was made anew; and the texts that need it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from appliance.store import chunks, summary_chunks
from appliance.store.chunks import SUMMARY_POINTS
from appliance.store.passages import Passage
from appliance.store.sql import pages


def messages_with_vectors(db: sqlite3.Connection, generation: int, limit: int, up_to_ticket: int) -> list[int]:
    """Return up to ``limit`` messages with a waiting chunk that has a vector, of those queued up to a ticket."""
    rows = db.execute(
        "SELECT DISTINCT c.message_id FROM outbox o JOIN chunk c ON c.id = o.chunk_id"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        " WHERE o.generation = ? AND o.work = 'put' AND o.chunk_id < ? AND o.ticket <= ? LIMIT ?",
        (generation, SUMMARY_POINTS, up_to_ticket, limit),
    )
    return [key for (key,) in rows]


_LACKING_SQL = "NOT EXISTS (SELECT 1 FROM embedding e WHERE e.generation = c.generation AND e.digest = c.digest)"


def texts_without_vectors(db: sqlite3.Connection, generation: int) -> Iterator[tuple[bytes, Passage]]:
    """Yield what is read of a generation's chunks that have no vector, with their digests; equal ones several times."""
    query = f"SELECT DISTINCT c.message_id FROM chunk c WHERE c.generation = ? AND {_LACKING_SQL}"
    for page in pages([key for (key,) in db.execute(query, (generation,))]):
        yield from (
            (one.digest, one.passage) for one in chunks.with_point_fields(db, generation, page) if one.row is None
        )
    query = f"SELECT c.id + {SUMMARY_POINTS} FROM summary_chunk c WHERE c.generation = ? AND {_LACKING_SQL}"
    for page in pages([key for (key,) in db.execute(query, (generation,))]):
        yield from ((one.digest, one.passage) for one in summary_chunks.with_point_fields(db, generation, page))


def embedded_digests(db: sqlite3.Connection, generation: int) -> set[bytes]:
    """Return the digests of the texts that have a vector in a generation."""
    return {digest for (digest,) in db.execute("SELECT digest FROM embedding WHERE generation = ?", (generation,))}
