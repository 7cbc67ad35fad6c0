"""The importance of messages: the score of their words, their pins, how often and when they were recalled, and the
feedback on them.

``message.importance`` is the score of the words alone (NULL: not scored yet). Pins, recalls and feedback are added when
it is read, so that a pin costs one write and the bonus for recalls fades by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.store import digests, feedback
from appliance.store.feedback import NO_FEEDBACK, StoredFeedback
from appliance.store.messages import COLUMNS, MessageRow
from appliance.store.priority import DEFAULT_IMPORTANCE, PINNED_IMPORTANCE
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, json_keys
from appliance.timestamps import now as moment
from appliance.types import Scope

MAX_USE_SHARE = 0.5
"""How much of the distance to 1 recalls can add: a message of the person that is recalled again and again must not
count as unimportant (less than 0.5), whatever the score of its words."""

SHARE_PER_RECALL = 0.5
"""The share of this bonus that the first recall adds; each further one adds the same share of the rest. Two or three
recalls show that a message is useful, and a tenth says nothing new."""

HALF_LIFE_MICROSECONDS = 30 * 86_400_000_000
"""The time in which the bonus halves: a month without a recall is a good sign that a matter is closed."""


@dataclass(frozen=True, slots=True)
class StoredImportance:
    """The importance of a message now, 0 to 1, and what it consists of. ``word_score`` is the score of its words, None
    if they have not been scored; ``last_recalled_at`` is in microseconds since 1970."""

    importance: float
    pinned: bool
    word_score: float | None = None
    recall_count: int = 0
    last_recalled_at: int | None = None
    feedback: StoredFeedback = NO_FEEDBACK


def use_bonus(word_score: float, recall_count: int, last_recalled_at: int | None, now: int) -> float:
    """Return what recalls add to the score of a message's words; the sum never exceeds 1. Times are in microseconds
    since 1970."""
    if not recall_count or last_recalled_at is None:
        return 0.0
    age = max(0, now - last_recalled_at)  # the clock may have been set back
    bonus = (1.0 - word_score) * MAX_USE_SHARE * (1.0 - SHARE_PER_RECALL**recall_count)
    return bonus * float(0.5 ** (age / HALF_LIFE_MICROSECONDS))


def combine(
    word_score: float | None,
    pinned: bool,
    recall_count: int,
    last_recalled_at: int | None,
    now: int,
    given: StoredFeedback = NO_FEEDBACK,
) -> StoredImportance:
    """Return the importance of a message at the time ``now``, in microseconds since 1970. ``given`` is the feedback on
    it."""
    score = DEFAULT_IMPORTANCE if word_score is None else word_score
    score += use_bonus(score, recall_count, last_recalled_at, now)
    total = PINNED_IMPORTANCE if pinned else score + feedback.score_change(score, given, now)
    return StoredImportance(total, pinned, word_score, recall_count, last_recalled_at, given)


def get(db: sqlite3.Connection, keys: Iterable[int], now: int | None = None) -> dict[int, StoredImportance]:
    """Return the importance of the messages with the given keys, by key, as far as they exist."""
    now = moment() if now is None else now
    keys = list(keys)
    rows = db.execute(
        "SELECT m.id, m.importance, m.pinned, coalesce(r.times, 0), r.last_at FROM message m"
        f" LEFT JOIN recalled r ON r.message_id = m.id WHERE m.id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    ).fetchall()
    given = feedback.get(db, keys)
    return {
        key: combine(score, bool(pinned), times, last_at, now, given.get(key, NO_FEEDBACK))
        for key, score, pinned, times, last_at in rows
    }


def recalled_since(db: sqlite3.Connection, keys: Iterable[int], since: int, scope: Scope) -> Sequence[int]:
    """Return those of the messages that belong to a scope and were recalled at ``since`` (microseconds since 1970) or
    later."""
    rows = db.execute(
        "SELECT m.id FROM recalled r JOIN message m ON m.id = r.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE r.message_id IN {JSON_KEYS_SQL} AND r.last_at >= ? AND s.user_id = ? AND s.namespace = ?",
        (json_keys(keys), since, scope.user_id, scope.namespace),
    )
    return [key for (key,) in rows]


# --- writing -----------------------------------------------------------------------------------------


def unscored_messages(tx: sqlite3.Connection) -> list[MessageRow]:
    """Return the next messages whose words have not been scored, latest first."""
    query = f"SELECT {COLUMNS} FROM message m WHERE m.importance IS NULL ORDER BY m.id DESC LIMIT ?"
    return [MessageRow(*values) for values in tx.execute(query, (PAGE_ROWS,)).fetchall()]


def set_word_scores(tx: sqlite3.Connection, scores: Mapping[int, float]) -> None:
    """Store the scores of the words of messages, by key."""
    tx.executemany("UPDATE message SET importance = ? WHERE id = ?", [(value, key) for key, value in scores.items()])


def set_pinned(tx: sqlite3.Connection, key: int, pinned: bool) -> None:
    intact = digests.intact(tx, [key])
    tx.execute("UPDATE message SET pinned = ? WHERE id = ?", (pinned, key))
    digests.refresh(tx, intact)


def add_recalls(tx: sqlite3.Connection, recalls: Mapping[int, tuple[int, int]]) -> None:
    """Add recalls of messages: by key, their number and the time of the last one. Skips messages that no longer
    exist; the count of their days keeps those, too."""
    tx.executemany(
        "INSERT INTO recalled_day (day, messages) VALUES (strftime('%Y-%m-%d', ? / 1000000, 'unixepoch'), ?)"
        " ON CONFLICT (day) DO UPDATE SET messages = messages + excluded.messages",
        [(last_at, times) for times, last_at in recalls.values()],
    )
    tx.executemany(
        "INSERT INTO recalled (message_id, times, last_at) SELECT id, ?, ? FROM message WHERE id = ?"
        " ON CONFLICT (message_id) DO UPDATE SET times = times + excluded.times,"
        " last_at = max(last_at, excluded.last_at)",
        [(times, last_at, key) for key, (times, last_at) in recalls.items()],
    )


def pinned(db: sqlite3.Connection, user_id: str, namespace: str) -> Sequence[int]:
    """Return the keys of a user's pinned messages, latest first."""
    rows = db.execute(
        "SELECT m.id FROM message m JOIN session s ON s.id = m.session_id"
        " WHERE m.pinned = 1 AND s.user_id = ? AND s.namespace = ?"
        " ORDER BY m.order_at DESC, m.position DESC, m.id DESC",
        (user_id, namespace),
    )
    return [key for (key,) in rows]
