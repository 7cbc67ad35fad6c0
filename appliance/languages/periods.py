"""The periods that text names, seen from a day: "in March 2024", "last week", "3 days ago".

Text looks back: an ambiguous expression means its last occurrence before that day, and a future one means nothing. A
month or a season without a year may be of any year.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal

from appliance.languages import LANGUAGES
from appliance.languages.language import TimeUnit
from appliance.languages.temporal import (
    ANY_ARTICLE,
    ANY_CONJUNCTION,
    ANY_ON,
    ANY_UNIT,
    ANY_WEEKDAY,
    TemporalExpression,
    any_words,
    find,
    match_whole,
)
from appliance.languages.vocabulary import any_of

YEARS_BACK = 30
"""How many years back a month without a year may be."""

MAX_EXPRESSIONS = 8
"""How many time expressions of a text count. A question with more of them is a pasted page, and each costs time."""

LOOK_BACK_CHARACTERS = 40
"""How many characters before a time expression are read for words such as "since", "early" or "from"."""

EARLIEST = datetime.min.replace(year=1970)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)

FIRST_BARE_YEAR = 1950
"""A smaller number by itself is not read as a year, because messages are not that old."""

_THE = rf"\s+(?:{ANY_ARTICLE}\s+)?"
_BOUNDS = [
    (re.compile(rf"\b{any_words(bound)}{_THE}$", re.IGNORECASE), bound)
    for bound in ("before", "until", "since", "after")
]
# "How long until 1 May" asks for an amount of time up to that day, not for what was before it.
_HOW_LONG = re.compile(
    rf"\b(?:{'|'.join(one.asks_how_much for one in LANGUAGES)})(?:\s+{ANY_UNIT})?(?:\s+is\s+it)?\s+$", re.IGNORECASE
)
# "Two weeks before 1 May" and "the Sunday before 1 May" are times near that day.
_DISTANCE = re.compile(rf"\b(?:{ANY_UNIT}|{ANY_WEEKDAY})\s+$", re.IGNORECASE)
_PARTS = [
    (re.compile(rf"\b{any_words(part)}[\s-]*$", re.IGNORECASE), number)
    for number, part in enumerate(("early", "middle", "late"))
]
_RANGE = re.compile(rf"\b{any_words('range_start')}{_THE}$", re.IGNORECASE)
_TO = re.compile(
    rf"\s*[-–—]\s*|\s+(?:(?P<conjunction>{ANY_CONJUNCTION})|{any_words('range_end')}){_THE}", re.IGNORECASE
)  # fmt: skip
_AND = re.compile(rf",?\s+(?:{ANY_CONJUNCTION}\s+)?", re.IGNORECASE)
_WEEK = re.compile(rf"\b{any_words('week_of')}{_THE}$", re.IGNORECASE)
# The German "am" directly before a day is no "a.m.".
_CLOCK = rf"""
    (?:(?P<at>{any_words("at")})\s+)?(?P<hour>\d{{1,2}})(?:(?P<colon>:)(?P<minute>\d\d))?
    (?:\s*(?P<clock>{any_words("o_clock")})\b)?(?:\s*(?:(?P<am>{any_words("am")})(?!\s+$)|(?P<pm>{any_words("pm")})))?"""
_ON = any_of([ANY_ON, any_words("of")])
_CLOCK_BEFORE = re.compile(rf"\b{_CLOCK},?\s+(?:{_ON}\s+)?(?:{ANY_ARTICLE}\s+)?$", re.IGNORECASE | re.VERBOSE)
_FROM_CLOCK = re.compile(
    rf"""\b\d{{1,2}}(?::\d\d)?(?:\s*(?:{any_words("o_clock")}|{any_words("am")}|{any_words("pm")}))?
    (?:\s*[-–—]\s*|\s+(?:{ANY_CONJUNCTION}|{any_words("range_end")})\s+)$""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOCK_AFTER = re.compile(
    rf",?\s+{_CLOCK}(?!\w|[:.]\d)(?(colon)|(?(clock)|(?(am)|(?(pm)|(?=\s*(?:[?.!,;)]|$))))))",
    re.IGNORECASE | re.VERBOSE,
)

_LEADING_THE = re.compile(rf"(?:{ANY_ARTICLE}\s+)?", re.IGNORECASE)

_MONTH_AND_DAY = re.compile(r"(?P<month>\d{1,2})-(?P<day>\d{1,2})")
LEAP_YEAR = 2024
LEAP_YEARS_APART = 8
"""The most years between one 29 February and the next."""

Period = tuple[datetime, datetime]
"""From a moment up to but excluding another one, without time zone."""


@dataclass(frozen=True, slots=True)
class PeriodMention:
    """Where a text names a time, and the periods that it may mean.

    A "bound" names where its period begins or ends ("since May"), and an "hour" is a time of day with a margin."""

    at: tuple[int, int]
    periods: tuple[Period, ...]
    form: Literal["period", "range", "bound", "hour"] = "period"


@lru_cache(maxsize=8)
def _expressions(text: str) -> tuple[TemporalExpression, ...]:
    """The expressions of a text. A search asks up to three times for those of its query."""
    return tuple(find(text, MAX_EXPRESSIONS))


