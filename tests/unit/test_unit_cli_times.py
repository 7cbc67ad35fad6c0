"""Times that people read: to the minute, in the zone of the machine where the source gave one."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from appliance.cli.output import format_span, format_timestamp


@pytest.fixture(autouse=True)
def kolkata(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("2026-02-10T21:37:53.153114+00:00", "2026-02-11 03:07"),
        ("2026-02-10T21:37:53", "2026-02-10 21:37"),
        ("0001-01-01T00:00:00", "0001-01-01 00:00"),
        (None, "no time"),
    ],
)
def test_a_time_is_local_and_to_the_minute(stored: str | None, shown: str) -> None:
    assert format_timestamp(stored) == shown


def test_a_span_names_what_its_ends_share_once() -> None:
    start = "2026-08-07T05:20:00"
    assert format_span(start, "2026-08-07T05:20:59") == "2026-08-07 05:20"
    assert format_span(start, "2026-08-07T14:30:00") == "2026-08-07 05:20 to 14:30"
    assert format_span(start, "2026-09-07T14:30:00") == "2026-08-07 05:20 to 2026-09-07 14:30"
    assert (format_span(None, start), format_span(None, None)) == ("2026-08-07 05:20", "no time")
