"""The calendars that phones write dates in, told by the year: each is in a century of its own."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

_BUDDHIST = 543
# Years of the Solar Hijri calendar (Iran) and of the Islamic one that the app has lived through, and will.
_SOLAR = range(1380, 1428)
_ISLAMIC = range(1428, 1480)
# Day 1 of the Islamic calendar (16 July 622, Julian), as date.toordinal() counts.
_HIJRA = 227015
_NOWRUZ_1380 = date(2001, 3, 21)
# Leap years of the Solar Hijri calendar: every fourth, but five apart here.
_SOLAR_LEAP = frozenset((1383, 1387, 1391, 1395, 1399, 1403, 1408, 1412, 1416, 1420, 1424))


def day_of(year: int, month: int, day: int) -> date | None:
    """The day as the Gregorian calendar has it, or None where there is no such day.

    Two digits are a year of this century, or of the Buddhist one where that would be years from now."""
    if year < 100:
        year += 2000
        if year > _this_year() + 1:
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


@cache
def _this_year() -> int:
    return date.today().year


def _solar(year: int, month: int, day: int) -> date | None:
    lengths = [31] * 6 + [30] * 5 + [30 if year in _SOLAR_LEAP else 29]
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    years = sum(366 if earlier in _SOLAR_LEAP else 365 for earlier in range(_SOLAR.start, year))
    return _NOWRUZ_1380 + timedelta(days=years + sum(lengths[: month - 1]) + day - 1)


def _islamic(year: int, month: int, day: int) -> date | None:
    """By the civil reckoning. The sighting of the moon moves a month by a day at most."""
    if not 1 <= month <= 12 or not 1 <= day <= 30:
        return None
    months = -(-59 * (month - 1) // 2)
    return date.fromordinal(_HIJRA - 1 + (year - 1) * 354 + (3 + 11 * year) // 30 + months + day)
