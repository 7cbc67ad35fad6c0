"""Sessions in the database: written with their messages, and found by id, by external id or by their messages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from appliance.errors import NotFound, StoreCorrupt, UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.store import branches, chunks
from appliance.store.damage import as_kind
from appliance.store.scripts import searchable
from appliance.store.session_options import INDEPENDENT
from appliance.store.sql import JSON_KEYS_SQL, from_json, has_row, json_keys, pages, placeholders, to_json
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import iso, iso_from_microseconds, now
from appliance.types import LOCAL, Scope, SessionInfo, SessionPart, SessionRecord

MAX_TTL_SECONDS = 100 * 366 * 24 * 60 * 60
"""The longest time to live that counts, a hundred years, so that the end is a valid date."""

AGENT_PARTICIPATES_SQL = (
    "? IN (SELECT a.agent_id FROM session_agent a WHERE a.session_id = s.id UNION ALL"
    " SELECT '' WHERE NOT EXISTS (SELECT 1 FROM session_agent a WHERE a.session_id = s.id))"
)
"""A condition on ``session s`` with an agent as its parameter: the agent takes part; or no agent does, for ""."""

_EXPIRES_AT_SQL = (
    "(CASE WHEN pinned = 0 AND format = 'local' THEN active_at + nullif(min(coalesce(ttl, ?), ?), 0) * 1000000 END)"
)


@dataclass(frozen=True, slots=True)
class SessionHead:
    """The properties of a session that a hit shows."""

    external_id: str
    title: str | None
    format: str
    user_id: str


_MIN_TITLE_NAMES = 2
_MAX_TITLE_NAMES = 3
"""How many people the title of a chat among people names; of more, the rest are counted."""


def public_id(key: int) -> str:
    return f"s{key}"


def key_of(public: str) -> int | None:
    """Return the store's key of a public session id, or None if the text is not one."""
    return int(public[1:]) if re.fullmatch(r"s[1-9]\d{0,17}", public) else None


def key(info: SessionInfo) -> int:
    """Return the store's key of a session."""
    return int(info.id[1:])


# --- writing within a transaction --------------------------------------------------------------------


def upsert(tx: sqlite3.Connection, scope: Scope, format: str, record: SessionRecord, ttl: int = 0) -> tuple[int, bool]:
    """Store a session, or update the title and metadata of a stored one from its export. A title that a person set is
    kept.

    Args:
        tx: The transaction.
        scope: Whose session it is.
        format: The format of the export.
        record: The session as the export has it.
        ttl: The default time to live in seconds; see ``touch``.

    Returns:
        The key of the session, and whether it is new.
    """
    where = (scope.user_id, scope.namespace, format, record.external_id)
    found = tx.execute(
        "SELECT id, title, metadata, titled, started_at FROM session"
        " WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?",
        where,
    ).fetchone()
    if found is None:
        cursor = tx.execute(
            "INSERT INTO session (user_id, namespace, format, external_id, agent_id, title, started_at,"
            " created_at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*where, scope.agent_id or "", record.title, iso(record.created_at) if record.created_at else None,
             now(), to_json(record.metadata)),
        )  # fmt: skip
        key, is_new = int(cursor.lastrowid or 0), True
        tx.execute("INSERT INTO session_fts (rowid, title) VALUES (?, ?)", (key, searchable(record.title)))
    else:
        key, title, metadata, titled, started_at = found
        is_new = False
        if started_at is None and record.created_at is not None:
            tx.execute("UPDATE session SET started_at = ? WHERE id = ?", (iso(record.created_at), key))
        merged = to_json({**from_json(metadata), **record.metadata})
        new_title = record.title if record.title and titled != "person" else title
        if new_title != title or merged != metadata or (new_title == record.title and titled == "found"):
            titled = "given" if new_title == record.title else titled
            tx.execute(
                "UPDATE session SET title = ?, metadata = ?, titled = ? WHERE id = ?", (new_title, merged, titled, key)
            )
    if scope.agent_id:
        add_agent(tx, key, scope.agent_id)
    if format == LOCAL:
        touch(tx, key, ttl)
    return int(key), is_new


