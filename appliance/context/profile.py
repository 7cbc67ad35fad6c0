"""The first layer: what is known of the person. Standing instructions always stand, whatever else has to go."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.context import render
from appliance.context.plan import Piece, Plan
from appliance.errors import UsageError
from appliance.types import ContextItem, Fact


def instructions(plan: Plan, facts: Sequence[Fact]) -> list[Piece]:
    """The standing instructions, all of them.

    Raises:
        UsageError: they alone are more than the budget holds.
    """
    pieces = [_piece(plan, fact) for fact in facts if fact.kind == "instruction"]
    least = plan.count(render.PROFILE + "".join(piece.rendered for piece in pieces)) if pieces else 0
    if least > plan.budget:
        raise UsageError(
            f"the standing instructions need {least} tokens, and the budget has {plan.budget}",
            hint=f"give a budget of {least} or more, or end an instruction that no longer holds",
        )
    return pieces


def others(plan: Plan, facts: Sequence[Fact], room: int) -> list[Piece]:
    """The other facts, in their order, as far as they fit; none is cut."""
    chosen: list[Piece] = []
    for fact in facts:
        if fact.kind != "instruction":
            piece = _piece(plan, fact)
            if piece.item.tokens <= room:
                room -= piece.item.tokens
                chosen.append(piece)
    return chosen


def _piece(plan: Plan, fact: Fact) -> Piece:
    rendered = render.fact(fact)
    why = {
        "kind": fact.kind,
        "confidence": fact.confidence,
        "messages": [quote.message_id for quote in fact.evidence],
    }
    return Piece(ContextItem(fact.id, fact.text, plan.count(rendered), "full", why), rendered)
