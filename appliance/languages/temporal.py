"""Temporal expressions in text: "in March 2024", "last week", "next Friday", "3 days ago".

One parser reads the words of all languages of ``LANGUAGES`` together, and those of each of ``TIME_LANGUAGES`` by
themselves. It returns what an expression names, and its callers decide which range of time that is: "on Friday" means
the last Friday in a question and the next one in a plan. The parser does not guess: words that it does not know are no
expression."""

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
from appliance.languages.language import TimeUnit
from appliance.languages.time_words import TIME_LANGUAGES, TimeLanguage
from appliance.languages.vocabulary import Vocabulary, any_of

# "last" is the one before the present, "before last" the one before that, "this" the present or coming one, "next" the
# one of next week, and "past" a count of units up to now.
Anchor = Literal["last", "before last", "this", "next", "past"]


def _alternatives(field: str) -> str:
    return "|".join(text for one in LANGUAGES if (text := getattr(one, field)))


# Facts are read in the languages that the program knows, and searches in ``TIME_LANGUAGES`` too.
_KNOWN = Vocabulary(
    tuple(one.temporal for one in LANGUAGES),
    articles=_alternatives("articles"),
    conjunctions=_alternatives("conjunctions"),
)
_VOCABULARIES = (_KNOWN, *(one.vocabulary for one in TIME_LANGUAGES))

words = _KNOWN.words
MONTHS, WEEKDAYS, SEASONS, QUARTERS, DAYS = _KNOWN.months, _KNOWN.weekdays, _KNOWN.seasons, _KNOWN.quarters, _KNOWN.days
NUMBER_WORDS = tuple(_KNOWN.numbers)
MONTH, WEEKDAY, UNIT = any_of(MONTHS), any_of(WEEKDAYS), any_of(_KNOWN.units)
YEAR = r"(?:19\d\d|20\d\d)"

# Of every language whose times are known; those above are of the languages of facts.
ANY_ARTICLE = any_of(one.articles for one in _VOCABULARIES)
ANY_CONJUNCTION = any_of(one.conjunctions for one in _VOCABULARIES)
ANY_UNIT = any_of(one.names(one.units) for one in _VOCABULARIES)
ANY_WEEKDAY = any_of(one.names(one.weekdays) for one in _VOCABULARIES)
ANY_ON = any_of(word for one in _VOCABULARIES for words_of in one.temporal for word in words_of.on)

TIME_NAMES = frozenset(
    word
    for one in _VOCABULARIES
    for name in (*one.months, *one.weekdays, *one.seasons, *one.days, *one.units)
    for word in name.split()
)
"""The words that name months, weekdays, seasons, days and units, in small letters."""


def any_words(field: str) -> str:
    """Return one pattern of a field of the temporal words of every language whose times are known."""
    return any_of(one.words(field) for one in _VOCABULARIES)


_DASH = r"\s*[-–—]\s*"
# Two digits are a year only at the end of a clause: in "8 May 10 people" they are none.
_SHORT_YEAR = r"|,?\s+'?(?P<short_year>\d\d)(?=\s*(?:[?.!,;)]|$))"


def _to(of: Vocabulary) -> str:
    return rf"(?:{_DASH}|\s+(?!{any_of([of.conjunctions])}\b){of.words('range_end')}\s+)(?:{_article(of)})?"


def _article(of: Vocabulary) -> str:
    return rf"{any_of([of.articles])}{of.gap}"


def _between(of: Vocabulary) -> str:
    return rf"{of.words('range_start')}{of.gap}(?:{_article(of)})?"


def _first_day(of: Vocabulary) -> str:
    """The first day of a range whose last day names the month: "5-7 June", "del 5 al 7 de junio". A conjunction makes a
    range only after a word such as "between", which is then a part of the expression."""
    ordinal = of.words("ordinal")
    return rf"""
    (?:(?:
      {_between(of)}(?P<first_day1>\d{{1,2}})(?:{ordinal}|\.)?(?:\s?(?P<first_number1>\d{{1,2}})\.)?\s+
        {any_of([of.conjunctions])}\s+(?:{_article(of)})?
    | (?<![:./-])(?P<first_day2>\d{{1,2}})(?:{ordinal}|\.)?(?:(?<=\.)\s?(?P<first_number2>\d{{1,2}})\.)?{_to(of)}
    )(?:{of.names(of.weekdays)},?\s+(?:{_article(of)})?)?)?"""


