"""Sessions by the words of their titles: a small full text of its own, kept in step by triggers."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from appliance.store.lexical import quoted, stem, words
from appliance.store.sessions import TAKES_PART
from appliance.store.sql import LISTED, listed
from appliance.types import Scope

POINTS = 0.4
"""How alike a title and a question must be to point to its session: two words of six that are all of the title."""

LOOKED_AT = 50
"""How many of the best titles are looked at."""

_GIVEN = "titled <> 'found'"
"""A title that was found in the first words says no more than these do, and they are found by themselves."""

KEPT = 5_000
"""How many titles are kept in words: a search compares those of all candidates' sessions, up to some 200."""


def matching(db: sqlite3.Connection, asked: Sequence[str], scope: Scope, limit: int) -> list[int]:
    """The sessions of a scope whose titles are alike enough to the words that are asked for, the best first."""
    if not asked:
        return []
    narrowed, owner = "s.user_id = ? AND s.namespace = ?", [scope.user_id, scope.namespace]
    if scope.agent_id is not None:
        narrowed, owner = f"{narrowed} AND {TAKES_PART}", [*owner, scope.agent_id]
    rows = db.execute(
        "SELECT s.id, s.title FROM session_fts JOIN session s ON s.id = session_fts.rowid"
        f" WHERE session_fts MATCH ? AND {narrowed} AND {_GIVEN} ORDER BY bm25(session_fts), s.id DESC LIMIT ?",
        (" OR ".join(map(quoted, asked)), *owner, LOOKED_AT),
    ).fetchall()
    stems = {stem(word) for word in asked}
    return [key for key, title in rows if alike(stems, title) >= POINTS][:limit]


def alike(stems: Collection[str], title: str) -> float:
    """The cosine of two sets of words, those of a question and of a title: 1 where they are the same."""
    has = _stems(title)
    both = len(has.intersection(stems))
    return both / math.sqrt(len(has) * len(stems)) if both else 0.0


@lru_cache(maxsize=KEPT)
def _stems(title: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(title))


def of_sessions(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The titles of the given sessions, of those that have one."""
    rows = db.execute(
        f"SELECT id, title FROM session WHERE title IS NOT NULL AND {_GIVEN} AND id IN {LISTED}",
        (listed(set(keys)),),
    )
    return dict(rows.fetchall())
