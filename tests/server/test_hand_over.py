"""``serve`` beside a program that has the memory open: it leaves the home to the daemon, goes on with it, and
takes the home back when the daemon stops."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from daemons import filled, running
from owners import ended_quietly, talk_file, watching

from appliance import Appliance
from appliance.errors import HomeBusy, HomeLocked
from appliance.paths import Home, find_home
from appliance.server import daemon
from appliance.store import lock
from appliance.store.lock import OwnerLock, read_owner
from appliance.transports import owner_process
from appliance.transports.daemon import DaemonTransport
from appliance.types import Owner
from tests.engines import engine_of
from tests.waits import until


def test_a_home_that_is_left_to_another_process_is_kept_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    first = OwnerLock(path)
    first.acquire("appliance watch")
    first.leave_to(Owner(os.getppid(), "appliance serve"))
    first.release()
    with pytest.raises(HomeLocked, match=rf"handed over to 'appliance serve' \(process {os.getppid()}\)"):
        OwnerLock(path).acquire("appliance add")
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", os.getppid)
        (successor := OwnerLock(path)).acquire("appliance serve")
    successor.release()
    assert read_owner(path) is None


def test_it_is_kept_for_a_while_and_for_nothing_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for successor, later in ((Owner(os.getppid(), "x"), lock.RESERVATION_SECONDS + 1), (Owner(2**22 + 1, "x"), 0.0)):
        (first := OwnerLock(tmp_path / "lock")).acquire("appliance watch")
        first.leave_to(successor)
        first.release()
        now = time.time()
        with monkeypatch.context() as patch:
            patch.setattr("appliance.store.lock.time.time", lambda now=now, later=later: now + later)
            (second := OwnerLock(tmp_path / "lock")).acquire("appliance add")
        second.release()


def asks(home: Path) -> None:
    """Ask the owner to leave the home to this process, which takes it back."""
    with closing(DaemonTransport(find_home(home))) as transport:
        transport.ask_for_home(Owner(os.getpid(), "appliance serve"))


def test_requests_and_streams_go_on_when_the_home_changes_hands(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        session = memory.sessions.create()
        for number in range(3):
            session.add("user", f"Buoy {number}")
        engine, stream = engine_of(memory), memory.export()
        read = [next(stream)]
        asks(home)
        session.add("user", "Buoy 3")
        assert [line["content"] for line in (*read, *stream)] == [f"Buoy {number}" for number in range(4)]
        assert engine_of(memory) is not engine and not memory.is_attached


def test_a_home_is_kept_while_its_owner_imports(home: Path, tmp_path: Path) -> None:
    refusals: list[str] = []

    def on_file(path: str, messages: int) -> None:
        with pytest.raises(HomeBusy, match="in use by 'a notebook'") as refused:
            asks(home)
        refusals.append(refused.value.hint or "")

    with Appliance.open(home, worker=False, purpose="a notebook") as memory:
        memory.ingest(talk_file(tmp_path / "talk.jsonl", 3), wait=False, on_file=on_file)
        assert "an import" in refusals[0] and "serve --wait" in refusals[0]
        assert memory.status()["counts"]["messages"] == 3


def test_a_daemon_waits_for_an_owner_that_is_busy_and_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner: list[Appliance] = []
    busy, said = [True, True], []

    def ask(found: Home) -> bool:
        if busy:
            busy.pop()
            raise HomeBusy("The memory is in use.")
        owner.pop().close()
        return True

    monkeypatch.setattr(daemon, "_ask_for_home", ask)
    monkeypatch.setattr(daemon, "BUSY_RETRY_SECONDS", 0.0)
    owner.append(Appliance.open(home, worker=False, purpose="an import"))
    daemon._take_over(home, False, said.append).close()
    assert said == [f"'an import' (process {os.getpid()})"]
    monkeypatch.setattr(daemon, "BUSY_SECONDS", 0.0)
    busy[:] = [True] * 9
    owner.append(Appliance.open(home, worker=False))
    with pytest.raises(HomeBusy):
        daemon._take_over(home, False, said.append)
    daemon._take_over(home, True, said.append).close()
    assert not busy, "it waits without a bound if it is asked to"


@pytest.mark.slow
def test_a_program_goes_on_with_the_daemon_that_takes_its_home_and_takes_it_back(home: Path) -> None:
    filled(home)
    stop, troubles, asked = threading.Event(), [], []
    with Appliance.open(home, worker=False, purpose="a notebook") as memory:

        def ask() -> None:
            session = memory.sessions.create()
            while not stop.is_set():
                try:
                    session.add("user", f"Marker {len(asked)} of the fairway")
                    asked.append(memory.search("ferry"))
                except BaseException as error:
                    troubles.append(error)
                    return

        thread = threading.Thread(target=ask)
        thread.start()
        until(lambda: len(asked) > 2, "the first answers")
        with running(home) as running_daemon:
            until(lambda: memory.is_attached_to_daemon or troubles, "the daemon's turn")
            before = len(asked)
            until(lambda: len(asked) > before + 2 or troubles, "answers of the daemon")
            stop.set()
            thread.join()
            assert not troubles
            texts = [line["content"] for line in memory.export() if line["content"].startswith("Marker")]
            assert len(texts) == len(set(texts)) == len(asked)
            running_daemon.process.send_signal(signal.SIGHUP)  # it restarts, and keeps the home
            for number in range(3):
                assert memory.sessions.create(title=str(number)) and memory.search("ferry")
            assert memory.is_attached_to_daemon
        assert memory.search("ferry") and not memory.is_attached


@pytest.mark.slow
def test_a_watcher_goes_on_with_the_daemon_and_without_it(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    with watching(home, folder) as process:
        assert process.stdout is not None
        with running(home), Appliance.open(home) as memory:
            assert memory.is_attached_to_daemon
            talk_file(folder / "b.jsonl", 2, "other")
            assert b"b.jsonl" in process.stdout.readline()
            assert process.poll() is None and memory.status()["counts"]["messages"] == 5
        talk_file(folder / "c.jsonl", 2, "third")
        assert b"c.jsonl" in process.stdout.readline()
        with Appliance.open(home, worker=False) as memory:
            assert memory.owner is not None and memory.owner.purpose == "appliance watch"
            assert memory.status()["counts"]["messages"] == 7
        assert ended_quietly(process, signal.SIGTERM)


@pytest.mark.slow
def test_a_screen_and_its_owner_process_go_on_with_the_daemon_and_without_it(home: Path) -> None:
    filled(home)
    with owner_process.running(find_home(home), "appliance tui") as wait:
        wait()
        with Appliance.open(home, purpose="appliance tui") as screen:
            assert screen.is_attached and not screen.is_attached_to_daemon
            with running(home):
                until(lambda: screen.is_attached_to_daemon, "the daemon's turn")
                assert screen.search("ferry")
            assert screen.search("ferry") and not screen.is_attached_to_daemon
