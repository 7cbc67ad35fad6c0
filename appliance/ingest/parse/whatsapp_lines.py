"""The lines of a WhatsApp export: which of them begin a message, and what their dates mean.

Every phone writes one style of header, but which style differs by system, language and settings. The
style that most lines share is the file's; a line in another style is part of a message's text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from appliance.ingest.parse.whatsapp_calendars import day_of
from appliance.ingest.parse.whatsapp_words import AM, CLOCK_WORDS, PM

Order = Literal["dmy", "mdy", "ymd"]
ORDERS: tuple[Order, ...] = ("dmy", "mdy", "ymd")

MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u061c"
_M = f"[{MARKS}]*"
_HALF = "|".join(re.escape(word).replace(r"\ ", r"\s?") for word in sorted({*AM, *PM}, key=len, reverse=True))
_CLOCK = "|".join(re.escape(word) for word in sorted(CLOCK_WORDS, key=len, reverse=True))

_DATE = (
    rf"(?P<a>\d{{1,4}}){_M}(?P<sep>[./\-]){_M}\s?(?P<b>\d{{1,2}}){_M}(?P=sep){_M}\s?(?P<c>\d{{1,4}})\.?"
    rf"(?:\s?(?:г\.|р\.|г|هـ|ه\.ش\.|AP|AH|BE))?{_M}"
)
_TIME = (
    rf"(?P<before>(?:{_HALF}))?\s?"
    r"(?P<hour>\d{1,2})(?P<colon>[:.]|\s?h\s?)(?P<minute>\d{2})"
    rf"(?:(?:(?P=colon)|\smin\s)(?P<second>\d{{2}})(?:\ss)?)?{_M}"
    rf"(?:\s?(?P<after>(?:{_HALF}))|\s?(?:ч\.?|น\.|Uhr|uur))?{_M}"
)
_BETWEEN = rf"(?P<comma>[,،]?){_M}\s{{0,2}}(?:(?P<word>{_CLOCK})\s)?{_M}"
_END = rf"(?(bracket)\]|\s(?P<dash>[-\u2013\u2014]))(?:{_M}\s|{_M}$|(?<=\])){_M}"

# What most phones write is tried first: it is a fraction of the work.
_USUAL = re.compile(
    r"(\[)?(\d{1,4}([./-]) ?\d{1,2}\3 ?\d{1,4})\.?(,)? (?:klo |kl\. )?((?:오전|오후) |[上下]午|午[前後])?"
    r"(\d{1,2})([:.])(\d\d)(?:\7(\d\d))?(?:[ \u202f]([AaPp][Mm]))?"
    rf"(?(1)\]|[ ]-) (?![{MARKS}])"
)
_BEGINS = re.compile(rf"{_M}\[?{_M}(?:\d|(?:{_HALF})\s?\d)", re.IGNORECASE)
_ANY = tuple(
    re.compile(rf"{_M}(?P<bracket>\[)?{_M}{first}{_BETWEEN}{second}{_END}", re.IGNORECASE)
    for first, second in ((_DATE, _TIME), (_TIME, _DATE))
)
_MEDIA_DAY = re.compile(
    r"\b(?:IMG|VID|AUD|PTT|DOC|STK)-(\d{4})(\d{2})(\d{2})-WA\d+|\b\d+-\w+-(\d{4})-(\d{2})-(\d{2})-"
)


# Nobody wrote a message before the app was there, or will have written one next year but one.
_FIRST_YEAR = 2009


class Style(NamedTuple):
    """What the headers of one export have in common. ``long_year``: -1 first, 4 or 2 digits last."""

    bracket: bool
    separator: str
    long_year: int
    comma: bool
    colon: str
    seconds: bool
    half_days: bool
    clock_first: bool = False


class Header(NamedTuple):
    """A line's date and time as numbers, not yet knowing which is the day, and what follows them."""

    style: Style
    numbers: tuple[int, int, int]
    clock: tuple[int, int, int]
    rest: str
    padded: bool
    loud: bool

    def when(self, order: Order) -> datetime | None:
        """The local time, or None where ``order`` makes no date of the numbers."""
        day = _day(self.numbers, order)
        if day is None:
            return None
        hour, minute, second = self.clock
        return datetime(day.year, day.month, day.day, hour, minute, second)

    def day(self, order: Order) -> date | None:
        return _day(self.numbers, order)