def _day_behind_month(of: Vocabulary, to_last_day: str) -> str:
    if not of.month_first:
        return ""
    return rf"""
      | (?P<month4>{of.names(of.months)})\.?\s+(?:the\s+)?{to_last_day}(?P<day4>\d{{1,2}}){of.words("ordinal")}?\b
          (?!:\d)(?:,?\s+(?P<year4>{YEAR}))?"""


def _last_day(of: Vocabulary) -> str:
    month = rf"(?:{of.words('of')}\s+)?{of.names(of.months)}"
    return rf"(?:(?P<first_day4>\d{{1,2}}){of.words('ordinal')}?{_to(of)}(?=\d{{1,2}}(?!\d|\.?\s*{month}\b)))?"


def _near(of: Vocabulary) -> str:
    this = any_of((of.words("this"), of.words("coming")))
    return rf"(?:(?P<next>{of.words('next')})|(?P<this>{this})|(?P<last>{of.words('last')}))"


def _on(of: Vocabulary) -> str:
    # After "on", "am" or "el", short names count in their own language only: "I am sat" is not a Saturday.
    return "|".join(
        rf"(?<=\b{word}\s)(?={of.names([*of.full_weekdays, *one.weekdays])}\b)"
        for one in of.temporal
        for word in one.on
    )


def _named(of: Vocabulary, first_day: str = "", to_last_day: str = "", short_year: str = "") -> str:
    """Return the pattern of an expression that needs no context, with what only searches read in it."""
    month, season, unit, weekday = (of.names(names) for names in (of.months, of.seasons, of.units, of.weekdays))
    number = of.names(of.numbers)
    count = rf"(?:\d{{1,3}}|{number}|{of.names(of.vague_numbers)})"
    joined, last, gap = rf"(?:{of.words('of')}{of.gap})?", of.words("last"), of.gap
    return rf"""
      (?:{weekday},?\s+(?:{_article(of)})?)?(?:
        (?P<iso>\d{{4}}-\d{{2}}(?:-\d{{2}})?)(?:T\d{{2}}:?\d{{2}})?
      | (?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<year0>{YEAR})
      | {first_day}(?:
          (?P<day1>\d{{1,2}})\.\s?(?P<number1>\d{{1,2}})\.\s?(?P<year1>{YEAR})
        | (?P<day2>\d{{1,2}})(?:{of.words("ordinal")}|\.)?\s+{joined}(?P<month2>{month})
            (?:(?:\.?,?\s+{joined}|,)(?P<year2>{YEAR}){short_year})?
        ){_day_behind_month(of, to_last_day)}
      )
    | (?:(?P<season5>{season})|(?P<month5>{month}))\.?(?:,?\s+{joined}|,)(?P<year5>{YEAR})
    | (?P<last6>{last}){gap}(?:(?P<month6>{month})|(?P<season6>{season}))
    | {last}\s+(?P<past>{count})\s+(?P<unit7>{unit})
    | (?P<past7>{count})\s+{of.words("last_between")}\s+(?P<unit18>{unit})
    | (?P<back8>{count})\s+(?P<unit8>{unit})\s+{of.words("ago_after")}
    | {of.words("ago_before")}\s+(?P<back9>{count})\s+(?P<unit9>{unit})
    | {of.words("ahead")}\s+(?P<ahead>\d{{1,3}}|{number})\s+(?P<unit10>{unit})
    | (?:(?P<last11>{last})|(?P<this11>{of.words("this")})){gap}(?P<unit11>{unit})
    | (?:(?P<unit12>{unit})|(?P<month12>{month})|(?P<season12>{season}))\s+(?P<last12>{of.words("last_after")})
    | (?P<before_last16>{of.words("before_last")})\s+(?P<unit16>{unit})
    | (?P<unit17>{unit})\s+(?P<before_last17>{of.words("before_last_after")})
    | (?P<days>{of.names(of.days)})
    | (?P<year>{YEAR})
"""


