"""A memory that a daemon owns gives what one in this process gives: the same results, the same errors."""

from __future__ import annotations

import inspect
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from daemons import TALK, Daemon, command, environment, filled, running, start

from appliance import Appliance
from appliance.engine import Engine
from appliance.errors import ApplianceError, DaemonGone, HomeLocked, NotFound, UsageError
from appliance.server import calls
from appliance.server.attached import Attached
from appliance.server.line import Line
from appliance.types import Event, FileReport
from appliance_models import HashEmbedder
from tests.summary_talk import chat, write

HERE = {"open", "close", "watcher", "pin", "unpin", "get_ready"}
"""Verbs of a memory that the client has its own of, or that are another room's."""

WITHIN: dict[str, set[str]] = {
    "sessions": {"get", "clear_away"},
    "session": {"auto_recall", "title"},
    "summaries": {"lag"},
    "facts": {"show", "read_due", "ask_model"},
    "keeping": {"close", "weigh", "write"},
    "browsing": set(),
    "forgetting": {"finish"},
    "memory": HERE,
}
"""What is made of other verbs, or is the background's."""


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
        assert isinstance(memory, Attached)
        yield memory


@pytest.mark.parametrize("room", list(calls.ROOMS))
def test_every_verb_travels(room: str) -> None:
    owner, verbs = calls.owner(room), calls.ROOMS[room].verbs
    public = {
        name
        for name, member in inspect.getmembers(owner)
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    }
    assert public - WITHIN[room] == set(verbs)
    for verb in verbs:
        calls.call(room, verb)


def plain(value: Any) -> Any:
    """A result without what differs from call to call: how long it took."""
    if hasattr(value, "took_ms"):
        return [[asdict(hit) for hit in value], value.query, value.mode, value.notes, value.times,
                plain(value.summaries), plain(value.why_not)]  # fmt: skip
    if hasattr(value, "next") and isinstance(value, list):
        return [plain([*value]), value.next]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if inspect.isgenerator(value):
        return [*value]
    return value


READS: dict[str, Callable[[Engine], Any]] = {
    "search": lambda m: m.search("when does the ferry leave", limit=3, roles=["assistant"]),
    "search dates": lambda m: m.search("bread", since=date(2026, 1, 1), until=datetime(2026, 3, 1, tzinfo=UTC)),
    "search why not": lambda m: m.search("spelt", limit=1, why_not="harbour-0"),
    "search nothing": lambda m: m.search("spelt", sources=["slack"]),
    "search mode": lambda m: m.search("spelt", mode="sideways"),  # type: ignore[arg-type]
    "search role": lambda m: m.search("spelt", roles=["captain"]),  # type: ignore[list-item]
    "search limit": lambda m: m.search("spelt", limit=0),
    "search date": lambda m: m.search("spelt", since="the day before"),
    "context": lambda m: m.context("where does my sister live?", budget=600, encoding="cl100k_base", counted=False),
    "context session": lambda m: m.context("and then?", session_id="s1", budget=500, counted=False),
    "context shares": lambda m: m.context("bread", shares={"retrieved": 0.9}, budget=400, counted=False),
    "context small": lambda m: m.context("bread", budget=0),
    "message": lambda m: m.message("harbour-2"),
    "no message": lambda m: m.message("m999"),
    "variants": lambda m: m.variants("m1"),
    "export": lambda m: m.export(),
    "export of one": lambda m: m.export(user_id="nobody"),
    "markdown": lambda m: m.export_markdown(),
    "sessions": lambda m: m.sessions.list(sort="title", limit=1),
    "sessions bad": lambda m: m.sessions.list(sort="colour"),  # type: ignore[arg-type]
    "session": lambda m: m.sessions.get("harbour").info,
    "session title": lambda m: m.sessions.get("harbour").title,
    "session messages": lambda m: m.sessions.get("harbour").messages(),
    "session window": lambda m: m.sessions.get("s2").window(),
    "session of another": lambda m: m.sessions.get("harbour", user_id="eve"),
    "messages": lambda m: m.sessions.messages("kitchen"),
    "summaries": lambda m: m.summaries.list(),
    "a summary": lambda m: m.summaries.get("sum1"),
    "summaries search": lambda m: m.summaries.search("the storm"),
    "summaries state": lambda m: m.summaries.state(),
    "facts": lambda m: m.facts.list(),
    "profile": lambda m: m.facts.profile(),
    "facts as of": lambda m: m.facts.list(as_of=date(2026, 2, 20)),
    "history": lambda m: m.facts.history("me", "home"),
    "no fact": lambda m: m.facts.get("f999"),
    "importance": lambda m: m.keeping.importance("m2"),
    "preview": lambda m: m.forgetting.preview("m1", "m2"),
    "preview nothing": lambda m: m.forgetting.preview(),
    "receipts": lambda m: m.forgetting.receipts(),
    "verify": lambda m: m.verify(),
    "status": lambda m: m.status()["counts"],
    "pinned": lambda m: m.keeping.pinned("me"),
    "summaries pending": lambda m: m.summaries.pending(),
    "facts pending": lambda m: m.facts.pending(),
    "review": lambda m: m.facts.review(),
    "browsing counts": lambda m: m.browsing.counts(),
    "outline": lambda m: m.browsing.outline("harbour"),
    "no outline": lambda m: m.browsing.outline("s99"),
    "browsing messages": lambda m: m.browsing.messages(["m3", "m1", "m999"]),
    "choices": lambda m: m.browsing.choices(),
    "activity": lambda m: m.browsing.activity(),
    "files": lambda m: m.browsing.files(),
    "folders": lambda m: m.browsing.folders(),
    "tend": lambda m: m.tend(),
}  # fmt: skip


