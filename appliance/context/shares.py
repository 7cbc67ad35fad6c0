"""How a budget is shared out among the layers of a context: by a preset, or by numbers.

What profile, summary and recent turns leave of their shares goes to the retrieved memories, and what these leave goes
back: to more of the recent turns, then to the profile, then to the summary. A layer whose share is 0 stays empty, but
for standing instructions, which always stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from appliance.errors import UsageError

LAYERS = ("profile", "retrieved", "summary", "recent")
"""In the order in which they stand in the prompt."""

Shares = Mapping[str, float]
"""A share of the budget for each layer, 0 to 1; together no more than 1."""

PRESETS: Mapping[str, Shares] = MappingProxyType(
    {
        "assistant": {"profile": 0.10, "retrieved": 0.45, "summary": 0.10, "recent": 0.35},
        "support": {"profile": 0.05, "retrieved": 0.60, "summary": 0.10, "recent": 0.25},
        "tutor": {"profile": 0.15, "retrieved": 0.30, "summary": 0.20, "recent": 0.35},
        "code": {"profile": 0.05, "retrieved": 0.40, "summary": 0.10, "recent": 0.45},
    }
)
"""What each kind of assistant leans on: knowledge of earlier cases, how far a learner has come, the code at hand.
These are starting points by judgement; what is measured does not depend on them much, because what is left flows on."""

_CLOSE = 1e-9
"""Shares in tenths may add up to a little more than 1."""


def shares(preset: str, own: Mapping[str, float]) -> Shares:
    """The shares of a preset; where numbers are given, the layers that these don't name share the rest in the
    preset's proportions.

    Raises:
        UsageError: no such preset or layer, a share that is none, or more than 1 in all.
    """
    if preset not in PRESETS:
        raise UsageError(f"no preset {preset!r}", hint="one of " + ", ".join(PRESETS))
    for name, share in own.items():
        if name not in LAYERS:
            raise UsageError(f"no layer {name!r} to have a share", hint="one of " + ", ".join(LAYERS))
        if not 0 <= share <= 1:
            raise UsageError(f"{share} is no share for {name}", hint="give a number from 0 to 1")
    left = 1 - sum(own.values())
    if left < -_CLOSE:
        raise UsageError(f"the shares add up to {1 - left:g}", hint="together they may be 1 at most")
    others = {name: share for name, share in PRESETS[preset].items() if name not in own}
    scale = max(left, 0.0) / sum(others.values()) if others else 0.0
    return {name: own[name] if name in own else others[name] * scale for name in LAYERS}
