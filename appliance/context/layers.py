"""Fills the layers of a context within an exact token budget: core memory, profile, memories, running summary, recent
turns.

The blocks of core memory and the standing instructions that apply come first, each whole or left out. Facts, summary
and turns then get what fits their shares, and the memories get the rest of the budget. What the memories leave goes
back to the turns, the profile and the summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from appliance.context import core, memory_selection, profile, recent, render
from appliance.context.materials import ContextMaterial, ContextPlan, PromptPart, TimelinePosition, total
from appliance.context.memory_selection import NO_TOKENS_LEFT
from appliance.context.shares import LAYERS
from appliance.types import Context, Dropped, Layer

Pieces = Mapping[str, Sequence[PromptPart]]
"""The prompt parts of each layer, in the order of the prompt."""

LEFTOVER_ORDER = ("recent", "profile", "summary")
"""The layers that get what the retrieved memories leave, in this order."""


def build(plan: ContextPlan, material: ContextMaterial, notes: Sequence[str] = ()) -> Context:
    """Build the context for a plan from its material."""
    # The same parts are counted several times to see what fits.
    plan = replace(plan, count=cache(plan.count))
    dropped: list[Dropped] = []
    pieces: dict[str, list[PromptPart]] = {layer: [] for layer in LAYERS}
    pieces["core"] = core.blocks(plan, material)
    instructions = profile.instructions(plan, material, _tokens_left(plan, pieces))
    pieces["profile"] = instructions
    certain = [*instructions, *profile.answers(plan, material, _tokens_left(plan, pieces))]
    pieces["profile"] = certain
    says_no_match = material.no_match and plan.has_share("retrieved")
    if says_no_match and plan.count(render.NO_MATCH) <= _tokens_left(plan, pieces):
        plan = replace(plan, says_no_match=True)
    for layer in LEFTOVER_ORDER:
        max_tokens = min(plan.layer_tokens(layer), _tokens_left(plan, pieces) + _layer_tokens(plan, pieces, layer))
        pieces[layer] = _fill(plan, material, layer, certain, max_tokens)
    shown = {piece.item.message_id for piece in pieces["recent"]}
    pieces["retrieved"] = memory_selection.select_memories(plan, material, shown, _tokens_left(plan, pieces), dropped)
    for layer in LEFTOVER_ORDER:
        max_tokens = _tokens_left(plan, pieces) + _layer_tokens(plan, pieces, layer)
        pieces[layer] = _fill(plan, material, layer, certain, max_tokens)
    shown = {piece.item.message_id for piece in pieces["recent"]}
    pieces["retrieved"] = [piece for piece in pieces["retrieved"] if piece.item.message_id not in shown]
    while max((prompt := _prompt(plan, pieces)).tokens, prompt.chat_tokens) > plan.budget:
        # In other kinds of encodings the counts of parts need not add up: the weakest part goes until the whole fits.
        dropped.append(_drop_weakest(pieces))
    added = [
        core.missing_note(plan, material, {piece.item.message_id for piece in pieces["core"]}),
        profile.missing_note(plan, material, {piece.item.message_id for piece in pieces["profile"]}),
        _missing_memories_note(plan, material, pieces, dropped),
    ]
    return Context(
        query=plan.query,
        budget=plan.budget,
        tokens=prompt.tokens,
        encoding=plan.encoding,
        layers=tuple(_layer(plan, layer, prompt.pieces) for layer in LAYERS),
        messages=prompt.messages,
        text=prompt.text,
        dropped=_complete_dropped(material, prompt.pieces, dropped),
        notes=(*notes, *filter(None, added)),
        found=material.found,
    )


def _fill(
    plan: ContextPlan, material: ContextMaterial, layer: str, certain: Sequence[PromptPart], max_tokens: int
) -> list[PromptPart]:
    """The parts of a layer that fit into ``max_tokens`` with its heading. The instructions that apply, and the facts
    that are asked for, always stay."""
    max_tokens -= plan.count(render.HEADINGS[layer])
    if layer == "profile":
        if not plan.has_share(layer):
            return list(certain)
        return profile.fill(plan, material, certain, max_tokens)
    if not plan.has_share(layer):
        return []
    if layer == "recent":
        return recent.recent(plan, material.latest, max_tokens)
    return recent.summary(plan, material.window, max_tokens)


def _layer_tokens(plan: ContextPlan, pieces: Pieces, layer: str) -> int:
    """The tokens of a layer: its heading, its group heads and its parts."""
    if not pieces[layer]:
        return plan.count(render.NO_MATCH) if _says_no_match(plan, layer) else 0
    heads = {piece.group for piece in pieces[layer] if piece.group}
    return plan.count(render.HEADINGS[layer]) + sum(map(plan.count, heads)) + total(pieces[layer])


def _says_no_match(plan: ContextPlan, layer: str) -> bool:
    """Whether a layer without parts says so."""
    return plan.says_no_match and layer == "retrieved"


def _missing_memories_note(
    plan: ContextPlan, material: ContextMaterial, pieces: Pieces, dropped: Sequence[Dropped]
) -> str | None:
    """A note that no memory is shown because none matches, or because none fits."""
    if pieces["retrieved"] or not plan.has_share("retrieved"):
        return None
    if material.no_match:
        return "No memory matches the query."
    if any(one.reason == NO_TOKENS_LEFT for one in dropped):
        return f"Memories match, but none fits into the budget of {plan.budget} tokens."
    return None


def _tokens_left(plan: ContextPlan, pieces: Pieces) -> int:
    return plan.budget - sum(_layer_tokens(plan, pieces, layer) for layer in LAYERS)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A finished prompt, as one text and as chat messages, with the exact tokens of both."""

    pieces: Pieces
    text: str
    messages: tuple[Mapping[str, str], ...]
    tokens: int
    chat_tokens: int


