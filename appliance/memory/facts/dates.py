"""The day that a message names, as ISO 8601: "March 15th", "3. Mai", "el 20 de marzo", "next Friday", "tomorrow".

A day without a year is the next such day from the message's date. Where that date is not known, the day stays without a
year ("03-15")."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta

from appliance.languages import temporal
from appliance.languages.temporal import TemporalExpression, words
from appliance.lazy_dataclasses import dataclass

_LEAD = re.compile(
    rf"\s*(?:{words('day_leads')}\s+){{0,3}}(?:{words('year_leads')}\s+(?={temporal.MONTH}\b))?", re.IGNORECASE
)
_YEAR_ALONE = re.compile(
    rf"\s*(?:{words('year_leads')}\s+){{0,4}}(?:(?P<month>{temporal.MONTH})\.?\s+(?:de\s+)?)?(?P<year>{temporal.YEAR})\b"
)
_LAST = re.compile(rf"\s*(?:(?:the|last|letztem|el|dem)\s+)?(?:{words('new_year')}\b|(?P<month>{temporal.MONTH})\b\.?)")

_SPAN = re.compile(
    rf"(?:(?:hace|about|almost|over|etwa|fast|über|casi|más de)\s+)?"
    rf"(?P<count>\d{{1,2}}|{'|'.join(map(re.escape, temporal.NUMBER_WORDS))})"
    rf"\s+(?P<unit>{temporal.UNIT})\b"
)
_AGO = re.compile(rf"\s+{words('ago_after')}\b")
_SPACE = re.compile(r"\s*(?:(?:el|la)\s+)?")
_MONTH_ALONE = re.compile(
    rf"\s*(?:in|im|en|by|until|bis|para|next|this|nächsten|diesen)\s+(?P<month>{temporal.MONTH})\b\.?(?!\s*\d)"
)

_NEXT_UNIT = re.compile(
    rf"\s*(?:(?:the|el|la|im|in)\s+)?(?:(?:{words('next')}|{words('coming')})\s+(?P<unit>{temporal.UNIT})"
    rf"|(?P<unit2>{temporal.UNIT})\s+{words('next_after')})\b"
)

_DAY = timedelta(days=1)
_LAST_YEAR = 9998


@dataclass(frozen=True, slots=True)
class DateMention:
    """A day, or a month ("2024-06"), and the place after it. ``yearless`` says that the text names no year."""

    value: str
    end: int
    month: int = 0
    day: int = 0
    yearless: bool = False


def named(low: str, at: int, end: int, sent_on: date | None) -> DateMention | None:
    """Return the date that begins at a place of a lowered text; None where none begins."""
    lead = _LEAD.match(low, at, end)
    found = temporal.match(low, lead.end() if lead else at, end)
    if found is None:
        return _next_month(low, at, end, sent_on)
    if low[found.start : found.end].split()[-1] in temporal.MONTHS and low.startswith(".", found.end, end):
        found = replace(found, end=found.end + 1)  # "3 Okt." with its full stop
    try:
        return _resolved(found, sent_on)
    except (ValueError, OverflowError):
        return None


def past(low: str, at: int, end: int, sent_on: date | None) -> tuple[str, int] | None:
    """Return the year, the month or the day that lies back from the message's date ("two years ago", "last month", or
    "five years" after "for" and "since"), and the place after it."""
    if sent_on is None:
        return None
    at = _SPACE.match(low, at, end).end()  # type: ignore[union-attr]
    if (span := _SPAN.match(low, at, end)) and not _AGO.match(low, span.end(), end):
        expression, stop = temporal.match(f"{span['count']} {span['unit']} ago", 0, 60), span.end()
    elif expression := temporal.match(low, at, end):
        stop = expression.end
    if expression is not None and expression.days is not None and expression.days < 0:
        with suppress(OverflowError):
            return (sent_on + expression.days * _DAY).isoformat(), stop
        return None
    if expression is None or expression.unit not in ("year", "month", "week", "day"):
        return None
    count = -1 if expression.anchor == "last" else expression.count
    if count is None or count >= 0:
        return None
    with suppress(ValueError, OverflowError):
        return _back(sent_on, expression.unit, -count), stop
    return None


def _back(day: date, unit: str, count: int) -> str:
    """The year, month or day that lies ``count`` units before a day."""
    if unit == "year":
        return date(day.year - count, 1, 1).isoformat()[:4]
    if unit == "month":
        months = day.year * 12 + day.month - 1 - count
        return date(months // 12, months % 12 + 1, 1).isoformat()[:7]
    return (day - (7 if unit == "week" else 1) * count * _DAY).isoformat()


def _next_month(low: str, at: int, end: int, sent_on: date | None) -> DateMention | None:
    """The next month of a name ("in August"), or the next month or year, where the day of the message is known."""
    if sent_on is not None and (found := _NEXT_UNIT.match(low, at, end)):
        expression = temporal.match(f"1 {found['unit'] or found['unit2']} ago", 0, 60)
        if expression is not None and expression.unit == "year":
            return DateMention(f"{sent_on.year + 1}", found.end())
        if expression is not None and expression.unit == "month":
            return DateMention(f"{sent_on.year + sent_on.month // 12}-{sent_on.month % 12 + 1:02}", found.end())
        return None
    match = _MONTH_ALONE.match(low, at, end)
    if match is None or sent_on is None:
        return None
    month = temporal.MONTHS[match["month"]]
    return DateMention(f"{sent_on.year + (month < sent_on.month)}-{month:02}", match.end())


def year(low: str, at: int, end: int) -> tuple[str, int] | None:
    """Return a year, or a month of a year, after small words like "in" and "since", and the place after it."""
    match = _YEAR_ALONE.match(low, at, end)
    if match is None:
        return None
    return (f"{match['year']}-{temporal.MONTHS[match['month']]:02}" if match["month"] else match["year"]), match.end()


def since(low: str, at: int, end: int, sent_on: date | None) -> tuple[str, int] | None:
    """Return from when something holds: a year, a month of a year, or the last such month or New Year before the
    message's date; and the place after it."""
    if found := year(low, at, end) or past(low, at, end, sent_on):
        return found
    match = _LAST.match(low, at, end)
    if match is None or sent_on is None:
        return None
    if match["month"] is None:
        return f"{sent_on.year}", match.end()
    month = temporal.MONTHS[match["month"]]
    return f"{sent_on.year if month <= sent_on.month else sent_on.year - 1}-{month:02}", match.end()


