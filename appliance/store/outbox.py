"""What of the outbox can be done without the model: chunks that have their vector and wait for their point only, as all
do after their index was made anew."""

from __future__ import annotations

import sqlite3

from appliance.store.chunks import SUMMARY_POINTS


def messages_with_vectors(db: sqlite3.Connection, generation: int, limit: int, up_to_ticket: int) -> list[int]:
    """Return up to ``limit`` messages with a waiting chunk that has a vector, of those queued up to a ticket."""
    rows = db.execute(
        "SELECT DISTINCT c.message_id FROM outbox o JOIN chunk c ON c.id = o.chunk_id"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        " WHERE o.generation = ? AND o.work = 'put' AND o.chunk_id < ? AND o.ticket <= ? LIMIT ?",
        (generation, SUMMARY_POINTS, up_to_ticket, limit),
    )
    return [key for (key,) in rows]
