"""How the budget of a context is shared among its layers: by a preset or by numbers.

What profile, summary and recent turns leave of their shares goes to the retrieved memories. What these leave goes back
to the recent turns, then to the profile, then to the summary. A layer with a share of 0 stays empty, except for
the standing instructions that apply to the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from appliance.errors import UsageError
from appliance.types import LayerName, SharingLayerName

LAYERS: tuple[LayerName, ...] = get_args(LayerName)
"""The layers, in the order of the prompt."""

SHARING_LAYERS: tuple[SharingLayerName, ...] = get_args(SharingLayerName)
"""The layers that share what core memory leaves of the budget."""

Shares = Mapping[str, float]
"""A share of the budget for each layer but core memory, 0 to 1; together no more than 1."""

PRESETS: Mapping[str, Shares] = MappingProxyType(
    {
        "assistant": {"profile": 0.10, "retrieved": 0.45, "summary": 0.10, "recent": 0.35},
        "support": {"profile": 0.05, "retrieved": 0.60, "summary": 0.10, "recent": 0.25},
        "tutor": {"profile": 0.15, "retrieved": 0.30, "summary": 0.20, "recent": 0.35},
        "code": {"profile": 0.05, "retrieved": 0.40, "summary": 0.10, "recent": 0.45},
    }
)
"""The shares for each kind of assistant: one relies on earlier cases, another on a learner's progress or on the present
code. They are judgements; measurements depend little on them, because each layer passes on what it leaves."""

SHARE_OF_ASKED_PROFILE = 0.5
"""The least share of the profile where the question is what is known about the person."""

_SUM_TOLERANCE = 1e-9
"""Decimal shares may add up to slightly more than 1 in floating point."""


def shares(preset: str, custom: Mapping[str, float]) -> Shares:
    """The shares of a preset, changed by custom ones. The layers without a custom share divide the rest in the preset's
    proportions.

    Raises:
        UsageError: There is no such preset or layer, or a share is out of range, or their sum is.
    """
    if preset not in PRESETS:
        raise UsageError(f"There is no preset {preset!r}.", hint=f"Use one of {', '.join(PRESETS)}.")
    for name, share in custom.items():
        if name == "core":
            raise UsageError("Core memory has no share: its blocks are in every context.", hint="Lower their limits.")
        if name not in LAYERS:
            raise UsageError(f"There is no layer {name!r}.", hint=f"Use one of {', '.join(SHARING_LAYERS)}.")
        if not 0 <= share <= 1:
            raise UsageError(f"The share of {name} must be a number from 0 to 1, not {share}.")
    left = 1 - sum(custom.values())
    if left < -_SUM_TOLERANCE:
        raise UsageError(f"The shares must add up to at most 1, not {1 - left:g}.")
    others = {name: share for name, share in PRESETS[preset].items() if name not in custom}
    scale = max(left, 0.0) / sum(others.values()) if others else 0.0
    return {name: custom[name] if name in custom else others[name] * scale for name in SHARING_LAYERS}


def for_question_about_person(given: Shares) -> Shares:
    """The shares with more for the profile, unless it has none. The other layers give it in their proportions."""
    profile = given["profile"]
    if not 0 < profile < SHARE_OF_ASKED_PROFILE:
        return given
    scale = (1 - SHARE_OF_ASKED_PROFILE) / max(1 - profile, _SUM_TOLERANCE)
    return {**{layer: share * scale for layer, share in given.items()}, "profile": SHARE_OF_ASKED_PROFILE}
