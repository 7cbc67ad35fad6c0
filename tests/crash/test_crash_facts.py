"""Killed while messages are read for facts: what is there afterwards is what would have been there anyway."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crash_runs import open_memory, write

from appliance import Appliance
from appliance.types import FactState
from tests import forked_programs
from tests.engines import engine_of

pytestmark = pytest.mark.slow

WORKER = """
import sys
from appliance import Appliance
from appliance_models import HashEmbedder
from tests.engines import engine_of

with Appliance.open(sys.argv[1], worker=False, embedder=HashEmbedder()) as memory:
    print("open", flush=True)
    engine_of(memory).facts.extract_pending()
    print("done", flush=True)
"""

TOWNS = "Berlin Madrid Rome Paris Lisbon Vienna Oslo Prague".split()


def content(memory: Appliance) -> str:
    states: tuple[FactState, ...] = ("held", "superseded", "ended", "review")
    facts = [fact for state in states for fact in memory.facts.list(state=state)]
    return json.dumps(sorted([f.state, f.text, f.since, f.until, len(f.evidence)] for f in facts))


def test_killed_readings_come_to_the_same_facts(tmp_path: Path) -> None:
    chance = random.Random(5)
    lines = [
        {
            "session_id": f"s{n % 7}",
            "message_id": str(n),
            "role": "user",
            "content": f"I live in {chance.choice(TOWNS)}. I use Postgres {chance.randrange(9, 17)}. Good evening {n}.",
            "timestamp": f"2024-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
        }
        for n in range(1_200)
    ]
    path = write(tmp_path / "a.jsonl", lines)
    for home in ("whole", "killed"):
        with open_memory(tmp_path / home) as memory:
            memory.ingest(path, wait=False)
    with open_memory(tmp_path / "whole") as memory:
        engine_of(memory).facts.extract_pending()
        expected = content(memory)
    kills = 0
    for attempt in range(4):
        process = forked_programs.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "killed")],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert process.stdout is not None
        with process.stdout as said:
            assert said.readline() == "open\n"
            time.sleep(chance.random() * 0.1 * (attempt + 1))
            process.kill()
            kills += "done" not in said.read()
        process.wait()
    assert kills, "none was killed at work"
    with open_memory(tmp_path / "killed") as memory:
        engine_of(memory).facts.extract_pending()
        assert memory.facts.pending() == 0
        assert content(memory) == expected
