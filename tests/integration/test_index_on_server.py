"""A memory whose index is on a Qdrant server: what it owns there, what it leaves there, and what happens without it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import IndexUnavailable, StoreError
from appliance.store.index import nodes
from appliance_models import HashEmbedder
from tests import qdrant_server
from tests.engines import engine_of
from tests.people_exports import slack, write_exports
from tests.qdrant_server import QdrantServer

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1"]),
    pytest.mark.usefixtures("every_field_index"),
]

KEY = "a key"
SECRET = "the blue envelope lies under the third stair of the lighthouse"
KEPT = "the market opens at nine on Saturdays"
SAID = (KEPT, SECRET, "what a day it was at the harbour", "we leave for Lisbon on Thursday", "add a potato to the soup")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr(nodes, "RETRY_SECONDS", 0.0)  # a test does not wait until a node is tried again
    with qdrant_server.serving(nodes=2, api_key=KEY) as running:
        monkeypatch.setenv("APPLIANCE_INDEX_URL", running.url)
        monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", KEY)
        yield running


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return written(tmp_path / "chats.jsonl", SAID)


def written(path: Path, said: tuple[str, ...], session: str = "a") -> Path:
    lines = [
        {"session_id": session, "message_id": str(number), "role": "user", "content": text,
         "timestamp": f"2026-03-{number + 1:02}T10:00:00Z"}
        for number, text in enumerate(said)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def found(memory: Appliance, query: str) -> tuple[list[str], tuple[str, ...]]:
    hits = memory.search(query)
    return [hit.text for hit in hits.hits], hits.notes


def forgotten(memory: Appliance, words: str) -> Any:
    return memory.erasure.forget(memory.erasure.preview(query=words))


def test_a_memory_on_a_server_answers_as_one_in_its_folder(
    server: QdrantServer, home: Path, tmp_path: Path, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        remote = [memory.search(text).hits for text in (*SAID, "harbour", "stairs")]
        assert not memory.verify().problems
        status = memory.index.status()
    monkeypatch.delenv("APPLIANCE_INDEX_URL")
    with opened(tmp_path / "embedded") as memory:
        memory.ingest(chats)
        embedded = [memory.search(text).hits for text in (*SAID, "harbour", "stairs")]
    assert [[hit.text for hit in hits] for hits in remote] == [[hit.text for hit in hits] for hits in embedded]
    for one, other in zip(sum(remote, ()), sum(embedded, ()), strict=True):
        assert one.score == pytest.approx(other.score, abs=0.02)
    assert (status.points, status.expected, status.trouble) == (5, 5, "")
    assert server.collections() == [status.collection]


@pytest.mark.slow
def test_filters_by_person_tag_and_attachment_hold_on_a_server(
    server: QdrantServer, home: Path, tmp_path: Path
) -> None:
    exports = write_exports(tmp_path / "exports")
    for name, number in (("one", 1), ("two", 2)):
        slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name)
    assistant = written(tmp_path / "assistant.jsonl", (KEPT,))
    with opened(home) as memory:
        for path in (exports, tmp_path / "one", tmp_path / "two", assistant):
            memory.ingest(path)
        memory.embed_pending()
        ids = {one.value: person.id for person in memory.people.list() for one in person.identities if one.kind == "id"}
        launch, market, parrot = memory.search("launch", min_score=0, limit=50).hits[0], "market at nine", "the parrot"
        memory.sessions.get(launch.session_id).tag(["work"])

        def texts(query: str, **filters: Any) -> set[str]:
            return {hit.text for hit in memory.search(query, min_score=0, limit=50, mode="dense", **filters)}

        # Both are called Ben: only the sessions tell them apart.
        assert texts("launch", authors=[ids["T1/U1"]]) == {"Message of U1 about the launch"}
        assert texts("launch", authors=[ids["T1/U2"]]) == {"Message of U2 about the launch"}
        assert "Yes, the parrot is fine." in texts(parrot, authors=["me"])
        assert KEPT in texts(market, authors=["me"])
        assert KEPT not in texts(market, authors=["Mum"]) != set()
        assert texts(parrot, participants=["Mum", "me"]) == {
            "Did you feed the parrot on Sunday?", "Yes, the parrot is fine.", "And call the plumber, the sink drips.",
        }  # fmt: skip
        assert texts("anything", tags=["work"]) == {launch.text}
        assert texts("anything", has=["image"]) == set()


@pytest.mark.slow
def test_two_memories_on_one_server_do_not_meet(server: QdrantServer, tmp_path: Path) -> None:
    for name, said in (("one", KEPT), ("two", SECRET)):
        with opened(tmp_path / name) as memory:
            memory.ingest(written(tmp_path / f"{name}.jsonl", (said,)))
    for name, said in (("one", KEPT), ("two", SECRET)):
        with opened(tmp_path / name) as memory:
            assert not memory.verify().problems
            assert found(memory, "the")[0] == [said]
    assert len(server.collections()) == 2


# --- copies of a home --------------------------------------------------------------------------------


@pytest.fixture
def copied(server: QdrantServer, home: Path, tmp_path: Path, chats: Path) -> Path:
    """A copy of a home, which has used the collection since."""
    with opened(home) as memory:
        memory.ingest(chats)
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    with opened(copy) as memory:
        memory.ingest(written(tmp_path / "more.jsonl", ("only the copy has this one",), "b"))
    return copy


@pytest.mark.slow
def test_a_copy_that_used_the_collection_shuts_the_other_out_until_it_is_claimed(
    server: QdrantServer, home: Path, copied: Path
) -> None:
    with opened(home) as memory:
        texts, notes = found(memory, "lighthouse stair envelope")
        assert texts[0] == SECRET and any("Another copy" in note for note in notes)
        assert "Another copy" in memory.index.status().trouble
        (problem,) = memory.verify().problems
        assert problem.where == "index" and "Another copy" in problem.message
        memory.index.claim()
        assert not memory.verify().problems and not found(memory, "lighthouse stair envelope")[1]
    with opened(copied) as memory:
        assert "Another copy" in memory.index.status().trouble
    assert len(server.collections()) == 1


def test_a_copy_can_have_a_collection_of_its_own(server: QdrantServer, home: Path, copied: Path) -> None:
    with opened(home) as memory:
        memory.index.claim(new=True)
        assert not memory.verify().problems
    with opened(copied) as memory:
        assert not memory.verify().problems
    assert len(server.collections()) == 2


def test_a_memory_that_is_open_while_its_copy_takes_over_writes_no_more(
    server: QdrantServer, home: Path, tmp_path: Path, chats: Path
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        copy = tmp_path / "copy"
        shutil.copytree(home, copy, ignore=shutil.ignore_patterns("lock", "socket"))
        (collection,) = server.collections()
        with opened(copy) as other:
            assert not other.verify().problems
            present = server.ids(collection)
            report = memory.ingest(written(tmp_path / "more.jsonl", ("a message that only the original has",), "b"))
            assert report.pending == 1 and server.ids(collection) == present
            assert not other.verify().problems


# --- what is left behind -----------------------------------------------------------------------------


def test_forgetting_deletes_the_points_and_looks_at_all_that_are_left(
    server: QdrantServer, home: Path, chats: Path
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        (collection,) = server.collections()
        before, puts = server.ids(collection), len(server.asked("PUT /collections/{}/points"))
        receipt = forgotten(memory, "envelope")
        assert receipt.state == "done"
        assert (receipt.proof.collections, receipt.proof.points, receipt.proof.awaits_server) == (1, 4, False)
        assert len(before - server.ids(collection)) == 1
        # Only what the neighbours of the forgotten message say of it is put again.
        assert sum(len(one.body["points"]) for one in server.asked("PUT /collections/{}/points")[puts:]) <= 4
        assert memory.erasure.receipts()[0].proof.points == 4
        assert not memory.verify().problems


@pytest.mark.slow
def test_forgetting_drops_the_collection_of_an_earlier_prefix(
    server: QdrantServer, home: Path, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
    monkeypatch.setenv("APPLIANCE_INDEX_PREFIX", "other")
    with opened(home) as memory:
        memory.embed_pending()
        assert len(server.collections()) == 2 and len(memory.index.status().unused) == 1
        assert forgotten(memory, "envelope").proof.dropped_collections == 1
        (left,) = server.collections()
        assert left.startswith("other-") and not memory.index.status().unused and not memory.verify().problems


def test_a_point_that_the_database_does_not_know_goes_too(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        (collection,) = server.collections()
        stray = server.store.retrieve(collection, [1], with_vectors=True)[0]
        from qdrant_client import models

        server.store.upsert(collection, [models.PointStruct(id=777, vector=stray.vector, payload=stray.payload)])  # type: ignore[arg-type]
        assert "777" in memory.verify().problems[0].message
        forgotten(memory, "envelope")
        assert 777 not in server.ids(collection) and not memory.verify().problems


def test_reindexing_makes_the_collection_anew(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        (collection,) = server.collections()
        server.store.delete(collection, [1])
        assert memory.verify().problems
        memory.reindex()
        assert not memory.verify().problems and server.collections() == [collection]
        server.stop()
        with pytest.raises(IndexUnavailable):
            memory.reindex()


def test_forgetting_while_the_server_is_away_is_finished_when_it_is_back(
    server: QdrantServer, home: Path, chats: Path
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        (collection,) = server.collections()
        server.stop()
        receipt = forgotten(memory, "envelope")
        assert receipt.state == "open" and receipt.proof.awaits_server and receipt.proof.searched
        assert not (home / "erasing").exists()
        assert len(server.ids(collection)) == 5
        memory.run_pending_jobs()
        assert memory.erasure.receipts()[0].state == "open"
        assert "envelope" not in " ".join(one["content"] for one in memory.export())
        server.start()
        memory.run_pending_jobs()
        (receipt,) = memory.erasure.receipts()
        assert receipt.state == "done" and (receipt.proof.points, receipt.proof.awaits_server) == (4, False)
        assert len(server.ids(collection)) == 4 and not memory.verify().problems


def test_a_generation_takes_its_collection_with_it(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        (old,) = server.collections()
        memory.reindex(vectors=True)
        (new,) = server.collections()
        assert new != old and not memory.verify().problems


def test_a_collection_that_could_not_be_dropped_is_dropped_later(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        for node in server.nodes:
            node.fault = lambda request: 503 if request.what.startswith("DELETE") else None
        memory.reindex(vectors=True)
        assert len(server.collections()) == 2
        for node in server.nodes:
            node.fault = lambda request: None
        memory.run_pending_jobs()
        assert len(server.collections()) == 1 and not memory.verify().problems


def test_a_collection_that_has_lost_points_is_filled_again_at_the_next_opening(
    server: QdrantServer, home: Path, chats: Path
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
    (collection,) = server.collections()
    server.store.delete(collection, [1, 2])
    with opened(home) as memory:
        memory.embed_pending()
        assert not memory.verify().problems
    server.store.delete_collection(collection)
    with opened(home) as memory:
        memory.embed_pending()
        assert not memory.verify().problems


# --- without the server ------------------------------------------------------------------------------


def test_without_its_server_a_memory_answers_from_words_at_once_and_catches_up(
    server: QdrantServer, home: Path, tmp_path: Path, chats: Path
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        server.stop()
        texts, notes = found(memory, "lighthouse stair envelope")
        assert texts[0] == SECRET and any("does not answer" in note for note in notes)
        report = memory.ingest(written(tmp_path / "more.jsonl", ("the ferry leaves at noon",), "b"))
        assert report.pending == 1
        assert found(memory, "ferry noon")[0][0] == "the ferry leaves at noon"
        status = memory.status()
        assert "does not answer" in status["health"] == status["troubles"][0]
        assert status["troubles"][1:] == ["1 chunk waits for its vector until the index can be used"]
        (problem,) = memory.verify().problems
        assert problem.where == "index" and "does not answer" in problem.message
        with pytest.raises(StoreError, match="found by their words"):
            memory.embed_pending()
        server.start()
        memory.embed_pending()
        assert not found(memory, "ferry noon")[1] and not memory.verify().problems


def test_opening_without_the_server_takes_no_time(
    server: QdrantServer, home: Path, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
    server.stop()
    with opened(home) as memory:
        memory.search("warm")
        began = time.monotonic()
        assert found(memory, "lighthouse stair envelope")[0][0] == SECRET
        assert time.monotonic() - began < 1


def test_a_search_goes_on_when_a_node_stops_in_the_middle(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        server.nodes[0].is_away = True
        texts, notes = found(memory, "lighthouse stair envelope")
        assert texts[0] == SECRET and not notes


def test_background_jobs_go_on_without_the_server(server: QdrantServer, home: Path, chats: Path) -> None:
    with opened(home) as memory:
        memory.ingest(chats)
        server.stop()
        for job in engine_of(memory)._jobs():
            job(lambda: True)
        memory.summaries.make("s1")
        with pytest.raises(IndexUnavailable):
            memory.index.claim()