def _resolved(expression: TemporalExpression, sent_on: date | None) -> DateMention | None:
    """The day that an expression means in a plan: the next such day."""
    match expression:
        case TemporalExpression(either=True):
            return None  # the day or the month may come first
        case TemporalExpression(year=int(year), month=int(month), day=int(day)):
            return _of(date(year, month, day), expression.end)
        case TemporalExpression(month=int(month), day=int(day)):
            return _placed(month, day, expression.end, sent_on)
        case TemporalExpression(year=int(year), month=int(month)):
            return DateMention(date(year, month, 1).isoformat()[:-3], expression.end)
        case TemporalExpression(weekday=int(weekday), anchor=None | "this" | "next") if sent_on is not None:
            days_until = (weekday - sent_on.weekday() - 1) % 7 + 1
            if expression.anchor == "next":
                days_until = 7 - sent_on.weekday() + weekday
            return _of(sent_on + days_until * _DAY, expression.end)
        case TemporalExpression(unit="day" | "week", count=int(count)) if sent_on is not None and count >= 0:
            return _of(sent_on + count * (7 if expression.unit == "week" else 1) * _DAY, expression.end)
        case TemporalExpression(days=int(days)) if sent_on is not None and days >= 0:
            return _of(sent_on + days * _DAY, expression.end)
    return None


def _placed(month: int, day: int, end: int, sent_on: date | None) -> DateMention:
    """The next such day of any year that has one."""
    value = date(2000, month, day).isoformat()[5:]  # a leap year has every day there is
    if sent_on is not None and sent_on.year <= _LAST_YEAR:
        for number in range(sent_on.year, min(sent_on.year + 9, 9999)):
            with suppress(ValueError):
                if (found := date(number, month, day)) >= sent_on:
                    value = found.isoformat()
                    break
    return DateMention(value, end, month, day, yearless=True)


def _of(day: date, end: int) -> DateMention:
    return DateMention(day.isoformat(), end, day.month, day.day)


_ANY_WORD = re.compile(r"(?<![\w'])\w")


def within(low: str, at: int, end: int, sent_on: date | None) -> str | None:
    """Return the first date that stands between two places of a lowered text; None without one."""
    for word in _ANY_WORD.finditer(low, at, end):
        if found := named(low, word.start(), end, sent_on):
            return found.value
    return None


def day_after(value: str) -> date | None:
    """Return the day after a day, a month or a year ("2024-06"); None for what is none of these."""
    try:
        first = date.fromisoformat(value + "-01-01"[: 10 - len(value)] if len(value) != 7 else f"{value}-01")
        if len(value) == 10:
            return first + _DAY
        return (
            date(first.year + 1, 1, 1) if len(value) == 4 or first.month == 12 else first.replace(month=first.month + 1)
        )
    except (ValueError, OverflowError):
        return None
