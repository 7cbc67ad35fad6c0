"""The profile layer: what is known about the person, the standing instructions first. An instruction is whole or left
out, never shortened."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from appliance.context import render
from appliance.context.materials import ContextMaterial, ContextPlan, PromptPart
from appliance.languages import LANGUAGES
from appliance.store import lexical
from appliance.types import ContextItem, Fact

INSTRUCTIONS_SHARE = 0.5
"""The share of the budget that the instructions that apply may take. They govern the answer, so they may exceed the
profile's share, but the answer also needs memories and turns. The first of them may take the whole budget."""

_CONDITION = re.compile(rf"\b(?:{'|'.join(one.conditions for one in LANGUAGES)})\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def instructions(plan: ContextPlan, material: ContextMaterial, max_tokens: int) -> list[PromptPart]:
    """The standing instructions that apply, whole, while they fit into ``max_tokens``: the pinned first, then the
    newest."""
    chosen: list[PromptPart] = []
    spent = plan.count(render.PROFILE)
    for fact in applicable(plan, material):
        piece = _piece(plan, fact)
        limit = min(plan.budget * INSTRUCTIONS_SHARE, max_tokens) if chosen else max_tokens
        if spent + piece.item.tokens <= limit:
            spent += piece.item.tokens
            chosen.append(piece)
    return chosen


def applicable(plan: ContextPlan, material: ContextMaterial) -> list[Fact]:
    """The standing instructions that apply to the query, the most important first. An instruction applies if it has no
    condition ("when I ask about ..."), if its condition shares words with the query, or if a message that states it is
    pinned."""
    stems = {lexical.stem(word) for word in plan.words}
    newest_first = sorted(
        (fact for fact in material.facts if fact.kind == "instruction"),
        key=lambda fact: fact.said_at or "",
        reverse=True,
    )
    pinned = [fact for fact in newest_first if any(quote.message_id in material.pinned for quote in fact.evidence)]
    return pinned + [fact for fact in newest_first if fact not in pinned and _applies(fact, stems)]


def other_facts(
    plan: ContextPlan, material: ContextMaterial, instructed: Sequence[PromptPart], max_tokens: int
) -> list[PromptPart]:
    """What else fits: the instructions that are left, the newest first, and the other facts, in their order. None is
    cut."""
    ids = {piece.item.message_id for piece in instructed}
    left = [fact for fact in material.facts if fact.id not in ids]
    left.sort(key=lambda fact: fact.said_at or "" if fact.kind == "instruction" else "", reverse=True)
    left.sort(key=lambda fact: fact.kind != "instruction")
    chosen: list[PromptPart] = []
    for fact in left:
        piece = _piece(plan, fact)
        if piece.item.tokens <= max_tokens:
            max_tokens -= piece.item.tokens
            chosen.append(piece)
    return chosen


def missing_note(plan: ContextPlan, material: ContextMaterial, shown: Collection[str]) -> str | None:
    """A note that names the standing instructions that apply and are not shown."""
    missing = [fact.id for fact in applicable(plan, material) if fact.id not in shown]
    if not missing:
        return None
    names = "A standing instruction has" if len(missing) == 1 else f"{len(missing)} standing instructions have"
    return f"{names} no room in the budget of {plan.budget} tokens: {', '.join(missing)}."


def _applies(fact: Fact, stems: Collection[str]) -> bool:
    """Whether an instruction has no condition, or one that shares a word with the query."""
    condition = _CONDITION.search(fact.text)
    if condition is None:
        return True
    return any(lexical.stem(word) in stems for word in _WORD.findall(fact.text[condition.end() :]))


def _piece(plan: ContextPlan, fact: Fact) -> PromptPart:
    rendered = render.fact(fact)
    why = {"kind": fact.kind, "confidence": fact.confidence, "messages": [quote.message_id for quote in fact.evidence]}
    return PromptPart(ContextItem(fact.id, fact.text, plan.count(rendered), "full", why), rendered)
