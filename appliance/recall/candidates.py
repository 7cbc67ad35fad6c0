"""Candidates: the messages that any leg finds, with each leg's rank and exact score.

The pool of a leg never depends on how many hits were asked for, so that the first ten of fifty are the
ten. Every candidate is then scored in every leg, whichever found it: a feature that is missing only
because a message stood just below another leg's cut would be noise to the ranker.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.store import chunks, lexical, messages
from appliance.store.index.base import Index, LegQuery, Scored
from appliance.types import Filters, Scope

POOL = 100
"""How many chunks each leg may propose. On LoCoMo and BEAM the first twenty hits are the same as with 200."""

BESIDE = 100
"""How many of the best candidates are looked at together with their neighbours."""


@dataclass(slots=True)
class Candidate:
    """A message that was found. ``scores`` are raw: cosine, or BM25; ``ranks`` count from 1 and name only
    the legs that proposed it; ``span`` is the best chunk's place in the text."""

    message: int
    scores: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    span: tuple[int, int] | None = None


def from_index(
    db: sqlite3.Connection, index: Index, queries: Sequence[LegQuery], filters: Filters
) -> dict[int, Candidate]:
    """The messages whose chunks the index's legs find, by message key."""
    if not queries:
        return {}
    proposed = index.search(queries, filters, POOL)
    found = sorted({scored.id for leg in proposed for scored in leg})
    # A chunk may have been dropped from the truth, and its point not yet from the index.
    places = chunks.messages_of(db, found)
    candidates: dict[int, Candidate] = {}
    best: dict[int, float] = {}
    for query, leg in zip(queries, proposed, strict=True):
        scores = {scored.id: scored.score for scored in leg if scored.id in places}
        others = [chunk for chunk in places if chunk not in scores]
        scores |= index.score([query], others, filters.scope)[0]
        for chunk, score in scores.items():
            message, start, stop = places[chunk]
            candidate = candidates.setdefault(message, Candidate(message))
            candidate.scores[query.leg] = max(score, candidate.scores.get(query.leg, score))
            # The passage shown is the one that the first leg asked for likes best.
            if query is queries[0] and score > best.get(message, score - 1):
                best[message], candidate.span = score, (start, stop)
        _rank(query.leg, leg, places, candidates)
    return candidates


def look_beside(
    db: sqlite3.Connection,
    index: Index,
    generation: int,
    dense: LegQuery,
    scope: Scope,
    candidates: Mapping[int, Candidate],
    best: Collection[int],
) -> dict[int, float]:
    """The best cosine of a direct neighbour of each of the ``best`` candidates, 0 where none is alike."""
    neighbours = messages.beside_each(db, list(best))
    known = {key: candidate.scores.get("dense") for key, candidate in candidates.items()}
    others = {other for pair in neighbours.values() for other in pair if known.get(other) is None}
    pieces = chunks.chunks_of(db, generation, sorted(others))
    (cosines,) = index.score([dense], [chunk for piece in pieces.values() for chunk in piece], scope)
    for message, piece in pieces.items():
        known[message] = max((cosines[chunk] for chunk in piece if chunk in cosines), default=0.0)
    return {key: max([0.0, *(known.get(other) or 0.0 for other in pair)]) for key, pair in neighbours.items()}


def _rank(
    leg: str,
    found: Sequence[Scored],
    places: dict[int, tuple[int, int, int]],
    candidates: dict[int, Candidate],
) -> None:
    rank = 0
    for scored in found:
        if scored.id not in places:
            continue
        candidate = candidates[places[scored.id][0]]
        if leg not in candidate.ranks:
            rank += 1
            candidate.ranks[leg] = rank


def from_text(
    db: sqlite3.Connection, query: str, filters: Filters, generation: int | None
) -> dict[int, Candidate]:
    """The messages that FTS5 finds: those that wait in a generation's outbox, or all of them.

    Its BM25 stands in for both lexical legs.
    """
    found = lexical.search(db, query, filters, POOL, pending_in=generation)
    return {
        hit.message: Candidate(hit.message, {"own": hit.score, "window": hit.score}, {"text": rank})
        for rank, hit in enumerate(found, 1)
    }
