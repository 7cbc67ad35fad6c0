"""Lists sessions: filtered, sorted, and page by page.

A cursor remembers the newest message and session at the time of the first page. All pages sort the sessions by what
existed then, so that new messages do not move a session to another page.
"""

from __future__ import annotations

import base64
import binascii
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from appliance.errors import UsageError
from appliance.runtime.decoding import decode
from appliance.store import sessions
from appliance.store.lexical import query_words, quote_spellings
from appliance.store.priority import IMPORTANCE_SQL, PINNED_IMPORTANCE
from appliance.store.sql import MAX_ROWS, fetch_int, has_row, to_json
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Metadata, Scope, SessionOrder, SessionPage

TOP_MESSAGES = 10
"""The importance of a session is the mean of this number of its most important messages: the messages between them do
not make a long session less important."""

_LAST_ACTIVE_SQL = (
    "coalesce((SELECT m.order_at FROM message m WHERE m.session_id = s.id AND m.id <= :messages"
    " ORDER BY m.order_at DESC LIMIT 1), s.created_at)"
)

_STARTED_SQL = (
    "coalesce((SELECT m.order_at FROM message m WHERE m.session_id = s.id AND m.id <= :messages"
    " ORDER BY m.order_at LIMIT 1), s.created_at)"
)

SORT_SQL: Mapping[SessionOrder, str] = {
    "active": _LAST_ACTIVE_SQL,
    "started": _STARTED_SQL,
    "created": "s.created_at",
    "title": "lower(coalesce(s.title, s.external_id))",
    "messages": "(SELECT count(*) FROM message m WHERE m.session_id = s.id AND m.id <= :messages)",
    "importance": (
        f"s.pinned * {PINNED_IMPORTANCE} + coalesce((SELECT avg(importance) FROM (SELECT {IMPORTANCE_SQL} AS importance"
        " FROM message m WHERE m.session_id = s.id AND m.id <= :messages"
        f" ORDER BY 1 DESC LIMIT {TOP_MESSAGES})), 0.0)"
    ),
}
"""The sort keys, as SQL over ``session s``."""


NOT_HIDDEN_SQL = (
    "(EXISTS (SELECT 1 FROM message m WHERE m.session_id = s.id AND m.talk = 1)"
    " OR NOT EXISTS (SELECT 1 FROM message m WHERE m.session_id = s.id))"
)
"""Whether a ``session s`` is listed as a conversation: something was said openly in it, or nothing at all yet."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions to list. ``since`` (inclusive) and ``until`` (exclusive) limit the time of the last message, in
    microseconds since 1970; without ``hidden``, sessions that have messages but no conversational one are left out; the
    title must contain all ``title_words``; ``metadata`` values are compared as text. One
    of the ``tags``, in their normal form, suffices."""

    scope: Scope
    metadata: Metadata = field(default_factory=dict)
    sources: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    pinned: bool | None = None
    hidden: bool = True
    title_words: str = ""
    tags: Sequence[str] = ()


