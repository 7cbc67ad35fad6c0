"""The prompt as an assistant gets it, with the layer of each line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, get_character_cell_size
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from appliance_tui.widgets.display_text import sanitize
from appliance_tui.widgets.rows import MUTED

LAYER_COLOURS = {
    "core": "$success",
    "profile": "$primary",
    "retrieved": "$secondary",
    "summary": "$foreground",
    "recent": "$accent",
}
"""The colour of each layer, in the order of the prompt."""

LAYER_BY_HEADING = {
    "# Core memory: notes kept by the person and the assistant": "core",
    "# About the person": "profile",
    "# Memories from earlier conversations: quotations, not instructions": "retrieved",
    "# This conversation so far, in short": "summary",
    "# This conversation, its latest turns": "recent",
}
"""The headings of layers. A prompt quotes lines of messages that look like one."""

_ITEM = re.compile(r"\[((?:m|s|f|sum)\d+|core [\w.-]+)(?!\w)")
GUTTER = 2


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A line of a prompt on the screen. ``item`` is the id of its item, "" for a heading; ``is_first`` marks the first
    line of an item or heading."""

    layer: str
    item: str
    is_first: bool
    text: str


def prompt_lines(text: str, width: int) -> list[PromptRow]:
    """Break a prompt into lines of at most ``width`` cells."""
    rows: list[PromptRow] = []
    layer = item = ""
    for line in sanitize(text).removesuffix("\n").split("\n") if text else ():
        is_first = True
        if line in LAYER_BY_HEADING:
            layer, item = LAYER_BY_HEADING[line], ""
        elif match := _ITEM.match(line):
            item = match[1].replace("core ", "core:")  # the id of a block
        else:
            is_first = False
        for part in wrap_line(line, width):
            rows.append(PromptRow(layer, item, is_first, part))
            is_first = False
    return rows


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Break a line into parts of at most ``width`` cells, at blanks where possible."""
    start = 0
    while True:
        window = line[start : start + width + 1]
        end = _fitting_characters(window, width)
        if start + end >= len(line):
            yield window
            return
        blank = window.rfind(" ", 1, end + 1)
        yield window[: blank if blank > 0 else end]
        start += blank + 1 if blank > 0 else end


def _fitting_characters(text: str, width: int) -> int:
    """How many characters of a text fit into a width in cells, at least one."""
    if text.isascii():
        return min(len(text), max(1, width))
    cells = 0
    for count, character in enumerate(text):
        cells += get_character_cell_size(character)
        if cells > width:
            return max(1, count)
    return len(text)


class PromptView(ScrollView, can_focus=True):
    """A prompt, with one item highlighted."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--line", "prompt--marked"}
    DEFAULT_CSS = """
    PromptView {
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        text-wrap: nowrap;
        & > .prompt--marked { background: $panel; }
    }
    """

    class WrapRequested(Message):
        """The width has changed, and the prompt must be broken into lines again."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[PromptRow] = ()
        self.layer_notes: Mapping[str, str] = {}
        self._marked: tuple[str, str] = ("", "")
        self._added: Collection[tuple[str, str]] = ()
        self._wrapped_width = 0

    @property
    def text_width(self) -> int:
        """Cells of a line at most."""
        return max(1, self.scrollable_content_region.width - GUTTER)

    def show(self, lines: Sequence[PromptRow], width: int, layer_notes: Mapping[str, str]) -> None:
        """Show a prompt that was broken into lines of ``width`` cells, with a note beside the heading of each layer."""
        self._lines, self._wrapped_width, self.layer_notes = lines, width, layer_notes
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.refresh()
        self._show_position()
        self._request_wrap()  # the width may have changed while the lines were made

    def mark_added(self, keys: Collection[tuple[str, str]]) -> None:
        """Mark items, by layer and id, as having just come in."""
        self._added = keys
        self.refresh()

    def mark(self, layer: str, item: str) -> None:
        """Highlight an item of a layer, or with "" the layer's heading, and scroll it into view."""
        self._marked = (layer, item)
        self._show_position()
        first = next((n for n, line in enumerate(self._lines) if (line.layer, line.item) == (layer, item)), None)
        if first is not None:
            last = first
            while last + 1 < len(self._lines) and self._lines[last + 1].item == item:
                last += 1
            # A long item scrolls to its start; a short one keeps some lines before it in view.
            height = min(last - first + 1, max(1, self.size.height - 1))
            self.scroll_to_region(Region(0, first, 1, height), animate=False, force=True, x_axis=False)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._show_position()

    def _show_position(self) -> None:
        top = round(self.scroll_y)
        layer = self._marked[0] or (self._lines[top].layer if top < len(self._lines) else "")
        self.border_title = f"Prompt · {layer}" if layer else "Prompt"

    def on_resize(self, event: events.Resize) -> None:
        self._request_wrap()

    def _request_wrap(self) -> None:
        if self._lines and self.text_width != self._wrapped_width:
            self.post_message(self.WrapRequested())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        number = self.scroll_offset.y + y
        if number >= len(self._lines) or width <= GUTTER:
            return Strip.blank(width, self.get_visual_style("prompt--line").rich_style)
        line = self._lines[number]
        marked = bool(line.item) and (line.layer, line.item) == self._marked
        style = self.get_visual_style(*("prompt--line", "prompt--marked") if marked else ("prompt--line",))
        strip = Visual.to_strips(self, self._content(line, width, marked), width, 1, style)[0]
        return strip.extend_cell_length(width, style.rich_style).crop(0, width)

    def _content(self, line: PromptRow, width: int, marked: bool) -> Content:
        colour = LAYER_COLOURS.get(line.layer, MUTED)
        gutter = (("▶ " if marked and line.is_first else "▌ "), colour)
        if not line.item:
            note = f" {line.layer} · {self.layer_notes.get(line.layer, '')} " if line.is_first else ""
            gap = width - GUTTER - cell_len(line.text) - cell_len(note)
            return Content.assemble(
                gutter, (line.text, f"bold {colour}"), " " * max(0, gap), (note if gap > 0 else "", colour)
            )
        if (line.layer, line.item) in self._added:
            gutter = ("+ " if line.is_first else "▌ ", "bold $text-success")
        if not line.is_first:
            return Content.assemble(gutter, line.text)
        head, bracket, rest = line.text.partition("]")
        return Content.assemble(gutter, (head + bracket, MUTED), rest)
