"""Time as it is stored: ISO 8601 text as a person reads it, microseconds since 1970 to sort and filter by."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, tzinfo

from appliance.errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_LOCAL = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 24 * 60 * 60 * 1_000_000


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def microseconds(moment: datetime) -> int:
    """Exact microseconds since 1970. A moment without a zone counts as if it were UTC: close enough to
    sort and filter by, and never shown."""
    return (moment - (_EPOCH if moment.tzinfo else _EPOCH_LOCAL)) // _MICROSECOND


def iso(moment: datetime) -> str:
    """UTC with its offset where the zone is known, as given where it is not."""
    return (moment.astimezone(UTC) if moment.tzinfo else moment).isoformat()


def moment(microseconds: int) -> datetime:
    """In UTC."""
    return _EPOCH + microseconds * _MICROSECOND


def iso_of(microseconds: int) -> str:
    """UTC with its offset."""
    return moment(microseconds).isoformat()


def bound(text: str | datetime | date | None, *, end: bool) -> int | None:
    """A limit given by a person, in microseconds: a day, or a moment with or without a zone.

    As the ``end`` of a range a day counts whole, so that "until 2024-03-31" holds the 31st.

    Raises:
        UsageError: it is no ISO 8601 date or time.
    """
    if text is None:
        return None
    moment, whole_day = _given(text)
    # Counted in microseconds, because the calendar ends with the 31st of December 9999.
    return microseconds(moment) + (_DAY if end and whole_day else 0)


def asked(text: str | datetime | date) -> datetime:
    """A moment given by a person, in the zone that it was given with, else in UTC; of a day, its end.

    Raises:
        UsageError: it is no ISO 8601 date or time.
    """
    given, whole_day = _given(text)
    if whole_day:
        return given.replace(hour=23, minute=59, second=59, microsecond=999_999, tzinfo=UTC)
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def _given(text: str | datetime | date) -> tuple[datetime, bool]:
    """A moment, and whether it is a day."""
    if isinstance(text, datetime):
        return text, False
    if isinstance(text, date):
        return datetime(text.year, text.month, text.day), True
    try:
        return datetime.fromisoformat(text.strip()), len(text.strip()) <= len(
            "2024-03-31"
        ) and "T" not in text
    except ValueError as error:
        raise UsageError(
            f"{text!r} is no date or time", hint="write 2024-03-31, or 2024-03-31T09:30+02:00"
        ) from error


class _Here(tzinfo):
    """The zone of this machine, with the summer time of each moment: ``astimezone`` gives a moment the offset
    that holds now, and another day of the year may have another."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        if moment is None:
            return None
        try:
            return moment.replace(tzinfo=None).astimezone().utcoffset()
        except (ValueError, OverflowError, OSError):
            return timedelta(0)  # a year that the system does not know

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None


def here() -> datetime:
    """Now, in the zone of this machine."""
    return datetime.now().replace(tzinfo=_Here())
