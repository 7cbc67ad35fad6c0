"""The running summaries of sessions' working memories, and what of a session is not folded into one yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from appliance.moments import now
from appliance.store import messages
from appliance.store.messages import Row
from appliance.store.sql import to_json

FIRST_LOOK = 64
"""Messages from a session's end that are read to find where its running summary ends; then four times as many."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored running summary: of the first ``folded`` messages of talk, of which ``until`` is the last, under
    ``habits``. ``sentences`` are (message, start, end, number) each."""

    until: int
    folded: int
    text: str
    sentences: tuple[tuple[int, int, int, int], ...]
    made_by: str
    habits: str


def options(db: sqlite3.Connection, session: int) -> dict[str, Any]:
    """What a session sets of its own; nothing where there is no such session."""
    row = db.execute("SELECT options FROM session WHERE id = ?", (session,)).fetchone()
    found: dict[str, Any] = {} if row is None else msgspec.json.decode(row[0])
    return found


def get(db: sqlite3.Connection, session: int) -> Entry | None:
    """The running summary of a session."""
    row = db.execute(
        "SELECT message_id, folded, text, sentences, made_by, habits FROM working WHERE session_id = ?",
        (session,),
    ).fetchone()
    if row is None:
        return None
    until, folded, text, sentences, made_by, habits = row
    kept = tuple((key, start, end, number) for key, start, end, number in msgspec.json.decode(sentences))
    return Entry(until, folded, text, kept, made_by, habits)


def put(
    tx: sqlite3.Connection,
    session: int,
    entry: Entry,
    before: Entry | None,
    quoted: Sequence[Row],
    since: int | None,
    folded: Sequence[Row],
) -> bool:
    """Store a running summary in the place of ``before``. False, and nothing is stored, where that is no longer there,
    or where the messages that were ``quoted``, or those that were ``folded`` behind ``since``, are not as they were
    read."""
    held = messages.get(tx, [row.id for row in quoted])
    behind = unfolded(tx, session, since) or []
    if (
        get(tx, session) != before
        or any(held.get(row.id) != row for row in quoted)
        or behind[: len(folded)] != [*folded]
    ):
        return False
    place = tx.execute("SELECT order_at, position FROM message WHERE id = ?", (entry.until,)).fetchone()
    tx.execute("DELETE FROM working WHERE session_id = ?", (session,))
    tx.execute(
        "INSERT INTO working (session_id, order_at, position, message_id, folded, text, sentences, made_by, habits,"
        " made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (session, *place, entry.until, entry.folded, entry.text, to_json(entry.sentences), entry.made_by,
         entry.habits, now()),
    )  # fmt: skip
    tx.executemany(
        "INSERT INTO working_past (past_id, session_id) VALUES (?, ?)",
        [(past, session) for past in _past(tx, session)],
    )
    return True


def unfolded(db: sqlite3.Connection, session: int, until: int | None) -> list[Row] | None:
    """A session's messages of talk behind the one that ends its running summary, in order; all without one. None where
    that message is none of the session's."""
    if until is None:
        return messages.of_session(db, session, talk_only=True)
    last: int | None = FIRST_LOOK
    while True:
        rows = messages.of_session(db, session, last=last, talk_only=True)
        place = next((i for i in range(len(rows) - 1, -1, -1) if rows[i].id == until), None)
        if place is not None:
            return rows[place + 1 :]
        if last is None or len(rows) < last:
            return None
        last *= 4


def talk(db: sqlite3.Connection, session: int) -> int:
    """How many messages of talk a session has, with those that it shares as a branch."""
    total = 0
    part: tuple[int | None, int | None] = (session, None)
    while part[0] is not None:
        total += db.execute(
            "SELECT count(*) FROM message m WHERE m.session_id = ?1 AND m.talk = 1 AND (?2 IS NULL"
            " OR (m.order_at, m.position, m.id) <= (SELECT order_at, position, id FROM message WHERE id = ?2))",
            part,
        ).fetchone()[0]
        part = _parent(db, part[0])
    return total


def _parent(db: sqlite3.Connection, session: int) -> tuple[int | None, int | None]:
    """What a session is a branch of, and the last message that it shares."""
    row = db.execute("SELECT parent_id, branch_at FROM session WHERE id = ?", (session,)).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def _past(db: sqlite3.Connection, session: int) -> list[int]:
    """The session itself and those that it is a branch of."""
    found: list[int] = []
    key: int | None = session
    while key is not None:
        found.append(key)
        key = _parent(db, key)[0]
    return found
