"""The weights of the one linear score. ``tests/eval/fit.py`` fits them and says how well they carry over."""

from __future__ import annotations

from collections.abc import Mapping

FIRST: Mapping[str, float] = {
    "dense": 1.3,
    "own": 3.6,
    "window": 8.6,
    "author": 2.8,
    "told": 5.0,
}
"""For choosing whom to look at closely."""

EVIDENCE: Mapping[str, float] = {
    "dense": 1.8,
    "own": 1.9,
    "window": 5.8,
    "author": 0.8,
    "told": 5.0,
    "beside": 2.3,
    "late": 4.0,
    "amount": 2.8,
    "dated": 2.2,
    "answers": 1.1,
    "replies": 2.8,
    "named": 2.2,
    "other": -0.8,
    "session": 2.5,
}
"""For finding the message that says it: fitted on LoCoMo and BEAM together."""
