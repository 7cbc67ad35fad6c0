"""Candidates: the messages that any leg finds, with each leg's rank and exact score.

The pool of a leg never depends on how many hits were asked for, so that the first ten of fifty are the
ten. Every candidate is then scored in every leg, whichever found it: a feature that is missing only
because a message stood just below another leg's cut would be noise to the ranker.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from appliance.store import chunks, lexical, variants
from appliance.store.index.base import Index, LegQuery
from appliance.types import Filters, Role

POOL = 100
"""How many chunks each leg may propose. On LoCoMo and BEAM the first twenty hits are the same as with 200."""

POOL_WAITING = 30
"""How many messages full text may propose of those that wait for the index, beside the index's own legs."""

Column = NDArray[np.float64]
"""A number for each candidate."""

Rows = NDArray[np.intp]
"""Candidates by their place in the columns."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The messages that were found, one a row, in columns of the same length.

    ``times`` are microseconds since 1970, NaN unknown; ``sessions`` are store keys.
    ``scores`` are raw, by leg: cosine or BM25, NaN where the leg has none for the message. ``ranks`` count
    from 1 by leg, NaN where the leg did not propose it. ``spans`` has the best chunk's start and end in each
    message's text, -1 where no chunk was looked at.
    """

    messages: NDArray[np.int64]
    roles: Sequence[Role]
    authors: Sequence[str | None]
    times: Column
    sessions: NDArray[np.int64]
    spans: NDArray[np.int64]
    scores: Mapping[str, Column]
    ranks: Mapping[str, Column]
    memories: Mapping[int, int]
    quoted: frozenset[int] = frozenset()
    """The messages that hold what stands in quotation marks in the query."""

    def __len__(self) -> int:
        return len(self.messages)

    def legs(self, row: int) -> dict[str, dict[str, float | int | None]]:
        """What each leg said of one candidate."""
        said = {
            leg: {"score": self._score(leg, row), "rank": self._rank(leg, row)}
            for leg in dict.fromkeys((*self.scores, *self.ranks))
        }
        return {leg: one for leg, one in said.items() if any(value is not None for value in one.values())}

    def span(self, row: int) -> tuple[int, int] | None:
        start, end = self.spans[row].tolist()
        return (start, end) if end >= 0 else None

    def _score(self, leg: str, row: int) -> float | None:
        score = float(self.scores[leg][row]) if leg in self.scores else nan
        return None if isnan(score) else score

    def _rank(self, leg: str, row: int) -> int | None:
        rank = float(self.ranks[leg][row]) if leg in self.ranks else nan
        return None if isnan(rank) else int(rank)


def nobody() -> Candidates:
    nothing = np.zeros(0, np.int64)
    return Candidates(nothing, (), (), np.zeros(0), nothing, np.zeros((0, 2), np.int64), {}, {}, {})


def from_index(
    db: sqlite3.Connection,
    index: Index,
    queries: Sequence[LegQuery],
    filters: Filters,
    also: Mapping[str, Sequence[int]],
) -> Candidates:
    """The messages whose chunks the index's legs find, and those of the chunks that others propose, best first."""
    if not queries:
        return nobody()
    proposed = index.search(queries, filters, POOL)
    wanted = {scored.id for leg in proposed for scored in leg}.union(*also.values())
    # The truth may have dropped a chunk or withheld its message, and the index not yet.
    pieces = chunks.spoken(db, sorted(wanted), filters)
    found, rows = np.unique(np.array(pieces.messages, np.int64), return_inverse=True)
    row_of = dict(zip(pieces.chunks, rows.tolist(), strict=True))
    scores: dict[str, Column] = {}
    ranks: dict[str, Column] = {}
    shown = np.zeros(0, np.intp)
    known_of = [dict(leg) for leg in proposed]
    others = index.score(queries, [row_of.keys() - known.keys() for known in known_of], filters.scope)
    for query, leg, known, other in zip(queries, proposed, known_of, others, strict=True):
        known |= other
        each = np.array([known.get(chunk, np.nan) for chunk in row_of])
        scores[query.leg] = np.full(len(found), np.nan)
        np.fmax.at(scores[query.leg], rows, each)
        ranks[query.leg] = _ranks([scored.id for scored in leg], row_of, len(found))
        # The passage shown is the one that the first leg asked for likes best.
        if query is queries[0]:
            shown = _best_of_each(rows, each)
    ranks |= {name: _ranks(ids, row_of, len(found)) for name, ids in also.items() if ids}
    return Candidates(
        messages=found,
        roles=[pieces.roles[place] for place in shown.tolist()],
        authors=[pieces.authors[place] for place in shown.tolist()],
        times=_times(pieces.times)[shown],
        sessions=np.array(pieces.sessions, np.int64)[shown],
        spans=np.array((pieces.starts, pieces.ends), np.int64).T[shown],
        scores=scores,
        ranks=ranks,
        memories=variants.groups(db, found.tolist()),
    )


