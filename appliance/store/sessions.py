"""Sessions in the truth: entered with their messages, found again by id, by external id or by what they hold."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from appliance.errors import NotFound, UsageError
from appliance.moments import iso, iso_of, now
from appliance.store import chunks, lineage
from appliance.store.sql import marks, pages, to_json
from appliance.store.visible import NOT_EXPIRED
from appliance.types import LOCAL, Part, Scope, SessionInfo, SessionRecord

LONGEST = 100 * 366 * 24 * 60 * 60
"""Seconds that a time to live counts for at most: a hundred years, so that its end is a date."""

TAKES_PART = (
    "? IN (SELECT a.agent_id FROM session_agent a WHERE a.session_id = s.id UNION ALL"
    " SELECT '' WHERE NOT EXISTS (SELECT 1 FROM session_agent a WHERE a.session_id = s.id))"
)
"""Over ``session s``: an agent takes part in it; none does, for the name ""."""

_EXPIRES = (
    "(CASE WHEN pinned = 0 AND format = 'local'"
    " THEN active_at + nullif(min(coalesce(ttl, ?), ?), 0) * 1000000 END)"
)


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


# --- written within a transaction --------------------------------------------------------------------


def enter(
    tx: sqlite3.Connection, scope: Scope, format: str, record: SessionRecord, ttl: int = 0
) -> tuple[int, bool]:
    """The key of a session, and whether it is new. A title or metadata that the export has now are kept, but
    for a title that a person gave. ``ttl`` is that of sessions which set none, see ``touch``."""
    where = (scope.user_id, scope.namespace, format, record.external_id)
    found = tx.execute(
        "SELECT id, title, metadata, titled FROM session"
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
        key, is_new = int(cursor.lastrowid or 0), True
    else:
        key, title, metadata, titled = found
        is_new = False
        merged = to_json({**msgspec.json.decode(metadata), **record.metadata})
        new_title = record.title if record.title and titled != "person" else title
        if new_title != title or merged != metadata or (new_title == record.title and titled == "found"):
            titled = "given" if new_title == record.title else titled
            tx.execute(
                "UPDATE session SET title = ?, metadata = ?, titled = ? WHERE id = ?",
                (new_title, merged, titled, key),
            )
    if scope.agent_id:
        join(tx, key, scope.agent_id)
    if format == LOCAL:
        touch(tx, key, ttl)
    return int(key), is_new


def require(db: sqlite3.Connection, key: int) -> None:
    """Raises NotFound where a session is gone, or has outlived its time."""
    if (
        db.execute(f"SELECT 1 FROM session s WHERE s.id = ? AND {NOT_EXPIRED}", (key, now())).fetchone()
        is None
    ):
        raise NotFound(
            f"there is no session {public_id(key)!r} any more", hint="'appliance sessions' lists them"
        )


def touch(tx: sqlite3.Connection, key: int, ttl: int) -> None:
    """Note that something happens in a session now: it stays its time from here on, ``ttl`` seconds if it sets
    none itself (0: for ever).

    The latest moment that any session saw counts where the clock is behind it: what was begun by a clock that
    was wrong must not be old as soon as it is put right.
    """
    tx.execute(
        "UPDATE session SET active_at = max(?, (SELECT coalesce(max(active_at), 0) FROM session)) WHERE id = ?",
        (now(), key),
    )
    tx.execute(f"UPDATE session SET expires_at = {_EXPIRES} WHERE id = ?", (ttl, LONGEST, key))


def keep_to(tx: sqlite3.Connection, ttl: int) -> None:
    """Give every session the end that it has by the ``ttl`` of those that set none."""
    tx.execute(
        f"UPDATE session SET expires_at = {_EXPIRES} WHERE format = ? AND ttl IS NULL", (ttl, LONGEST, LOCAL)
    )


def keeps_to(db: sqlite3.Connection, ttl: int) -> bool:
    """Whether ``keep_to`` would change nothing."""
    if not ttl:
        query = "SELECT 1 FROM session WHERE expires_at IS NOT NULL AND ttl IS NULL LIMIT 1"
        return db.execute(query).fetchone() is None
    query = f"SELECT 1 FROM session WHERE format = ? AND ttl IS NULL AND expires_at IS NOT {_EXPIRES} LIMIT 1"
    return db.execute(query, (LOCAL, ttl, LONGEST)).fetchone() is None


def expired(db: sqlite3.Connection) -> int | None:
    """The session that has outlived its time first, if one has."""
    row = db.execute(
        "SELECT id FROM session WHERE expires_at <= ? ORDER BY expires_at, id LIMIT 1", (now(),)
    ).fetchone()
    return None if row is None else int(row[0])


def expired_twin(db: sqlite3.Connection, scope: Scope, external_id: str) -> int | None:
    """The session begun here with this external id, if it has outlived its time."""
    row = db.execute(
        "SELECT id FROM session WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?"
        " AND expires_at <= ?",
        (scope.user_id, scope.namespace, LOCAL, external_id, now()),
    ).fetchone()
    return None if row is None else int(row[0])


def join(tx: sqlite3.Connection, key: int, agent_id: str) -> None:
    """Let an agent take part in a session, from its first message on."""
    joined = tx.execute(
        "INSERT OR IGNORE INTO session_agent (session_id, agent_id, joined_at) VALUES (?, ?, ?)",
        (key, agent_id, now()),
    )
    if joined.rowcount:
        chunks.requeue_session(tx, key)


def entitle(tx: sqlite3.Connection, key: int, texts: Iterable[str]) -> None:
    """Give a session that has no title the first one that is found in some texts."""
    if tx.execute("SELECT 1 FROM session WHERE id = ? AND title IS NULL", (key,)).fetchone():
        from appliance.store import naming  # its patterns are many, and whoever only reads needs none

        title = next(filter(None, map(naming.title, texts)), None)
        if title is not None:
            tx.execute("UPDATE session SET title = ?, titled = 'found' WHERE id = ?", (title, key))


def change(tx: sqlite3.Connection, key: int, **columns: str | int | None) -> None:
    """Set columns of a session."""
    names = ", ".join(f"{name} = ?" for name in columns)
    tx.execute(f"UPDATE session SET {names} WHERE id = ?", (*columns.values(), key))


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


def keys(db: sqlite3.Connection, scope: Scope) -> set[int]:
    """The sessions of a scope's user and namespace."""
    rows = db.execute(
        "SELECT id FROM session WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace)
    )
    return {key for (key,) in rows}


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
    " s.created_at, s.metadata, s.pinned, s.storage_scope, s.titled, s.options, s.ttl, s.expires_at,"
    f" s.parent_id, s.branch_at, {chunks.AGENTS} FROM session s WHERE {NOT_EXPIRED}"
)


