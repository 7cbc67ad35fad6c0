"""Sessions listed: filtered, sorted, and page by page.

A page's cursor remembers which messages and sessions there were when the first page was read, and places
every session by those alone: what is said meanwhile moves none to another page.
"""

from __future__ import annotations

import base64
import binascii
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from appliance.errors import UsageError
from appliance.moments import now
from appliance.store import sessions
from appliance.store.lexical import quoted, words
from appliance.store.priority import PINNED, UNWEIGHED
from appliance.store.sql import to_json
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Metadata, Scope, SessionPage

Sort = Literal["active", "created", "title", "messages", "importance"]

TELLING = 10
"""So many of its most important messages say how important a session is: a long one is not more so for what is said
between them."""

_LAST = (
    "coalesce((SELECT m.order_at FROM message m WHERE m.session_id = s.id AND m.id <= :messages"
    " ORDER BY m.order_at DESC LIMIT 1), s.created_at)"
)

SORTS: Mapping[Sort, str] = {
    "active": _LAST,
    "created": "s.created_at",
    "title": "lower(coalesce(s.title, s.external_id))",
    "messages": "(SELECT count(*) FROM message m WHERE m.session_id = s.id AND m.id <= :messages)",
    "importance": (
        f"s.pinned * {PINNED} + coalesce((SELECT avg(worth) FROM (SELECT CASE WHEN m.pinned THEN {PINNED}"
        f" ELSE coalesce(m.importance, {UNWEIGHED}) END AS worth FROM message m WHERE m.session_id = s.id"
        f" AND m.id <= :messages ORDER BY 1 DESC LIMIT {TELLING})), 0.0)"
    ),
}
"""What sessions are sorted by, as SQL over ``session s``."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions. ``since`` (inclusive) and ``until`` (exclusive) are about their last message, in
    microseconds since 1970; ``words`` all stand in the title; ``metadata`` is compared as text."""

    scope: Scope
    metadata: Metadata = field(default_factory=dict)
    sources: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    pinned: bool | None = None
    words: str = ""


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Where a page ended: behind the session ``id`` with ``value``, of the messages and sessions up to the
    keys given."""

    sort: str
    backwards: bool
    value: int | float | str
    id: int
    messages: int
    sessions: int


def listed(
    db: sqlite3.Connection,
    wanted: Wanted,
    sort: Sort = "active",
    *,
    backwards: bool = True,
    limit: int | None = None,
    cursor: str | None = None,
) -> SessionPage:
    """A page of the sessions that are wanted, the last ones first unless ``backwards`` is False.

    Raises:
        UsageError: there is no such order, or the cursor is of another one.
    """
    if sort not in SORTS:
        raise UsageError(f"sessions can't be sorted by {sort!r}", hint="one of " + ", ".join(SORTS))
    begun = None if cursor is None else _read(cursor, sort, backwards)
    seen = begun or _Cursor(sort, backwards, 0, 0, *_newest(db))
    values: dict[str, object] = {"messages": seen.messages, "sessions": seen.sessions, "now": now()}
    where = " AND ".join(_conditions(wanted, values))
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    behind = ""
    if begun is not None:
        behind = f" WHERE (value, id) {sign} (:value, :id)"
        values |= {"value": begun.value, "id": begun.id}
    rows = db.execute(
        f"SELECT id, value FROM (SELECT s.id AS id, {SORTS[sort]} AS value FROM session s WHERE {where}){behind}"
        f" ORDER BY value {order}, id {order} LIMIT :limit",
        {**values, "limit": -1 if limit is None else limit + 1},
    ).fetchall()
    following = None
    if limit is not None and len(rows) > limit:
        rows = rows[:limit]
        key, value = rows[-1]
        following = _written(_Cursor(sort, backwards, value, key, seen.messages, seen.sessions))
    return SessionPage(sessions.infos(db, [key for key, _ in rows]), following)


def _newest(db: sqlite3.Connection) -> tuple[int, int]:
    """The largest keys of messages and of sessions."""
    found: tuple[int, int] = db.execute(
        "SELECT coalesce((SELECT max(id) FROM message), 0), coalesce((SELECT max(id) FROM session), 0)"
    ).fetchone()
    return found


def _conditions(wanted: Wanted, values: dict[str, object]) -> Iterator[str]:
    scope = wanted.scope
    values |= {"user": scope.user_id, "namespace": scope.namespace}
    yield "s.user_id = :user AND s.namespace = :namespace AND s.id <= :sessions"
    yield NOT_EXPIRED.replace("?", ":now")
    if scope.agent_id is not None:
        values["agent"] = scope.agent_id
        yield sessions.TAKES_PART.replace("?", ":agent")
    for number, (name, value) in enumerate(wanted.metadata.items()):
        values |= {f"name{number}": name, f"text{number}": _text(value)}
        yield (
            f"EXISTS (SELECT 1 FROM json_each(s.metadata) j WHERE j.key = :name{number} AND :text{number} ="
            " CASE j.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'"
            " ELSE CAST(j.value AS TEXT) END)"
        )
    if wanted.sources:
        names = [f"source{number}" for number in range(len(wanted.sources))]
        values |= dict(zip(names, wanted.sources, strict=True))
        yield f"s.format IN ({', '.join(f':{name}' for name in names)})"
    for name, sign in (("since", ">="), ("until", "<")):
        if getattr(wanted, name) is not None:
            values[name] = getattr(wanted, name)
            yield f"{_LAST} {sign} :{name}"
    if wanted.pinned is not None:
        values["pinned"] = wanted.pinned
        yield "s.pinned = :pinned"
    if wanted.words.strip():
        values["title"] = " AND ".join(quoted(word) for word in words(wanted.words))
        # Signs alone are in no title's words.
        yield (
            "s.id IN (SELECT rowid FROM session_fts WHERE session_fts MATCH :title)"
            if values["title"]
            else "0"
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value)


def _written(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def _read(text: str, sort: str, backwards: bool) -> _Cursor:
    """
    Raises:
        UsageError: it is no cursor, or one of another order.
    """
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = msgspec.json.decode(data, type=_Cursor)
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(
            f"{text!r} is no page of a list", hint="take the one that the page before gave"
        ) from error
    if (found.sort, found.backwards) != (sort, backwards):
        raise UsageError(
            f"the page is of a list by {found.sort}, {'last' if found.backwards else 'first'} ones first",
            hint="ask for it in the same order",
        )
    return found
