"""Times as programs show them, in the day's own spelling: "2/6/2024, 10:30:00 AM", "June 2, 2023 9:09pm".

Whether the day or the month comes first shows only in all times of a file together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from appliance.formats import markdown_lines
from appliance.formats.timestamps import read_time
from appliance.formats.whatsapp_lines import DateOrderEvidence, HeaderStyle, decide_orders

_HOURS_NAMED = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s?@\s?(\d{1,2})h\s?(\d{1,2})m(?:\s?(\d{1,2})s)?(?:\s?\d+ms)?", re.IGNORECASE
)
_MONTH_NAMED = ("%B %d, %Y %I:%M%p", "%B %d, %Y %I:%M %p", "%b %d, %Y %H:%M", "%B %d, %Y %H:%M")
_IN_NAME = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})-(\d{2})-(\d{2})-(\d{2})(?!\d)")


class LocalTimes:
    """The times of a file. ``notes`` say what its spelling leaves open."""

    def __init__(self, values: Iterable[Any]) -> None:
        evidence: dict[HeaderStyle, DateOrderEvidence] = {}
        for number, value in enumerate(values, 1):
            if (
                isinstance(value, str)
                and (head := markdown_lines.parse_dated(value.replace("\u202f", " "))) is not None
            ):
                evidence.setdefault(head.style, DateOrderEvidence()).add(head, number)
        self._orders, self.notes = decide_orders(evidence)

    def read(self, value: Any) -> datetime | None:
        """A time: UTC where it is a number or says so, else as it stands; None if it can't be read."""
        if (when := read_time(value)) is not None or not isinstance(value, str):
            return when.replace(tzinfo=UTC) if when is not None and not isinstance(value, str) else when
        text = value.strip().replace("\u202f", " ")
        if found := _HOURS_NAMED.fullmatch(text):
            return _moment(int(part or 0) for part in found.groups())
        for form in _MONTH_NAMED:
            try:
                return datetime.strptime(text, form)
            except ValueError:
                continue
        return markdown_lines.parse_stamp(text, self._orders, None)


def in_name(name: str) -> datetime | None:
    """The time in a file's name, such as "20240206-10-30-00.json"."""
    found = _IN_NAME.search(name.replace("\\", "/").rpartition("/")[2])
    return _moment(map(int, found.groups())) if found else None


def _moment(parts: Iterable[int]) -> datetime | None:
    try:
        return datetime(*parts)  # type: ignore[arg-type]  # year, month, day, hour, minute, second
    except ValueError:
        return None
