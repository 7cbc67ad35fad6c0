"""Too little memory ("ulimit -v"): every command ends in time and with words, and a healthy index stays what it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance import Appliance
from tests.homes import copied

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")]

ISSUE_LIMIT_KB = 614_400
COMMANDS = {"search": ["search", "violin"], "add": ["add", "the kettle stands on the stove"], "verify": ["verify"]}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home with a message in it, embedded by the model that comes with the program."""
    home = tmp_path_factory.mktemp("built") / "home"
    with Appliance.open(home, worker=False) as memory:
        memory.sessions.create(title="music").add("user", "the violin is at the harbour")
        memory.embed_pending()
    return home


def run(home: Path, command: list[str], limit_kb: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*("sh", "-c", f'ulimit -v {limit_kb}; exec "$@"', "sh"), sys.executable, "-m", "appliance", *command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "APPLIANCE_HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


OTHER_LIMITS_KB = (300_000, 450_000, 800_000, 1_000_000, 1_500_000)


@pytest.mark.parametrize(
    "limit_kb", [ISSUE_LIMIT_KB, *(pytest.param(limit, marks=pytest.mark.campaign) for limit in OTHER_LIMITS_KB)]
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_process_with_little_memory_ends_with_words(built: Path, home: Path, command: str, limit_kb: int) -> None:
    copied(built, home)
    segments = sorted(path.name for path in (home / "index").glob("*/shard/segments/*"))
    ended = run(home, COMMANDS[command], limit_kb)
    assert ended.returncode in (0, 3), ended
    assert "Traceback" not in ended.stderr and "bug" not in ended.stderr, ended.stderr
    if command == "search":
        assert "violin is at the harbour" in ended.stdout
    if ended.returncode == 3:
        assert "memory" in ended.stdout + ended.stderr
    assert sorted(path.name for path in (home / "index").glob("*/shard/segments/*")) == segments
    with Appliance.open(home, worker=False) as memory:
        memory.embed_pending()
        assert not memory.verify().problems
        stored = [
            message.text for session in memory.sessions.list() for message in memory.sessions.messages(session.id)
        ]
    assert ("the kettle stands on the stove" in stored) == (command == "add" and "added" in ended.stdout)


def test_at_the_limit_of_the_issue_a_message_is_stored_and_said_to_be(built: Path, home: Path) -> None:
    copied(built, home)
    ended = run(home, COMMANDS["add"], ISSUE_LIMIT_KB)
    assert ended.returncode == 0, ended
    assert "added" in ended.stdout
    assert "stored" in ended.stderr and "MB are needed" in ended.stderr
