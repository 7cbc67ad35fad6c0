"""The lines of a WhatsApp export: which of them begin a message, and what their dates mean.

A phone writes headers in one style, which depends on its system, language and settings. The most frequent
style is the file's; a line in another style is part of a message's text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from appliance.formats.base import Document
from appliance.formats.meta_words import month_number
from appliance.formats.whatsapp_words import AM, CLOCK_WORDS, NIGHT, PM, written_forms
from appliance.types import InputProblem

Order = Literal["dmy", "mdy", "ymd"]
ORDERS: tuple[Order, ...] = ("dmy", "mdy", "ymd")

MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u061c"
_M = f"[{MARKS}]*"
_HALF_DAY = "|".join(re.escape(word).replace(r"\ ", r"\s?") for word in written_forms((*AM, *PM, *NIGHT)))
_CLOCK = "|".join(map(re.escape, written_forms(CLOCK_WORDS)))

# "R4" is the fourth year of the Japanese era Reiwa.
_ERA = "(?:R|令和)?"
_DATE = (
    rf"(?P<a>{_ERA}\d{{1,4}}){_M}(?P<sep>[./\-]){_M}\s?(?P<b>\d{{1,2}}){_M}(?P=sep){_M}\s?(?P<c>{_ERA}\d{{1,4}})\.?"
    rf"(?:\s?(?:г\.|р\.|г|هـ|ه\.ش\.|AP|AH|BE))?{_M}"
)
_TIME = (
    rf"(?P<before>(?:{_HALF_DAY}))?\s?"
    r"(?P<hour>\d{1,2})(?P<colon>[:.]|\s?h\s?)(?P<minute>\d{2})"
    rf"(?:(?:(?P=colon)|\smin\s)(?P<second>\d{{2}})(?:\ss)?)?{_M}"
    rf"(?:\s?(?P<after>(?:{_HALF_DAY}))|\s?(?:ч\.?|น\.|Uhr|uur))?{_M}"
)
_BETWEEN = rf"(?P<comma>[,،]?){_M}\s{{0,2}}(?:(?P<word>{_CLOCK})\s)?{_M}"
_END = rf"(?(bracket)\]|(?:\s(?P<dash>[-\u2013\u2014])|(?P<end>:)))(?:{_M}\s|{_M}$|(?<=\])){_M}"
# Phones of 2013 wrote the month as a word, and no year if it was the current one: "19:23, 28 Aug 2013 - ",
# "Mar 5, 8:11 PM - ".
_WORD_DATES = (
    r"(?P<day>\d{1,2})\.? (?P<month>(?:[^\W\d_][\u0300-\u036f]?){3,12})\.?(?:,? (?P<year>20\d\d))?",
    r"(?P<month>[A-Z][a-z]{2,8})\.? (?P<day>\d{1,2})(?:, (?P<year>20\d\d))?",
)

# The pattern for most phones is tried first, as it is much faster than the general ones.
_COMMON_HEADER = re.compile(
    r"(\[)?(\d{1,4}([./-]) ?\d{1,2}\3 ?\d{1,4})\.?(,)? (?:klo |kl\. )?((?:오전|오후) |[上下]午|午[前後])?"
    r"(\d{1,2})([:.])(\d\d)(?:\7(\d\d))?(?:[ \u202f]([AaPp][Mm]))?"
    rf"(?(1)\]|[ ]-) (?![{MARKS}])"
)
_MAY_BE_HEADER = re.compile(rf"{_M}\[?{_M}(?:\d|(?:{_HALF_DAY})\s?\d|(?:R|令和)\d)", re.IGNORECASE)
_HEADER_PATTERNS = tuple(
    re.compile(rf"{_M}(?P<bracket>\[)?{_M}{first}{_BETWEEN}{second}{_END}", re.IGNORECASE)
    for first, second in ((_DATE, _TIME), (_TIME, _DATE))
)
_MAY_HAVE_WORD = re.compile(r"\[?(?:\d{1,2}(?:\.? [^\W\d]|[:.]\d\d)|[A-Z][a-z]{2,8}\.? \d)")
_WORD_HEADERS = tuple(
    re.compile(rf"(?P<bracket>\[)?{first},? {second}(?(bracket)\]| [-\u2013])(?: |$)", re.IGNORECASE)
    for date_style in _WORD_DATES
    for first, second in ((_TIME, date_style), (date_style, _TIME))
)
_MEDIA_DAY = re.compile(r"\b(?:IMG|VID|AUD|PTT|DOC|STK)-(\d{4})(\d{2})(\d{2})-WA\d+|\b\d+-\w+-(\d{4})-(\d{2})-(\d{2})-")

# In place of the year of a header that has none.
_NO_YEAR = -1
# A date without a year that seems to lie further back than this is one of the next year.
_MAX_BACKWARD_DAYS = 183
_WORD_SEPARATOR = " "
_MIN_RUNS = 3
_REIWA = 2018

# The app appeared in 2009; messages are no older, and none is dated later than next year.
_FIRST_YEAR = 2009

# Phones write dates in several calendars, which the year tells apart.
_BUDDHIST = 543
# The years of the Solar Hijri calendar (Iran) and of the Islamic one since 2001 and for decades to come.
_SOLAR = range(1380, 1428)
_ISLAMIC = range(1428, 1480)
# Day 1 of the Islamic calendar (16 July 622, Julian), as date.toordinal() counts.
_HIJRA = 227015
_NOWRUZ_1380 = date(2001, 3, 21)
# Leap years of the Solar Hijri calendar: every fourth year, but some are five years apart.
_SOLAR_LEAP = frozenset((1383, 1387, 1391, 1395, 1399, 1403, 1408, 1412, 1416, 1420, 1424))


class HeaderStyle(NamedTuple):
    """What the headers of one export have in common. ``long_year`` is -1 if a four-digit year comes first,
    else the number of digits (4 or 2) of the year at the end."""

    bracket: bool
    separator: str
    long_year: int
    comma: bool
    colon: str
    seconds: bool
    has_half_days: bool
    clock_first: bool = False
    ends_with_colon: bool = False


class MessageHeader(NamedTuple):
    """A line's date and time as numbers, before it is known which one is the day, and the rest of the line."""

    style: HeaderStyle
    numbers: tuple[int, int, int]
    clock: tuple[int, int, int]
    rest: str
    is_padded: bool
    has_uppercase_half: bool

    def to_datetime(self, order: Order) -> datetime | None:
        """The local time; None if the numbers are no date in this order."""
        day = _day(self.numbers, order)
        if day is None:
            return None
        hour, minute, second = self.clock
        return datetime(day.year, day.month, day.day, hour, minute, second)

    def to_date(self, order: Order) -> date | None:
        return _day(self.numbers, order)

    @property
    def has_year(self) -> bool:
        return self.numbers[0] != _NO_YEAR

    def to_datetime_after(self, before: date | None) -> datetime | None:
        """The local time of a header without a year, which follows a message of ``before``; None if that is unknown."""
        if before is None:
            return None
        _, month, day = self.numbers
        for year in (before.year, before.year + 1):
            when = _gregorian(year, month, day)
            if when is not None and (before - when).days <= _MAX_BACKWARD_DAYS:
                return datetime.combine(when, time(*self.clock))
        return None


