"""The neighbours of a message: the conversational messages before and after it in its session.

An answer follows its question, so a search also finds a message by its neighbours. The index stores their words, so
that new messages in a session require their neighbours to be indexed again. The messages of a session with the option
``independent`` have no neighbours.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from appliance.store.messages import MessageInsert, get, message_id, message_key, to_message
from appliance.store.session_options import INDEPENDENT_SQL
from appliance.store.sql import JSON_KEYS_SQL, fetch_readable, has_row, pages
from appliance.types import Message

NEIGHBOURS = 2
"""The number of neighbours on each side of a message (``message_window`` of the schema has the same number). On LoCoMo,
BM25 with two on each side finds a little more than with one (recall@10 0.706 against 0.702, 0.596 without any)."""


_DEPENDENT_SQL = f"FROM message m CROSS JOIN session s ON s.id = m.session_id WHERE NOT {INDEPENDENT_SQL}"


def adjacent_keys(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
    """Return the direct neighbours of each message, before and after it."""
    rows = fetch_readable(
        db,
        f"SELECT m.id, ({_next_sql('<', 'DESC')} LIMIT 1), ({_next_sql('>', 'ASC')} LIMIT 1)"
        f" {_DEPENDENT_SQL} AND m.id IN {JSON_KEYS_SQL}",
        keys,
        columns=3,
    )
    return {key: (before, after) for key, before, after in rows}


def adjacent_messages(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[Message | None, Message | None]]:
    """Return the direct neighbours of messages as in ``adjacent_keys``, but as messages and by public id."""
    pairs = adjacent_keys(db, [key for id in ids if (key := message_key(id)) is not None])
    rows = get(db, {key for pair in pairs.values() for key in pair if key is not None})
    messages_by_key = {key: to_message(row) for key, row in rows.items()}
    return {
        message_id(key): (messages_by_key.get(before or 0), messages_by_key.get(after or 0))
        for key, (before, after) in pairs.items()
    }


def neighbour_keys(db: sqlite3.Connection, keys: Sequence[int], radius: int) -> dict[int, tuple[int, ...]]:
    """Return the neighbours of each message, up to ``radius`` on each side."""
    return {key: (*before, *after) for key, (before, after) in sides(db, keys, radius).items()}


def sides(
    db: sqlite3.Connection, keys: Sequence[int], radius: int
) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the neighbours before and after each message, up to ``radius`` on each side, the nearest first."""
    query = (
        f"SELECT m.id, {_neighbours_sql('<', 'DESC')}, {_neighbours_sql('>', 'ASC')}"
        f" {_DEPENDENT_SQL} AND m.id IN {JSON_KEYS_SQL}"
    )
    found: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for page in pages(keys):
        for key, before, after in fetch_readable(db, query, page, before=(radius, radius), columns=3):
            found[key] = (_split_keys(before), _split_keys(after))
    return found


def _split_keys(joined: str | None) -> tuple[int, ...]:
    return tuple(map(int, joined.split(","))) if joined else ()


def _neighbours_sql(sign: str, order: str) -> str:
    return f"(SELECT group_concat(id) FROM ({_next_sql(sign, order)} LIMIT ?))"


def _next_sql(sign: str, order: str) -> str:
    return (
        "SELECT n.id FROM message n WHERE n.session_id = m.session_id AND n.talk = 1"
        f" AND (n.order_at, n.position, n.id) {sign} (m.order_at, m.position, m.id)"
        f" ORDER BY n.order_at {order}, n.position {order}, n.id {order}"
    )


def affected_neighbours(tx: sqlite3.Connection, session: int, messages: Sequence[MessageInsert]) -> set[int]:
    """Return the stored messages that get new neighbours when ``messages`` are added to a session."""
    affected: set[int] = set()
    if has_row(tx, f"SELECT 1 FROM session s WHERE s.id = ? AND {INDEPENDENT_SQL}", (session,)):
        return affected
    for message in messages:
        if not message.conversational:
            continue
        for sign, order in (("<=", "DESC"), (">", "ASC")):
            rows = tx.execute(
                f"SELECT id FROM message WHERE session_id = ? AND talk = 1 AND (order_at, position) {sign} (?, ?)"
                f" ORDER BY order_at {order}, position {order}, id {order} LIMIT ?",
                (session, message.order_at, message.position, NEIGHBOURS),
            )
            affected.update(key for (key,) in rows)
    return affected


def with_neighbours(tx: sqlite3.Connection, keys: Collection[int]) -> set[int]:
    """Return the given messages and all their neighbours."""
    return set(keys).union(*neighbour_keys(tx, list(keys), NEIGHBOURS).values())
