"""The start page: what the screen shows before anything is typed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from appliance.errors import ApplianceError
from appliance_tui.author_colours import readable_colours
from appliance_tui.workers import CoalescingRefresh, begin

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import StartPage
    from appliance_tui.app import ApplianceApp
    from appliance_tui.widgets.start_entries import StartEntry
    from appliance_tui.widgets.start_layout import Cell

MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 4.0
"""The bounds of the pause between two readings of the page: while files are imported, the memory changes many times a
second."""

READING_SHARE = 0.05
"""The share of the time that goes into reading the page, within these bounds: it takes longer where there is more."""

MARK = "▌ "
"""What stands before the selected entry, which is seen without colours too; before others as much is blank."""


class StartPagePanel(ScrollView, can_focus=False, inherit_bindings=False):
    """The start page, of whose entries one may be selected. The search line keeps the focus: every letter is typed
    there, and its arrows move the selection. The page reads itself, and again when the memory changes, as
    long as it is shown.

    What draws the entries is loaded with the first page, after the first frame.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"start--entry", "start--marked", "start--hovered"}
    DEFAULT_CSS = """
    StartPagePanel {
        height: 1fr;
        background: $background;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        & > .start--hovered { background: $block-hover-background; }
        & > .start--marked { background: $block-cursor-background; color: $block-cursor-foreground; }
    }
    """

    marked: reactive[int | None] = reactive(None)
    """The index of the selected entry."""
    hovered: reactive[int | None] = reactive(None)
    """The index of the entry under the pointer."""

    class Loaded(Message):
        """The page has been read."""

        def __init__(self, page: StartPage) -> None:
            super().__init__()
            self.page = page

    class Searched(Message):
        """An example is to be searched for."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

    def __init__(self) -> None:
        super().__init__(id="start-page")
        self.page: StartPage | None = None
        self.entries: Sequence[StartEntry] = ()
        self.lines: Sequence[Sequence[Cell]] = ()
        self.columns: Sequence[int] = (0,)
        self.is_searching = False
        self._is_stale = True
        self._is_reading = False
        self._seconds = 0.0

    def on_mount(self) -> None:
        self._refresh_soon = CoalescingRefresh(self, self._read_and_pause)
        self.app.theme_changed_signal.subscribe(self, lambda _: self._arrange())
        self.watch(self.app, "user", self._user_changed, init=False)
        self.watch(self.app, "name_keys", lambda people: self._arrange(), init=False)
        self.read()

    # --- reading ------------------------------------------------------------------------------------------

    def _user_changed(self) -> None:
        self.page, self.entries, self.lines = None, (), ()
        self.marked = None
        self.display = False
        self.read()

    def read(self) -> None:
        """Read the page now, for the user whose memory is shown."""
        self._is_reading = True
        begin(self, self._read_first, "start-page", exclusive=True)

    async def _read_first(self) -> None:
        try:
            await self._read()
        finally:
            self._is_reading = False
        if self._is_stale and self.page is not None:
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """Read the page again, unless another screen is shown, or somebody searches a memory that is not empty: then
        when it is shown next."""
        self._is_stale = True
        if (not self.is_searching or self.is_empty) and not self._is_reading and self.screen.is_current:
            self._refresh_soon()

    def set_searching(self, is_searching: bool) -> None:
        """Hide the page while something is searched for, and show it again; then nothing is selected."""
        if is_searching != self.is_searching:
            self.is_searching = is_searching
            self.marked = None
            if not is_searching and self._is_stale:
                self._refresh_soon()
        self.display = not is_searching and not self.is_empty and self.page is not None

    @property
    def is_empty(self) -> bool:
        """Whether it is known that there is nothing to show."""
        return self.page is not None and not self.page.sessions

    async def _read_and_pause(self) -> None:
        await self._read()
        await asyncio.sleep(min(max(MIN_PAUSE_SECONDS, self._seconds / READING_SHARE), MAX_PAUSE_SECONDS))

    async def _read(self) -> None:
        user = self._appliance.user
        page = None
        with suppress(ApplianceError):  # searches and the app itself report it; the page as it was is better than none
            page = await self._appliance.memory_worker.run_query(partial(self._read_unless_searching, user=user))
        if page is None:
            self._is_stale = True
        elif self.is_attached and user == self._appliance.user:
            self.show(page)

    def _read_unless_searching(self, memory: Appliance, user: str | None) -> StartPage | None:
        """Read the page on a thread, and load there what draws it; a search that was typed meanwhile comes first."""
        if self.is_searching and not self.is_empty:
            return None
        from appliance_tui.widgets import start_layout  # noqa: F401

        self._is_stale = False
        start = time.monotonic()
        page = memory.overview.start_page(user_id=user)
        self._seconds = time.monotonic() - start
        return page

    def show(self, page: StartPage) -> None:
        """Show a page. The same entry stays selected if it is still there."""
        self.page = page
        self._arrange()
        self.post_message(self.Loaded(page))

    @property
    def _appliance(self) -> ApplianceApp:
        return cast("ApplianceApp", self.app)

    # --- drawing ------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        """Lay the page out again; the same entry stays selected."""
        if self.page is None or not self.is_attached:
            return
        from appliance_tui.widgets.start_entries import Look, entry_key, local_today, page_heading, start_sections
        from appliance_tui.widgets.start_layout import arrange

        key = None if self.chosen is None else entry_key(self.chosen)
        today, size = local_today(), self.scrollable_content_region
        app = self._appliance
        look = Look(readable_colours(app.theme_variables), app.name_keys, today, app.name_of, app.title_of)
        heading = page_heading(self.page, today, size.width)
        layout = arrange(heading, start_sections(self.page), size.width, size.height, look)
        self.entries, self.lines, self.columns = layout.entries, layout.lines, layout.columns
        index = next((place for place, entry in enumerate(self.entries) if entry_key(entry) == key), None)
        if index is None and key is not None and self.entries:
            index = min(self.marked or 0, len(self.entries) - 1)
        self.set_reactive(StartPagePanel.marked, index)
        self.set_reactive(StartPagePanel.hovered, None)
        self.virtual_size = Size(size.width, len(self.lines))
        self._scroll_to_mark()
        self.refresh()

    def on_resize(self) -> None:
        self._arrange()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, line = self.scrollable_content_region.width, self.scroll_offset.y + y
        base = self.get_visual_style("start--entry")
        blank = Segment(" ", base.rich_style)
        strips = [Strip([], 0)]
        end = 0
        for cell in self.lines[line] if line < len(self.lines) else ():
            if cell.x > end:
                strips.append(Strip([Segment(blank.text * (cell.x - end), base.rich_style)], cell.x - end))
            strips.append(self._render_cell(cell))
            end = cell.x + cell.width
        return Strip.join(strips).extend_cell_length(width, base.rich_style).crop(0, width)

    def _render_cell(self, cell: Cell) -> Strip:
        is_marked = cell.entry is not None and cell.entry == self.marked
        is_hovered = cell.entry is not None and cell.entry == self.hovered
        names = ("start--entry", *(("start--marked",) if is_marked else ("start--hovered",) if is_hovered else ()))
        style = self.get_visual_style(*names)
        strip = Visual.to_strips(
            self, cell.content, max(1, cell.width - (len(MARK) if cell.entry is not None else 0)), 1, style
        )[0]
        if cell.entry is None:
            return strip.extend_cell_length(cell.width, style.rich_style).crop(0, cell.width)
        colour = readable_colours(self.app.theme_variables).meter
        bar = Segment(MARK if is_marked else " " * len(MARK), style.rich_style + Style(color=colour))
        return Strip([bar, *strip]).extend_cell_length(cell.width, style.rich_style).crop(0, cell.width)

    # --- moving -------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> StartEntry | None:
        """The selected entry."""
        return self.entries[self.marked] if self.marked is not None and self.marked < len(self.entries) else None

    @property
    def pinned_id(self) -> str:
        """The id of the selected pinned message, "" if another entry is selected."""
        from appliance_tui.widgets.start_entries import PinnedEntry

        return chosen.message.id if isinstance(chosen := self.chosen, PinnedEntry) else ""

    def move(self, by: int) -> bool:
        """Move the selection for the search line, out of it above the first entry; False if it did not move."""
        if not self.display or not self.entries or (self.marked is None and by < 0):
            return False
        index = by - 1 if self.marked is None else self.marked + by
        self.marked = None if index < 0 else min(index, len(self.entries) - 1)
        return True

    def action_step(self, by: int) -> None:
        """As ``Navigable``."""
        self.move(by)

    def action_page(self, by: int) -> None:
        """Move the selection by about a screen."""
        if self.entries:
            index = (self.marked or 0) + by * max(1, self.size.height // 2)
            self.marked = min(max(index, 0), len(self.entries) - 1)

    def action_end(self, last: bool) -> None:
        """Select the first or the last entry."""
        if self.entries:
            self.marked = len(self.entries) - 1 if last else 0

    def action_side(self, by: int) -> None:
        """Select the entry beside the selected one, in the other column."""
        starts, count = self.columns, len(self.entries)
        if self.marked is None or len(starts) < 2:
            return
        own = max(place for place, start in enumerate(starts) if start <= self.marked)
        other = own + by
        if 0 <= other < len(starts):
            column = range(starts[other], starts[other + 1] if other + 1 < len(starts) else count)
            row = self._row(self.marked)
            self.marked = min(column, key=lambda index: abs(self._row(index) - row), default=self.marked)

    def _row(self, entry: int) -> int:
        """The first line of an entry."""
        lines = self.lines
        return next((row for row, line in enumerate(lines) if any(cell.entry == entry for cell in line)), 0)

    def watch_marked(self) -> None:
        self._scroll_to_mark()
        self.refresh()
        self.screen.refresh_bindings()

    def watch_hovered(self) -> None:
        self.styles.pointer = "default" if self.hovered is None else "pointer"
        self.refresh()

    def _scroll_to_mark(self) -> None:
        if self.marked is not None:
            row = self._row(self.marked)
            top = 0 if self.marked == 0 else row  # with the heading above it
            self.scroll_to_region(Region(0, top, 1, row - top + 2), animate=False, force=True, x_axis=False)

    def _entry_at(self, event: events.MouseEvent) -> int | None:
        offset = event.get_content_offset(self)
        row = -1 if offset is None else offset.y + self.scroll_offset.y
        if offset is None or not 0 <= row < len(self.lines):
            return None
        cells = self.lines[row]
        return next((cell.entry for cell in cells if cell.x <= offset.x < cell.x + cell.width), None)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.hovered = self._entry_at(event)

    def on_leave(self) -> None:
        self.hovered = None

    def on_click(self, event: events.Click) -> None:
        if (entry := self._entry_at(event)) is None:
            return
        if entry == self.marked:
            self.action_select()
        else:
            self.marked = entry

    # --- opening ------------------------------------------------------------------------------------------

    def action_select(self) -> None:
        """Open the selected entry: a message in its conversation, what waits on its screen; an example is searched."""
        from appliance_tui.widgets.start_entries import DayEntry, ExampleEntry, PinnedEntry, SessionEntry, WaitingEntry

        match self.chosen:
            case SessionEntry(recent):
                self._appliance.read(recent.session.id, recent.last.id if recent.last is not None else None)
            case DayEntry(anniversary):
                self._appliance.read(anniversary.session.id, anniversary.messages[0].id)
            case PinnedEntry(message):
                self._appliance.read(message.session_id, message.id)
            case ExampleEntry(query):
                self.post_message(self.Searched(query))
            case WaitingEntry(kind):
                # Not here: the screen that opens waits until this one has handled what it is at.
                self.app.call_later(partial(self._open_waiting, kind))

    async def _open_waiting(self, kind: str) -> None:
        if kind == "contradictions":
            await self.app.switch_mode("memory")
            await self.app.run_action("view('review')", self.app.screen)
        elif kind == "archived":
            begin(self, self._choose_archived, "archived", exclusive=True)
        else:
            await self.app.switch_mode("people" if kind == "proposals" else "inbox")
            if kind == "proposals":
                await self.app.run_action("show_proposals", self.app.screen)
            elif kind == "imports":
                await self.app.run_action("show_unfinished", self.app.screen)

    async def _choose_archived(self) -> None:
        from appliance_tui.screens.picker import PickerOption, PickerScreen

        if self.page is None:
            return
        infos = self.page.waiting.archived_soon
        options = [
            PickerOption("", one.title or one.external_id, f"{one.id} · {(one.last_at or '')[:10]}") for one in infos
        ]
        chosen = await self.app.push_screen_wait(
            PickerScreen("About to be archived: read one, and pin what should stay", options)
        )
        if chosen is not None:
            self._appliance.read(infos[options.index(chosen)].id)
