"""The servers to try the program with, run as CONTRIBUTING.md says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance import Appliance
from tests.waits import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_program_is_tried_on_loopback(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.loopback_servers"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as servers:  # fmt: skip
        assert servers.stdout is not None and servers.stdin is not None
        lines = [servers.stdout.readline().split() for _ in range(7)]
        for line in lines:
            if line[0] == "export":
                for name, _, value in (one.partition("=") for one in line[1:]):
                    monkeypatch.setenv(name, value)
        commands = [line[2:] for line in lines if line[:2] == ["#", "appliance"]]
        assert [command[0] for command in commands] == ["reindex", "index", "models"]
        with Appliance.open(home, worker=False) as memory:
            memory.sessions.create().add("user", "the otter sleeps beside the river")
            memory.reindex(model=commands[0][2])
            assert memory.index.move(commands[1][2]).points == 1
            assert memory.search("otter").found and not memory.verify().problems
        assert (Path(commands[2][2]) / "config.json").is_file()
        servers.stdin.write("\n")
        servers.stdin.flush()
        assert servers.stdout.readline().startswith("3 requests with 3 texts to the Jina API, ")
        servers.stdin.close()
        assert servers.wait(PATIENCE) == 0
    assert not Path(commands[2][2]).exists()
