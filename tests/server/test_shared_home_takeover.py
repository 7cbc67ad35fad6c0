"""A home that several programs use without a daemon: when the owner leaves, the next one does its work."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from daemons import TALK, filled
from owners import ended_quietly, kill, leave, other_owner, socket_of, talk_file, watching

from appliance import Appliance
from appliance.errors import DaemonGone, StoreError
from appliance.paths import Home
from appliance.store.lock import OwnerLock
from appliance.transports import rpc_server
from appliance.transports.unix_socket import listen_unix, remove_socket
from appliance.types import Event, FileReport
from tests.engines import engine_of
from tests.waits import PATIENCE, until


def test_the_next_one_takes_over(home: Path) -> None:
    with ExitStack() as stack:
        first = Appliance.open(home, worker=False)
        others = [stack.enter_context(Appliance.open(home, worker=False)) for _ in range(3)]
        session = others[0].sessions.create()
        session.add("user", "before")
        first.close()
        for number, memory in enumerate(others):
            memory.sessions.get(session.id).add("user", f"after {number}")
        assert [memory.is_attached for memory in others] == [False, True, True]
        assert [turn.text for turn in session.messages()] == ["before", "after 0", "after 1", "after 2"]
        with pytest.raises(StoreError, match="closed"):
            first.search("after")


def test_who_works_in_the_background_takes_over_unasked(home: Path) -> None:
    first = Appliance.open(home, worker=False)
    with Appliance.open(home) as second:
        assert second.is_attached
        first.close()
        until(lambda: not second.is_attached, "the change of owner")


def test_a_memory_that_is_closed_says_so_whoever_owns_the_home(home: Path) -> None:
    with Appliance.open(home, worker=False):
        second = Appliance.open(home, worker=False)
        second.close()
        with pytest.raises(StoreError, match="closed"):
            second.search("anything")


@pytest.mark.slow
def test_everybody_asks_on_while_owners_come_and_go(home: Path) -> None:
    """Four threads on two memories, while the process that owns the home is killed in the middle."""
    filled(home)
    troubles: list[BaseException] = []
    acknowledged: list[str] = []
    done = threading.Event()
    with ExitStack() as stack:
        owner = stack.enter_context(other_owner(home))
        memories = [stack.enter_context(Appliance.open(home, worker=False)) for _ in range(2)]
        assert all(memory.is_attached for memory in memories)

        def ask(memory: Appliance, name: str) -> None:
            try:
                session = memory.sessions.create()
                for number in range(10_000):
                    if done.is_set():
                        return
                    text = f"Marker {name} {number} of the fairway"
                    session.add("user", text)
                    acknowledged.append(text)
                    assert memory.search("ferry", mode="lexical")
            except BaseException as error:
                troubles.append(error)

        threads = [
            threading.Thread(target=ask, args=(memory, f"{place}{number}"))
            for place, memory in enumerate(memories)
            for number in range(2)
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) > 20, "the first answers")
        kill(owner)
        count = len(acknowledged)
        until(lambda: troubles or len(acknowledged) > count + 20, "answers of the next owner")
        assert [memory.is_attached for memory in memories].count(False) == 1
        owning = next(memory for memory in memories if not memory.is_attached)
        other = next(memory for memory in memories if memory.is_attached)
        done.set()
        for thread in threads:
            thread.join(60)
        assert not troubles
        owning.close()
        texts = [line["content"] for line in other.export() if line["content"].startswith("Marker")]
        assert sorted(texts) == sorted(set(texts)), "doubled"
        assert set(acknowledged) <= set(texts), "lost"
        assert not other.verify().problems


@pytest.mark.slow
@pytest.mark.parametrize("end", [leave, kill])
def test_an_ingest_goes_on_with_the_next_owner(home: Path, tmp_path: Path, end: Any) -> None:
    filled(home)
    file = talk_file(tmp_path / "long.jsonl", 6_000)
    with other_owner(home) as owner, Appliance.open(home, worker=False) as memory:
        began = threading.Event()
        ending = threading.Thread(target=lambda: (began.wait(PATIENCE), end(owner)))
        ending.start()
        report = memory.ingest(file, wait=False, on_file=lambda path, count: began.set())
        ending.join()
        assert not memory.is_attached
        assert report.total("new") + report.total("duplicates") == 6_000
        assert memory.status()["counts"]["messages"] == len(TALK) + 6_000
        assert not memory.verify().problems


@pytest.mark.slow
@pytest.mark.parametrize("end", [leave, kill])
def test_an_export_goes_on_with_the_next_owner(home: Path, tmp_path: Path, end: Any) -> None:
    filled(home)
    with other_owner(home) as owner, Appliance.open(home, worker=False) as memory:
        memory.ingest(talk_file(tmp_path / "long.jsonl", 3_000), wait=False)
        lines = memory.export()
        got = [next(lines)["message_id"] for _ in range(10)]
        end(owner)
        got += [line["message_id"] for line in lines]
        assert not memory.is_attached
        assert got == [line["message_id"] for line in memory.export()] and len(got) == 3_000 + len(TALK)


def test_an_export_that_would_be_another_one_fails(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The export is not read on before the owner leaves, however long it waits.
    monkeypatch.setattr(rpc_server, "LEAVE_TIMEOUT_SECONDS", 0.2)
    first = Appliance.open(home, worker=False)
    with Appliance.open(home, worker=False) as second:
        second.ingest(talk_file(tmp_path / "long.jsonl", 2_000), wait=False)
        lines = second.export()
        begun = [next(lines) for _ in range(10)]
        first.close()
        second.sessions.get(second.message("m1").session_id).delete()
        with pytest.raises(DaemonGone, match="ended before it answered"):
            begun.extend(lines)


@pytest.mark.slow
@pytest.mark.parametrize("end", [leave, kill])
def test_a_watcher_and_a_listener_go_on_with_the_next_owner(home: Path, tmp_path: Path, end: Any) -> None:
    folder = tmp_path / "drop"
    folder.mkdir()
    reports: list[FileReport] = []
    heard: list[Event] = []
    with other_owner(home) as owner, Appliance.open(home, worker=False) as memory:
        memory.events.listen(heard.append)
        watcher = memory.watcher([folder], on_read=reports.append)
        thread = threading.Thread(target=watcher.run)
        thread.start()
        talk_file(folder / "a.jsonl", 3, "a")
        until(lambda: len(reports) == 1, "the first file")
        end(owner)
        talk_file(folder / "b.jsonl", 4, "b")
        until(lambda: len(reports) == 2, "the second file")
        # What happens before the listener has found the next owner is not told.
        files = (talk_file(tmp_path / f"{number}.jsonl", 1, str(number)) for number in count())
        until(
            lambda: memory.ingest(next(files)) and sum(event.kind == "ingested" for event in heard) > 1,
            "an event of the next owner",
        )
        watcher.stop()
        thread.join(60)
        assert [report.new for report in reports] == [3, 4]


@pytest.mark.slow
def test_a_watch_that_waits_for_the_next_owner_ends_when_it_is_told_to(home: Path, tmp_path: Path) -> None:
    """The next owner listens and does not answer yet, as one that still opens the home."""
    lock = OwnerLock(Home(home).lock)
    with ExitStack() as stack:
        owner = stack.enter_context(Appliance.open(home, worker=False))
        process = stack.enter_context(watching(home, tmp_path / "drop"))
        process.send_signal(signal.SIGSTOP)  # so that it does not take over
        place = socket_of(owner)
        owner.close()
        lock.acquire("a slow one")
        stack.callback(lock.release)
        silent = stack.enter_context(listen_unix(place))
        silent.settimeout(60)
        lock.announce(place, lambda: remove_socket(place))
        process.send_signal(signal.SIGCONT)
        stack.enter_context(silent.accept()[0])
        assert ended_quietly(process, signal.SIGTERM)


def test_what_can_t_be_repeated_is_finished_before_the_owner_leaves(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Appliance.open(home, worker=False)
    with Appliance.open(home, worker=False) as second:
        session = second.sessions.create()
        session.add("user", "hello")
        engine, begun, go_on = engine_of(first), threading.Event(), threading.Event()
        delete = engine.sessions.delete

        def slow(request: Any) -> Any:
            begun.set()
            go_on.wait(PATIENCE)
            return delete(request)

        monkeypatch.setattr(engine.sessions, "delete", slow)
        results: list[Any] = []
        asking = threading.Thread(target=lambda: results.append(session.delete()))
        asking.start()
        begun.wait(PATIENCE)
        closing = threading.Thread(target=first.close)
        closing.start()
        assert second.overview.counts()["messages"] == 1  # others are answered meanwhile
        go_on.set()
        closing.join(60)
        asking.join(60)
        assert results[0].messages == 1
        assert second.overview.counts()["messages"] == 0 and not second.is_attached


@pytest.mark.slow
def test_what_can_t_be_repeated_fails_honestly_when_the_owner_is_killed(home: Path) -> None:
    """The owner dies after it has begun: nobody knows whether it was done, and the error says so."""
    with Appliance.open(home, worker=False) as memory:
        session = memory.sessions.create()
    dies = "import os; memory._shared.engine.sessions.delete = lambda request: os.kill(os.getpid(), 9)"
    with other_owner(home, dies), Appliance.open(home, worker=False) as memory:
        with pytest.raises(DaemonGone, match="ended before it answered") as gone:
            memory.sessions.get(session.id).delete()
        assert gone.value.begun
        memory.sessions.get(session.id).delete()
