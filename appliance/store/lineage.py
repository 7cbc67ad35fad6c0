"""What a branch shares with the conversation that it left: the past is told once, and is part of both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from appliance.store.sql import LISTED, listed
from appliance.types import Part

Condition = tuple[str, tuple[object, ...]]
"""SQL over ``message m``, and its values."""


def parts(db: sqlite3.Connection, session: int) -> tuple[Part, ...]:
    """The stretches that a session is made of, the oldest first; the last one is its own. One only, but for a
    branch."""
    found = [Part(session)]
    while True:
        row = db.execute(
            "SELECT parent_id, branch_at FROM session WHERE id = ?", (found[-1].session,)
        ).fetchone()
        if row is None or row[0] is None:
            return tuple(reversed(found))
        found.append(Part(*row))


def with_branches(db: sqlite3.Connection, keys: Iterable[int]) -> set[int]:
    """Sessions and whatever is a branch of one of them, or of a branch of it."""
    rows = db.execute(
        f"WITH RECURSIVE past (id) AS (SELECT id FROM session WHERE id IN {LISTED}"
        " UNION SELECT s.id FROM session s JOIN past p ON s.parent_id = p.id) SELECT id FROM past",
        (listed(keys),),
    )
    return {key for (key,) in rows}


def within(parts: Sequence[Part]) -> Condition:
    """The messages that lie in any of some stretches."""
    pieces: list[str] = []
    values: list[object] = []
    for part in parts:
        if part.until is None:
            pieces.append("m.session_id = ?")
            values.append(part.session)
        else:
            pieces.append(
                "(m.session_id = ? AND (m.order_at, m.position, m.id) <="
                " (SELECT b.order_at, b.position, b.id FROM message b WHERE b.id = ?))"
            )
            values += [part.session, part.until]
    return "(" + " OR ".join(pieces) + ")", tuple(values)


def holds(db: sqlite3.Connection, parts: Sequence[Part], message: int) -> bool:
    """Whether a message lies in any of some stretches."""
    if not parts:
        return False
    where, values = within(parts)
    return (
        db.execute(f"SELECT 1 FROM message m WHERE m.id = ? AND {where}", (message, *values)).fetchone()
        is not None
    )
