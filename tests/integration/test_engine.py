"""What a program relies on: in and out again, identity, scopes, budgets, revisions, rebuilding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine.engine import Engine
from appliance.errors import HomeError, HomeLocked, ModelUnavailable, NotFound, UsageError
from appliance_models import HashEmbedder

Line = dict[str, Any]


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def line(number: int, content: str, **more: Any) -> Line:
    return {"session_id": "s", "message_id": f"s-{number}", "role": "user", "content": content, **more}


TRIP = [
    line(1, "We leave for Lisbon on Thursday", author="Ana", timestamp="2025-04-01T09:00:00Z"),
    line(2, "Did you book the hotel?", author="Ben", timestamp="2025-04-01T09:01:00Z"),
    line(3, "Yes, the blue one near the river", author="Ana", timestamp="2025-04-01T09:02:00Z"),
    line(4, "The cat sitter has the keys", author="Ana", timestamp="2025-04-02T10:00:00Z"),
]


def test_what_goes_in_is_found_and_comes_out_again(memory: Appliance, tmp_path: Path) -> None:
    report = memory.ingest(write(tmp_path / "trip.jsonl", TRIP))
    assert report.complete and report.total("new") == 4 and report.pending == 0
    (hit, *_) = memory.search("who has the keys of the cat sitter", limit=3)
    assert hit.external_id == "s-4"
    assert hit.text == TRIP[3]["content"] and hit.author == "Ana"
    assert hit.timestamp == "2025-04-02T10:00:00+00:00"
    assert hit.source.format == "native" and hit.source.path == str(tmp_path / "trip.jsonl")
    assert 0 <= hit.score <= 1
    out = [(x["message_id"], x["content"], x["author"]) for x in memory.export()]
    assert out == [(x["message_id"], x["content"], x["author"]) for x in TRIP]


def test_an_export_read_back_is_the_same(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "trip.jsonl", TRIP))
    first = list(memory.export())
    with Appliance.open(tmp_path / "other", worker=False, embedder=HashEmbedder()) as other:
        other.ingest(write(tmp_path / "out.jsonl", first))
        assert list(other.export()) == first


def test_what_was_exported_and_is_read_back_is_nothing_new(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "WhatsApp Chat with Ana.txt").write_text(
        "".join(f"15/01/2024, 10:3{i} - Ana: message number {i}\n" for i in range(6)), encoding="utf-8"
    )
    memory.ingest([tmp_path / "WhatsApp Chat with Ana.txt", write(tmp_path / "trip.jsonl", TRIP)])
    memory.sessions.create(title="Notes").add("user", "remember the milk")
    report = memory.ingest(write(tmp_path / "out.jsonl", list(memory.export())))
    assert (report.total("new"), report.total("updated"), report.total("duplicates")) == (0, 0, 11)
    assert len(memory.sessions.list()) == 3


def test_the_same_export_again_adds_nothing(memory: Appliance, tmp_path: Path) -> None:
    path = write(tmp_path / "trip.jsonl", TRIP)
    memory.ingest(path)
    again = memory.ingest(path)
    assert (again.total("new"), again.total("updated"), again.total("duplicates")) == (0, 0, 4)
    assert again.chunks == 0 and memory.status()["counts"]["messages"] == 4


def test_a_later_export_adds_only_what_is_new_and_keeps_what_is_gone(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", TRIP))
    later = [*TRIP[1:], line(5, "Landed!", author="Ana", timestamp="2025-04-03T12:00:00Z")]
    report = memory.ingest(write(tmp_path / "b.jsonl", later))
    assert (report.total("new"), report.total("duplicates")) == (1, 3)
    assert [m.external_id for m in memory.sessions.messages("s")] == ["s-1", "s-2", "s-3", "s-4", "s-5"]
    assert not memory.verify().problems


def test_an_edit_is_a_revision_and_an_older_export_does_not_undo_it(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", TRIP))
    edited = [*TRIP[:2], {**TRIP[2], "content": "Yes, the yellow one by the station"}, TRIP[3]]
    assert memory.ingest(write(tmp_path / "b.jsonl", edited)).total("updated") == 1
    assert memory.search("yellow station")[0].external_id == "s-3"
    assert "blue" not in " ".join(hit.text for hit in memory.search("blue river", mode="lexical"))
    again = memory.ingest(tmp_path / "a.jsonl")
    assert (again.total("updated"), again.total("duplicates")) == (0, 4)
    assert memory.message("s-3").text.endswith("station")
    findings = memory.verify()
    assert not findings.problems and findings.checked["revisions"] == 1


def test_messages_without_ids_are_told_apart_by_their_place(memory: Appliance, tmp_path: Path) -> None:
    lines = [{"session_id": "s", "role": "user", "content": text} for text in ("ok", "sure", "ok", "ok")]
    path = write(tmp_path / "a.jsonl", lines)
    assert memory.ingest(path).total("new") == 4
    assert [m.text for m in memory.sessions.messages("s")] == ["ok", "sure", "ok", "ok"]
    path = write(path, [*lines, {"session_id": "s", "role": "user", "content": "ok"}])
    assert memory.ingest(path).total("new") == 1


def test_a_renamed_whatsapp_chat_is_the_same_chat(memory: Appliance, tmp_path: Path) -> None:
    body = "".join(f"15/01/2024, 10:3{i} - Ana: message number {i}\n" for i in range(6))
    (tmp_path / "WhatsApp Chat with Ana.txt").write_text(body, encoding="utf-8")
    (tmp_path / "WhatsApp Chat with Ana Maria.txt").write_text(
        body + "16/01/2024, 08:00 - Ana: one more\n", encoding="utf-8"
    )
    memory.ingest(tmp_path / "WhatsApp Chat with Ana.txt")
    report = memory.ingest(tmp_path / "WhatsApp Chat with Ana Maria.txt")
    assert (report.total("new"), report.total("duplicates")) == (1, 6)
    assert len(memory.sessions.list()) == 1


def test_searching_ten_gives_the_first_ten_of_fifty(memory: Appliance, tmp_path: Path) -> None:
    lines = [line(i, f"note {i} about the garden and the tomatoes row {i % 7}") for i in range(80)]
    memory.ingest(write(tmp_path / "a.jsonl", lines))
    fifty = [hit.message_id for hit in memory.search("tomatoes in the garden", limit=50)]
    ten = [hit.message_id for hit in memory.search("tomatoes in the garden", limit=10)]
    assert len(fifty) == 50 and ten == fifty[:10]
    assert len(set(fifty)) == 50


def test_filters(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(
        write(
            tmp_path / "a.jsonl", [*TRIP, line(9, "Lisbon noted", role="assistant", timestamp="2025-04-05T00:00:00Z")]
        )
    )

    def found(**narrowed: Any) -> set[str]:
        return {hit.external_id for hit in memory.search("Lisbon hotel keys noted", limit=50, **narrowed)}

    assert found() == {"s-1", "s-2", "s-3", "s-4", "s-9"}
    assert found(roles=["assistant"]) == {"s-9"}
    assert found(since="2025-04-02", until="2025-04-02") == {"s-4"}
    assert found(until="2025-04-01T09:01:00+00:00") == {"s-1"}
    assert found(sources=["whatsapp"]) == set()
    assert found(session_id="s") == found()
    assert found(user_id="somebody else") == set()
    for wrong in ({"roles": ["owner"]}, {"since": "soon"}, {"limit": 0}, {"mode": "psychic"}):
        with pytest.raises(UsageError):
            memory.search("x", **wrong)  # type: ignore[arg-type]


def test_machine_records_are_kept_but_not_recalled(memory: Appliance, tmp_path: Path) -> None:
    lines = [
        line(1, "the zebra report is ready"),
        line(2, "zebra tool output", role="tool"),
        line(3, "zebra hidden preamble", metadata={"hidden": True}),
    ]
    memory.ingest(write(tmp_path / "a.jsonl", lines))
    assert [hit.external_id for hit in memory.search("zebra")] == ["s-1"]
    assert [hit.external_id for hit in memory.search("zebra", roles=["tool"])] == ["s-2"]
    assert len(list(memory.export())) == 3


def test_what_waits_is_found_by_its_words(home: Path, tmp_path: Path) -> None:
    lines = [line(i, f"entry {i} mentions platypus {i}") for i in range(200)]
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        report = memory.ingest(write(tmp_path / "a.jsonl", lines), wait=False)
        assert report.pending == 200 and report.embedded == 0
        hits = memory.search("platypus 77", limit=5, mode="lexical")
        assert hits[0].external_id == "s-77"
        assert any("wait" in note for note in hits.notes)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.embed_pending() == 200
        assert not memory.verify().problems
        assert not memory.search("platypus 77", mode="lexical").notes


def test_the_worker_takes_up_what_an_earlier_process_left(home: Path, tmp_path: Path) -> None:
    lines = [line(i, f"entry {i}") for i in range(300)]
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(write(tmp_path / "a.jsonl", lines), wait=False)
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        memory.embed_pending()  # waits for the worker's round, then does the rest
        assert memory.status()["counts"]["pending"] == 0
        assert not memory.verify().problems


def test_a_query_is_never_read_as_syntax(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", TRIP), wait=False)
    for query in ('"', "NEAR(", "a AND", "text:x", "*", "-", "^a", "(", "'; DROP", "", " ", "?", "\x00", "key* OR"):
        memory.search(query, mode="lexical")
        memory.search(query)


def test_sessions_live_and_are_found(memory: Appliance) -> None:
    session = memory.sessions.create(title="Planning", user_id="ana", metadata={"team": "x"})
    added = session.add("user", "My deadline is March 15th")
    session.add("assistant", "I will remind you")
    assert [m.text for m in session.messages()] == ["My deadline is March 15th", "I will remind you"]
    assert added.timestamp is not None and added.timestamp.endswith("+00:00")
    assert memory.search("deadline", user_id="ana")[0].message_id == added.id
    assert not memory.search("deadline")
    assert not memory.search("deadline", user_id="ben", session_id=session.id)
    assert memory.search("deadline", session_id=session.id)
    assert memory.sessions.get(session.id).title == "Planning"
    assert [s.id for s in memory.sessions.list(user_id="ana")] == [session.id]
    assert not memory.sessions.list()
    with pytest.raises(NotFound):
        memory.sessions.get("s999")
    with pytest.raises(UsageError):
        session.add("owner", "x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Unicode"):
        session.add("user", "\ud800")
    assert not memory.verify().problems


def test_a_new_turn_renews_its_neighbours(memory: Appliance) -> None:
    session = memory.sessions.create()
    first = session.add("user", "What is the wifi password?")
    memory.search("anything")
    session.add("assistant", "hunter22 on the fridge")
    hits = memory.search("hunter22", mode="lexical")
    assert hits[0].text.startswith("hunter22")
    assert first.id in [hit.message_id for hit in hits], "found by its neighbour's words"
    assert not memory.verify().problems


@pytest.mark.parametrize("budget", [1, 20, 60, 150, 400, 4000])
def test_a_context_never_exceeds_its_budget(memory: Appliance, tmp_path: Path, budget: int) -> None:
    from appliance_models import encoding_for

    story = " ".join(f"Sentence {i} of the long story tells about the lighthouse keeper." for i in range(120))
    memory.ingest(write(tmp_path / "a.jsonl", [*TRIP, line(7, story), line(8, "lighthouse 灯台 👩‍👩‍👧")]))
    session = memory.sessions.create()
    for i in range(12):
        session.add("user" if i % 2 == 0 else "assistant", f"turn {i} about lighthouses and keepers")
    context = session.context("the lighthouse keeper", budget=budget)
    counter = encoding_for(context.encoding)
    assert context.tokens == counter.count(context.text) <= budget
    assert sum(counter.count(m["content"]) for m in context.messages) <= budget
    assert context.budget == budget
    if budget >= 400:
        retrieved, recent = (layer for layer in context.layers if layer.name in ("retrieved", "recent"))
        assert retrieved.items and recent.items
        assert {i.message_id for i in retrieved.items}.isdisjoint({i.message_id for i in recent.items})
    assert sum(layer.tokens for layer in context.layers) == context.tokens
    if budget == 400:
        assert any(item.fidelity == "compressed" for layer in context.layers for item in layer.items)


def test_reindex_rebuilds_without_embedding_again(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", TRIP))
    before = [(h.external_id, h.score) for h in memory.search("hotel by the river")]
    rows = memory.verify().checked["vectors"]
    assert memory.reindex() == 4
    assert memory.verify().checked["vectors"] == rows == 4
    assert [(h.external_id, h.score) for h in memory.search("hotel by the river")] == before
    assert memory.reindex(vectors=True) == 4
    assert [h.external_id for h in memory.search("hotel by the river")] == [e for e, _ in before]
    assert memory.status()["model"]["generation"] == 2
    assert not memory.verify().problems
    assert len(list((memory.home.vectors).iterdir())) == 1, "the old generation's files are gone"


def test_a_damaged_index_is_made_again(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(write(tmp_path / "a.jsonl", TRIP))
        folder = memory.home.index
    for marker in folder.rglob("engine.json"):
        marker.write_text("{}")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.search("cat sitter keys")[0].external_id == "s-4"
        memory.embed_pending()
        assert not memory.verify().problems


def test_another_model_than_the_one_that_made_the_vectors_compares_nothing(home: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", TRIP)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(path)
    with Appliance.open(home, worker=False, embedder=HashEmbedder(dimension=48)) as memory:
        hits = memory.search("cat sitter keys")
        assert hits[0].external_id == "s-4" and "searched by words only" in hits.notes[0]
        path.write_text(path.read_text().replace("keys", "trunk"))  # stored, and waits for a model
        assert "not the one" in memory.ingest(path).pending_reason
        with pytest.raises(ModelUnavailable, match="not the one"):
            memory.embed_pending()
        memory.reindex(vectors=True)
        assert not memory.search("cat sitter keys").notes
        assert not memory.verify().problems


def test_one_owner(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        with pytest.raises(HomeLocked, match="process"):
            Engine.open(home)
        with Appliance.open(home, worker=False) as other:
            assert other.is_attached and not memory.is_attached
    Engine.open(home, worker=False).close()


def test_a_home_that_is_not_there_is_an_error(home: Path, tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="There is no such folder"):
        Appliance.open(home, create=False)
    (tmp_path / "file").write_text("x")
    with pytest.raises(HomeError):
        Appliance.open(tmp_path / "file")
    assert not home.exists()


def test_a_dry_run_changes_nothing(memory: Appliance, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", TRIP)
    report = memory.ingest(path, dry_run=True)
    assert report.total("new") == 4 and report.embedded == 0
    assert memory.status()["counts"]["messages"] == 0
    assert memory.ingest(path).total("new") == 4


def test_good_records_around_bad_ones_are_kept(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = [json.dumps(x) for x in TRIP]
    path.write_text("\n".join([good[0], "{broken", good[1], '{"role": "user"}', *good[2:]]), encoding="utf-8")
    report = memory.ingest(path)
    (file,) = report.files
    assert file.status == "partial" and not report.complete and file.new == 4
    assert [problem.where for problem in file.errors] == ["line 2", "line 4"]


def test_private_files(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", TRIP))
    for path in memory.home.root.rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode & 0o077 == 0, f"{path} is {mode:o}"
