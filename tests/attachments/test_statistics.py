"""Counts over time, this day in earlier years, and the months of a person, against the same counted in Python."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from appliance import Appliance, UsageError
from tests.attachments.exports import native

PEOPLE = ("Ana", "Ben", "Chloé")


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this machine."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def random_lines(seed: int, count: int = 200) -> list[dict[str, Any]]:
    random = Random(seed)
    lines = []
    for number in range(count):
        moment = datetime(2023, 12, 30, tzinfo=UTC) + timedelta(minutes=random.randrange(900_000))
        is_local = random.random() < 0.3
        text = moment.replace(tzinfo=None).isoformat() if is_local else moment.isoformat()
        lines.append({
            "session_id": f"talk{random.randrange(4)}", "message_id": str(number), "author": random.choice(PEOPLE),
            "content": "x" * random.randrange(1, 9), "timestamp": text,
        })  # fmt: skip
    return lines


def clock(line: dict[str, Any]) -> datetime:
    """The time of a message as its counts name it."""
    moment = datetime.fromisoformat(line["timestamp"])
    return moment.astimezone() if moment.tzinfo else moment


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_are_those_of_the_messages(memory: Appliance, tmp_path: Path, zone: str, seed: int) -> None:
    lines = random_lines(seed)
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    memory.ingest(native(tmp_path / "eve.jsonl", random_lines(seed + 10)), user_id="eve", wait=False)
    for unit, key in {
        "month": lambda one: f"{clock(one):%Y-%m}",
        "hour": lambda one: f"{clock(one):%H}",
        "weekday": lambda one: str(clock(one).isoweekday()),
        "year": lambda one: str(clock(one).year),
        "author": lambda one: one["author"],
        "session": lambda one: memory.sessions.info(one["session_id"], user_id="me").id,
    }.items():
        counted = memory.statistics([unit])  # type: ignore[list-item]
        assert {row.keys[0]: row.messages for row in counted.rows} == Counter(map(key, lines)), unit
        assert counted.messages == len(lines)
    both = memory.statistics(["author", "hour"], since="2024-06-01", until="2024-09-01")
    assert sum(row.messages for row in both.rows) == sum(
        "2024-06-01" <= one["timestamp"] < "2024-09-02" for one in lines
    )
    assert sum(row.characters for row in memory.statistics().rows) == sum(len(one["content"]) for one in lines)


def test_what_was_said_on_this_day(memory: Appliance, tmp_path: Path, zone: str) -> None:
    lines = random_lines(3, 400)
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    for day in (datetime(2026, 1, 1), datetime(2025, 7, 4), datetime(2024, 2, 29), datetime(2028, 2, 29)):
        expected = Counter(
            (f"{clock(one):%Y-%m-%d}", one["session_id"])
            for one in lines
            if (clock(one).month, clock(one).day) == (day.month, day.day) and clock(one).year < day.year
        )
        found = memory.on_this_day(day.date().isoformat(), limit=1)
        assert {(one.day, one.session.external_id): one.count for one in found} == expected
        assert all(len(one.messages) == 1 for one in found)
        assert [one.day for one in found] == sorted((one.day for one in found), reverse=True)


def test_what_was_said_on_a_day(memory: Appliance, tmp_path: Path, zone: str) -> None:
    lines = random_lines(5, 400)
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    counted = memory.statistics(["day"])
    assert counted.messages == len(lines)
    for row in counted.rows[::20]:
        found = memory.day(row.keys[0], limit=1)
        expected = Counter(one["session_id"] for one in lines if f"{clock(one):%Y-%m-%d}" == row.keys[0])
        assert {one.session.external_id: one.count for one in found} == expected
        assert all(len(one.messages) == 1 and one.messages[0].timestamp == one.first for one in found)
        assert all((one.first == one.last) == (one.count == 1) for one in found)
        of_ana = memory.day(row.keys[0], authors=["ana"])
        assert sum(one.count for one in of_ana) == sum(
            one["author"] == "Ana" for one in lines if f"{clock(one):%Y-%m-%d}" == row.keys[0]
        )
    assert memory.day("2019-01-01") == [] == memory.day("2024-02-06", tags=["none"])


def test_messages_are_counted_by_user(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(native(tmp_path / "mine.jsonl", [{"message_id": "1"}, {"message_id": "2"}]), wait=False)
    memory.ingest(native(tmp_path / "eve.jsonl", [{"message_id": "1"}]), user_id="eve", wait=False)
    counts = [memory.overview.counts(user)["messages"] for user in (None, "me", "eve", "nobody")]
    assert counts == [3, 2, 1, 0] and memory.overview.counts("me", namespace="work")["messages"] == 0


def test_the_months_of_a_person(memory: Appliance, tmp_path: Path) -> None:
    lines = random_lines(4)
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    months = memory.timeline(["ana"], limit=2)
    assert {one.month: one.messages for one in months} == Counter(
        f"{clock(one):%Y-%m}" for one in lines if one["author"] == "Ana"
    )
    assert all(message.author == "Ana" for one in months for message in one.top)
    assert all(len(one.top) == min(2, one.messages) for one in months)
    assert memory.timeline(["nobody"]) == []


def test_messages_without_a_time_a_person_or_a_tag_are_counted(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(
        native(tmp_path / "mine.jsonl", [{"message_id": "1"}, {"message_id": "2", "author": "Ana"}]), wait=False
    )
    memory.sessions.get("s").tag(["one", "two"])
    assert [(row.keys, row.messages) for row in memory.statistics(["month"]).rows] == [(("",), 2)]
    assert {row.keys: row.messages for row in memory.statistics(["author"]).rows} == {("me",): 1, ("Ana",): 1}
    by_tag = memory.statistics(["tag"])
    assert {row.keys: row.messages for row in by_tag.rows} == {("one",): 2, ("two",): 2}
    assert by_tag.messages == 2


def test_a_session_that_shares_nothing_is_not_counted_unless_it_is_named(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(
        native(tmp_path / "mine.jsonl", [{"message_id": "1", "timestamp": "2024-02-06T10:00:00Z"}]), wait=False
    )
    memory.sessions.get("s").set_storage_scope("none")
    assert memory.statistics().messages == 0
    assert memory.on_this_day("2026-02-06") == []
    assert memory.timeline() == []
    assert memory.statistics(session_id="s").messages == 1


@pytest.mark.parametrize("by", [[], ["mood"], ["month", "month"], ["month", "author", "role"]])
def test_what_cannot_be_counted_is_refused(memory: Appliance, by: list[str]) -> None:
    with pytest.raises(UsageError):
        memory.statistics(by)  # type: ignore[arg-type]
    for wrong in ("someday", "2026-13-01"):
        with pytest.raises(UsageError):
            memory.on_this_day(wrong)
        with pytest.raises(UsageError):
            memory.day(wrong)
