"""Keeps the pages of documents with the messages that carry them, when these change."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from appliance.store import chunks, digests, lexical
from appliance.store.chunks import ChunkableMessage
from appliance.store.priority import IMPORTANCE_SQL
from appliance.store.sql import JSON_KEYS_SQL, json_keys

_MOVED_SQL = (
    "SELECT p.id, m.author, m.sent_at, m.at, m.order_at, m.position FROM document_page d"
    " JOIN message m ON m.id = d.parent_id JOIN message p ON p.id = d.message_id"
    f" WHERE d.parent_id IN {JSON_KEYS_SQL}"
    " AND (p.author, p.sent_at, p.order_at, p.position) IS NOT (m.author, m.sent_at, m.order_at, m.position)"
    " AND p.id NOT IN (SELECT message_id FROM archived)"
)


def follow(tx: sqlite3.Connection, keys: Collection[int]) -> list[ChunkableMessage]:
    """Give the pages of messages that have changed their author, time and place, which is no edit of a page. Returns
    the pages that the caller has to index again. An archived page stays as it is."""
    rows = tx.execute(_MOVED_SQL, (json_keys(keys),)).fetchall()
    if not rows:
        return []
    pages = [key for key, *_ in rows]
    intact = digests.intact(tx, pages)
    lexical.remove_from_index(tx, pages)
    chunks.delete(tx, pages)
    tx.executemany(
        "UPDATE message SET author = ?, sent_at = ?, at = ?, order_at = ?, position = ? WHERE id = ?",
        [(*values, key) for key, *values in rows],
    )
    digests.refresh(tx, intact)
    changed = tx.execute(
        f"SELECT m.id, m.author, m.text, 0, m.order_at, {IMPORTANCE_SQL} FROM message m WHERE m.id IN {JSON_KEYS_SQL}",
        (json_keys(pages),),
    )
    return [ChunkableMessage(key, author, text, False, *rest) for key, author, text, _, *rest in changed]
