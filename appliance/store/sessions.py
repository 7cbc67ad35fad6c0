"""Sessions in the truth: entered with their messages, found again by id, by external id or by what they hold."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from appliance.errors import NotFound, UsageError
from appliance.moments import iso, iso_of, now
from appliance.store.sql import marks, pages, to_json
from appliance.types import Scope, SessionInfo, SessionRecord


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What a hit says of its session."""

    external_id: str
    title: str | None
    format: str
    user_id: str


def public_id(key: int) -> str:
    return f"s{key}"


def key_of(public: str) -> int | None:
    """The store's key of a public session id, or None when it is not one."""
    return int(public[1:]) if re.fullmatch(r"s[1-9]\d{0,17}", public) else None


def key(info: SessionInfo) -> int:
    """The store's key of a session."""
    return int(info.id[1:])


# --- written within an ingest's transaction ----------------------------------------------------------


def enter(tx: sqlite3.Connection, scope: Scope, format: str, record: SessionRecord) -> tuple[int, bool]:
    """The key of a session, and whether it is new. A title or metadata that the export has now are kept."""
    where = (scope.user_id, scope.namespace, format, record.external_id)
    found = tx.execute(
        "SELECT id, title, metadata FROM session"
        " WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?",
        where,
    ).fetchone()
    if found is None:
        cursor = tx.execute(
            "INSERT INTO session (user_id, namespace, format, external_id, agent_id, title, started_at,"
            " created_at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *where,
                scope.agent_id or "",
                record.title,
                iso(record.created_at) if record.created_at else None,
                now(),
                to_json(record.metadata),
            ),
        )
        return int(cursor.lastrowid or 0), True
    key, title, metadata = found
    merged = to_json({**msgspec.json.decode(metadata), **record.metadata})
    if (record.title and record.title != title) or merged != metadata:
        tx.execute(
            "UPDATE session SET title = ?, metadata = ? WHERE id = ?", (record.title or title, merged, key)
        )
    return int(key), False


def holding(
    tx: sqlite3.Connection, scope: Scope, format: str, external_ids: Sequence[str]
) -> tuple[str, int] | None:
    """The external id of the session that holds most of the given messages, and how many it holds."""
    counts: dict[str, int] = {}
    for page in pages(external_ids):
        for external_id, count in tx.execute(
            "SELECT s.external_id, count(*) FROM message m JOIN session s ON s.id = m.session_id"
            " WHERE s.user_id = ? AND s.namespace = ? AND s.format = ?"
            f" AND m.external_id IN ({marks(page)}) GROUP BY s.id",
            (scope.user_id, scope.namespace, format, *page),
        ):
            counts[external_id] = counts.get(external_id, 0) + count
    return max(counts.items(), key=lambda item: item[1], default=None)


def exists(db: sqlite3.Connection, key: int) -> bool:
    return db.execute("SELECT 1 FROM session WHERE id = ?", (key,)).fetchone() is not None


# --- read back ---------------------------------------------------------------------------------------


_SESSION = (
    "SELECT s.id, s.external_id, s.title, s.user_id, s.namespace, s.agent_id, s.format,"
    " (SELECT count(*) FROM message m WHERE m.session_id = s.id),"
    " (SELECT m.sent_at FROM message m WHERE m.session_id = s.id AND m.at IS NOT NULL"
    "  ORDER BY m.order_at, m.position, m.id LIMIT 1),"
    " (SELECT m.sent_at FROM message m WHERE m.session_id = s.id AND m.at IS NOT NULL"
    "  ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT 1),"
    " s.created_at, s.metadata FROM session s"
)


def _info(values: tuple[Any, ...]) -> SessionInfo:
    key, external_id, title, user, namespace, agent, format, count, first, last, created, metadata = values
    return SessionInfo(
        id=public_id(key),
        external_id=external_id,
        title=title,
        user_id=user,
        namespace=namespace,
        agent_id=agent,
        format=format,
        messages=count,
        first_at=first,
        last_at=last,
        created_at=iso_of(created),
        metadata=msgspec.json.decode(metadata),
    )


def listed(db: sqlite3.Connection, scope: Scope | None = None, limit: int = -1) -> list[SessionInfo]:
    """The sessions of a scope (of everybody without one), the last active first."""
    where, values = ("", ())
    if scope is not None:
        where, values = " WHERE s.user_id = ? AND s.namespace = ?", (scope.user_id, scope.namespace)  # type: ignore[assignment]
        if scope.agent_id is not None:
            where, values = where + " AND s.agent_id = ?", (*values, scope.agent_id)  # type: ignore[assignment]
    order = (
        " ORDER BY coalesce((SELECT max(m.order_at) FROM message m WHERE m.session_id = s.id), s.created_at)"
        " DESC, s.id DESC LIMIT ?"
    )
    return [_info(row) for row in db.execute(_SESSION + where + order, (*values, limit))]


def find(
    db: sqlite3.Connection, reference: str, user_id: str | None = None, *, owner: str | None = None
) -> SessionInfo:
    """The session of a public id or, failing that, of an external id; only a session of ``user_id`` where
    one is named. Of several with one external id, ``owner``'s is meant.

    Raises:
        NotFound: there is none.
        UsageError: several conversations have this external id.
    """
    key = key_of(reference)
    rows = db.execute(_SESSION + " WHERE s.id = ?", (key,)).fetchall() if key else []
    rows = rows or db.execute(_SESSION + " WHERE s.external_id = ? LIMIT 100", (reference,)).fetchall()
    found = [_info(row) for row in rows]
    if user_id is not None:
        found = [info for info in found if info.user_id == user_id]
    if len(found) > 1:
        found = [info for info in found if info.user_id == owner] or found
    if len(found) > 1:
        ids = ", ".join(info.id for info in found)
        raise UsageError(f"several sessions are called {reference!r}", hint=f"name one by its id: {ids}")
    if not found:
        whose = "there is no" if user_id is None else f"{user_id} has no"
        raise NotFound(f"{whose} session {reference!r}", hint="'appliance sessions' lists them")
    return found[0]


def heads(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, SessionHead]:
    """What hits say of the sessions of the given keys."""
    found: dict[int, SessionHead] = {}
    for page in pages(sorted(set(keys))):
        for key, *values in db.execute(
            f"SELECT id, external_id, title, format, user_id FROM session WHERE id IN ({marks(page)})", page
        ).fetchall():
            found[key] = SessionHead(*values)
    return found
