"""A daemon follows the setting ``watch.folders`` as other programs change it, and no file is read by two watchers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance, HomeError
from tests import forked_programs
from tests.server.daemons import ROOT, Daemon, environment, filled, running
from tests.tested_program import PROGRAM
from tests.waits import PATIENCE, until
from tests.watch_runs import contents, lines

pytestmark = pytest.mark.slow

FAST = {"APPLIANCE_WATCH_SETTLE": "0.1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with running(filled(home, []), **FAST) as daemon:
        yield daemon


def appliance(home: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return forked_programs.run(
        [*PROGRAM, *map(str, words), "--home", str(home)],
        capture_output=True, text=True, env=environment(**FAST), check=False, timeout=120,
    )  # fmt: skip


def test_a_daemon_follows_what_is_added_and_removed(daemon: Daemon, home: Path, folder: Path) -> None:
    (folder / "before.jsonl").write_text(lines("ana", 1))
    done = appliance(home, "watch", "add", folder)
    assert done.returncode == 0 and "follows at once" in done.stderr, done.stderr
    with Appliance.open(home) as memory:
        assert memory.is_attached_to_daemon
        until(lambda: contents(memory) == ["ana says 0"])
        (folder / "later.jsonl").write_text(lines("ben", 1))
        until(lambda: contents(memory) == ["ana says 0", "ben says 0"])
        assert str(folder) in memory.overview.folders()
        assert "no longer watching" in appliance(home, "watch", "remove", folder).stdout
        assert memory.overview.folders() == [str(memory.home.inbox)]
        (folder / "unread.jsonl").write_text(lines("eve", 1))
        (memory.home.inbox / "read.jsonl").write_text(lines("kim", 1))
        until(lambda: "kim says 0" in contents(memory))
        assert "eve says 0" not in contents(memory)
    assert daemon.process.poll() is None


def test_discover_watch_is_followed(home: Path, tmp_path: Path) -> None:
    person = tmp_path / "ines"
    (person / "Downloads").mkdir(parents=True)
    (person / "Downloads/chat.jsonl").write_text(lines("ana", 2))
    with running(filled(home, []), HOME=str(person), **FAST):
        done = forked_programs.run(
            [*PROGRAM, "discover", "--watch", "--json", "--home", str(home)],
            capture_output=True, env=environment(HOME=str(person), **FAST), check=True, timeout=120,
        )  # fmt: skip
        assert json.loads(done.stdout)["added"] == [f"{person}/Downloads/chat.jsonl"]
        with Appliance.open(home) as memory:
            until(lambda: len(contents(memory)) == 2)


def test_watching_beside_a_daemon_reads_no_file_twice(daemon: Daemon, home: Path, folder: Path) -> None:
    words = [*PROGRAM, "watch", str(folder), "--json", "--home", str(home)]
    with forked_programs.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**FAST), cwd=ROOT
    ) as other:
        assert other.stdout is not None and other.stderr is not None
        assert "Ctrl-C" in other.stderr.readline()
        inbox = home / "inbox"
        (inbox / "in.jsonl").write_text(lines("ana", 3))
        (folder / "out.jsonl").write_text(lines("ben", 2))
        reports = [json.loads(other.stdout.readline()) for _ in range(2)]
        assert sorted((Path(file["path"]).name, file["new"], file["duplicates"]) for file in reports) == [
            ("in.jsonl", 3, 0),
            ("out.jsonl", 2, 0),
        ]
        other.send_signal(signal.SIGTERM)
        assert other.wait(PATIENCE) == 0
        assert other.stdout.read() == ""
    log = (home / "logs").glob("*")
    assert sum(path.read_text().count('"read a file"') for path in log) == 2


HASTY = """
import runpy
import sys
from appliance.cli import watch
watch.DAEMON_RESTART_SECONDS = 0.6
sys.argv[0] = "appliance"
runpy.run_module("appliance", run_name="__main__")
"""
"""The program, which waits for a daemon no longer than a test does."""


@pytest.mark.slow
def test_watching_goes_on_without_a_daemon_that_is_killed(daemon: Daemon, home: Path, folder: Path) -> None:
    words = [sys.executable, "-c", HASTY, "watch", str(folder), "--json", "--home", str(home)]
    with forked_programs.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**FAST), cwd=ROOT
    ) as other:
        assert other.stdout is not None and other.stderr is not None
        assert "Ctrl-C" in other.stderr.readline()
        daemon.process.kill()
        daemon.process.wait(PATIENCE)
        assert "The daemon has ended." in other.stderr.readline()
        assert "Ctrl-C" in other.stderr.readline()
        (folder / "out.jsonl").write_text(lines("ben", 2))
        assert json.loads(other.stdout.readline())["new"] == 2
        other.send_signal(signal.SIGTERM)
        assert other.wait(PATIENCE) == 0


def test_once_beside_a_daemon_waits_until_all_is_read(daemon: Daemon, home: Path, folder: Path) -> None:
    for number in range(5):
        (folder / f"{number}.jsonl").write_text(lines(f"ana{number}", 1))
    done = appliance(home, "watch", folder, "--once")
    assert done.stdout.count(" 1 new, 0 updated, 0 known") == 5, done.stdout + done.stderr
    (folder / "later.jsonl").write_text(lines("ben", 1))
    assert appliance(home, "watch", folder, "--once").stdout.count(" 1 new") == 1


def test_what_does_not_exist_is_not_added(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        with pytest.raises(HomeError, match="no such folder"):
            memory.watching.add([str(tmp_path / "gone")])
        assert memory.watching.remove([str(tmp_path / "gone")]).paths == ()
