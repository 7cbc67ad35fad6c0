"""A memory that a daemon owns gives what one in this process gives: the same results, the same errors."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from daemons import PROGRAM, TALK, Daemon, command, environment, filled, running, start

from appliance import Appliance
from appliance.errors import ApplianceError, DaemonGone, HomeLocked, NotFound, UsageError
from appliance.server.daemon import _take_over
from appliance.types import Event, FileReport
from appliance_models import HashEmbedder
from tests import forked_programs
from tests.summary_talk import chat, write
from tests.waits import PATIENCE, until

# What a daemon answers in this process, tests/contract compares with the answers of one that owns the home.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("attached") / "home")


@pytest.fixture(scope="module")
def daemon(built: Path) -> Iterator[Daemon]:
    with running(built) as begun:
        yield begun


@pytest.fixture
def attached(daemon: Daemon, built: Path) -> Iterator[Appliance]:
    with Appliance.open(built) as memory:
        assert memory.is_attached
        yield memory


@pytest.mark.slow
def test_what_is_written_is_found_at_once_and_by_whoever_opens_it_next(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    with running(home), Appliance.open(home) as memory:
        session = memory.sessions.create(title="Trip", metadata={"a": [1, "ü"]})
        said = session.add("user", "The lighthouse opens at seven", timestamp=datetime(2026, 3, 1, tzinfo=UTC))
        assert memory.search("lighthouse", limit=1)[0].message_id == said.id
        branch = session.branch(title="Other trip")
        assert [turn.id for turn in branch.messages()] == [said.id]
        session.rename("The trip")
        session.configure({"auto_recall": False})
        assert session.title == "The trip" and not session.auto_recall
        memory.pin(said.id)
        assert [one.id for one in memory.pins.pinned("me")] == [said.id]
        (fact,) = memory.facts.add(attribute="boat", value="a dinghy")
        assert memory.facts.correct(fact.id, "a sloop").value == "a sloop"
        doomed = memory.erasure.preview("kitchen")
        assert memory.erasure.forget(doomed).proof.traces == ()
    with Appliance.open(home, worker=False) as memory:
        assert not memory.is_attached
        assert memory.message(said.id).text == "The lighthouse opens at seven"
        assert memory.sessions.info(session.id).metadata == {"a": [1, "ü"]}
        assert not memory.search("spelt flour", mode="lexical")
        assert not memory.verify().problems


@pytest.mark.parametrize("path", ["python", "command line", "assistant"])
def test_a_fact_that_was_added_by_hand_is_found_to_be_erased_on_every_path(
    attached: Appliance, built: Path, path: str
) -> None:
    (fact,) = attached.facts.add("My dentist is called Brunhilde")
    if path == "command line":
        found = [*PROGRAM, "forget", "--query", "Brunhilde", "--yes", "--json", "--home", str(built)]
        done = subprocess.run(found, capture_output=True, env=environment(), check=True, timeout=PATIENCE)
        assert json.loads(done.stdout)["receipt"]["facts"] == 1
    else:
        preview = attached.erasure.preview(query="Brunhilde", by="assistant" if path == "assistant" else "person")
        assert preview.found_alone == {"facts": 1} and attached.erasure.forget(preview).facts == 1
    assert fact.id not in {one.id for one in attached.facts.list()}


def test_an_ingest_tells_how_far_it_is_and_names_files_as_they_were_given(
    attached: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{**TALK[0], "session_id": "long", "message_id": f"n{n}", "content": f"Buoy {n}"} for n in range(900)]
    (tmp_path / "long.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    files: list[tuple[str, int]] = []
    embedded: list[tuple[int, int]] = []
    report = attached.ingest(
        ["long.jsonl", "missing.jsonl"],
        on_file=lambda path, count: files.append((path, count)),
        on_embedded=lambda done, pending: embedded.append((done, pending)),
    )
    assert [(file.path, file.status, file.new) for file in report.files] == [
        ("long.jsonl", "ok", 900),
        ("missing.jsonl", "failed", 0),
    ]
    assert files[-1] == ("long.jsonl", 900)
    assert embedded[-1][1] == 0 and report.pending == 0


def test_a_private_conversation_stays_in_this_process(attached: Appliance, built: Path) -> None:
    attached.facts.add("I live in Naples")
    private = attached.sessions.create(title="Between us", private=True)
    private.add("user", "The wreck lies off Procida")
    assert private.is_private and attached.sessions.get(private.id).messages() == private.messages()
    built_in = private.context("where is the wreck?", budget=800)
    assert "Procida" in built_in.text
    assert "wreck" not in "".join(hit.text for hit in attached.search("wreck Procida", mode="lexical"))
    for path in built.rglob("*"):
        if path.is_file():
            assert b"Procida" not in path.read_bytes()
    private.delete()
    with pytest.raises(NotFound):
        attached.sessions.get(private.id)


def test_events_arrive(attached: Appliance, tmp_path: Path) -> None:
    heard: list[Event] = []
    came = threading.Event()

    def hear(event: Event) -> None:
        heard.append(event)
        came.set()

    end_listening = attached.events.listen(hear)
    attached.ingest(write(tmp_path / "chat.jsonl", chat("signals", 24)))
    attached.run_pending_jobs()
    assert came.wait(PATIENCE)
    end_listening()
    assert "summarised" in [event.kind for event in heard]


def test_a_folder_is_watched_for_as_long_as_somebody_listens(attached: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "drop"
    folder.mkdir()
    (folder / "chat.jsonl").write_text(
        json.dumps({**TALK[0], "session_id": "dropped", "content": "A jellyfish"}) + "\n"
    )
    reports: list[FileReport] = []
    watcher = attached.watcher([folder], on_read=reports.append)
    assert folder in watcher.folders
    watcher.run(once=True)
    assert [(Path(report.path).name, report.new) for report in reports] == [("chat.jsonl", 1)]
    thread = threading.Thread(target=watcher.run)
    thread.start()
    watcher.stop()
    thread.join(30)
    assert not thread.is_alive()
    with pytest.raises(ApplianceError, match="nowhere"):
        attached.watcher([tmp_path / "nowhere"])


def test_an_export_may_be_left_in_the_middle(attached: Appliance) -> None:
    lines = attached.export()
    assert next(lines)["content"]
    lines.close()
    assert attached.search("ferry")


def test_what_json_cannot_say_is_said(attached: Appliance) -> None:
    with pytest.raises(UsageError, match="Unicode"):
        attached.search("a \ud800 lone surrogate")
    with pytest.raises(UsageError):
        attached.sessions.create(metadata={"a": object()})
    with pytest.raises(TypeError):
        attached.search()  # type: ignore[call-arg]


def test_many_threads_ask_at_once(attached: Appliance) -> None:
    troubles: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            for turn in range(5):
                session = attached.sessions.create()
                said = session.add("user", f"Marker {number} {turn} of the fairway")
                assert session.messages() == [said]
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not troubles


@pytest.mark.slow
def test_a_daemon_that_was_killed_is_said_and_found_again(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    daemon = start(home)
    with Appliance.open(home) as memory:
        assert memory.search("ferry")
        daemon.process.kill()
        daemon.process.communicate()
        with pytest.raises(DaemonGone, match="has stopped answering"):
            memory.search("ferry")
        with running(home):  # what the dead one left behind hinders nobody
            assert memory.search("ferry")
    with Appliance.open(home, worker=False) as memory:
        assert not memory.is_attached
        assert memory.search("ferry")


def test_a_model_of_ones_own_attaches_to_nobody(daemon: Daemon, built: Path) -> None:
    with pytest.raises(HomeLocked, match=rf"'appliance serve' \(process {daemon.process.pid}\)"):
        Appliance.open(built, embedder=HashEmbedder())


def test_a_second_daemon_is_told_that_there_is_one_and_waits_for_none(daemon: Daemon, built: Path) -> None:
    with pytest.raises(HomeLocked, match=rf"in use by 'appliance serve' \(process {daemon.process.pid}\)") as refused:
        _take_over(built, True, lambda owner: None)
    assert refused.value.hint is not None and "serves the memory already" in refused.value.hint


@pytest.mark.slow
def test_whoever_comes_while_a_daemon_begins_waits_for_it(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    process = forked_programs.Popen(command(home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    try:
        until(lambda: b"appliance serve" in (home / "lock").read_bytes() or process.poll() is not None)
        with Appliance.open(home) as memory:
            assert memory.is_attached
            assert memory.search("ferry")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_a_memory_says_what_it_is_also_when_a_daemon_owns_it(attached: Appliance) -> None:
    messages = attached.status()["counts"]["messages"]
    assert repr(attached) == f"Appliance(home={str(attached.home.root)!r}, messages={messages})"
    session = attached.sessions.create(user_id="ana")
    assert repr(session) == f"Session({session.id!r}, user_id='ana', format='local', messages=0)"
    session.delete()
    assert repr(session) == f"Session({session.id!r}, NotFound)"