# The messages of one day share their date.
@lru_cache(maxsize=256)
def _day(numbers: tuple[int, int, int], order: Order) -> date | None:
    a, b, c = numbers
    year, month, day = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}[order]
    return day_of(year, month, day)


def header(line: str) -> Header | None:
    """The header that ``line`` begins with, if it does."""
    if found := _USUAL.match(line):
        bracket, day, separator, comma, before, hour, colon, minute, second, half = found.groups()
        half = half or before
        frame = _frame(day, separator, bracket, comma, colon, second is not None, half, False)
        return _header(frame, hour, minute, second, half, line[found.end() :])
    # Most lines of long messages fail this look.
    if not _BEGINS.match(line):
        return None
    for clock_first, pattern in enumerate(_ANY):
        if found := pattern.match(line):
            separator, second, half = found["sep"], found["second"], found["before"] or found["after"]
            day = separator.join((found["a"], found["b"], found["c"]))
            colon = found["colon"].strip()
            frame = _frame(
                day,
                separator,
                found["bracket"],
                found["comma"],
                colon,
                second is not None,
                half,
                bool(clock_first),
            )
            return _header(frame, found["hour"], found["minute"], second, half, line[found.end() :])
    return None


class _Frame(NamedTuple):
    """What a header says besides the time of day: the same for a day's messages."""

    style: Style
    numbers: tuple[int, int, int]
    padded: bool
    loud: bool


@lru_cache(maxsize=1024)
def _frame(
    day: str,
    separator: str,
    bracket: str | None,
    comma: str | None,
    colon: str,
    seconds: bool,
    half: str | None,
    clock_first: bool,
) -> _Frame | None:
    a, b, c = (part.strip() for part in day.split(separator))
    early, late = len(a) > 2, len(c) > 2
    if early and late:
        return None
    long_year = -1 if early else 4 if late else 2
    style = Style(
        bracket is not None, separator, long_year, bool(comma), colon, seconds, half is not None, clock_first
    )
    loud = half is not None and half.strip() in ("AM", "PM")
    return _Frame(style, (int(a), int(b), int(c)), len(b) == 2 and len(a) != 1, loud)


def _header(
    frame: _Frame | None, hour: str, minute: str, second: str | None, half: str | None, rest: str
) -> Header | None:
    if frame is None:
        return None
    style, numbers, padded, loud = frame
    clock = int(hour) if half is None else _on_24_hours(int(hour), half), int(minute), int(second or 0)
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    return Header(style, numbers, clock, rest, padded, loud)


@lru_cache(maxsize=256)
def _on_24_hours(hour: int, half: str) -> int:
    squeezed = re.sub(r"\s", "", unicodedata.normalize("NFKC", half).lower())
    if squeezed == "中午":
        return hour + 12 if hour < 3 else hour
    if squeezed not in _AFTERNOON:
        return 0 if hour == 12 else hour
    return hour + 12 if hour < 12 else hour


_AFTERNOON = frozenset(re.sub(r"\s", "", unicodedata.normalize("NFKC", word).lower()) for word in PM)


