"""The profile layer: what is known about the person, the standing instructions first. An instruction is whole or left
out, never shortened."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from appliance.context import render
from appliance.context.materials import ContextMaterial, ContextPlan, PromptPart, total
from appliance.languages import LANGUAGES
from appliance.languages.attribute_words import asked_attributes, asks_of_oneself
from appliance.store import lexical
from appliance.types import ContextItem, Fact

INSTRUCTIONS_SHARE = 0.5
"""The share of the budget that the instructions that apply may take. They govern the answer, so they may exceed the
profile's share, but the answer also needs memories and turns. The first of them may take the whole budget."""

ANSWERS_SHARE = 0.25
"""The share of the budget that the facts that the query asks for may take, even where the profile's share is smaller.
The first of them may take more: a small budget holds it before any memory."""

_USER_SUBJECT = "me"
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


def answers(plan: ContextPlan, material: ContextMaterial, max_tokens: int) -> list[PromptPart]:
    """The facts of which the query asks for the attribute, of these the ones that share the most words with it: the
    first one if it fits into ``max_tokens``, the others while they take no more of the budget than ``ANSWERS_SHARE``.
    """
    if not plan.has_share("profile"):
        return []
    chosen: list[PromptPart] = []
    spent = plan.count(render.PROFILE)
    known = [(_relevance(plan, fact), fact) for fact in material.facts]
    best = max((relevance for relevance, _ in known), default=(False, 0))
    for fact in (fact for relevance, fact in known if best[0] and relevance == best):
        piece = _piece(plan, fact)
        limit = min(plan.budget * ANSWERS_SHARE, max_tokens) if chosen else max_tokens
        if spent + piece.item.tokens <= limit:
            spent += piece.item.tokens
            chosen.append(piece)
    return chosen


def fill(
    plan: ContextPlan, material: ContextMaterial, certain: Sequence[PromptPart], max_tokens: int
) -> list[PromptPart]:
    """What is certain, and what else fits into ``max_tokens``. None is cut.

    If all facts fit, they stand in one order for all queries: the instructions that apply, the other instructions, the
    newest first, and the other facts. Else those come first that share the most with the query."""
    pieces = {piece.item.message_id: piece for piece in certain}
    left = [fact for fact in material.facts if fact.id not in pieces]
    left.sort(key=lambda fact: fact.said_at or "" if fact.kind == "instruction" else "", reverse=True)
    left.sort(key=lambda fact: fact.kind != "instruction")
    others = [fact.id for fact in material.facts if fact.kind != "instruction"]
    instructed = [id for id in pieces if id not in others]
    pieces |= {fact.id: _piece(plan, fact) for fact in left}
    if total(list(pieces.values())) <= max_tokens:
        return [pieces[id] for id in (*instructed, *(one.id for one in left if one.kind == "instruction"), *others)]
    chosen = list(certain)
    max_tokens -= total(certain)
    for fact in _ranked(plan, left):
        piece = pieces[fact.id]
        if piece.item.tokens <= max_tokens:
            max_tokens -= piece.item.tokens
            chosen.append(piece)
    return chosen


def _ranked(plan: ContextPlan, facts: Iterable[Fact]) -> list[Fact]:
    """Facts by what they have to do with the query; equals stay in their order."""
    return sorted(facts, key=lambda fact: _relevance(plan, fact), reverse=True)


def _relevance(plan: ContextPlan, fact: Fact) -> tuple[bool, int]:
    """Whether the query asks for a fact's attribute, and how many of its content words the fact has."""
    if fact.kind == "instruction":
        return False, 0
    asked, words, of_oneself = _question(plan.query)
    asks = fact.attribute in asked and (
        of_oneself if fact.subject == _USER_SUBJECT else not words.isdisjoint(fact.subject.casefold().split())
    )
    stems = _stems(fact.subject, fact.attribute, fact.value)
    return asks, sum(lexical.stem(word) in stems for word in plan.words)


@lru_cache(maxsize=1)
def _question(query: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """The attributes that a query can ask for, its words, and whether it asks for something of the person."""
    words = frozenset(word.casefold() for word in _WORD.findall(query))
    return asked_attributes(words), words, asks_of_oneself(words)


@lru_cache(maxsize=4_096)
def _stems(*texts: str) -> frozenset[str]:
    return frozenset(lexical.stem(word) for text in texts for word in _WORD.findall(text))


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
