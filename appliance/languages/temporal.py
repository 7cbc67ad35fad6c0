"""Temporal expressions in text: "in March 2024", "last week", "next Friday", "3 days ago".

One parser reads the words of all languages. It returns what an expression names, and its callers decide which range
of time that is: "on Friday" means the last Friday in a question and the next one in a plan. The parser does not guess:
words that it does not know are no expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from string import digits
from threading import Lock
from typing import Any, Literal

from appliance.languages import LANGUAGES
from appliance.languages.calendar_dates import CALENDARS
from appliance.languages.language import TimeUnit, full_names

# "last" is the one before the present, "before last" the one before that, "this" the present or coming one, "next" the
# one of next week, and "past" a count of units up to now.
Anchor = Literal["last", "before last", "this", "next", "past"]


def words(field: str) -> str:
    """Return one pattern of a field of the temporal words of all languages."""
    return _any(text for language in LANGUAGES if (text := getattr(language.temporal, field)))


def _any(texts: Iterable[str]) -> str:
    return "(?:" + "|".join(texts).replace(" ", r"\s+") + ")"


def _numbered(field: str) -> dict[str, int]:
    """The number of each name in a field, from 0 on."""
    return {
        name: number
        for language in LANGUAGES
        for number, names in enumerate(getattr(language.temporal, field))
        for name in names.split("|")
    }


MONTHS: Mapping[str, int] = {name: number + 1 for name, number in _numbered("months").items()}
WEEKDAYS: Mapping[str, int] = _numbered("weekdays")  # Monday is 0
# By the month in which they begin in the north.
SEASONS: Mapping[str, int] = {name: 3 * number + 3 for name, number in _numbered("seasons").items()}
_TEMPORAL = [language.temporal for language in LANGUAGES]
QUARTERS: Mapping[str, int] = _numbered("quarters")
_HOLIDAYS = {
    name: day
    for language in LANGUAGES
    for day, names in language.temporal.holidays.items()
    for name in names.split("|")
}
# Christmas is a season of gifts and songs too: its days are meant only with a year.
_HOLIDAYS_OF_A_YEAR = {name: (12, 26, 24) for language in LANGUAGES for name in language.temporal.christmas.split("|")}
# How many days after today.
DAYS = {name: days for temporal in _TEMPORAL for days, names in temporal.days.items() for name in names.split("|")}
_UNITS = {name: unit for temporal in _TEMPORAL for unit, names in temporal.units.items() for name in names.split("|")}
_NUMBERS = {name: number + 1 for name, number in _numbered("numbers").items()}
NUMBER_WORDS = tuple(_NUMBERS)
_VAGUE = {name: number for temporal in _TEMPORAL for name, number in temporal.vague_numbers.items()}

MONTH, WEEKDAY, SEASON, UNIT = _any(MONTHS), _any(WEEKDAYS), _any(SEASONS), _any(_UNITS)
YEAR = r"(?:19\d\d|20\d\d)"
_COUNT = rf"(?:\d{{1,3}}|{_any(_NUMBERS)}|{_any(_VAGUE)})"
_ORDINAL, _OF, _LAST, _THIS = words("ordinal"), words("of"), words("last"), words("this")
_NEAR = rf"(?:(?P<next>{words('next')})|(?P<this>{_THIS}|{words('coming')})|(?P<last>{_LAST}))"
_FULL_WEEKDAYS = [name for temporal in _TEMPORAL for name in full_names(temporal.weekdays)]
_ON = "|".join(
    # After "on", "am" or "el", short names count in their own language only: "I am sat" is not a Saturday.
    rf"(?<=\b{word}\s)(?={_any([*_FULL_WEEKDAYS, *temporal.weekdays])}\b)"
    for temporal in _TEMPORAL
    for word in temporal.on
)
ARTICLE = _any(language.articles for language in LANGUAGES)
CONJUNCTION = _any(language.conjunctions for language in LANGUAGES)
_DASH = r"\s*[-–—]\s*"
_TO = rf"(?:{_DASH}|\s+(?!{CONJUNCTION}\b){words('range_end')}\s+)(?:{ARTICLE}\s+)?"
_BETWEEN = rf"{words('range_start')}\s+(?:{ARTICLE}\s+)?"
# The first day of a range whose last day names the month: "5-7 June", "del 5 al 7 de junio". A conjunction makes a
# range only after a word such as "between", which is then a part of the expression.
_FIRST_DAY = rf"""
    (?:(?:
      {_BETWEEN}(?P<first_day1>\d{{1,2}})(?:{_ORDINAL}|\.)?(?:\s?(?P<first_number1>\d{{1,2}})\.)?\s+{CONJUNCTION}\s+
        (?:{ARTICLE}\s+)?
    | (?<![:./-])(?P<first_day2>\d{{1,2}})(?:{_ORDINAL}|\.)?(?:(?<=\.)\s?(?P<first_number2>\d{{1,2}})\.)?{_TO}
    )(?:{WEEKDAY},?\s+(?:{ARTICLE}\s+)?)?)?"""
_TO_LAST_DAY = rf"(?:(?P<first_day4>\d{{1,2}}){_ORDINAL}?{_TO}(?=\d{{1,2}}(?!\d|\.?\s*(?:{_OF}\s+)?{MONTH}\b)))?"
# Two digits are a year only at the end of a clause: in "8 May 10 people" they are none.
_SHORT_YEAR = r"|,?\s+'?(?P<short_year>\d\d)(?=\s*(?:[?.!,;)]|$))"


def _named(first_day: str = "", to_last_day: str = "", short_year: str = "") -> str:
    """Return the pattern of an expression that needs no context, with what only searches read in it."""
    return rf"""
      (?:{WEEKDAY},?\s+(?:{ARTICLE}\s+)?)?(?:
        (?P<iso>\d{{4}}-\d{{2}}(?:-\d{{2}})?)(?:T\d{{2}}:?\d{{2}})?
      | (?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<year0>{YEAR})
      | {first_day}(?:
          (?P<day1>\d{{1,2}})\.\s?(?P<number1>\d{{1,2}})\.\s?(?P<year1>{YEAR})
        | (?P<day2>\d{{1,2}})(?:{_ORDINAL}|\.)?\s+(?:{_OF}\s+)?(?P<month2>{MONTH})
            (?:(?:\.?,?\s+(?:{_OF}\s+)?|,)(?P<year2>{YEAR}){short_year})?
        )
      | (?P<month4>{MONTH})\.?\s+(?:the\s+)?{to_last_day}(?P<day4>\d{{1,2}}){_ORDINAL}?\b(?!:\d)
          (?:,?\s+(?P<year4>{YEAR}))?
      )
    | (?:(?P<season5>{SEASON})|(?P<month5>{MONTH}))\.?(?:,?\s+(?:{_OF}\s+)?|,)(?P<year5>{YEAR})
    | (?P<last6>{_LAST})\s+(?:(?P<month6>{MONTH})|(?P<season6>{SEASON}))
    | {_LAST}\s+(?P<past>{_COUNT})\s+(?P<unit7>{UNIT})
    | (?P<back8>{_COUNT})\s+(?P<unit8>{UNIT})\s+{words("ago_after")}
    | {words("ago_before")}\s+(?P<back9>{_COUNT})\s+(?P<unit9>{UNIT})
    | {words("ahead")}\s+(?P<ahead>\d{{1,3}}|{_any(_NUMBERS)})\s+(?P<unit10>{UNIT})
    | (?:(?P<last11>{_LAST})|(?P<this11>{_THIS}))\s+(?P<unit11>{UNIT})
    | (?:(?P<unit12>{UNIT})|(?P<month12>{MONTH})|(?P<season12>{SEASON}))\s+(?P<last12>{words("last_after")})
    | (?P<before_last16>{words("before_last")})\s+(?P<unit16>{UNIT})
    | (?P<unit17>{UNIT})\s+(?P<before_last17>{words("before_last_after")})
    | (?P<days>{_any(DAYS)})
    | (?P<year>{YEAR})
