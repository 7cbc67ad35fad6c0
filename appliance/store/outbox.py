"""Chunks in the outbox: those that have their vector and wait for their point only, as all do after their index was
made anew, those that are split before they get a vector, and the texts that need one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from appliance.store import chunks, summary_chunks
from appliance.store.chunks import SUMMARY_POINTS, PendingChunk
from appliance.store.passages import ChunkSpan, Passage, chunk_digests, has_late_chunking
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys, next_key, pages


def points(db: sqlite3.Connection, generation: int) -> list[int]:
    """Return the points that wait to be put or dropped."""
    return [id for (id,) in db.execute("SELECT chunk_id FROM outbox WHERE generation = ?", (generation,))]


def messages_with_vectors(db: sqlite3.Connection, generation: int, limit: int, up_to_ticket: int) -> list[int]:
    """Return up to ``limit`` messages with a waiting chunk that has a vector, of those queued up to a ticket."""
    rows = db.execute(
        "SELECT DISTINCT c.message_id FROM outbox o JOIN chunk c ON c.id = o.chunk_id"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        " WHERE o.generation = ? AND o.work = 'put' AND o.chunk_id < ? AND o.ticket <= ? LIMIT ?",
        (generation, SUMMARY_POINTS, up_to_ticket, limit),
    )
    return [key for (key,) in rows]


def count_without_vectors(db: sqlite3.Connection, generation: int, maximum: int) -> int:
    """Return the number of waiting chunks of messages that have no vector, counting no further than ``maximum``."""
    return fetch_int(
        db,
        "SELECT count(*) FROM (SELECT 1 FROM outbox o JOIN chunk c ON c.id = o.chunk_id"
        f" WHERE o.generation = ? AND o.work = 'put' AND o.chunk_id < ? AND {_LACKING_SQL} LIMIT ?)",
        (generation, SUMMARY_POINTS, maximum),
    )


def split(
    tx: sqlite3.Connection, generation: int, spans_by_chunk: Sequence[tuple[PendingChunk, Sequence[ChunkSpan]]]
) -> None:
    """Replace chunks without a vector, which are whole messages, by shorter ones. A chunk that was deleted or queued
    again meanwhile is left as it is.

    The new ones have tickets below all others: they do not count as queued only now, so that the drain that has split
    them embeds them too.
    """
    tickets = json_keys(chunk.ticket for chunk, _ in spans_by_chunk)
    priorities = dict(tx.execute(f"SELECT ticket, priority FROM outbox WHERE ticket IN {JSON_KEYS_SQL}", (tickets,)))
    present = [(chunk, spans) for chunk, spans in spans_by_chunk if chunk.ticket in priorities]
    tx.executemany("DELETE FROM outbox WHERE ticket = ?", [(chunk.ticket,) for chunk, _ in present])
    tx.executemany("DELETE FROM chunk WHERE id = ?", [(chunk.chunk,) for chunk, _ in present])
    key, ticket = next_key(tx, "chunk"), min(0, fetch_int(tx, "SELECT coalesce(min(ticket), 0) FROM outbox"))
    chunk_rows, queue, is_late = [], [], has_late_chunking(tx, generation)
    for chunk, spans in present:
        digests = chunk_digests(chunk.author, chunk.text, spans, is_late=is_late)
        for span, digest in zip(spans, digests, strict=True):
            chunk_rows.append((key, chunk.message, generation, span.start, span.end, digest))
            ticket -= 1
            queue.append((ticket, key, generation, "put", priorities[chunk.ticket]))
            key += 1
    tx.executemany(
        "INSERT INTO chunk (id, message_id, generation, start, stop, digest) VALUES (?, ?, ?, ?, ?, ?)", chunk_rows
    )
    tx.executemany("INSERT INTO outbox (ticket, chunk_id, generation, work, priority) VALUES (?, ?, ?, ?, ?)", queue)


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
