"""The times that a question names ("in March 2024", "last week", "3 days ago"), as stretches of the calendar.

English, German and Spanish; a further language is a few more words in the tables. What is not understood names
no time: nothing is guessed. A month or a season without its year may be any year's.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise

import numpy as np

from appliance.moments import microseconds
from appliance.recall.candidates import Column

YEARS_BACK = 30
"""Which years a month without one may be of."""

MOST_NAMED = 8
"""How many times of a question count, the first ones: what names more is a pasted page, and each has its price."""

LOOK_BACK = 40
"""How many characters before a time can say that it is open, a part, or the first of two."""

EVER = datetime.min.replace(year=1970)

DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)

FADES = 7 * 86_400e6
"""Microseconds in which the closeness to a time falls to 1/e: people tell of things days after, or before."""

EARLIER = 0.5
"""What a message of before a stretch counts against one as long after it: more is told than announced."""

_MONTH_NAMES = (
    "january jan januar enero",
    "february feb februar febrero",
    "march mar märz marzo",
    "april apr abril",
    "may mai mayo",
    "june jun juni junio",
    "july jul juli julio",
    "august aug agosto",
    "september sept sep septiembre",
    "october oct oktober octubre",
    "november nov noviembre",
    "december dec dezember diciembre",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_DAY_NAMES = (
    "monday montag lunes",
    "tuesday dienstag martes",
    "wednesday mittwoch miércoles",
    "thursday donnerstag jueves",
    "friday freitag viernes",
    "saturday samstag sonnabend sábado",
    "sunday sonntag domingo",
)
_WEEKDAYS = {name: number for number, names in enumerate(_DAY_NAMES) for name in names.split()}
_SEASONS = {
    **dict.fromkeys(("spring", "frühling", "frühjahr", "primavera"), 3),
    **dict.fromkeys(("summer", "sommer", "verano"), 6),
    **dict.fromkeys(("autumn", "fall", "herbst", "otoño"), 9),
    **dict.fromkeys(("winter", "invierno"), 12),
}
"""By the month in which they begin, as the north of the world has them."""

_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tagen", "tage", "día", "días"), "day"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "semana", "semanas"), "week"),
    **dict.fromkeys(("month", "months", "monat", "monaten", "monate", "mes", "meses"), "month"),
    **dict.fromkeys(("year", "years", "jahr", "jahren", "jahre", "año", "años"), "year"),
    **dict.fromkeys(("weekend", "wochenende", "fin de semana"), "weekend"),
    **dict.fromkeys(("night", "nacht", "noche"), "night"),
}
_NUMBERS = {
    **dict.fromkeys(("a", "an", "one", "ein", "einem", "einer", "un", "una"), 1),
    **dict.fromkeys(("two", "zwei", "dos", "a couple of"), 2),
    **dict.fromkeys(("three", "drei", "tres", "a few"), 3),
    **dict.fromkeys(("four", "vier", "cuatro"), 4),
    **dict.fromkeys(("five", "fünf", "cinco"), 5),
    **dict.fromkeys(("six", "sechs", "seis"), 6),
    **dict.fromkeys(("seven", "sieben", "siete"), 7),
    **dict.fromkeys(("eight", "acht", "ocho"), 8),
    **dict.fromkeys(("nine", "neun", "nueve"), 9),
    **dict.fromkeys(("ten", "zehn", "diez"), 10),
}
_DAYS_AGO = {
    **dict.fromkeys(
        ("today", "tonight", "this morning", "this afternoon", "this evening", "heute", "hoy"), 0
    ),
    **dict.fromkeys(("yesterday", "gestern", "ayer"), 1),
    **dict.fromkeys(("the day before yesterday", "vorgestern", "anteayer"), 2),
}
_BEFORE = r"(?:before|until|till|by|prior to|up to|vor dem|vor|bis|antes de|antes del|hasta)"
_AFTER = r"(?:after|since|from|nach dem|nach|seit dem|seit|ab|después de|después del|desde)"
_EARLY = r"(?:early|(?:the )?(?:beginning|start) of|anfang|a principios de)"
_MIDDLE = r"(?:mid|mid-|(?:the )?middle of|mitte|a mediados de)"
_LATE = r"(?:late|(?:the )?end of|ende|a finales de)"
_LAST = r"(?:last|past|previous|letzte[nmrs]?|vorige[nmrs]?|últim[oa])"
_THIS = r"(?:this|the current|diese[nmrs]?|est[ea])"


def _any(names: object) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + ")"  # type: ignore[call-overload]


_MONTH, _WEEKDAY, _SEASON = _any(_MONTHS), _any(_WEEKDAYS), _any(_SEASONS)
_YEAR = r"(?:19[5-9]\d|20\d\d)"
_NUMBER = rf"(?:\d{{1,3}}|{_any(_NUMBERS)})"
_OF = r"(?:,?\s+(?:of\s+|de\s+|del\s+)?|,\s*)"
_SMALL_WORDS = "in|during|on|of|to|and|between|next|im|von|bis|und|zwischen|en|entre|y"
_BEFORE_A_MONTH = rf"(?:{_SMALL_WORDS}|{_THIS}|{_LAST}|{_BEFORE}|{_AFTER}|{_EARLY}|{_MIDDLE}|{_LATE})"

_PATTERN = re.compile(
    rf"""\b(?:
      (?P<iso>\d{{4}}-\d{{2}}(?:-\d{{2}})?)(?:T\d{{2}}:?\d{{2}})?
    | (?P<dotted>\d{{1,2}}\.\d{{1,2}}\.{_YEAR})
    | (?P<day1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<month1>{_MONTH})(?:{_OF}(?P<year1>{_YEAR}))?
    | (?P<month2>{_MONTH})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year2>{_YEAR}))?
    | (?:(?P<season3>{_SEASON})|(?P<month3>{_MONTH}))\.?{_OF}(?P<year3>{_YEAR})
    | (?P<last4>{_LAST})\s+(?:(?P<month4>{_MONTH})|(?P<season4>{_SEASON})|(?P<weekday4>{_WEEKDAY}))
    | (?:{_LAST})\s+(?P<count5>{_NUMBER})\s+(?P<unit5>{_any(_UNITS)})
    | (?P<count6>{_NUMBER})\s+(?P<unit6>{_any(_UNITS)})\s+ago
    | (?:vor|hace)\s+(?P<count7>{_NUMBER})\s+(?P<unit7>{_any(_UNITS)})
    | (?P<which8>{_LAST}|{_THIS})\s+(?P<unit8>{_any(_UNITS)})
    | (?P<unit9>{_any(_UNITS)})\s+pasad[oa]
    | (?P<days>{_any(_DAYS_AGO)})
    | (?<=\bon\s)(?P<weekday10>{_WEEKDAY})
    | (?P<year>{_YEAR})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WITHOUT_YEAR = re.compile(
    rf"\b{_BEFORE_A_MONTH}\s+(?:the\s+|del\s+)?(?P<bare>{_MONTH}|{_SEASON})\b", re.IGNORECASE
)
"""A month by itself is one only behind such a word: people say "may" and "march" otherwise too."""
_OPEN_START = re.compile(rf"\b{_BEFORE}\s+(?:the\s+)?$", re.IGNORECASE)
_OPEN_END = re.compile(rf"\b{_AFTER}\s+(?:the\s+)?$", re.IGNORECASE)
_PARTS = [
    (re.compile(rf"\b{words}[\s-]*$", re.IGNORECASE), part)
    for part, words in enumerate((_EARLY, _MIDDLE, _LATE))
]
_RANGE = re.compile(r"\b(?:from|between|von|zwischen|desde|entre|de)\s+(?:the\s+)?$", re.IGNORECASE)
_TO = re.compile(r"\s*(?:to|and|until|till|through|bis|und|hasta|y|a|-|–)\s+(?:the\s+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From ``start`` up to ``end``, without it, in microseconds since 1970; ``words`` name it in the question."""

    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True)
