"""Three transports over homes that begin alike: an engine in this process, a daemon on a Unix socket, the fake."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from contract_cases import Failed, talk_lines

from appliance import __version__
from appliance import requests as r
from appliance.client import Appliance
from appliance.engine.engine import Engine
from appliance.paths import Home
from appliance.requests import Request, result_type
from appliance.server.access.grants import Service
from appliance.server.http.app import create_app
from appliance.transports.daemon import DaemonAddress, DaemonTransport
from appliance.transports.memory import MemoryTransport
from appliance.types import Stream
from appliance_models import HashEmbedder
from tests.homes import copied
from tests.http_calls import running


def build_home(folder: Path) -> Path:
    """A home with a few conversations."""
    (folder / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in talk_lines()))
    with open_engine(folder / "built") as engine:
        engine.ingest(r.IngestRequest(folder / "talk.jsonl"), lambda progress: None)
        engine.run_pending_jobs(r.RunJobsRequest(), lambda progress: None)
    return folder / "built"


def open_engine(home: Path) -> Engine:
    return Engine.open(home, worker=False, embedder=HashEmbedder())


@contextmanager
def serving(built: Path, home: Path) -> Iterator[Home]:
    """A copy of a home that is served on a Unix socket by a thread of this process, as ``appliance serve`` does it."""
    # The name of a Unix socket is at most 107 bytes long, and a test's folder may have more.
    with open_engine(copied(built, home)) as engine, tempfile.TemporaryDirectory() as folder:
        memory = Appliance.of(engine)
        service = Service(memory, engine, engine.home, engine.settings.server)
        path = Path(folder) / "socket"
        with running(create_app(service), uds=path):
            address = DaemonAddress(os.getpid(), "", str(path), "", __version__)
            engine.home.daemon.write_bytes(msgspec.json.encode(address))
            try:
                yield engine.home
            finally:
                service.stopping.set()
                engine.home.daemon.unlink()


@contextmanager
def served(built: Path, home: Path) -> Iterator[DaemonTransport]:
    """A transport to a daemon."""
    with serving(built, home) as at:
        transport = DaemonTransport(at)
        try:
            yield transport
        finally:
            transport.close()


class RecordedStream:
    """The items of a stream that was recorded."""

    def __init__(self, items: list[Any]) -> None:
        self._items = iter(items)

    def __iter__(self) -> RecordedStream:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def close(self) -> None:
        self._items = iter(())


def recorded(sent: Mapping[str, tuple[Request[Any], Any]]) -> MemoryTransport:
    """A fake that answers what was answered before, in that order."""

    left = iter(sent.values())

    def answer(request: Request[Any]) -> Any:
        asked, result = next(left)
        assert asked == request
        if isinstance(result, Failed):
            raise result.kind(result.message, where=result.where, hint=result.hint)
        streams = getattr(result_type(type(request)), "__origin__", None) is Stream
        return RecordedStream(result) if streams else result

    return MemoryTransport({type(request): answer for request, _ in sent.values()})
