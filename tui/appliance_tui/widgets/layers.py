"""The layers of a context as lines: a meter and the items of each, what has changed, and what was left out and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from appliance_tui.budget_shares import Shares
from appliance_tui.context_changes import ContextChange, RemovedItem
from appliance_tui.widgets.display_text import fit_width, minute, one_line, pluralize, render_bar
from appliance_tui.widgets.prompt_view import LAYER_COLOURS
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Context, ContextItem, Dropped, Message

NO_CHANGE = ContextChange()

SHARES_NOTE = "a layer may go beyond its share: it uses what others leave"

NAME_WIDTH = 10
"""Cells of a layer's name."""

MAX_ID_WIDTH = 20
"""Cells of the id of an item at most."""

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
    """An item of the prompt. ``came_in`` says what kept it out a moment ago; None if it was there before."""

    layer: str
    item: ContextItem
    came_in: str | None = None


@dataclass(frozen=True, slots=True)
class RemovedEntry:
    """An item that has just dropped out, in the place where it was."""

    removed: RemovedItem


@dataclass(frozen=True, slots=True)
class DroppedGroup:
    """All that was left out for one reason, folded or with its ``DroppedEntry`` rows below."""

    reason: str
    count: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class DroppedEntry:
    """Something that was left out, with its message if it is one. ``in_group`` where the row above has the reason."""

    dropped: Dropped
    message: Message | None
    in_group: bool = False


@dataclass(frozen=True, slots=True)
class PlainLine:
    """A line that can't be selected: a heading, a note, or the meter of the ``total``."""

    name: str
    text: str = ""
    total: LayerHead | None = None


LayerRow = LayerHead | LayerEntry | RemovedEntry | DroppedGroup | DroppedEntry | PlainLine


def layer_rows(
    context: Context,
    shares: Shares,
    dropped_messages: Mapping[str, Message],
    change: ContextChange = NO_CHANGE,
    open_reasons: Collection[str] = (),
) -> Iterator[LayerRow]:
    """The meters of a context's layers, their items in the order of the prompt, what was left out, and notes.

    Args:
        dropped_messages: Messages that were left out, by id.
        change: What is marked as having come in or dropped out.
        open_reasons: The reasons whose rows are unfolded; what was left out for any other is one row.
    """
    total = LayerHead("all", context.tokens, context.budget, sum(shares.values()), context.budget)
    yield PlainLine("all", total=total)
    # Core memory has no share: its blocks are in every context, and take what they need.
    sharing = [layer for layer in context.layers if layer.name in shares]
    for layer in sharing:
        share = shares[layer.name]
        yield LayerHead(layer.name, layer.tokens, int(context.budget * share), share, context.budget)
    if any(layer.tokens > int(context.budget * shares[layer.name]) for layer in sharing):
        yield PlainLine("", SHARES_NOTE)
    for layer in context.layers:
        removed = [one for one in change.removed if one.layer == layer.name]
        if layer.items or removed:
            yield PlainLine(layer.name, f"{pluralize(len(layer.items), 'item')}, {pluralize(layer.tokens, 'token')}")
        yield from (RemovedEntry(one) for one in removed if not one.after)
        for item in layer.items:
            yield LayerEntry(layer.name, item, change.added.get((layer.name, item.message_id)))
            yield from (RemovedEntry(one) for one in removed if one.after == item.message_id)
    if context.dropped:
        yield PlainLine("left out", f"{pluralize(len(context.dropped), 'candidate')}")
        yield from _dropped_rows(context.dropped, dropped_messages, open_reasons)
    if context.notes:
        yield PlainLine("notes")
        yield from (PlainLine("", note) for note in context.notes)