class _Named:
    """Where a question names a time, and the calendar's stretches that it may mean."""

    at: tuple[int, int]
    spans: tuple[tuple[datetime, datetime], ...]


def named(question: str, now: datetime) -> list[Stretch]:
    """The stretches of time that a question names. ``now``, aware of its zone, is when it is asked."""
    question = unicodedata.normalize("NFC", question)
    matches = list(islice(_PATTERN.finditer(question), MOST_NAMED))
    taken = [match.span() for match in matches]
    bare = (
        match
        for match in _WITHOUT_YEAR.finditer(question)
        if not any(start < match.end() and match.start("bare") < end for start, end in taken)
    )
    matches = sorted([*matches, *islice(bare, MOST_NAMED)], key=lambda match: match.end())
    read = [_read(match, question, now) for match in matches[:MOST_NAMED]]
    found = [one for one in read if one.spans]
    stretches: list[Stretch] = []
    for one in _joined(found, question):
        for start, end in one.spans:
            words = question[slice(*one.at)].strip()
            stretches.append(Stretch(_instant(start, now), _instant(end, now), words))
    return list(dict.fromkeys(stretches))


def closeness(stretches: Sequence[Stretch], times: Column) -> Column:
    """How close each time (microseconds, NaN unknown) is to the nearest stretch: 1 within it, then falling."""
    best = np.zeros(len(times))
    for stretch in stretches:
        after = np.exp(-np.maximum(times - stretch.end, 0.0) / FADES)
        before = EARLIER * np.exp(-np.maximum(stretch.start - times, 0.0) / FADES)
        near = np.where(times < stretch.start, before, after)
        best = np.maximum(best, np.nan_to_num(near))
    return best