def find_periods(text: str, today: datetime) -> list[PeriodMention]:
    """The periods that a text names. ``text`` is in composed form (NFC)."""
    found: list[PeriodMention] = []
    for mention in (_read(expression, text, today) for expression in _expressions(text)):
        if mention.periods:
            _append(found, mention, _range, text)
    mentions: list[PeriodMention] = []
    for mention in (_bounded(mention, text, today) for mention in found):
        if mention.periods:
            _append(mentions, mention, _intersection, text)
    return mentions


def read_period(text: str, today: datetime) -> Period | None:
    """The period that a text is the name of; None if it is none. Of several, the last one that has begun."""
    text = unicodedata.normalize("NFC", text).strip()
    begin = _LEADING_THE.match(text).end()  # type: ignore[union-attr]
    mentions = find_periods(text, today)
    if len(mentions) == 1 and mentions[0].at in ((0, len(text)), (begin, len(text))):
        found = mentions[0]
    else:
        expression = match_whole(text)
        if expression is None:
            return None
        found = _read(expression, text, today)
    if found.form in ("bound", "hour"):
        return None
    return max((period for period in found.periods if period[0] <= today), default=None)


def impossible_dates(text: str) -> list[str]:
    """The dates that a text names and no calendar has, in its words: "31 February 2024", "2026-05-32"."""
    return list(dict.fromkeys(text[one.start : one.end] for one in _expressions(text) if _is_impossible(one)))


def _is_impossible(one: TemporalExpression) -> bool:
    """Whether an expression names a day that its month does not have, or a month beyond December.

    "2024-17" may be any number, and "32 may" of anything: a day counts, and one above 31 only with a year."""
    if one.month is None or one.day is None:
        return False
    if one.year is None:
        return monthrange(LEAP_YEAR, one.month)[1] < one.day <= 31
    if one.year < FIRST_BARE_YEAR:
        return False
    return not 1 <= one.month <= 12 or not 1 <= one.day <= monthrange(one.year, one.month)[1]


def read_day(text: str, today: datetime) -> datetime | None:
    """The day that a text names, with or without its year; None if it names none. Without a year it is the next one to
    come, or today: "15 March", "03-15", "04.02.", "3月15日"."""
    text = unicodedata.normalize("NFC", text).strip()
    if (short := _MONTH_AND_DAY.fullmatch(text)) is not None:
        month, day = int(short["month"]), int(short["day"])
    else:
        expression = next((one for one in find(text, 1) if (one.start, one.end) == (0, len(text))), None)
        expression = expression or match_whole(text)
        if expression is None or expression.first_day:
            return None
        if expression.days is not None:
            return today + expression.days * DAY
        if expression.month is None or expression.day is None:
            return None
        month, day = expression.month, expression.day
        if expression.year is not None:
            return _existing(expression.year, month, day)
    days = (_existing(year, month, day) for year in range(today.year, today.year + LEAP_YEARS_APART + 1))
    return next((one for one in days if one is not None and one >= today), None)


def _existing(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day)
    except ValueError:
        return None


def _append(
    mentions: list[PeriodMention],
    mention: PeriodMention,
    join: Callable[[PeriodMention, PeriodMention, str], PeriodMention | None],
    text: str,
) -> None:
    """Append a mention to those before it, joined with the last one if they belong together."""
    if mentions and (joined := join(mentions[-1], mention, text)):
        mentions[-1] = joined
    else:
        mentions.append(mention)


def _range(first: PeriodMention, last: PeriodMention, text: str) -> PeriodMention | None:
    """The range that "from A to B", "A - B" or "between A and B" means; None if these are two times."""
    to = _TO.fullmatch(text, first.at[1], last.at[0])
    start = first.at[0]
    if to is not None and to["conjunction"]:
        between = _before(_RANGE, text, start)
        if between is None:
            return None
        start = between.start()
    # If both may be of several years, the pairs that are nearest to each other count.
    ends = {
        begin: min(ends)
        for begin, _ in first.periods
        if to is not None and (ends := [end for _, end in last.periods if end > begin])
    }
    starts = {end: max(begin for begin in ends if ends[begin] == end) for end in ends.values()}
    spans = tuple((begin, end) for end, begin in starts.items())
    return PeriodMention((start, last.at[1]), spans, "range") if spans else None


def _intersection(first: PeriodMention, last: PeriodMention, text: str) -> PeriodMention | None:
    """The range that "after A and before B" means; None if these are two times."""
    if first.form == last.form == "bound" and _AND.fullmatch(text, first.at[1], last.at[0]):
        ((a, b),), ((c, d),) = first.periods, last.periods
        if (a == EARLIEST) != (c == EARLIEST) and max(a, c) < min(b, d):
            return PeriodMention((first.at[0], last.at[1]), ((max(a, c), min(b, d)),), "range")
    return None


def _before(pattern: re.Pattern[str], text: str, begin: int) -> re.Match[str] | None:
    """The match of a pattern directly before an offset of the text."""
    return pattern.search(text, max(0, begin - LOOK_BACK_CHARACTERS), begin)


