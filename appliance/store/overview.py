"""Overviews of the memory: the outline of a session, the values that filters can take, activity by month, files."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from typing import Any

from appliance.paths import is_there
from appliance.store import branches, mentions
from appliance.store.documents import IS_PAGE_SQL
from appliance.store.imports import IN_PATH_SQL
from appliance.store.messages import message_id
from appliance.store.session_listing import NOT_HIDDEN_SQL
from appliance.store.sessions import public_id
from appliance.store.visibility import NOT_EXPIRED
from appliance.store.watched_files import GONE, NAMED_SQL
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import Activity, FilterChoices, Filters, ImportedFile, ImportedSession, Outline, Scope, WatchedFile
from appliance.types.overview import MAX_MENTION_CHOICES

LINE_CHARACTERS = 72
"""The width by which ``Outline.lines`` estimates the height of a text; screens correct it when they draw the text."""


def outline(db: sqlite3.Connection, session: int, id: str) -> Outline:
    """Return the messages of a session in order, with those that it shares as a branch, without their texts."""
    columns: tuple[list[Any], ...] = ([], [], [], [], [], [], [], [])
    for part in branches.session_parts(db, session):
        where, values = branches.parts_condition([part])
        rows = db.execute(
            "SELECT m.id, m.role, coalesce(m.author, ''), coalesce(m.sent_at, ''), length(m.text),"
            f" length(m.text) / {LINE_CHARACTERS} + 1 + length(m.text) - length(replace(m.text, char(10), '')),"
            " m.pinned, (SELECT count(*) FROM attachment a WHERE a.message_id = m.id)"
            f" FROM message m WHERE {where} ORDER BY m.order_at, m.position, m.id",
            values,
        ).fetchall()
        # By columns: a loop over the values of 50,000 messages would take as long as the query.
        keys, *rest, pinned, files = zip(*rows, strict=True) if rows else [()] * len(columns)
        for column, more in zip(columns, (map(message_id, keys), *rest, map(bool, pinned), files), strict=True):
            column.extend(more)
    return Outline(id, *columns)


def filter_choices(db: sqlite3.Connection, scope: Scope) -> FilterChoices:
    """Return the sources and roles in a scope with their numbers of messages, of sources as a search counts them, and
    all users and the user's namespaces with their numbers of conversations: sessions that lists show; and the tools
    and files that most messages mention."""
    sources, roles = Counter[str](), Counter[str]()
    for source, role, count, found in db.execute(
        f"SELECT s.format, m.role, count(*), total(m.talk = 1 OR {IS_PAGE_SQL}) FROM message m"
        " JOIN session s ON s.id = m.session_id"
        f" WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED} GROUP BY 1, 2",
        (scope.user_id, scope.namespace, now()),
    ):
        sources[source] += int(found)
        roles[role] += count
    listed = f"total({NOT_HIDDEN_SQL} AND {NOT_EXPIRED})"
    users = db.execute(f"SELECT user_id, {listed} FROM session s GROUP BY 1 ORDER BY 2 DESC, 1", (now(),))
    namespaces = db.execute(
        f"SELECT namespace, {listed} FROM session s WHERE user_id = ? GROUP BY 1 ORDER BY 2 DESC, 1",
        (now(), scope.user_id),
    )
    users_by_name, namespaces_by_name = ({name: int(count) for name, count in rows} for rows in (users, namespaces))
    tools, files = (
        mentions.counts(db, Filters(scope), kind, MAX_MENTION_CHOICES) for kind in (mentions.TOOL, mentions.FILE)
    )
    return FilterChoices(
        users_by_name, namespaces_by_name, dict(sources.most_common()), dict(roles.most_common()), tools, files
    )


def activity(db: sqlite3.Connection, scope: Scope) -> list[Activity]:
    """Return the number of messages of a scope by month and source; the month is "" for messages without a time."""
    rows = db.execute(
        "SELECT coalesce(strftime('%Y-%m', m.at / 1000000, 'unixepoch'), ''), s.format, count(*)"
        " FROM message m JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?"
        f" AND {NOT_EXPIRED} GROUP BY 1, 2 ORDER BY 1, 2",
        (scope.user_id, scope.namespace, now()),
    )
    return [Activity(*row) for row in rows]


def files(db: sqlite3.Connection, limit: int) -> list[WatchedFile]:
    """Return up to ``limit`` files of watched folders, and of those imported by hand the ones that were not read
    completely: first those that wait, then the latest read."""
    rows = db.execute(
        f"SELECT path, root, size, state, reason, read_at FROM file WHERE {NAMED_SQL}"
        " AND (root <> x'' OR state IN ('failed', 'partial'))"
        " ORDER BY state <> 'queued', read_at DESC, path LIMIT ?",
        (limit,),
    )
    found = []
    for path, root, size, state, reason, read_at in rows:
        is_gone = not is_there(path)
        path, root = (os.fsdecode(name).encode("utf-8", "replace").decode() for name in (path, root))
        read_at = None if read_at is None else iso_from_microseconds(read_at)
        if state != "queued" and is_gone:
            state = GONE
        found.append(WatchedFile(path, root, size, state, reason, read_at))
    return found


# A file that gave sessions to a user, or none to anyone.
_OF_USER_SQL = (
    "(EXISTS (SELECT 1 FROM source_session l JOIN session s ON s.id = l.session_id"
    " WHERE l.source_id = f.id AND s.user_id = :user)"
    " OR NOT EXISTS (SELECT 1 FROM source_session l WHERE l.source_id = f.id))"
)


# What it gave to a user, or to all; by way of the sessions, because there is no index of messages by source.
_GIVEN_SQL = (
    "source_session l JOIN session s ON s.id = l.session_id{messages}"
    " WHERE l.source_id = f.id AND (:user IS NULL OR s.user_id = :user)"
)
_GIVEN_SESSIONS_SQL = _GIVEN_SQL.format(messages="")
_GIVEN_MESSAGES_SQL = _GIVEN_SQL.format(messages=" JOIN message m ON m.session_id = s.id AND m.source_id = f.id")


# A file that others have imported too: the times of its source are of all of them.
_SHARED_SQL = (
    "EXISTS (SELECT 1 FROM source_session l JOIN session s ON s.id = l.session_id"
    " WHERE l.source_id = f.id AND s.user_id <> :user)"
)


# The watcher, or a person, has read the file again, and no message of it could be stored.
_FAILED_SINCE_SQL = (
    "EXISTS (SELECT 1 FROM file w WHERE w.path = CAST(f.path AS BLOB) AND w.state IN ('failed', 'partial'))"
)


def imported_files(
    db: sqlite3.Connection, path: str | None, limit: int, user_id: str | None = None
) -> list[ImportedFile]:
    """Return up to ``limit`` files that were imported, the latest read first; with ``path`` only this file, or those in
    this zip or folder, with ``user_id`` only those that gave sessions to this user, or none to anyone, and what they
    gave to this user and when."""
    first_at, last_at = (
        f"coalesce(CASE WHEN {_SHARED_SQL} THEN (SELECT {end}(m.added_at) FROM {_GIVEN_MESSAGES_SQL}) END, f.{column})"
        for end, column in (("min", "first_at"), ("max", "last_at"))
    )
    rows = db.execute(
        f"SELECT f.path, f.format, f.bytes, {first_at}, {last_at} AS own_at, f.complete AND NOT {_FAILED_SINCE_SQL},"
        f" (SELECT count(*) FROM {_GIVEN_SESSIONS_SQL}), (SELECT count(*) FROM {_GIVEN_MESSAGES_SQL})"
        f" FROM (SELECT * FROM source f WHERE {'1' if path is None else IN_PATH_SQL}"
        f"  AND {'1' if user_id is None else _OF_USER_SQL}"
        "  ORDER BY last_at DESC, id DESC LIMIT :limit) f ORDER BY own_at DESC, f.id DESC",
        {"path": path, "limit": limit, "user": user_id},
    )
    return [
        ImportedFile(
            name,
            format,
            size,
            iso_from_microseconds(first),
            iso_from_microseconds(last),
            sessions,
            messages,
            bool(complete),
        )
        for name, format, size, first, last, complete, sessions, messages in rows
    ]


def imported_sessions(
    db: sqlite3.Connection, path: str, limit: int, user_id: str | None = None
) -> list[ImportedSession]:
    """Return up to ``limit`` sessions of which a file, or one in a zip or a folder, has messages; with ``user_id`` only
    this user's."""
    rows = db.execute(
        "SELECT s.id, s.title, s.user_id, count(m.id), min(m.at), max(m.at) FROM source f"
        " JOIN source_session l ON l.source_id = f.id JOIN session s ON s.id = l.session_id"
        " LEFT JOIN message m ON m.session_id = s.id AND m.source_id = f.id"
        f" WHERE {IN_PATH_SQL} AND {NOT_EXPIRED.replace('?', ':now')} AND (:user IS NULL OR s.user_id = :user)"
        " GROUP BY s.id ORDER BY count(m.id) DESC, s.id LIMIT :limit",
        {"path": path, "limit": limit, "now": now(), "user": user_id},
    )
    return [
        ImportedSession(
            public_id(key), title, user, count,
            *(None if at is None else iso_from_microseconds(at) for at in (first_at, last_at)),
        )
        for key, title, user, count, first_at, last_at in rows
    ]  # fmt: skip
