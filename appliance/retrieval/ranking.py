"""The ranking by one linear score: a weighted sum of the features, whose parts stay known to explain a hit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass
from appliance.retrieval.adjacent import AdjacentMessages, load_adjacent
from appliance.retrieval.candidates import Candidates, Column, Rows
from appliance.retrieval.features import Features, first_stage_features
from appliance.retrieval.question_features import question_features
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.retrieval.second_stage import SECOND_STAGE_DEPTH, second_stage_features
from appliance.store import lexical


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rows of the candidates, best first, with their features, the weights and the resulting scores. ``adjacent``
    are the best candidates as the second stage has read them, with their neighbours; None if it did not run."""

    order: Rows
    values: Features
    weights: Mapping[str, float]
    scores: Column
    adjacent: AdjacentMessages | None = None

    def with_feature(self, name: str, column: Column, weight: float, messages: NDArray[np.int64]) -> Ranking:
        """The ranking with another feature. ``messages`` are the candidates' messages."""
        values, weights = {**self.values, name: column}, {**self.weights, name: weight}
        scores = score(values, weights)
        return Ranking(best_first(scores, messages), values, weights, scores, self.adjacent)


def rank(resources: SearchResources, parsed: ParsedQuery, candidates: Candidates) -> Ranking:
    """Rank the candidates. The best of a first ranking get the features of the second stage, if the profile has weights
    for it and the dense leg runs."""
    profile = parsed.query.profile
    with resources.time_stage("features"):
        session_titles = (
            lexical.session_titles(resources.db, candidates.sessions.tolist()) if "title" in parsed.query.legs else {}
        )
        values = first_stage_features(parsed, candidates, session_titles)
        scores = score(values, profile.first_stage)
        order = best_first(scores, candidates.messages)
    weights = profile.weights
    dense = next((query for query in parsed.leg_queries if query.leg == "dense"), None)
    if weights is None or resources.index is None or dense is None or not len(candidates):
        return Ranking(order, values, profile.first_stage, scores)
    best = order[:SECOND_STAGE_DEPTH]
    with resources.time_stage("second_stage"):
        adjacent = load_adjacent(resources.db, candidates.messages[best].tolist())
        values |= second_stage_features(resources, parsed, candidates, values, adjacent, best)
        known = {name: weight for name, weight in weights.items() if name in values}
        values |= question_features(parsed, candidates, adjacent, best, score(values, known, best))
    values["rerank_floor"] = rerank_floor(score(values, weights), best)
    weights = {**weights, "rerank_floor": 1.0}
    scores = score(values, weights)
    return Ranking(best_first(scores, candidates.messages), values, weights, scores, adjacent)


def score(features: Mapping[str, Column], weights: Mapping[str, float], rows: Rows | slice = np.s_[:]) -> Column:
    """The weighted sum of the features, for all candidates or for the given rows."""
    total = np.zeros(1)
    for name, weight in weights.items():
        total = total + weight * features[name][rows]
    return total


def best_first(scores: Column, messages: NDArray[np.int64]) -> Rows:
    """The rows by score, largest first; of equal scores, the newer message comes first."""
    return np.lexsort((-messages, -scores))


FLOOR_MARGIN = 1e-6


def rerank_floor(scores: Column, best: Rows) -> Column:
    """An offset, 0 or less, that puts the rows outside ``best`` behind the last row of ``best``."""
    floor = np.zeros(len(scores))
    rest = np.ones(len(scores), bool)
    rest[best] = False
    if rest.any() and len(best):
        floor[rest] = min(0.0, float(scores[best].min() - scores[rest].max()) - FLOOR_MARGIN)
    return floor


def contributions(features: Mapping[str, Column], weights: Mapping[str, float], row: int) -> dict[str, float]:
    """What each feature adds to a candidate's score, in the order of the weights."""
    return {name: weight * float(features[name][row]) for name, weight in weights.items()}
