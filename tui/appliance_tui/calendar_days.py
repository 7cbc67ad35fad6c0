"""The days of a memory: how many messages each has, and how the days of a year lie in weeks."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from appliance_tui.widgets.display_text import pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionDay

LEVELS = 4
"""Levels of days with messages: a quarter of all such days has each, as far as their numbers differ."""

MAX_WEEKS = 54
"""Weeks that a year touches at most: a leap year that begins on a Sunday."""

DAY_MESSAGES = 8
"""Messages of a conversation that a day shows at most."""

DAY = timedelta(days=1)


FilterKind = Literal["authors", "sources", "tags"]


@dataclass(frozen=True, slots=True)
class CalendarFilters:
    """Whose days are counted: of some people, by their ids, of some sources, of conversations with one of some tags."""

    authors: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Sequence[str]]) -> CalendarFilters:
        """The filters with these values, by the names of the fields."""
        return cls(**{name: tuple(several) for name, several in values.items()})

    def __bool__(self) -> bool:
        return self != CalendarFilters()

    def arguments(self) -> dict[str, Any]:
        """The filters as arguments of ``statistics`` and ``day``."""
        return {
            "authors": list(self.authors) or None,
            "sources": list(self.sources) or None,
            "tags": list(self.tags) or None,
        }

    def toggled(self, kind: FilterKind, value: str) -> CalendarFilters:
        """The filters with one more value of a kind, or without one that they have."""
        values = getattr(self, kind)
        new = tuple(one for one in values if one != value) if value in values else (*values, value)
        return replace(self, **{kind: new})


@dataclass(frozen=True, slots=True)
class DayCounts:
    """The number of messages of each day that has some. ``days`` are these days in order, ``bounds`` the largest
    numbers of all levels but the last. Of what is no message of a day: ``undated`` have no time, and ``uncounted`` are
    those of tools and systems and those that are not shared; these are known only without filters."""

    counts: Mapping[date, int] = field(default_factory=dict)
    days: Sequence[date] = ()
    bounds: Sequence[int] = ()
    undated: int = 0
    uncounted: int = 0

    @classmethod
    def of(cls, counts: Mapping[date, int], undated: int = 0, uncounted: int = 0) -> DayCounts:
        """Sort the days, and part their numbers into levels."""
        numbers = sorted(counts.values())
        quarters = [numbers[len(numbers) * part // LEVELS] for part in range(1, LEVELS)] if numbers else []
        bounds = sorted({number for number in quarters if number < numbers[-1]})
        return cls(counts, sorted(counts), bounds, undated, uncounted)

    @property
    def total_text(self) -> str:
        """How many messages the days have, and how many of the bar's are not among them."""
        parts = [f"{pluralize(sum(self.counts.values()), 'message')} on {pluralize(len(self.counts), 'day')}"]
        parts += [f"{self.undated:,} without a date"] if self.undated else []
        parts += [f"{self.uncounted:,} not counted (by tools or systems, or not shared)"] if self.uncounted else []
        return " · ".join(parts) if self.counts else ""

    def level(self, day: date) -> int:
        """The level of a day, from 1 up; 0 without messages."""
        count = self.counts.get(day, 0)
        return 1 + bisect_left(self.bounds, count) if count else 0

    def level_ranges(self) -> Iterator[tuple[int, int | None]]:
        """The smallest and the largest number of each level; the last one has no largest."""
        first = 1
        for bound in self.bounds:
            yield first, bound
            first = bound + 1
        if self.days:
            yield first, None

    def years(self, today: date) -> range:
        """The years from the first with messages to this one, or to the last with messages."""
        if not self.days:
            return range(today.year, today.year + 1)
        return range(min(self.days[0].year, today.year), max(self.days[-1].year, today.year) + 1)

    def of_year(self, year: int) -> Sequence[date]:
        """The days of a year that have messages."""
        return self.days[bisect_left(self.days, date(year, 1, 1)) : bisect_right(self.days, date(year, 12, 31))]

    def next_day(self, day: date, by: int) -> date | None:
        """The next (1) or previous (-1) day with messages."""
        index = bisect_right(self.days, day) if by > 0 else bisect_left(self.days, day) - 1
        return self.days[index] if 0 <= index < len(self.days) else None

    def nearest(self, day: date) -> date | None:
        """The day with messages that is nearest to a day."""
        around = [day] if day in self.counts else [self.next_day(day, by) for by in (1, -1)]
        return min(filter(None, around), key=lambda found: abs(found - day), default=None)


def today() -> date:
    """The day of this machine's clock."""
    return datetime.fromtimestamp(time.time()).date()


def load_days(memory: Appliance, filters: CalendarFilters, user: str | None) -> DayCounts:
    """Count the messages of all days, in one query. Call it on a thread.

    Raises:
        ApplianceError: as the memory says.
    """
    counted = memory.statistics(["day"], user_id=user, **filters.arguments())
    stored = 0 if filters else memory.overview.counts(user or memory.settings.user)["messages"]
    counts: dict[date, int] = {}
    for row in counted.rows:
        try:
            counts[date.fromisoformat(row.keys[0])] = row.messages
        except ValueError:  # messages without a time
            continue
    return DayCounts.of(counts, counted.messages - sum(counts.values()), max(0, stored - counted.messages))


def load_day(memory: Appliance, day: date, filters: CalendarFilters, user: str | None) -> list[SessionDay]:
    """The conversations of a day with their first messages of it. Call it on a thread.

    Raises:
        ApplianceError: as the memory says.
    """
    return memory.day(day, user_id=user, limit=DAY_MESSAGES, **filters.arguments())


def first_monday(year: int) -> date:
    """The Monday with which the weeks of a year begin."""
    first = date(year, 1, 1)
    return first - first.weekday() * DAY if year > 1 else first


def week_of(day: date) -> int:
    """The column of a day among the weeks of its year, from 0."""
    return (day - first_monday(day.year)).days // 7


def day_at(year: int, week: int, weekday: int) -> date | None:
    """The day in a column and a row; None if it is of another year."""
    try:
        day = first_monday(year) + (week * 7 + weekday) * DAY
    except OverflowError:
        return None
    return day if day.year == year else None


def in_year(day: date, year: int) -> date:
    """The same day of another year; of a leap day the day before."""
    try:
        return day.replace(year=year)
    except ValueError:
        return date(year, 2, 28)


def local_time(timestamp: str) -> str:
    """The time of day of an ISO 8601 timestamp as the calendar counts it: that of this machine, or of the message's own
    clock where its zone is not known."""
    moment = datetime.fromisoformat(timestamp)
    return f"{moment.astimezone() if moment.tzinfo else moment:%H:%M}"
