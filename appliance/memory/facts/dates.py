"""A day that a message names, as ISO 8601: "March 15th", "3. Mai", "el 20 de marzo", "next Friday", "tomorrow".

What has no year is the next such day from when it was said; where that is not known it stays without one ("03-15").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

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
    "october oct oktober okt octubre",
    "november nov noviembre",
    "december dec dezember dez diciembre",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_DAY_NAMES = (
    "monday mon montag lunes",
    "tuesday tue tues dienstag martes",
    "wednesday wed mittwoch miércoles",
    "thursday thu thurs donnerstag jueves",
    "friday fri freitag viernes",
    "saturday sat samstag sonnabend sábado",
    "sunday sun sonntag domingo",
)
_WEEKDAYS = {name: number for number, names in enumerate(_DAY_NAMES) for name in names.split()}
_AHEAD = {
    **dict.fromkeys(("today", "tonight", "heute", "hoy"), 0),
    **dict.fromkeys(("tomorrow", "morgen", "mañana"), 1),
    **dict.fromkeys(("the day after tomorrow", "übermorgen", "pasado mañana"), 2),
}
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("a one ein einem einer un una", "two zwei dos", "three drei tres", "four vier"), 1
    )
    for word in words.split()
}
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_WEEKDAY = "(?:" + "|".join(sorted(_WEEKDAYS, key=len, reverse=True)) + r")\b"
_YEAR = r"(?:19\d\d|20\d\d)\b"
_LEAD = (
    r"\s*(?:(?:on|by|for|the|due|am|an|dem|den|der|zum|bis|el|para|día|date|be|now|before|vor|until|exactly|only|already)\s+)"
    r"{0,3}"
)
_DATE = re.compile(
    rf"""{_LEAD}(?:{_WEEKDAY},?\s+(?:the\s+|den\s+|dem\s+)?(?=\w*\d|{_MONTH}))?(?:
      (?P<iso>\d{{4}}-\d\d-\d\d)\b
    | (?P<d1>\d{{1,2}})\.\s?(?P<m1>\d{{1,2}})\.(?:\s?(?P<y1>{_YEAR}))?
    | (?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<y5>{_YEAR})
    | (?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.|º)?\s+(?:of\s+|de\s+)?(?P<m2>{_MONTH})
        (?:,?\s+(?:de\s+|del\s+|of\s+)?(?P<y2>{_YEAR}))?
    | (?P<m3>{_MONTH})\s+(?:the\s+)?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<y3>{_YEAR}))?
    | (?:in|im|en)?\s*(?P<m4>{_MONTH})\s+(?:of\s+|de\s+|del\s+)?(?P<y4>{_YEAR})
    | (?P<next>next|nächsten|kommenden|próximo|this|diesen|este|coming)?\s*(?P<weekday>{_WEEKDAY})
        (?P<after>\s+que\s+viene|\s+next\s+week|\s+nächster\s+woche)?
    | in\s+(?P<count>\d{{1,2}}|a|one|two|three|four|einem|einer|zwei|drei|vier)
        \s+(?P<unit>days?|weeks?|tagen?|wochen?)\b
    | (?P<ahead>the\s+day\s+after\s+tomorrow|tomorrow|today|tonight|übermorgen|morgen|heute
        |pasado\s+mañana|mañana|hoy)\b
    )""",
    re.VERBOSE,
)
_YEAR_ALONE = re.compile(
    r"\s*(?:(?:in|since|until|till|from|im|jahr|seit|bis|en|desde|hasta|the|early|late|mid|end|of|ende|anfang)\s+){0,4}"
    rf"(?:(?P<month>{_MONTH})\s+(?:de\s+)?)?(?P<year>{_YEAR})"
)

_LAST = re.compile(
    rf"\s*(?:the\s+|last\s+|letztem\s+|el\s+|dem\s+)?(?:new\s+year(?:'?s)?(?:\s+(?:day|eve))?\b|neujahr\b|jahresanfang\b"
    rf"|año\s+nuevo\b|(?P<month>{_MONTH}))"
)

DAY = timedelta(days=1)
_LAST_YEAR = 9998


@dataclass(frozen=True, slots=True)
class Named:
    """A day (or a month, "2024-06") and the place behind it. ``yearless`` tells that no year was said."""

    value: str
    end: int
    month: int = 0
    day: int = 0
    yearless: bool = False


def named(low: str, at: int, end: int, said: date | None) -> Named | None:
    """The date that begins at a place of a lowered text; None where there is none."""
    match = _DATE.match(low, at, end)
    if match is None:
        return None
    groups = {name: text for name, text in match.groupdict().items() if text}
    try:
        return _resolved(groups, match.end(), said)
    except (ValueError, OverflowError):
        return None


def year(low: str, at: int, end: int) -> tuple[str, int] | None:
    """A year, or a month of a year, behind small words like "in" and "since"; and the place behind it."""
    match = _YEAR_ALONE.match(low, at, end)
    if match is None:
        return None
    month = _MONTHS.get((match["month"] or "").rstrip("."))
    return (f"{match['year']}-{month:02}" if month else match["year"]), match.end()


def since(low: str, at: int, end: int, said: date | None) -> tuple[str, int] | None:
    """From when something holds: a year, a month of one, or the last such month or New Year before it was said."""
    if found := year(low, at, end):
        return found
    match = _LAST.match(low, at, end)
    if match is None or said is None:
        return None
    if match["month"] is None:
        return f"{said.year}", match.end()
    month = _MONTHS[match["month"].rstrip(".")]
    return f"{said.year if month <= said.month else said.year - 1}-{month:02}", match.end()


def _resolved(groups: dict[str, str], end: int, said: date | None) -> Named | None:
    match groups:
        case {"iso": text}:
            return Named(date.fromisoformat(text).isoformat(), end)
        case {"a": a, "b": b, "y5": y}:
            first, second = int(a), int(b)
            if first <= 12 and second <= 12 and first != second:
                return None  # the day or the month first: nobody knows
            month, day = (first, second) if first <= 12 else (second, first)
            return _day(int(y), month, day, end)
        case {"d1": d, "m1": m, **rest}:
            return _placed(int(m), int(d), rest.get("y1"), end, said)
        case {"d2": d, "m2": m, **rest}:
            return _placed(_MONTHS[m.rstrip(".")], int(d), rest.get("y2"), end, said)
        case {"d3": d, "m3": m, **rest}:
            return _placed(_MONTHS[m.rstrip(".")], int(d), rest.get("y3"), end, said)
        case {"m4": m, "y4": y}:
            return Named(f"{y}-{_MONTHS[m.rstrip('.')]:02}", end)
        case {"weekday": name} if said is not None:
            ahead = (_WEEKDAYS[name] - said.weekday() - 1) % 7 + 1
            if groups.get("next") in ("next",) or "after" in groups:
                ahead = 7 - said.weekday() + _WEEKDAYS[name]
            return _of(said + ahead * DAY, end)
        case {"count": count, "unit": unit} if said is not None:
            days = (_NUMBERS.get(count) or int(count)) * (7 if unit[0] == "w" else 1)
            return _of(said + days * DAY, end)
        case {"ahead": words} if said is not None:
            return _of(said + _AHEAD[" ".join(words.split())] * DAY, end)
    return None


def _placed(month: int, day: int, year: str | None, end: int, said: date | None) -> Named:
    if year is not None:
        return _day(int(year), month, day, end)
    date(2000, month, day)  # a leap year has every day there is
    if said is None or said.year > _LAST_YEAR:
        return Named(f"{month:02}-{day:02}", end, month, day, yearless=True)
    for which in range(said.year, min(said.year + 9, 9999)):
        try:
            found = date(which, month, day)
        except ValueError:
            continue
        if found >= said:
            return Named(found.isoformat(), end, month, day, yearless=True)
    return Named(f"{month:02}-{day:02}", end, month, day, yearless=True)


def _day(year: int, month: int, day: int, end: int) -> Named:
    return _of(date(year, month, day), end)


def _of(day: date, end: int) -> Named:
    return Named(day.isoformat(), end, day.month, day.day)
