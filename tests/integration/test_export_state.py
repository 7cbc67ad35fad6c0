"""An export gives everything back: ingested into another memory, it is the same memory, and exported the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from appliance import Appliance
from appliance_models import HashEmbedder


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def line(session: str, number: int, content: str, **more: Any) -> dict[str, Any]:
    base = {
        "session_id": session,
        "message_id": f"{session}-{number}",
        "role": ("user", "assistant")[number % 2],
        "timestamp": f"2024-03-01T10:{number:02}:00Z",
    }
    return {**base, "content": content, **more}


TALK = [
    line("home", 0, "I live in Naples, and my sister is called Rosa."),
    line("home", 1, "Naples is lovely."),
    line("home", 2, "I work as a carpenter."),
    line("home", 4, "The saffron elephant is in the blue cupboard."),
    line("plan", 0, "Which flour did we use?", timestamp=None),
    line("tied", 0, "At the same time as the others.", timestamp="2024-03-01T10:04:00Z"),
    line("also", 0, "At the same time, too.", timestamp="2024-03-01T10:04:00Z"),
]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path


def exported(memory: Appliance) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in memory.export(state=True))


def again(memory: Appliance, tmp_path: Path, name: str = "again") -> Appliance:
    """Another memory with everything that one exports."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(exported(memory))
    other = opened(tmp_path / name)
    report = other.ingest(path)
    assert report.complete, [error for file in report.files for error in file.errors]
    return other


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with opened(tmp_path / "home") as memory:
        memory.ingest(write(tmp_path / "talk.jsonl", TALK))
        yield memory


def test_a_memory_without_state_exports_messages_alone(memory: Appliance) -> None:
    lines = list(memory.export())
    assert len(lines) == len(TALK) and all("content" in one for one in lines)
    assert {one["record"] for one in memory.export(state=True) if "record" in one} == {"fact"}


def test_everything_is_there_again_and_exports_to_the_same_bytes(memory: Appliance, tmp_path: Path) -> None:
    memory.pin("home-2")
    memory.ingest(write(tmp_path / "edit.jsonl", [line("plan", 0, "Which flour did Rosa use?", timestamp=None)]))
    memory.ingest(write(tmp_path / "edit2.jsonl", [line("plan", 0, "Which flour was it?", timestamp=None)]))
    city = next(fact for fact in memory.facts.list() if fact.value == "Naples")
    memory.facts.correct(city.id, "Rome")
    job = next(fact for fact in memory.facts.list() if "carpenter" in fact.value)
    memory.facts.reject(job.id)
    memory.facts.add(attribute="favourite colour", value="green")
    own = memory.sessions.create(title="Own", ttl=10_000_000, metadata={"k": 1})
    own.add("user", "Something of my own.")
    own.rename("Renamed by hand")
    own.set_storage_scope("conversational")
    own.branch(title="Other way").add("user", "From here on, another way.")
    memory.sessions.create(title="Still empty").pin()
    memory.sessions.create(title="Of Ana", user_id="ana").add("user", "I live in Oslo.")
    memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))

    with again(memory, tmp_path) as other:
        assert exported(other).splitlines() == exported(memory).splitlines()
        assert other.message("home-2").pinned
        held = [{(fact.attribute, fact.value, fact.state) for fact in one.facts.list()} for one in (memory, other)]
        assert held[0] == held[1]
        assert "Rome" in {fact.value for fact in other.facts.list()}
        assert not any("carpenter" in fact.value for fact in other.facts.list())
        renamed = next(info for info in other.sessions.list() if info.title == "Renamed by hand")
        assert (renamed.storage_scope, renamed.ttl) == ("conversational", 10_000_000)
        branch = next(info for info in other.sessions.list() if info.title == "Other way")
        assert branch.branch_of == renamed.id and branch.shared == 1
        assert next(info for info in other.sessions.list() if info.title == "Still empty").pinned
        other.embed_pending()
        assert not other.verify().problems
        with again(other, tmp_path, "third") as third:
            assert exported(third) == exported(memory)


def test_what_was_forgotten_does_not_come_back(memory: Appliance, tmp_path: Path) -> None:
    memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))
    text = exported(memory)
    assert b"saffron" not in text and b"home-4" not in text
    with again(memory, tmp_path) as other:
        other.ingest(tmp_path / "talk.jsonl")
        assert not any("saffron" in one["content"] for one in other.export())
        assert len(list(other.export())) == len(TALK) - 1


