"""Times as exports write them: numbers since 1970, ISO 8601, and truncated ISO 8601.

A result is aware and in UTC if the source has a zone or is a number, naive if it has no zone, and None if it can't
be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Seconds reach 1e11 only in the year 5138, milliseconds did in 1973; likewise for the finer units.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?)?)?",
    re.ASCII,
)
_ZONE = re.compile(r"\s*(?:Z|UTC|GMT)$", re.IGNORECASE)


def read_time(value: Any, zone: tzinfo | None = None) -> datetime | None:
    """Parse a time.

    Args:
        value: ISO 8601, or a number (also as a string) of seconds since 1970, or of milli-, micro- or nanoseconds
            if it is too large for seconds.
        zone: The zone of texts without one, if the format defines it.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return from_epoch(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text) and not (len(text) == 8 and text.startswith(("19", "20"))):
        return from_epoch(float(text))
    when = _from_iso(text)
    if when is not None and when.tzinfo is None and zone is not None:
        when = when.replace(tzinfo=zone)
    if when is None or when.tzinfo is None:
        return when
    try:
        return when.astimezone(UTC)
    except OverflowError:
        return None


def from_epoch(number: float) -> datetime | None:
    """The UTC time of a number of seconds since 1970, or of a finer unit if the number is too large."""
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


def is_newest_first(times: Iterable[datetime | None]) -> bool:
    """Whether the times of a list go back more often than forward."""
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
        if (with_offset := _ZONE.sub("+00:00", text)) != text:
            return _from_iso(with_offset)
    # The complete part of a truncated text: "2025-01-14T09:3" is 2025-01-14 09:00.
    match = _ISO.match(text)
    if match is None:
        return None
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    microsecond = int((match["fraction"] or "0")[:6].ljust(6, "0"))
    try:
        day = datetime.fromisoformat(match["date"])
        return day.replace(hour=hour, minute=minute, second=second, microsecond=microsecond)
    except ValueError:
        return None