def _times(moments: Sequence[int | None]) -> Column:
    return np.array([np.nan if moment is None else moment for moment in moments], np.float64)


def _best_of_each(rows: Rows, scores: Column) -> Rows:
    """The place of each row's best score; NaN is the worst."""
    order = np.lexsort((-scores, rows))
    _, first = np.unique(rows[order], return_index=True)
    return order[first]


def _ranks(proposed: Sequence[int], row_of: Mapping[int, int], count: int) -> Column:
    """The place of each message among those that a leg proposed, by its best chunk."""
    ranks = np.full(count, np.nan)
    order = list(dict.fromkeys(row_of[chunk] for chunk in proposed if chunk in row_of))
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def from_text(db: sqlite3.Connection, query: str, filters: Filters, generation: int | None) -> Candidates:
    """The messages that FTS5 finds: those that wait in a generation's outbox, or all of them.

    Its score stands in for both lexical legs: a question whose words nobody repeats is answered beside it.
    """
    limit = POOL if generation is None else POOL_WAITING
    found = lexical.search(db, query, filters, limit, pending_in=generation)
    return _of_text(db, found, range(1, len(found) + 1))


def _of_text(db: sqlite3.Connection, found: Sequence[lexical.TextHit], ranks: Sequence[int]) -> Candidates:
    bm25 = np.array([hit.score for hit in found])
    return Candidates(
        messages=np.array([hit.message for hit in found], np.int64),
        roles=[hit.role for hit in found],
        authors=[hit.author for hit in found],
        times=_times([hit.at for hit in found]),
        sessions=np.array([hit.session for hit in found], np.int64),
        spans=np.full((len(found), 2), -1, np.int64),
        scores={"own": bm25, "window": bm25},
        ranks={"text": np.array(ranks, np.float64)} if ranks else {},
        memories=variants.groups(db, [hit.message for hit in found]),
    )


def just_said(db: sqlite3.Connection, keys: Iterable[int], filters: Filters) -> Candidates:
    """The messages of the given keys that are within the filters: whoever has just said something may ask for it in
    other words."""
    return _of_text(db, lexical.said(db, keys, filters), [])


def with_meaning(
    found: Candidates, query: NDArray[np.float32], fresh: Mapping[int, NDArray[np.float32]]
) -> Candidates:
    """Full text's candidates with the dense score of those whose vectors are at hand: what was just said counts by
    its meaning too, before the index has it."""
    dense = np.full(len(found), np.nan)
    for row, key in enumerate(found.messages.tolist()):
        if key in fresh:
            dense[row] = float((fresh[key] @ query).max())
    return replace(found, scores={**found.scores, "dense": dense})


def joined(one: Candidates, other: Candidates) -> Candidates:
    """All of one, and of the other those that the first has not."""
    new = np.flatnonzero(~np.isin(other.messages, one.messages)).tolist()

    def columns(these: Mapping[str, Column], those: Mapping[str, Column]) -> dict[str, Column]:
        missing, lacking = np.full(len(one), np.nan), np.full(len(other), np.nan)
        return {
            leg: np.concatenate([these.get(leg, missing), those.get(leg, lacking)[new]])
            for leg in {**these, **those}
        }

    return Candidates(
        messages=np.concatenate([one.messages, other.messages[new]]),
        roles=[*one.roles, *(other.roles[row] for row in new)],
        authors=[*one.authors, *(other.authors[row] for row in new)],
        times=np.concatenate([one.times, other.times[new]]),
        sessions=np.concatenate([one.sessions, other.sessions[new]]),
        spans=np.concatenate([one.spans, other.spans[new]]),
        scores=columns(one.scores, other.scores),
        ranks=columns(one.ranks, other.ranks),
        memories={**one.memories, **other.memories},
        quoted=one.quoted | other.quoted,
    )