def require(db: sqlite3.Connection, key: int) -> None:
    """Check that a session still exists.

    Raises:
        NotFound: The session was deleted or has expired.
    """
    if not has_row(db, f"SELECT 1 FROM session s WHERE s.id = ? AND {NOT_EXPIRED}", (key, now())):
        raise NotFound(f"Session {public_id(key)!r} no longer exists.", hint=_LIST_HINT)


def touch(tx: sqlite3.Connection, key: int, ttl: int) -> None:
    """Note that a session is active now, so that its time to live starts again.

    If the clock is behind the latest activity of any session, that time counts instead: sessions that were active
    under a clock that ran ahead must not expire as soon as the clock is corrected.

    Args:
        tx: The transaction.
        key: The key of the session.
        ttl: The time to live in seconds (0: for ever) of a session that sets none itself.
    """
    tx.execute(
        "UPDATE session SET active_at = max(?, (SELECT coalesce(max(active_at), 0) FROM session)) WHERE id = ?",
        (now(), key),
    )
    tx.execute(f"UPDATE session SET expires_at = {_EXPIRES_AT_SQL} WHERE id = ?", (ttl, MAX_TTL_SECONDS, key))


def apply_default_ttl(tx: sqlite3.Connection, ttl: int) -> None:
    """Update the expiry of every session that sets no time to live itself; ``ttl`` is in seconds (0: for ever)."""
    tx.execute(
        f"UPDATE session SET expires_at = {_EXPIRES_AT_SQL} WHERE format = ? AND ttl IS NULL",
        (ttl, MAX_TTL_SECONDS, LOCAL),
    )


def default_ttl_applied(db: sqlite3.Connection, ttl: int) -> bool:
    """Whether ``apply_default_ttl`` would change nothing."""
    if not ttl:
        return not has_row(db, "SELECT 1 FROM session WHERE expires_at IS NOT NULL AND ttl IS NULL LIMIT 1")
    query = f"SELECT 1 FROM session WHERE format = ? AND ttl IS NULL AND expires_at IS NOT {_EXPIRES_AT_SQL} LIMIT 1"
    return not has_row(db, query, (LOCAL, ttl, MAX_TTL_SECONDS))


def next_expired(db: sqlite3.Connection) -> int | None:
    """Return the key of the session that expired first, or None if none has expired."""
    query = "SELECT id FROM session WHERE expires_at <= ? ORDER BY expires_at, id LIMIT 1"
    row = db.execute(query, (now(),)).fetchone()
    return None if row is None else int(row[0])


def find_expired(db: sqlite3.Connection, scope: Scope, external_id: str) -> int | None:
    """Return the key of the local session with this external id if it has expired, else None."""
    row = db.execute(
        "SELECT id FROM session WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?"
        " AND expires_at <= ?",
        (scope.user_id, scope.namespace, LOCAL, external_id, now()),
    ).fetchone()
    return None if row is None else int(row[0])


def add_agent(tx: sqlite3.Connection, key: int, agent_id: str) -> None:
    """Let an agent take part in a session, from the session's first message on."""
    joined = tx.execute(
        "INSERT OR IGNORE INTO session_agent (session_id, agent_id, joined_at) VALUES (?, ?, ?)", (key, agent_id, now())
    )
    if joined.rowcount:
        chunks.requeue_session(tx, key)


def people_title(names: Sequence[str], me: str | None = None) -> str | None:
    """The title of a chat among people, by their names; None if there are not several. ``me`` is the person's own."""
    others = [name for name in names if name != me]
    if len(names) < _MIN_TITLE_NAMES:
        return None
    if len(others) == 1:
        return f"Chat with {others[0]}"
    if len(others) <= _MAX_TITLE_NAMES:
        return f"{', '.join(others[:-1])} and {others[-1]}"
    return f"{', '.join(others[: _MAX_TITLE_NAMES - 1])} and {len(others) - _MAX_TITLE_NAMES + 1} others"


