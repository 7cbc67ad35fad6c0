"""The spans of messages' chunks in one generation: read to be compared with how messages would be split now, removed to
be split again, and those of a message that is one chunk until it is split."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from appliance.store.chunks import ChunkableMessage
from appliance.store.passages import ChunkSpan
from appliance.store.priority import CONVERSATION_BOOST, IMPORTANCE_SQL
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_int, json_keys, pages


def messages_with_spans(
    db: sqlite3.Connection, generation: int, after: int
) -> list[tuple[ChunkableMessage, list[ChunkSpan]]]:
    """Return the next messages with keys above ``after`` that have chunks in a generation, with these in order."""
    page = db.execute(
        f"SELECT m.id, m.author, m.text, m.talk, m.order_at, {IMPORTANCE_SQL} FROM message m WHERE m.id > ?"
        " AND EXISTS (SELECT 1 FROM chunk c WHERE c.message_id = m.id AND c.generation = ?) ORDER BY m.id LIMIT ?",
        (after, generation, PAGE_ROWS),
    ).fetchall()
    if not page:
        return []
    spans: dict[int, list[ChunkSpan]] = {}
    for message, start, stop in db.execute(
        "SELECT message_id, start, stop FROM chunk WHERE generation = ? AND message_id BETWEEN ? AND ?"
        " ORDER BY message_id, start, stop",
        (generation, page[0][0], page[-1][0]),
    ):
        spans.setdefault(message, []).append(ChunkSpan(start, stop))
    return [
        (ChunkableMessage(key, author, text, bool(talk), *rest), spans[key])
        for key, author, text, talk, *rest in page
        if key in spans
    ]


def delete(tx: sqlite3.Connection, generation: int, messages: Collection[int]) -> None:
    """Delete the chunks of messages in one generation, and queue the removal of their points."""
    which = f"FROM chunk WHERE generation = ? AND message_id IN {JSON_KEYS_SQL}"
    values = (generation, json_keys(messages))
    tx.execute(
        "INSERT OR REPLACE INTO outbox (chunk_id, generation, work, priority)"
        f" SELECT id, generation, 'drop', {CONVERSATION_BOOST} {which}",
        values,
    )
    tx.execute(f"DELETE {which}", values)


def whole(message: ChunkableMessage) -> list[ChunkSpan]:
    """Return a message as one chunk, to be split later if it is too long; no chunk for an empty text."""
    return [ChunkSpan(0, len(message.text))] if message.text else []


def count_of(db: sqlite3.Connection, generation: int, messages: Sequence[int]) -> int:
    """Return the number of chunks of messages in a generation."""
    query = f"SELECT count(*) FROM chunk WHERE generation = ? AND message_id IN {JSON_KEYS_SQL}"
    return sum(fetch_int(db, query, (generation, json_keys(page))) for page in pages(messages))
