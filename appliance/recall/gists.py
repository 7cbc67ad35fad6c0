"""Summaries that say what a question asks for, by meaning and by words: one look into the index, apart from the
messages'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from appliance.recall.features import saturated
from appliance.recall.shelf import Asked, Shelf
from appliance.store import lexical, pieces, sessions, summaries
from appliance.store.index.base import LegQuery
from appliance.store.summaries import Row
from appliance.types import LEVELS, Filters, SummaryHit

SHOWN = 3
"""Summaries that go with a search for messages."""

POOL = 30
"""Pieces that each leg proposes."""

MOST = 1_000
"""Pieces that each leg proposes at most, where those before are not to be shown."""

SHARES: Mapping[str, float] = {"dense": 0.5, "gist": 0.5}
"""What meaning and words count: there is no set of summaries to fit it on, and half and half is near the best for
messages."""


def beside(shelf: Shelf, asked: Asked) -> tuple[SummaryHit, ...]:
    """The few summaries that go with a search for messages: within its filters, unless it names roles."""
    filters = asked.wish.filters
    if filters.roles or not asked.legs or not summaries.exist(shelf.db, filters.scope):
        return ()
    legs = [replace(query, leg="gist") if query.leg == "own" else query for query in asked.legs]
    legs = [query for query in legs if query.leg in SHARES]
    # What a branch shares with others has their summaries, which may know what came after it.
    return tuple(_find(shelf, legs, asked.words, replace(filters, levels=LEVELS, past=()), SHOWN))


def search(shelf: Shelf, text: str, filters: Filters, limit: int) -> list[SummaryHit]:
    """The best summaries for a question of their own."""
    legs = [LegQuery("gist", text=lexical.shortened(text))]
    if shelf.embed is not None and text.strip():
        legs.append(LegQuery("dense", vector=shelf.embed(text)))
    return _find(shelf, legs, lexical.words(text), filters, limit)


def _find(
    shelf: Shelf, legs: Sequence[LegQuery], words: Sequence[str], filters: Filters, limit: int
) -> list[SummaryHit]:
    pool = max(POOL, 2 * limit)
    while shelf.index is not None and legs:
        proposed = shelf.index.search(legs, filters, pool)
        scores = _scored(shelf, legs, {one.id for leg in proposed for one in leg}, words, filters)
        found = _shown(shelf, scores, filters, limit)
        if len(found) >= limit or pool >= MOST or all(len(leg) < pool for leg in proposed):
            return _described(shelf, found, scores)
        pool = MOST
    return []


def _scored(
    shelf: Shelf, legs: Sequence[LegQuery], points: set[int], words: Sequence[str], filters: Filters
) -> dict[int, dict[str, float]]:
    """Each summary's parts of the score, of its best piece in each leg."""
    assert shelf.index is not None
    of_point = pieces.summaries_of(shelf.db, sorted(points))
    known = shelf.index.score(legs, [of_point.keys()] * len(legs), filters.scope)
    found: dict[int, dict[str, float]] = {}
    for query, by_point in zip(legs, known, strict=True):
        for point, raw in by_point.items():
            value = float(saturated(np.array([raw]), len(words))[0]) if query.leg == "gist" else raw
            parts = found.setdefault(of_point[point], {})
            parts[query.leg] = max(parts.get(query.leg, 0.0), SHARES[query.leg] * value)
    return found


def _shown(
    shelf: Shelf, scores: Mapping[int, Mapping[str, float]], filters: Filters, limit: int
) -> list[Row]:
    """The best, without what other conversations may not see and what covers the messages of a better one."""
    rows = summaries.get(shelf.db, summaries.seen_by(shelf.db, list(scores), filters))
    shown: list[Row] = []
    for key in sorted(rows, key=lambda key: (-sum(scores[key].values()), key)):
        row = rows[key]
        if not any(
            row.session_id == other.session_id and row.begins <= other.ends and other.begins <= row.ends
            for other in shown
        ):
            shown.append(row)
        if len(shown) == limit:
            break
    return shown


def _described(
    shelf: Shelf, rows: Sequence[Row], scores: Mapping[int, Mapping[str, float]]
) -> list[SummaryHit]:
    heads = sessions.heads(shelf.db, [row.session_id for row in rows])
    return [
        SummaryHit(
            rank, sum(scores[row.id].values()), told, heads[row.session_id].title, dict(scores[row.id])
        )
        for rank, (row, told) in enumerate(zip(rows, summaries.public(shelf.db, rows), strict=True), 1)
    ]
