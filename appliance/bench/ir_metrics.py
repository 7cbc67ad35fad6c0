"""Measures of a ranking against the relevant messages of one question, and their means over questions.

A ranking is a sequence of external ids, best first. A repeated id counts at its first place.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from statistics import fmean

RECALL_DEPTHS = (1, 5, 10, 20)
"""The default depths of recall."""

NDCG_DEPTH = 10
"""The depth of NDCG, as in retrieval benchmarks."""

MAX_DEPTH = 20
"""The depth of the reciprocal rank and of the session measures."""

SESSION_DEPTH = 5
"""How many distinct sessions count as found."""


def recall(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """The share of the relevant ids that are among the first ``depth`` (Manning, Raghavan, Schütze 2008, ch. 8)."""
    return len(relevant & set(_top(ranked, depth))) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Set[str]) -> float:
    """1 / the rank of the first relevant id, 0 if there is none (Voorhees 1999, TREC-8)."""
    first = next((position for position, found in enumerate(dict.fromkeys(ranked), 1) if found in relevant), None)
    return 1 / first if first else 0.0


def ndcg(ranked: Sequence[str], relevant: Set[str], depth: int = NDCG_DEPTH) -> float:
    """Normalised discounted cumulative gain with binary gains: the sum of 1 / log2(1 + rank) over the relevant ids,
    divided by the same sum for an ideal ranking (Järvelin & Kekäläinen 2002, with the discount of Burges et al. 2005,
    as in BEIR's figures)."""
    found = enumerate(_top(ranked, depth), 1)
    gain = math.fsum(_discount(place) for place, one in found if one in relevant)
    return gain / math.fsum(_discount(place) for place in range(1, min(len(relevant), depth) + 1))


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The area under the ROC curve: how often a positive scores higher than a negative, equal ones counted half
    (Mann and Whitney 1947; Fawcett 2006, section 7)."""
    ordered = sorted(negatives)
    above = sum(bisect_left(ordered, one) + bisect_right(ordered, one) for one in positives)
    return above / 2 / (len(positives) * len(negatives))


def _top(ranked: Sequence[str], depth: int) -> list[str]:
    return list(dict.fromkeys(ranked))[:depth]


def _discount(position: int) -> float:
    return 1 / math.log2(1 + position)


def message_measures(
    ranked: Sequence[str], relevant: Set[str], depths: Sequence[int] = RECALL_DEPTHS
) -> dict[str, float]:
    """Recall at each depth, NDCG@10 and the reciprocal rank of one question."""
    recalls = {f"recall@{depth}": recall(ranked, relevant, depth) for depth in depths}
    return recalls | {
        f"ndcg@{NDCG_DEPTH}": ndcg(ranked, relevant),
        "mrr": reciprocal_rank(ranked[:MAX_DEPTH], relevant),
    }


def session_measures(ranked: Sequence[str], relevant: Set[str]) -> dict[str, float]:
    """Whether any, and whether all, of the relevant sessions are among the first five distinct ones. ``ranked`` has the
    session of each hit."""
    found = set(_top(ranked[:MAX_DEPTH], SESSION_DEPTH))
    every = bool(relevant) and relevant <= found
    return {f"any@{SESSION_DEPTH}": float(bool(relevant & found)), f"all@{SESSION_DEPTH}": float(every)}


def mean(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over the questions that have it, to four places."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: round(fmean(values), 4) for name, values in columns.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that at least ``share`` (0 to 1) of the values do not exceed.
    ``values`` is not empty."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