def _prompt(plan: ContextPlan, pieces: Pieces) -> RenderedPrompt:
    """Render the prompt. In chat form, one system message has all layers but the turns, which follow it."""
    ordered = {**pieces, "retrieved": _grouped(pieces["retrieved"])}
    known = "".join(_rendered(layer, ordered[layer], plan) for layer in LAYERS if layer != "recent")
    text = known + _rendered("recent", ordered["recent"], plan)
    messages: list[Mapping[str, str]] = [{"role": "system", "content": known}] if known else []
    messages += [{"role": piece.role, "content": render.escape_block(piece.item.text)} for piece in ordered["recent"]]
    chat_tokens = sum(plan.count(message["content"]) for message in messages)
    return RenderedPrompt(ordered, text, tuple(messages), plan.count(text), chat_tokens)


def memories_text(memories: Sequence[PromptPart]) -> str:
    """The text of memories alone."""
    return _rendered("retrieved", _grouped(memories))


def _grouped(pieces: Sequence[PromptPart]) -> list[PromptPart]:
    """In the order of time, with the messages of one session and day together."""
    first: dict[str, TimelinePosition] = {}
    for piece in sorted(pieces, key=lambda piece: piece.position):
        first.setdefault(piece.group, piece.position)
    return sorted(pieces, key=lambda piece: (first[piece.group], piece.group, piece.position))


def _rendered(layer: str, pieces: Sequence[PromptPart], plan: ContextPlan | None = None) -> str:
    if not pieces and plan is not None and _says_no_match(plan, layer):
        return render.NO_MATCH
    parts = [render.HEADINGS[layer]] if pieces else []
    for group, under in groupby(pieces, key=lambda piece: piece.group):
        parts.append(group)
        parts += [piece.rendered for piece in under]
    return "".join(parts)


def _drop_weakest(pieces: dict[str, list[PromptPart]]) -> Dropped:
    """Take out the weakest memory, else the oldest turn, else the summary's first sentence, else the last fact, else
    the last block of core memory."""
    if pieces["retrieved"]:
        weakest = max(pieces["retrieved"], key=lambda piece: piece.rank)
        pieces["retrieved"].remove(weakest)
    else:
        order = (("recent", 0), ("summary", 0), ("profile", -1), ("core", -1))
        layer, at = next((layer, at) for layer, at in order if pieces[layer])
        weakest = pieces[layer].pop(at)
    return Dropped(weakest.item.message_id, NO_TOKENS_LEFT)


def _layer(plan: ContextPlan, layer: str, pieces: Pieces) -> Layer:
    items = tuple(piece.item for piece in pieces[layer])
    return Layer(layer, _layer_tokens(plan, pieces, layer), items)  # type: ignore[arg-type]  # LAYERS are its names


def _complete_dropped(material: ContextMaterial, pieces: Pieces, dropped: Sequence[Dropped]) -> tuple[Dropped, ...]:
    """Every item that was considered and is not in the prompt, with the reason."""
    included = {piece.item.message_id for layer in LAYERS for piece in pieces[layer]}
    reasons = {one.message_id: one.reason for one in dropped}
    quotes = material.window.quotes if material.window is not None else ()
    for id, layer in (
        *((turn.id, "the latest turns") for turn in material.latest),
        *((core.item_id(block), "core memory") for block in material.blocks if block.value.strip()),
        *((fact.id, "the profile") for fact in material.facts),
        *((quote.message_id, "the summary") for quote in quotes),
        *((summary.id, "the summaries") for summary in material.summaries),
    ):
        reasons.setdefault(
            id, f"{NO_TOKENS_LEFT} among {layer}" if layer == "the latest turns" else f"{NO_TOKENS_LEFT} in {layer}"
        )
    return tuple(Dropped(id, reason) for id, reason in reasons.items() if id not in included)