def _bounded(mention: PeriodMention, text: str, today: datetime) -> PeriodMention:
    """A mention with the word before it that makes it a bound, such as "before" or "since"."""
    if mention.form == "range":
        return mention
    for pattern, bound in _BOUNDS:
        lead = _before(pattern, text, mention.at[0])
        if lead is not None and not (
            _before(_DISTANCE, text, lead.start()) or (bound == "until" and _before(_HOW_LONG, text, lead.start()))
        ):
            periods = [(a + HOUR, a + HOUR) if mention.form == "hour" else (a, b) for a, b in mention.periods]
            try:
                start, end = _bound(bound, periods, today)
            except (ValueError, OverflowError):
                start = end = today
            return PeriodMention((lead.start(), mention.at[1]), ((start, end),) if start < end else (), "bound")
    return mention


def _bound(bound: str, periods: Sequence[Period], today: datetime) -> Period:
    """The period up to or from the last of some periods that has begun, or after the last one that has ended.

    Raises:
        ValueError: All of them are to come.
    """
    match bound:
        case "before" | "until":
            start, end = max((period for period in periods if period[0] <= today), default=min(periods))
            return EARLIEST, start if bound == "before" else end
        case "since":
            return max(start for start, _ in periods if start <= today), today + DAY
        case _:
            return max(end for _, end in periods if end <= today), today + DAY


def _read(one: TemporalExpression, text: str, today: datetime) -> PeriodMention:
    """The periods of an expression, without time zone; none if there is no such day."""
    try:
        return _placed(one, text, today)
    except (ValueError, OverflowError):
        return PeriodMention((one.start, one.end), ())


def _placed(one: TemporalExpression, text: str, today: datetime) -> PeriodMention:
    """The periods that an expression means with the words beside it, such as "early", "the week of" or "at 2 pm"."""
    start, end = one.start, one.end
    spans = [(a, b) for a, b in _spans(one, today) if a < b]
    form: Literal["period", "range", "hour"] = "period" if one.first_day is None else "range"
    if spans and all(b - a == DAY for a, b in spans):
        if lead := _before(_WEEK, text, start):
            start = lead.start()
            spans = [_whole(a, "week", 0) for a, _ in spans]
        elif (clock := _before(_CLOCK_BEFORE, text, start) or _CLOCK_AFTER.match(text, end)) and (
            time := _time_of_day(clock)
        ) is not None:
            if clock.start() < start and (earlier := _before(_FROM_CLOCK, text, clock.start())):
                start = earlier.start()  # "from 2 to 4 pm on that day" means the day
            else:
                start, end, form = min(start, clock.start("hour")), max(end, clock.end()), "hour"
                spans = [(a + time - HOUR, a + time + 2 * HOUR) for a, _ in spans]
    for pattern, part in _PARTS:
        if lead := _before(pattern, text, start):
            start = lead.start()
            spans = [(a + (b - a) * part / 3, a + (b - a) * (part + 1) / 3) for a, b in spans]
    return PeriodMention((start, end), tuple(spans), form)


def _time_of_day(clock: re.Match[str]) -> timedelta | None:
    """How long after midnight a time of day is; None if its number is none."""
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    in_half = (clock["am"] or clock["pm"]) and hour <= 12
    if hour > 24 or minute > 59 or not (in_half or clock["at"] or clock["colon"] or clock["clock"]):
        return None
    if in_half:
        hour = hour % 12 + (12 if clock["pm"] else 0)
    return timedelta(hours=hour, minutes=minute)


def _spans(one: TemporalExpression, today: datetime) -> Iterator[Period]:
    """The periods that an expression means, seen from today; none for a future one."""
    match one:
        case TemporalExpression(month=int(month), day=int(day), first_day=int(first)):
            for year in _years(today) if one.year is None else [one.year]:
                if day <= monthrange(year, month)[1]:
                    yield _days(year, month, day, first, one.first_month)
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
        case TemporalExpression(unit=str(unit), anchor="this" | "last" | "before last" as anchor):
            yield _whole(today, unit, ("this", "last", "before last").index(anchor))
        case TemporalExpression(days=int(days)) if days <= 0:
            yield today + days * DAY, today + (days + 1) * DAY
        case TemporalExpression(year=int(year), month=None, season=None) if FIRST_BARE_YEAR <= year <= today.year + 1:
            yield datetime(year, 1, 1), datetime(year + 1, 1, 1)


def _years(today: datetime) -> range:
    return range(today.year - YEARS_BACK, today.year + 2)


def _day(year: int, month: int, day: int) -> Period:
    start = datetime(year, month, day)
    return start, start + DAY


def _days(year: int, month: int, day: int, first_day: int, first_month: int | None) -> Period:
    """From a first day, of the month before if that month does not have it before the last day, up to a day."""
    last = datetime(year, month, day)
    first = _later(last.replace(day=1), -int(first_day > day))
    if first_month is not None:
        first = datetime(year - int(first_month > month), first_month, 1)
    return first.replace(day=first_day), last + DAY


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
