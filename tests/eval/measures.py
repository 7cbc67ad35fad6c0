"""Retrieval measures over ranked external ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

DEPTHS = (1, 5, 10, 20)


def measure(ranked: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """One question: recall at each depth (the share of the cited messages found) and reciprocal rank."""
    first = next((place for place, found in enumerate(ranked, 1) if found in evidence), None)
    recalls = {f"recall@{k}": len(evidence & set(ranked[:k])) / len(evidence) for k in DEPTHS}
    return {**recalls, "mrr": 1 / first if first else 0.0}


def measure_sessions(ranked: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """One question, by session: any or all of the cited sessions among the first five that are found."""
    five = set(list(dict.fromkeys(ranked))[:5])
    return {"session any@5": float(bool(evidence & five)), "session all@5": float(evidence <= five)}


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(fmean(row[name] for row in rows), 4) for name in rows[0]} if rows else {}
