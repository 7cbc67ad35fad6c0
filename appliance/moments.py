"""Time as it is stored: ISO 8601 text as a person reads it, microseconds since 1970 to sort and filter by."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

from appliance.errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_LOCAL = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


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
    whole_day = False
    if isinstance(text, datetime):
        moment = text
    elif isinstance(text, date):
        moment, whole_day = datetime(text.year, text.month, text.day), True
    else:
        try:
            moment = datetime.fromisoformat(text.strip())
            whole_day = len(text.strip()) <= len("2024-03-31") and "T" not in text
        except ValueError as error:
            raise UsageError(
                f"{text!r} is no date or time", hint="write 2024-03-31, or 2024-03-31T09:30+02:00"
            ) from error
    if end and whole_day:
        moment += timedelta(days=1)
    return microseconds(moment)
