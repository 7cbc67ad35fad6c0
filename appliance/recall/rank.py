"""One linear score: the sum of each feature times its weight, kept in parts so that a hit can say why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score. ``parts`` are each feature's contribution; they sum to ``score``."""

    message: int
    score: float
    parts: Mapping[str, float]


def rank(features: Mapping[int, Mapping[str, float]], weights: Mapping[str, float]) -> list[Ranked]:
    """All candidates, best first; equal scores keep the order of their keys, newest first."""
    ranked = []
    for message, values in features.items():
        parts = {name: weights[name] * value for name, value in values.items() if name in weights}
        ranked.append(Ranked(message, sum(parts.values()), parts))
    return sorted(ranked, key=lambda r: (-r.score, -r.message))
