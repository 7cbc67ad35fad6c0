"""Conversations as a list: two lines each, branches under the one that they left. What is on the screen is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from appliance_tui.widgets.drawing import look
from appliance_tui.widgets.words import day, fitted, one_line

if TYPE_CHECKING:
    from appliance.types import SessionInfo

LINES = 2
"""Lines of a conversation: its title, and what it is."""

DEEPEST = 6
"""Branches of branches that are moved to the right at most."""

GUTTER = 3
NUMBER = 9
"""Columns of the number of messages."""


@dataclass(frozen=True, slots=True)
class Row:
    """A conversation in the list; ``depth`` is 0 but for branches under the one that they left."""

    info: SessionInfo
    depth: int = 0


def arranged(infos: Sequence[SessionInfo]) -> list[Row]:
    """Conversations in their order, each family of branches where the first of it stands."""
    known: dict[str, SessionInfo] = {}
    for info in infos:
        known.setdefault(info.id, info)
    branches: defaultdict[str, list[SessionInfo]] = defaultdict(list)
    for info in known.values():
        if info.branch_of in known:
            branches[info.branch_of or ""].append(info)
    roots: dict[str, None] = {}
    for info in known.values():
        while info.branch_of in known:
            info = known[info.branch_of or ""]
        roots.setdefault(info.id)
    rows: list[Row] = []
    waiting = [Row(known[id]) for id in reversed(roots)]
    while waiting:
        row = waiting.pop()
        rows.append(row)
        waiting += [Row(one, row.depth + 1) for one in reversed(branches[row.info.id])]
    return rows


class SessionList(ScrollView, can_focus=True, inherit_bindings=False):
    """The list, one conversation of it marked."""

    ALLOW_SELECT = False

    mark: reactive[int] = reactive(0)

    class Marked(Message):
        """Another conversation is marked."""

    class Chosen(Message):
        """The marked one was clicked again."""

    class NearEnd(Message):
        """The person will soon have seen all that is listed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()

    def show(self, infos: Sequence[SessionInfo], *, keep: bool) -> None:
        """Show conversations; with ``keep`` the marked one stays marked and where it is."""
        marked, row = self.marked, self.mark * LINES - self.scroll_offset.y
        self.rows = arranged(infos)
        self.virtual_size = Size(self.size.width, len(self.rows) * LINES)
        place = None
        if keep and marked is not None:
            place = next((n for n, one in enumerate(self.rows) if one.info.id == marked.id), None)
            place = min(self.mark, len(self.rows) - 1) if place is None else place
        self.set_reactive(SessionList.mark, max(0, place or 0))
        self._scroll_at(self.mark * LINES - row if keep else 0)
        self.refresh()
        self.post_message(self.Marked())
        self._look_ahead()

    @property
    def marked(self) -> SessionInfo | None:
        """The conversation that is marked."""
        return self.rows[self.mark].info if self.mark < len(self.rows) else None

    def move(self, by: int) -> None:
        """Mark another one, so many rows further, and bring it to view."""
        if not self.rows:
            return
        self.mark = max(0, min(self.mark + by, len(self.rows) - 1))
        top, begin = self.scroll_offset.y, self.mark * LINES
        if begin < top:
            self._scroll_at(begin)
        elif begin + LINES > top + self.size.height:
            self._scroll_at(begin + LINES - self.size.height)

    @property
    def page(self) -> int:
        """The rows of a screen."""
        return max(1, self.size.height // LINES - 1)

    def _scroll_at(self, line: int) -> None:
        self.scroll_target_y = self.scroll_y = max(0, min(line, self.max_scroll_y))
        self._look_ahead()

    def _look_ahead(self) -> None:
        if self.scroll_offset.y + 3 * self.size.height >= len(self.rows) * LINES:
            self.post_message(self.NearEnd())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        first = -(-self.scroll_offset.y // LINES)
        last = (self.scroll_offset.y + self.size.height) // LINES - 1
        if self.rows and self.size.height >= LINES:
            self.mark = max(first, min(self.mark, last, len(self.rows) - 1))
        self._look_ahead()

    def watch_mark(self) -> None:
        self.post_message(self.Marked())

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows) * LINES)
        self.move(0)

    def on_click(self, event: events.Click) -> None:
        place = (self.scroll_offset.y + event.y) // LINES
        if place < len(self.rows):
            again = place == self.mark
            self.mark = place
            if again:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        place, line = divmod(self.scroll_offset.y + y, LINES)
        if place >= len(self.rows):
            return Strip.blank(width, base)
        row = self.rows[place]
        colours = dict(look(width, self.app.theme_variables).colours)
        marked = place == self.mark
        drawn = (_title if line == 0 else _about)(row, marked, width, colours)
        strip = Strip(drawn).adjust_cell_length(width)
        return strip.apply_style(base + Style(bgcolor=colours["surface"]) if marked else base)


def _left(row: Row, marked: bool, star: bool, colours: Mapping[str, str]) -> list[Segment]:
    return [
        Segment("▌" if marked else " ", Style(color=colours["accent"])),
        Segment("★ " if star else "  ", Style(color=colours["warning"])),
    ]


def _title(row: Row, marked: bool, width: int, colours: Mapping[str, str]) -> list[Segment]:
    info = row.info
    tree = "  " * (min(row.depth, DEEPEST) - 1) + "└ " if row.depth else "↳ " if info.branch_of else ""
    room = max(1, width - GUTTER - len(tree) - NUMBER - 1)
    name = one_line(info.title or info.external_id)
    style = Style(color=colours["foreground"], bold=True, italic=info.title_found or None)
    number = f"{info.messages:,}"
    return [
        *_left(row, marked, info.pinned, colours),
        Segment(tree, Style(color=colours["muted"])),
        Segment(fitted(name, room), style),
        Segment(f"{number:>{NUMBER}} ", Style(color=colours["primary"])),
    ]


def _about(row: Row, marked: bool, width: int, colours: Mapping[str, str]) -> list[Segment]:
    info = row.info
    indent = "  " * min(row.depth, DEEPEST)
    room = max(1, width - GUTTER - len(indent) - 1)
    words = about(info)
    source = one_line(info.format)
    source = fitted(source, min(cell_len(source), room))
    rest = " " + fitted(words, max(0, room - 1 - cell_len(source)))
    return [
        *_left(row, marked, False, colours),
        Segment(indent),
        Segment(source, Style(color=colours["secondary"])),
        Segment(rest, Style(color=colours["muted"])),
    ]


def about(info: SessionInfo) -> str:
    """From when to when it goes, with whom it is, and what it shares, each behind a dot."""
    first, last = day(info.first_at), day(info.last_at)
    parts = [
        first if first == last else f"{first} – {last}",
        "with " + ", ".join(one_line(one) for one in info.agents) if info.agents else "",
        f"shares {info.shared:,}" if info.branch_of else "",
    ]
    return "".join(f" · {part}" for part in parts if part)
