"""The chunks of summaries, which get vectors as the chunks of messages do, each by itself.

A chunk enters the outbox in the transaction that stores it. It shares ledger and index with the chunks of messages; its
point has the id ``SUMMARY_POINTS`` plus its key. A trigger queues the removal of the point of a deleted chunk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.store.chunks import AGENTS_SQL, MAX_TICKET, SUMMARY_POINTS, ChunkableMessage
from appliance.store.generation_states import ACTIVE_SQL
from appliance.store.passages import ChunkSpan, text_digest
from appliance.store.priority import SUMMARY_PENALTY
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_in_one_step, fetch_int, has_row, json_keys, next_key
from appliance.types import Level, StorageScope


@dataclass(frozen=True, slots=True)
class PendingSummaryChunk:
    """A summary's chunk in the outbox with everything that its point needs. ``point`` is the id of the point; the other
    fields are those of ``chunks.PendingChunk``."""

    ticket: int
    point: int
    text: str
    digest: bytes
    row: int | None
    session: int
    user_id: str
    namespace: str
    source: str
    at: int | None
    level: Level
    storage_scope: StorageScope
    agents: str
    """The agents that take part in its session, as JSON."""

    @property
    def passage(self) -> str:
        """The text to embed: a summary has no author to put before it."""
        return self.text


def insert(
    tx: sqlite3.Connection, generation: int, spans_by_summary: Sequence[tuple[ChunkableMessage, Sequence[ChunkSpan]]]
) -> None:
    """Store the chunks of summaries and queue them for embedding."""
    key = next_key(tx, "summary_chunk")
    rows, queue = [], []
    for summary, spans in spans_by_summary:
        for span in spans:
            digest = text_digest(summary.text[span.start : span.end])
            rows.append((key, summary.id, generation, span.start, span.end, digest))
            queue.append((SUMMARY_POINTS + key, generation, summary.order_at - SUMMARY_PENALTY))
            key += 1
    tx.executemany(
        "INSERT INTO summary_chunk (id, summary_id, generation, start, stop, digest) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    tx.executemany("INSERT INTO outbox (chunk_id, generation, work, priority) VALUES (?, ?, 'put', ?)", queue)


def summaries_without_chunks(db: sqlite3.Connection, generation: int, after: int) -> list[ChunkableMessage]:
    """Return the next summaries, with keys above ``after``, that have no chunks in a generation."""
    page = db.execute(
        "SELECT s.id, s.text, s.last_order FROM summary s WHERE s.id > ?"
        " AND NOT EXISTS (SELECT 1 FROM summary_chunk p WHERE p.summary_id = s.id AND p.generation = ?)"
        " ORDER BY s.id LIMIT ?",
        (after, generation, PAGE_ROWS),
    )
    return [ChunkableMessage(key, None, text, False, order_at) for key, text, order_at in page]


def count(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of summaries' chunks of a generation."""
    return fetch_int(db, "SELECT count(*) FROM summary_chunk WHERE generation = ?", (generation,))


def count_up_to_last(db: sqlite3.Connection) -> int:
    """Return how many chunks there are at most."""
    return fetch_int(db, "SELECT coalesce(max(id), 0) FROM summary_chunk")


def count_pending(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of summaries' chunks that wait for their vector or their point."""
    query = "SELECT count(*) FROM outbox WHERE generation = ? AND work = 'put' AND chunk_id >= ?"
    return fetch_int(db, query, (generation, SUMMARY_POINTS))


_ACTIVE_PUT_SQL = f"SELECT 1 FROM outbox WHERE generation = {ACTIVE_SQL} AND work = 'put'"


def is_any_pending(db: sqlite3.Connection) -> bool:
    """Whether a summary's chunk of the active generation waits for its vector or its point."""
    return has_row(db, f"{_ACTIVE_PUT_SQL} AND chunk_id >= ? LIMIT 1", (SUMMARY_POINTS,))


def is_any_message_chunk_pending(db: sqlite3.Connection) -> bool:
    """Whether a message's chunk of the active generation waits for its vector or its point."""
    return has_row(db, f"{_ACTIVE_PUT_SQL} AND chunk_id < ? LIMIT 1", (SUMMARY_POINTS,))


def next_puts(
    db: sqlite3.Connection, generation: int, limit: int, up_to_ticket: int = MAX_TICKET, *, only_embedded: bool = False
) -> list[PendingSummaryChunk]:
    """Return up to ``limit`` chunks to put next, latest first, with everything that their points need; only those
    queued up to a ticket, and with ``only_embedded`` only those that have their vector."""
    embedded = (
        " AND EXISTS (SELECT 1 FROM summary_chunk k JOIN embedding e ON e.generation = ?1 AND e.digest = k.digest"
        " WHERE k.id = chunk_id - ?2)"
    )
    return _with_point_fields(
        db,
        generation,
        "SELECT ticket, chunk_id, priority FROM outbox WHERE generation = ?1 AND work = 'put'"
        f" AND chunk_id >= ?2 AND +ticket <= ?4{embedded if only_embedded else ''}"
        " ORDER BY priority DESC, chunk_id LIMIT ?3",
        (limit, up_to_ticket),
    )


def with_point_fields(db: sqlite3.Connection, generation: int, points: Sequence[int]) -> list[PendingSummaryChunk]:
    """Return the chunks of points with everything that the points need; their ticket is 0."""
    which = JSON_KEYS_SQL.replace("?", "?3")
    selection = f"SELECT 0 AS ticket, id + ?2 AS chunk_id, 0 AS priority FROM summary_chunk WHERE id + ?2 IN {which}"
    return _with_point_fields(db, generation, f"{selection} AND generation = ?1", (json_keys(points),))


def _with_point_fields(
    db: sqlite3.Connection, generation: int, selection: str, values: Sequence[object]
) -> list[PendingSummaryChunk]:
    """The chunks that a query selects (ticket, chunk_id, priority), highest priority first."""
    rows = db.execute(
        "SELECT o.ticket, o.chunk_id, p.summary_id, p.start, p.stop, p.digest, e.row, u.session_id, s.user_id,"
        f" s.namespace, s.format, u.at, u.level, s.storage_scope, {AGENTS_SQL}"
        f" FROM ({selection}) o"
        " JOIN summary_chunk p ON p.id = o.chunk_id - ?2 JOIN summary u ON u.id = p.summary_id"
        " JOIN session s ON s.id = u.session_id"
        " LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = p.digest"
        " ORDER BY o.priority DESC, o.chunk_id",
        (generation, SUMMARY_POINTS, *values),
    ).fetchall()
    query = f"SELECT id, text FROM summary WHERE id IN {JSON_KEYS_SQL}"
    texts = dict(db.execute(query, (json_keys({values[2] for values in rows}),)).fetchall())
    return [
        # Sliced here, because SQLite's substr ends at a NUL character.
        PendingSummaryChunk(ticket, point, texts[summary][start:stop], *values)
        for ticket, point, summary, start, stop, *values in rows
        if summary in texts
    ]


def summaries_of(db: sqlite3.Connection, points: Sequence[int]) -> dict[int, int]:
    """Return the key of the summary of each point, as far as it exists."""
    rows = fetch_in_one_step(
        db,
        f"SELECT id + {SUMMARY_POINTS}, summary_id FROM summary_chunk WHERE id IN {JSON_KEYS_SQL}",
        (json_keys(point - SUMMARY_POINTS for point in points),),
        columns=2,
    )
    return dict(rows)
