"""The running summaries of working memories, and the messages of a session that are not compacted into one yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from appliance.lazy_dataclasses import dataclass
from appliance.store import branches, messages
from appliance.store.messages import MessageRow
from appliance.store.sql import fetch_int, to_json
from appliance.timestamps import now

FIRST_PAGE_MESSAGES = 64
"""How many of a session's latest messages are read to find where its running summary ends; then four times as many."""


@dataclass(frozen=True, slots=True)
class StoredRunningSummary:
    """A running summary of the first ``compacted`` conversational messages, of which ``until`` is the last, made with
    the settings ``policy``. ``sentences`` are (message, start, end, number) each."""

    until: int
    compacted: int
    text: str
    sentences: tuple[tuple[int, int, int, int], ...]
    made_by: str
    policy: str


def get(db: sqlite3.Connection, session: int) -> StoredRunningSummary | None:
    """Return the running summary of a session, or None."""
    row = db.execute(
        "SELECT message_id, folded, text, sentences, made_by, habits FROM working WHERE session_id = ?", (session,)
    ).fetchone()
    if row is None:
        return None
    until, compacted, text, sentences, made_by, policy = row
    decoded = tuple((key, start, end, number) for key, start, end, number in msgspec.json.decode(sentences))
    return StoredRunningSummary(until, compacted, text, decoded, made_by, policy)


def put(
    tx: sqlite3.Connection,
    session: int,
    entry: StoredRunningSummary,
    previous: StoredRunningSummary | None,
    quoted: Sequence[MessageRow],
    since: int | None,
    compacted: Sequence[MessageRow],
) -> bool:
    """Replace the running summary of a session, unless what it was made from has changed meanwhile.

    Args:
        tx: The transaction.
        session: The key of the session.
        entry: The new running summary.
        previous: The stored running summary that it replaces.
        quoted: The messages that it quotes, as they were read.
        since: The last message that ``previous`` covers.
        compacted: The messages after ``since`` that it covers now, as they were read.

    Returns:
        Whether it was stored.
    """
    current_rows = messages.get(tx, [row.id for row in quoted])
    unfolded_rows = unfolded(tx, session, since) or []
    if (
        get(tx, session) != previous
        or any(current_rows.get(row.id) != row for row in quoted)
        or unfolded_rows[: len(compacted)] != [*compacted]
    ):
        return False
    place = tx.execute("SELECT order_at, position FROM message WHERE id = ?", (entry.until,)).fetchone()
    tx.execute("DELETE FROM working WHERE session_id = ?", (session,))
    tx.execute(
        "INSERT INTO working (session_id, order_at, position, message_id, folded, text, sentences, made_by, habits,"
        " made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (session, *place, entry.until, entry.compacted, entry.text, to_json(entry.sentences), entry.made_by,
         entry.policy, now()),
    )  # fmt: skip
    tx.executemany(
        "INSERT INTO working_past (past_id, session_id) VALUES (?, ?)",
        [(part.session, session) for part in branches.session_parts(tx, session)],
    )
    return True


def unfolded(db: sqlite3.Connection, session: int, until: int | None) -> list[MessageRow] | None:
    """Return the conversational messages after ``until``, the last one of the running summary, in order; all of them if
    it is None. Returns None if that message is not one of the session's."""
    if until is None:
        return messages.of_session(db, session, conversational_only=True)
    last: int | None = FIRST_PAGE_MESSAGES
    while True:
        rows = messages.of_session(db, session, last=last, conversational_only=True)
        place = next((i for i in range(len(rows) - 1, -1, -1) if rows[i].id == until), None)
        if place is not None:
            return rows[place + 1 :]
        if last is None or len(rows) < last:
            return None
        last *= 4


def count_conversational(db: sqlite3.Connection, session: int) -> int:
    """Return the number of conversational messages of a session, with those that it shares as a branch."""
    conditions = (branches.parts_condition([part]) for part in branches.session_parts(db, session))
    query = "SELECT count(*) FROM message m WHERE m.talk = 1 AND"
    return sum(fetch_int(db, f"{query} {where}", values) for where, values in conditions)