def _dropped_rows(
    left_out: Sequence[Dropped], messages: Mapping[str, Message], open_reasons: Collection[str]
) -> Iterator[LayerRow]:
    by_reason: dict[str, list[Dropped]] = {}
    for dropped in left_out:
        by_reason.setdefault(dropped.reason, []).append(dropped)
    for reason, group in by_reason.items():
        is_group, is_open = len(group) > 1, reason in open_reasons
        if is_group:
            yield DroppedGroup(reason, len(group), is_open)
        if is_open or not is_group:
            yield from (DroppedEntry(dropped, messages.get(dropped.message_id), is_group) for dropped in group)


def row_key(row: LayerRow) -> Hashable:
    """What identifies a line in the next context."""
    match row:
        case LayerHead(layer):
            return layer
        case LayerEntry(layer, item):
            return layer, item.message_id
        case RemovedEntry(removed):
            return "removed", removed.layer, removed.item.message_id
        case DroppedGroup(reason):
            return "reason", reason
        case DroppedEntry(dropped, _):
            return "left out", dropped.message_id
        case PlainLine(name, text):
            return "line", name, text


def is_plain_line(row: LayerRow) -> bool:
    """Whether a line can't be selected."""
    return isinstance(row, PlainLine)


def render_row(row: LayerRow, width: int, name_of: Callable[[str], str] = one_line) -> Content:
    """A line of the list in ``width`` cells; ``name_of`` says how authors are shown."""
    match row:
        case LayerHead():
            return _render_meter(row, width)
        case LayerEntry(layer, item, came_in):
            mark = {"full": " ", "compressed": "~", "placeholder": "…"}[item.fidelity]
            tokens, id = f" {item.tokens:,}", item.message_id
            id = f"{id:<8}" if len(id) <= MAX_ID_WIDTH else f"{id[: MAX_ID_WIDTH - 1]}…"  # a block's may be long
            text_width = max(1, width - 4 - len(id) - len(tokens))
            reason = f"was out: {came_in}  " if came_in else ""
            reason = reason if len(reason) <= text_width - 8 else fit_width(reason, max(1, text_width - 8))
            return Content.assemble(
                ("+" if came_in is not None else " ", "bold $text-success"),
                (id, LAYER_COLOURS[layer]),
                (f"{mark} ", MUTED),
                (reason, "$text-success"),
                fit_width(item.text, text_width - len(reason)),
                (tokens, MUTED),
            )
        case RemovedEntry(removed):
            head = f"−{removed.item.message_id:<8}  "
            return Content.assemble(
                (head, "bold $text-error"), (f"{removed.reason}  ", "$text-error"), (one_line(removed.item.text), MUTED)
            )
        case DroppedGroup(reason, count, is_open):
            head, hint = f" {'▾' if is_open else '▸'} {count:>6,}  ", "" if is_open else "  enter unfolds"
            has_room = len(head) + len(reason) + len(hint) <= width
            return Content.assemble((head, MUTED), (reason, "$warning"), (hint if has_room else "", MUTED))
        case DroppedEntry(dropped, message, in_group):
            line = ""
            if message is not None:
                author, text = name_of(message.who)[:20], one_line(message.text[: 4 * width])
                line = f"{author} {minute(message.timestamp)[:10]}: {text}"
            reason = "" if in_group else f"{dropped.reason}  "
            return Content.assemble((f" {dropped.message_id:<8}  ", MUTED), (reason, "$warning"), line)
        case PlainLine(name, text, total):
            if total is not None:
                return _render_meter(total, width)
            colour = f"bold {LAYER_COLOURS.get(name, '')}"
            return Content.assemble((f"{name} " if name else "   ", colour), (one_line(text), MUTED))


def _render_meter(head: LayerHead, width: int) -> Content:
    """A layer's name, its tokens as a bar of the whole budget with a mark at the end of its share, and the numbers."""
    colour = LAYER_COLOURS.get(head.layer, MUTED)
    numbers = f"{head.tokens:>6,}  share {head.allotted:>6,}  {head.share:>4.0%}"
    if head.layer == "all":
        numbers = f"{head.tokens:>6,} of {head.allotted:>6,}  {head.tokens / head.budget:>4.0%} full".rjust(
            len(numbers)
        )
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
