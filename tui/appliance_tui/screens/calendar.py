"""The calendar: how many messages each day of a year has, and the conversations of the selected day."""

from __future__ import annotations

import asyncio
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from appliance_tui.calendar_days import CalendarFilters, FilterKind, in_year, load_day, load_days, local_time, today
from appliance_tui.frame import FrameScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.widgets.display_text import fit_width, one_line, pluralize, sanitize
from appliance_tui.widgets.rows import MUTED, ActionRows, RowList
from appliance_tui.widgets.year_grid import WEEKDAYS, YearGrid
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, show_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from appliance.types import SessionDay

DAY_PAUSE_SECONDS = 0.06
"""Seconds that the selection rests on a day before its conversations are loaded."""

CHANGE_PAUSE_SECONDS = 0.5
"""Seconds after a change in the memory before the days are counted again: an import makes many."""

SNIPPET_CHARACTERS = 300

PREVIEW_CHARACTERS = 600
"""Characters of each message in the preview."""


def years_around(parts: Mapping[int, Content], selected: int, width: int) -> Content:
    """The years on one line: where not all have room, the selected one and those nearest to it."""
    gap, more = Content("  "), Content.styled("…", MUTED)
    shown = gap.join(parts.values())
    if shown.cell_length <= width:
        return shown
    years = {selected}
    for year in sorted(parts, key=lambda year: abs(year - selected)):
        wanted = [parts[year] for year in sorted(years | {year})]
        if gap.join([more, *wanted, more]).cell_length > width:
            break
        years.add(year)
    ends = [more] if min(years) > min(parts) else [], [more] if max(years) < max(parts) else []
    return gap.join([*ends[0], *(parts[year] for year in sorted(years)), *ends[1]])


