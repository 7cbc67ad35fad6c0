"""Many at once: readers and writers beside an ingest, a rebuild and a forgetting; closing while questions run; one
owner; and questions first."""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance
from appliance.errors import HomeLocked, StoreError
from appliance.requests import EventsRequest
from appliance.runtime import admission
from appliance.runtime.admission import MAX_YIELD_SECONDS, AdmissionControl, FairSemaphore
from appliance.runtime.events import MAX_QUEUED_EVENTS, EventBus
from appliance.subscriptions import Events
from appliance.transports.memory import MemoryTransport
from appliance.types import Event
from appliance_models import HashEmbedder
from tests import forked_programs, waits
from tests.engines import engine_of
from tests.waits import PATIENCE, until

READERS, WRITERS = 8, 2
WORDS = "harbour crane winter oil ledger keeper boathouse heron tide lantern".split()


def export(path: Path, mark: str, count: int) -> Path:
    lines = (
        {
            "session_id": f"{mark}-{number // 20}",
            "message_id": f"{mark}-{number}",
            "role": "user" if number % 2 else "assistant",
            "timestamp": f"2025-01-{1 + number % 28:02}T10:00:00Z",
            "content": f"{WORDS[number % 10]} {WORDS[number // 10 % 10]} of {mark} number {number}",
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def all_of(*works: Callable[[], object]) -> None:
    """Run each on a thread of its own; the first error of any is raised."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


@pytest.mark.slow
def test_readers_and_writers_beside_an_ingest_a_rebuild_and_a_forgetting(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        memory.ingest(export(tmp_path / "first.jsonl", "first", 200))
        ended = threading.Event()
        asked = [0] * READERS

        def reader(number: int) -> Callable[[], None]:
            def read() -> None:
                while not ended.is_set():
                    word = WORDS[(number + asked[number]) % 10]
                    assert memory.search(word), word
                    if asked[number] % 5 == 0:
                        assert memory.context(word, budget=500).tokens <= 500
                    asked[number] += 1

            return read

        def writer(number: int) -> Callable[[], None]:
            def write() -> None:
                session = memory.sessions.create(title=f"Writer {number}")
                turn = 0
                while not ended.is_set() or turn < 10:
                    said = session.add("user", f"keepsake{number}x{turn} lies in drawer {turn}")
                    found = memory.search(f"where is keepsake{number}x{turn}?")
                    assert said.id in [hit.message_id for hit in found], "one's own words are found at once"
                    turn += 1

            return write

        def upheaval() -> None:
            try:
                memory.ingest(export(tmp_path / "second.jsonl", "second", 600))
                memory.reindex()
                memory.erasure.forget(memory.erasure.preview("first-0"))
                memory.ingest(export(tmp_path / "third.jsonl", "third", 300), wait=False)
            finally:
                ended.set()

        all_of(upheaval, *(reader(n) for n in range(READERS)), *(writer(n) for n in range(WRITERS)))
        assert min(asked) > 0
        memory.embed_pending()
        assert not memory.verify().problems
        counts = memory.status()["counts"]
        assert counts["pending"] == 0 and counts["messages"] >= 200 + 600 + 300 - 20 + 2 * 10


def test_what_was_just_said_is_found_by_meaning_while_much_waits(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(export(tmp_path / "much.jsonl", "much", 300), wait=False)
    said = memory.sessions.create().add("user", "the lighthouse is green")
    hit = next(hit for hit in memory.search("lighthouse green") if hit.message_id == said.id)
    assert "dense" in hit.why["legs"] and hit.why["legs"]["dense"]["score"] > 0.5
    assert memory.status()["counts"]["pending"] == 301, "a search beside so much puts nothing into the index"


def test_a_wait_ends_while_others_add(memory: Appliance, tmp_path: Path) -> None:
    """Each time that something has been embedded there is more: who waits, waits for what was there when they began."""
    busy, numbers = memory.sessions.create(), itertools.count()

    def add(*progress: int) -> None:
        busy.add("user", f"turn {(number := next(numbers))} of the harbour crane")
        assert number < 50, "it waits for what came after it"

    memory.ingest(export(tmp_path / "first.jsonl", "first", 100), on_embedded=add)
    assert memory.embed_pending(add) > 0
    memory.reindex(progress=add)
    receipt = memory.erasure.forget(memory.erasure.preview("first-0"), add)
    assert receipt.proof.searched and memory.status()["counts"]["pending"] > 0
    memory.embed_pending()
    assert memory.status()["counts"]["pending"] == 0 and not memory.verify().problems


class SlowEmbedder(HashEmbedder):
    """Takes its time with passages, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def embed_passages(self, texts: list[str]) -> NDArray[np.float32]:  # type: ignore[override]
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return super().embed_passages(texts)


def test_a_search_does_not_wait_for_a_batch(home: Path, tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    with Appliance.open(home, embedder=embedder) as memory:
        try:
            memory.ingest(export(tmp_path / "few.jsonl", "few", 30), wait=False)
            assert embedder.begun.wait(PATIENCE)
            hits = memory.search("number 7")  # the batch does not end before it is told to
            assert hits and any("wait for the index" in note for note in hits.notes)
        finally:
            embedder.go_on.set()


# --- closing ----------------------------------------------------------------------------------------------


def test_closing_while_questions_run_answers_them_or_says_so(home: Path, tmp_path: Path) -> None:
    memory = Appliance.open(home, embedder=HashEmbedder())
    memory.ingest(export(tmp_path / "chat.jsonl", "chat", 400), wait=False)
    answered, refused = [0] * READERS, [""] * READERS

    def reader(number: int) -> Callable[[], None]:
        def read() -> None:
            session = memory.sessions.create()
            try:
                while True:
                    assert memory.search(WORDS[number])
                    memory.context(WORDS[number], budget=500)
                    memory.status()
                    session.messages()
                    session.add("user", "one more")
                    answered[number] += 1
            except StoreError as error:
                refused[number] = str(error)

        return read

    def close() -> None:
        try:
            until(lambda: min(answered) >= 2 or any(refused), "two answers to each")
        finally:
            memory.close()

    all_of(close, *(reader(n) for n in range(READERS)))
    assert min(answered) >= 2 and all("closed" in words for words in refused), refused
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        again.embed_pending()
        assert not again.verify().problems


READ_WHILE_CLOSING = """
import sys, threading, time
from pathlib import Path
from appliance.errors import StoreError
from appliance.store.database import Database

def read():
    ready.wait()
    try:
        while True:
            list(database.read().execute("SELECT a, b FROM rows ORDER BY b"))
            database.read().execute("SELECT count(*) FROM rows WHERE b LIKE '%9%'").fetchone()
    except StoreError as error:
        refused.append(str(error))

for round in range(8):
    database = Database(Path(sys.argv[1]) / f"{round}.db")
    with database.write() as tx:
        tx.execute("CREATE TABLE rows (a, b)")
        tx.executemany("INSERT INTO rows VALUES (?, ?)", ((n, f"words {n}") for n in range(2_000)))
    ready, refused = threading.Barrier(9), []
    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    ready.wait()
    time.sleep(0.03)  # in the middle of their reading
    database.close()
    for thread in threads:
        thread.join()
    assert len(refused) == 8 and all("closed" in words for words in refused), refused
"""


@pytest.mark.slow
def test_a_database_is_closed_under_its_readers(tmp_path: Path) -> None:
    """SQLite ends the process when a connection is closed within a call of it: seven of eight runs, once."""
    forked_programs.run([sys.executable, "-c", READ_WHILE_CLOSING, str(tmp_path)], check=True, timeout=120)


def test_what_is_closed_says_so(memory: Appliance) -> None:
    memory.close()
    for ask in (lambda: memory.search("anything"), lambda: memory.context("anything"), memory.status):
        with pytest.raises(StoreError, match="closed"):
            ask()
    with pytest.raises(StoreError, match="closed"):
        memory.sessions.create()


@pytest.mark.slow
def test_a_second_owner_is_refused_by_the_name_of_the_first(home: Path) -> None:
    with Appliance.open(home, embedder=HashEmbedder(), purpose="the first one"):
        code = "import sys; from appliance.engine.engine import Engine; Engine.open(sys.argv[1])"
        done = forked_programs.run(
            [sys.executable, "-c", code, str(home)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode != 0
    assert HomeLocked.__name__ in done.stderr
    assert "the first one" in done.stderr and str(os.getpid()) in done.stderr


def test_connections_go_with_their_threads(memory: Appliance) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("the system does not list open files")
    memory.sessions.create().add("user", "hello harbour")
    memory.search("harbour")

    def opened() -> int:
        database = os.path.realpath(memory.home.database)
        return sum(os.path.realpath(one) == database for one in descriptors.iterdir())

    for _ in range(20):
        all_of(lambda: memory.search("harbour"))
    assert 1 <= opened() <= 4, "the writer's, this thread's, and those of the last two"


# --- questions first --------------------------------------------------------------------------------------


def test_work_makes_way_while_somebody_asks_and_goes_on_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_YIELD_SECONDS", waits.PATIENCE)
    gate, passed = AdmissionControl(), threading.Event()
    with gate.running_query():
        worker = threading.Thread(target=lambda: (gate.yield_to_queries(), passed.set()))
        worker.start()
        assert not passed.wait(0.05), "it waits"
        assert not gate.is_idle()
    assert passed.wait(waits.PATIENCE)
    worker.join()


def test_work_is_never_starved() -> None:
    gate = AdmissionControl()
    with gate.running_query():
        began = time.monotonic()
        for _ in range(3):  # it comes to an end, though the question never does
            gate.yield_to_queries()
            time.sleep(0.02)  # a step, longer than its turn
        assert time.monotonic() - began > 2 * MAX_YIELD_SECONDS


def test_who_waits_for_work_is_not_waited_for() -> None:
    gate, done = AdmissionControl(), threading.Event()

    def work() -> None:
        for _ in range(200):  # ten seconds, if it made way each time
            gate.yield_to_queries()
        done.set()

    with gate.running_query(), gate.suspend_yielding():
        worker = threading.Thread(target=work)
        worker.start()
        assert done.wait(5)
        worker.join()


def test_a_closed_gate_lets_those_end_who_ask() -> None:
    gate, closed = AdmissionControl(), threading.Event()
    with gate.running_query():
        closer = threading.Thread(target=lambda: (gate.close(), closed.set()))
        closer.start()
        assert not closed.wait(0.05)
        with gate.running_query():  # a context looks something up
            pass
    assert closed.wait(PATIENCE)
    closer.join()
    with pytest.raises(StoreError, match="closed"), gate.running_query():
        pass


# --- events -----------------------------------------------------------------------------------------------


def test_a_listener_that_raises_is_told_on_and_hurts_nobody(memory: Appliance) -> None:
    seen: list[str] = []

    def raises(event: Event) -> None:
        seen.append(event.kind)
        raise RuntimeError("not today")

    told: list[Event] = []
    memory.events.listen(raises)
    memory.events.listen(told.append)
    session = memory.sessions.create()
    session.add("user", "my heron is called Ada")
    memory.embed_pending()
    session.delete()
    engine_of(memory).events.flush()
    assert [event.kind for event in told] == ["ingested", "embedded", "deleted"] == seen
    assert told[0].about == session.id == told[2].about
    assert told[1].detail == {"chunks": 1, "pending": 0}
    assert told[2].detail == {"messages": 1, "sessions": 1}
    assert "heron" not in str(told)


def test_a_file_and_a_forgetting_are_told_with_counts(memory: Appliance, tmp_path: Path) -> None:
    told: list[Event] = []
    end = memory.events.listen(told.append)
    file = export(tmp_path / "chat.jsonl", "chat", 20)
    memory.ingest(file)
    memory.ingest(file)
    memory.erasure.forget(memory.erasure.preview("chat-3"))
    end()
    ingested = [event for event in told if event.kind == "ingested"]
    assert [(event.about, event.detail["new"], event.detail["duplicates"]) for event in ingested] == [
        (str(file), 20, 0),
        (str(file), 0, 20),
    ]
    forgotten = [event for event in told if event.kind == "forgotten"]
    assert [event.detail["messages"] for event in forgotten] == [1]
    memory.sessions.create().add("user", "nobody listens any more")
    engine_of(memory).events.flush()
    assert not any(event.about.startswith("s") for event in told if event.kind == "ingested")


def test_a_slow_listener_blocks_nobody_and_hears_what_it_missed() -> None:
    bus, go_on, told = EventBus(), threading.Event(), list[Event]()
    events = Events(MemoryTransport({EventsRequest: lambda request: bus.subscribe()}))

    def slow(event: Event) -> None:
        assert go_on.wait(PATIENCE)
        told.append(event)

    end = events.listen(slow)
    more = 50
    for number in range(MAX_QUEUED_EVENTS + more):
        bus.publish(Event("ingested", str(number)))
    go_on.set()
    end()
    missed = sum(event.detail["events"] for event in told if event.kind == "missed")
    heard = [int(event.about) for event in told if event.kind == "ingested"]
    assert missed + len(heard) == MAX_QUEUED_EVENTS + more and missed >= more - 1
    assert heard == sorted(heard) and heard[-1] == MAX_QUEUED_EVENTS + more - 1


def test_seats_are_taken_in_the_order_of_coming() -> None:
    seats, order = FairSemaphore(1), list[int]()
    waits = [threading.Event() for _ in range(4)]

    def sit(number: int) -> None:
        waits[number].set()
        with seats.acquired():
            order.append(number)

    with seats.acquired():
        threads = [threading.Thread(target=sit, args=(number,)) for number in range(4)]
        for number, thread in enumerate(threads):
            thread.start()
            waits[number].wait()
            until(lambda number=number: len(seats._waiters) > number, "one more who waits")
    with seats.acquired():  # who has just had a seat comes behind those who wait
        order.append(99)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 99]
    with seats.acquired():  # none was lost
        pass


def test_what_was_just_said_is_found_by_its_meaning_however_much_waits(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(export(tmp_path / "first.jsonl", "first", 20))
        memory.ingest(export(tmp_path / "much.jsonl", "much", 200), wait=False)
        said = memory.sessions.create().add("user", "My sister moved to Lisbon in spring")
        found = memory.search("in which city does my sibling live?", limit=5)
        assert said.id in [hit.message_id for hit in found]
        assert memory.status()["queues"]["chunks"] > 200, "nothing had to wait for the index"