def _info(db: sqlite3.Connection, values: tuple[Any, ...]) -> SessionInfo:
    key, external_id, title, user, namespace, agent, format, count, first, last, created, metadata, *more = (
        values
    )
    pinned, scope, titled, options, ttl, expires, parent, branch_at, agents = more
    shared = 0
    if parent is not None:
        # Its past is told by others: where it begins there, and where it ends if nothing came after.
        past, of_past = lineage.within(lineage.parts(db, key)[:-1])
        shared, begins = db.execute(
            f"SELECT count(*), min(m.sent_at) FROM message m WHERE {past}", of_past
        ).fetchone()
        (branched,) = db.execute("SELECT sent_at FROM message WHERE id = ?", (branch_at,)).fetchone() or (
            None,
        )
        first, last = begins or first, last or branched
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
        pinned=bool(pinned),
        storage_scope=scope,
        title_found=titled == "found",
        options=msgspec.json.decode(options),
        agents=tuple(msgspec.json.decode(agents)),
        ttl=ttl,
        expires_at=None if expires is None else iso_of(expires),
        branch_of=None if parent is None else public_id(parent),
        branch_at=None if branch_at is None else f"m{branch_at}",
        shared=shared,
    )


def infos(db: sqlite3.Connection, keys: Sequence[int]) -> list[SessionInfo]:
    """The sessions of some keys, in their order; those that are not there are left out."""
    found: dict[int, tuple[Any, ...]] = {}
    for page in pages(keys):
        for values in db.execute(f"{_SESSION} AND s.id IN ({marks(page)})", (now(), *page)).fetchall():
            found[values[0]] = values
    return [_info(db, found[key]) for key in keys if key in found]


def every(db: sqlite3.Connection) -> Iterator[SessionInfo]:
    """The sessions of everybody, the last active first."""
    order = (
        " ORDER BY coalesce((SELECT max(m.order_at) FROM message m WHERE m.session_id = s.id), s.created_at)"
        " DESC, s.id DESC"
    )
    keys = [key for (key,) in db.execute(f"SELECT s.id FROM session s{order}")]
    for page in pages(keys):
        yield from infos(db, page)


def find(
    db: sqlite3.Connection,
    reference: str,
    user_id: str | None = None,
    *,
    owner: str | None = None,
    namespace: str | None = None,
) -> SessionInfo:
    """The session of a public id or, failing that, of an external id; only a session of ``user_id`` and of
    ``namespace`` where they are named. Of several with one external id, ``owner``'s is meant.

    Raises:
        NotFound: there is none.
        UsageError: several conversations have this external id.
    """
    key = key_of(reference)
    whose = [("user_id", user_id), ("namespace", namespace)]
    query = _SESSION + "".join(f" AND s.{column} = ?" for column, value in whose if value is not None)
    values = (now(), *(value for _, value in whose if value is not None))
    rows = db.execute(query + " AND s.id = ?", (*values, key)).fetchall() if key else []
    rows = rows or db.execute(query + " AND s.external_id = ? LIMIT 100", (*values, reference)).fetchall()
    found = [_info(db, row) for row in rows]
    if len(found) > 1:
        found = [info for info in found if info.user_id == owner] or found
    if len(found) > 1:
        ids = ", ".join(info.id for info in found)
        raise UsageError(f"several sessions are called {reference!r}", hint=f"name one by its id: {ids}")
    if not found:
        nobody = "there is no" if user_id is None else f"{user_id} has no"
        raise NotFound(f"{nobody} session {reference!r}", hint="'appliance sessions' lists them")
    return found[0]


def keeping(db: sqlite3.Connection, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Those of some stretches whose sessions keep anything to themselves."""
    query = "SELECT 1 FROM session WHERE id = ? AND storage_scope <> 'all'"
    return tuple(part for part in parts if db.execute(query, (part.session,)).fetchone())


def options(db: sqlite3.Connection, key: int) -> dict[str, Any]:
    """What a session says for itself, by the names of options; empty where it says nothing."""
    row = db.execute("SELECT options FROM session WHERE id = ?", (key,)).fetchone()
    return dict(msgspec.json.decode(row[0])) if row else {}


def heads(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, SessionHead]:
    """What hits say of the sessions of the given keys. A title that was found in the first words is none that
    would tell a reader more: it would only take the room of other words in a context."""
    found: dict[int, SessionHead] = {}
    for page in pages(sorted(set(keys))):
        for key, *values in db.execute(
            "SELECT id, external_id, CASE titled WHEN 'found' THEN NULL ELSE title END, format, user_id"
            f" FROM session WHERE id IN ({marks(page)})",
            page,
        ).fetchall():
            found[key] = SessionHead(*values)
    return found