@dataclass(slots=True)
class Evidence:
    """What the headers of one style say about the order of their dates; fed line by line."""

    lines: int = 0
    first_line: int = 0
    last_line: int = 0
    likely: Counter[Order] = field(default_factory=Counter)
    valid: Counter[Order] = field(default_factory=Counter)
    media: Counter[Order] = field(default_factory=Counter)
    back: Counter[Order] = field(default_factory=Counter)
    differ: int = 0
    unpadded: int = 0
    loud: int = 0
    last_year: int = field(default_factory=lambda: datetime.now().year + 1)
    previous: Header | None = None
    alike: int = 0
    days: dict[Order, date] = field(default_factory=dict)

    def add(self, head: Header, number: int) -> None:
        self.lines += 1
        self.last_line = number
        self.unpadded += not head.padded
        self.loud += head.loud
        before = self.previous
        if before is None or before.numbers != head.numbers:
            self.first_line = self.first_line or number
            self._another_day(head)
        # What a day's messages say about its date is the same; it is counted when the day is over.
        self.alike += 1
        if "-" in head.rest:
            for found in _MEDIA_DAY.finditer(head.rest):
                named = tuple(int(part) for part in found.groups() if part)
                for order, day in self.days.items():
                    self.media[order] += (day.year, day.month, day.day) == named

    def _another_day(self, head: Header) -> None:
        self.settle()
        before, self.previous = self.previous, head
        self.days = {order: day for order in orders_of(head.style) if (day := head.day(order))}
        self.differ += len(set(self.days.values())) > 1
        for order, day in self.days.items():
            earlier = before.day(order) if before else None
            self.back[order] += earlier is not None and day < earlier

    def settle(self) -> None:
        """Count the messages of the day that is over."""
        for order, day in self.days.items():
            self.valid[order] += self.alike
            self.likely[order] += self.alike if _FIRST_YEAR <= day.year <= self.last_year else 0
        self.alike = 0


class Decision(NamedTuple):
    """The order of the dates, and how sure that is: "known", "inferred" or "guessed"."""

    order: Order
    sure: Literal["known", "inferred", "guessed"]
    why: str


def orders_of(style: Style) -> tuple[Order, ...]:
    """The orders that a style leaves open."""
    if style.long_year == -1:
        return ("ymd",)
    return ("dmy", "mdy") if style.long_year == 4 else ORDERS


def decide(style: Style, seen: Evidence) -> Decision:
    """Which number is the day: the order that makes dates of most lines, then what fits the file."""
    seen.settle()
    open_orders = orders_of(style)
    if len(open_orders) == 1:
        return Decision(open_orders[0], "known", "the year comes first")
    fits = {order: (seen.likely[order], seen.valid[order]) for order in open_orders}
    fitting = [order for order in open_orders if fits[order] == max(fits.values())]
    # A two-digit year first is rare: it needs a reason of its own.
    if (
        len(fitting) > 1
        and "ymd" in fitting
        and seen.media["ymd"] <= max(seen.media["dmy"], seen.media["mdy"])
    ):
        fitting.remove("ymd")
    if len(fitting) == 1:
        return Decision(fitting[0], "known", "a number above 12")
    media = max(seen.media[order] for order in fitting)
    by_media = [order for order in fitting if seen.media[order] == media]
    if media and len(by_media) == 1:
        return Decision(by_media[0], "known", "dates in the names of media files")
    back = min(seen.back[order] for order in fitting)
    by_steps = [order for order in fitting if seen.back[order] == back]
    if len(by_steps) == 1:
        return Decision(by_steps[0], "inferred", "only so the messages are in order of time")
    if not seen.differ:
        return Decision("dmy", "known", "day and month are the same number everywhere")
    usual: Order = "dmy"
    if style.separator == "/" and style.half_days and seen.loud and seen.unpadded:
        usual = "mdy"
    return Decision(usual, "guessed", "what is usual for this style")


def main_style(styles: dict[Style, Evidence]) -> Style:
    """The style of the file: the most frequent one, the earliest among equals."""
    return max(styles, key=lambda style: (styles[style].lines, -styles[style].first_line))


def joined_styles(styles: dict[Style, Evidence], enough: int) -> Iterable[Style]:
    """Other styles that are headers too: a file may be two exports, one after the other.

    They must have ``enough`` lines, all before or all after those of the main style: what lies
    between them is a quotation in somebody's message."""
    main = main_style(styles)
    first, last = styles[main].first_line, styles[main].last_line
    for style, seen in styles.items():
        if style != main and seen.lines >= enough and (seen.last_line < first or seen.first_line > last):
            yield style