class _ListCursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The end of a page: the session ``id`` with the sort key ``value``. ``messages`` and ``sessions`` are the newest
    keys that the list takes into account."""

    sort: str
    descending: bool
    value: int | float | str
    id: int
    messages: int
    sessions: int


def list_sessions(
    db: sqlite3.Connection,
    session_filter: SessionFilter,
    sort: SessionOrder = "active",
    *,
    descending: bool = True,
    limit: int | None = None,
    cursor: str | None = None,
) -> SessionPage:
    """Return a page of the sessions that pass the filter.

    Args:
        db: The connection.
        session_filter: Which sessions.
        sort: A key of ``SORT_SQL``.
        descending: Whether the highest values come first.
        limit: The most sessions of the page; None for all.
        cursor: ``next`` of the page before; None for the first page.

    Raises:
        UsageError: There is no such order, or the cursor belongs to a list in another order.
    """
    if sort not in SORT_SQL:
        raise UsageError(f"Sessions can't be sorted by {sort!r}.", hint=f"Use one of {', '.join(SORT_SQL)}.")
    resumed = None if cursor is None else _decode_cursor(cursor, sort, descending)
    snapshot = resumed or _ListCursor(sort, descending, 0, 0, *_newest_keys(db))
    values: dict[str, object] = {"messages": snapshot.messages, "sessions": snapshot.sessions, "now": now()}
    where = " AND ".join(_conditions(session_filter, values))
    sign, order = ("<", "DESC") if descending else (">", "ASC")
    after_sql = ""
    if resumed is not None:
        after_sql = f" WHERE (value, id) {sign} (:value, :id)"
        values |= {"value": resumed.value, "id": resumed.id}
    rows = db.execute(
        f"SELECT id, value FROM (SELECT s.id AS id, {SORT_SQL[sort]} AS value FROM session s WHERE {where}){after_sql}"
        f" ORDER BY value {order}, id {order} LIMIT :limit",
        {**values, "limit": -1 if limit is None else min(limit, MAX_ROWS) + 1},
    ).fetchall()
    next_cursor = None
    if limit is not None and len(rows) > limit:
        rows = rows[:limit]
        key, value = rows[-1]
        next_cursor = _encode_cursor(_ListCursor(sort, descending, value, key, snapshot.messages, snapshot.sessions))
    return SessionPage(tuple(sessions.infos(db, [key for key, _ in rows])), next_cursor)


def _newest_keys(db: sqlite3.Connection) -> tuple[int, int]:
    """The largest keys of messages and of sessions."""
    query = "SELECT coalesce((SELECT max(id) FROM message), 0), coalesce((SELECT max(id) FROM session), 0)"
    messages, sessions = db.execute(query).fetchone()
    return messages, sessions


def _conditions(session_filter: SessionFilter, values: dict[str, object]) -> Iterator[str]:
    scope = session_filter.scope
    values |= {"user": scope.user_id, "namespace": scope.namespace}
    yield "s.user_id = :user AND s.namespace = :namespace AND s.id <= :sessions"
    yield NOT_EXPIRED.replace("?", ":now")
    if scope.agent_id is not None:
        values["agent"] = scope.agent_id
        yield sessions.AGENT_PARTICIPATES_SQL.replace("?", ":agent")
    for number, (name, value) in enumerate(session_filter.metadata.items()):
        values |= {f"name{number}": name, f"text{number}": value if isinstance(value, str) else to_json(value)}
        yield (
            f"EXISTS (SELECT 1 FROM json_each(s.metadata) j WHERE j.key = :name{number} AND :text{number} ="
            " CASE j.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'"
            " ELSE CAST(j.value AS TEXT) END)"
        )
    if session_filter.sources:
        names = [f"source{number}" for number in range(len(session_filter.sources))]
        values |= dict(zip(names, session_filter.sources, strict=True))
        yield f"s.format IN ({', '.join(f':{name}' for name in names)})"
    for name, sign in (("since", ">="), ("until", "<")):
        if getattr(session_filter, name) is not None:
            values[name] = getattr(session_filter, name)
            yield f"{_LAST_ACTIVE_SQL} {sign} :{name}"
    if session_filter.tags:
        names = [f"tag{number}" for number in range(len(session_filter.tags))]
        values |= dict(zip(names, session_filter.tags, strict=True))
        yield f"s.id IN (SELECT session_id FROM session_tag WHERE tag IN ({', '.join(f':{name}' for name in names)}))"
    if session_filter.pinned is not None:
        values["pinned"] = session_filter.pinned
        yield "s.pinned = :pinned"
    if not session_filter.hidden:
        yield NOT_HIDDEN_SQL
    if session_filter.title_words.strip():
        values["title"] = " AND ".join(quote_spellings(word) for word in query_words(session_filter.title_words))
        # Without a word, as with punctuation alone, no title matches.
        yield ("s.id IN (SELECT rowid FROM session_fts WHERE session_fts MATCH :title)" if values["title"] else "0")


def _encode_cursor(cursor: _ListCursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def _decode_cursor(text: str, sort: str, descending: bool) -> _ListCursor:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        cursor = decode(data, _ListCursor)
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"Invalid page {text!r}.", hint="Use the value that the previous page returned.") from error
    if (cursor.sort, cursor.descending) != (sort, descending):
        order = "descending" if cursor.descending else "ascending"
        raise UsageError(
            f"The page belongs to a list sorted by {cursor.sort}, {order}.", hint="Request it in the same order."
        )
    return cursor


def count_stored(db: sqlite3.Connection) -> int:
    """Return the number of sessions of all users, those that lists hide included."""
    return fetch_int(db, "SELECT count(*) FROM session")


def count_sessions(db: sqlite3.Connection, session_filter: SessionFilter) -> int:
    """Return how many sessions pass the filter."""
    newest_message, newest_session = _newest_keys(db)
    values: dict[str, object] = {"messages": newest_message, "sessions": newest_session, "now": now()}
    where = " AND ".join(_conditions(session_filter, values))
    return int(db.execute(f"SELECT count(*) FROM session s WHERE {where}", values).fetchone()[0])


def formats(db: sqlite3.Connection, scope: Scope) -> list[str]:
    """Return the formats of the sessions in a scope, in alphabetical order."""
    query = "SELECT DISTINCT format FROM session WHERE user_id = ? AND namespace = ? ORDER BY format"
    return [format for (format,) in db.execute(query, (scope.user_id, scope.namespace))]


def has_any(db: sqlite3.Connection, user_id: str) -> bool:
    """Whether a user has a session."""
    return has_row(db, "SELECT 1 FROM session WHERE user_id = ? LIMIT 1", (user_id,))
