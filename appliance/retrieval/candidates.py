"""Candidates: the messages that any leg proposes, with each leg's rank and exact score.

The size of a leg's pool does not depend on the limit of the search, so the first ten of fifty hits are the same as
with a limit of ten. Every leg then scores every candidate, whichever leg proposed it: a feature that is missing only
because a message fell just below a leg's cut-off would be noise to the ranking.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import repeat
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass
from appliance.store import chunks, lexical, people, variants
from appliance.store.index.protocol import LegQuery, VectorIndex
from appliance.types import Filters, Role, Scope

LEG_POOL_SIZE = 100
"""How many chunks each leg may propose. On LoCoMo and BEAM the first twenty hits are the same as with 200."""

PENDING_POOL_SIZE = 30
"""How many of the messages that wait for the index full text may propose, besides the legs of the index."""

Column = NDArray[np.float64]
"""A number for each candidate."""

Rows = NDArray[np.intp]
"""Candidates by their position in the columns."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, a row each, in columns of the same length.

    Attributes:
        messages: The messages' keys.
        times: Microseconds since 1970, NaN if unknown.
        sessions: The sessions' keys.
        spans: (candidates, 2): start and end of the best chunk in the message's text, -1 if no chunk was scored.
        scores: Raw scores by leg: cosine or BM25, NaN if the leg has none for the message.
        ranks: Ranks by leg, from 1, NaN if the leg did not propose the message.
        duplicate_groups: The first message of each message's group of variants.
        aliases: The other names of people, in one text, by the session and the author's name in it.
    """

    messages: NDArray[np.int64]
    roles: Sequence[Role]
    authors: Sequence[str | None]
    times: Column
    sessions: NDArray[np.int64]
    spans: NDArray[np.int64]
    scores: Mapping[str, Column]
    ranks: Mapping[str, Column]
    duplicate_groups: Mapping[int, int]
    quote_matches: frozenset[int] = frozenset()
    """The messages that contain the phrases in quotation marks."""
    aliases: Mapping[tuple[int, str], str] = field(default_factory=dict)

    @property
    def author_names(self) -> list[str | None]:
        """What each author goes by: the name in the message, and the aliases behind it."""
        if not self.aliases:
            return list(self.authors)
        return [
            called(author, session, self.aliases)
            for author, session in zip(self.authors, self.sessions.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.messages)

    def select(self, rows: Rows) -> Candidates:
        """These rows alone, in their order."""
        return replace(
            self,
            messages=self.messages[rows],
            roles=[self.roles[row] for row in rows.tolist()],
            authors=[self.authors[row] for row in rows.tolist()],
            times=self.times[rows],
            sessions=self.sessions[rows],
            spans=self.spans[rows],
            scores={leg: column[rows] for leg, column in self.scores.items()},
            ranks={leg: column[rows] for leg, column in self.ranks.items()},
        )

    def legs(self, row: int) -> dict[str, dict[str, float | int | None]]:
        """The score and rank of a candidate in each leg."""
        by_leg = {
            leg: {"score": self._score(leg, row), "rank": self._rank(leg, row)}
            for leg in dict.fromkeys((*self.scores, *self.ranks))
        }
        return {leg: one for leg, one in by_leg.items() if any(value is not None for value in one.values())}

    def span(self, row: int) -> tuple[int, int] | None:
        start, end = self.spans[row].tolist()
        return (start, end) if end >= 0 else None

    def _score(self, leg: str, row: int) -> float | None:
        score = float(self.scores[leg][row]) if leg in self.scores else nan
        return None if isnan(score) else score

    def _rank(self, leg: str, row: int) -> int | None:
        rank = float(self.ranks[leg][row]) if leg in self.ranks else nan
        return None if isnan(rank) else int(rank)


def called(author: str | None, session: int, aliases: Mapping[tuple[int, str], str]) -> str | None:
    """What an author of a session goes by."""
    other = None if author is None else aliases.get((session, author))
    return author if other is None else f"{author} {other}"


def with_aliases(db: sqlite3.Connection, candidates: Candidates, scope: Scope) -> Candidates:
    """The candidates with the other names of their authors."""
    uses = {
        (session, author)
        for session, author in zip(candidates.sessions.tolist(), candidates.authors, strict=True)
        if author is not None
    }
    return replace(candidates, aliases=people.aliases(db, scope, uses))


def no_candidates() -> Candidates:
    nothing = np.zeros(0, np.int64)
    return Candidates(nothing, (), (), np.zeros(0), nothing, np.zeros((0, 2), np.int64), {}, {}, {})


def from_index(
    db: sqlite3.Connection,
    index: VectorIndex,
    queries: Sequence[LegQuery],
    filters: Filters,
    extra_proposals: Mapping[str, Sequence[int]],
) -> Candidates:
    """The candidates of the index's legs and of other proposals.

    Args:
        db: A connection for reading.
        index: The vector index.
        queries: The leg queries; the first one chooses the chunk that a snippet is cut from.
        filters: What the search may find.
        extra_proposals: Chunks that other legs propose, best first.
    """
    if not queries:
        return no_candidates()
    proposed = index.search(queries, filters, LEG_POOL_SIZE)
    chunk_ids = {scored.id for leg in proposed for scored in leg}.union(*extra_proposals.values())
    # The index may still hold a chunk that the database has dropped or whose message is withheld.
    pieces = chunks.load_columns(db, sorted(chunk_ids), filters)
    found, rows = np.unique(np.array(pieces.messages, np.int64), return_inverse=True)
    row_of = dict(zip(pieces.chunks, rows.tolist(), strict=True))
    scores: dict[str, Column] = {}
    ranks: dict[str, Column] = {}
    best_rows = np.zeros(0, np.intp)
    known_of = [dict(leg) for leg in proposed]
    missing_scores = index.score(queries, [row_of.keys() - known.keys() for known in known_of], filters.scope)
    for query, leg, known, other in zip(queries, proposed, known_of, missing_scores, strict=True):
        known |= other
        each = np.fromiter(map(known.get, row_of, repeat(nan)), np.float64, len(row_of))
        scores[query.leg] = np.full(len(found), np.nan)
        np.fmax.at(scores[query.leg], rows, each)
        ranks[query.leg] = _ranks([scored.id for scored in leg], row_of, len(found))
        # The snippet is cut from the chunk with the best score in the first leg.
        if query is queries[0]:
            best_rows = _best_of_each(rows, each)
    ranks |= {name: _ranks(ids, row_of, len(found)) for name, ids in extra_proposals.items() if ids}
    return Candidates(
        messages=found,
        roles=[pieces.roles[place] for place in best_rows.tolist()],
        authors=[pieces.authors[place] for place in best_rows.tolist()],
        times=_times(pieces.times)[best_rows],
        sessions=np.array(pieces.sessions, np.int64)[best_rows],
        spans=np.array((pieces.starts, pieces.ends), np.int64).T[best_rows],
        scores=scores,
        ranks=ranks,
        duplicate_groups=variants.group_heads(db, found.tolist()),
    )


def _times(moments: Sequence[int | None]) -> Column:
    return np.array([np.nan if moment is None else moment for moment in moments], np.float64)


def _best_of_each(rows: Rows, scores: Column) -> Rows:
    """The position of each row's best score; NaN is the worst."""
    order = np.lexsort((-scores, rows))
    _, first = np.unique(rows[order], return_index=True)
    return order[first]