class CalendarScreen(FrameScreen):
    """A year as a heatmap, and below it what was said on the selected day."""

    CSS_PATH = "calendar.tcss"
    PLACE = "calendar"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    AUTO_FOCUS = "#calendar-year"

    def __init__(self, filters: CalendarFilters | None = None) -> None:
        super().__init__()
        self.filters = filters or CalendarFilters()

    def body(self) -> ComposeResult:
        yield Static("", id="calendar-title", markup=False)
        yield Static("", id="calendar-years")
        yield YearGrid(id="calendar-year", today=today())
        yield Static("", id="calendar-legend", markup=False)
        yield Static("Loading…", id="calendar-day", markup=False)
        with Container(id="calendar-split"):
            yield ActionRows["SessionDay"](
                self._session_line, key=lambda found: found.session.id, id="calendar-sessions"
            )
            with VerticalScroll(id="calendar-preview", can_focus=False):
                yield Static("", id="calendar-messages", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._is_loaded = False
        self._counted_filters = self.filters
        self._shown_day: date | None = None
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self._day_queries = SerialWorker(self, self.appliance.memory_worker)
        self.watch(self.app, "user", self._user_changed, init=False)
        self.watch(self.app, "name_keys", self._names_changed, init=False)
        self._load()

    @property
    def grid(self) -> YearGrid:
        return self.query_one(YearGrid)

    @property
    def _rows(self) -> RowList[SessionDay]:
        return self.query_one("#calendar-sessions", RowList)

    def _user_changed(self) -> None:
        self.filters = CalendarFilters()
        self._is_loaded = False
        self._load()

    def _names_changed(self) -> None:
        self._show_title()
        self._rows.refresh()
        self._show_preview()

    def on_screen_resume(self) -> None:
        if self.is_mounted and self._is_loaded:
            self._load()

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "missed"):
            self._load(CHANGE_PAUSE_SECONDS)

    def _load(self, pause: float = 0.0) -> None:
        self._show_title()
        begin(self, partial(self._load_days, pause), "days", exclusive=True)

    async def _load_days(self, pause: float) -> None:
        await asyncio.sleep(pause)
        filters, user = self.filters, self.appliance.user
        with show_errors(self._show_day_note):
            days = await self._queries.run_query(lambda memory: load_days(memory, filters, user))
            first_time, self._is_loaded = not self._is_loaded, True
            self.grid.show(days)
            has_other_filters, self._counted_filters = filters != self._counted_filters, filters
            selected = self.grid.selected
            if first_time and days.days and selected not in days.counts:
                self.grid.selected = days.next_day(self.grid.today, -1) or days.days[-1]
            elif not days.of_year(selected.year) and (
                has_other_filters or selected.year not in days.years(self.grid.today)
            ):
                # A year that is empty for the filters, or now: what there is may be years away.
                self.grid.selected = days.nearest(selected) or selected
            self._show_title()
            self._show_year()
            self._schedule_day()

    def _show_title(self) -> None:
        """What is counted: all messages, or those that pass the filters."""
        names = self.appliance.names_by_id
        people = [one_line(names.get(id, id)) for id in self.filters.authors]
        parts = [
            f"{label} {', '.join(map(one_line, values))}"
            for label, values in (("by", people), ("source:", self.filters.sources), ("tag:", self.filters.tags))
            if values
        ]
        text = self.grid.day_counts.total_text
        self.query_one("#calendar-title", Static).update(
            Content.assemble(
                ("Calendar ", "bold $text-primary"), (" · ".join(filter(None, [*parts, text])), "$foreground-muted")
            )
        )

    def _show_year(self) -> None:
        """The years, the selected one with its numbers, and what the marks stand for."""
        grid, days = self.grid, self.grid.day_counts
        parts: dict[int, Content] = {}
        for year in sorted({*days.years(grid.today), grid.selected.year}):  # no day may match
            if year != grid.selected.year:
                link = Style.from_meta({"@click": f"screen.go_year({year})"})
                parts[year] = Content.styled(str(year), MUTED).stylize(link)
                continue
            own = days.of_year(year)
            text = ""
            if own:
                busiest = max(own, key=lambda day: days.counts[day])
                text = (
                    f" {pluralize(sum(days.counts[day] for day in own), 'message')} on {pluralize(len(own), 'day')},"
                    f" most on {busiest.day} {busiest:%b} ({days.counts[busiest]:,})"
                )
            parts[year] = Content.assemble((f"‹{year}›", "bold $text-accent"), (text or " no messages", "$foreground"))
        line = self.query_one("#calendar-years", Static)
        line.update(years_around(parts, grid.selected.year, line.content_size.width))
        self.query_one("#calendar-legend", Static).update(grid.legend())

    def on_resize(self) -> None:
        if self.is_mounted and self._is_loaded:
            self.call_after_refresh(self._show_year)

    @on(YearGrid.Moved)
    def _schedule_day(self) -> None:
        if not self._is_loaded:
            return
        self._show_year()
        day = self.grid.selected
        if not self.grid.day_counts.days:
            self._show_day_note(f"No messages {'match. X clears the filters' if self.filters else 'with a date yet'}.")
            self._rows.show(())
            return
        count = self.grid.day_counts.counts.get(day, 0)
        text = (
            f"{WEEKDAYS[day.weekday()]} {day.isoformat()} · {pluralize(count, 'message') if count else 'no messages'}"
        )
        self._show_day_note(text)
        if day != self._shown_day:
            self._rows.show(())
        begin(self, partial(self._load_day, day), "day", exclusive=True)

    async def _load_day(self, day: date) -> None:
        await asyncio.sleep(DAY_PAUSE_SECONDS)
        filters, user = self.filters, self.appliance.user
        with show_errors(self._show_day_note):
            sessions: list[SessionDay] = []
            if self.grid.day_counts.counts.get(day):
                sessions = await self._day_queries.run_query(lambda memory: load_day(memory, day, filters, user))
            self._rows.show(sessions, first=day != self._shown_day)
            self._shown_day = day

    def _show_day_note(self, text: str) -> None:
        self.query_one("#calendar-day", Static).update(Content.styled(text, "bold"))

    def action_move(self, days: int) -> None:
        """Move by days in the year; in the list of conversations, a line up or down."""
        if self.focused is self._rows:
            self._rows.action_step(1 if days > 0 else -1)
        else:
            self.grid.move(days)

    def action_year(self, by: int) -> None:
        self.action_go_year(self.grid.selected.year + by)

    def action_go_year(self, year: int) -> None:
        if year in self.grid.day_counts.years(self.grid.today):
            self.grid.selected = in_year(self.grid.selected, year)

    def action_next_day(self, by: int) -> None:
        if (day := self.grid.day_counts.next_day(self.grid.selected, by)) is not None:
            self.grid.selected = day

    def action_end(self, last: bool) -> None:
        if self.focused is self._rows:
            self._rows.action_end(last)
        elif days := self.grid.day_counts.days:
            self.grid.selected = days[-1 if last else 0]

    def action_today(self) -> None:
        self.grid.selected = self.grid.today

    @on(YearGrid.Chosen)
    def action_open(self) -> None:
        """Read the conversation of the selected day; of several, choose one in the list first."""
        begin(self, self._open, "open", exclusive=True)

    async def _open(self) -> None:
        day = self.grid.selected
        if not self.grid.day_counts.counts.get(day):
            self.notify(f"No messages on {day.isoformat()}. n goes to the next day with some.", timeout=3)
            return
        with self.appliance.report_errors():
            if self._shown_day != day:
                await self._load_day(day)
            if len(self._rows.items) > 1 and self.focused is not self._rows:
                self._rows.focus()
            elif (found := self._rows.chosen) is not None:
                self.appliance.read(found.session.id, found.messages[0].id if found.messages else None)

    @on(RowList.Moved, "#calendar-sessions")
    def _show_preview(self) -> None:
        """Show how the selected conversation goes on that day, where there is room."""
        self.query_one("#calendar-messages", Static).update(self._day_messages(self._rows.chosen))
        self.query_one("#calendar-preview").scroll_home(animate=False)

    @on(RowList.Opened, "#calendar-sessions")
    def _read_session(self) -> None:
        self._rows.focus()
        self.action_open()

    def action_back(self) -> None:
        """From the list of conversations to the year, from there to the screen before."""
        if self.focused is self._rows:
            self.grid.focus()
        else:
            self.app.pop_screen()

    def action_clear(self) -> None:
        self._filter_by(CalendarFilters())

    def _filter_by(self, filters: CalendarFilters) -> None:
        if filters != self.filters:
            self.filters, self._shown_day = filters, None
            self._load()

    @work(exclusive=True, group="filter")
    async def action_filter(self) -> None:
        user = self.appliance.user
        with self.appliance.report_errors():
            with self.appliance.input_queue.held():
                choices, tags, people = await self.appliance.memory_worker.run_query(
                    lambda memory: (
                        memory.overview.filter_choices(user_id=user),
                        memory.sessions.tags(user_id=user),
                        memory.people.list(user),
                    )
                )
            found: list[tuple[FilterKind, str, str, str]] = [
                *(("authors", one.id, one_line(one.name), f"{one.id} · {one.messages:,}") for one in people),
                *(("sources", name, name, pluralize(count, "message")) for name, count in choices.sources.items()),
                *(("tags", one.tag, one.tag, pluralize(one.sessions, "conversation")) for one in tags),
            ]
            options = [
                PickerOption(kind.removesuffix("s"), label, note + self._filtered_note(kind, value))
                for kind, value, label, note in found
            ]
            chosen = await self.app.push_screen_wait(PickerScreen("Count only the messages of", options))
            if chosen is None:
                return
            kind, value, _, _ = next(one for one, option in zip(found, options, strict=True) if option is chosen)
            if kind == "authors":
                await self.appliance.refresh_name_keys()
            self._filter_by(self.filters.toggled(kind, value))

    def _filtered_note(self, kind: FilterKind, value: str) -> str:
        """What choosing a value does that is counted already."""
        return " · counted, enter takes it out" if value in getattr(self.filters, kind) else ""

    def _day_messages(self, found: SessionDay | None) -> Content:
        """The first messages of a conversation on a day."""
        if found is None:
            return Content("")
        parts: list[Content] = []
        for message in found.messages:
            time = local_time(message.timestamp) if message.timestamp else ""
            text = sanitize(message.text[:PREVIEW_CHARACTERS]).strip()
            parts.append(
                Content.assemble(
                    (self.appliance.name_of(message.who)[:40], "bold"),
                    (f"  {time}\n", MUTED),
                    text + ("…" if len(message.text) > PREVIEW_CHARACTERS else ""),
                )
            )
        if (left := found.count - len(found.messages)) > 0:
            parts.append(Content.styled(f"{pluralize(left, 'more message')}; enter reads on", MUTED))
        return Content("\n\n").join(parts)

    def _session_line(self, found: SessionDay, width: int) -> Content:
        """A conversation of a day: when, how much, its title, and how it begins."""
        times = "–".join(dict.fromkeys(map(local_time, (found.first, found.last))))
        title = self.appliance.title_of(found.session.title or found.session.external_id)
        title_width = min(len(title), max(20, (width - 24) // 2))
        snippet = ""
        if found.messages:
            first = found.messages[0]
            snippet = f"{self.appliance.name_of(first.who)}: {one_line(first.text[:SNIPPET_CHARACTERS])}"
        return Content.assemble(
            (f"{times:<11} ", MUTED),
            (f"{found.count:>5,}  ", "$text-accent"),
            (fit_width(title, title_width), "bold"),
            (f"  {one_line(found.session.format)}  {snippet}", MUTED),
        )
