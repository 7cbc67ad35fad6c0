"""The profile layer: what is known about the person. Standing instructions are always included."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.context import render
from appliance.context.materials import ContextPlan, PromptPart
from appliance.errors import UsageError
from appliance.types import ContextItem, Fact


def instructions(plan: ContextPlan, facts: Sequence[Fact]) -> list[PromptPart]:
    """The standing instructions, all of them.

    Raises:
        UsageError: They alone are more than the budget.
    """
    pieces = [_piece(plan, fact) for fact in facts if fact.kind == "instruction"]
    required = plan.count(render.PROFILE + "".join(piece.rendered for piece in pieces)) if pieces else 0
    if required > plan.budget:
        raise UsageError(
            f"The standing instructions need {required} tokens, but the budget is {plan.budget}.",
            hint=f"Use a budget of at least {required}, or end an instruction that no longer holds.",
        )
    return pieces


def other_facts(plan: ContextPlan, facts: Sequence[Fact], max_tokens: int) -> list[PromptPart]:
    """The other facts that fit, in their order; none is cut."""
    chosen: list[PromptPart] = []
    for fact in facts:
        if fact.kind != "instruction":
            piece = _piece(plan, fact)
            if piece.item.tokens <= max_tokens:
                max_tokens -= piece.item.tokens
                chosen.append(piece)
    return chosen


def _piece(plan: ContextPlan, fact: Fact) -> PromptPart:
    rendered = render.fact(fact)
    why = {"kind": fact.kind, "confidence": fact.confidence, "messages": [quote.message_id for quote in fact.evidence]}
    return PromptPart(ContextItem(fact.id, fact.text, plan.count(rendered), "full", why), rendered)
