"""How much messages are worth keeping close, as the store knows it: what their words were found to be worth, whether a
person pinned them, and how often and when they were given to somebody.

``message.importance`` is the worth of the words alone (NULL: not weighed yet). Pins and use come on top where it is
read, so that a pin takes one write, and what use adds fades by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance.moments import now as moment
from appliance.store.messages import COLUMNS, Row
from appliance.store.priority import PINNED, UNWEIGHED
from appliance.store.sql import LISTED, PAGE, listed

USED = 0.5
"""How much of what is missing to 1 use can add: what a person says and is recalled again and again must not count as
unimportant (less than 0.5), however little its words weigh."""

ONCE = 0.5
"""What one time has of the whole of it, each further one as much of the rest: two or three times show that it is of
use, and the tenth adds nothing to that."""

FADES = 30 * 86_400_000_000
"""Microseconds in which what use adds halves: a month without being asked for is a good sign that it is over."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a message counts as now, 0 to 1, and what is behind it. ``words`` is the worth of its words, None where they
    have not been weighed; ``last_at`` is in microseconds since 1970."""

    importance: float
    pinned: bool
    words: float | None = None
    times: int = 0
    last_at: int | None = None


def by_use(words: float, times: int, last_at: int | None, now: int) -> float:
    """What being recalled adds to the worth of a message's words; never more than is missing to 1."""
    if not times or last_at is None:
        return 0.0
    age = max(0, now - last_at)  # a clock that went back makes nothing newer than new
    return (1.0 - words) * USED * (1.0 - ONCE**times) * float(0.5 ** (age / FADES))


def weighed(words: float | None, pinned: bool, times: int, last_at: int | None, now: int) -> Weighed:
    """A message as it counts at ``now``."""
    worth = UNWEIGHED if words is None else words
    total = PINNED if pinned else worth + by_use(worth, times, last_at, now)
    return Weighed(total, pinned, words, times, last_at)


def of(db: sqlite3.Connection, keys: Iterable[int], now: int | None = None) -> dict[int, Weighed]:
    """The messages of the given keys as they count now; those that are not there are absent."""
    now = moment() if now is None else now
    rows = db.execute(
        "SELECT m.id, m.importance, m.pinned, coalesce(r.times, 0), r.last_at FROM message m"
        f" LEFT JOIN recalled r ON r.message_id = m.id WHERE m.id IN {LISTED}",
        (listed(keys),),
    ).fetchall()
    return {
        key: weighed(words, bool(pinned), times, last_at, now) for key, words, pinned, times, last_at in rows
    }


# --- written -----------------------------------------------------------------------------------------


def unweighed(tx: sqlite3.Connection) -> list[Row]:
    """The next messages whose words have not been weighed, the latest first."""
    found = tx.execute(
        f"SELECT {COLUMNS} FROM message m WHERE m.importance IS NULL ORDER BY m.id DESC LIMIT ?", (PAGE,)
    ).fetchall()
    return [Row(*values) for values in found]


def note_words(tx: sqlite3.Connection, worth: Mapping[int, float]) -> None:
    """Note what the words of messages are worth."""
    tx.executemany(
        "UPDATE message SET importance = ? WHERE id = ?", [(value, key) for key, value in worth.items()]
    )


def note_pinned(tx: sqlite3.Connection, key: int, pinned: bool) -> None:
    tx.execute("UPDATE message SET pinned = ? WHERE id = ?", (pinned, key))


def note_recalled(tx: sqlite3.Connection, given: Mapping[int, tuple[int, int]]) -> None:
    """Add how often messages were given to somebody, and when last. What is gone meanwhile is passed over."""
    tx.executemany(
        "INSERT INTO recalled (message_id, times, last_at) SELECT id, ?, ? FROM message WHERE id = ?"
        " ON CONFLICT (message_id) DO UPDATE SET times = times + excluded.times,"
        " last_at = max(last_at, excluded.last_at)",
        [(times, last_at, key) for key, (times, last_at) in given.items()],
    )


def pinned(db: sqlite3.Connection, user_id: str, namespace: str) -> Sequence[int]:
    """The keys of the messages that a user has pinned, the latest first."""
    rows = db.execute(
        "SELECT m.id FROM message m JOIN session s ON s.id = m.session_id"
        " WHERE m.pinned = 1 AND s.user_id = ? AND s.namespace = ?"
        " ORDER BY m.order_at DESC, m.position DESC, m.id DESC",
        (user_id, namespace),
    )
    return [key for (key,) in rows]
