"""A watcher that is killed at any moment and begun again loses nothing and doubles nothing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from crash_runs import chat, open_memory, write

from tests import forked_programs

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

WATCHER = """
import sys
from appliance import Appliance
from appliance_models import HashEmbedder

with Appliance.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    watcher = memory.watcher([sys.argv[2]])
    print("watching", flush=True)
    watcher.run(once=len(sys.argv) > 3)
    memory.embed_pending()
"""

FEW, MANY = 2, 20


def watch(home: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    process = forked_programs.Popen(
        [sys.executable, "-c", WATCHER, str(home), str(folder), *more],
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "APPLIANCE_WATCH_SETTLE": "0.05",
        },
    )
    assert process.stdout is not None and process.stdout.readline() == "watching\n"
    return process


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_restarts_at_random_moments_lose_and_double_nothing(tmp_path: Path, count: int) -> None:
    chance = random.Random(count)
    home, folder = tmp_path / "home", tmp_path / "exports"
    folder.mkdir()
    edited: set[str] = set()
    for number in range(count):
        process = watch(home, folder)
        for _ in range(3):
            # New exports, and later states of earlier ones; some land before, some while it reads.
            name = f"chat-{chance.randrange(1 + number)}"
            if chance.random() < 0.5:
                edited.add(name)
            lines = chat(name, 20 * (number + 1), edited=name in edited)
            whole = write(folder / f"{name}.jsonl.part", lines)
            whole.replace(folder / f"{name}.jsonl")
            time.sleep(chance.random() * 0.3)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    last = watch(home, folder, "once")
    assert last.wait(300) == 0
    assert last.stdout is not None
    last.stdout.close()
    with open_memory(home) as memory:
        there = [(line["message_id"], line["content"]) for line in memory.export()]
        assert set(Counter(id for id, _ in there).values()) == {1}, "nothing twice"
        latest = {
            line["message_id"]: line["content"]
            for path in folder.iterdir()
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        }
        assert latest.items() <= dict(there).items(), "nothing lost, and the latest state"
        assert all(file.complete for file in memory.overview.imported_files()), "each was read to its end"
        files = memory.status()["files"]
        assert (files["read"], files["queued"], files["failed"]) == (len(list(folder.iterdir())), 0, 0)
        assert not memory.verify().problems