def _ranks(proposed: Sequence[int], row_of: Mapping[int, int], count: int) -> Column:
    """Each message's rank in a leg, by its best chunk."""
    ranks = np.full(count, np.nan)
    order = list(dict.fromkeys(row_of[chunk] for chunk in proposed if chunk in row_of))
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def from_text(db: sqlite3.Connection, query: str, filters: Filters, generation: int | None) -> Candidates:
    """The messages that FTS5 finds: among those in a generation's outbox, or among all if ``generation`` is None.

    As in the index, a message has a score for its own words, and one that counts its neighbours' too, because an answer
    often stands next to the message with the query's words.
    """
    limit = LEG_POOL_SIZE if generation is None else PENDING_POOL_SIZE
    found = lexical.search(db, query, filters, limit, pending_in=generation)
    return _of_text(db, found, range(1, len(found) + 1))


def _of_text(db: sqlite3.Connection, found: Sequence[lexical.TextHit], ranks: Sequence[int]) -> Candidates:
    own, window = np.array([hit.own_score for hit in found]), np.array([hit.score for hit in found])
    return Candidates(
        messages=np.array([hit.message for hit in found], np.int64),
        roles=[hit.role for hit in found],
        authors=[hit.author for hit in found],
        times=_times([hit.at for hit in found]),
        sessions=np.array([hit.session for hit in found], np.int64),
        spans=np.full((len(found), 2), -1, np.int64),
        scores={"own": own, "window": window},
        ranks={"text": np.array(ranks, np.float64)} if ranks else {},
        duplicate_groups=variants.group_heads(db, [hit.message for hit in found]),
    )


def recent_candidates(db: sqlite3.Connection, keys: Iterable[int], filters: Filters) -> Candidates:
    """The given messages that pass the filters: a person may search for a recent message in other words."""
    return _of_text(db, lexical.unscored_hits(db, keys, filters), [])


def with_dense_scores(
    found: Candidates, query: NDArray[np.float32], recent_vectors: Mapping[int, NDArray[np.float32]]
) -> Candidates:
    """Full-text candidates with dense scores where a vector is cached, so that recent messages are found by meaning
    before the index has them."""
    dense = np.full(len(found), np.nan)
    for row, key in enumerate(found.messages.tolist()):
        if key in recent_vectors:
            dense[row] = float((recent_vectors[key] @ query).max())
    return replace(found, scores={**found.scores, "dense": dense})


def merge(first: Candidates, second: Candidates) -> Candidates:
    """All candidates of the first, and those of the second that the first does not have."""
    new = np.flatnonzero(~np.isin(second.messages, first.messages)).tolist()

    def columns(first_columns: Mapping[str, Column], second_columns: Mapping[str, Column]) -> dict[str, Column]:
        first_blank, second_blank = np.full(len(first), np.nan), np.full(len(second), np.nan)
        return {
            leg: np.concatenate([first_columns.get(leg, first_blank), second_columns.get(leg, second_blank)[new]])
            for leg in {**first_columns, **second_columns}
        }

    return Candidates(
        messages=np.concatenate([first.messages, second.messages[new]]),
        roles=[*first.roles, *(second.roles[row] for row in new)],
        authors=[*first.authors, *(second.authors[row] for row in new)],
        times=np.concatenate([first.times, second.times[new]]),
        sessions=np.concatenate([first.sessions, second.sessions[new]]),
        spans=np.concatenate([first.spans, second.spans[new]]),
        scores=columns(first.scores, second.scores),
        ranks=columns(first.ranks, second.ranks),
        duplicate_groups={**first.duplicate_groups, **second.duplicate_groups},
        quote_matches=first.quote_matches | second.quote_matches,
    )
