"""A small memory with every kind of message, built once; a runner in this process, and one in a real one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_runs import HELP, ROOT, TRIP, Process, Run, command, environment, write
from typer.testing import CliRunner, Result

import appliance_models
from appliance import Appliance
from appliance.cli.app import app
from appliance_models import DEFAULT_MODEL, Embedder
from tests import forked_programs
from tests.homes import copied

read_model = appliance_models.load
shipped: list[Embedder] = []


def load_once(name: str = DEFAULT_MODEL, extra_folders: Sequence[Path] = (), threads: int | None = None) -> Embedder:
    """A model; the shipped one is read from the disk once for all command lines that run in this process."""
    if name != DEFAULT_MODEL:
        return read_model(name, extra_folders, threads)
    if not shipped:
        shipped.append(read_model(name))
    return shipped[0]


@pytest.fixture(autouse=True)
def _the_model_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appliance_models, "load", load_once)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the two conversations, and one of another user."""
    folder = tmp_path_factory.mktemp("built")
    with Appliance.open(folder / "home", worker=False) as memory:
        memory.ingest(write(folder / "chats.jsonl", TRIP + HELP))
        session = memory.sessions.create(title="Ana's own", user_id="ana")
        session.add("user", "The cellar key hangs behind the clock")
        memory.embed_pending()
    return folder / "home"


@pytest.fixture
def kept(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same home for all tests that change nothing in it."""
    monkeypatch.setenv("APPLIANCE_HOME", str(built))
    return built


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    copied(built, home)
    return home


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """The two conversations as a file."""
    return write(tmp_path / "chats.jsonl", TRIP + HELP)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times that people read are those of the machine, whose zone is UTC here."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def run() -> Run:
    """Run a command line in this process: ``run("search", "x")``."""

    def call(*arguments: str | Path, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    return call


@pytest.fixture
def process() -> Process:
    """Run a command line in a process of its own, with pipes."""

    def call(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
        return forked_programs.run(
            command(*arguments), capture_output=True, env=environment(), cwd=ROOT, timeout=120, check=False, **more
        )

    return call
