"""What every transport does with every request: a local engine, a daemon and the fake behave alike."""

from __future__ import annotations

import re
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from contract_cases import CASES, Failed, run, write_inputs
from transports import build_home, open_engine, recorded, served, serving

from appliance import Appliance, requests
from appliance import requests as r
from appliance.errors import ApplianceError, HomeError, NotFound, StoreError, UsageError
from appliance.requests import Request, result_type
from appliance.resources import Session
from appliance.server.http.app import QUERY_PATHS
from appliance.transports.base import Transport
from appliance.transports.daemon import DaemonTransport
from appliance.transports.local import LocalTransport
from appliance.transports.memory import MemoryTransport
from appliance.types import Event, FileReport, Progress, Stream
from appliance_models import HashEmbedder
from tests.homes import copied
from tests.waits import PATIENCE, until

REQUESTS = [
    kind for name in requests.__all__ if isinstance(kind := getattr(requests, name), type) and kind is not Request
]

TRANSPORTS = ("local", "daemon", "memory")

VOLATILE = {"took_ms", "times", "seconds", "latency", "disk_bytes", "apparent_bytes", "memory", "daemon"}
"""Parts of a result that say how long something took, or what the process is."""

VOLATILE_OF = {
    "Histogram": {"total", "buckets", "p50", "p95", "p99"},
    "ErasureReport": {"files", "bytes"},
    "BackupReport": {"id", "new_bytes"},
    "ArchiveReport": {"bytes_before", "bytes_after"},
    "FactAddition": {"undo"},
    "FactChange": {"undo"},
}
"""The same, of one type: a daemon has files of its own in the home, a backup's id is its time, and what undoes a
decision has the time of the decision."""

Run = Mapping[str, tuple[Request[Any], Any]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_home(tmp_path_factory.mktemp("contract"))


@contextmanager
def opened(name: str, built: Path, folder: Path) -> Iterator[LocalTransport | DaemonTransport]:
    if name == "daemon":
        with served(built, folder / "home") as transport:
            yield transport
    else:
        with open_engine(copied(built, folder / "home")) as engine:
            yield LocalTransport(engine)


@pytest.fixture(scope="module")
def runs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Run]]:
    """All cases on each transport, with the folder of each."""
    done: dict[str, tuple[Path, Run]] = {}
    for name in ("local", "daemon"):
        folder = tmp_path_factory.mktemp(name)
        write_inputs(folder)
        with opened(name, built, folder) as transport:
            done[name] = folder, run(transport, folder)
    folder, local = done["local"]
    done["memory"] = folder, run(recorded(local), folder)
    return done


@pytest.fixture(scope="module", params=["local", "daemon"])
def transport(
    request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalTransport | DaemonTransport]:
    with opened(request.param, built, tmp_path_factory.mktemp("alone")) as made:
        yield made


# --- results ----------------------------------------------------------------------------------------------


NEED_A_SERVER = {r.MoveIndexRequest, r.ClaimIndexRequest}
"""Requests that succeed only with a Qdrant server: ``integration/test_index_move.py`` sends them to an owner, too."""


@pytest.mark.slow
def test_every_request_is_covered(runs: Mapping[str, tuple[Path, Run]]) -> None:
    for _, done in runs.values():
        succeeded = {type(request) for request, result in done.values() if not isinstance(result, Failed)}
        assert succeeded | NEED_A_SERVER == {*REQUESTS}


@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("case", [one.name for one in CASES])
def test_a_result_is_of_the_type_that_its_request_names(
    runs: Mapping[str, tuple[Path, Run]], name: str, case: str
) -> None:
    request, result = runs[name][1][case]
    declared = result_type(type(request))
    if not isinstance(result, Failed):
        check_type(result, list[get_args(declared)[0]] if get_origin(declared) is Stream else declared)  # type: ignore[misc]


@pytest.mark.parametrize("case", [one.name for one in CASES])
def test_results_and_errors_are_the_same(runs: Mapping[str, tuple[Path, Run]], case: str) -> None:
    local, daemon, memory = (comparable(runs[name][1][case][1], runs[name][0]) for name in TRANSPORTS)
    assert daemon == local
    assert memory == local


