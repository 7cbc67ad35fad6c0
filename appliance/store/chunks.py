"""Chunks and the outbox, which lead from stored messages to their vectors.

Each generation has chunks of its own. A chunk enters the outbox in the transaction that stores it, and leaves it when
its vector in the ledger and its point in the index have reached the disk. Equal texts share one vector: the ledger is
keyed by digest (``passages``). A large import stores each message as one chunk, which the indexer splits if it is too
long, before it gets a vector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from appliance.lazy_dataclasses import dataclass
from appliance.store import visibility
from appliance.store.damage import AT_SQL, AUTHOR_SQL, ROLE_SQL, as_kind
from appliance.store.documents import IS_PAGE_SQL
from appliance.store.passages import (
    ChunkSpan,
    Passage,
    SplitMessage,
    chunk_digests,
    has_late_chunking,
    passage,
    split_messages,
)
from appliance.store.priority import (
    CONVERSATION_BOOST,
    DEFAULT_IMPORTANCE,
    IMPORTANCE_SQL,
    PRIORITY_SQL,
    SUMMARY_PENALTY,
    chunk_priority,
)
from appliance.store.session_options import INDEPENDENT_SQL
from appliance.store.sql import (
    JSON_KEYS_SQL,
    PAGE_ROWS,
    fetch_in_one_step,
    fetch_int,
    fetch_readable,
    has_row,
    json_keys,
    next_key,
    read_transaction,
)
from appliance.types import Filters, Role, StorageScope

if TYPE_CHECKING:
    from appliance.store.summary_chunks import PendingSummaryChunk

SUMMARY_POINTS = 1 << 62
"""Added to the key of a summary's chunk to get the id of its point: no message's chunk has a key as high. A trigger of
the schema has the same number."""

MAX_TICKET = (1 << 63) - 1
"""No ticket of the outbox is higher."""

AGENTS_SQL = (
    "(SELECT json_group_array(a.agent_id) FROM (SELECT agent_id FROM session_agent WHERE session_id = s.id"
    " ORDER BY joined_at, agent_id) a)"
)
"""The agents that take part in ``session s``, as JSON, in the order in which they joined."""


@dataclass(frozen=True, slots=True)
class ChunkableMessage:
    """The properties of a stored message (or summary) that chunking needs."""

    id: int
    author: str | None
    text: str
    conversational: bool
    order_at: int
    importance: float = DEFAULT_IMPORTANCE
    digest: bytes | None = None
    """The key of its vector as one chunk, where it has been computed already."""


class ChunkColumns(NamedTuple):
    """Chunks as columns of equal length: the place of each in its message, and the role, author, time (in microseconds
    since 1970) and session of that message."""

    chunks: Sequence[int] = ()
    messages: Sequence[int] = ()
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    roles: Sequence[Role] = ()
    authors: Sequence[str | None] = ()
    times: Sequence[int | None] = ()
    sessions: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk in the outbox with everything that its point needs: ``passage`` is what the model reads, ``row`` its
    vector's row in the ledger, if it has one, ``ticket`` its place in the queue, a new one each time."""

    ticket: int
    chunk: int
    text: str
    author: str | None
    digest: bytes
    row: int | None
    neighbours: str
    session: int
    user_id: str
    namespace: str
    role: Role
    source: str
    conversational: bool
    at: int | None
    storage_scope: StorageScope
    agents: str
    """The agents that take part in its session, as JSON."""
    archived: bool
    """Whether its message is archived: then it gets its vector, and no point."""
    is_page: bool = False
    """Whether its message is a page of a document."""
    message: int = field(default=0, kw_only=True)
    is_whole: bool = field(default=False, kw_only=True)
    """Whether it is its whole message, which may be longer than the model reads: see ``outbox.split``."""
    split: SplitMessage | None = field(default=None, kw_only=True)
    """Its message, if the chunks of that are read together, with those of its section."""

    @property
    def passage(self) -> Passage:
        return passage(self.author, self.text) if self.split is None else self.split


OutboxItem: TypeAlias = "PendingChunk | PendingSummaryChunk"
"""An entry of the outbox: a chunk of a message or of a summary."""


# --- chunks ------------------------------------------------------------------------------------------


