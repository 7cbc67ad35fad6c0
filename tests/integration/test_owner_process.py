"""A process that owns a home for a screen: it answers, ends with the screen, and can be done without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from appliance import Appliance, StoreCorrupt
from appliance.paths import find_home
from appliance.transports import owner_process
from tests.waits import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets here")]


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_process, "processors", lambda: 2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Appliance.open(tmp_path / "home", worker=False) as memory:
        memory.sessions.create(title="Kites").add("user", "the red kite flew highest")
    return tmp_path / "home"


def test_it_owns_the_home_and_answers_until_the_context_ends(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for module in ("random", "msgspec"):  # a person's own files, where the person stands
        (tmp_path / f"{module}.py").write_text("raise SystemExit('not the library')")
    with owner_process.running(find_home(home), "a screen") as wait:
        wait()
        with Appliance.open(home) as memory:
            assert memory.is_attached and not memory.is_attached_to_daemon
            owner = memory.owner
            assert owner is not None and owner.pid != os.getpid() and owner.purpose == "a screen"
            assert [hit.text for hit in memory.search("kite", mode="lexical")] == ["the red kite flew highest"]
    with Appliance.open(home, worker=False) as memory:
        assert not memory.is_attached, "the process has ended, and this one owns the home"


def test_one_that_was_started_early_takes_the_home_that_is_named_then(home: Path) -> None:
    with owner_process.started_early("a screen"):
        (early,) = owner_process._early
        with owner_process.running(find_home(home), "a screen") as wait:
            wait()
            with Appliance.open(home) as memory:
                owner = memory.owner
                assert owner is not None and owner.pid == early.pid and owner.purpose == "a screen"
        assert early.returncode == 0


@pytest.mark.parametrize("obstacle", ["daemon", "no screen"])
def test_one_that_was_started_early_for_nothing_ends(home: Path, obstacle: str) -> None:
    with owner_process.started_early("a screen"):
        (early,) = owner_process._early
        if obstacle == "daemon":
            (home / "daemon.json").write_text("{}")
            with owner_process.running(find_home(home), "a screen"):
                assert early.returncode is not None
    assert early.returncode is not None and not owner_process._early


def test_it_creates_a_home(tmp_path: Path) -> None:
    with owner_process.running(find_home(tmp_path / "new"), "a screen") as wait:
        wait()
        with Appliance.open(tmp_path / "new") as memory:
            assert memory.is_attached and memory.overview.counts()["messages"] == 0


def test_where_another_process_owns_the_home_it_ends(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        with owner_process.running(find_home(home), "a screen") as wait:
            wait()
            owner = memory.owner
            assert owner is not None and owner.pid == os.getpid()
        assert memory.overview.counts()["messages"] == 1


def test_what_is_wrong_with_the_home_is_reported_where_it_is_opened(home: Path) -> None:
    (home / "recall.db").write_bytes(b"no database at all" * 500)
    with owner_process.running(find_home(home), "a screen") as wait:
        wait()
        with pytest.raises(StoreCorrupt):
            Appliance.open(home)


def test_when_it_is_killed_the_attached_process_owns_the_home(home: Path) -> None:
    with owner_process.running(find_home(home), "a screen") as wait:
        wait()
        with Appliance.open(home) as memory:
            owner = memory.owner
            assert owner is not None
            os.kill(owner.pid, signal.SIGKILL)
            until(lambda: not memory.is_attached)
            assert [hit.text for hit in memory.search("kite", mode="lexical")] == ["the red kite flew highest"]


def test_it_ends_when_the_other_process_is_killed(home: Path) -> None:
    screen = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys, time; from appliance.paths import find_home; from appliance.transports import owner_process\n"
            "owner_process.processors = lambda: 2\n"
            "with owner_process.running(find_home(sys.argv[1]), 'a screen') as wait:\n"
            "    wait(); print('ready', flush=True); time.sleep(600)",
            str(home),
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert screen.stdout is not None and screen.stdout.readline() == b"ready\n"
        with Appliance.open(home, worker=False) as memory:
            assert memory.is_attached
            screen.kill()
            screen.wait()
            # This process becomes the owner at a request after the other one has left.
            until(lambda: memory.overview.counts()["messages"] == 1 and not memory.is_attached)
    finally:
        screen.kill()
        screen.wait()
        screen.stdout.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("obstacle", ["daemon", "one processor"])
def test_without_need_or_means_no_process_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    if obstacle == "daemon":
        (home / "daemon.json").write_text("{}")
    else:
        monkeypatch.setattr(owner_process, "processors", lambda: 1)

    def refuse(*arguments: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(owner_process, "_started", refuse)
    with owner_process.running(find_home(home), "a screen") as wait:
        wait()
