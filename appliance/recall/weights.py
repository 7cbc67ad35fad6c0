"""The weights of the one linear score. ``tests/eval/fit.py`` fits them and says how well they carry over."""

from __future__ import annotations

from collections.abc import Mapping

EVIDENCE: Mapping[str, float] = {
    "dense": 5.4,
    "own": 3.4,
    "window": 8.2,
    "beside": 3.2,
    "author": 3.3,
    "user": 3.0,
}
"""For finding the message that says it: fitted on LoCoMo and BEAM together."""
