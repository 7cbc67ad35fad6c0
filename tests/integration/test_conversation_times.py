"""Messages without a time take their conversation's: found by time, marked, in their order, and never an edit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Session
from appliance.store import conversation_time
from appliance.store.database import Database
from appliance_models import HashEmbedder
from tests.stores.make import UNDATED

STORE = Path(__file__).parent.parent / "stores" / "before_conversation_times.db.gz"

STARTED = "2026-01-05T08:00:00+00:00"
QUESTION, ANSWER = (chunk["text"] for chunk in UNDATED["chunkedPrompt"]["chunks"])


@pytest.fixture
def memory(home: Path):
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened


def write(path: Path, **changes: object) -> Path:
    path.write_text(json.dumps(UNDATED | changes), encoding="utf-8")
    return path


def only_session(memory: Appliance) -> Session:
    (info,) = memory.sessions.list()
    return memory.sessions.get(info.id)


def counts(memory: Appliance, path: Path) -> tuple[int, int, int]:
    report = memory.ingest(path)
    return report.total("new"), report.total("updated"), report.total("duplicates")


def parts() -> dict[str, Any]:
    """A chat of ChatGPT in which every other message has a time."""
    nodes = {
        str(number): {
            "id": str(number),
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)] if number < 3 else [],
            "message": {
                "id": f"m{number}",
                "author": {"role": "user" if number % 2 else "assistant"},
                "create_time": time,
                "content": {"content_type": "text", "parts": [f"part {number}"]},
            },
        }
        for number, time in enumerate([None, 1_760_000_100.0, None, 1_760_000_300.0])
    }
    return {"title": "Parts", "create_time": 1_760_000_000.0, "id": "c1", "current_node": "3", "mapping": nodes}


def test_messages_without_a_time_are_found_by_that_of_their_conversation(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "Piers.json"))
    for mode in ("hybrid", "dense", "lexical"):
        found = memory.search("oldest pier", mode=mode, since="2026-01-05", until="2026-01-05")
        assert QUESTION in [hit.text for hit in found], mode
        assert {(hit.timestamp, hit.time) for hit in found} == {(STARTED, "conversation")}
        assert not memory.search("oldest pier", mode=mode, since="2026-01-06")
    session = only_session(memory)
    assert [(m.text, m.timestamp, m.time) for m in session.messages()] == [
        (QUESTION, STARTED, "conversation"),
        (ANSWER, STARTED, "conversation"),
    ]
    lines = list(memory.export())
    assert [(line["timestamp"], line["metadata"]["time"]) for line in lines if "content" in line] == [
        (STARTED, "conversation"),
        (STARTED, "conversation"),
    ]
    assert not memory.verify().problems


def test_they_stay_behind_the_message_before_them(memory: Appliance, tmp_path: Path) -> None:
    chat = parts()
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat]), encoding="utf-8")
    memory.ingest(path)
    session = only_session(memory)
    assert [(m.text, m.time) for m in session.messages()] == [
        ("part 0", "conversation"),
        ("part 1", "message"),
        ("part 2", "conversation"),
        ("part 3", "message"),
    ]
    chat["mapping"]["2"]["message"]["content"]["parts"] = ["part 2, edited"]
    path.write_text(json.dumps([chat]), encoding="utf-8")
    assert counts(memory, path) == (0, 1, 3)
    assert [m.text for m in session.messages()] == ["part 0", "part 1", "part 2, edited", "part 3"]


def test_an_export_that_is_read_again_changes_nothing(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    # Another export of the chat may have another time of the conversation, or none.
    for created, expected in ((1_760_000_000.0, (4, 0, 0)), (1_760_000_050.0, (0, 0, 4)), (None, (0, 0, 4))):
        path.write_text(json.dumps([parts() | {"create_time": created}]), encoding="utf-8")
        assert counts(memory, path) == expected


def test_an_export_of_the_memory_reads_back_alike(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "Piers.json"))
    target = tmp_path / "all.jsonl"
    lines = list(memory.export())
    target.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert counts(memory, target) == (0, 0, 2)
    with Appliance.open(tmp_path / "other", worker=False, embedder=HashEmbedder()) as other:
        other.ingest(target)
        assert [line for line in other.export() if "content" in line] == [line for line in lines if "content" in line]


def test_native_messages_without_a_time_have_none(memory: Appliance, tmp_path: Path) -> None:
    lines = [
        {"session_id": "s", "role": "user", "content": "at nine", "timestamp": "2026-02-06T09:00:00Z"},
        {"session_id": "s", "role": "user", "content": "whenever"},
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    memory.ingest(path)
    session = only_session(memory)
    assert [m.timestamp for m in session.messages()] == ["2026-02-06T09:00:00+00:00", None]


def test_a_message_that_is_edited_by_hand_keeps_the_mark(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "Piers.json"))
    session = only_session(memory)
    first = session.messages()[0]
    session.add("user", "Which pier is older?", external_id=first.external_id)
    assert [(m.text, m.time) for m in session.messages()] == [
        ("Which pier is older?", "conversation"),
        (ANSWER, "conversation"),
    ]


def earlier_store(home: Path) -> Path:
    home.mkdir(mode=0o700)
    path = home / "recall.db"
    path.write_bytes(gzip.decompress(STORE.read_bytes()))
    return path


def test_an_earlier_memory_gets_the_times_in_the_background(home: Path, tmp_path: Path) -> None:
    path = earlier_store(home)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert not memory.search("oldest pier", since="2026-01-05", until="2026-01-05")
    database = Database(path)
    assert conversation_time.fill(database, lambda: True) == 2
    assert conversation_time.fill(database, lambda: True) == 0
    database.close()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        found = memory.search("oldest pier", since="2026-01-05", until="2026-01-05")
        assert {(hit.timestamp, hit.time) for hit in found} == {(STARTED, "conversation")}
        assert counts(memory, write(tmp_path / "Piers.json")) == (0, 0, 2)
        assert not memory.verify().problems


def test_an_earlier_memory_gets_the_times_from_the_next_import(home: Path, tmp_path: Path) -> None:
    earlier_store(home)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert counts(memory, write(tmp_path / "Piers.json")) == (0, 0, 2)
        found = memory.search("oldest pier", since="2026-01-05", until="2026-01-05")
        assert {(hit.timestamp, hit.time) for hit in found} == {(STARTED, "conversation")}
        assert not memory.verify().problems
