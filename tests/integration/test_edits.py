"""Edits, owners and rebuilds: what changes keeps its history, its place and its owner."""

from __future__ import annotations

import json
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from appliance import Appliance
from appliance.engine.index_service import MAX_CATCH_UP_CHUNKS
from appliance.retrieval.candidates import Candidates, from_index
from appliance.store import chunks, generation_states, generations
from appliance.store.generation_states import Generation
from appliance.store.passages import text_digest
from appliance_models import HashEmbedder
from tests.engines import engine_of


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def line(number: int, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s",
        "message_id": f"s-{number}",
        "role": "user",
        "content": f"message {number}",
        "timestamp": f"2025-04-01T09:0{number}:00Z",
    } | more


def test_an_edit_by_hand_can_go_back_to_an_earlier_form_and_keeps_its_time(memory: Appliance) -> None:
    session = memory.sessions.create()
    first = session.add("user", "A", external_id="x", author="Ana")
    session.add("user", "later")
    session.add("user", "B", external_id="x", author="Ana")
    again = session.add("user", "A", external_id="x", author="Ana")
    assert again.text == "A"
    assert again.timestamp == first.timestamp
    assert [m.text for m in session.messages()] == ["A", "later"]
    findings = memory.verify()
    assert not findings.problems
    assert findings.checked["revisions"] == 2


def test_a_contact_renamed_twice_has_its_newest_name(memory: Appliance, tmp_path: Path) -> None:
    for name in ("Ana", "Ana M.", "Ana Maria"):
        memory.ingest(write(tmp_path / "a.jsonl", [line(1, author=name)]))
    assert memory.message("s-1").author == "Ana Maria"
    memory.ingest(write(tmp_path / "a.jsonl", [line(1, author="Ana")]))
    assert memory.message("s-1").author == "Ana Maria", "an older export does not undo it"


def test_another_time_moves_a_message(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", [line(n) for n in range(1, 8)]))
    memory.ingest(write(tmp_path / "b.jsonl", [line(2, timestamp="2025-04-01T09:06:30Z")]))
    order = [m.external_id for m in memory.sessions.messages("s")]
    assert order == ["s-1", "s-3", "s-4", "s-5", "s-6", "s-2", "s-7"]
    assert [x["message_id"] for x in memory.export()] == order
    assert not memory.verify().problems, "old and new neighbours are renewed"


def test_an_export_of_several_people_goes_back_to_each(memory: Appliance, tmp_path: Path) -> None:
    for user, namespace in (("me", ""), ("ana", ""), ("ana", "work")):
        memory.ingest(
            write(tmp_path / "a.jsonl", [line(1, author=user + namespace)]), user_id=user, namespace=namespace
        )
    everything = list(memory.export())
    assert len(everything) == 3
    assert len(list(memory.export(user_id="ana"))) == 2, "all her namespaces"
    out = write(tmp_path / "out.jsonl", everything)
    assert memory.ingest(out).total("duplicates") == 3
    with Appliance.open(tmp_path / "other", worker=False, embedder=HashEmbedder()) as other:
        other.ingest(out)
        # Sessions that were last active together have no order of their own.
        assert sorted(map(str, other.export())) == sorted(map(str, everything))
        assert [h.author for h in other.search("message", user_id="ana", namespace="work")] == ["anawork"]
    with Appliance.open(tmp_path / "taken", worker=False, embedder=HashEmbedder()) as taken:
        taken.ingest(write(tmp_path / "one.jsonl", everything[:1]), user_id="ben")
        assert taken.search("message", user_id="ben")


@pytest.mark.slow
def test_a_rebuild_in_the_middle_of_an_ingest(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "a.jsonl", [line(1)]))
    lines = [line(2, session_id="t", message_id=f"t-{n}", content=f"number {n}") for n in range(2500)]
    rebuilt: list[int] = []

    def once(path: str, messages: int) -> None:
        if not rebuilt:
            rebuilt.append(memory.reindex(vectors=True))

    report = memory.ingest(write(tmp_path / "b.jsonl", lines), on_file=once)
    assert rebuilt
    assert report.complete and report.pending == 0
    assert not memory.verify().problems


