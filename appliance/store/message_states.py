"""The stored forms of messages, to compare with those of a file that was read in part before."""

from __future__ import annotations

import sqlite3

from appliance.store.messages import StoredState
from appliance.types import Scope


def next_state(tx: sqlite3.Connection, session: int, order_at: int, position: int) -> tuple[str, StoredState] | None:
    """Return the first message after a place with its external id; None at the end of the session."""
    row = tx.execute(
        "SELECT external_id, id, order_at, position, role, author, text, sent_at, reply_to, metadata FROM message"
        " WHERE session_id = ? AND (order_at, position) > (?, ?) ORDER BY order_at, position LIMIT 1",
        (session, order_at, position),
    ).fetchone()
    return None if row is None else (row[0], StoredState(*row[1:]))


def only_message(tx: sqlite3.Connection, source: int, scope: Scope, format: str) -> tuple[str, StoredState] | None:
    """Return the one message of the one session that was read from a source, with the external id of the session; None
    if there is not exactly one."""
    rows = tx.execute(
        "SELECT s.external_id, m.id, m.order_at, m.position, m.role, m.author, m.text, m.sent_at, m.reply_to,"
        " m.metadata FROM source_session l JOIN session s ON s.id = l.session_id JOIN message m ON m.session_id = s.id"
        " WHERE l.source_id = ? AND s.user_id = ? AND s.namespace = ? AND s.format = ? LIMIT 2",
        (source, scope.user_id, scope.namespace, format),
    ).fetchall()
    return (rows[0][0], StoredState(*rows[0][1:])) if len(rows) == 1 else None
