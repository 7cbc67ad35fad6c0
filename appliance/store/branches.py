"""Branches: the messages before the branching point are stored once and belong to both sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys
from appliance.types import SessionPart

SqlCondition = tuple[str, tuple[object, ...]]
"""An SQL condition and its parameters."""


def session_parts(db: sqlite3.Connection, session: int) -> tuple[SessionPart, ...]:
    """Return the parts that make up a session, oldest first. The last is its own; only a branch has others."""
    parts = [SessionPart(session)]
    while True:
        row = db.execute("SELECT parent_id, branch_at FROM session WHERE id = ?", (parts[-1].session,)).fetchone()
        if row is None or row[0] is None:
            return tuple(reversed(parts))
        parts.append(SessionPart(*row))


def with_branches(db: sqlite3.Connection, keys: Iterable[int]) -> set[int]:
    """Return the given sessions and all their direct and indirect branches."""
    rows = db.execute(
        f"WITH RECURSIVE past (id) AS (SELECT id FROM session WHERE id IN {JSON_KEYS_SQL}"
        " UNION SELECT s.id FROM session s JOIN past p ON s.parent_id = p.id) SELECT id FROM past",
        (json_keys(keys),),
    )
    return {key for (key,) in rows}


def parts_condition(parts: Sequence[SessionPart]) -> SqlCondition:
    """Return the condition that ``message m`` belongs to any of the parts."""
    clauses: list[str] = []
    values: list[object] = []
    for part in parts:
        if part.until is None:
            clauses.append("m.session_id = ?")
            values.append(part.session)
        else:
            clauses.append(
                "(m.session_id = ? AND (m.order_at, m.position, m.id) <="
                " (SELECT b.order_at, b.position, b.id FROM message b WHERE b.id = ?))"
            )
            values += [part.session, part.until]
    return "(" + " OR ".join(clauses) + ")", tuple(values)


def contains(db: sqlite3.Connection, parts: Sequence[SessionPart], message: int) -> bool:
    """Whether a message belongs to any of the parts."""
    if not parts:
        return False
    where, values = parts_condition(parts)
    return has_row(db, f"SELECT 1 FROM message m WHERE m.id = ? AND {where}", (message, *values))
