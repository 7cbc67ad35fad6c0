"""The weights of the one linear score. ``tests/eval/fit.py`` fits them and says how well they carry over."""

from __future__ import annotations

from collections.abc import Mapping

QUOTED = 30.0
"""What is quoted comes first: more than all else together."""

FIRST: Mapping[str, float] = {
    "dense": 1.3,
    "own": 3.6,
    "window": 8.6,
    "author": 2.8,
    "told": 5.0,
    "quoted": QUOTED,
}
"""For choosing whom to look at closely."""

EVIDENCE: Mapping[str, float] = {
    "dense": 1.6,
    "own": 2.1,
    "window": 5.0,
    "author": 0.5,
    "told": 4.8,
    "beside": 2.1,
    "late": 3.8,
    "amount": 3.0,
    "dated": 2.6,
    "replies": 2.7,
    "named": 3.4,
    "session": 1.8,
    "quoted": QUOTED,
}
"""For finding the message that says it: fitted on LoCoMo and BEAM together, but for ``quoted``."""

RERANK = 7.0
"""For what a reranker says, 0 to 1. Not fitted, because no such model comes with the program: it is what lies between
the first and the thirtieth hit of a question (6.7, the median of a LoCoMo chat), so that the last hit it reads can
come first, and between hits as good to it the others decide."""
