"""How the budget of a context is shared out, as a person changes it by keys."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Shares = Mapping[str, float]

PRESETS: Mapping[str, Shares] = MappingProxyType(
    {
        "assistant": {"profile": 0.10, "retrieved": 0.45, "summary": 0.10, "recent": 0.35},
        "support": {"profile": 0.05, "retrieved": 0.60, "summary": 0.10, "recent": 0.25},
        "tutor": {"profile": 0.15, "retrieved": 0.30, "summary": 0.20, "recent": 0.35},
        "code": {"profile": 0.05, "retrieved": 0.40, "summary": 0.10, "recent": 0.45},
    }
)
"""The presets of the memory, which tells no numbers; a test holds the two together. A context is always asked for with
the numbers that are shown."""

STEP = 0.05
"""By how much a key changes a share."""

BUDGETS = (
    250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000,
    128_000,
)  # fmt: skip
"""The budgets that the keys go through, in tokens: what prompts of models of all sizes leave for a memory."""


def shares_of(preset: str, own: Shares) -> Shares:
    """The shares of a preset, of which one's own take the place; the other layers share the rest as the preset has
    it."""
    others = {layer: share for layer, share in PRESETS[preset].items() if layer not in own}
    scale = max(0.0, 1 - sum(own.values())) / sum(others.values()) if others else 0.0
    return {layer: own.get(layer, others.get(layer, 0.0) * scale) for layer in PRESETS[preset]}


def moved(shares: Shares, layer: str, by: float) -> Shares:
    """The shares with more or less for a layer: the others give it, or get it, in proportion."""
    whole = sum(shares.values())
    new = round(min(whole, max(0.0, shares[layer] + by)), 4)
    before = whole - shares[layer]
    if before > 0:
        scale = (whole - new) / before
        rest = {name: share * scale for name, share in shares.items() if name != layer}
    else:
        rest = {name: (whole - new) / (len(shares) - 1) for name in shares if name != layer}
    return {name: new if name == layer else rest[name] for name in shares}


def stepped(budget: int, up: bool) -> int:
    """The next larger or smaller budget; the same at the end."""
    if up:
        return next((one for one in BUDGETS if one > budget), budget)
    return next((one for one in reversed(BUDGETS) if one < budget), budget)
