"""The list of conversations, two lines each, branches under their parents. Only the visible ones are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from appliance.lazy_dataclasses import dataclass
from appliance_tui.selection import SelectableRows
from appliance_tui.widgets.display_text import day, fit_width, one_line
from appliance_tui.widgets.text_rendering import text_style

if TYPE_CHECKING:
    from appliance.types import SessionInfo
    from appliance_tui.app import ApplianceApp

LINES_PER_ROW = 2
"""Lines of a conversation: title and details."""

MAX_INDENT_DEPTH = 6
"""Depth of branches up to which rows are indented further."""

GUTTER = 3
COUNT_WIDTH = 9
"""Columns of the message count."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A conversation in the list. ``depth`` is above 0 for branches that follow their parent."""

    info: SessionInfo
    depth: int = 0


def arrange_branches(infos: Sequence[SessionInfo]) -> list[SessionRow]:
    """Put branches under their parents; each family takes the place of its first conversation."""
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
    rows: list[SessionRow] = []
    stack = [SessionRow(known[id]) for id in reversed(roots)]
    while stack:
        row = stack.pop()
        rows.append(row)
        stack += [SessionRow(info, row.depth + 1) for info in reversed(branches[row.info.id])]
    return rows


class SessionList(SelectableRows, ScrollView, can_focus=True, inherit_bindings=False):
    """The list, with one conversation selected."""

    ALLOW_SELECT = False

    mark: reactive[int] = reactive(0)

    class Marked(Message):
        """Another conversation is selected."""

    class Chosen(Message):
        """The selected conversation was clicked again."""

    class NearEnd(Message):
        """The end of the list is near; more should be loaded."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rows: Sequence[SessionRow] = ()

    def show(self, infos: Sequence[SessionInfo], *, keep_mark: bool) -> None:
        """Show conversations. ``keep_mark`` keeps the selection and its position on the screen."""
        marked, row = self.marked, self.mark * LINES_PER_ROW - self.scroll_offset.y
        self.rows = arrange_branches(infos)
        self.virtual_size = Size(self.size.width, len(self.rows) * LINES_PER_ROW)
        index = 0
        if keep_mark and marked is not None:
            last = min(self.mark, len(self.rows) - 1)
            index = next((index for index, other in enumerate(self.rows) if other.info.id == marked.id), last)
        self.set_reactive(SessionList.mark, max(0, index))
        self._scroll_at(self.mark * LINES_PER_ROW - row if keep_mark else 0)
        self.refresh()
        self.post_message(self.Marked())
        self._request_more()

    @property
    def marked(self) -> SessionInfo | None:
        """The selected conversation."""
        return self.rows[self.mark].info if self.mark < len(self.rows) else None

    def row_ids(self) -> Sequence[str | None]:
        return [row.info.id for row in self.rows]

    def current_row(self) -> int | None:
        return self.mark if self.rows else None

    def step_row(self, by: int) -> None:
        self.move(by)

    def row_at(self, line: int) -> int | None:
        index = line // LINES_PER_ROW
        return index if index < len(self.rows) else None

    def row_marked_on(self, line: int) -> int | None:
        index, inner = divmod(line, LINES_PER_ROW)
        return index if inner and index < len(self.rows) else None  # the star of a pinned one is on the first line

    def move(self, by: int) -> None:
        """Move the selection by so many rows and scroll it into view."""
        if not self.rows:
            return
        self.mark = max(0, min(self.mark + by, len(self.rows) - 1))
        top, begin = self.scroll_offset.y, self.mark * LINES_PER_ROW
        if begin < top:
            self._scroll_at(begin)
        elif begin + LINES_PER_ROW > top + self.size.height:
            self._scroll_at(begin + LINES_PER_ROW - self.size.height)

    def action_step(self, by: int) -> None:
        """As ``Navigable``."""
        self.move(by)

    def action_page(self, by: int) -> None:
        """As ``Navigable``."""
        self.move(by * max(1, self.size.height // LINES_PER_ROW - 1))

    def action_end(self, last: bool) -> None:
        """As ``Navigable``."""
        self.move(len(self.rows) if last else -len(self.rows))

    def _scroll_at(self, line: int) -> None:
        self.scroll_target_y = self.scroll_y = max(0, min(line, self.max_scroll_y))
        self._request_more()

    def _request_more(self) -> None:
        if self.scroll_offset.y + 3 * self.size.height >= len(self.rows) * LINES_PER_ROW:
            self.post_message(self.NearEnd())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        first = -(-self.scroll_offset.y // LINES_PER_ROW)
        last = (self.scroll_offset.y + self.size.height) // LINES_PER_ROW - 1
        if self.rows and self.size.height >= LINES_PER_ROW:
            self.mark = max(first, min(self.mark, last, len(self.rows) - 1))
        self._request_more()

    def watch_mark(self) -> None:
        self.post_message(self.Marked())

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows) * LINES_PER_ROW)
        self.move(0)

    def on_click(self, event: events.Click) -> None:
        if self.select_by_mouse(event):
            return
        index = (self.scroll_offset.y + event.y) // LINES_PER_ROW
        if index == self.mark < len(self.rows):
            self.post_message(self.Chosen())
        elif index < len(self.rows):
            self.mark = index

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        index, line = divmod(self.scroll_offset.y + y, LINES_PER_ROW)
        if index >= len(self.rows):
            return Strip.blank(width, base)
        row = self.rows[index]
        colours = dict(text_style(width, self.app.theme_variables).colours)
        marked = index == self.mark
        if line == 0:
            title = cast("ApplianceApp", self.app).title_of(row.info.title or row.info.external_id)
            segments = _title_segments(row, title, marked, width, colours)
        else:
            segments = _detail_segments(row, marked, width, colours)
        strip = Strip(segments).adjust_cell_length(width)
        return self.checked(strip.apply_style(base + Style(bgcolor=colours["surface"]) if marked else base), y)


def _gutter_segments(marked: bool, star: bool, colours: Mapping[str, str]) -> list[Segment]:
    return [
        Segment("▌" if marked else " ", Style(color=colours["accent"])),
        Segment("★ " if star else "  ", Style(color=colours["warning"])),
    ]


def _title_segments(row: SessionRow, title: str, marked: bool, width: int, colours: Mapping[str, str]) -> list[Segment]:
    info = row.info
    tree = "  " * (min(row.depth, MAX_INDENT_DEPTH) - 1) + "└ " if row.depth else "↳ " if info.branch_of else ""
    title_width = max(1, width - GUTTER - len(tree) - COUNT_WIDTH - 1)
    style = Style(color=colours["foreground"], bold=True, italic=info.title_found or None)
    return [
        *_gutter_segments(marked, info.pinned, colours),
        Segment(tree, Style(color=colours["muted"])),
        Segment(fit_width(title, title_width), style),
        Segment(f"{info.messages:>{COUNT_WIDTH},} ", Style(color=colours["primary"])),
    ]


def _detail_segments(row: SessionRow, marked: bool, width: int, colours: Mapping[str, str]) -> list[Segment]:
    info = row.info
    indent = "  " * min(row.depth, MAX_INDENT_DEPTH)
    text_width = max(1, width - GUTTER - len(indent) - 1)
    source = one_line(info.format)
    source = fit_width(source, min(cell_len(source), text_width))
    rest = " " + fit_width(session_details(info), max(0, text_width - 1 - cell_len(source)))
    return [
        *_gutter_segments(marked, False, colours),
        Segment(indent),
        Segment(source, Style(color=colours["secondary"])),
        Segment(rest, Style(color=colours["muted"])),
    ]


def session_details(info: SessionInfo) -> str:
    """Dates, agents, shared messages and tags of a conversation, each after a dot."""
    first, last = day(info.first_at), day(info.last_at)
    parts = [
        first if first == last else f"{first} – {last}",
        "with " + ", ".join(map(one_line, info.agents)) if info.agents else "",
        f"shares {info.shared:,}" if info.branch_of else "",
        " ".join(f"#{one_line(tag)}" for tag in info.tags),
    ]
    return "".join(f" · {part}" for part in parts if part)
