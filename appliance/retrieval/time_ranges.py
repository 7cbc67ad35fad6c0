"""The time ranges that a query names ("in March 2024", "last week", "3 days ago").

A query looks back: an ambiguous expression means its last occurrence before now, and a future one means nothing. A
month or a season without a year may be of any year.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from appliance.languages.language import TimeUnit
from appliance.languages.temporal import TemporalExpression, find, words
from appliance.retrieval.candidates import Column
from appliance.timestamps import to_microseconds

YEARS_BACK = 30
"""How many years back a month without a year may be."""

MAX_EXPRESSIONS = 8
"""How many time expressions of a query count. A query with more of them is a pasted page, and each costs time."""

LOOK_BACK_CHARACTERS = 40
"""How many characters before a time expression are read for words such as "since", "early" or "from"."""

EARLIEST = datetime.min.replace(year=1970)

DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)

DECAY_MICROSECONDS = 7 * 86_400e6
"""Microseconds in which the closeness falls to 1/e: people mention events days after them, or before."""

EARLIER_WEIGHT = 0.5
"""The weight of a message before a range against one as long after it: people report more than they announce."""

FIRST_BARE_YEAR = 1950
"""A smaller number by itself is not read as a year, because messages are not that old."""

_OPEN_START = re.compile(rf"\b{words('before')}\s+(?:the\s+)?$", re.IGNORECASE)
_OPEN_END = re.compile(rf"\b{words('after')}\s+(?:the\s+)?$", re.IGNORECASE)
_PARTS = [
    (re.compile(rf"\b{words(part)}[\s-]*$", re.IGNORECASE), number)
    for number, part in enumerate(("early", "middle", "late"))
]
_RANGE = re.compile(rf"\b{words('range_start')}\s+(?:the\s+)?$", re.IGNORECASE)
_TO = re.compile(rf"\s*(?:{words('range_end')}|-|–)\s+(?:the\s+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From ``start`` up to but excluding ``end``, in microseconds since 1970; ``words`` name it in the query."""

    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True)
class _TimeMention:
    """Where a query names a time, and the ranges that it may mean."""

    at: tuple[int, int]
    spans: tuple[tuple[datetime, datetime], ...]


def find_time_ranges(question: str, now: datetime) -> list[TimeRange]:
    """The time ranges that a query names. ``now``, with its time zone, is when the query is asked."""
    question = unicodedata.normalize("NFC", question)
    mentions = [_read(expression, question, now) for expression in find(question, MAX_EXPRESSIONS)]
    return list(
        dict.fromkeys(
            TimeRange(_instant(start, now), _instant(end, now), question[slice(*mention.at)].strip())
            for mention in _joined([mention for mention in mentions if mention.spans], question)
            for start, end in mention.spans
        )
    )


def closeness(ranges: Sequence[TimeRange], times: Column) -> Column:
    """How close each time (microseconds, NaN unknown) is to the nearest range: 1 within it, then falling."""
    best = np.zeros(len(times))
    for time_range in ranges:
        after = np.exp(-np.maximum(times - time_range.end, 0.0) / DECAY_MICROSECONDS)
        before = EARLIER_WEIGHT * np.exp(-np.maximum(time_range.start - times, 0.0) / DECAY_MICROSECONDS)
        near = np.where(times < time_range.start, before, after)
        best = np.maximum(best, np.nan_to_num(near))
    return best


def _instant(moment: datetime, now: datetime) -> int:
    return to_microseconds(moment.replace(tzinfo=now.tzinfo))


def _joined(found: Sequence[_TimeMention], question: str) -> Iterator[_TimeMention]:
    """The mentions, with "from A to B" as one."""
    rest = list(found)
    for one, other in pairwise(found):
        between = question[one.at[1] : other.at[0]]
        if _before(_RANGE, question, one.at[0]) and _TO.fullmatch(between) and one in rest:
            # If both may be of several years, the pairs that are nearest to each other count.
            ends = {
                start: min(ends) for start, _ in one.spans if (ends := [end for _, end in other.spans if end > start])
            }
            starts = {end: max(start for start in ends if ends[start] == end) for end in ends.values()}
            spans = tuple((start, end) for end, start in starts.items())
            rest[rest.index(one)] = _TimeMention((one.at[0], other.at[1]), spans)
            rest.remove(other)
    yield from rest


def _before(pattern: re.Pattern[str], question: str, begin: int) -> bool:
    """Whether a pattern matches directly before an offset of the query."""
    return pattern.search(question, max(0, begin - LOOK_BACK_CHARACTERS), begin) is not None