def _compiled_once(compile_pattern: Callable[[Vocabulary], re.Pattern[str]]) -> Callable[[Vocabulary], re.Pattern[str]]:
    """A function that compiles the pattern of a vocabulary at the first call: of several threads one does, and the
    others wait."""
    compiled: dict[Vocabulary, re.Pattern[str]] = {}
    lock = Lock()

    @wraps(compile_pattern)
    def pattern(of: Vocabulary) -> re.Pattern[str]:
        if of not in compiled:
            with lock:
                if of not in compiled:
                    compiled[of] = compile_pattern(of)
        return compiled[of]

    return pattern


@_compiled_once
def _anywhere(of: Vocabulary) -> re.Pattern[str]:
    """The pattern of expressions that count wherever they stand. Compiling it takes some twenty milliseconds, which a
    program that searches nothing does without."""
    ordinal, joined = of.words("ordinal"), rf"(?:{of.words('of')}\s+)?"
    month, weekday, next_after = of.names(of.months), of.names(of.weekdays), of.words("next_after")
    return re.compile(
        rf"""\b(?:
          (?:{of.elided})?(?:{_named(of, _first_day(of), _last_day(of), _SHORT_YEAR)})
        | {_between(of)}(?P<month3>{month})\s+(?P<first_day3>\d{{1,2}}){ordinal}?\s+{any_of([of.conjunctions])}\s+
            (?P<day3>\d{{1,2}}){ordinal}?(?:,?\s+(?P<year3>{YEAR}))?(?!\s+{joined}{month}\b)
        | (?P<quarter>{of.names(of.quarters).replace(".", "[.]")})(?:,?\s+{joined}|/)(?P<year13>{YEAR})
        | (?P<holiday>{of.names(of.holidays)})(?:,?\s+{joined}(?P<year14>{YEAR}))?
        | (?P<holiday_of_year>{of.names(of.holidays_of_a_year)}),?\s+{joined}(?P<year15>{YEAR})
        | (?P<weekday18>{weekday})\s+(?P<last18>{of.words("last_after")})
        | (?:{_near(of)}{of.gap}|{_on(of)})(?P<weekday>{weekday})(?:\s+(?P<next_after>{next_after}))?
        | (?P<weekday19>{any_of(filter(None, [of.weekdays_alone]))})(?:\s+(?P<next_after19>{next_after}))?
        )\b(?!-là\b)""",  # "cette année-là" is another one
        re.IGNORECASE | re.VERBOSE,
    )


@_compiled_once
def _expected(of: Vocabulary) -> re.Pattern[str]:
    """The pattern of ``match``. It is compiled when first needed: that takes some ten milliseconds, and no search
    needs it."""
    weekday = of.names(of.weekdays)
    return re.compile(
        rf"""\b(?:
          (?:{weekday},?\s+(?:{_article(of)})?)?(?P<day13>\d{{1,2}})\.\s?(?P<number13>\d{{1,2}})\.(?!\d|\s{YEAR})
        | (?:{_named(of)}|(?:{_near(of)}\s*)?(?P<weekday>{weekday})(?:\s+(?P<next_after>{of.words("next_after")}))?)\b
        )""",
        re.IGNORECASE | re.VERBOSE,
    )


