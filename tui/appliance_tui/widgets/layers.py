"""The layers of a context as lines: a meter for each, what is in it, and what was left out and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from appliance_tui.sharing import Shares
from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.prompt import LAYER_COLOURS
from appliance_tui.widgets.rows import MUTED
from appliance_tui.widgets.words import fitted, minute, one_line

if TYPE_CHECKING:
    from appliance.types import Context, ContextItem, Dropped, Message

NAME = 10
"""Cells of a layer's name."""

LONGEST_METER = 32
"""Cells of a meter where there is room."""


@dataclass(frozen=True, slots=True)
class Head:
    """A layer: its tokens, those of its share, the share itself, and the budget."""

    layer: str
    tokens: int
    room: int
    share: float
    budget: int


@dataclass(frozen=True, slots=True)
class One:
    """Something that stands in the prompt."""

    layer: str
    item: ContextItem


@dataclass(frozen=True, slots=True)
class Left:
    """Something that was left out, with its message where it is one."""

    dropped: Dropped
    message: Message | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can't be marked."""

    name: str
    text: str = ""
    whole: Head | None = None


LayerRow = Head | One | Left | Line


def rows(context: Context, shares: Shares, left_out: Mapping[str, Message]) -> list[LayerRow]:
    """All of a context: the meters of its layers, what is in each in the order of the prompt, and what is in none."""
    return list(_rows(context, shares, left_out))


def _rows(context: Context, shares: Shares, left_out: Mapping[str, Message]) -> Iterator[LayerRow]:
    whole = Head("all", context.tokens, context.budget, sum(shares.values()), context.budget)
    yield Line("all", whole=whole)
    for layer in context.layers:
        share = shares[layer.name]
        yield Head(layer.name, layer.tokens, int(context.budget * share), share, context.budget)
    for layer in context.layers:
        if layer.items:
            yield Line(layer.name, f"{len(layer.items):,} in {layer.tokens:,} tokens")
        yield from (One(layer.name, item) for item in layer.items)
    if context.dropped:
        yield Line("left out", f"{len(context.dropped):,} that were considered")
        yield from (Left(one, left_out.get(one.message_id)) for one in context.dropped)
    if context.notes:
        yield Line("notes")
        yield from (Line("", note) for note in context.notes)


def key(row: LayerRow) -> Hashable:
    """By what a line is known in the next context."""
    match row:
        case Head(layer):
            return layer
        case One(layer, item):
            return layer, item.message_id
        case Left(dropped, _):
            return "left out", dropped.message_id
        case Line(name, text):
            return "line", name, text


def is_head(row: LayerRow) -> bool:
    """Whether a line can't be marked."""
    return isinstance(row, Line)


def drawn(row: LayerRow, width: int) -> Content:
    """A line of the list in so many cells."""
    match row:
        case Head():
            return _meter(row, width)
        case One(layer, item):
            mark = {"full": " ", "compressed": "~", "placeholder": "…"}[item.fidelity]
            tokens = f"{item.tokens:,}"
            room = max(1, width - 12 - len(tokens) - 1)
            return Content.assemble(
                (f" {item.message_id:<8}", LAYER_COLOURS[layer]),
                (f"{mark} ", MUTED),
                fitted(item.text, room),
                (f" {tokens}", MUTED),
            )
        case Left(dropped, message):
            reason = f"{dropped.reason}  "
            words = ""
            if message is not None:
                said = one_line(message.text[: 4 * width])
                words = f"{one_line(message.author or message.role)[:20]} {minute(message.timestamp)[:10]}: {said}"
            return Content.assemble((f" {dropped.message_id:<8}  ", MUTED), (reason, "$warning"), words)
        case Line(name, text, whole):
            if whole is not None:
                return _meter(whole, width)
            colour = f"bold {LAYER_COLOURS.get(name, '')}"
            return Content.assemble((f"{name} " if name else "   ", colour), (one_line(text), MUTED))


def _meter(head: Head, width: int) -> Content:
    """Name, bar against the whole budget with a mark where the share ends, and the numbers."""
    colour = LAYER_COLOURS.get(head.layer, MUTED)
    numbers = f"{head.tokens:>6,} of {head.room:>6,}  {head.share:>4.0%}"
    if head.layer == "all":
        numbers = f"{head.tokens:>6,} of {head.room:>6,}  {head.tokens / head.budget:>4.0%} full"
    cells = min(LONGEST_METER, width - NAME - len(numbers) - 3)
    name = (f"{head.layer:<{NAME}}", f"bold {colour}")
    if cells < 4:
        return Content.assemble(name, (numbers, MUTED))
    filled = Content(bar(head.tokens / head.budget, cells)).stylize(colour)
    end = round(head.share * cells)
    if head.layer != "all" and 0 < end < cells:
        behind = filled.plain[end] == " "
        mark = Content("┊").stylize(MUTED if behind else f"reverse {colour}")
        filled = Content.assemble(filled[:end], mark, filled[end + 1 :])
    return Content.assemble(name, ("▕", MUTED), filled, ("▏", MUTED), (numbers, MUTED))