def test_the_fake_notes_what_was_sent_and_is_closed(runs: Mapping[str, tuple[Path, Run]]) -> None:
    folder, local = runs["local"]
    fake = recorded(local)
    run(fake, folder)
    assert fake.sent == [request for request, _ in local.values()]
    with pytest.raises(UsageError, match="no answer to CountsRequest"):
        MemoryTransport({}).send(r.CountsRequest())
    fake.close()
    with pytest.raises(StoreError, match="closed"):
        fake.send(r.CountsRequest())


def check_type(value: Any, declared: Any) -> None:
    """Assert that a value, and what it holds, is of a declared type."""
    kind, inner = get_origin(declared) or declared, get_args(declared)
    if kind is types.UnionType:
        declared = next(one for one in inner if (one is types.NoneType) == (value is None))  # what may be None
        kind, inner = get_origin(declared) or declared, get_args(declared)
    if declared is Any or kind is dict or kind is Mapping or not isinstance(kind, type):
        return
    assert isinstance(value, kind if declared is not None else type(None)), (value, declared)
    if issubclass(kind, Sequence) and len(inner) == 1:
        for item in value:
            check_type(item, inner[0])


def comparable(value: Any, folder: Path) -> Any:
    """A result as it is compared: without what differs from run to run, and with the type of everything in it."""
    if isinstance(value, str):
        words = value.replace(str(folder), "FOLDER")
        words = re.sub(r"\b[0-9a-f]{16}\b", "RANDOM", words)
        return re.sub(r"20(?!26-0[123])\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?", "NOW", words)
    if isinstance(value, float):
        return round(value, 3)  # what is weighed by its age goes on ageing
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        names = {one.name for one in fields(value)} - VOLATILE_OF.get(kind, set())
        return kind, comparable({name: getattr(value, name) for name in names}, folder)
    if isinstance(value, Mapping):
        return {
            comparable(name, folder): comparable(one, folder) for name, one in value.items() if name not in VOLATILE
        }
    if isinstance(value, Sequence):
        return [comparable(one, folder) for one in value]
    return value


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (r.SessionRequest("s99"), NotFound),
        (r.SearchRequest("x", limit=0), UsageError),
        (r.ListWatchedFoldersRequest(["/nowhere at all"]), HomeError),
        (r.WatchRequest(["/nowhere at all"], once=True), HomeError),
    ],
)
def test_errors_travel(transport: Transport, request_: Request[Any], kind: type[ApplianceError]) -> None:
    with pytest.raises(kind) as caught:
        transport.send(request_)
    error = caught.value
    assert type(error) is kind
    assert (error.where is not None) is (kind is HomeError) and (error.hint is not None or kind is UsageError)


def test_what_json_cannot_say_is_said(transport: Transport) -> None:
    with pytest.raises(UsageError, match="Unicode"):
        transport.send(r.CreateSessionRequest(title="a \ud800 lone surrogate"))
    with pytest.raises(UsageError):
        transport.send(r.CreateSessionRequest(metadata={"a": object()}))


# --- streams and progress -----------------------------------------------------------------------------------


def closed_elsewhere(
    stream: Stream[Any], after: Callable[[], object] = lambda: None, *, first: bool = True
) -> list[Any]:
    """Read a stream on a thread until another thread closes it; what was read."""
    items: list[Any] = []
    failed: list[BaseException] = []
    began = threading.Event()

    def read() -> None:
        try:
            began.set()
            for item in stream:
                items.append(item)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert began.wait(PATIENCE)
    after()
    if first:
        until(lambda: items or failed, "an item")
    stream.close()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "closing it ends its reader"
    assert not failed, failed
    return items


def test_an_export_is_closed_by_another_thread(transport: Transport) -> None:
    stream = transport.send(r.ExportRequest())
    assert next(stream)["content"]
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive() and not list(stream)
    assert transport.send(r.CountsRequest())["messages"] > 0


def test_a_subscription_is_closed_by_another_thread(transport: Transport) -> None:
    said = threading.Event()

    def say() -> None:
        session = transport.send(r.CreateSessionRequest())
        transport.send(r.AddMessageRequest(session.id, "user", "The heron is back"))
        said.set()

    items = closed_elsewhere(transport.send(r.EventsRequest()), say)
    assert said.is_set() and items[0].kind == "ingested" and isinstance(items[0], Event)
    assert closed_elsewhere(transport.send(r.EventsRequest()), first=False) == []


