"""What else follows from new messages of a session: they are due for summaries and facts, their authors are noted, and
a running summary that they come too late for goes.

Triggers do the same for changed and deleted messages. For new ones they would take as long as the rows themselves:
SQLite copies every page that a statement with a trigger changes, for each message.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Protocol

from appliance.store.sql import has_row
from appliance.types import Role


class _MessagePlace(Protocol):
    """When and by whom a message was said, and where it stands in its session."""

    @property
    def order_at(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def at(self) -> int | None: ...
    @property
    def role(self) -> Role: ...
    @property
    def author(self) -> str | None: ...
    @property
    def conversational(self) -> bool: ...


DROP_TRIGGERS = tuple(
    f"DROP TRIGGER {name}"
    for name in ("summary_due_new", "working_late", "fact_due_new", "fact_due_answered", "author_new", "session_titled")
)
"""The migration since which the program does this."""

ALL_SUMMARIES_DUE_SQL = (
    "INSERT OR IGNORE INTO summary_due (session_id, changes, edits, torn, at) SELECT session_id, count(*), 0, 0,"
    " max(min(coalesce(at, CASE WHEN source_id IS NULL THEN added_at ELSE 0 END), added_at))"
    " FROM message WHERE talk GROUP BY session_id"
)
"""Makes every session due for summaries. Parts that have one which still holds keep it."""


def note(
    tx: sqlite3.Connection, session: int, source: int | None, added: int, rows: Sequence[tuple[int, _MessagePlace]]
) -> None:
    """Note new messages, by key, of one session. They are stored already.

    Args:
        tx: The transaction.
        session: The key of their session.
        source: The key of the file that they come from, None for messages added by hand.
        added: When they were stored, in microseconds since 1970.
        rows: The keys and messages.
    """
    authors = {one.author for _, one in rows if one.role == "user" and one.author is not None}
    tx.executemany(
        "INSERT OR IGNORE INTO session_author (session_id, author) VALUES (?, ?)", [(session, one) for one in authors]
    )
    openly = [(key, one) for key, one in rows if one.conversational]
    if not openly:
        return
    undated = added if source is None else 0
    latest = max(min(undated if one.at is None else one.at, added) for _, one in openly)
    tx.execute(
        "INSERT INTO summary_due (session_id, changes, edits, torn, at) VALUES (?, ?, 0, 0, ?)"
        " ON CONFLICT (session_id) DO UPDATE SET changes = changes + excluded.changes, at = max(at, excluded.at)",
        (session, len(openly), latest),
    )
    tx.execute(
        "DELETE FROM working WHERE session_id = ? AND (?, ?, ?) <= (order_at, position, message_id)",
        (session, *min((one.order_at, one.position, key) for key, one in openly)),
    )
    tx.executemany("INSERT INTO fact_due VALUES (?)", [(key,) for key, one in openly if one.role == "user"])
    unanswered = "SELECT 1 FROM fact_session WHERE session_id = ? AND NOT assistant"
    if any(one.role == "assistant" for _, one in openly) and has_row(tx, unanswered, (session,)):
        # When an assistant first answers in a session, the earlier messages of its users are read again.
        tx.execute("UPDATE fact_session SET assistant = 1 WHERE session_id = ?", (session,))
        tx.execute(
            "INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE session_id = ? AND talk AND role = 'user'",
            (session,),
        )


def note_all(tx: sqlite3.Connection) -> None:
    """Note every message of a store in which none is noted yet."""
    tx.execute(
        "INSERT OR IGNORE INTO session_author (session_id, author) SELECT DISTINCT session_id, author FROM message"
        " WHERE author IS NOT NULL AND role = 'user' AND typeof(author) = 'text'"
    )
    tx.execute(ALL_SUMMARIES_DUE_SQL)
    tx.execute("INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE talk AND role = 'user'")