"""


def _compiled_once(compile_pattern: Callable[[], re.Pattern[str]]) -> Callable[[], re.Pattern[str]]:
    """A function that compiles its pattern at the first call: of several threads one does, and the others wait."""
    compiled: list[re.Pattern[str]] = []
    lock = Lock()

    @wraps(compile_pattern)
    def pattern() -> re.Pattern[str]:
        if not compiled:
            with lock:
                if not compiled:
                    compiled.append(compile_pattern())
        return compiled[0]

    return pattern


@_compiled_once
def _anywhere() -> re.Pattern[str]:
    """The pattern of expressions that count wherever they stand. Compiling it takes some twenty milliseconds, which a
    program that searches nothing does without."""
    return re.compile(
        rf"""\b(?:
          {_named(_FIRST_DAY, _TO_LAST_DAY, _SHORT_YEAR)}
        | {_BETWEEN}(?P<month3>{MONTH})\s+(?P<first_day3>\d{{1,2}}){_ORDINAL}?\s+{CONJUNCTION}\s+
            (?P<day3>\d{{1,2}}){_ORDINAL}?(?:,?\s+(?P<year3>{YEAR}))?(?!\s+(?:{_OF}\s+)?{MONTH}\b)
        | (?P<quarter>{_any(QUARTERS).replace(".", "[.]")})(?:,?\s+(?:{_OF}\s+)?|/)(?P<year13>{YEAR})
        | (?P<holiday>{_any(_HOLIDAYS)})(?:,?\s+(?:{_OF}\s+)?(?P<year14>{YEAR}))?
        | (?P<holiday_of_year>{_any(_HOLIDAYS_OF_A_YEAR)}),?\s+(?:{_OF}\s+)?(?P<year15>{YEAR})
        | (?:{_NEAR}\s+|{_ON})(?P<weekday>{WEEKDAY})(?:\s+(?P<next_after>{words("next_after")}))?
        )\b""",
        re.IGNORECASE | re.VERBOSE,
    )


@_compiled_once
def _expected() -> re.Pattern[str]:
    """The pattern of ``match``. It is compiled when first needed: that takes some ten milliseconds, and no search
    needs it."""
    return re.compile(
        rf"""\b(?:
          (?:{WEEKDAY},?\s+(?:{ARTICLE}\s+)?)?(?P<day13>\d{{1,2}})\.\s?(?P<number13>\d{{1,2}})\.(?!\d|\s{YEAR})
        | (?:{_named()}|(?:{_NEAR}\s*)?(?P<weekday>{WEEKDAY})(?:\s+(?P<next_after>{words("next_after")}))?)\b
        )""",
        re.IGNORECASE | re.VERBOSE,
    )


_DATES_BY_SIGN = [calendar for calendar in CALENDARS if calendar.month]
_YEAR_SIGN, _MONTH_SIGN, _DAY_SIGN = (
    _any(dict.fromkeys(getattr(calendar, field) for calendar in _DATES_BY_SIGN)) for field in ("year", "month", "day")
)
_FOREIGN_MONTHS = {
    name: number + 1
    for calendar in CALENDARS
    for number, names in enumerate(calendar.months)
    for name in names.split("|")
}
_FOREIGN_DAYS = {name: days for one in CALENDARS for days, names in one.days.items() for name in names.split("|")}
_FOREIGN_SPANS = {name: span for one in CALENDARS for span, names in one.spans.items() for name in names.split("|")}
_SPACED = [
    name
    for one in CALENDARS
    if one.months
    for names in (*one.days.values(), *one.spans.values())
    for name in names.split("|")
]
_UNSPACED = [name for name in (*_FOREIGN_DAYS, *_FOREIGN_SPANS) if name not in _SPACED]
_FOREIGN_LEADS = _any(one.leads for one in CALENDARS if one.leads)
# Digits of any script are numbers here: "٣ مارس ٢٠٢٣".
_CALENDAR_DATE = re.compile(
    rf"""
      (?<!\d)(?:(?P<year>\d{{4}})\s?{_YEAR_SIGN}(?:\s?(?P<month>\d{{1,2}})\s?{_MONTH_SIGN}(?:\s?(?P<day>\d{{1,2}})\s?{_DAY_SIGN})?)?
      | (?P<month2>\d{{1,2}})\s?{_MONTH_SIGN}\s?(?P<day2>\d{{1,2}})\s?{_DAY_SIGN}
      | (?P<month3>\d{{1,2}})\s?{_MONTH_SIGN}(?=[にのはを中份에의]))
    | (?<!\w)(?:(?P<day4>\d{{1,2}})\s+(?:من\s+)?(?P<name4>{_any(_FOREIGN_MONTHS)})
          (?:،?\s+(?:{_FOREIGN_LEADS}\s+)?(?P<year4>\d{{4}}))?
      | (?P<name5>{_any(_FOREIGN_MONTHS)})،?\s+(?:{_FOREIGN_LEADS}\s+)?(?P<year5>\d{{4}})
      | (?P<word>{_any(sorted(_SPACED, key=len, reverse=True))}))(?!\w)
    | (?P<word2>{_any(sorted(_UNSPACED, key=len, reverse=True))})
    """,
    re.VERBOSE,
)

# A bare year is a word of its own: "Figuier!2022", "covid-2022" and "/2022/03/" name something else.
_BEFORE_YEAR = re.compile(
    rf"(?:^|[\s(\[{{<\"'“”‘’„«»‹›¿¡–—…（「『【]|\d[-/,]|\b\d\d\.|\b{_any(map(words, ('early', 'middle', 'late')))}-)$",
    re.IGNORECASE,
)
_AFTER_YEAR = re.compile(r"[?.!,;:)\]}>\"'“”‘’«»‹›…？。、！，）」』】]*(?:$|\s)|[–—]|['’]\w|[-/,]\d|\.\d\d\b")
_LONGEST_PART = 25
"""How many characters of text before a year are read for "mid-" and the like."""

_LEADS = ("in_month", "this", "last", "before", "until", "since", "after", "early", "middle", "late")


@_compiled_once
def _bare() -> re.Pattern[str]:
    """The pattern of a month without a day or a year. It counts only after one of these words, or before "to" and a
    month: "may" and "march" are verbs too."""
    return re.compile(
        rf"\b(?:(?:{'|'.join(map(words, _LEADS))})\s+(?:the\s+|del\s+)?|(?={MONTH}{_TO}{MONTH}\b))"
        rf"(?P<bare>(?P<month>{MONTH})|(?P<season>{SEASON}))\b",
        re.IGNORECASE,
    )


@dataclass(frozen=True, slots=True)
class TemporalExpression:
    """A time as a text names it, from ``start`` to ``end`` of the text. What the text does not name is None.

    ``season`` is the month in which the season, or a quarter of the year, begins. ``count`` is a number of units from
    today, negative for the past; ``days`` is a number of days from today. ``first_day``, of ``first_month`` if that is
    another one, begins a range of days that ``day`` and ``month`` end ("5-7 June"). ``either`` says that day and month
    may be swapped ("5/6/2024")."""

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    season: int | None = None
    weekday: int | None = None
    unit: TimeUnit | None = None
    count: int | None = None
    days: int | None = None
    anchor: Anchor | None = None
    first_day: int | None = None
    first_month: int | None = None
    either: bool = False


def prepare() -> None:
    """Compile the patterns of ``find`` before its first text comes."""
    _anywhere()
    _bare()


def find(text: str, most: int) -> list[TemporalExpression]:
    """Return the first ``most`` expressions of a text, in the order in which they end. No two overlap."""
    by_sign = () if text.isascii() else _CALENDAR_DATE.finditer(text)
    dates = [_calendar_date(match) for match in islice(by_sign, most)]
    found = dates + [
        expression
        for match in islice(_anywhere().finditer(text), most)
        if not _overlaps(expression := _expression(match), dates)
        and (match["year"] is None or _is_word(text, *match.span("year")))
    ]
    bare = (
        _expression(match, match.start("bare"))
        for match in _bare().finditer(text)
        if not any(known.start < match.end() and match.start("bare") < known.end for known in found)
    )
    return sorted([*found, *islice(bare, most)], key=lambda expression: expression.end)[:most]


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether a bare year is a word of its own."""
    before = _BEFORE_YEAR.search(text, max(0, start - _LONGEST_PART), start)
    return before is not None and _AFTER_YEAR.match(text, end) is not None


