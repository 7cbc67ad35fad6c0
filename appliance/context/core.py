"""The layer of core memory: the blocks that are in every context. A block is whole or left out, never shortened."""

from __future__ import annotations

from collections.abc import Collection

from appliance.context import render
from appliance.context.materials import ContextMaterial, ContextPlan, PromptPart
from appliance.types import ContextItem, CoreBlock

CORE_SHARE = 0.5
"""The share of the budget that core memory may take, so that a small budget still has room for what is asked."""


def blocks(plan: ContextPlan, material: ContextMaterial) -> list[PromptPart]:
    """The blocks with a text, in their order, while they fit."""
    left = int(plan.budget * CORE_SHARE) - plan.count(render.CORE)
    chosen: list[PromptPart] = []
    for block in _written(material):
        piece = _piece(plan, block)
        if piece.item.tokens <= left:
            left -= piece.item.tokens
            chosen.append(piece)
    return chosen


def missing_note(plan: ContextPlan, material: ContextMaterial, shown: Collection[str]) -> str | None:
    """A note that names the blocks that are not shown."""
    missing = [block.label for block in _written(material) if item_id(block) not in shown]
    if not missing:
        return None
    names = "A block of core memory has" if len(missing) == 1 else f"{len(missing)} blocks of core memory have"
    return f"{names} no room in the budget of {plan.budget} tokens: {', '.join(missing)}."


def item_id(block: CoreBlock) -> str:
    """The id of a block as an item of a context."""
    return f"core:{block.label}"


def _written(material: ContextMaterial) -> list[CoreBlock]:
    return [block for block in material.blocks if block.value.strip()]


def _piece(plan: ContextPlan, block: CoreBlock) -> PromptPart:
    rendered = render.block(block.label, block.value)
    why = {
        "description": block.description, "limit": block.limit, "revision": block.revision,
        "changed_by": block.changed_by,
    }  # fmt: skip
    return PromptPart(ContextItem(item_id(block), block.value, plan.count(rendered), "full", why), rendered)
