"""Both tiers as one index for searching: the vector index of the hot messages, and the archive index of the others.

A BM25 score depends on how rare each word is, and a word may be rare in one tier and frequent in the other. So both
tiers score with the frequencies of both together, and their scores can be merged into one ranking.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreError
from appliance.store.index.archive_index import ArchiveIndex, inverse_document_frequency, query_terms
from appliance.store.index.protocol import IndexPoint, LegQuery, ScoredPoint, VectorIndex
from appliance.types import ROLES, Filters, Scope

TermWeights = Mapping[int, float]


class TieredIndex:
    """Both tiers as a ``VectorIndex`` that is only read. Made for one search: it remembers the frequencies of words."""

    is_fresh = False

    def __init__(self, hot: VectorIndex, archive: ArchiveIndex) -> None:
        self._hot = hot
        self._archive = archive
        self._hot_texts: dict[Scope | None, int] = {}
        self._weights: dict[tuple[str, str | None, Scope | None], tuple[TermWeights, TermWeights]] = {}

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        """The best of both tiers, best first; see ``VectorIndex``."""
        scope = None if filters is None else filters.scope
        hot = self._hot.search([self._hot_query(query, scope) for query in queries], filters, limit)
        merged = []
        for query, found in zip(queries, hot, strict=True):
            archived = self._archive.search(query, filters, limit, self._term_weights(query, scope)[1])
            scores = dict(archived) | dict(found)  # a message that has come back counts as hot
            best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
            merged.append([ScoredPoint(*one) for one in islice(best, limit)])
        return merged

    def search_archive(self, query: LegQuery, filters: Filters) -> list[ScoredPoint]:
        """All archived points that a lexical query finds, best first."""
        weights = self._term_weights(query, filters.scope)[1]
        return self._archive.search(query, filters, len(self._archive), weights)

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        """The scores of points of both tiers; see ``VectorIndex``."""
        hot = self._hot.score([self._hot_query(query, scope) for query in queries], ids, scope)
        return [
            self._archive.score(query, wanted, self._term_weights(query, scope)[1]) | found
            for query, wanted, found in zip(queries, ids, hot, strict=True)
        ]

    def _hot_query(self, query: LegQuery, scope: Scope | None) -> LegQuery:
        return replace(query, weights=self._term_weights(query, scope)[0]) if query.leg in ("own", "window") else query

    def _term_weights(self, query: LegQuery, scope: Scope | None) -> tuple[TermWeights, TermWeights]:
        """The weights of a query's terms in each tier. The hot one multiplies them by its own inverse document
        frequencies, so they correct these to those of both tiers."""
        key = (query.leg, query.text, scope)
        if key not in self._weights:
            self._weights[key] = self._compute_term_weights(query, scope)
        return self._weights[key]

    def _compute_term_weights(self, query: LegQuery, scope: Scope | None) -> tuple[TermWeights, TermWeights]:
        terms = query_terms(query) if query.leg in ("own", "window") else []
        if not terms:
            return {}, {}
        hot = self._hot.inverse_document_frequencies(query, scope)
        if scope not in self._hot_texts:
            self._hot_texts[scope] = self._hot.count(None if scope is None else Filters(scope, roles=ROLES))
        hot_texts = self._hot_texts[scope]
        archived = self._archive.statistics(query.leg, terms, scope)
        hot_weights, archive_weights = {}, {}
        for term in terms:
            own = hot.get(term)
            # The engine tells the frequency of a term, and not the number of texts that have it: solved for that.
            documents = 0.0 if own is None else max(0.0, (hot_texts + 1) / math.exp(own) - 0.5)
            both = inverse_document_frequency(
                hot_texts + archived.texts, min(documents, hot_texts) + archived.documents[term]
            )
            hot_weights[term] = both / own if own else 1.0
            archive_weights[term] = both
        return hot_weights, archive_weights

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        """Those of both tiers together; see ``VectorIndex``."""
        return dict(self._term_weights(query, scope)[1])

    def count(self, filters: Filters | None = None) -> int:
        """The number of points of the hot tier; see ``VectorIndex``."""
        return self._hot.count(filters)

    def ids(self) -> Iterator[int]:
        """The points of the hot tier; see ``VectorIndex``."""
        return self._hot.ids()

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of the hot tier; see ``VectorIndex``."""
        return self._hot.vectors(ids)

    def require_ready(self) -> None:
        raise StoreError("Both tiers together are only read.")

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        raise StoreError("Both tiers together are only read.")

    def delete(self, ids: Sequence[int]) -> None:
        raise StoreError("Both tiers together are only read.")

    def flush(self) -> None:
        """Nothing is written."""

    def optimize(self) -> bool:
        """Nothing is written."""
        return False

    def close(self) -> None:
        """Does nothing: the two tiers are closed where they were opened."""