def set_missing_title(tx: sqlite3.Connection, key: int, texts: Iterable[str], people: str | None = None) -> None:
    """Give a session without a title that of its people, else the first one that can be extracted from the texts."""
    if has_row(tx, "SELECT 1 FROM session WHERE id = ? AND title IS NULL", (key,)):
        from appliance.store import title_extraction  # compiles many patterns, which readers do not need

        title = people or next(filter(None, map(title_extraction.extract_title, texts)), None)
        if title is not None:
            tx.execute("UPDATE session SET title = ?, titled = 'found' WHERE id = ?", (title, key))


def update(tx: sqlite3.Connection, key: int, **columns: str | int | None) -> None:
    """Set columns of a session, by their SQL names."""
    names = ", ".join(f"{name} = ?" for name in columns)
    tx.execute(f"UPDATE session SET {names} WHERE id = ?", (*columns.values(), key))


def set_options(tx: sqlite3.Connection, key: int, encoded: str) -> None:
    """Set the options of a session, as JSON. If its messages become independent or cease to be, they
    are indexed again."""
    was_independent = options(tx, key).get(INDEPENDENT, False)
    update(tx, key, options=encoded)
    if from_json(encoded).get(INDEPENDENT, False) is not was_independent:
        chunks.requeue_session(tx, key)


def session_holding_most(
    tx: sqlite3.Connection, scope: Scope, format: str, external_ids: Sequence[str]
) -> tuple[str, int] | None:
    """Return the external id of the session that has most of the given messages, and their number; None if no session
    has any."""
    counts: dict[str, int] = {}
    for page in pages(external_ids):
        for external_id, count in tx.execute(
            "SELECT s.external_id, count(*) FROM message m JOIN session s ON s.id = m.session_id"
            " WHERE s.user_id = ? AND s.namespace = ? AND s.format = ?"
            f" AND m.external_id IN ({placeholders(page)}) GROUP BY s.id",
            (scope.user_id, scope.namespace, format, *page),
        ):
            counts[external_id] = counts.get(external_id, 0) + count
    return max(counts.items(), key=lambda item: item[1], default=None)


def stored_key(db: sqlite3.Connection, scope: Scope, format: str, external_id: str) -> int | None:
    """Return the key of a session of a scope by its format and external id, or None."""
    query = "SELECT id FROM session WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?"
    row = db.execute(query, (scope.user_id, scope.namespace, format, external_id)).fetchone()
    return None if row is None else int(row[0])


