"""The weights of the one linear score, and how they were found.

Fitted by ``tests/eval/fit.py``; see ``docs/decisions/0005-first-ranker.md`` for the study.
"""

from __future__ import annotations

from collections.abc import Mapping

EVIDENCE: Mapping[str, float] = {
    "dense": 1.0,
    "own": 0.5,
    "window": 0.5,
}
