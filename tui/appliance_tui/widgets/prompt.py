"""The prompt as an assistant gets it, line for line, each line with the layer that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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

from appliance_tui.widgets.rows import MUTED
from appliance_tui.widgets.words import shown

LAYER_COLOURS = {
    "profile": "$primary",
    "retrieved": "$secondary",
    "summary": "$foreground",
    "recent": "$accent",
}
"""The layers in the order of the prompt, and the colour of each."""

HEADINGS = {
    "# About the person": "profile",
    "# Memories from earlier conversations, in excerpts": "retrieved",
    "# This conversation so far, in short": "summary",
    "# This conversation, its latest turns": "recent",
}
"""The lines that layers begin with. What somebody said that looks like one is quoted in a prompt."""

_ITEM = re.compile(r"\[((?:m|s|f|sum)\d+)\b")
GUTTER = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a prompt as it stands on the screen: ``item`` is the id of what it is of, "" for a heading, and
    ``begins`` says that it is the first line of that."""

    layer: str
    item: str
    begins: bool
    text: str


def lines(text: str, width: int) -> list[Line]:
    """A prompt in lines of at most so many cells."""
    found: list[Line] = []
    layer = item = ""
    for line in shown(text).removesuffix("\n").split("\n") if text else ():
        begins = True
        if line in HEADINGS:
            layer, item = HEADINGS[line], ""
        elif matched := _ITEM.match(line):
            item = matched[1]
        else:
            begins = False
        for part in wrapped(line, width):
            found.append(Line(layer, item, begins, part))
            begins = False
    return found


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line in parts of at most so many cells, broken at blanks where there are any."""
    at = 0
    while True:
        window = line[at : at + width + 1]
        end = _fits(window, width)
        if at + end >= len(line):
            yield window
            return
        blank = window.rfind(" ", 1, end + 1)
        yield window[: blank if blank > 0 else end]
        at += blank + 1 if blank > 0 else end


def _fits(text: str, width: int) -> int:
    """How many characters of a text fit into a width, one at least."""
    if text.isascii():
        return min(len(text), max(1, width))
    cells = 0
    for at, character in enumerate(text):
        cells += get_character_cell_size(character)
        if cells > width:
            return max(1, at)
    return len(text)


class PromptView(ScrollView, can_focus=True):
    """A prompt, of which one item may be marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--line", "prompt--marked"}
    DEFAULT_CSS = """
    PromptView {
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        & > .prompt--marked { background: $panel; }
    }
    """

    class Wrap(Message):
        """The view has another width, and what it shows is to be broken anew."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self.told: Mapping[str, str] = {}
        self._marked: tuple[str, str] = ("", "")
        self._broken_for = 0

    @property
    def room(self) -> int:
        """The cells that a line of the prompt may have."""
        return max(1, self.scrollable_content_region.width - GUTTER)

    def show(self, found: Sequence[Line], told: Mapping[str, str]) -> None:
        """Show a prompt in ``lines``, and ``told`` beside each layer's heading."""
        self._lines, self.told = found, told
        self._broken_for = self.room
        self.virtual_size = Size(self.scrollable_content_region.width, len(found))
        self.refresh()
        self._say_where()

    def mark(self, layer: str, item: str) -> None:
        """Mark a layer's item, or with "" the whole layer's beginning, and bring it into view."""
        self._marked = (layer, item)
        first = next(
            (i for i, line in enumerate(self._lines) if (line.layer, line.item) == (layer, item)), None
        )
        if first is not None:
            last = first
            while last + 1 < len(self._lines) and self._lines[last + 1].item == item:
                last += 1
            # Of a long one the beginning is seen, and of a short one what stands before it.
            height = min(last - first + 1, max(1, self.size.height - 1))
            self.scroll_to_region(Region(0, first, 1, height), animate=False, force=True, x_axis=False)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._say_where()

    def _say_where(self) -> None:
        top = round(self.scroll_y)
        layer = self._lines[top].layer if top < len(self._lines) else ""
        self.border_title = f"Prompt · {layer}" if layer else "Prompt"

    def on_resize(self, event: events.Resize) -> None:
        if self._lines and self.room != self._broken_for:
            self.post_message(self.Wrap())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        at = self.scroll_offset.y + y
        if at >= len(self._lines) or width <= GUTTER:
            return Strip.blank(width, self.get_visual_style("prompt--line").rich_style)
        line = self._lines[at]
        marked = bool(line.item) and (line.layer, line.item) == self._marked
        style = self.get_visual_style(*("prompt--line", "prompt--marked") if marked else ("prompt--line",))
        strip = Visual.to_strips(self, self._content(line, width, marked), width, 1, style)[0]
        return strip.extend_cell_length(width, style.rich_style).crop(0, width)

    def _content(self, line: Line, width: int, marked: bool) -> Content:
        colour = LAYER_COLOURS.get(line.layer, MUTED)
        gutter = (("▶ " if marked and line.begins else "▌ "), colour)
        if not line.item:
            told = f" {line.layer} · {self.told.get(line.layer, '')} " if line.begins else ""
            gap = width - GUTTER - cell_len(line.text) - cell_len(told)
            return Content.assemble(
                gutter, (line.text, f"bold {colour}"), " " * max(0, gap), (told if gap > 0 else "", colour)
            )
        if not line.begins:
            return Content.assemble(gutter, line.text)
        head, bracket, rest = line.text.partition("]")
        return Content.assemble(gutter, (head + bracket, MUTED), rest)