def _instant(moment: datetime, now: datetime) -> int:
    return microseconds(moment.replace(tzinfo=now.tzinfo))


def _joined(found: Sequence[_Named], question: str) -> Iterator[_Named]:
    """The times that are named, "from A to B" as one."""
    rest = list(found)
    for one, other in pairwise(found):
        between = question[one.at[1] : other.at[0]]
        if _before(_RANGE, question, one.at[0]) and _TO.fullmatch(between) and one in rest:
            # Of the years that each may be of, those that are nearest to each other.
            ends = {
                start: min(ends)
                for start, _ in one.spans
                if (ends := [end for _, end in other.spans if end > start])
            }
            starts = {end: max(start for start in ends if ends[start] == end) for end in ends.values()}
            spans = tuple((start, end) for end, start in starts.items())
            rest[rest.index(one)] = _Named((one.at[0], other.at[1]), spans)
            rest.remove(other)
    yield from rest


def _before(pattern: re.Pattern[str], question: str, begin: int) -> bool:
    """Whether a pattern matches directly before a place of the question."""
    return pattern.search(question, max(0, begin - LOOK_BACK), begin) is not None


def _plain(text: str) -> str:
    """Without case as a pattern ignores it: to it, "İ" and "ı" are "i" too."""
    return text.casefold().replace("ı", "i").replace("i\N{COMBINING DOT ABOVE}", "i")


def _read(match: re.Match[str], question: str, now: datetime) -> _Named:
    """A match as stretches of the calendar, without its zone; none where there is no such day."""
    groups = {name: _plain(text) for name, text in match.groupdict().items() if text}
    begin = match.start("bare") if "bare" in groups else match.start()
    try:
        spans = _placed(groups, question, begin, datetime(now.year, now.month, now.day))
    except (ValueError, OverflowError):
        spans = []
    return _Named((begin, match.end()), tuple((a, b) for a, b in spans if a < b))


def _placed(
    groups: dict[str, str], question: str, begin: int, today: datetime
) -> list[tuple[datetime, datetime]]:
    """The stretches that a match means, with the words before it: "early", "since"."""
    spans = list(_spans(groups, today))
    for pattern, part in _PARTS:
        if _before(pattern, question, begin):
            spans = [(a + (b - a) * part / 3, a + (b - a) * (part + 1) / 3) for a, b in spans]
    begun = [span for span in spans if span[0] <= today]
    if begun and _before(_OPEN_START, question, begin):
        spans = [(EVER, max(begun)[1])]
    elif begun and _before(_OPEN_END, question, begin) and not _before(_RANGE, question, begin):
        spans = [(max(begun)[0], today + DAY)]
    return spans


