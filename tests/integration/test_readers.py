"""Reader processes: they find what the daemon itself finds, see every write, never what was erased, and may die."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine import reader_frames
from appliance.engine.engine import Engine
from appliance.engine.reader_frames import CallResult
from appliance.engine.reader_pool import MAX_USUAL_READERS, ReaderProcess, usual_readers
from appliance.errors import IndexUnavailable
from appliance.retrieval import pipeline
from appliance.retrieval.resources import EmbeddedQuery, Page, SearchQuery, SearchResources
from appliance.retrieval.weights import BUILT_IN, LEGS
from appliance.runtime.admission import FairSemaphore
from appliance.store.database import open_for_reading
from appliance.store.index.protocol import ScoredPoint
from appliance.types import Filters, Hits, Scope
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.server.daemons import filled
from tests.waits import until

PAGE = Page(20, count=True)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
OWNER = Scope("me", "default")
QUESTIONS = (
    "ferry to Ischia", "who is Rosa", '"sourdough starter"', "storm in February 2026", "sterm harbour mastr",
    "grams", "",
)  # fmt: skip


def of(text: str, **filters: Any) -> SearchQuery:
    return SearchQuery(text, Filters(OWNER, **filters), BUILT_IN["evidence"], frozenset(LEGS), "hybrid", NOW)


@contextmanager
def opened(home: Path, readers: int = 0) -> Iterator[tuple[Appliance, Engine]]:
    with Appliance.open(home, worker=False) as memory:
        engine = engine_of(memory)
        engine.readers.allow(readers)
        yield memory, engine


@contextmanager
def searching_here(engine: Engine) -> Iterator[None]:
    """Within it, a search runs in this process: others go to readers."""
    begun, may_end = threading.Event(), threading.Event()

    def embed(text: str) -> EmbeddedQuery:
        begun.set()
        may_end.wait()
        raise IndexUnavailable("enough")

    def run() -> None:
        with engine._index_service.search_resources(dense=True) as resources:
            assert resources is not None
            engine.readers.search(replace(resources, embed=embed), of("anything"), Page(1))

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def in_reader(reader: ReaderProcess, resources: SearchResources, query: SearchQuery) -> Hits:
    found = reader.search(resources, query, PAGE)
    assert found is not None
    return replace(found.hits, took_ms=0.0)


@pytest.mark.slow
def test_a_reader_finds_exactly_what_the_owner_finds(home: Path) -> None:
    filled(home)
    queries = [*map(of, QUESTIONS), of("ferry", roles=("assistant",)), replace(of("grams"), lists_all=True)]
    with opened(home) as (memory, engine):
        reader = ReaderProcess(engine.home.database)
        try:
            assert reader.is_ready()
            for archived in ("never", "if needed", "always"):
                with engine._index_service.search_resources(dense=True) as resources:
                    assert resources is not None and (resources.archive is not None) == (archived != "never")
                    for query in (replace(one, archived=archived) for one in queries):
                        here = pipeline.search(resources, query, PAGE)
                        assert in_reader(reader, resources, query) == replace(here, took_ms=0.0), query
                    away = replace(resources, index=_AwayIndex())
                    assert in_reader(reader, away, of("ferry")).notes == pipeline.search(away, of("ferry"), PAGE).notes
                memory.archive.run(importance=1.0)
            reader._tasks.close()  # as when the owner is gone
            until(reader.has_ended)
        finally:
            reader.close()


class _AwayIndex:
    """An index whose server does not answer."""

    def search(self, *_: object) -> None:
        raise IndexUnavailable("The server is away.", hint="Start it.")

    score = count = search


@pytest.mark.slow
def test_readers_see_writes_never_what_is_erased_and_are_replaced_when_they_die(home: Path) -> None:
    filled(home)
    with opened(home, readers=1) as (memory, engine):

        def ids(text: str) -> list[str]:
            """What a search finds, in a reader if there is one."""
            before = [one.used_at for one in engine.readers._all]
            found = [hit.message_id for hit in memory.search(text)]
            assert not before or before != [one.used_at for one in engine.readers._all]
            return found

        def another(than: int) -> int:
            until(lambda: memory.search("ferry") and engine.readers.pids not in ([], [than]), "a reader")
            return engine.readers.pids[0]

        assert ids("ferry") and not engine.readers.pids, "a search that runs alone needs none"
        with searching_here(engine):
            first = another(0)
            secret = memory.sessions.create(title="later").add("user", "The otters of Skye sleep at noon.").id
            assert secret in ids("otters of Skye")
        memory.erasure.forget(memory.erasure.preview(secret))
        with searching_here(engine):
            assert secret not in ids("otters of Skye") and "otters" not in repr(memory.search("otters of Skye").hits)
            assert engine.readers.pids == [first]
            os.kill(first, signal.SIGKILL)
            assert memory.search("ferry"), "this process searches where a reader is dead"
            second = another(first)
            assert ids("ferry")
        stages = engine.recorder.search["candidates"].histogram().count
        assert stages >= engine.recorder.search["whole"].histogram().count
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


@pytest.mark.slow
def test_an_erasure_waits_for_a_search_in_a_reader_whose_death_costs_no_answer(home: Path) -> None:
    filled(home)
    with opened(home, readers=1) as (memory, engine), ThreadPoolExecutor(2) as threads:
        with searching_here(engine):
            until(lambda: memory.search("ferry") and engine.readers.pids, "a reader")
            begun, may_go_on = threading.Event(), threading.Event()

            def search_slowly() -> Hits:
                with engine._index_service.search_resources(dense=True) as resources:
                    assert resources is not None and resources.embed is not None
                    embed = resources.embed

                    def slowly(text: str) -> EmbeddedQuery:
                        begun.set()
                        may_go_on.wait()
                        return embed(text)

                    return engine.readers.search(replace(resources, embed=slowly), of("ferry"), Page(5))

            running = threads.submit(search_slowly)
            begun.wait()
        preview = memory.erasure.preview(query="ferry")
        erasing = threads.submit(memory.erasure.forget, preview)
        until(lambda: not memory.erasure.preview(query="ferry").messages, "the messages are gone")
        assert not erasing.done(), "the files are rewritten when no search reads them"
        os.kill(engine.readers.pids[0], signal.SIGKILL)
        may_go_on.set()
        assert not running.result().hits, "it ends here, and finds nothing that is erased"
        assert erasing.result().messages == len(preview.messages)


def test_points_and_tokens_pass_unchanged() -> None:
    points = [[ScoredPoint(7, 0.1 + 0.2), ScoredPoint(1 << 40, 1e-300)], []]
    assert reader_frames.unpack_points(reader_frames.pack_points(points)) == points
    vectors = HashEmbedder().embed_passages(["a", "b c"]).astype("int8")
    tokens = {3: vectors[:1], 9: vectors}
    passed = reader_frames.unpack_tokens(reader_frames.pack_tokens(tokens))
    assert [(key, one.tolist()) for key, one in passed.items()] == [(key, one.tolist()) for key, one in tokens.items()]
    assert reader_frames.unpack_tokens(reader_frames.pack_tokens({})) == {}


def test_a_frame_that_breaks_off_is_none(tmp_path: Path) -> None:
    whole = tmp_path / "frames"
    with whole.open("wb") as stream:
        reader_frames.write(stream, CallResult(error=IndexUnavailable("away", where="here", hint="wait")))
    with whole.open("rb") as stream:
        read = reader_frames.read(stream)
        assert isinstance(read, CallResult) and read.error is not None and read.error.hint == "wait"
        assert reader_frames.read(stream) is None
    whole.write_bytes(whole.read_bytes()[:-1])
    with whole.open("rb") as stream:
        assert reader_frames.read(stream) is None


def test_a_reader_can_change_nothing(memory: Appliance) -> None:
    memory.sessions.create(title="kept")
    db = open_for_reading(engine_of(memory).home.database)
    with pytest.raises(Exception, match="readonly"):
        db.execute("DELETE FROM session")
    db.close()


def test_how_many_readers_a_daemon_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, readers in ((1, 0), (2, 1), (3, 2), (64, MAX_USUAL_READERS)):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, processors=processors: set(range(processors)), raising=False
        )
        assert usual_readers() == readers


def test_a_larger_semaphore_lets_in_who_waits() -> None:
    seats, begun = FairSemaphore(1), threading.Event()

    def sit() -> None:
        with seats.acquired():
            begun.set()

    with seats.acquired():
        thread = threading.Thread(target=sit)
        thread.start()
        until(lambda: seats._waiters, "one who waits")
        seats.resize(1)
        begun.wait()
        thread.join()
    with seats.acquired(), seats.acquired():
        pass
