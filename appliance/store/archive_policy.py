"""Which messages may be archived: old ones, unimportant, not pinned, not recalled, and in no active session."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.store import sessions
from appliance.store.branches import SqlCondition
from appliance.store.generation_states import ACTIVE_SQL
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys
from appliance.types import RetentionRule, Scope

DAY = 86_400_000_000
"""A day in microseconds."""


@dataclass(frozen=True, slots=True)
class ArchivePolicy:
    """The policy of a run.

    Attributes:
        days: How old a message must be, by the time when it was said, and how long it must not have been recalled.
            Sessions and sources may have days of their own.
        importance: Below which importance.
        active_days: A session with a message from within so many days is active.
        latest: How many of the latest messages of an active session are kept.
        settled_days: For how many days a message must have been in the memory.
    """

    days: int
    importance: float
    active_days: int
    latest: int
    settled_days: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that may be archived, and why: its age in days, its importance, and its days without a recall (None: it
    was never recalled)."""

    message: int
    age_days: int
    importance: float
    unrecalled_days: int | None

    @property
    def reason(self) -> str:
        recalled = "never recalled" if self.unrecalled_days is None else f"not recalled for {self.unrecalled_days} days"
        return f"{self.age_days} days old, importance {self.importance:.2f}, {recalled}"


def candidates(
    db: sqlite3.Connection, policy: ArchivePolicy, now: int, *, after: int = 0, limit: int = -1
) -> list[Candidate]:
    """Return the next messages with keys above ``after`` that may be archived at the time ``now`` (microseconds)."""
    where, values = _condition(policy, now)
    rows = db.execute(
        f"SELECT m.id, (? - {_SAID}) / {DAY}, m.importance, (? - r.last_at) / {DAY} {_FROM} WHERE m.id > ? AND {where}"
        " ORDER BY m.id LIMIT ?",
        (now, now, after, *values, limit),
    )
    return [Candidate(*row) for row in rows.fetchall()]


def still_candidates(tx: sqlite3.Connection, policy: ArchivePolicy, now: int, keys: Collection[int]) -> list[int]:
    """Return those of the messages that may be archived at the time ``now``."""
    where, values = _condition(policy, now)
    rows = tx.execute(f"SELECT m.id {_FROM} WHERE m.id IN {JSON_KEYS_SQL} AND {where}", (json_keys(keys), *values))
    return [key for (key,) in rows]


def count_candidates(db: sqlite3.Connection, policy: ArchivePolicy, now: int) -> int:
    """Return the number of messages that may be archived at the time ``now``."""
    where, values = _condition(policy, now)
    return fetch_int(db, f"SELECT count(*) {_FROM} WHERE {where}", values)


def sessions_due_within(db: sqlite3.Connection, policy: ArchivePolicy, now: int, days: int, scope: Scope) -> list[int]:
    """Return the sessions of a scope with messages that become old enough to be archived within so many days, the
    latest first. What was old enough when it was imported is not among them."""
    later = now + days * DAY
    where, values = _condition(policy, now)
    where_later, values_later = _condition(policy, later)
    ages = {policy.days, *(rule.days for rule in rules(db) if rule.days is not None)}
    found: set[int] = set()
    for age in ages:
        # CROSS JOIN makes SQLite look into each session at that time only, by an index.
        rows = db.execute(
            "SELECT DISTINCT s.id FROM session s CROSS JOIN message m"
            f" ON m.session_id = s.id AND m.order_at >= ? AND m.order_at < ?{_JOINS}"
            f" WHERE s.user_id = ? AND s.namespace = ? AND {where_later} AND NOT ({where})",
            (now - age * DAY, later - age * DAY, scope.user_id, scope.namespace, *values_later, *values),
        )
        found.update(key for (key,) in rows)
    order = f"SELECT s.id FROM session s WHERE s.id IN {JSON_KEYS_SQL} ORDER BY {_LAST_SQL} DESC, s.id DESC"
    return [key for (key,) in db.execute(order, (json_keys(found),))]


