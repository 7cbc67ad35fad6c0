"""Which backups ``--keep`` keeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from appliance.errors import UsageError
from appliance.store.backup import backup_ids, retention

FIRST = datetime(2024, 1, 1, 12, tzinfo=UTC)  # a Monday


def ids(days: list[float]) -> list[str]:
    return [f"{FIRST + timedelta(days=day):{backup_ids.ID_FORMAT}}" for day in days]


def kept(policy: str, days: list[float]) -> list[float]:
    found = retention.parse_policy(policy).kept(ids(days))
    return [day for day, id in zip(days, ids(days), strict=True) if id in found]


def test_the_last_of_each_day_is_kept() -> None:
    assert kept("3d", [0, 0.1, 1, 2, 2.2, 3]) == [1, 2.2, 3]


def test_days_without_a_backup_do_not_count() -> None:
    assert kept("2d", [0, 30, 90]) == [30, 90]


def test_rules_add_up() -> None:
    every_day = [float(day) for day in range(100)]
    assert kept("7d4w12m", every_day) == [30.0, 59.0, 83.0, 90.0, *map(float, range(93, 100))]


def test_the_latest_is_always_kept() -> None:
    assert kept("0d", [0, 1, 2]) == [2]


@pytest.mark.parametrize("text", ["", "7", "d7", "7d-4w", "7 d", "7h", "-1d", "7d4"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="retention"):
        retention.parse_policy(text)


def test_ids_sort_after_earlier_ones_when_the_clock_goes_back() -> None:
    late = backup_ids.time_of(ids([100_000])[0])
    id, at = backup_ids.next_id(late)
    assert id > ids([100_000])[0] and at == late + 1 == backup_ids.time_of(id)
