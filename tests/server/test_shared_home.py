"""A home that several programs use without a daemon: one owns it and answers the others."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from daemons import TALK, filled, running
from owners import command_line, ended_quietly, other_owner, socket_of, talk_file, watching

from appliance import Appliance
from appliance.errors import HomeLocked, NotFound
from appliance.paths import Home
from appliance.store.lock import read_owner
from appliance.transports import daemon
from appliance.types import Event, FileReport
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.waits import PATIENCE, until


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
            monkeypatch.setattr("appliance.transports.daemon.VERSION", "9.9.9")
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


@pytest.mark.slow
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
        assert came.wait(PATIENCE)
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
def test_a_daemon_is_refused_while_a_program_with_a_model_of_its_own_has_the_home(home: Path) -> None:
    filled(home)
    with Appliance.open(home, worker=False, purpose="a bench", embedder=HashEmbedder()) as memory:
        refused = command_line(home, "serve", "--port", "0")
        errors = refused.communicate(timeout=120)[1].decode()
        assert refused.returncode == 3 and f"'a bench' (process {os.getpid()})" in errors
        assert "Close it first: 'appliance serve' must own the memory." in errors
        assert not memory.is_attached and memory.sessions.list()


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
        process = command_line(home, "ingest", str(file))
        until(lambda: memory.overview.counts()["messages"] or process.poll() is not None, "a commit")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert (process.returncode, stdout) == (130, b"") and b"Everything committed so far is kept" in stderr
        until(lambda: not threads_named("appliance-rpc-client"), "the end of the owner's work")
        assert 0 < memory.overview.counts()["messages"] < 60_000


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no process is suspended by a signal")
def test_an_owner_that_is_suspended_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "SUSPENSION_CHECK_SECONDS", 0.05)
    with other_owner(home) as owner, Appliance.open(home, worker=False) as attached:
        session = attached.sessions.create()
        owner.send_signal(signal.SIGSTOP)
        try:
            named = rf"in use by 'the first one' \(process {owner.pid}\), which is suspended"
            with pytest.raises(HomeLocked, match=named) as told:
                Appliance.open(home, worker=False)
            assert told.value.hint.endswith("or end it.") and f"kill -CONT {owner.pid}" in told.value.hint
            with pytest.raises(HomeLocked, match=named) as told:
                session.add("user", "said to a process that sleeps")
            assert "may still do" in told.value.hint
        finally:
            owner.send_signal(signal.SIGCONT)
        until(lambda: len(session.messages()) == 1, "what was asked for")
        session.add("user", "said to one that is awake")
        assert len(session.messages()) == 2