def sample_texts(db: sqlite3.Connection, policy: ArchivePolicy, now: int, limit: int) -> list[str]:
    """Return up to ``limit`` texts of messages that may be archived, spread evenly."""
    where, values = _condition(policy, now)
    step = max(1, count_candidates(db, policy, now) // limit)
    rows = db.execute(f"SELECT m.text {_FROM} WHERE {where} AND m.id % ? = 0 LIMIT ?", (*values, step, limit))
    return [text for (text,) in rows]


_SAID = "coalesce(m.at, m.added_at)"

_JOINS = (
    " LEFT JOIN recalled r ON r.message_id = m.id"
    " LEFT JOIN retention of_session ON of_session.session_id = s.id"
    " LEFT JOIN retention of_source ON of_source.source = s.format"
)
_FROM = f" FROM message m JOIN session s ON s.id = m.session_id{_JOINS}"

_LAST_SQL = "(SELECT l.order_at FROM message l WHERE l.session_id = s.id ORDER BY l.order_at DESC LIMIT 1)"


def _condition(policy: ArchivePolicy, now: int) -> SqlCondition:
    # Without days (a rule that says never), the comparisons are NULL and the message is kept.
    days = (
        "CASE WHEN of_session.id NOT NULL THEN of_session.days"
        " WHEN of_source.id NOT NULL THEN of_source.days ELSE ? END"
    )
    cutoff = f"(? - ({days}) * {DAY})"
    parts = [
        "m.pinned = 0 AND s.pinned = 0 AND s.expires_at IS NULL",
        "m.importance < ?",
        f"{_SAID} <= {cutoff}",
        f"(r.last_at IS NULL OR r.last_at <= {cutoff})",
        "m.added_at <= ?",
        "NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)",
        # What can't be found yet is not moved.
        "NOT EXISTS (SELECT 1 FROM chunk c JOIN outbox o ON o.chunk_id = c.id"
        f" WHERE c.message_id = m.id AND o.work = 'put' AND o.generation = {ACTIVE_SQL})",
        f"({_LAST_SQL} < ? OR (m.order_at, m.position, m.id) < (SELECT l.order_at, l.position, l.id FROM message l"
        " WHERE l.session_id = s.id ORDER BY l.order_at DESC, l.position DESC, l.id DESC LIMIT 1 OFFSET ?))",
    ]
    values: list[object] = [
        policy.importance, now, policy.days, now, policy.days, now - policy.settled_days * DAY,
        now - policy.active_days * DAY, policy.latest - 1,
    ]  # fmt: skip
    return " AND ".join(parts), tuple(values)


def to_restore(db: sqlite3.Connection, limit: int) -> list[int]:
    """Return archived messages that were recalled or pinned since, so that they come back."""
    # CROSS JOIN makes SQLite begin with what was recalled, which is little; this is asked after every change.
    rows = db.execute(
        "SELECT a.message_id FROM recalled r CROSS JOIN archived a ON a.message_id = r.message_id"
        " WHERE r.last_at >= a.at"
        " UNION SELECT m.id FROM message m JOIN archived a ON a.message_id = m.id WHERE m.pinned = 1 LIMIT ?",
        (limit,),
    )
    return [key for (key,) in rows]


# --- retention of single sessions and sources -----------------------------------------------------------


def rules(db: sqlite3.Connection) -> list[RetentionRule]:
    """Return the sessions and sources with days of their own."""
    rows = db.execute("SELECT days, session_id, source FROM retention ORDER BY source, session_id").fetchall()
    return [RetentionRule(days, sessions.public_id(key) if key else None, source) for days, key, source in rows]


def set_rule(
    tx: sqlite3.Connection, days: int | None, *, session: int | None = None, source: str | None = None
) -> None:
    """Give a session or a source days of its own; None means that its messages are never archived."""
    remove_rule(tx, session=session, source=source)
    tx.execute("INSERT INTO retention (session_id, source, days) VALUES (?, ?, ?)", (session, source, days))


def remove_rule(tx: sqlite3.Connection, *, session: int | None = None, source: str | None = None) -> None:
    """Let the settings decide again for a session or a source."""
    values: Sequence[object] = (session, source)
    tx.execute("DELETE FROM retention WHERE session_id IS ? AND source IS ?", values)