def insert(
    tx: sqlite3.Connection, generation: int, spans_by_message: Sequence[tuple[ChunkableMessage, Sequence[ChunkSpan]]]
) -> int:
    """Store the chunks of messages and queue them for embedding; returns the number of chunks."""
    key, is_late = next_key(tx, "chunk"), has_late_chunking(tx, generation)
    chunk_rows, queue = [], []
    for message, spans in spans_by_message:
        queue_priority = chunk_priority(message.conversational, message.order_at, message.importance)
        is_whole = len(spans) == 1 and spans[0].start == 0 and spans[0].end == len(message.text)
        digests = (
            [message.digest]
            if is_whole and message.digest is not None
            else chunk_digests(message.author, message.text, spans, is_late=is_late)
        )
        for span, digest in zip(spans, digests, strict=True):
            chunk_rows.append((key, message.id, generation, span.start, span.end, digest))
            queue.append((key, generation, "put", queue_priority))
            key += 1
    tx.executemany(
        "INSERT INTO chunk (id, message_id, generation, start, stop, digest) VALUES (?, ?, ?, ?, ?, ?)", chunk_rows
    )
    tx.executemany("INSERT INTO outbox (chunk_id, generation, work, priority) VALUES (?, ?, ?, ?)", queue)
    return len(chunk_rows)


def delete(tx: sqlite3.Connection, messages: Collection[int]) -> None:
    """Delete the chunks of messages, and queue the removal of their points."""
    keys = (json_keys(messages),)
    _enqueue(
        tx, f"SELECT id, generation, 'drop', {CONVERSATION_BOOST} FROM chunk WHERE message_id IN {JSON_KEYS_SQL}", keys
    )
    tx.execute(f"DELETE FROM chunk WHERE message_id IN {JSON_KEYS_SQL}", keys)


def drop_points(tx: sqlite3.Connection, messages: Collection[int]) -> None:
    """Queue the removal of the points of messages that keep their chunks, because they are archived."""
    query = f"SELECT id, generation, 'drop', {CONVERSATION_BOOST} FROM chunk WHERE message_id IN {JSON_KEYS_SQL}"
    _enqueue(tx, query, (json_keys(messages),))