@pytest.mark.slow
def test_a_watch_is_closed_by_another_thread(transport: Transport, tmp_path: Path) -> None:
    write_inputs(tmp_path)
    items = closed_elsewhere(transport.send(r.WatchRequest([tmp_path / "drop"])))
    assert [event.report.new for event in items] == [1]
    assert closed_elsewhere(transport.send(r.WatchRequest([tmp_path / "drop"])), first=False) == []


def test_progress_is_told(transport: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    told: list[Progress] = []
    report = transport.send(r.IngestRequest("buoys.jsonl"), told.append)
    assert (report.files[0].path, report.files[0].new) == ("buoys.jsonl", 600)
    reading = [one for one in told if one.stage == "reading"]
    embedding = [one for one in told if one.stage == "embedding"]
    assert (reading[-1].file, reading[-1].done) == ("buoys.jsonl", 600)
    assert embedding[-1].pending == 0 and embedding[-1].done > 0
    told.clear()
    assert transport.send(r.ReindexRequest(), told.append) > 0
    assert told and told[-1].pending == 0


# --- the client ---------------------------------------------------------------------------------------------


def test_a_memory_of_a_daemon_has_all_that_a_local_one_has(built: Path, tmp_path: Path) -> None:
    with (
        serving(built, tmp_path / "served") as home,
        Appliance.open(home.root) as attached,
        Appliance.open(copied(built, tmp_path / "own"), worker=False, embedder=HashEmbedder()) as local,
    ):
        assert attached.is_attached and not local.is_attached
        assert attached.settings == local.settings
        for path in ("", "sessions", "facts", "summaries", "pins", "overview", "erasure", "events"):
            own, other = (getattr(memory, path) if path else memory for memory in (local, attached))
            public = {name for name in dir(own) if not name.startswith("_")}
            assert public and public == {name for name in dir(other) if not name.startswith("_")}
        own_session, other_session = (memory.sessions.create() for memory in (local, attached))
        assert {*dir(own_session)} == {*dir(other_session)}
        private = attached.sessions.create(private=True)
        assert isinstance(private, Session) and private.is_private


def test_a_watcher_that_is_stopped_before_its_stream_began_ends(built: Path, tmp_path: Path) -> None:
    write_inputs(tmp_path)
    with open_engine(copied(built, tmp_path / "home")) as engine:
        local = LocalTransport(engine)

        class LateTransport:
            def send(self, request: Request[Any], on_progress: Any = None) -> Any:
                result = local.send(request, on_progress)
                if isinstance(request, r.WatchRequest):
                    watcher.stop()
                return result

            def close(self) -> None:
                """The engine is the test's."""

        watcher = Appliance(LateTransport(), engine.home, engine.settings).watcher([tmp_path / "drop"])
        thread = threading.Thread(target=watcher.run, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.mark.slow
def test_a_watcher_whose_stream_fails_can_run_again(built: Path, tmp_path: Path) -> None:
    """As a daemon's does after a while."""
    write_inputs(tmp_path)
    with open_engine(copied(built, tmp_path / "home")) as engine:
        local, failures = LocalTransport(engine), [StoreError("The disk is away.")]

        class FailingTransport:
            def send(self, request: Request[Any], on_progress: Any = None) -> Any:
                if isinstance(request, r.WatchRequest) and failures:
                    raise failures.pop()
                return local.send(request, on_progress)

            def close(self) -> None:
                """The engine is the test's."""

        reports: list[FileReport] = []
        watcher = Appliance(FailingTransport(), engine.home, engine.settings).watcher(
            [tmp_path / "drop"], on_read=reports.append
        )
        with pytest.raises(StoreError, match="away"):
            watcher.run(once=True)
        watcher.run(once=True)
        assert reports


def test_a_search_over_the_socket_goes_first() -> None:
    """What somebody waits for is answered before the other work that the server has."""
    names = (r.SearchRequest.name, r.ContextRequest.name)
    assert {f"/local/requests/{name}" for name in names} == {path for path in QUERY_PATHS if path.startswith("/local")}


def test_every_request_has_a_name_of_its_own() -> None:
    assert {kind.name: requests.request_named(kind.name) for kind in REQUESTS} == {kind.name: kind for kind in REQUESTS}
    assert len({kind.name for kind in REQUESTS}) == len(REQUESTS)
    with pytest.raises(KeyError):
        requests.request_named("overview.nothing")
