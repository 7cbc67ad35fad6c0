"""Summaries' pieces: what stands between a stored summary and its vectors, as chunks do for messages.

A piece is put into the outbox in the transaction that stores it, shares ledger and index with the chunks, and has
its point at ``SUMMARY_POINTS`` plus its key. That a piece is gone is queued by the database itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.store.chunks import AGENTS, Chunkable, Span, digest
from appliance.store.migrations import SUMMARY_POINTS
from appliance.store.priority import SUMMARIES_LAST
from appliance.store.sql import LISTED, PAGE, at_once, listed, marks, next_key, pages
from appliance.types import Level, StorageScope


@dataclass(frozen=True, slots=True)
class Waiting:
    """A piece in the outbox with all that its point needs; ``point`` is that one's id, the rest as in
    ``chunks.Waiting``."""

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
    """JSON: who takes part in its session."""

    @property
    def passage(self) -> str:
        """A summary is nobody's words: it is embedded as it stands."""
        return self.text


def put(tx: sqlite3.Connection, generation: int, pieces: Sequence[tuple[Chunkable, Sequence[Span]]]) -> None:
    """Store the pieces of summaries and queue them."""
    key = next_key(tx, "summary_chunk")
    rows, queue = [], []
    for summary, spans in pieces:
        for span in spans:
            words = digest(summary.text[span.start : span.end])
            rows.append((key, summary.id, generation, span.start, span.end, words))
            queue.append((SUMMARY_POINTS + key, generation, summary.order_at - SUMMARIES_LAST))
            key += 1
    tx.executemany(
        "INSERT INTO summary_chunk (id, summary_id, generation, start, stop, digest) VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )
    tx.executemany("INSERT INTO outbox (chunk_id, generation, work, priority) VALUES (?, ?, 'put', ?)", queue)


def without_pieces(db: sqlite3.Connection, generation: int, after: int) -> list[Chunkable]:
    """The next summaries, behind the key ``after``, that have no pieces in a generation."""
    page = db.execute(
        "SELECT s.id, s.text, s.last_order FROM summary s WHERE s.id > ?"
        " AND NOT EXISTS (SELECT 1 FROM summary_chunk p WHERE p.summary_id = s.id AND p.generation = ?)"
        " ORDER BY s.id LIMIT ?",
        (after, generation, PAGE),
    )
    return [Chunkable(key, None, text, False, order_at) for key, text, order_at in page]


def count(db: sqlite3.Connection, generation: int) -> int:
    """How many pieces a generation has."""
    (number,) = db.execute(
        "SELECT count(*) FROM summary_chunk WHERE generation = ?", (generation,)
    ).fetchone()
    return int(number)


def pending(db: sqlite3.Connection, generation: int) -> int:
    """How many pieces wait for their vector or their point."""
    (number,) = db.execute(
        "SELECT count(*) FROM outbox WHERE generation = ? AND work = 'put' AND chunk_id >= ?",
        (generation, SUMMARY_POINTS),
    ).fetchone()
    return int(number)


def any_pending(db: sqlite3.Connection) -> bool:
    """Whether any piece, of any generation, waits for its vector or its point."""
    return _any_put(db, "chunk_id >= ?")


def any_chunks_pending(db: sqlite3.Connection) -> bool:
    """Whether any message's chunk does."""
    return _any_put(db, "chunk_id < ?")


def _any_put(db: sqlite3.Connection, which: str) -> bool:
    (found,) = db.execute(
        f"SELECT EXISTS (SELECT 1 FROM outbox WHERE work = 'put' AND {which})", (SUMMARY_POINTS,)
    ).fetchone()
    return bool(found)


def next_puts(db: sqlite3.Connection, generation: int, limit: int) -> list[Waiting]:
    """The pieces to put next, the latest first, with what their points need."""
    found = db.execute(
        "SELECT o.ticket, o.chunk_id, p.summary_id, p.start, p.stop, p.digest, e.row, u.session_id, s.user_id,"
        f" s.namespace, s.format, u.at, u.level, s.storage_scope, {AGENTS}"
        " FROM (SELECT ticket, chunk_id, priority FROM outbox WHERE generation = ?1 AND work = 'put'"
        "       AND chunk_id >= ?3 ORDER BY priority DESC, chunk_id LIMIT ?2) o"
        " JOIN summary_chunk p ON p.id = o.chunk_id - ?3 JOIN summary u ON u.id = p.summary_id"
        " JOIN session s ON s.id = u.session_id"
        " LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = p.digest"
        " ORDER BY o.priority DESC, o.chunk_id",
        (generation, limit, SUMMARY_POINTS),
    ).fetchall()
    texts: dict[int, str] = {}
    for page in pages(sorted({values[2] for values in found})):
        texts.update(db.execute(f"SELECT id, text FROM summary WHERE id IN ({marks(page)})", page))
    return [
        # Cut here, because SQLite's substr ends at a NUL character.
        Waiting(ticket, point, texts[summary][start:stop], *rest)
        for ticket, point, summary, start, stop, *rest in found
        if summary in texts
    ]


def summaries_of(db: sqlite3.Connection, points: Sequence[int]) -> dict[int, int]:
    """The summary of each of the given points; of those that are gone there is none."""
    rows = at_once(
        db,
        f"SELECT id + {SUMMARY_POINTS}, summary_id FROM summary_chunk WHERE id IN {LISTED}",
        (listed(point - SUMMARY_POINTS for point in points),),
        columns=2,
    )
    return dict(rows)
