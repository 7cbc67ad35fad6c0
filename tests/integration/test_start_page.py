"""The start page: what is shown before anything is searched for, compared with what the other requests say."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from appliance import Appliance, UsageError
from appliance.settings import ArchiveSettings
from appliance.types import StartPage, Waiting
from appliance.types.labels import waiting_heading, waiting_labels
from tests.attachments.exports import native
from tests.engines import engine_of

PEOPLE = ("Mira", "Ben", "Chloé")


@pytest.fixture(params=[pytest.param("UTC", marks=pytest.mark.slow), "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def page(memory: Appliance, **how: Any) -> StartPage:
    return memory.overview.start_page(**how)


def at(moment: datetime) -> Callable[[], int]:
    return lambda: int(moment.timestamp() * 1_000_000_000)


@pytest.mark.parametrize(
    "day",
    [
        datetime(2026, 1, 1, 12),
        pytest.param(datetime(2025, 7, 4, 23, 30), marks=pytest.mark.slow),
        pytest.param(datetime(2028, 2, 29, 1), marks=pytest.mark.slow),
    ],
)
def test_this_day_in_earlier_years_is_that_of_the_other_overview(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: datetime
) -> None:
    random, lines = Random(7), []
    for number in range(300):
        moment = datetime(2023, 12, 30, tzinfo=UTC) + timedelta(minutes=random.randrange(900_000))
        local = random.random() < 0.3
        lines.append({
            "session_id": f"talk{random.randrange(9)}", "message_id": str(number), "author": random.choice(PEOPLE),
            "content": "x" * random.randrange(1, 300),
            "timestamp": (moment.replace(tzinfo=None) if local else moment).isoformat(),
        })  # fmt: skip
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    engine_of(memory).pins.score_pending()
    monkeypatch.setattr(time, "time_ns", at(day.astimezone()))
    expected = {(one.day, one.session.id): one for one in memory.on_this_day(day.date(), limit=1000)}
    shown = page(memory, limit=1000).on_this_day
    assert {(one.day, one.session.id): one.count for one in shown} == {
        place: one.count for place, one in expected.items()
    }
    for one in shown:
        scores = {m.id: memory.pins.importance(m.id).score for m in expected[one.day, one.session.id].messages}
        assert scores[one.messages[0].id] == max(scores.values())
    years = [one.day for one in shown]
    assert years == sorted(years, reverse=True)
    few = page(memory, limit=2).on_this_day
    assert {one.day for one in few} == set(sorted(set(years), reverse=True)[:2])


def test_recent_conversations_are_those_of_the_list(memory: Appliance, tmp_path: Path) -> None:
    lines = [
        {"session_id": f"s{number}", "message_id": f"{number}-{place}", "content": f"words {number} {place}",
         "timestamp": f"2025-0{number}-0{place}T08:00:00Z", "role": role}
        for number in range(1, 6) for place, role in ((1, "user"), (2, "assistant"), (3, "tool"))
    ]  # fmt: skip
    memory.ingest(native(tmp_path / "a.jsonl", lines), wait=False)
    memory.ingest(native(tmp_path / "b.jsonl", [{"session_id": "hers", "message_id": "h"}]), user_id="eve", wait=False)
    found = page(memory, limit=3)
    assert [one.session.id for one in found.recent] == [one.id for one in memory.sessions.list(hidden=False)][:3]
    assert [one.last.text for one in found.recent if one.last] == ["words 5 2", "words 4 2", "words 3 2"]
    assert (found.sessions, found.since) == (5, "2025-01-01")
    assert page(memory, user_id="eve").sessions == 1
    with pytest.raises(UsageError):
        page(memory, limit=0)


def test_an_empty_memory_has_an_empty_page(memory: Appliance) -> None:
    assert page(memory) == StartPage(0, None, (), (), (), 0, page(memory).waiting, ())
    assert waiting_labels(page(memory).waiting) == {}


def test_pinned_messages_are_counted_and_the_latest_shown(memory: Appliance, tmp_path: Path) -> None:
    lines = [{"message_id": str(day), "timestamp": f"2025-03-0{day}T10:00:00Z"} for day in range(1, 6)]
    memory.ingest(native(tmp_path / "a.jsonl", lines), wait=False)
    for number in (2, 4, 5):
        memory.pin(f"m{number}")
    found = page(memory, limit=2)
    assert ([one.id for one in found.pinned], found.pinned_count) == (["m5", "m4"], 3)


def test_what_waits_is_counted(memory: Appliance, tmp_path: Path, clock: Callable[[float], None]) -> None:
    said = (("2024-01-01", "I live in Berlin."), ("2024-02-01", "I live in Paris, and I was born on 4 June."))
    lines = [
        *({"message_id": text, "content": text, "timestamp": f"{day}T10:00:00Z"} for day, text in said),
        *({"session_id": f"chat{n}", "message_id": f"{n}", "author": name, "timestamp": "2025-01-01T10:00:00Z"}
          for n, name in enumerate(("Rosa Amato", "Rosa Amato", "Rosa"))),
    ]  # fmt: skip
    memory.ingest(native(tmp_path / "a.jsonl", lines), wait=False)
    reviewed, proposed = len(memory.facts.review()), len(memory.people.list().proposals)
    waiting = page(memory).waiting
    assert (waiting.contradictions, waiting.proposals) == (reviewed, proposed)


@pytest.mark.slow
def test_files_count_for_a_day_and_failures_until_they_are_read(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    inbox = memory.home.inbox
    native(inbox / "good.jsonl", [{"message_id": "1"}])
    (inbox / "conversations.json").write_text('{"half": ')
    memory.watcher().run(once=True)
    assert (page(memory).waiting.files_read, page(memory).waiting.files_failed) == (1, 1)
    assert page(memory, user_id="eve").waiting.files_read == 0
    clock(3 * 86_400)
    assert (page(memory).waiting.files_read, page(memory).waiting.files_failed) == (0, 1)
    (inbox / "conversations.json").write_text("[]")
    memory.watcher().run(once=True)
    assert page(memory).waiting.files_failed == 0


def test_conversations_that_are_archived_within_a_week_are_named(
    memory: Appliance, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    today = datetime.now(UTC)
    lines = [
        {"session_id": f"old{age}", "message_id": str(age), "timestamp": (today - timedelta(days=age)).isoformat()}
        for age in (10, 40, 80, 85, 86, 95, 400)
    ]
    memory.ingest(native(tmp_path / "a.jsonl", lines), wait=False)
    memory.embed_pending()
    archive = engine_of(memory).archive
    assert page(memory).waiting.archived_soon == (), "a small memory is not archived"
    archive._settings = ArchiveSettings(importance=1.0, smallest=1)
    soon = page(memory).waiting
    assert [one.external_id for one in soon.archived_soon] == ["old85", "old86"] and soon.archived_soon_count == 2
    memory.archive.set_retention(session_id="old85", days=None)
    memory.archive.set_retention(session_id="old40", days=42)
    assert [one.external_id for one in page(memory).waiting.archived_soon] == ["old40", "old86"]
    memory.pin(memory.sessions.messages("old86")[0].id)
    assert [one.external_id for one in page(memory).waiting.archived_soon] == ["old40"]
    clock(3 * 86_400)
    due = [one.message_id for one in memory.archive.run(dry_run=True, importance=1.0).messages]
    assert memory.sessions.messages("old40")[0].id in due
    archive._settings = ArchiveSettings(importance=1.0, smallest=1, automatic=False)
    assert page(memory).waiting.archived_soon == ()


def test_examples_find_what_they_name(memory: Appliance, tmp_path: Path) -> None:
    told = ["The cabin in Barbastro is booked.", "Barbastro has a good bakery near the cabin.", "See you on Tuesday!"]
    lines: list[dict[str, Any]] = [
        {"session_id": "trip", "message_id": f"t{n}", "author": "Mira Vogel", "content": text,
         "timestamp": f"2025-05-0{n + 1}T10:00:00Z"}
        for n, text in enumerate(told)
    ]  # fmt: skip
    lines += [
        {"session_id": "ai", "session_title": "Sourdough starter hydration", "message_id": f"a{n}", "role": role,
         "content": "How wet should it be?", "timestamp": f"2025-05-04T1{n}:00:00Z"}
        for n, role in enumerate(("user", "assistant"))
    ]  # fmt: skip
    memory.ingest(native(tmp_path / "a.jsonl", lines), wait=False)
    memory.people.list()
    examples = page(memory).examples
    assert "what did Mira Vogel say about Barbastro" in examples
    assert "Sourdough starter hydration" in examples
    (filtered,) = [one for one in examples if one.startswith("author:")]
    from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters

    for query in examples:
        words, filters = extract_filters(query, SearchFilters(), NO_CURSOR)
        assert memory.search(words, **filters.search_arguments(None)), query
    assert 'author:"Mira Vogel" since:2025-05 ' in filtered
    memory.sessions.get("trip").set_storage_scope("none")
    assert not any("Mira" in one for one in page(memory).examples)


def test_the_command_line_prints_it(
    memory: Appliance, tmp_path: Path, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    from appliance.cli.app import run

    memory.ingest(native(tmp_path / "a.jsonl", [{"message_id": "1", "session_title": "Boats"}]), wait=False)
    memory.pin("m1")
    memory.close()
    assert run(["start-page"]) == 0
    assert "Boats" in (shown := capsys.readouterr().out) and "Pinned (1)" in shown
    assert run(["start-page", "--json", "-k", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["pinned_count"] == 1
    assert run(["start-page", "--user", "eve"]) == 0
    assert "Nothing imported yet" in capsys.readouterr().err


def test_conversations_are_counted_as_they_are_listed(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(native(tmp_path / "said.jsonl", [{"session_id": "a"}, {"session_id": "b", "role": "tool"}]))
    memory.sessions.create(title="Nothing said yet")
    listed = len(memory.sessions.list(hidden=False))
    assert listed == page(memory).sessions == memory.overview.filter_choices().users["me"] == 2
    assert memory.overview.filter_choices().sources == {"native": 1}
    assert memory.overview.filter_choices().namespaces == {"": 2} and len(memory.sessions.list()) == 3


@pytest.mark.parametrize(
    ("waiting", "heading"),
    [
        (Waiting(proposals=1), "Waiting"),
        (Waiting(files_read=3), "New"),
        (Waiting(files_read=3, files_failed=1), "Waiting, new"),
    ],
)
def test_files_that_were_read_do_not_stand_under_what_waits(waiting: Waiting, heading: str) -> None:
    assert waiting_heading(waiting) == heading
