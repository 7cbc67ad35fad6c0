"""The index moves to a server and back while the memory is in use, and an interrupted move has changed nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance, config, paths
from appliance.engine import index_move
from appliance.engine.index_location import IndexLocation
from appliance.errors import ApplianceError, IndexUnavailable, StoreError, UsageError
from appliance.store import server_collections
from appliance.store.index import nodes
from appliance_models import HashEmbedder
from tests import qdrant_server
from tests.engines import engine_of
from tests.qdrant_server import LoggedRequest, QdrantServer

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1"]),
    pytest.mark.usefixtures("every_field_index"),
]

MESSAGES = 60


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr(nodes, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(index_move, "PAGE_POINTS", 7)
    monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", "a key")
    with qdrant_server.serving(api_key="a key") as running:
        yield running


class CountingEmbedder(HashEmbedder):
    passages = 0

    def embed_passages(self, texts: Sequence[str], *args: Any, **kwargs: Any) -> NDArray[np.float32]:
        type(self).passages += len(texts)
        found: NDArray[np.float32] = super().embed_passages(texts, *args, **kwargs)
        return found


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=CountingEmbedder())


def said(number: int) -> str:
    return f"message {number} is about the harbour of town {number * 7919}"


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        session = memory.sessions.create()
        for number in range(MESSAGES):
            session.add("user", said(number))
        memory.embed_pending()
        yield memory


def answers(memory: Appliance) -> list[list[str]]:
    found = [memory.search(query) for query in ("harbour", said(3), said(40))]
    assert not [note for hits in found for note in hits.notes]
    return [[hit.text for hit in hits.hits] for hits in found]


def test_the_index_moves_to_a_server_and_back_without_embedding_anything(
    server: QdrantServer, memory: Appliance, home: Path
) -> None:
    before = answers(memory)
    memory.embed_pending()
    embedded, steps = CountingEmbedder.passages, []
    status = memory.index.move(server.url, progress=lambda done, left: steps.append(done))
    assert (status.place, status.points, status.unused) == (server.url, MESSAGES, ())
    assert answers(memory) == before and not memory.verify().problems
    assert steps == sorted(steps) and steps[-1] == MESSAGES
    assert config.load(paths.find_home(home)).index.url == server.url
    assert not (home / "index" / "g1").exists()
    status = memory.index.move("embedded")
    assert (status.place, status.unused) == ("embedded", ())
    assert answers(memory) == before and not memory.verify().problems
    assert config.load(paths.find_home(home)).index.url == "" and server.collections() == []
    assert CountingEmbedder.passages == embedded


def test_the_place_is_kept_when_the_memory_is_opened_again(server: QdrantServer, home: Path, memory: Appliance) -> None:
    memory.index.move(server.url)
    memory.close()
    with opened(home) as again:
        assert again.index.status().place == server.url
        assert not again.verify().problems


@pytest.mark.slow
def test_searches_and_new_messages_go_on_while_the_index_moves(server: QdrantServer, memory: Appliance) -> None:
    stopping, errors, added = threading.Event(), [], []
    session = memory.sessions.create()

    def search() -> None:
        number = 0
        while not stopping.is_set():
            number = (number + 1) % MESSAGES
            try:
                hits = memory.search(said(number))
                notes = [note for note in hits.notes if "for the index" not in note]  # the messages that are added
                if notes or hits.hits[0].text != said(number):
                    errors.append((notes, hits.hits[0].text))
            except ApplianceError as error:
                errors.append(error)

    def add() -> None:
        while not stopping.is_set():
            text = said(1000 + len(added))
            session.add("user", text)
            added.append(text)
            memory.embed_pending()

    threads = [threading.Thread(target=target) for target in (search, add)]
    for thread in threads:
        thread.start()
    try:
        memory.index.move(server.url)
        memory.index.move("embedded")
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert not errors and len(added) > 3
    memory.embed_pending()
    assert not memory.verify().problems and server.collections() == []
    assert memory.search(added[-1]).hits[0].text == added[-1]


def test_messages_that_are_deleted_while_the_index_moves_are_not_in_the_target(
    server: QdrantServer, memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.sessions.create()
    session.add("user", "this one goes while the index moves")
    memory.embed_pending()
    copied = index_move.IndexMoveService._copy

    def delete_then_copy(self: Any, generation: Any, target: Any, ids: Sequence[int]) -> None:
        copied(self, generation, target, ids)
        if not ids and session.info.messages:
            session.clear()

    monkeypatch.setattr(index_move.IndexMoveService, "_copy", delete_then_copy)
    memory.index.move(server.url)
    (collection,) = server.collections()
    memory.embed_pending()
    assert len(server.ids(collection)) == MESSAGES and not memory.verify().problems


def test_a_move_that_fails_leaves_the_old_index_and_nothing_at_the_target(
    server: QdrantServer, memory: Appliance, home: Path
) -> None:
    before = answers(memory)
    puts = "PUT /collections/{}/points"

    def fails_later(request: LoggedRequest) -> int | None:
        return 500 if request.what == puts and len(server.asked(puts)) > 3 else None

    server.nodes[0].fault = fails_later
    with pytest.raises(IndexUnavailable):
        memory.index.move(server.url)
    assert server.collections() == [] and memory.index.status().place == "embedded"
    assert answers(memory) == before and not memory.verify().problems
    assert not (home / "config.toml").exists()
    memory.sessions.create().add("user", "said after the failed move")
    memory.embed_pending()
    assert not memory.verify().problems


def test_what_a_killed_move_leaves_on_a_server_is_dropped_at_the_next_opening(
    server: QdrantServer, memory: Appliance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(memory)
    settings = engine.index._target_settings(server.url)
    generation = engine._index_service.serving.current()
    assert generation is not None
    target = engine.index._begin_target(generation, IndexLocation(settings))
    target.upsert(list(index_move._points(engine._database.read(), engine._index_service.serving.open(), [1, 2, 3])))  # type: ignore[arg-type]
    memory.close()  # nothing else of the move has happened: as if the process had been killed here
    assert len(server.collections()) == 1
    with opened(home) as again:
        assert not again.search("harbour").notes
        assert server.collections() == [] and again.index.status().place == "embedded"
        assert again.index.move(server.url).points == MESSAGES


def test_a_move_to_a_server_that_is_away_or_refuses_the_key_changes_nothing(
    server: QdrantServer, memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", "a wrong key")
    with pytest.raises(IndexUnavailable, match="refuses the key"):
        memory.index.move(server.url)
    monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", "a key")
    server.stop()
    with pytest.raises(IndexUnavailable, match="does not answer"):
        memory.index.move(server.url)
    assert memory.index.status().place == "embedded" and not memory.verify().problems


@pytest.mark.slow
def test_the_index_comes_home_from_a_server_that_is_gone_and_its_collection_goes_when_it_is_back(
    server: QdrantServer, memory: Appliance
) -> None:
    before = answers(memory)
    memory.index.move(server.url)
    server.stop()
    status = memory.index.move("embedded")
    assert status.place == "embedded" and len(status.unused) == 1
    assert answers(memory) == before and not memory.verify().problems
    server.start()
    memory.run_pending_jobs()
    assert server.collections() == [] and not memory.index.status().unused


def test_the_index_moves_from_server_to_server(server: QdrantServer, memory: Appliance) -> None:
    before = answers(memory)
    with qdrant_server.serving(api_key="a key") as other:
        memory.index.move(server.url)
        memory.index.move(other.url)
        assert server.collections() == [] and len(other.collections()) == 1
        assert answers(memory) == before and not memory.verify().problems
        memory.index.move(server.url)
        assert other.collections() == []


@pytest.mark.parametrize(
    ("target", "says"), [("embedded", "already"), ("nonsense", "http://"), ("", "no URL"), ("http://a:b@c", "api_key")]
)
def test_a_wrong_target_is_an_error(server: QdrantServer, memory: Appliance, target: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        memory.index.move(target)


def test_a_variable_that_says_where_the_index_is_can_not_be_moved_away_from(
    server: QdrantServer, memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_INDEX_URL", "")
    with pytest.raises(UsageError, match="APPLIANCE_INDEX_URL"):
        memory.index.move(server.url)


def test_the_index_stays_while_vectors_of_another_generation_are_made(server: QdrantServer, memory: Appliance) -> None:
    with engine_of(memory)._index_service.no_build(), pytest.raises(StoreError, match="another generation"):
        memory.index.move(server.url)
    assert memory.index.move(server.url).place == server.url


@pytest.mark.slow
def test_an_attached_program_moves_and_claims_the_index_of_its_owner(
    server: QdrantServer, memory: Appliance, home: Path
) -> None:
    with opened(home) as attached:
        assert attached.is_attached
        assert attached.index.move(server.url).points == MESSAGES
        (collection,) = server.collections()
        server.store.update_collection(collection, metadata={"token": "a copy's"})
        status = attached.index.status()
        assert "Another copy" in status.trouble
        assert attached.index.claim().trouble == ""
    assert not memory.verify().problems


def test_an_empty_memory_moves_too(server: QdrantServer, home: Path) -> None:
    with opened(home) as memory:
        assert memory.index.move(server.url).place == server.url
        memory.sessions.create().add("user", "the first message")
        memory.embed_pending()
        assert len(server.collections()) == 1 and not memory.verify().problems


def test_a_copy_of_a_home_does_not_drop_the_collection_of_the_original(
    server: QdrantServer, memory: Appliance, home: Path, tmp_path: Path
) -> None:
    import shutil

    memory.index.move(server.url)
    memory.close()
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    with opened(home) as original:
        original.search("harbour")  # the token is the original's from now on
        with opened(copy) as other:
            other.index.move("embedded")
            assert not other.verify().problems
            assert not server_collections.held(engine_of(other)._database.read())
        assert not original.verify().problems
