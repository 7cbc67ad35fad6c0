"""Looked over without being searched: a conversation's outline, what there is to choose from, and how much was said
when."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from typing import Any

from appliance.moments import iso_of, now
from appliance.store import lineage
from appliance.store.messages import message_id
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Activity, Choices, Outline, Scope, WatchedFile

LINE = 72
"""Characters of a line by which ``Outline.lines`` estimates a text's height, which screens correct as they draw it."""


def outline(db: sqlite3.Connection, session: int, id: str) -> Outline:
    """A session's messages in order, those first that it shares as a branch, without their texts."""
    columns: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
    for part in lineage.parts(db, session):
        where, values = lineage.within([part])
        rows = db.execute(
            "SELECT m.id, m.role, coalesce(m.author, ''), coalesce(m.sent_at, ''), length(m.text),"
            f" length(m.text) / {LINE} + 1 + length(m.text) - length(replace(m.text, char(10), '')), m.pinned"
            f" FROM message m WHERE {where} ORDER BY m.order_at, m.position, m.id",
            values,
        ).fetchall()
        # By columns: a loop over the values of 50,000 messages would take as long as reading them.
        keys, *rest, pinned = zip(*rows, strict=True) if rows else [()] * len(columns)
        for column, more in zip(columns, (map(message_id, keys), *rest, map(bool, pinned)), strict=True):
            column.extend(more)
    return Outline(id, *columns)


def choices(db: sqlite3.Connection, scope: Scope) -> Choices:
    """What a search of a scope can be narrowed to, each with how many messages it has; the users of the memory with
    their sessions."""
    sources, roles = Counter[str](), Counter[str]()
    for source, role, count in db.execute(
        "SELECT s.format, m.role, count(*) FROM message m JOIN session s ON s.id = m.session_id"
        f" WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED} GROUP BY 1, 2",
        (scope.user_id, scope.namespace, now()),
    ):
        sources[source] += count
        roles[role] += count
    users = db.execute("SELECT user_id, count(*) FROM session GROUP BY user_id ORDER BY 2 DESC, 1").fetchall()
    spaces = db.execute(
        "SELECT namespace, count(*) FROM session WHERE user_id = ? GROUP BY namespace ORDER BY 2 DESC, 1",
        (scope.user_id,),
    ).fetchall()
    return Choices(dict(users), dict(spaces), dict(sources.most_common()), dict(roles.most_common()))


def activity(db: sqlite3.Connection, scope: Scope) -> list[Activity]:
    """How many messages of a scope were said in each month, by source; those without a time have no month."""
    rows = db.execute(
        "SELECT coalesce(strftime('%Y-%m', m.at / 1000000, 'unixepoch'), ''), s.format, count(*)"
        " FROM message m JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?"
        f" AND {NOT_EXPIRED} GROUP BY 1, 2 ORDER BY 1, 2",
        (scope.user_id, scope.namespace, now()),
    )
    return [Activity(*row) for row in rows]


def files(db: sqlite3.Connection, limit: int) -> list[WatchedFile]:
    """The files that were found in watched folders, those first that wait, then the latest read."""
    rows = db.execute(
        "SELECT path, root, size, state, reason, read_at FROM file"
        " ORDER BY state <> 'queued', read_at DESC, path LIMIT ?",
        (limit,),
    )
    return [
        WatchedFile(_shown(path), _shown(root), size, state, reason, None if read is None else iso_of(read))
        for path, root, size, state, reason, read in rows
    ]


def _shown(path: bytes) -> str:
    return os.fsdecode(path).encode("utf-8", "replace").decode()