def test_a_memory_in_which_all_is_forgotten_exports_its_digests(memory: Appliance, tmp_path: Path) -> None:
    memory.erasure.forget(memory.erasure.preview(everything=True))
    with again(memory, tmp_path) as other:
        other.ingest(tmp_path / "talk.jsonl")
        assert not list(other.export())


def test_ingesting_it_twice_changes_nothing(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "edit.jsonl", [line("plan", 0, "Which flour did Rosa use?", timestamp=None)]))
    memory.facts.add(attribute="favourite colour", value="green")
    with again(memory, tmp_path) as other:
        other.ingest(tmp_path / "again.jsonl")
        assert exported(other) == exported(memory)
    memory.ingest(tmp_path / "again.jsonl")
    assert exported(memory) == (tmp_path / "again.jsonl").read_bytes()


def test_digests_of_another_memory_are_left_out_and_that_is_said(memory: Appliance, tmp_path: Path) -> None:
    memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))
    with opened(tmp_path / "other") as other:
        other.sessions.create(title="x").add("user", "a purple walrus by the river")
        other.erasure.forget(other.erasure.preview(query="purple walrus"))
        (tmp_path / "all.jsonl").write_bytes(exported(memory))
        (file,) = other.ingest(tmp_path / "all.jsonl").files
    assert file.status == "partial"
    assert "has forgotten messages of its own" in file.errors[0].message


def test_one_users_export_has_that_users_state_only(memory: Appliance) -> None:
    memory.sessions.create(title="Of Ana", user_id="ana", ttl=500_000).add("user", "I live in Oslo.")
    memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))
    records = [one for one in memory.export(user_id="ana", state=True) if "record" in one]
    assert {one["record"] for one in records} == {"session", "fact"}
    assert all(one["user_id"] == "ana" for one in records)


def test_a_record_of_another_form_is_named_and_the_rest_is_read(memory: Appliance, tmp_path: Path) -> None:
    bad = [{"record": "revision", "session_id": "home"}, {"record": "rejection", "digest": "no hex"}]
    (file,) = memory.ingest(write(tmp_path / "bad.jsonl", [*bad, line("new", 0, "hello")])).files
    assert (file.new, file.status) == (1, "partial")
    assert [error.where for error in file.errors] == ["line 1", "line 2"]


OTHER_FORMS: list[dict[str, Any]] = [
    {"record": "session", "session_id": "new", "storage_scope": "everything"},
    {"record": "session", "session_id": "home", "ttl": "long"},
    {"record": "session", "session_id": "home", "ttl": 10**30},
    {"record": "session", "session_id": "home", "expires_at": "tomorrow"},
    {"record": "session", "session_id": "home", "agents": "Ada"},
    {"record": "branch", "session_id": "home", "parent": {"session_id": "home", "source": "native"},
     "at": {"session_id": "home", "source": "native", "message_id": "home-0"}},
    {"record": "revision", "session_id": "home", "message_id": "home-0", "number": 10**30,
     "replaced_at": "2024-01-01T00:00:00+00:00", "form": {"content": "earlier"}},
    {"record": "revision", "session_id": "home", "message_id": "home-0", "number": 1,
     "replaced_at": "2024-01-01T00:00:00+00:00", "form": {"content": 5}},
    {"record": "decision", "slot": "city", "kind": "weather"},
    {"record": "rejection", "digest": "not hexadecimal"},
    {"record": "forgotten", "key": "00" * 100, "digests": []},
]  # fmt: skip


def test_records_of_another_form_are_left_out_as_a_whole_and_named(tmp_path: Path) -> None:
    # An export may have been edited or damaged. A session that was its own branch never ended, a key of another length
    # made every later ingest fail.
    path = write(tmp_path / "edited.jsonl", [*TALK, *({"source": "native", **one} for one in OTHER_FORMS)])
    with opened(tmp_path / "home") as memory:
        (report,) = memory.ingest(path).files
        assert len(report.errors) == len(OTHER_FORMS) and report.messages == len(TALK)
        assert all("is left out" in error.message for error in report.errors)
        assert {session.external_id for session in memory.sessions.list()} == {"home", "plan", "tied", "also"}
        assert memory.verify().problems == []
        assert memory.ingest(write(tmp_path / "more.jsonl", [line("more", 0, "Something else.")])).complete
