"""A line of parts that can be clicked, such as keys and the names of screens."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from appliance.lazy_dataclasses import dataclass

HOVER = "on $block-cursor-background"


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of the line. ``value`` is what a click on it means, "" for a text that can't be clicked."""

    content: Content
    value: str = ""
    tooltip: str = ""


class ClickLine(Static):
    """Parts one after another on one line; the one under the pointer is highlighted."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "ClickLine { height: 1; text-wrap: nowrap; }"

    hovered: reactive[int | None] = reactive(None)
    """The index of the part under the pointer."""

    class Clicked(Message):
        """A part was clicked."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.parts: Sequence[LinePart] = ()

    def show(self, parts: Sequence[LinePart]) -> None:
        """Show other parts."""
        if list(parts) != list(self.parts):
            self.parts = parts
            self.set_reactive(ClickLine.hovered, None)
            self._draw()

    def watch_hovered(self) -> None:
        part = None if self.hovered is None else self.parts[self.hovered]
        self.styles.pointer = "default" if part is None else "pointer"
        self.tooltip = part.tooltip or None if part is not None else None
        self._draw()

    def _draw(self) -> None:
        contents = [
            part.content.stylize(HOVER) if index == self.hovered else part.content
            for index, part in enumerate(self.parts)
        ]
        self.update(Content.assemble(*contents))

    def _part_at(self, x: int) -> int | None:
        """The index of the part at a column that can be clicked."""
        end = 0
        for index, part in enumerate(self.parts):
            end += part.content.cell_length
            if x < end:
                return index if part.value else None
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.hovered = self._part_at(event.x)

    def on_leave(self) -> None:
        self.hovered = None

    def on_click(self, event: events.Click) -> None:
        if (index := self._part_at(event.x)) is not None:
            event.stop()
            self.post_message(self.Clicked(self.parts[index].value))
