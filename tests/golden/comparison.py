"""What differs between a golden file and what is made now, for a person to read."""

from __future__ import annotations

import difflib
import json
from typing import Any

from tests.golden.surroundings import written

TOLERANCE = 2e-4
"""Two units of the last digit that is kept: sums come out otherwise in another order."""

FITTED = 0.02
"""The same for fitted weights: six hundred steps make more of what the last digits are."""

WEIGHTS = ("weights", "weights by set")
"""The keys under which fitted weights stand."""

SHOWN = 200
"""Lines of a diff; more is no reading."""


def difference(name: str, expected: str, found: str) -> str:
    """A unified diff; empty where nothing differs but numbers by no more than their tolerance."""
    if name.endswith(".json"):
        found = written(_settled(json.loads(expected), json.loads(found), TOLERANCE))
    if found == expected:
        return ""
    names = (f"{name} as it is kept", f"{name} as it is made now")
    lines = list(difflib.unified_diff(expected.splitlines(), found.splitlines(), *names, n=4, lineterm=""))
    left = [f"... and {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return "\n".join([*lines[:SHOWN], *left])


def _settled(expected: Any, found: Any, tolerance: float) -> Any:
    """What was found, with the expected number in the place of each that is as good as it."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {
            key: _settled(expected[key], one, FITTED if key in WEIGHTS else tolerance) if key in expected else one
            for key, one in found.items()
        }
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_settled(*pair, tolerance) for pair in zip(expected, found, strict=True)]
    numbers = all(type(one) in (int, float) for one in (expected, found))
    # Of whole numbers, each is another thing.
    if numbers and float in (type(expected), type(found)) and abs(expected - found) <= tolerance:
        return expected
    return found