def requeue(tx: sqlite3.Connection, messages: Collection[int]) -> None:
    """Queue the chunks of messages again, because their neighbours or filter fields changed. For archived messages, the
    row of the archive index becomes stale instead."""
    if not messages:
        return
    _enqueue(tx, f"{_MESSAGE_PUTS_SQL} AND c.message_id IN {JSON_KEYS_SQL}", (json_keys(messages),))
    tx.execute(f"UPDATE archived SET stale = stale + 1 WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(messages),))


def requeue_session(tx: sqlite3.Connection, session: int) -> None:
    """Queue the chunks of a session and of its summaries again, because filter fields of the session changed."""
    requeue(tx, [key for (key,) in tx.execute("SELECT id FROM message WHERE session_id = ?", (session,))])
    _enqueue(tx, f"{_SUMMARY_PUTS_SQL} WHERE s.session_id = ?", (session,))


def requeue_all(tx: sqlite3.Connection, generation: int, *, embedded_last: bool = False) -> None:
    """Queue every chunk of a generation, of messages and summaries, because its index is empty.

    Args:
        tx: The transaction.
        generation: The generation.
        embedded_last: Whether messages' chunks that have a vector come after all others, in the order of their keys, in
            which those of a session are mostly together.
    """
    puts = _MESSAGE_PUTS_SQL
    if embedded_last:
        embedded = "SELECT 1 FROM embedding e WHERE e.generation = c.generation AND e.digest = c.digest"
        puts = puts.replace(PRIORITY_SQL, f"CASE WHEN EXISTS ({embedded}) THEN {LAST_PRIORITY} ELSE {PRIORITY_SQL} END")
    _enqueue(tx, f"{puts} AND c.generation = ?", (generation,))
    requeue_summaries(tx, generation)


def requeue_summaries(tx: sqlite3.Connection, generation: int) -> None:
    """Queue the chunks of all summaries of a generation again."""
    _enqueue(tx, f"{_SUMMARY_PUTS_SQL} WHERE p.generation = ?", (generation,))


LAST_PRIORITY = -(2**62)

_MESSAGE_PUTS_SQL = (
    f"SELECT c.id, c.generation, 'put', {PRIORITY_SQL} FROM chunk c JOIN message m ON m.id = c.message_id"
    " WHERE NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)"
)
_SUMMARY_PUTS_SQL = (
    f"SELECT {SUMMARY_POINTS} + p.id, p.generation, 'put', s.last_order - {SUMMARY_PENALTY}"
    " FROM summary_chunk p JOIN summary s ON s.id = p.summary_id"
)


def _enqueue(tx: sqlite3.Connection, query: str, values: Sequence[object]) -> None:
    """Put the rows of a query (chunk, generation, work, priority) into the outbox, each with a new ticket."""
    tx.execute(f"INSERT OR REPLACE INTO outbox (chunk_id, generation, work, priority) {query}", values)


def messages_without_chunks(db: sqlite3.Connection, generation: int, after: int) -> list[ChunkableMessage]:
    """Return the next messages with text, with keys above ``after``, that have no chunks in a generation."""
    page = db.execute(
        f"SELECT m.id, m.author, m.text, m.talk, m.order_at, {IMPORTANCE_SQL}"
        " FROM message m WHERE m.id > ? AND m.text <> ''"
        " AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.message_id = m.id AND c.generation = ?)"
        " ORDER BY m.id LIMIT ?",
        (after, generation, PAGE_ROWS),
    )
    return [ChunkableMessage(key, author, text, bool(talk), *rest) for key, author, text, talk, *rest in page]


def count(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of messages' chunks of a generation."""
    return fetch_int(db, "SELECT count(*) FROM chunk WHERE generation = ?", (generation,))


def counts(db: sqlite3.Connection) -> dict[int, int]:
    """Return the number of messages' chunks by generation."""
    return dict(db.execute("SELECT generation, count(*) FROM chunk GROUP BY generation").fetchall())


def message_counts(db: sqlite3.Connection) -> dict[int, int]:
    """Return the number of messages with chunks by generation."""
    return dict(db.execute("SELECT generation, count(DISTINCT message_id) FROM chunk GROUP BY generation").fetchall())


def count_archived(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of chunks of a generation whose messages are archived, so that they have no points."""
    query = "SELECT count(*) FROM archived a JOIN chunk c ON c.message_id = a.message_id WHERE c.generation = ?"
    return fetch_int(db, query, (generation,))


_ORPHANED_SQL = (
    "FROM embedding WHERE (generation, digest) NOT IN"
    " (SELECT generation, digest FROM chunk UNION SELECT generation, digest FROM summary_chunk)"
)


def count_orphaned_embeddings(db: sqlite3.Connection) -> int:
    """Return the number of ledger rows with texts that no chunk has any more."""
    return fetch_int(db, f"SELECT count(*) {_ORPHANED_SQL}")


def archived_chunks(db: sqlite3.Connection, generation: int) -> dict[int, int]:
    """Return the chunks of a generation whose messages are archived, with these messages."""
    query = (
        "SELECT c.id, a.message_id FROM archived a JOIN chunk c ON c.message_id = a.message_id WHERE c.generation = ?"
    )
    return dict(db.execute(query, (generation,)).fetchall())


def archived_rows(db: sqlite3.Connection, generation: int) -> dict[int, int]:
    """Return the ledger rows of the archived chunks of a generation."""
    rows = db.execute(
        "SELECT c.id, e.row FROM archived a JOIN chunk c ON c.message_id = a.message_id"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest WHERE c.generation = ?",
        (generation,),
    )
    return dict(rows.fetchall())


def delete_orphaned_embeddings(tx: sqlite3.Connection) -> None:
    """Delete the ledger rows of texts that no chunk has any more."""
    tx.execute(f"DELETE {_ORPHANED_SQL}")


def count_ledger_rows(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of rows of the generation's ledger that count."""
    return fetch_int(db, "SELECT coalesce(max(row) + 1, 0) FROM embedding WHERE generation = ?", (generation,))


def ledger_rows(db: sqlite3.Connection, generation: int) -> set[int]:
    """Return the rows of the ledger that hold the vector of a text."""
    return {row for (row,) in db.execute("SELECT row FROM embedding WHERE generation = ?", (generation,))}


# --- outbox ------------------------------------------------------------------------------------------


def update_priorities(tx: sqlite3.Connection, messages: Collection[int]) -> None:
    """Move the waiting chunks of messages to the place in the queue that their importance now gives them."""
    tx.execute(
        f"UPDATE outbox SET priority = (SELECT {PRIORITY_SQL} FROM chunk c JOIN message m ON m.id = c.message_id"
        " WHERE c.id = outbox.chunk_id) WHERE work = 'put' AND chunk_id IN"
        f" (SELECT id FROM chunk WHERE message_id IN {JSON_KEYS_SQL})",
        (json_keys(messages),),
    )


def count_pending(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of messages' chunks that wait for their vector or their point."""
    return count_pending_up_to(db, generation, -1)


def count_up_to_last(db: sqlite3.Connection) -> int:
    """Return how many chunks there are at most; to count a million takes a second."""
    return fetch_int(db, "SELECT coalesce(max(id), 0) FROM chunk")


def count_pending_up_to(db: sqlite3.Connection, generation: int, maximum: int) -> int:
    """Return the same number, counting no further than ``maximum``."""
    query = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE generation = ? AND work = 'put' AND chunk_id < ? LIMIT ?)"
    return fetch_int(db, query, (generation, SUMMARY_POINTS, maximum))


def newest_ticket(db: sqlite3.Connection) -> int:
    """Return the ticket of what was queued last. What is queued from now on has a higher one."""
    return fetch_int(db, "SELECT coalesce(max(ticket), 0) FROM outbox")


def has_queued_work(db: sqlite3.Connection, generation: int) -> bool:
    """Whether any point of a generation waits to be put or dropped."""
    return has_row(db, "SELECT 1 FROM outbox WHERE generation = ? LIMIT 1", (generation,))


def next_drops(db: sqlite3.Connection, generation: int, limit: int) -> list[tuple[int, int]]:
    """Return up to ``limit`` tickets and the chunks whose points are to be removed."""
    return db.execute(
        "SELECT ticket, chunk_id FROM outbox WHERE generation = ? AND work = 'drop' LIMIT ?", (generation, limit)
    ).fetchall()


def next_puts(
    db: sqlite3.Connection,
    generation: int,
    limit: int,
    messages: Collection[int] | None = None,
    up_to_ticket: int = MAX_TICKET,
) -> list[PendingChunk]:
    """Return up to ``limit`` chunks to put next, highest priority first, with everything that their points need; only
    chunks of ``messages`` if it is not None, and only those queued up to a ticket."""
    which, order = "generation = ?1", "priority DESC"
    # The unary + keeps SQLite from scanning the queue by its tickets, or for messages at all: it looks their chunks up.
    if messages is not None:
        which = f"+generation = ?1 AND chunk_id IN (SELECT id FROM chunk WHERE message_id IN {JSON_KEYS_SQL})"
        order = "+priority DESC"
    return _with_point_fields(
        db,
        generation,
        "SELECT ticket, chunk_id, priority FROM outbox WHERE work = 'put' AND chunk_id < ?3"
        f" AND +ticket <= ?4 AND {which} ORDER BY {order}, chunk_id LIMIT ?2",
        (limit, SUMMARY_POINTS, up_to_ticket, *([] if messages is None else [json_keys(messages)])),
    )


def with_point_fields(db: sqlite3.Connection, generation: int, messages: Collection[int]) -> list[PendingChunk]:
    """Return the chunks of messages with everything that their points need; their ticket is 0."""
    which = f"SELECT 0 AS ticket, id AS chunk_id, 0 AS priority FROM chunk WHERE message_id IN {_SECOND_KEYS_SQL}"
    return _with_point_fields(db, generation, f"{which} AND generation = ?1", (json_keys(messages),))


def messages_by_scope(db: sqlite3.Connection, generation: int) -> list[int]:
    """Return the messages that have points in a generation's index, those of a user and namespace together."""
    return [
        key
        for (key,) in db.execute(
            "SELECT m.id FROM message m JOIN session s ON s.id = m.session_id"
            " WHERE EXISTS (SELECT 1 FROM chunk c WHERE c.message_id = m.id AND c.generation = ?)"
            " AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)"
            " ORDER BY s.user_id, s.namespace, m.id",
            (generation,),
        )
    ]


_SECOND_KEYS_SQL = JSON_KEYS_SQL.replace("?", "?2")


def _with_point_fields(
    db: sqlite3.Connection, generation: int, selection: str, values: Sequence[object]
) -> list[PendingChunk]:
    """The chunks that a query selects (ticket, chunk_id, priority), highest priority first."""
    # One state of the database: a message that is edited between the queries must not get its new text under the digest
    # of the old one.
    with read_transaction(db):
        rows = db.execute(
            "SELECT o.ticket, c.id, m.id, c.start, c.stop, m.author, c.digest, e.row,"
            f" CASE WHEN {INDEPENDENT_SQL} THEN '' ELSE w.neighbours END,"
            " m.session_id, s.user_id, s.namespace, m.role, s.format, m.talk, m.at, s.storage_scope,"
            f" {AGENTS_SQL}, EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id), {IS_PAGE_SQL}"
            f" FROM ({selection}) o"
            " JOIN chunk c ON c.id = o.chunk_id JOIN message m ON m.id = c.message_id"
            " JOIN session s ON s.id = m.session_id JOIN message_window w ON w.id = m.id"
            " LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
            " ORDER BY o.priority DESC, c.id",
            (generation, *values),
        ).fetchall()
        # Sliced here, because SQLite's substr ends at a NUL character; and so each text is read once.
        query = f"SELECT id, text FROM message WHERE id IN {JSON_KEYS_SQL}"
        texts = dict(db.execute(query, (json_keys({values[2] for values in rows}),)).fetchall())
        split = split_messages(db, generation, {values[2]: (values[5], texts[values[2]]) for values in rows})
    return [
        PendingChunk(
            ticket,
            chunk,
            texts[message][start:stop],
            author,
            digest,
            *values,
            message=message,
            is_whole=start == 0 and stop == len(texts[message]),
            split=split.get(digest),
        )
        for ticket, chunk, message, start, stop, author, digest, *values in rows
    ]


def acknowledge(
    tx: sqlite3.Connection,
    generation: int,
    put: Sequence[OutboxItem] = (),
    dropped: Sequence[tuple[int, int]] = (),
    rows: Mapping[bytes, int] | None = None,
) -> None:
    """Note what has reached the disk, and remove it from the outbox. A chunk that was queued again meanwhile has a new
    ticket, and stays.

    Args:
        tx: The transaction.
        generation: The generation.
        put: The chunks whose points were put.
        dropped: The tickets and chunks whose points were removed, as from ``next_drops``.
        rows: The new ledger rows, by digest.
    """
    tx.executemany(
        "INSERT OR IGNORE INTO embedding (generation, digest, row) VALUES (?, ?, ?)",
        [(generation, digest, row) for digest, row in (rows or {}).items()],
    )
    tickets = [(item.ticket,) for item in put] + [(ticket,) for ticket, _ in dropped]
    tx.executemany("DELETE FROM outbox WHERE ticket = ?", tickets)


_PLACE_SQL = f"{as_kind('c.start', 'INTEGER', '0')}, {as_kind('c.stop', 'INTEGER', '0')}"


def load_columns(db: sqlite3.Connection, chunks: Sequence[int], filters: Filters) -> ChunkColumns:
    """Return the given chunks with properties of their messages, sorted by key; without deleted ones, and without those
    that the visibility filter excludes although the index does not know it yet."""
    visibility_sql, values = visibility.visibility_filter(filters)
    rows = fetch_readable(
        db,
        f"SELECT c.id, c.message_id, {_PLACE_SQL}, {ROLE_SQL}, {AUTHOR_SQL}, {AT_SQL}, m.session_id"
        " FROM chunk c JOIN message m ON m.id = c.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE c.id IN {JSON_KEYS_SQL} AND {visibility_sql}",
        chunks,
        after=values,
        columns=8,
    )
    return ChunkColumns(*zip(*sorted(rows, key=itemgetter(0)), strict=True))


def chunks_of(db: sqlite3.Connection, generation: int, messages: Sequence[int]) -> dict[int, list[int]]:
    """Return the chunks of each message, in order."""
    if not messages:
        return {}
    rows = fetch_in_one_step(
        db,
        f"SELECT message_id, start, id FROM chunk WHERE generation = ? AND message_id IN {JSON_KEYS_SQL}",
        (generation, json_keys(messages)),
        columns=3,
    )
    chunks: dict[int, list[int]] = {}
    for message, _, key in sorted(rows):
        chunks.setdefault(message, []).append(key)
    return chunks
