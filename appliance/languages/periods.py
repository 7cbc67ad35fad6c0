"""The periods that text names, seen from a day: "in March 2024", "last week", "3 days ago".

Text looks back: an ambiguous expression means its last occurrence before that day, and a future one means nothing. A
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

from appliance.languages.language import TimeUnit
from appliance.languages.temporal import TemporalExpression, find, match, words

YEARS_BACK = 30
"""How many years back a month without a year may be."""

MAX_EXPRESSIONS = 8
"""How many time expressions of a text count. A question with more of them is a pasted page, and each costs time."""

LOOK_BACK_CHARACTERS = 40
"""How many characters before a time expression are read for words such as "since", "early" or "from"."""

EARLIEST = datetime.min.replace(year=1970)

DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)

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


Period = tuple[datetime, datetime]
"""From a moment up to but excluding another one, without time zone."""


@dataclass(frozen=True, slots=True)
class PeriodMention:
    """Where a text names a time, and the periods that it may mean."""

    at: tuple[int, int]
    periods: tuple[Period, ...]


def find_periods(text: str, today: datetime) -> list[PeriodMention]:
    """The periods that a text names. ``text`` is in composed form (NFC)."""
    mentions = [_read(expression, text, today) for expression in find(text, MAX_EXPRESSIONS)]
    return list(_joined([mention for mention in mentions if mention.periods], text))


def read_period(text: str, today: datetime) -> Period | None:
    """The period that a text is the name of; None if it is none. Of several, the last one that has begun."""
    text = unicodedata.normalize("NFC", text).strip()
    mentions = find_periods(text, today)
    if len(mentions) == 1 and mentions[0].at == (0, len(text)):
        found = mentions[0]
    else:
        expression = match(text, 0, len(text))
        if expression is None or (expression.start, expression.end) != (0, len(text)):
            return None
        found = _read(expression, text, today)
    return max((period for period in found.periods if period[0] <= today), default=None)


def _joined(found: Sequence[PeriodMention], text: str) -> Iterator[PeriodMention]:
    """The mentions, with "from A to B" as one."""
    rest = list(found)
    for one, other in pairwise(found):
        between = text[one.at[1] : other.at[0]]
        if _before(_RANGE, text, one.at[0]) and _TO.fullmatch(between) and one in rest:
            # If both may be of several years, the pairs that are nearest to each other count.
            ends = {
                start: min(ends)
                for start, _ in one.periods
                if (ends := [end for _, end in other.periods if end > start])
            }
            starts = {end: max(start for start in ends if ends[start] == end) for end in ends.values()}
            spans = tuple((start, end) for end, start in starts.items())
            rest[rest.index(one)] = PeriodMention((one.at[0], other.at[1]), spans)
            rest.remove(other)
    yield from rest


def _before(pattern: re.Pattern[str], text: str, begin: int) -> bool:
    """Whether a pattern matches directly before an offset of the text."""
    return pattern.search(text, max(0, begin - LOOK_BACK_CHARACTERS), begin) is not None


def _read(one: TemporalExpression, text: str, today: datetime) -> PeriodMention:
    """The periods of an expression, without time zone; none if there is no such day."""
    try:
        spans = _placed(one, text, today)
    except (ValueError, OverflowError):
        spans = []
    return PeriodMention((one.start, one.end), tuple((a, b) for a, b in spans if a < b))


def _placed(one: TemporalExpression, text: str, today: datetime) -> list[Period]:
    """The periods that an expression means with the words before it, such as "early" or "since"."""
    spans = list(_spans(one, today))
    for pattern, part in _PARTS:
        if _before(pattern, text, one.start):
            spans = [(a + (b - a) * part / 3, a + (b - a) * (part + 1) / 3) for a, b in spans]
    begun = [span for span in spans if span[0] <= today]
    if begun and _before(_OPEN_START, text, one.start):
        spans = [(EARLIEST, max(begun)[1])]
    elif begun and _before(_OPEN_END, text, one.start) and not _before(_RANGE, text, one.start):
        spans = [(max(begun)[0], today + DAY)]
    return spans


def _spans(one: TemporalExpression, today: datetime) -> Iterator[Period]:
    """The periods that an expression means, seen from today; none for a future one."""
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


def _day(year: int, month: int, day: int) -> Period:
    start = datetime(year, month, day)
    return start, start + DAY


def _months(year: int, month: int, length: int = 1) -> Period:
    start = datetime(year, month, 1)
    return start, _later(start, length)


def _later(first: datetime, months: int) -> datetime:
    """The first of the month ``months`` later; negative for earlier."""
    years, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return datetime(years, month + 1, 1)


def _whole(today: datetime, unit: TimeUnit, back: int) -> Period:
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


def _back(today: datetime, unit: TimeUnit, count: int) -> Period:
    """The period that "so many units ago" means: days are exact, weeks to half a week, longer units whole."""
    match unit:
        case "day" | "night":
            return _whole(today, "day", count)
        case "week" | "weekend":
            return today - count * WEEK - 3 * DAY, today - count * WEEK + 4 * DAY
        case _:
            return _whole(today, unit, count)