def _overlaps(expression: TemporalExpression, others: Iterable[TemporalExpression]) -> bool:
    return any(other.start < expression.end and expression.start < other.end for other in others)


def _calendar_date(found: re.Match[str]) -> TemporalExpression:
    groups = {name.rstrip(digits): text for name, text in found.groupdict().items() if text}
    values: dict[str, Any] = {name: int(groups[name]) for name in ("year", "month", "day") if name in groups}
    if name := groups.get("name"):
        values["month"] = _FOREIGN_MONTHS[" ".join(name.split())]
    if (word := " ".join(groups.get("word", "").split())) in _FOREIGN_DAYS:
        values["days"] = _FOREIGN_DAYS[word]
    elif word:
        values["unit"], values["anchor"] = _FOREIGN_SPANS[word]
    return TemporalExpression(found.start(), found.end(), **values)


def match(text: str, at: int, end: int) -> TemporalExpression | None:
    """Return the expression that begins at ``at``, where one is expected; None if there is none.

    Some expressions count only where one is expected: "3.5." and "Friday"."""
    found = _expected().match(text, at, end)
    return _expression(found) if found else None


def _expression(found: re.Match[str], start: int | None = None) -> TemporalExpression:
    groups = {name.rstrip(digits): _plain(text) for name, text in found.groupdict().items() if text}
    values: dict[str, Any] = {}
    match groups:
        case {"iso": text}:
            values = dict(zip(("year", "month", "day"), map(int, text.split("-")), strict=False))
        case {"a": a, "b": b}:
            first, second = int(a), int(b)
            month, day = (first, second) if first <= 12 else (second, first)
            values = {"month": month, "day": day, "either": max(first, second) <= 12 and first != second}
        case {"holiday": text}:
            values = dict(zip(("month", "day"), _HOLIDAYS[text], strict=True))
        case {"holiday_of_year": text}:
            values = dict(zip(("month", "day", "first_day"), _HOLIDAYS_OF_A_YEAR[text], strict=True))
        case {"past": count}:
            values = {"count": -_count(count), "anchor": "past"}
        case {"back": count}:
            values = {"count": -_count(count)}
        case {"ahead": count}:
            values = {"count": _count(count)}
        case {"days": text}:
            values = {"days": DAYS[text]}
        case {"next": _} | {"next_after": _}:
            values = {"anchor": "next"}
        case {"before_last": _}:
            values = {"anchor": "before last"}
        case {"this": _} | {"last": _}:
            values = {"anchor": "this" if "this" in groups else "last"}
    for name, (field, read) in _FIELDS.items():
        if name in groups:
            values[field] = read(groups[name])
    return TemporalExpression(found.start() if start is None else start, found.end(), **values)


# The field that a group of the patterns is, and how it is read, by its name without the number of the alternative.
_FIELDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "year": ("year", int), "short_year": ("year", lambda text: 2000 + int(text)), "day": ("day", int),
    "month": ("month", MONTHS.__getitem__), "number": ("month", int), "season": ("season", SEASONS.__getitem__),
    "quarter": ("season", lambda text: 3 * QUARTERS[text] + 1), "weekday": ("weekday", WEEKDAYS.__getitem__),
    "unit": ("unit", _UNITS.__getitem__), "first_day": ("first_day", int), "first_number": ("first_month", int),
}  # fmt: skip


def number(word: str) -> int:
    """Return the number that one of ``NUMBER_WORDS`` means."""
    return _NUMBERS[word]


def _count(text: str) -> int:
    return _NUMBERS.get(text) or _VAGUE.get(text) or int(text)


def _plain(text: str) -> str:
    """The text with single spaces and folded as patterns ignore case, so that "İ" and "ı" become "i"."""
    plain = text.casefold().replace("ı", "i").replace("i\N{COMBINING DOT ABOVE}", "i")
    return " ".join(plain.split())
