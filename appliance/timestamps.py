"""Time as it is stored: ISO 8601 text to show, and microseconds since 1970 to sort and filter by."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, tzinfo

from appliance.errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_LOCAL = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)


def now() -> int:
    """The current time in microseconds since 1970."""
    return time.time_ns() // 1000


def to_microseconds(moment: datetime) -> int:
    """Return exact microseconds since 1970. A time without a zone counts as UTC: close enough to sort and filter by,
    and never shown."""
    return (moment - (_EPOCH if moment.tzinfo else _EPOCH_LOCAL)) // _MICROSECOND


def iso(moment: datetime) -> str:
    """Return ISO 8601 text: in UTC with its offset where the zone is known, unchanged where it is not."""
    return (moment.astimezone(UTC) if moment.tzinfo else moment).isoformat()


def from_microseconds(microseconds: int) -> datetime:
    """Return the time in UTC."""
    return _EPOCH + microseconds * _MICROSECOND


def iso_from_microseconds(microseconds: int) -> str:
    """Return ISO 8601 text in UTC with its offset."""
    return from_microseconds(microseconds).isoformat()


def parse_bound(text: str | datetime | date | None, *, end: bool) -> int | None:
    """Return a bound of a time range in microseconds since 1970.

    Args:
        text: A date, a time with or without a zone, or the name of a period, such as "last week"; None for an open
            range.
        end: Whether the bound is the (exclusive) end: then a date means the end of that day, and a period its end, so
            that "until 2024-03-31" includes the 31st.

    Raises:
        UsageError: It is none of these.
    """
    if text is None:
        return None
    start, length = _parse(text)
    # In microseconds, because a datetime can't go beyond 31 December 9999.
    return to_microseconds(start) + (length // _MICROSECOND if end else 0)


def parse_as_of(text: str | datetime | date) -> datetime:
    """Return a point in time in its own zone, or in UTC if it has none. A date or the name of a period means its end.

    Raises:
        UsageError: It is not an ISO 8601 date or time, nor the name of a period.
    """
    start, length = _parse(text)
    moment = start + max(length - _MICROSECOND, timedelta())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse(text: str | datetime | date) -> tuple[datetime, timedelta]:
    """The time that a text names, or the beginning of the day or period, and how long that is; 0 for a time."""
    if isinstance(text, datetime):
        return text, timedelta()
    if isinstance(text, date):
        return datetime(text.year, text.month, text.day), _DAY
    text = text.strip()
    try:
        is_day = len(text) <= len("2024-03-31") and "T" not in text
        return datetime.fromisoformat(text), _DAY if is_day else timedelta()
    except ValueError as error:
        from appliance.languages.periods import read_period

        today = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        if (period := read_period(text, today)) is not None:
            return period[0], period[1] - period[0]
        hint = "Use YYYY-MM-DD, a time such as 2024-03-31T09:30+02:00, or words such as 'yesterday' or 'March 2024'."
        raise UsageError(f"Invalid date {text!r}.", hint=hint) from error


class _LocalZone(tzinfo):
    """The zone of this machine with the right summer time for every date: ``astimezone`` fixes the offset that holds
    now, and another day of the year may have a different one."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        if moment is None:
            return None
        try:
            return moment.replace(tzinfo=None).astimezone().utcoffset()
        except (ValueError, OverflowError, OSError):
            return timedelta(0)  # a year outside the range of the operating system

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None


def local_now() -> datetime:
    """Return the current time in the zone of this machine."""
    return datetime.now().replace(tzinfo=_LocalZone())