def rounded(value: Any) -> Any:
    """As JSON, with numbers as far as sums in another order agree."""
    return json.loads(json.dumps(value, default=str), parse_float=lambda digits: round(float(digits), 9))


def outcome(read: Callable[[Engine], Any], memory: Engine) -> Any:
    try:
        return plain(read(memory))
    except ApplianceError as error:
        return type(error), str(error), error.where, error.hint


WRITES = {
    "memory.ingest", "memory.embed_pending", "memory.reindex", "sessions.create", "sessions.resume", "session.add",
    "session.context", "session.branch", "session.rename", "session.pin", "session.unpin", "session.set_ttl",
    "session.set_storage_scope", "session.configure", "session.clear", "session.delete", "summaries.make",
    "summaries.tend", "facts.confirm", "facts.correct", "facts.reject", "facts.add", "keeping.pin", "keeping.unpin",
    "keeping.recalled", "forgetting.forget",
}  # fmt: skip
"""Verbs that change something: the other tests see to them."""


def test_every_verb_that_reads_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: set[str] = set()
    for name in ("call", "items"):
        real = getattr(Line, name)

        def note(self: Line, room: str, verb: str, *more: Any, real: Any = real) -> Any:
            asked.add(f"{room}.{verb}")
            return real(self, room, verb, *more)

        monkeypatch.setattr(Line, name, note)
    with running(filled(tmp_path / "home")), Appliance.open(tmp_path / "home") as memory:
        for read in READS.values():
            outcome(read, memory)
    every = {f"{room}.{verb}" for room, at in calls.ROOMS.items() for verb in at.verbs}
    assert every - WRITES <= asked


def test_results_and_errors_are_the_same(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    with Appliance.open(home, worker=False) as memory:
        here = {name: outcome(read, memory) for name, read in READS.items()}
    with running(home), Appliance.open(home) as memory:
        assert isinstance(memory, Attached)
        there = {name: outcome(read, memory) for name, read in READS.items()}
    for name in READS:
        assert rounded(there[name]) == rounded(here[name]), name
    assert any(isinstance(found, tuple) for found in here.values())


def test_what_is_written_is_found_at_once_and_by_whoever_opens_it_next(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    with running(home), Appliance.open(home) as memory:
        session = memory.sessions.create(title="Trip", metadata={"a": [1, "ü"]})
        said = session.add(
            "user", "The lighthouse opens at seven", timestamp=datetime(2026, 3, 1, tzinfo=UTC)
        )
        assert memory.search("lighthouse", limit=1)[0].message_id == said.id
        branch = session.branch(title="Other trip")
        assert [turn.id for turn in branch.messages()] == [said.id]
        session.rename("The trip")
        session.configure({"auto_recall": False})
        assert session.title == "The trip" and not session.auto_recall
        memory.pin(said.id)
        assert [one.id for one in memory.keeping.pinned("me")] == [said.id]
        (fact,) = memory.facts.add(attribute="boat", value="a dinghy")
        assert memory.facts.correct(fact.id, "a sloop").value == "a sloop"
        doomed = memory.forgetting.preview("kitchen")
        assert memory.forgetting.forget(doomed).proof.traces == ()
    with Appliance.open(home, worker=False) as memory:
        assert not isinstance(memory, Attached)
        assert memory.message(said.id).text == "The lighthouse opens at seven"
        assert memory.sessions.info(session.id).metadata == {"a": [1, "ü"]}
        assert not memory.search("spelt flour", mode="lexical")
        assert not memory.verify().problems


def test_an_ingest_tells_how_far_it_is_and_names_files_as_they_were_given(
    attached: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        {**TALK[0], "session_id": "long", "message_id": f"n{n}", "content": f"Buoy {n}"} for n in range(900)
    ]
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
    assert attached.sessions.get(private.id) is private
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
    attached.tend()
    assert came.wait(30)
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
    lines.close()  # type: ignore[attr-defined]
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


def test_a_daemon_that_was_killed_is_said_and_found_again(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    daemon = start(home)
    with Appliance.open(home) as memory:
        assert memory.search("ferry")
        daemon.process.kill()
        daemon.process.communicate()
        with pytest.raises(DaemonGone, match="does not answer"):
            memory.search("ferry")
        with running(home):  # what the dead one left behind hinders nobody
            assert memory.search("ferry")
    with Appliance.open(home, worker=False) as memory:
        assert not isinstance(memory, Attached)
        assert memory.search("ferry")


def test_a_model_of_ones_own_attaches_to_nobody(daemon: Daemon, built: Path) -> None:
    with pytest.raises(HomeLocked, match=f"process {daemon.process.pid}, appliance serve"):
        Appliance.open(built, embedder=HashEmbedder())


def test_whoever_comes_while_a_daemon_begins_waits_for_it(tmp_path: Path) -> None:
    home = filled(tmp_path / "home")
    process = subprocess.Popen(
        command(home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    )
    try:
        while b"appliance serve" not in (home / "lock").read_bytes():
            assert process.poll() is None
            time.sleep(0.002)
        with Appliance.open(home) as memory:
            assert isinstance(memory, Attached)
            assert memory.search("ferry")
    finally:
        process.terminate()
        process.communicate(timeout=60)
