"""The search for summaries, by meaning and by words: a search of its own in the index, apart from that for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from appliance.errors import ModelUnavailable, OutOfMemory
from appliance.retrieval.features import saturate_bm25
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.store import lexical, sessions, summaries, summary_chunks
from appliance.store.index.protocol import LegQuery
from appliance.store.summaries import SummaryRow
from appliance.types import LEVELS, Filters, SummaryHit

MAX_RELATED_SUMMARIES = 3
"""How many summaries accompany a search for messages."""

LEG_POOL_SIZE = 30
"""How many chunks each leg proposes."""

MAX_LEG_POOL_SIZE = 1_000
"""How many chunks each leg proposes at most, if too many of the first ones are not visible."""

LEG_WEIGHTS: Mapping[str, float] = {"dense": 0.5, "summary": 0.5}
"""The weights of meaning and words. There is no set of summaries to fit them on; equal weights are near the best for
messages."""


def related_summaries(resources: SearchResources, parsed: ParsedQuery) -> tuple[SummaryHit, ...]:
    """The summaries that accompany a search for messages, within its filters; none if it filters by role or author."""
    filters = parsed.query.filters
    if filters.roles or filters.names_authors or filters.has or filters.messages is not None or not parsed.leg_queries:
        return ()
    if not summaries.has_any(resources.db, filters.scope):
        return ()
    legs = [replace(query, leg="summary") if query.leg == "own" else query for query in parsed.leg_queries]
    legs = [query for query in legs if query.leg in LEG_WEIGHTS]
    # The summaries of what a branch shares with its parent may describe messages after the branch began.
    return tuple(
        _find(resources, legs, parsed.words, replace(filters, levels=LEVELS, ancestor_parts=()), MAX_RELATED_SUMMARIES)
    )


def search(resources: SearchResources, text: str, filters: Filters, limit: int) -> list[SummaryHit]:
    """Find the best summaries for a query."""
    legs = [LegQuery("summary", text=lexical.shorten_query(text))]
    if resources.embed is not None and text.strip():
        with suppress(ModelUnavailable, OutOfMemory):  # the words find some without it
            legs.append(LegQuery("dense", vector=resources.embed(text).vector))
    return _find(resources, legs, lexical.query_words(text), filters, limit)


def _find(
    resources: SearchResources, legs: Sequence[LegQuery], words: Sequence[str], filters: Filters, limit: int
) -> list[SummaryHit]:
    pool = max(LEG_POOL_SIZE, 2 * limit)
    while resources.index is not None and legs:
        proposed = resources.index.search(legs, filters, pool)
        scores = _score_summaries(resources, legs, {one.id for leg in proposed for one in leg}, words, filters)
        found = _select_visible(resources, scores, filters, limit)
        if len(found) >= limit or pool >= MAX_LEG_POOL_SIZE or all(len(leg) < pool for leg in proposed):
            return _to_hits(resources, found, scores)
        pool = MAX_LEG_POOL_SIZE
    return []


def _score_summaries(
    resources: SearchResources, legs: Sequence[LegQuery], points: set[int], words: Sequence[str], filters: Filters
) -> dict[int, dict[str, float]]:
    """The parts of each summary's score, of its best chunk in each leg."""
    assert resources.index is not None
    of_point = summary_chunks.summaries_of(resources.db, sorted(points))
    known = resources.index.score(legs, [of_point.keys()] * len(legs), filters.scope)
    found: dict[int, dict[str, float]] = {}
    for query, by_point in zip(legs, known, strict=True):
        for point, raw in by_point.items():
            value = float(saturate_bm25(np.array([raw]), len(words))[0]) if query.leg == "summary" else raw
            parts = found.setdefault(of_point[point], {})
            parts[query.leg] = max(parts.get(query.leg, 0.0), LEG_WEIGHTS[query.leg] * value)
    return found


def _select_visible(
    resources: SearchResources, scores: Mapping[int, Mapping[str, float]], filters: Filters, limit: int
) -> list[SummaryRow]:
    """The best visible summaries, without those that overlap with the messages of a better one."""
    rows = summaries.get(resources.db, summaries.filter_visible(resources.db, list(scores), filters))
    shown: list[SummaryRow] = []
    for key in sorted(rows, key=lambda key: (-sum(scores[key].values()), key)):
        row = rows[key]
        if not any(
            row.session_id == other.session_id and row.start_key <= other.end_key and other.start_key <= row.end_key
            for other in shown
        ):
            shown.append(row)
        if len(shown) == limit:
            break
    return shown


def _to_hits(
    resources: SearchResources, rows: Sequence[SummaryRow], scores: Mapping[int, Mapping[str, float]]
) -> list[SummaryHit]:
    heads = sessions.heads(resources.db, [row.session_id for row in rows])
    return [
        SummaryHit(rank, sum(scores[row.id].values()), summary, heads[row.session_id].title, dict(scores[row.id]))
        for rank, (row, summary) in enumerate(zip(rows, summaries.to_summaries(resources.db, rows), strict=True), 1)
    ]
