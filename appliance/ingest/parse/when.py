"""Times as exports spell them: numbers since 1970, ISO 8601, and ISO 8601 that was cut off.

What comes back is aware and in UTC where the source gave a zone or a number, naive where it gave
none, and None where it can't be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Seconds reach 1e11 only in the year 5138; milliseconds pass it in 1973, and so on upwards.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?)?)?",
    re.ASCII,
)
_ZONE = re.compile(r"\s*(?:Z|UTC|GMT)$", re.IGNORECASE)


def read_time(value: Any, zone: tzinfo | None = None) -> datetime | None:
    """The time that ``value`` stands for, or None.

    Numbers (also as strings) are seconds since 1970 in UTC, or milli-, micro- or nanoseconds where
    only that makes sense. ``zone`` is the zone of texts that carry none, if the format fixes one.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return from_epoch(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text) and not (len(text) == 8 and text.startswith(("19", "20"))):
        return from_epoch(float(text))
    when = _from_iso(text)
    if when is None:
        return None
    if when.tzinfo is None and zone is not None:
        when = when.replace(tzinfo=zone)
    if when.tzinfo is None:
        return when
    try:
        return when.astimezone(UTC)
    except OverflowError:
        return None


def from_epoch(number: float) -> datetime | None:
    """A number of seconds (or a finer unit, guessed from its size) since 1970 as a UTC time."""
    if isinstance(number, float) and not math.isfinite(number):
        return None
    try:
        for limit, divisor in _UNITS:
            if abs(number) >= limit:
                number = number / divisor
                break
        return _EPOCH + timedelta(seconds=number)
    except OverflowError:
        return None


def newest_first(times: Iterable[datetime | None]) -> bool:
    """Whether a list of messages runs backwards: more of its steps go back in time than forward."""
    balance = 0
    before: datetime | None = None
    for time in times:
        if time is None:
            continue
        if before is not None and (time.tzinfo is None) == (before.tzinfo is None):
            balance += (time < before) - (time > before)
        before = time
    return balance > 0


def _from_iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    spelled = _ZONE.sub("+00:00", text)
    if spelled != text:
        try:
            return datetime.fromisoformat(spelled)
        except ValueError:
            pass
    return _from_cut_iso(text)


def _from_cut_iso(text: str) -> datetime | None:
    """The part of a cut-off text that is whole: "2025-01-14T09:3" is 2025-01-14 09:00."""
    found = _ISO.match(text)
    if found is None:
        return None
    fraction = (found["fraction"] or "0")[:6].ljust(6, "0")
    try:
        return datetime.fromisoformat(found["date"]).replace(
            hour=int(found["hour"] or 0),
            minute=int(found["minute"] or 0),
            second=int(found["second"] or 0),
            microsecond=int(fraction),
        )
    except ValueError:
        return None
