"""Measures of a ranking against what is relevant, one question at a time; a mean is over questions.

A ranking is external ids, best first. What comes twice counts where it comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from statistics import fmean

DEPTHS = (1, 5, 10, 20)
"""At which recall is measured unless told otherwise."""

GAIN_DEPTH = 10
"""Where NDCG ends, as benchmarks of retrieval have it."""

DEEPEST = 20
"""How far down a ranking the reciprocal rank and the sessions are looked for."""

SESSIONS = 5
"""How many distinct sessions count as found."""


def recall(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """The share of the relevant ones among the first ``depth`` (Manning, Raghavan, Schütze 2008, ch. 8)."""
    return len(relevant & set(_first(ranked, depth))) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Set[str]) -> float:
    """1 / the place of the first relevant one, 0 where there is none (Voorhees 1999, TREC-8)."""
    first = next((place for place, found in enumerate(dict.fromkeys(ranked), 1) if found in relevant), None)
    return 1 / first if first else 0.0


def ndcg(ranked: Sequence[str], relevant: Set[str], depth: int = GAIN_DEPTH) -> float:
    """Normalised discounted cumulative gain with binary gains: the sum of 1 / log2(1 + place) over relevant
    ones, by that of the best ranking of all relevant ones, found or not (Järvelin & Kekäläinen 2002, with the
    discount of Burges et al. 2005, which BEIR's figures have)."""
    found = enumerate(_first(ranked, depth), 1)
    gain = math.fsum(_discount(place) for place, one in found if one in relevant)
    return gain / math.fsum(_discount(place) for place in range(1, min(len(relevant), depth) + 1))


def _first(ranked: Sequence[str], depth: int) -> list[str]:
    return list(dict.fromkeys(ranked))[:depth]


def _discount(place: int) -> float:
    return 1 / math.log2(1 + place)


def by_message(ranked: Sequence[str], relevant: Set[str], depths: Sequence[int] = DEPTHS) -> dict[str, float]:
    """Recall at each depth, NDCG@10 and the reciprocal rank of one question."""
    recalls = {f"recall@{depth}": recall(ranked, relevant, depth) for depth in depths}
    return recalls | {
        f"ndcg@{GAIN_DEPTH}": ndcg(ranked, relevant),
        "mrr": reciprocal_rank(ranked[:DEEPEST], relevant),
    }


def by_session(ranked: Sequence[str], relevant: Set[str]) -> dict[str, float]:
    """Whether any, and whether all, of the relevant sessions are among the first five distinct ones; ``ranked``
    is the session of each message that was found."""
    found = set(_first(ranked[:DEEPEST], SESSIONS))
    every = bool(relevant) and relevant <= found
    return {f"any@{SESSIONS}": float(bool(relevant & found)), f"all@{SESSIONS}": float(every)}


def mean(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over the questions that have it, to four places."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: round(fmean(values), 4) for name, values in columns.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` (0..1) of all values do not exceed (nearest rank); ``values``
    must not be empty."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
