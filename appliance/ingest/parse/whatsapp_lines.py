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

from appliance.ingest.parse.whatsapp_words import AM, CLOCK_WORDS, PM

Order = Literal["dmy", "mdy", "ymd"]
ORDERS: tuple[Order, ...] = ("dmy", "mdy", "ymd")

MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u061c"
_M = f"[{MARKS}]*"
_HALF = "|".join(re.escape(word).replace(r"\ ", r"\s?") for word in sorted({*AM, *PM}, key=len, reverse=True))
_CLOCK = "|".join(re.escape(word) for word in sorted(CLOCK_WORDS, key=len, reverse=True))

_HEADER = re.compile(
    rf"{_M}(?P<bracket>\[)?{_M}"
    rf"(?P<a>\d{{1,4}}){_M}(?P<sep>[./\-]){_M}\s?(?P<b>\d{{1,2}}){_M}(?P=sep){_M}\s?(?P<c>\d{{1,4}})\.?{_M}"
    rf"(?P<comma>[,،]?)\s{{0,2}}(?:(?P<word>{_CLOCK})\s)?{_M}"
    rf"(?P<before>(?:{_HALF}))?\s?"
    rf"(?P<hour>\d{{1,2}})(?P<colon>[:.])(?P<minute>\d{{2}})(?:(?P=colon)(?P<second>\d{{2}}))?{_M}"
    rf"(?:\s?(?P<after>(?:{_HALF})))?{_M}"
    rf"(?(bracket)\]|\s(?P<dash>[-\u2013\u2014]))(?:{_M}\s|{_M}$|(?<=\])){_M}",
    re.IGNORECASE,
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


@dataclass(frozen=True, slots=True)
class Header:
    """A line's date and time as numbers, not yet knowing which is the day, and what follows them."""

    style: Style
    numbers: tuple[int, int, int]
    clock: tuple[int, int, int]
    rest: str
    padded: bool
    loud: bool

    def when(self, order: Order) -> datetime | None:
        """The local time, or None where ``order`` makes no date of the numbers."""
        day = self.day(order)
        return datetime(day.year, day.month, day.day, *self.clock) if day else None

    def day(self, order: Order) -> date | None:
        return _day(self.numbers, order)


# The messages of one day share their date.
@lru_cache(maxsize=64)
def _day(numbers: tuple[int, int, int], order: Order) -> date | None:
    a, b, c = numbers
    year, month, day = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}[order]
    if year < 100:
        year += 2000
    try:
        return date(year, month, day)
    except ValueError:
        return None


def header(line: str) -> Header | None:
    """The header that ``line`` begins with, if it does."""
    # Cheap look first: most lines of long messages fail it.
    if not any(character.isdigit() for character in line[:8]):
        return None
    found = _HEADER.match(line)
    if found is None:
        return None
    a, b, c = found["a"], found["b"], found["c"]
    hour, minute = int(found["hour"]), int(found["minute"])
    second = int(found["second"] or 0)
    half = found["before"] or found["after"]
    if half:
        afternoon = _is_afternoon(half)
        if afternoon and hour < 12:
            hour += 12
        elif not afternoon and hour == 12:
            hour = 0
    if hour > 23 or minute > 59 or second > 59 or (len(a) > 2 and len(c) > 2):
        return None
    style = Style(
        bracket=bool(found["bracket"]),
        separator=found["sep"],
        long_year=-1 if len(a) > 2 else 4 if len(c) > 2 else 2,
        comma=bool(found["comma"]),
        colon=found["colon"],
        seconds=found["second"] is not None,
        half_days=bool(half),
    )
    return Header(
        style,
        (int(a), int(b), int(c)),
        (hour, minute, second),
        line[found.end() :],
        padded=len(b) == 2 and len(a) != 1,
        loud=half is not None and half.strip() in ("AM", "PM"),
    )


def _is_afternoon(half: str) -> bool:
    word = unicodedata.normalize("NFKC", half).lower().strip()
    squeezed = re.sub(r"\s", "", word)
    return any(squeezed == re.sub(r"\s", "", pm) for pm in PM)


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

    def add(self, head: Header, number: int) -> None:
        self.lines += 1
        self.first_line = self.first_line or number
        self.last_line = number
        self.unpadded += not head.padded
        self.loud += head.loud
        before, self.previous = self.previous, head
        days = {order: day for order in orders_of(head.style) if (day := head.day(order))}
        for order, day in days.items():
            self.valid[order] += 1
            self.likely[order] += _FIRST_YEAR <= day.year <= self.last_year
        if before is None or before.numbers != head.numbers:
            self.differ += len(set(days.values())) > 1
            for order, day in days.items():
                earlier = before.day(order) if before else None
                self.back[order] += earlier is not None and day < earlier
        for found in _MEDIA_DAY.finditer(head.rest) if "-" in head.rest else ():
            named = tuple(int(part) for part in found.groups() if part)
            for order, day in days.items():
                self.media[order] += (day.year, day.month, day.day) == named


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
