"""One linear score: the sum of each feature times its weight, kept in parts so that a hit can say why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appliance.recall.candidates import Column, Rows
from appliance.recall.features import Features


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by their row, best first, with each one's features, the weights they were given, and the
    score that this makes."""

    order: Rows
    values: Features
    weights: Mapping[str, float]
    scores: Column


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
    rest = np.setdiff1d(np.arange(len(scores)), best)
    if len(rest) and len(best):
        behind[rest] = min(0.0, float(scores[best].min() - scores[rest].max()) - A_LITTLE)
    return behind


def contributions(features: Mapping[str, Column], weights: Mapping[str, float], row: int) -> dict[str, float]:
    """What each feature adds to a candidate's score, in the order of the weights."""
    return {name: weight * float(features[name][row]) for name, weight in weights.items()}
