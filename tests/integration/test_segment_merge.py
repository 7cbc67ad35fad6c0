"""The segments of a large index are merged in the background, which changes no answer and holds up nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine import segment_merge
from appliance.engine.segment_merge import SegmentMerge
from appliance.ingest import index_build
from tests.engines import engine_of

pytestmark = pytest.mark.usefixtures("every_field_index")

QUERIES = ("the harbour at noon", "what did we eat", "number 17", "tea")
WORDS = ("the harbour at noon", "we ate fish and rice", "a cup of tea", "nobody came to see us")
USERS = ("ana", "ben")


def write(path: Path, texts: Sequence[str]) -> Path:
    lines = [
        {"session_id": f"s{number % 5}", "message_id": f"m{number}", "role": "user", "content": text}
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def large(memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A memory that counts as large, and as one with too many segments: 240 messages of two users."""
    monkeypatch.setattr(index_build, "MIN_CHUNKS", 1)
    monkeypatch.setattr(segment_merge, "MIN_SPARE_SEGMENTS", -2)
    file = write(tmp_path / "lines.jsonl", [f"{WORDS[n % 4]} on day number {n // 2}" for n in range(120)])
    for user in USERS:
        memory.ingest(file, user_id=user)
        for session in memory.sessions.list(user_id=user):
            memory.summaries.make(session.id)
    memory.embed_pending()
    answers(memory)  # opens the index
    return memory


@pytest.fixture
def merge(large: Appliance, monkeypatch: pytest.MonkeyPatch) -> SegmentMerge:
    merge = engine_of(large)._index_service.segment_merge
    monkeypatch.setattr(merge, "_is_idle", lambda: True)
    return merge


def answers(memory: Appliance) -> list[Any]:
    """The best hits and summaries of some searches, with their scores, as far as half floats tell."""
    found = [memory.search(query, user_id=user) for query in QUERIES for user in USERS]
    return [
        ([(hit.message_id, round(hit.score, 2)) for hit in hits], [one.summary.id for one in hits.summaries])
        for hits in found
    ]


@pytest.mark.slow
def test_the_memory_answers_as_before(home: Path, large: Appliance, merge: SegmentMerge) -> None:
    before = answers(large)
    assert any(summaries for _, summaries in before), "there are summaries to be lost"
    files = set((home / "index" / "g1" / "shard" / "segments").iterdir())
    assert merge.run(lambda: True) == 1
    large.embed_pending()
    assert answers(large) == before
    assert not files & set((home / "index" / "g1" / "shard" / "segments").iterdir())
    assert not list((home / "index").glob("*.built"))
    assert not large.verify().problems


@pytest.mark.slow
def test_it_gives_way_to_a_message(
    home: Path, large: Appliance, merge: SegmentMerge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = index_build._run

    def run_and_add(*arguments: Any) -> bool:
        ran = run(*arguments)
        large.ingest(write(tmp_path / "new.jsonl", ["an entirely new zebra"]), user_id="carl", wait=False)
        return ran

    monkeypatch.setattr(index_build, "_run", run_and_add)
    assert merge.run(lambda: True) == 0
    assert merge.run(lambda: True) == 0, "it waits before it tries again"
    large.embed_pending()
    assert "zebra" in large.search("zebra", user_id="carl", mode="dense")[0].text
    assert not list((home / "index").glob("*.built"))
    assert not large.verify().problems


def test_it_ends_when_the_memory_is_closed(home: Path, large: Appliance, merge: SegmentMerge) -> None:
    before = answers(large)
    calls: list[None] = []

    def until_it_runs() -> bool:
        calls.append(None)
        return len(calls) == 1

    assert merge.run(until_it_runs) == 0
    assert len(calls) > 1, "it had begun"
    assert not list((home / "index").glob("*.built"))
    assert answers(large) == before


def test_few_segments_are_left_alone(large: Appliance, merge: SegmentMerge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_merge, "MIN_SPARE_SEGMENTS", 4)
    monkeypatch.setattr(index_build, "build", lambda *arguments: pytest.fail("nothing has to be built"))
    assert merge.run(lambda: True) == 0


@pytest.mark.slow
def test_points_that_would_be_lost_keep_the_old_index(
    large: Appliance, merge: SegmentMerge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks whose vectors are damaged have a point already, which no build can give them."""
    before, build = answers(large), index_build.build

    def without_one(*arguments: Any) -> Any:
        built = build(*arguments)
        assert built is not None
        return index_build.BuiltPoints(built.ticket, built.keys[1:])

    monkeypatch.setattr(index_build, "build", without_one)
    assert merge.run(lambda: True) == 0
    assert answers(large) == before