def keys_in_scope(db: sqlite3.Connection, scope: Scope) -> set[int]:
    """Return the keys of all sessions of the scope's user and namespace."""
    rows = db.execute("SELECT id FROM session WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace))
    return {key for (key,) in rows}


def exists(db: sqlite3.Connection, key: int) -> bool:
    return has_row(db, "SELECT 1 FROM session WHERE id = ?", (key,))


# --- reading -----------------------------------------------------------------------------------------

_LIST_HINT = "'appliance sessions' lists the sessions."

_SPAN_SQL = (
    "(SELECT CAST(m.sent_at AS TEXT) FROM message m WHERE m.session_id = s.id AND m.at IS NOT NULL"
    "  ORDER BY m.order_at, m.position, m.id LIMIT 1),"
    " (SELECT CAST(m.sent_at AS TEXT) FROM message m WHERE m.session_id = s.id AND m.at IS NOT NULL"
    "  ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT 1)"
)
_EMPTY = "''"
_SESSION_SQL = (
    f"SELECT s.id, {as_kind('s.external_id', 'TEXT', _EMPTY)}, {as_kind('s.title', 'TEXT')},"
    f" {as_kind('s.user_id', 'TEXT', _EMPTY)}, {as_kind('s.namespace', 'TEXT', _EMPTY)},"
    f" {as_kind('s.agent_id', 'TEXT', _EMPTY)}, {as_kind('s.format', 'TEXT', _EMPTY)},"
    f" (SELECT count(*) FROM message m WHERE m.session_id = s.id), {_SPAN_SQL},"
    f" {as_kind('s.created_at', 'INTEGER', '0')}, {as_kind('s.metadata', 'TEXT', _EMPTY)}, s.pinned,"
    f" s.storage_scope, s.titled, {as_kind('s.options', 'TEXT', _EMPTY)}, {as_kind('s.ttl', 'INTEGER')},"
    f" {as_kind('s.expires_at', 'INTEGER')},"
    f" s.parent_id, s.branch_at, {chunks.AGENTS_SQL}, (SELECT json_group_array(tag) FROM session_tag t"
    f" WHERE t.session_id = s.id) FROM session s WHERE {NOT_EXPIRED}"
)


def _info(db: sqlite3.Connection, values: tuple[Any, ...]) -> SessionInfo:
    key, external_id, title, user, namespace, agent, format, count, first, last, created, metadata, *more = values
    pinned, scope, titled, options, ttl, expires, parent, branch_at, agents, tags = more
    shared = 0
    if parent is not None:
        # A branch begins with the messages that it shares, and ends with them as long as it has none of its own.
        past_sql, past_values = branches.parts_condition(branches.session_parts(db, key)[:-1])
        query = f"SELECT count(*), min(CAST(m.sent_at AS TEXT)) FROM message m WHERE {past_sql}"
        shared, shared_first = db.execute(query, past_values).fetchone()
        (shared_last,) = db.execute(
            "SELECT CAST(sent_at AS TEXT) FROM message WHERE id = ?", (branch_at,)
        ).fetchone() or (None,)
        first, last = shared_first or first, last or shared_last
    if first and last and first > last:  # a clock was set back within the conversation
        first, last = _widest_span(db, key)
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
        created_at=iso_from_microseconds(created),
        metadata=from_json(metadata),
        pinned=bool(pinned),
        storage_scope=scope,
        title_found=titled == "found",
        options=from_json(options),
        agents=tuple(msgspec.json.decode(agents)),
        ttl=ttl,
        expires_at=None if expires is None else iso_from_microseconds(expires),
        branch_of=None if parent is None else public_id(parent),
        branch_at=None if branch_at is None else f"m{branch_at}",
        shared=shared,
        tags=tuple(msgspec.json.decode(tags)),
    )


def _widest_span(db: sqlite3.Connection, key: int) -> tuple[str, str]:
    """The earliest and the latest time of a session's messages, whatever their order."""
    where, values = branches.parts_condition(branches.session_parts(db, key))
    dated = f"SELECT CAST(m.sent_at AS TEXT) FROM message m WHERE {where} AND m.at IS NOT NULL ORDER BY m.at"
    (first,) = db.execute(f"{dated} LIMIT 1", values).fetchone()
    (last,) = db.execute(f"{dated} DESC LIMIT 1", values).fetchone()
    return first, last


def infos(db: sqlite3.Connection, keys: Sequence[int]) -> list[SessionInfo]:
    """Return the sessions with the given keys in the same order, as far as they exist."""
    rows = db.execute(f"{_SESSION_SQL} AND s.id IN {JSON_KEYS_SQL}", (now(), json_keys(keys))).fetchall()
    values_by_key = {values[0]: values for values in rows}
    return [_info(db, values_by_key[key]) for key in keys if key in values_by_key]


def iterate(db: sqlite3.Connection, on_unreadable: Callable[[str], None] | None = None) -> Iterator[SessionInfo]:
    """Yield the sessions of all users, most recently active first, in an order that another memory with the same
    messages has too. ``on_unreadable`` gets the id of each session that
    can't be read; without it, the first one raises StoreCorrupt."""
    for page in pages(_keys_by_activity(db)):
        try:
            yield from infos(db, page)
        except StoreCorrupt:
            if on_unreadable is None:
                raise
            for key in page:
                try:
                    yield from _infos_without_span(db, key)
                except StoreCorrupt:
                    on_unreadable(public_id(key))


