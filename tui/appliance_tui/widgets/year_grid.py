"""A year as a heatmap: a column for each week, a row for each weekday."""

from __future__ import annotations

from datetime import date, timedelta

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from appliance_tui.calendar_days import MAX_WEEKS, DayCounts, day_at, week_of
from appliance_tui.widgets.rows import MUTED

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

LABEL_WIDTH = 4
"""Cells of a weekday's name."""

TOTAL_WIDTH = 9
"""Cells of a weekday's number of messages, where there is room for it."""

HEIGHT = 1 + len(WEEKDAYS)
"""Lines: the months, and the weekdays."""

EMPTY, SHADES = "·", ("░", "▒", "▓", "█")
"""The marks of days without and with messages, the more the denser: levels can be told apart without colours."""

TODAY_EMPTY, TODAY, SELECTED = "○", "●", "◆"

LEVEL_STYLE, TODAY_STYLE = "$text-accent", "bold $text-warning"
SELECTED_STYLE = "bold $block-cursor-foreground on $block-cursor-background"
BLURRED_STYLE = "bold $foreground on $block-cursor-blurred-background"


class YearGrid(Widget, can_focus=True):
    """The days of the year of the selected day. A click selects a day, a second one chooses it."""

    DEFAULT_CSS = "YearGrid { height: 8; padding: 0 1; }"
    ALLOW_SELECT = False

    selected: reactive[date] = reactive(date.today)

    class Moved(Message):
        """Another day is selected."""

    class Chosen(Message):
        """The selected day was clicked again."""

    def __init__(self, *, id: str, today: date) -> None:
        super().__init__(id=id)
        self.today = today
        self.set_reactive(YearGrid.selected, today)
        self.day_counts = DayCounts()

    def show(self, day_counts: DayCounts) -> None:
        """Show other counts."""
        self.day_counts = day_counts
        self.refresh()

    def watch_selected(self) -> None:
        self.post_message(self.Moved())

    def move(self, days: int) -> None:
        """Select the day so many days later, within the years that there are."""
        years = self.day_counts.years(self.today)
        first, last = date(years[0], 1, 1), date(years[-1], 12, 31)
        self.selected = min(max(self.selected + timedelta(days=days), first), last)

    @property
    def cell_width(self) -> int:
        """Cells of a day: two where the whole year has room for it."""
        return 2 if self.content_size.width >= LABEL_WIDTH + 2 * MAX_WEEKS else 1

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def render(self) -> Content:
        year, cell = self.selected.year, self.cell_width
        lines = [self._month_line(year, cell)]
        has_totals = self.content_size.width >= LABEL_WIDTH + cell * MAX_WEEKS + TOTAL_WIDTH
        totals = [0] * len(WEEKDAYS)
        for day in self.day_counts.of_year(year):
            totals[day.weekday()] += self.day_counts.counts[day]
        for weekday, name in enumerate(WEEKDAYS):
            parts: list[tuple[str, str]] = [(f"{name:<{LABEL_WIDTH}}", MUTED)]
            for week in range(MAX_WEEKS):
                mark, style = self._mark(day_at(year, week, weekday))
                text = mark + (mark if mark in SHADES else " ") * (cell - 1)
                if parts[-1][1] == style:  # one part for neighbours that look alike: a year has 378 places
                    parts[-1] = (parts[-1][0] + text, style)
                else:
                    parts.append((text, style))
            if has_totals:
                parts.append((f"{totals[weekday]:>{TOTAL_WIDTH},}", MUTED))
            lines.append(Content.assemble(*parts))
        return Content("\n").join(lines)

    def _month_line(self, year: int, cell: int) -> Content:
        text = " " * LABEL_WIDTH
        for number, name in enumerate(MONTHS, 1):
            text = text.ljust(LABEL_WIDTH + cell * week_of(date(year, number, 1)) + (cell if number > 1 else 0)) + name
        return Content.styled(text, MUTED)

    def _mark(self, day: date | None) -> tuple[str, str]:
        """The mark of a day, and its style."""
        if day is None:
            return " ", MUTED
        level = self.day_counts.level(day)
        if day == self.selected:
            return SELECTED, SELECTED_STYLE if self.has_focus else BLURRED_STYLE
        if day == self.today:
            return TODAY if level else TODAY_EMPTY, TODAY_STYLE
        if level:
            shades = SHADES[-1 - len(self.day_counts.bounds) :]
            return shades[level - 1], LEVEL_STYLE
        return (EMPTY if day < self.today else " "), MUTED

    def legend(self) -> Content:
        """What the marks stand for."""
        parts: list[tuple[str, str]] = []
        shades = SHADES[-1 - len(self.day_counts.bounds) :]
        for shade, (least, most) in zip(shades, self.day_counts.level_ranges(), strict=False):
            span = f"{least:,}" if least == most else f"{least:,}–{most:,}" if most is not None else f"{least:,}+"
            parts += [(shade * 2, LEVEL_STYLE), (f" {span}   ", MUTED)]
        today = TODAY if self.day_counts.level(self.today) else TODAY_EMPTY
        return Content.assemble(*parts, (today, TODAY_STYLE), (" today", MUTED))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < 1 or offset.x < LABEL_WIDTH:
            return
        day = day_at(self.selected.year, (offset.x - LABEL_WIDTH) // self.cell_width, offset.y - 1)
        if day is None:
            return
        if day == self.selected:
            self.post_message(self.Chosen())
        else:
            self.selected = day
