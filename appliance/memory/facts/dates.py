"""The day that a message names, as ISO 8601: "March 15th", "3. Mai", "el 20 de marzo", "next Friday", "tomorrow".

A day without a year is the next such day from the message's date. Where that date is not known, the day stays without a
year ("03-15")."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta

from appliance.languages import temporal
from appliance.languages.temporal import TemporalExpression, words

_LEAD = re.compile(
    rf"\s*(?:{words('day_leads')}\s+){{0,3}}(?:{words('year_leads')}\s+(?={temporal.MONTH}\b))?", re.IGNORECASE
)
_YEAR_ALONE = re.compile(
    rf"\s*(?:{words('year_leads')}\s+){{0,4}}(?:(?P<month>{temporal.MONTH})\.?\s+(?:de\s+)?)?(?P<year>{temporal.YEAR})\b"
)
_LAST = re.compile(rf"\s*(?:(?:the|last|letztem|el|dem)\s+)?(?:{words('new_year')}\b|(?P<month>{temporal.MONTH})\b\.?)")

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
        return None
    if low[found.start : found.end].split()[-1] in temporal.MONTHS and low.startswith(".", found.end, end):
        found = replace(found, end=found.end + 1)  # "3 Okt." with its full stop
    try:
        return _resolved(found, sent_on)
    except (ValueError, OverflowError):
        return None


def year(low: str, at: int, end: int) -> tuple[str, int] | None:
    """Return a year, or a month of a year, after small words like "in" and "since", and the place after it."""
    match = _YEAR_ALONE.match(low, at, end)
    if match is None:
        return None
    return (f"{match['year']}-{temporal.MONTHS[match['month']]:02}" if match["month"] else match["year"]), match.end()


def since(low: str, at: int, end: int, sent_on: date | None) -> tuple[str, int] | None:
    """Return from when something holds: a year, a month of a year, or the last such month or New Year before the
    message's date; and the place after it."""
    if found := year(low, at, end):
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
