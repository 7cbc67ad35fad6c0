"""A context, layer by layer, within an exact token budget: profile, retrieved memories, running summary, recent turns.

Standing instructions come first and are never cut. Facts, summary and turns then get what fits their share, memories
all that is left of the budget; what they leave goes back to the turns, the profile and the summary, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from appliance.context import present, profile, render, retrieved
from appliance.context.plan import Material, Piece, Place, Plan, total
from appliance.context.retrieved import NO_ROOM
from appliance.context.shares import LAYERS
from appliance.types import Context, Dropped, Layer

Pieces = Mapping[str, Sequence[Piece]]
"""The pieces of each layer, in the order of the prompt."""

FLOW = ("recent", "profile", "summary")
"""Who gets what the retrieved memories leave, and in which order."""


def build(plan: Plan, material: Material, notes: Sequence[str] = ()) -> Context:
    """The context for a question.

    Raises:
        UsageError: the standing instructions alone are more than the budget.
    """
    # The same parts are counted again and again, to see what fits.
    plan = replace(plan, count=cache(plan.count))
    dropped: list[Dropped] = []
    pieces: dict[str, list[Piece]] = {layer: [] for layer in LAYERS}
    pieces["profile"] = profile.instructions(plan, material.facts)
    for layer in FLOW:
        room = min(plan.room(layer), _left(plan, pieces) + _cost(plan, pieces, layer))
        pieces[layer] = _fill(plan, material, layer, room)
    shown = {piece.item.message_id for piece in pieces["recent"]}
    pieces["retrieved"] = retrieved.choose(plan, material, shown, _left(plan, pieces), dropped)
    for layer in FLOW:
        pieces[layer] = _fill(plan, material, layer, _left(plan, pieces) + _cost(plan, pieces, layer))
    shown = {piece.item.message_id for piece in pieces["recent"]}
    pieces["retrieved"] = [piece for piece in pieces["retrieved"] if piece.item.message_id not in shown]
    while max((prompt := _prompt(plan, pieces)).tokens, prompt.in_chat) > plan.budget:
        # Parts whose counts don't add up, of an encoding of another kind: who is weakest goes, until the whole fits.
        dropped.append(_give_back(pieces))
    return Context(
        query=plan.query,
        budget=plan.budget,
        tokens=prompt.tokens,
        encoding=plan.encoding,
        layers=tuple(_layer(plan, layer, prompt.pieces) for layer in LAYERS),
        messages=prompt.messages,
        text=prompt.text,
        dropped=_exactly(material, prompt.pieces, dropped),
        notes=tuple(notes),
    )


def _fill(plan: Plan, material: Material, layer: str, room: int) -> list[Piece]:
    """What of a layer fits into ``room`` tokens, its heading included; more room never takes anything out."""
    room -= plan.count(render.HEADINGS[layer])
    if layer == "profile":
        always = profile.instructions(plan, material.facts)
        more = profile.others(plan, material.facts, room - total(always)) if plan.wants(layer) else []
        return always + more
    if not plan.wants(layer):
        return []
    if layer == "recent":
        return present.recent(plan, material.latest, room)
    return present.summary(plan, material.window, room)


def _cost(plan: Plan, pieces: Pieces, layer: str) -> int:
    """The tokens of a layer: its heading, the heads of its groups, and its pieces."""
    if not pieces[layer]:
        return 0
    heads = {piece.group for piece in pieces[layer] if piece.group}
    return plan.count(render.HEADINGS[layer]) + sum(map(plan.count, heads)) + total(pieces[layer])


def _left(plan: Plan, pieces: Pieces) -> int:
    return plan.budget - sum(_cost(plan, pieces, layer) for layer in LAYERS)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A finished prompt, as one text and as chat messages, with the exact tokens of both."""

    pieces: Pieces
    text: str
    messages: tuple[Mapping[str, str], ...]
    tokens: int
    in_chat: int


def _prompt(plan: Plan, pieces: Pieces) -> Prompt:
    """The prompt of pieces. In chat form, one system message holds what is known, and the turns follow it."""
    ordered = {**pieces, "retrieved": _in_groups(pieces["retrieved"])}
    known = "".join(_rendered(layer, ordered[layer]) for layer in LAYERS if layer != "recent")
    text = known + _rendered("recent", ordered["recent"])
    messages: list[Mapping[str, str]] = [{"role": "system", "content": known}] if known else []
    messages += [{"role": piece.role, "content": piece.item.text.rstrip()} for piece in ordered["recent"]]
    in_chat = sum(plan.count(message["content"]) for message in messages)
    return Prompt(ordered, text, tuple(messages), plan.count(text), in_chat)


def text_of(memories: Sequence[Piece]) -> str:
    """The text of memories alone."""
    return _rendered("retrieved", _in_groups(memories))


def _in_groups(pieces: Sequence[Piece]) -> list[Piece]:
    """In the order of time, with all of a session's day together."""
    first: dict[str, Place] = {}
    for piece in sorted(pieces, key=lambda one: one.place):
        first.setdefault(piece.group, piece.place)
    return sorted(pieces, key=lambda one: (first[one.group], one.group, one.place))


def _rendered(layer: str, pieces: Sequence[Piece]) -> str:
    parts = [render.HEADINGS[layer]] if pieces else []
    for group, under in groupby(pieces, key=lambda piece: piece.group):
        parts.append(group)
        parts += [piece.rendered for piece in under]
    return "".join(parts)


def _give_back(pieces: dict[str, list[Piece]]) -> Dropped:
    """Take out the weakest memory, else the oldest turn, else the summary's first sentence, else the last fact."""
    if pieces["retrieved"]:
        gone = max(pieces["retrieved"], key=lambda piece: piece.rank)
        pieces["retrieved"].remove(gone)
    else:
        layer, at = next(
            (layer, at) for layer, at in (("recent", 0), ("summary", 0), ("profile", -1)) if pieces[layer]
        )
        gone = pieces[layer].pop(at)
    return Dropped(gone.item.message_id, NO_ROOM)


def _layer(plan: Plan, layer: str, pieces: Pieces) -> Layer:
    items = tuple(piece.item for piece in pieces[layer])
    return Layer(layer, _cost(plan, pieces, layer), items)  # type: ignore[arg-type]  # LAYERS are its names


def _exactly(material: Material, pieces: Pieces, dropped: Sequence[Dropped]) -> tuple[Dropped, ...]:
    """Each that was considered and is not there, once, with its reason."""
    there = {piece.item.message_id for layer in LAYERS for piece in pieces[layer]}
    reasons = {one.message_id: one.reason for one in dropped}
    quotes = material.window.quotes if material.window is not None else ()
    for id, layer in (
        *((turn.id, "the latest turns") for turn in material.latest),
        *((fact.id, "the profile") for fact in material.facts),
        *((quote.message_id, "the summary") for quote in quotes),
        *((summary.id, "the summaries") for summary in material.summaries),
    ):
        reasons.setdefault(
            id, f"{NO_ROOM} among {layer}" if layer == "the latest turns" else f"{NO_ROOM} in {layer}"
        )
    return tuple(Dropped(id, reason) for id, reason in reasons.items() if id not in there)