def _spans(groups: dict[str, str], today: datetime) -> Iterator[tuple[datetime, datetime]]:
    match groups:
        case {"iso": text}:
            numbers = [int(number) for number in text.split("-")]
            yield _day(*numbers) if len(numbers) > 2 else _month(*numbers)
        case {"dotted": text}:
            yield _day(*(int(number) for number in reversed(text.split("."))))
        case {"day1": day, "month1": name, **rest} | {"day2": day, "month2": name, **rest}:
            which = rest.get("year1") or rest.get("year2")
            for each in [int(which)] if which else _years(today):
                # Without a year, the 29th of February is of those years alone that have it.
                if which or int(day) <= monthrange(each, _MONTHS[name])[1]:
                    yield _day(each, _MONTHS[name], int(day))
        case {"month3": name, "year3": year}:
            yield _month(int(year), _MONTHS[name])
        case {"season3": name, "year3": year}:
            yield _season(int(year), _SEASONS[name])
        case {"month4": name}:
            yield max(span for each in _years(today) if (span := _month(each, _MONTHS[name]))[0] < today)
        case {"season4": name}:
            yield max(span for each in _years(today) if (span := _season(each, _SEASONS[name]))[0] < today)
        case {"weekday4": name} | {"weekday10": name}:
            back = (today.weekday() - _WEEKDAYS[name] - 1) % 7 + 1
            yield today - back * DAY, today - (back - 1) * DAY
        case {"count5": count, "unit5": unit}:
            yield _back(today, _UNITS[unit], _count(count))[0], today + DAY
        case {"count6": count, "unit6": unit} | {"count7": count, "unit7": unit}:
            yield _back(today, _UNITS[unit], _count(count))
        case {"which8": which, "unit8": unit}:
            yield _whole(today, _UNITS[unit], 0 if re.fullmatch(_THIS, which, re.IGNORECASE) else 1)
        case {"unit9": unit}:
            yield _whole(today, _UNITS[unit], 1)
        case {"days": words}:
            yield today - _DAYS_AGO[words] * DAY, today - (_DAYS_AGO[words] - 1) * DAY
        case {"year": year} if int(year) <= today.year + 1:
            yield datetime(int(year), 1, 1), datetime(int(year) + 1, 1, 1)
        case {"bare": name}:
            for each in _years(today):
                yield _month(each, _MONTHS[name]) if name in _MONTHS else _season(each, _SEASONS[name])


def _years(today: datetime) -> range:
    return range(today.year - YEARS_BACK, today.year + 2)


def _count(text: str) -> int:
    return _NUMBERS.get(text) or int(text)


def _day(year: int, month: int, day: int) -> tuple[datetime, datetime]:
    start = datetime(year, month, day)
    return start, start + DAY


def _month(year: int, month: int) -> tuple[datetime, datetime]:
    return datetime(year, month, 1), _later(datetime(year, month, 1), 1)


def _season(year: int, begins: int) -> tuple[datetime, datetime]:
    return datetime(year, begins, 1), _later(datetime(year, begins, 1), 3)


def _later(first: datetime, months: int) -> datetime:
    """The first of the month so many months later, or earlier."""
    years, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return datetime(years, month + 1, 1)


def _whole(today: datetime, unit: str, back: int) -> tuple[datetime, datetime]:
    """The day, week, month or year that was so many before the present one, whole."""
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


def _back(today: datetime, unit: str, count: int) -> tuple[datetime, datetime]:
    """What somebody means who says "so many ago": a day to the day, a week to half a week, else the whole one."""
    match unit:
        case "day" | "night":
            return _whole(today, "day", count)
        case "week" | "weekend":
            return today - count * WEEK - 3 * DAY, today - count * WEEK + 4 * DAY
        case _:
            return _whole(today, unit, count)