_DATES_BY_SIGN = [calendar for calendar in CALENDARS if calendar.month]
_YEAR_SIGN, _MONTH_SIGN, _DAY_SIGN = (
    any_of(dict.fromkeys(getattr(calendar, field) for calendar in _DATES_BY_SIGN)) for field in ("year", "month", "day")
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
_FOREIGN_LEADS = any_of(one.leads for one in CALENDARS if one.leads)
# Digits of any script are numbers here: "٣ مارس ٢٠٢٣".
_CALENDAR_DATE = re.compile(
    rf"""
      (?<!\d)(?:(?P<year>\d{{4}})\s?{_YEAR_SIGN}(?:\s?(?P<month>\d{{1,2}})\s?{_MONTH_SIGN}(?:\s?(?P<day>\d{{1,2}})\s?{_DAY_SIGN})?)?
      | (?P<month2>\d{{1,2}})\s?{_MONTH_SIGN}\s?(?P<day2>\d{{1,2}})\s?{_DAY_SIGN}
      | (?P<month3>\d{{1,2}})\s?{_MONTH_SIGN}(?=[にのはを中份에의]))
    | (?<!\w)(?:(?P<day4>\d{{1,2}})\s+(?:من\s+)?(?P<name4>{any_of(_FOREIGN_MONTHS)})
          (?:،?\s+(?:{_FOREIGN_LEADS}\s+)?(?P<year4>\d{{4}}))?
      | (?P<name5>{any_of(_FOREIGN_MONTHS)})،?\s+(?:{_FOREIGN_LEADS}\s+)?(?P<year5>\d{{4}})
      | (?P<word>{any_of(sorted(_SPACED, key=len, reverse=True))}))(?!\w)
    | (?P<word2>{any_of(sorted(_UNSPACED, key=len, reverse=True))})
    """,
    re.VERBOSE,
)

_PARTS = ("early", "middle", "late")
# A bare year is a word of its own: "Figuier!2022", "covid-2022" and "/2022/03/" name something else.
_BEFORE_YEAR = re.compile(
    rf"(?:^|[\s(\[{{<\"'“”‘’„«»‹›¿¡–—…（「『【]|\d[-/,]|\b\d\d\.|\b{any_of(map(any_words, _PARTS))}-?(?<=-))$",
    re.IGNORECASE,
)
_AFTER_YEAR = re.compile(r"[?.!,;:)\]}>\"'“”‘’«»‹›…？。、！，）」』】]*(?:$|\s)|[–—]|['’]\w|[-/,]\d|\.\d\d\b")
_LONGEST_PART = 25
"""How many characters of text before a year are read for "mid-" and the like."""

_WORD = re.compile(r"\w+")
_NAMES_OF = {
    one: frozenset(
        max(_WORD.findall(name), key=len)
        for names in (v.months, v.weekdays, v.seasons, v.units, v.days, v.quarters, v.holidays, v.holidays_of_a_year)
        for name in names
    )
    for one in TIME_LANGUAGES
    for v in (one.vocabulary,)
}
"""Some word of these stands in every text that names a time in the language."""

_LEADS = ("in_month", "this", "last", "before", "until", "since", "after", "early", "middle", "late")


@_compiled_once
def _bare(of: Vocabulary) -> re.Pattern[str]:
    """The pattern of a month without a day or a year. It counts only after one of these words, or before "to" and a
    month: "may" and "march" are verbs too."""
    month, season = of.names(of.months), of.names(of.seasons)
    if of is not _KNOWN:  # these languages write months in small letters
        month = rf"(?-i:{month})"
    the = r"the\s+|del\s+" if of is _KNOWN else _article(of)
    return re.compile(
        rf"\b(?:{any_of(map(of.words, _LEADS))}{of.gap}(?:{the})?|(?={month}{_to(of)}{month}\b))"
        rf"(?P<bare>(?P<month>{month})|(?P<season>{season}))\b",
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
    for vocabulary in _VOCABULARIES:
        _anywhere(vocabulary)
        _bare(vocabulary)


def find(text: str, most: int) -> list[TemporalExpression]:
    """Return the first ``most`` expressions of a text, in the order in which they end. No two overlap."""
    by_sign = () if text.isascii() else _CALENDAR_DATE.finditer(text)
    dates = [_calendar_date(match) for match in islice(by_sign, most)]
    found = [*dates, *(one for one in _find_in(_KNOWN, text, most) if not _overlaps(one, dates))]
    lowered = set(_WORD.findall(text.casefold()))
    for language, names in _NAMES_OF.items():
        if not names.isdisjoint(lowered):
            found = _longest(found, _find_of(language, text, most))
    return sorted(found, key=lambda expression: expression.end)[:most]


def _find_of(language: TimeLanguage, text: str, most: int) -> list[TemporalExpression]:
    """The expressions of a text in one language, without its doubtful words where nothing shows the language."""
    found = _find_in(language.vocabulary, text, most)
    if language.signs is None or language.signs.search(text) or text.strip().casefold() in language.doubtful:
        return found
    return [one for one in found if text[one.start : one.end].casefold() not in language.doubtful]


def _find_in(of: Vocabulary, text: str, most: int) -> list[TemporalExpression]:
    found = [
        _expression(of, match)
        for match in islice(_anywhere(of).finditer(text), most)
        if match["year"] is None or _is_word(text, *match.span("year"))
    ]
    bare = (
        _expression(of, match, match.start("bare"))
        for match in _bare(of).finditer(text)
        if not any(known.start < match.end() and match.start("bare") < known.end for known in found)
    )
    return [*found, *islice(bare, most)]


def _longest(found: list[TemporalExpression], others: list[TemporalExpression]) -> list[TemporalExpression]:
    """Of two readings of a text the expressions that overlap no longer one; of two alike that of the first."""
    kept: list[TemporalExpression] = []
    for one in sorted([*found, *others], key=lambda one: one.start - one.end):
        if not _overlaps(one, kept):
            kept.append(one)
    return kept


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
    found = _expected(_KNOWN).match(text, at, end)
    return _expression(_KNOWN, found) if found else None


def match_whole(text: str) -> TemporalExpression | None:
    """Return the expression that a text is, in any language whose times are known; None if it is none."""
    for vocabulary in _VOCABULARIES:
        found = _expected(vocabulary).match(text)
        if found is not None and found.end() == len(text):
            return _expression(vocabulary, found)
    return None


def _expression(of: Vocabulary, found: re.Match[str], start: int | None = None) -> TemporalExpression:
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
            values = dict(zip(("month", "day"), of.holidays[text], strict=True))
        case {"holiday_of_year": text}:
            values = dict(zip(("month", "day", "first_day"), of.holidays_of_a_year[text], strict=True))
        case {"past": count}:
            values = {"count": -_count(of, count), "anchor": "past"}
        case {"back": count}:
            values = {"count": -_count(of, count)}
        case {"ahead": count}:
            values = {"count": _count(of, count)}
        case {"days": text}:
            values = {"days": of.days[text]}
        case {"next": _} | {"next_after": _}:
            values = {"anchor": "next"}
        case {"before_last": _}:
            values = {"anchor": "before last"}
        case {"this": _} | {"last": _}:
            values = {"anchor": "this" if "this" in groups else "last"}
    for name, (field, read) in _FIELDS.items():
        if name in groups:
            values[field] = read(of, groups[name])
    return TemporalExpression(found.start() if start is None else start, found.end(), **values)


def _number(of: Vocabulary, text: str) -> int:
    return int(text)


# The field that a group of the patterns is, and how it is read, by its name without the number of the alternative.
_FIELDS: Mapping[str, tuple[str, Callable[[Vocabulary, str], object]]] = {
    "year": ("year", _number), "short_year": ("year", lambda of, text: 2000 + int(text)), "day": ("day", _number),
    "month": ("month", lambda of, text: of.months[text]), "number": ("month", _number),
    "season": ("season", lambda of, text: of.seasons[text]),
    "quarter": ("season", lambda of, text: 3 * of.quarters[text] + 1),
    "weekday": ("weekday", lambda of, text: of.weekdays[text]), "unit": ("unit", lambda of, text: of.units[text]),
    "first_day": ("first_day", _number), "first_number": ("first_month", _number),
}  # fmt: skip


def number(word: str) -> int:
    """Return the number that one of ``NUMBER_WORDS`` means."""
    return _KNOWN.numbers[word]


def _count(of: Vocabulary, text: str) -> int:
    return of.numbers.get(text) or of.vague_numbers.get(text) or int(text)


def _plain(text: str) -> str:
    """The text with single spaces and folded as patterns ignore case, so that "İ" and "ı" become "i"."""
    plain = text.casefold().replace("ı", "i").replace("i\N{COMBINING DOT ABOVE}", "i").replace("’", "'")
    return " ".join(plain.split())