@pytest.mark.slow
def test_drains_and_rebuilds_from_several_threads_end(home: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(1, message_id=f"s-{n}", content=f"number {n}") for n in range(300)])
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        memory.ingest(path, wait=False)
        work = [memory.embed_pending, memory.reindex, lambda: memory.reindex(vectors=True), memory.embed_pending] * 3
        threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads), "no two wait for each other"
        memory.embed_pending()
        assert not memory.verify().problems


@pytest.mark.slow
def test_a_search_answers_while_everything_is_made_again(home: Path, tmp_path: Path) -> None:
    done = threading.Event()
    troubles: list[BaseException] = []
    answers: list[bool] = []
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        lines = [line(1, message_id=f"s-{n}", content=f"the ferry number {n}") for n in range(300)]
        memory.ingest(write(tmp_path / "chat.jsonl", lines))

        def search() -> None:
            while not done.is_set():
                try:
                    hits = memory.search("ferry number 7", limit=300)
                except BaseException as error:
                    troubles.append(error)
                    return
                answers.append("the ferry number 7" in [hit.text for hit in hits])

        threads = [threading.Thread(target=search, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for again in range(8):
            memory.reindex(vectors=bool(again % 2))
        done.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
    assert not troubles, troubles
    assert answers and all(answers)


def test_what_goes_into_the_index_during_a_search_is_found(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(1, message_id=f"s-{n}", content=f"the ferry number {n}") for n in range(6 * MAX_CATCH_UP_CHUNKS)]
    memory.ingest(write(tmp_path / "known.jsonl", lines[3 * MAX_CATCH_UP_CHUNKS :]))
    memory.ingest(write(tmp_path / "chat.jsonl", lines), wait=False)

    def then_drained(*asked: Any) -> Candidates:
        found = from_index(*asked)
        memory.embed_pending()
        return found

    monkeypatch.setattr("appliance.retrieval.legs.from_index", then_drained)
    assert "the ferry number 7" in [hit.text for hit in memory.search("ferry number 7", limit=300)]


def test_a_generation_that_begins_during_a_look_for_strays_keeps_its_files(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(write(tmp_path / "chat.jsonl", [line(1, content="the ferry leaves at six")]))
    home, database = memory.home, engine_of(memory)._database
    new: list[Path] = []

    def then_begun(db: sqlite3.Connection) -> list[Generation]:
        known = generation_states.stored(db)
        with database.write() as tx:
            begun = generation_states.begin(tx, "another", "another@1", 8, "building")
        new.append(home.index / f"g{begun.id}")
        new[-1].mkdir()
        return known

    looked = Mock(wraps=generation_states, stored=then_begun)
    monkeypatch.setattr("appliance.store.generations.generation_states", looked)
    generations.remove_orphaned_files(home, database)
    assert new[0].is_dir()


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_a_message_that_changes_while_its_chunks_are_fetched_keeps_text_and_digest_together(
    memory: Appliance, change: str
) -> None:
    session = memory.sessions.create()
    session.add("user", "the harbour at dawn", external_id="x")
    db = engine_of(memory)._database.read()

    class ChangingBetweenQueries:
        in_transaction = False

        def execute(self, query: str, values: Any = ()) -> sqlite3.Cursor:
            if query.startswith("SELECT id, text FROM message"):
                work = partial(session.add, "user", "edited", external_id="x") if change == "edit" else session.delete
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            return db.execute(query, values)

    (waiting,) = chunks.next_puts(cast(sqlite3.Connection, ChangingBetweenQueries()), 1, 10)
    assert waiting.text == "the harbour at dawn" and text_digest(str(waiting.passage)) == waiting.digest
    assert not db.in_transaction
