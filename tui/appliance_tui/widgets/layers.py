"""The layers of a context as lines: a meter and the items of each, and what was left out and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from appliance_tui.budget_shares import Shares
from appliance_tui.widgets.display_text import fit_width, minute, one_line, pluralize, render_bar
from appliance_tui.widgets.prompt_view import LAYER_COLOURS
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Context, ContextItem, Dropped, Message

NAME_WIDTH = 10
"""Cells of a layer's name."""

MAX_METER_WIDTH = 32
"""Cells of a meter at most."""


@dataclass(frozen=True, slots=True)
class LayerHead:
    """A layer: its tokens, its allotted tokens, its share from 0 to 1, and the whole budget in tokens."""

    layer: str
    tokens: int
    allotted: int
    share: float
    budget: int


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """An item of the prompt."""

    layer: str
    item: ContextItem


@dataclass(frozen=True, slots=True)
class DroppedEntry:
    """Something that was left out, with its message if it is one."""

    dropped: Dropped
    message: Message | None


@dataclass(frozen=True, slots=True)
class PlainLine:
    """A line that can't be selected: a heading, a note, or the meter of the ``total``."""

    name: str
    text: str = ""
    total: LayerHead | None = None


LayerRow = LayerHead | LayerEntry | DroppedEntry | PlainLine


def layer_rows(context: Context, shares: Shares, dropped_messages: Mapping[str, Message]) -> Iterator[LayerRow]:
    """The meters of a context's layers, their items in the order of the prompt, what was left out, and notes."""
    total = LayerHead("all", context.tokens, context.budget, sum(shares.values()), context.budget)
    yield PlainLine("all", total=total)
    for layer in context.layers:
        share = shares[layer.name]
        yield LayerHead(layer.name, layer.tokens, int(context.budget * share), share, context.budget)
    for layer in context.layers:
        if layer.items:
            yield PlainLine(layer.name, f"{pluralize(len(layer.items), 'item')}, {pluralize(layer.tokens, 'token')}")
        yield from (LayerEntry(layer.name, item) for item in layer.items)
    if context.dropped:
        yield PlainLine("left out", f"{pluralize(len(context.dropped), 'candidate')}")
        yield from (DroppedEntry(dropped, dropped_messages.get(dropped.message_id)) for dropped in context.dropped)
    if context.notes:
        yield PlainLine("notes")
        yield from (PlainLine("", note) for note in context.notes)


def row_key(row: LayerRow) -> Hashable:
    """What identifies a line in the next context."""
    match row:
        case LayerHead(layer):
            return layer
        case LayerEntry(layer, item):
            return layer, item.message_id
        case DroppedEntry(dropped, _):
            return "left out", dropped.message_id
        case PlainLine(name, text):
            return "line", name, text


def is_plain_line(row: LayerRow) -> bool:
    """Whether a line can't be selected."""
    return isinstance(row, PlainLine)


def render_row(row: LayerRow, width: int) -> Content:
    """A line of the list in ``width`` cells."""
    match row:
        case LayerHead():
            return _render_meter(row, width)
        case LayerEntry(layer, item):
            mark = {"full": " ", "compressed": "~", "placeholder": "…"}[item.fidelity]
            tokens = f"{item.tokens:,}"
            text_width = max(1, width - 12 - len(tokens) - 1)
            return Content.assemble(
                (f" {item.message_id:<8}", LAYER_COLOURS[layer]),
                (f"{mark} ", MUTED),
                fit_width(item.text, text_width),
                (f" {tokens}", MUTED),
            )
        case DroppedEntry(dropped, message):
            line = ""
            if message is not None:
                author, text = one_line(message.who)[:20], one_line(message.text[: 4 * width])
                line = f"{author} {minute(message.timestamp)[:10]}: {text}"
            return Content.assemble((f" {dropped.message_id:<8}  ", MUTED), (f"{dropped.reason}  ", "$warning"), line)
        case PlainLine(name, text, total):
            if total is not None:
                return _render_meter(total, width)
            colour = f"bold {LAYER_COLOURS.get(name, '')}"
            return Content.assemble((f"{name} " if name else "   ", colour), (one_line(text), MUTED))


def _render_meter(head: LayerHead, width: int) -> Content:
    """A layer's name, its tokens as a bar of the whole budget with a mark at the end of its share, and the numbers."""
    colour = LAYER_COLOURS.get(head.layer, MUTED)
    numbers = f"{head.tokens:>6,} of {head.allotted:>6,}  {head.share:>4.0%}"
    if head.layer == "all":
        numbers = f"{head.tokens:>6,} of {head.allotted:>6,}  {head.tokens / head.budget:>4.0%} full"
    cells = min(MAX_METER_WIDTH, width - NAME_WIDTH - len(numbers) - 3)
    name = (f"{head.layer:<{NAME_WIDTH}}", f"bold {colour}")
    if cells < 4:
        return Content.assemble(name, (numbers, MUTED))
    filled = Content(render_bar(head.tokens / head.budget, cells)).stylize(colour)
    end = round(head.share * cells)
    if head.layer != "all" and 0 < end < cells:
        is_empty_cell = filled.plain[end] == " "
        mark = Content("┊").stylize(MUTED if is_empty_cell else f"reverse {colour}")
        filled = Content.assemble(filled[:end], mark, filled[end + 1 :])
    return Content.assemble(name, ("▕", MUTED), filled, ("▏", MUTED), (numbers, MUTED))
