"""How a context's token budget is divided among its layers, and how keys change that."""

from __future__ import annotations

from collections.abc import Mapping

Shares = Mapping[str, float]

PRESETS: Mapping[str, Shares] = {
    "assistant": {"profile": 0.10, "retrieved": 0.45, "summary": 0.10, "recent": 0.35},
    "support": {"profile": 0.05, "retrieved": 0.60, "summary": 0.10, "recent": 0.25},
    "tutor": {"profile": 0.15, "retrieved": 0.30, "summary": 0.20, "recent": 0.35},
    "code": {"profile": 0.05, "retrieved": 0.40, "summary": 0.10, "recent": 0.45},
}
"""A copy of the memory's presets, whose numbers its client does not give; a test compares the two. A context is always
built with the shares that are shown."""

SHARE_STEP = 0.05
"""How much a key changes a share."""

BUDGET_STEPS = (
    250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000,
    128_000,
)  # fmt: skip
"""Budgets in tokens that the keys step through: what prompts of models of all sizes leave for a memory."""


def preset_shares(preset: str, overrides: Shares) -> Shares:
    """The shares of a preset with overrides. The other layers divide the rest in the preset's proportions."""
    remaining = {layer: share for layer, share in PRESETS[preset].items() if layer not in overrides}
    scale = max(0.0, 1 - sum(overrides.values())) / sum(remaining.values()) if remaining else 0.0
    return {layer: overrides.get(layer, remaining.get(layer, 0.0) * scale) for layer in PRESETS[preset]}


def adjust_share(shares: Shares, layer: str, delta: float) -> Shares:
    """Change a layer's share by ``delta``; the others give or get it in proportion."""
    total = sum(shares.values())
    new = round(min(total, max(0.0, shares[layer] + delta)), 4)
    rest_total = total - shares[layer]
    if rest_total > 0:
        scale = (total - new) / rest_total
        rest = {name: share * scale for name, share in shares.items() if name != layer}
    else:
        rest = {name: (total - new) / (len(shares) - 1) for name in shares if name != layer}
    return {name: new if name == layer else rest[name] for name in shares}


def next_budget(budget: int, larger: bool) -> int:
    """The next larger or smaller budget; the same one at the end of the steps."""
    if larger:
        return next((step for step in BUDGET_STEPS if step > budget), budget)
    return next((step for step in reversed(BUDGET_STEPS) if step < budget), budget)
