"""A home that several programs use without a daemon: one owns it and answers the others, then the next one does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from daemons import ROOT, TALK, environment, filled, running

from appliance import Appliance
from appliance.errors import DaemonGone, HomeLocked, NotFound, StoreError
from appliance.paths import Home
from appliance.store.lock import OwnerLock, read_owner
from appliance.transports import rpc_server
from appliance.transports.unix_socket import listen_unix, remove_socket
from appliance.types import Event, FileReport
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.waits import until

HOLDER = """
import sys
from appliance import Appliance
with Appliance.open(sys.argv[1], worker=False, purpose="the first one") as memory:
    exec(sys.argv[2])
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_owner(home: Path, prepare: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Another process that owns the home until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home), prepare],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == b"open\n"
        yield process
    finally:
        leave(process)
        process.stdout.close()


def leave(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) in (0, -signal.SIGKILL)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=60)


def command_line(home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "appliance", *arguments, "--home", str(home)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT,
    )  # fmt: skip


def socket_of(memory: Appliance) -> Path:
    """Where the owner listens: in the home, if its path is not too long."""
    assert memory.owner is not None and memory.owner.socket is not None
    return Path(memory.owner.socket)


def talk_file(path: Path, count: int, session: str = "long") -> Path:
    lines = [{**TALK[0], "session_id": session, "message_id": f"{session}-{n}", "content": f"Buoy {session} {n}"}
             for n in range(count)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# --- beside an owner ----------------------------------------------------------------------------------------


def test_two_programs_have_one_memory(home: Path) -> None:
    with Appliance.open(home, worker=False) as first, Appliance.open(home, worker=False) as second:
        assert not first.is_attached
        assert second.is_attached and not second.is_attached_to_daemon
        session = second.sessions.create(title="Shared")
        said = session.add("user", "The lighthouse opens at seven")
        assert first.search("lighthouse", limit=1)[0].message_id == said.id
        assert second.search("lighthouse", limit=1)[0].message_id == said.id
        with pytest.raises(NotFound, match="no message"):
            second.message("m99")
        assert [line["content"] for line in second.export()] == ["The lighthouse opens at seven"]
        assert not second.verify().problems


def test_an_owner_whose_note_found_no_room_is_found_by_its_socket(home: Path) -> None:
    with Appliance.open(home, worker=False) as first:
        os.truncate(Home(home).lock, 0)
        assert first.owner is None
        if not Home(home).socket.exists():
            pytest.skip("the path of the home is too long for a socket in it")
        with Appliance.open(home, worker=False) as second:
            assert second.is_attached


def test_the_socket_is_private_and_goes_with_its_owner(home: Path) -> None:
    mask = os.umask(0)
    try:
        with Appliance.open(home, worker=False) as memory:
            assert (place := socket_of(memory)).stat().st_mode & 0o777 == 0o600
            assert memory.owner == read_owner(Home(home).lock)
            assert memory.status()["owner"] == {"pid": os.getpid(), "purpose": "a Python program"}
    finally:
        os.umask(mask)
    assert not place.exists() and read_owner(Home(home).lock) is None


def test_a_home_with_a_long_path_is_shared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"appliance-shared-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    home = tmp_path / ("deep" * 30) / "home"
    try:
        with Appliance.open(home, worker=False):
            monkeypatch.delenv("XDG_RUNTIME_DIR")  # the lock's file says where the socket is
            with Appliance.open(home, worker=False) as second:
                assert second.is_attached
        assert not list(runtime.iterdir())
    finally:
        runtime.rmdir()


def test_a_folder_that_others_may_write_to_gets_no_socket_and_the_memory_works(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.transports.rpc_server.socket_path", lambda home: tmp_path / "open" / "socket")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with Appliance.open(home, worker=False) as memory:
        assert memory.owner is not None and memory.owner.socket is None
        assert memory.sessions.create().add("user", "hello")


def test_a_program_with_a_model_of_its_own_attaches_to_an_owner_with_the_same(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()):
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as second:
            assert second.is_attached
        with Appliance.open(home, worker=False) as second:  # the owner's model will do
            assert second.is_attached
    with Appliance.open(home, worker=False) as first, pytest.raises(HomeLocked, match="with the embedding model") as e:
        Appliance.open(home, worker=False, embedder=HashEmbedder())
    assert first.owner is None and f"process {os.getpid()}" in str(e.value)


def test_an_owner_of_another_version_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Appliance.open(home, worker=False, purpose="appliance watch"):
        with Appliance.open(home, worker=False) as early:
            monkeypatch.setattr("appliance.transports.daemon.__version__", "9.9.9")
            with pytest.raises(HomeLocked, match=r"this is version 9\.9\.9"):
                early.search("anything")
        with pytest.raises(HomeLocked, match=r"'appliance watch' \(process \d+\) of version \S+ owns the memory"):
            Appliance.open(home, worker=False)


def test_nonsense_on_the_socket_hinders_nobody(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        for said in (b"", b"\x00\xff" * 9, b"GET\r\n\r\n", b"POST /local/requests/search HTTP/1.1\r\n\r\n{"):
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(socket_of(memory)))
                line.sendall(said)
                line.shutdown(socket.SHUT_WR)
                line.recv(4096)
        with Appliance.open(home, worker=False) as second:
            assert second.sessions.create().add("user", "hello").id == "m1"
        assert memory.message("m1").text == "hello"


def test_a_bug_says_its_place_and_no_words(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(request: Any) -> None:
        raise KeyError("what somebody said")

    with Appliance.open(home, worker=False) as first, Appliance.open(home, worker=False) as second:
        monkeypatch.setattr(engine_of(first), "search", fails)
        with pytest.raises(Exception, match=r"test_shared_home, line \d+: .*\(KeyError\)") as refused:
            second.search("anything")
        assert "somebody" not in str(refused.value)


def test_events_and_watched_files_arrive(home: Path, tmp_path: Path) -> None:
    heard: list[Event] = []
    came = threading.Event()
    folder = tmp_path / "drop"
    folder.mkdir()
    talk_file(folder / "a.jsonl", 3)
    reports: list[FileReport] = []
    with Appliance.open(home, worker=False), Appliance.open(home, worker=False) as second:
        end_listening = second.events.listen(lambda event: (heard.append(event), came.set())[0])
        second.watcher([folder], on_read=reports.append).run(once=True)
        assert came.wait(60)
        end_listening()
    assert [report.new for report in reports] == [3]
    assert heard[0].kind == "ingested"


@pytest.mark.slow
def test_the_command_line_works_beside_an_owner(home: Path, tmp_path: Path) -> None:
    filled(home)
    with other_owner(home) as owner:
        for arguments, code in (
            (["search", "ferry", "--json"], 0),
            (["add", "The wreck lies off Procida"], 0),
            (["ingest", str(talk_file(tmp_path / "more.jsonl", 20)), "--json"], 0),
            (["search", "wreck", "--json"], 0),
            (["show", "s99"], 4),
        ):
            process = command_line(home, *arguments)
            _, errors = process.communicate(timeout=120)
            assert process.returncode == code, errors.decode()
        status = command_line(home, "status", "--json")
        shape = json.loads(status.communicate(timeout=120)[0])
        assert shape["owner"] == {"pid": owner.pid, "purpose": "the first one"} and shape["daemon"] is None
        assert shape["counts"]["messages"] == len(TALK) + 21
        assert (
            f"the first one, process {owner.pid}" in command_line(home, "status").communicate(timeout=120)[0].decode()
        )


@pytest.mark.slow
def test_four_at_once_are_all_served_without_a_daemon(home: Path) -> None:
    processes = [command_line(home, "add", f"Note {number}", "--json") for number in range(4)]
    for process in processes:
        _, errors = process.communicate(timeout=180)
        assert process.returncode == 0, errors.decode()
    with Appliance.open(home, worker=False) as memory:
        assert {line["content"] for line in memory.export()} == {f"Note {number}" for number in range(4)}


@pytest.mark.slow
def test_a_daemon_is_refused_while_another_program_owns_the_home_and_used_when_it_runs(home: Path) -> None:
    filled(home)
    with Appliance.open(home, worker=False, purpose="appliance tui"):
        refused = command_line(home, "serve", "--port", "0")
        errors = refused.communicate(timeout=120)[1].decode()
        assert refused.returncode == 3 and f"'appliance tui' (process {os.getpid()})" in errors
        assert "Close it first: 'appliance serve' must own the memory." in errors
    with running(home), Appliance.open(home) as memory:
        assert memory.is_attached_to_daemon and memory.search("ferry")


@contextmanager
def watching(home: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that watches a folder, and has read the one file in it."""
    folder.mkdir()
    talk_file(folder / "a.jsonl", 3)
    process = command_line(home, "watch", str(folder))
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            assert b"Ctrl-C" in process.stderr.readline()
            assert b"a.jsonl" in process.stdout.readline()
            yield process
        finally:
            kill(process)


def ended_quietly(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Whether a watch that gets a signal ends as one that owns the home does: with exit code 0 and no more words."""
    assert process.stdout is not None and process.stderr is not None
    process.send_signal(number)
    return (process.wait(60), process.stdout.read(), process.stderr.read()) == (0, b"", b"")


def threads_named(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_beside_an_owner_ends_when_it_is_told_to(home: Path, tmp_path: Path, number: signal.Signals) -> None:
    with Appliance.open(home, worker=False), watching(home, tmp_path / "drop") as process:
        assert threads_named("appliance-stream"), "the watcher of the owner"
        assert ended_quietly(process, number)
        until(lambda: not threads_named("appliance-stream"), "the end of the owner's watcher")


@pytest.mark.slow
def test_a_watch_beside_a_daemon_or_another_watch_ends_when_it_is_told_to(home: Path, tmp_path: Path) -> None:
    filled(home)
    with running(home), watching(home, tmp_path / "one") as process:
        assert ended_quietly(process, signal.SIGTERM)
    with watching(home, tmp_path / "two") as first, watching(home, tmp_path / "three") as second:
        assert ended_quietly(second, signal.SIGTERM)
        assert ended_quietly(first, signal.SIGTERM)


@pytest.mark.slow
def test_an_interrupt_ends_an_ingest_beside_an_owner_and_what_the_owner_does_for_it(home: Path, tmp_path: Path) -> None:
    file = talk_file(tmp_path / "long.jsonl", 60_000)
    with Appliance.open(home, worker=False) as memory:
        # Tests that were started in the background of a shell ignore interrupts, and so would what they start.
        saved = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = command_line(home, "ingest", str(file))
        finally:
            signal.signal(signal.SIGINT, saved)
        until(lambda: memory.overview.counts()["messages"] or process.poll() is not None, "a commit")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (130, b"") and b"Everything committed so far is kept" in stderr
        until(lambda: not threads_named("appliance-rpc-client"), "the end of the owner's work")
        assert 0 < memory.overview.counts()["messages"] < 60_000


# --- when the owner leaves ----------------------------------------------------------------------------------


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
        ending = threading.Thread(target=lambda: (began.wait(60), end(owner)))
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
            go_on.wait(60)
            return delete(request)

        monkeypatch.setattr(engine.sessions, "delete", slow)
        results: list[Any] = []
        asking = threading.Thread(target=lambda: results.append(session.delete()))
        asking.start()
        begun.wait(60)
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