# Cached, because the messages of one day share their date.
@lru_cache(maxsize=256)
def _day(numbers: tuple[int, int, int], order: Order) -> date | None:
    a, b, c = numbers
    if a == _NO_YEAR:
        return None
    year, month, day = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}[order]
    return _gregorian(year, month, day)


def _gregorian(year: int, month: int, day: int) -> date | None:
    """A date of any calendar in the Gregorian one; None if there is no such day.

    A two-digit year belongs to this century, or to the Buddhist calendar if it would lie in the future."""
    if year < 100:
        year += 2000
        if year > date.today().year + 1:
            year += 500 - _BUDDHIST
    elif year > 2400:
        year -= _BUDDHIST
    elif year in _SOLAR:
        return _solar(year, month, day)
    elif year in _ISLAMIC:
        return _islamic(year, month, day)
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _solar(year: int, month: int, day: int) -> date | None:
    lengths = [31] * 6 + [30] * 5 + [30 if year in _SOLAR_LEAP else 29]
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    years = sum(366 if earlier in _SOLAR_LEAP else 365 for earlier in range(_SOLAR.start, year))
    return _NOWRUZ_1380 + timedelta(days=years + sum(lengths[: month - 1]) + day - 1)


def _islamic(year: int, month: int, day: int) -> date | None:
    """By the civil (tabular) calendar; the sighting of the moon moves a month by at most a day."""
    if not 1 <= month <= 12 or not 1 <= day <= 30:
        return None
    months = -(-59 * (month - 1) // 2)
    return date.fromordinal(_HIJRA - 1 + (year - 1) * 354 + (3 + 11 * year) // 30 + months + day)


def parse_header(line: str) -> MessageHeader | None:
    """The header at the beginning of ``line``, if there is one."""
    if found := _COMMON_HEADER.match(line):
        bracket, day, separator, comma, before, hour, colon, minute, second, half = found.groups()
        half = half or before
        frame = _frame(day, separator, bracket is not None, bool(comma), colon, second is not None, half, False)
        return _header(frame, hour, minute, second, half, line[found.end() :])
    # Most lines of long messages stop here.
    if _MAY_BE_HEADER.match(line):
        for clock_first, pattern in enumerate(_HEADER_PATTERNS):
            if found := pattern.match(line):
                half, second = found["before"] or found["after"], found["second"]
                frame = _frame_of(found, bool(clock_first))
                return _header(frame, found["hour"], found["minute"], second, half, line[found.end() :])
    return _parse_word_header(line) if _MAY_HAVE_WORD.match(line) else None


def _parse_word_header(line: str) -> MessageHeader | None:
    """A header whose month is a word; its numbers are year, month and day."""
    for number, pattern in enumerate(_WORD_HEADERS):
        found = pattern.match(line)
        month = month_number(unicodedata.normalize("NFC", found["month"])) if found else None
        if found is None or month is None:
            continue
        half, second, bracket = found["before"] or found["after"], found["second"], found["bracket"] is not None
        style = HeaderStyle(bracket, _WORD_SEPARATOR, -1, False, found["colon"].strip(), second is not None,
                            half is not None, number % 2 == 0)  # fmt: skip
        numbers = (int(found["year"] or _NO_YEAR), month, int(found["day"]))
        frame = _HeaderFrame(style, numbers, is_padded=True, has_uppercase_half=False)
        return _header(frame, found["hour"], found["minute"], second, half, line[found.end() :])
    return None


def _frame_of(found: re.Match[str], clock_first: bool) -> _HeaderFrame | None:
    half = found["before"] or found["after"]
    day, colon = found["sep"].join((found["a"], found["b"], found["c"])), found["colon"].strip()
    bracket, comma, seconds = found["bracket"] is not None, bool(found["comma"]), found["second"] is not None
    return _frame(day, found["sep"], bracket, comma, colon, seconds, half, clock_first, found["end"] is not None)


def parse_broken_header(line: str) -> tuple[HeaderStyle, str] | None:
    """The style and the rest of a line that begins like a header, with a time or a date that does not exist."""
    if not _MAY_BE_HEADER.match(line):
        return None
    for clock_first, pattern in enumerate(_HEADER_PATTERNS):
        if found := pattern.match(line):
            frame = _frame_of(found, bool(clock_first))
            return (frame.style, line[found.end() :]) if frame else None
    return None


class _HeaderFrame(NamedTuple):
    """A header without its time of day, which is the same for all messages of a day."""

    style: HeaderStyle
    numbers: tuple[int, int, int]
    is_padded: bool
    has_uppercase_half: bool


@lru_cache(maxsize=1024)
def _frame(
    day: str,
    separator: str,
    bracket: bool,
    comma: bool,
    colon: str,
    seconds: bool,
    half: str | None,
    clock_first: bool,
    ends_with_colon: bool = False,
) -> _HeaderFrame | None:
    a, b, c = (_year_of_era(part.strip()) for part in day.split(separator))
    if len(a) > 2 and len(c) > 2:
        return None
    long_year = -1 if len(a) > 2 else 4 if len(c) > 2 else 2
    has_half = half is not None
    style = HeaderStyle(bracket, separator, long_year, comma, colon, seconds, has_half, clock_first, ends_with_colon)
    has_uppercase_half = half is not None and half.strip() in ("AM", "PM")
    return _HeaderFrame(style, (int(a), int(b), int(c)), len(b) == 2 and len(a) != 1, has_uppercase_half)


def _year_of_era(number: str) -> str:
    era = number.lstrip("Rr令和")
    return number if len(era) == len(number) else str(_REIWA + int(era))


def _header(
    frame: _HeaderFrame | None, hour: str, minute: str, second: str | None, half: str | None, rest: str
) -> MessageHeader | None:
    if frame is None:
        return None
    style, numbers, is_padded, has_uppercase_half = frame
    clock = int(hour) if half is None else _to_24_hour(int(hour), half), int(minute), int(second or 0)
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    return MessageHeader(style, numbers, clock, rest, is_padded, has_uppercase_half)


@lru_cache(maxsize=256)
def _to_24_hour(hour: int, half: str) -> int:
    word = _normalized(half)
    if word == "中午":
        return hour + 12 if hour < 3 else hour
    # Nights begin before midnight and end after it.
    if word in _NIGHT:
        return hour % 12 + (12 if hour % 12 >= 6 else 0)
    if word not in _AFTERNOON:
        return 0 if hour == 12 else hour
    return hour + 12 if hour < 12 else hour


def _normalized(half: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", half).lower())


_AFTERNOON = frozenset(map(_normalized, PM))
_NIGHT = frozenset(map(_normalized, NIGHT))


@dataclass(slots=True)
class DateOrderEvidence:
    """What the headers of one style show about the order of their dates; counted line by line.

    The counters say, for each order, how many lines are dates within the years of the app (``likely``), dates at
    all (``valid``) or agree with the name of a media file (``media``), and how often a date goes back. ``runs`` counts
    how often headers of this style follow on those of another."""

    lines: int = 0
    first_line: int = 0
    last_line: int = 0
    likely: Counter[Order] = field(default_factory=Counter)
    valid: Counter[Order] = field(default_factory=Counter)
    media: Counter[Order] = field(default_factory=Counter)
    backward_steps: Counter[Order] = field(default_factory=Counter)
    ambiguous_days: int = 0
    unpadded_lines: int = 0
    uppercase_half_lines: int = 0
    last_year: int = field(default_factory=lambda: datetime.now().year + 1)
    previous: MessageHeader | None = None
    same_day_lines: int = 0
    runs: int = 0
    days: dict[Order, date] = field(default_factory=dict)

    def add(self, head: MessageHeader, number: int) -> None:
        self.lines += 1
        self.last_line = number
        self.unpadded_lines += not head.is_padded
        self.uppercase_half_lines += head.has_uppercase_half
        before = self.previous
        if before is None or before.numbers != head.numbers:
            self.first_line = self.first_line or number
            self._start_day(head)
        # All messages of a day count alike, so they are added up when the day ends.
        self.same_day_lines += 1
        if "-" in head.rest:
            for found in _MEDIA_DAY.finditer(head.rest):
                named = tuple(int(part) for part in found.groups() if part)
                for order, day in self.days.items():
                    self.media[order] += (day.year, day.month, day.day) == named

    def _start_day(self, head: MessageHeader) -> None:
        self.finish_day()
        before, self.previous = self.previous, head
        self.days = {order: day for order in possible_orders(head.style) if (day := head.to_date(order))}
        self.ambiguous_days += len(set(self.days.values())) > 1
        for order, day in self.days.items():
            earlier = before.to_date(order) if before else None
            self.backward_steps[order] += earlier is not None and day < earlier

    def finish_day(self) -> None:
        """Count the messages of the day that has ended."""
        for order, day in self.days.items():
            self.valid[order] += self.same_day_lines
            self.likely[order] += self.same_day_lines if _FIRST_YEAR <= day.year <= self.last_year else 0
        self.same_day_lines = 0


class DateOrder(NamedTuple):
    """The order of the dates in one style, how certain it is, and why."""

    order: Order
    certainty: Literal["known", "inferred", "guessed"]
    reason: str


def possible_orders(style: HeaderStyle) -> tuple[Order, ...]:
    """The orders that a style allows."""
    if style.long_year == -1:
        return ("ymd",)
    return ("dmy", "mdy") if style.long_year == 4 else ORDERS


def decide_order(style: HeaderStyle, evidence: DateOrderEvidence, day_first: bool | None = None) -> DateOrder:
    """Which number is the day: the order in which most lines are dates, else the one that the person names by
    ``day_first``, else the one that fits the file."""
    evidence.finish_day()
    open_orders = possible_orders(style)
    if len(open_orders) == 1:
        return DateOrder(open_orders[0], "known", "the year comes first")
    fits = {order: (evidence.likely[order], evidence.valid[order]) for order in open_orders}
    fitting = [order for order in open_orders if fits[order] == max(fits.values())]
    # A two-digit year rarely comes first, so that order needs evidence from media files.
    has_media_reason = evidence.media["ymd"] > max(evidence.media["dmy"], evidence.media["mdy"])
    if len(fitting) > 1 and "ymd" in fitting and not has_media_reason:
        fitting.remove("ymd")
    if len(fitting) == 1:
        return DateOrder(fitting[0], "known", "a number above 12")
    told: Order | None = None if day_first is None else "dmy" if day_first else "mdy"
    if told in fitting:
        return DateOrder(told, "known", "as it was told")
    media = max(evidence.media[order] for order in fitting)
    by_media = [order for order in fitting if evidence.media[order] == media]
    if media and len(by_media) == 1:
        return DateOrder(by_media[0], "known", "by the dates in the names of media files")
    back = min(evidence.backward_steps[order] for order in fitting)
    by_steps = [order for order in fitting if evidence.backward_steps[order] == back]
    if len(by_steps) == 1:
        return DateOrder(by_steps[0], "inferred", "only then are the messages in order of time")
    if not evidence.ambiguous_days:
        return DateOrder("dmy", "known", "day and month are the same number everywhere")
    if style.separator == "." and "dmy" in fitting:
        return DateOrder("dmy", "known", "between dots the day comes first in every language")
    usual: Order = "dmy"
    if style.separator == "/" and style.has_half_days and evidence.uppercase_half_lines and evidence.unpadded_lines:
        usual = "mdy"
    return DateOrder(usual, "guessed", "the usual order for this style")


def decide_orders(
    styles: Mapping[HeaderStyle, DateOrderEvidence], document: Document | None = None
) -> tuple[dict[HeaderStyle, Order], list[InputProblem]]:
    """The order of the dates for each style, with a note for every order that is only a guess. With a document, what
    the person has told of its dates counts."""
    orders: dict[HeaderStyle, Order] = {}
    notes: list[InputProblem] = []
    for style, evidence in styles.items():
        decision = decide_order(style, evidence, document.context.day_first if document else None)
        orders[style] = decision.order
        if decision.certainty == "guessed":
            words = "/".join({"d": "day", "m": "month", "y": "year"}[letter] for letter in decision.order)
            message = f"day and month can't be told apart; dates are read as {words}, {decision.reason}"
            if document is not None:
                other = "--month-first" if decision.order == "dmy" else "--day-first"
                message += f". If that is wrong, forget this source and ingest it again with {other}"
            notes.append(InputProblem(f"line {evidence.first_line}", message, harmless=True))
    return orders, notes


def main_style(styles: dict[HeaderStyle, DateOrderEvidence]) -> HeaderStyle:
    """The style of the file: the most frequent one, and of equals the earliest."""
    return max(styles, key=lambda style: (styles[style].lines, -styles[style].first_line))


def joined_styles(styles: dict[HeaderStyle, DateOrderEvidence], min_lines: int) -> Iterable[HeaderStyle]:
    """Other styles whose lines are headers too.

    A file may consist of two exports: then a style has at least ``min_lines`` lines, all before or all after those of
    the main style. A program that changed the file may have left out a comma or AM and PM here and there: then a style
    differs from the main one only in that, and its lines stand in many places between the others. If no style has half
    of the headers, all are headers. Other lines between those of the main style are quotations within a message."""
    main = main_style(styles)
    first, last = styles[main].first_line, styles[main].last_line
    prevails = 2 * styles[main].lines >= sum(seen.lines for seen in styles.values())
    for style, seen in styles.items():
        if style == main or (prevails and seen.lines < min_lines):
            continue
        alike = style._replace(comma=main.comma, has_half_days=main.has_half_days) == main
        is_apart = seen.last_line < first or seen.first_line > last
        if not prevails or is_apart or (alike and seen.runs >= max(_MIN_RUNS, seen.lines // 4)):
            yield style