def _keys_by_activity(db: sqlite3.Connection) -> list[int]:
    try:
        rows = db.execute(
            "SELECT s.id FROM session s ORDER BY coalesce((SELECT m.order_at FROM message m WHERE m.session_id = s.id"
            " AND m.at IS NOT NULL ORDER BY m.order_at DESC LIMIT 1), 0) DESC,"
            " s.user_id, s.namespace, s.format, s.external_id"
        ).fetchall()
    except StoreCorrupt:  # an index of the keys alone may still be sound
        rows = db.execute("SELECT id FROM session INDEXED BY session_external ORDER BY id DESC").fetchall()
    return [key for (key,) in rows]


def _infos_without_span(db: sqlite3.Connection, key: int) -> list[SessionInfo]:
    """A session without the times of its first and last message, which stand on pages that may be damaged."""
    query = _SESSION_SQL.replace(_SPAN_SQL, "NULL, NULL")
    rows = db.execute(f"{query} AND s.id = ?", (now(), key)).fetchall()
    return [_info(db, values) for values in rows]


def find(
    db: sqlite3.Connection,
    reference: str,
    user_id: str | None = None,
    *,
    owner: str | None = None,
    namespace: str | None = None,
) -> SessionInfo:
    """Return the session with a public id or, failing that, an external id.

    Args:
        db: The connection.
        reference: A public or an external id.
        user_id: Only a session of this user.
        owner: The user whose session is preferred if several sessions have the external id.
        namespace: Only a session of this namespace.

    Raises:
        NotFound: There is none.
        UsageError: Several sessions have this external id.
    """
    key = key_of(reference)
    filters = [
        (column, value) for column, value in (("user_id", user_id), ("namespace", namespace)) if value is not None
    ]
    query = _SESSION_SQL + "".join(f" AND s.{column} = ?" for column, _ in filters)
    values = (now(), *(value for _, value in filters))
    rows = db.execute(query + " AND s.id = ?", (*values, key)).fetchall() if key else []
    rows = rows or db.execute(query + " AND s.external_id = ? LIMIT 100", (*values, reference)).fetchall()
    matches = [_info(db, row) for row in rows]
    if len(matches) > 1:
        matches = [info for info in matches if info.user_id == owner] or matches
    if len(matches) > 1:
        ids = ", ".join(info.id for info in matches)
        raise UsageError(f"Several sessions have the id {reference!r}.", hint=f"Name one by its own id: {ids}.")
    if not matches:
        subject = "There is no" if user_id is None else f"User {user_id!r} has no"
        raise NotFound(f"{subject} session {reference!r}.", hint=_LIST_HINT)
    return matches[0]


def parts_withholding(db: sqlite3.Connection, parts: Sequence[SessionPart]) -> tuple[SessionPart, ...]:
    """Return those parts whose sessions withhold anything from other sessions."""
    query = "SELECT 1 FROM session WHERE id = ? AND storage_scope <> 'all'"
    return tuple(part for part in parts if has_row(db, query, (part.session,)))


def options(db: sqlite3.Connection, key: int) -> dict[str, Any]:
    """Return the options that a session sets itself; empty if it sets none or does not exist."""
    row = db.execute("SELECT options FROM session WHERE id = ?", (key,)).fetchone()
    return from_json(row[0]) if row else {}


def heads(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, SessionHead]:
    """Return what hits show of the sessions with the given keys. An extracted title is left out: it repeats the first
    words of the session, and would take space from others in a context."""
    rows = db.execute(
        "SELECT id, external_id, CASE titled WHEN 'found' THEN NULL ELSE title END, format, user_id"
        f" FROM session WHERE id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    )
    return {key: SessionHead(*values) for key, *values in rows.fetchall()}