def _read(one: TemporalExpression, question: str, now: datetime) -> _TimeMention:
    """The ranges of an expression, without time zone; none if there is no such day."""
    try:
        spans = _placed(one, question, datetime(now.year, now.month, now.day))
    except (ValueError, OverflowError):
        spans = []
    return _TimeMention((one.start, one.end), tuple((a, b) for a, b in spans if a < b))


def _placed(one: TemporalExpression, question: str, today: datetime) -> list[tuple[datetime, datetime]]:
    """The ranges that an expression means with the words before it, such as "early" or "since"."""
    spans = list(_spans(one, today))
    for pattern, part in _PARTS:
        if _before(pattern, question, one.start):
            spans = [(a + (b - a) * part / 3, a + (b - a) * (part + 1) / 3) for a, b in spans]
    begun = [span for span in spans if span[0] <= today]
    if begun and _before(_OPEN_START, question, one.start):
        spans = [(EARLIEST, max(begun)[1])]
    elif begun and _before(_OPEN_END, question, one.start) and not _before(_RANGE, question, one.start):
        spans = [(max(begun)[0], today + DAY)]
    return spans


def _spans(one: TemporalExpression, today: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The ranges that an expression means, seen from today; none for a future one."""
    match one:
        case TemporalExpression(year=int(year), month=int(month), day=int(day)):
            yield _day(year, month, day)
            if one.either:
                yield _day(year, day, month)
        case TemporalExpression(month=int(month), day=int(day)):
            # Without a year, 29 February means leap years only.
            yield from (_day(each, month, day) for each in _years(today) if day <= monthrange(each, month)[1])
        case TemporalExpression(year=int(year), month=int(month)):
            yield _months(year, month)
        case TemporalExpression(year=int(year), season=int(month)):
            yield _months(year, month, 3)
        case TemporalExpression(month=int()) | TemporalExpression(season=int()):
            month, length = (one.month, 1) if one.month else (one.season or 0, 3)
            spans = [_months(each, month, length) for each in _years(today)]
            yield from [max(span for span in spans if span[0] < today)] if one.anchor == "last" else spans
        case TemporalExpression(weekday=int(weekday), anchor=None | "last"):
            back = (today.weekday() - weekday - 1) % 7 + 1
            yield today - back * DAY, today - (back - 1) * DAY
        case TemporalExpression(unit=str(unit), count=int(count)) if count < 0:
            span = _back(today, unit, -count)
            yield (span[0], today + DAY) if one.anchor == "past" else span
        case TemporalExpression(unit=str(unit), anchor="last" | "this"):
            yield _whole(today, unit, int(one.anchor == "last"))
        case TemporalExpression(days=int(days)) if days <= 0:
            yield today + days * DAY, today + (days + 1) * DAY
        case TemporalExpression(year=int(year), month=None, season=None) if FIRST_BARE_YEAR <= year <= today.year + 1:
            yield datetime(year, 1, 1), datetime(year + 1, 1, 1)


def _years(today: datetime) -> range:
    return range(today.year - YEARS_BACK, today.year + 2)


def _day(year: int, month: int, day: int) -> tuple[datetime, datetime]:
    start = datetime(year, month, day)
    return start, start + DAY


def _months(year: int, month: int, length: int = 1) -> tuple[datetime, datetime]:
    start = datetime(year, month, 1)
    return start, _later(start, length)


def _later(first: datetime, months: int) -> datetime:
    """The first of the month ``months`` later; negative for earlier."""
    years, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return datetime(years, month + 1, 1)


def _whole(today: datetime, unit: TimeUnit, back: int) -> tuple[datetime, datetime]:
    """The whole day, week, month or year that lies ``back`` units before the present one."""
    match unit:
        case "day" | "night":
            return today - back * DAY, today - (back - 1) * DAY
        case "week":
            monday = today - today.weekday() * DAY
            return monday - back * WEEK, monday - (back - 1) * WEEK
        case "weekend":
            saturday = today - today.weekday() * DAY + 5 * DAY
            return saturday - back * WEEK, saturday - back * WEEK + 2 * DAY
        case "month":
            first = today.replace(day=1)
            return _later(first, -back), _later(first, 1 - back)
        case _:
            return datetime(today.year - back, 1, 1), datetime(today.year - back + 1, 1, 1)


def _back(today: datetime, unit: TimeUnit, count: int) -> tuple[datetime, datetime]:
    """The range that "so many units ago" means: days are exact, weeks to half a week, longer units whole."""
    match unit:
        case "day" | "night":
            return _whole(today, "day", count)
        case "week" | "weekend":
            return today - count * WEEK - 3 * DAY, today - count * WEEK + 4 * DAY
        case _:
            return _whole(today, unit, count)
