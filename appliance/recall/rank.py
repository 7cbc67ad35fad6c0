"""One linear score: the sum of each feature times its weight, kept in parts so that a hit can say why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appliance.recall.candidates import Candidates, Column, Rows
from appliance.recall.closer import LOOK, look_closer
from appliance.recall.features import Features, features
from appliance.recall.shelf import Asked, Shelf
from appliance.store import titles


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by their row, best first, with each one's features, the weights they were given, and the
    score that this makes."""

    order: Rows
    values: Features
    weights: Mapping[str, float]
    scores: Column


def rank(shelf: Shelf, asked: Asked, candidates: Candidates) -> Ranking:
    """The best candidates of a first ranking are looked at closely, where the profile wants it and there is a
    dense leg."""
    profile = asked.wish.profile
    with shelf.timed("features"):
        known = (
            titles.of_sessions(shelf.db, candidates.sessions.tolist()) if "title" in asked.wish.legs else {}
        )
        values = features(asked, candidates, known)
        scores = score(values, profile.first)
        order = best_first(scores, candidates.messages)
    weights = profile.weights
    dense = next((query for query in asked.legs if query.leg == "dense"), None)
    if weights is None or shelf.index is None or dense is None or not len(candidates):
        return Ranking(order, values, profile.first, scores)
    best = order[:LOOK]
    with shelf.timed("closer"):
        values |= look_closer(shelf, asked, candidates, values, best)
    values["behind"] = held_behind(score(values, weights), best)
    weights = {**weights, "behind": 1.0}
    scores = score(values, weights)
    return Ranking(best_first(scores, candidates.messages), values, weights, scores)


def score(
    features: Mapping[str, Column], weights: Mapping[str, float], rows: Rows | slice = np.s_[:]
) -> Column:
    """The scores of all candidates, or of the given rows."""
    total = np.zeros(1)
    for name, weight in weights.items():
        total = total + weight * features[name][rows]
    return total


def best_first(scores: Column, messages: NDArray[np.int64]) -> Rows:
    """The order of the scores, largest first; of equal ones the newer message comes first."""
    return np.lexsort((-messages, -scores))


A_LITTLE = 1e-6


def held_behind(scores: Column, best: Rows) -> Column:
    """What takes each row that is not among the ``best`` behind the last of them: 0, or less."""
    behind = np.zeros(len(scores))
    rest = np.ones(len(scores), bool)
    rest[best] = False
    if rest.any() and len(best):
        behind[rest] = min(0.0, float(scores[best].min() - scores[rest].max()) - A_LITTLE)
    return behind


def contributions(features: Mapping[str, Column], weights: Mapping[str, float], row: int) -> dict[str, float]:
    """What each feature adds to a candidate's score, in the order of the weights."""
    return {name: weight * float(features[name][row]) for name, weight in weights.items()}
