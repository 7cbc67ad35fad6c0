"""The id of a backup is its time, so that ids sort in the order in which backups were made."""

from __future__ import annotations

from datetime import UTC, datetime

from appliance.timestamps import from_microseconds, now, to_microseconds

ID_FORMAT = "%Y%m%dT%H%M%S.%fZ"


def next_id(after: int) -> tuple[str, int]:
    """Return the id of a new backup and its time in microseconds since 1970: now, but later than ``after``, whatever
    the clock does."""
    at = max(now(), after + 1)
    return f"{from_microseconds(at):{ID_FORMAT}}", at


def is_id(name: str) -> bool:
    """Whether a name is the id of a backup."""
    try:
        datetime.strptime(name, ID_FORMAT)
    except ValueError:
        return False
    return True


def time_of(id: str) -> int:
    """Return the time of a backup in microseconds since 1970."""
    return to_microseconds(datetime.strptime(id, ID_FORMAT).replace(tzinfo=UTC))
