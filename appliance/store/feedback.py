"""What recalled messages were worth: each feedback with its kind and time, and what it changes.

A message that was used is of use for a while, as one that was recalled is. The other kinds are judgements: the last one
holds until another one is given, because a message that is wrong today is wrong next month too.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from appliance.lazy_dataclasses import dataclass
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.timestamps import iso_from_microseconds
from appliance.types import FEEDBACK_KINDS, FeedbackKind

JUDGEMENT_SHARES: Mapping[FeedbackKind, float] = {"helpful": 0.5, "outdated": -0.5, "wrong": -0.8}
"""What a judgement changes, as a share of the distance to 1 or, if negative, to 0. None hides a message: an assistant
may judge it wrongly, and a person can still want to read it."""

MAX_USED_SHARE = 0.5
"""How much of the distance to 1 uses can add."""

SHARE_PER_USE = 0.5
"""The share of this that the first use adds; each further one adds the same share of the rest."""

DAY_MICROSECONDS = 86_400_000_000

USE_HALF_LIFE_MICROSECONDS = 30 * DAY_MICROSECONDS
"""The time in which what uses add halves, as for recalls."""

RECENT_DAYS = 30
"""The days that the present usefulness and consistency are of."""

OVERVIEW_MONTHS = 24
"""The months of an overview: two years show whether memories are of more or of less use than they were."""

_RECALLED = "recalled"


@dataclass(frozen=True, slots=True)
class StoredFeedback:
    """The feedback on a message: how often each kind was given, the last judgement ("helpful", "wrong" or "outdated";
    None: none was given), and when the message was last used, in microseconds since 1970."""

    counts: Mapping[FeedbackKind, int] = field(default_factory=dict)
    judgement: FeedbackKind | None = None
    last_used_at: int | None = None


NO_FEEDBACK = StoredFeedback()


def used_share(given: StoredFeedback, now: int) -> float:
    """How much a message was used lately, 0 to 1 (never reached)."""
    if given.last_used_at is None:
        return 0.0
    age = max(0, now - given.last_used_at)  # the clock may have been set back
    saturated = 1.0 - SHARE_PER_USE ** given.counts.get("used", 0)
    return saturated * float(0.5 ** (age / USE_HALF_LIFE_MICROSECONDS))


def score_change(score: float, given: StoredFeedback, now: int) -> float:
    """Return what feedback adds to a score from 0 to 1; negative if it takes away. The sum stays from 0 to 1."""
    used = score + (1.0 - score) * MAX_USED_SHARE * used_share(given, now)
    share = JUDGEMENT_SHARES.get(given.judgement, 0.0) if given.judgement else 0.0
    return used + share * (1.0 - used if share > 0 else used) - score


def rank_value(given: StoredFeedback, now: int) -> float:
    """Return what feedback means for a ranking, -1 to 1: 1 for helpful, -1 for wrong, between them the others."""
    value = MAX_USED_SHARE * used_share(given, now)
    match given.judgement:
        case "helpful":
            return 1.0
        case "wrong":
            return -1.0
        case "outdated":
            return value - 0.5
        case _:
            return value


def get(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, StoredFeedback]:
    """Return the feedback on the messages with the given keys, by key, where there is any."""
    rows = db.execute(
        "SELECT message_id, kind, count(*), max(at) FROM feedback"
        f" WHERE message_id IN {JSON_KEYS_SQL} GROUP BY message_id, kind ORDER BY max(at), kind",
        (json_keys(keys),),
    )
    found: dict[int, StoredFeedback] = {}
    for key, kind, count, last_at in rows:
        before = found.get(key, NO_FEEDBACK)
        is_use = kind == "used"
        found[key] = StoredFeedback(
            {**before.counts, kind: count},
            before.judgement if is_use else kind,
            last_at if is_use else before.last_used_at,
        )
    return found


def of_session(db: sqlite3.Connection, session: int) -> Iterator[tuple[str, FeedbackKind, int]]:
    """Yield the feedback on a session's own messages in their order: external id, kind and time."""
    yield from db.execute(
        "SELECT m.external_id, f.kind, f.at FROM feedback f JOIN message m ON m.id = f.message_id"
        " WHERE m.session_id = ? ORDER BY m.order_at, m.position, m.id, f.at, f.kind",
        (session,),
    )


def overview(db: sqlite3.Connection, now: int) -> dict[str, Any]:
    """Return what was recalled and what it was worth.

    ``messages`` and ``times`` are how many messages were recalled and how often, ``feedback`` the number of each kind.
    ``usefulness`` and ``consistency`` are of the last ``days`` before ``now`` (microseconds since 1970); ``_worth``
    explains them.
    ``months`` has the latest months with a recall or feedback, by "2026-02" (UTC), as ``_worth`` says them.
    """
    recalled, times = db.execute("SELECT count(*), coalesce(sum(times), 0) FROM recalled").fetchone()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for day, kind, count in db.execute(
        "SELECT strftime('%Y-%m-%d', at / 1000000, 'unixepoch'), kind, count(*) FROM feedback GROUP BY 1, 2"
        " UNION ALL SELECT day, ?, messages FROM recalled_day",
        (_RECALLED,),
    ):
        counts[day][kind] = count
    months: dict[str, Counter[str]] = defaultdict(Counter)
    for day in sorted(counts):
        months[day[:7]] += counts[day]
    since = iso_from_microseconds(now - RECENT_DAYS * DAY_MICROSECONDS)[:10]
    recent = _worth(sum((one for day, one in counts.items() if day > since), Counter()))
    total: Counter[str] = sum(counts.values(), Counter())
    return {
        "messages": recalled,
        "times": times,
        "feedback": {kind: total[kind] for kind in FEEDBACK_KINDS},
        "days": RECENT_DAYS,
        "usefulness": recent["usefulness"],
        "consistency": recent["consistency"],
        "months": {month: _worth(one) for month, one in list(months.items())[-OVERVIEW_MONTHS:]},
    }


def _worth(counts: Counter[str]) -> dict[str, Any]:
    """What recalls of a time were worth: their number, the feedback of each kind, and two shares, 0 to 1. The
    ``usefulness`` is the share of recalls that were helpful or used, the ``consistency`` the share of feedback that is
    neither wrong nor outdated. Both are None where there is no feedback: then nothing is known."""
    given = {kind: counts[kind] for kind in FEEDBACK_KINDS if counts[kind]}
    good, bad = counts["helpful"] + counts["used"], counts["wrong"] + counts["outdated"]
    recalled = counts[_RECALLED]
    return {
        "recalled": recalled,
        "feedback": given,
        # A message can be found helpful that was not recalled in that time.
        "usefulness": min(1.0, good / recalled) if given and recalled else None,
        "consistency": good / (good + bad) if given else None,
    }


def add(tx: sqlite3.Connection, key: int, kind: FeedbackKind, at: int) -> None:
    """Store feedback on a message. The same one twice changes nothing."""
    tx.execute("INSERT OR IGNORE INTO feedback (message_id, at, kind) VALUES (?, ?, ?)", (key, at, kind))


def withdraw(tx: sqlite3.Connection, key: int, kind: FeedbackKind) -> bool:
    """Take back the latest feedback of a kind on a message. Returns whether there was any."""
    deleted = tx.execute(
        "DELETE FROM feedback WHERE message_id = ?1 AND kind = ?2"
        " AND at = (SELECT max(at) FROM feedback WHERE message_id = ?1 AND kind = ?2)",
        (key, kind),
    )
    return deleted.rowcount > 0
