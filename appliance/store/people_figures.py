"""How much people wrote: counts, times and conversations, read from the index of authors."""

from __future__ import annotations

import sqlite3

from appliance.lazy_dataclasses import dataclass
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Scope

SNIPPET_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Figures:
    """Messages, conversations, and the first and last time in microseconds since 1970, None where no time is known."""

    messages: int = 0
    sessions: int = 0
    first: int | None = None
    last: int | None = None

    def with_more(self, other: Figures) -> Figures:
        """The figures of both; no conversation may be in both."""
        return Figures(
            self.messages + other.messages,
            self.sessions + other.sessions,
            min((at for at in (self.first, other.first) if at is not None), default=None),
            max((at for at in (self.last, other.last) if at is not None), default=None),
        )


_NONE = Figures()

_WRITTEN_SQL = (
    "SELECT author, session_id, count(*) AS messages, min(at) AS first, max(at) AS last FROM message"
    " WHERE author IS NOT NULL AND role = 'user' GROUP BY author, session_id"
)
"""What each author wrote in each session; answered from an index alone."""

_UNSIGNED_SQL = (
    "SELECT m.session_id, count(*) AS messages, min(m.at) AS first, max(m.at) AS last FROM session s"
    " JOIN message m ON m.session_id = s.id WHERE {scope}"
    " AND m.author IS NULL AND m.role = 'user' AND m.talk = 1 GROUP BY m.session_id"
)
"""What the person wrote in conversations with an assistant, by session."""


@dataclass(frozen=True, slots=True)
class CountedSessions:
    """The sessions that count: those of a scope that have not expired; with ``shared_only``, those that share their
    messages with others."""

    scope: Scope
    shared_only: bool = False

    def condition(self) -> tuple[str, tuple[object, ...]]:
        """A condition on ``session s``, and its parameters."""
        shared = " AND s.storage_scope IN ('all', 'conversational')" if self.shared_only else ""
        sql = f"s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED}{shared}"
        return sql, (self.scope.user_id, self.scope.namespace, now())


def of_people(db: sqlite3.Connection, counted: CountedSessions, me: int | None) -> dict[int, Figures]:
    """Return the figures of the people who wrote anything, by key; ``me`` also has what is unsigned."""
    where, values = counted.condition()
    rows = db.execute(
        "SELECT a.person_id, sum(w.messages), count(DISTINCT w.session_id), min(w.first), max(w.last)"
        f" FROM ({_WRITTEN_SQL}) w JOIN session_author a ON a.session_id = w.session_id AND a.author = w.author"
        " JOIN session s ON s.id = w.session_id"
        f" WHERE {where} AND a.person_id IS NOT NULL GROUP BY a.person_id",
        values,
    )
    found = {key: Figures(messages, sessions, first, last) for key, messages, sessions, first, last in rows}
    if me is not None:
        found[me] = found.get(me, _NONE).with_more(unsigned(db, counted))
    return found


def unsigned(db: sqlite3.Connection, counted: CountedSessions) -> Figures:
    """Return the figures of what the person wrote in conversations with an assistant."""
    where, values = counted.condition()
    row = db.execute(
        "SELECT coalesce(sum(messages), 0), count(*), min(first), max(last)"
        f" FROM ({_UNSIGNED_SQL.format(scope=where)})",
        values,
    ).fetchone()
    return Figures(*row)


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """What a person wrote in one session."""

    session: int
    source: str
    title: str | None
    messages: int
    first: int | None
    last: int | None


def by_session(
    db: sqlite3.Connection, counted: CountedSessions, person: int, *, with_unsigned: bool
) -> list[SessionFigures]:
    """Return what a person wrote in each session, the latest first."""
    where, values = counted.condition()
    query = (
        "SELECT s.id, s.format, s.title, count(*), min(m.at), max(m.at) FROM session_author a"
        " JOIN session s ON s.id = a.session_id JOIN message m ON m.author = a.author AND m.session_id = a.session_id"
        f" AND m.role = 'user' WHERE a.person_id = ? AND {where} GROUP BY s.id"
    )
    rows = db.execute(query, (person, *values)).fetchall()
    if with_unsigned:
        rows += db.execute(
            "SELECT s.id, s.format, s.title, u.messages, u.first, u.last"
            f" FROM ({_UNSIGNED_SQL.format(scope=where)}) u JOIN session s ON s.id = u.session_id",
            values,
        ).fetchall()
    found = [SessionFigures(*row) for row in rows]
    return sorted(found, key=lambda one: (-(one.last or 0), -one.session))


def recalled(
    db: sqlite3.Connection, counted: CountedSessions, person: int, limit: int, *, with_unsigned: bool
) -> tuple[int, list[tuple[int, int, str]]]:
    """Return how often messages of a person were recalled, and those that were most: key, times and beginning."""
    where, owner = counted.condition()
    unsigned_sql = "OR (m.author IS NULL AND m.role = 'user' AND m.talk = 1)" if with_unsigned else ""
    source = (
        "FROM recalled r JOIN message m ON m.id = r.message_id JOIN session s ON s.id = m.session_id"
        " LEFT JOIN session_author a ON a.session_id = m.session_id AND a.author = m.author"
        f" WHERE {where} AND m.role = 'user' AND (a.person_id = ? {unsigned_sql})"
    )
    values = (*owner, person)
    (total,) = db.execute(f"SELECT coalesce(sum(r.times), 0) {source}", values).fetchone()
    rows = db.execute(
        f"SELECT m.id, r.times, substr(m.text, 1, ?) {source} ORDER BY r.times DESC, r.last_at DESC LIMIT ?",
        (SNIPPET_CHARACTERS, *values, limit),
    )
    return int(total), rows.fetchall()


def unsigned_sessions(db: sqlite3.Connection, scope: Scope) -> set[int]:
    """Return the sessions with user messages that name no author."""
    where, values = CountedSessions(scope).condition()
    return {key for (key, *_) in db.execute(_UNSIGNED_SQL.format(scope=where), values)}
