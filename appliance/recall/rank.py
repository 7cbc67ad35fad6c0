"""One linear score: the sum of each feature times its weight, kept in parts so that a hit can say why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, the sum of ``contributions``."""

    message: int
    score: float


def rank(features: Mapping[int, Mapping[str, float]], weights: Mapping[str, float]) -> list[Ranked]:
    """All candidates, best first; of equal scores the newer message comes first."""
    weighed = tuple(weights.items())
    scores = [(sum(w * values[name] for name, w in weighed), message) for message, values in features.items()]
    return [Ranked(message, score) for score, message in sorted(scores, reverse=True)]


def contributions(features: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, float]:
    """What each feature adds to the score, in the order of the weights."""
    return {name: weight * features[name] for name, weight in weights.items()}
