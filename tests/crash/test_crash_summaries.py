"""``kill -9`` while it summarises, then open: nothing is twice, all stores agree, and it goes on to the same end."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crash_runs import open_memory, write

from appliance import Appliance
from tests import homes
from tests.summary_talk import chat

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

SESSIONS = 12

WORKER = """
import json, sys
from appliance import Appliance
from appliance_models import HashEmbedder

with Appliance.open(sys.argv[1], worker=False, embedder=HashEmbedder()) as memory:
    memory.events.listen(lambda event: print(json.dumps([event.kind, event.about]), flush=True))
    print(json.dumps(["open", ""]), flush=True)
    memory.run_pending_jobs()
"""


def run(home: Path, kill: tuple[int, float] | None) -> tuple[list[str], float, bool]:
    """Summarise in a process of its own, killed so many seconds after so many events; the sessions that it told
    of, how long it worked, and whether it was killed before its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    told: list[str] = []
    events = 0
    began = time.perf_counter()
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            kind, about = json.loads(line)
            events += 1
            if events == 1:
                began = time.perf_counter()
            if kind == "summarised":
                told.append(about)
            if kill is not None and events == kill[0]:
                time.sleep(kill[1])
                process.kill()
        process.wait()
    assert kill is not None or process.returncode == 0
    return told, time.perf_counter() - began, process.returncode != 0


def said(memory: Appliance) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """All that the summaries say, without their ids."""
    return [(s.session_id, s.level, s.text, tuple(q.message_id for q in s.quotes)) for s in memory.summaries.list()]


@pytest.mark.parametrize("count", [3, pytest.param(25, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_summarises(tmp_path: Path, count: int) -> None:
    first = tmp_path / "first"
    with open_memory(first) as memory:
        for number in range(SESSIONS):
            memory.ingest(write(tmp_path / f"{number}.jsonl", chat(f"chat{number}", 30)))
    whole = tmp_path / "whole"
    homes.copied(first, whole)
    told, seconds, _ = run(whole, None)
    assert len(told) == SESSIONS
    with open_memory(whole) as memory:
        expected = said(memory)
        points = memory.verify().checked["points"]
    chance = random.Random(count)
    kills = 0
    for number in range(count):
        home = tmp_path / "killed"
        shutil.rmtree(home, ignore_errors=True)
        homes.copied(first, home)
        after = 1 + int((number + chance.random()) * SESSIONS / count)
        told, _, killed = run(home, (after, chance.choice((0.0, chance.random() * seconds / SESSIONS))))
        kills += killed
        with open_memory(home) as memory:
            assert not memory.verify().problems
            there = {s.session_id for s in memory.summaries.list()}
            assert set(told) <= there, "what was told of is there"
            memory.run_pending_jobs()
            assert said(memory) == expected
            findings = memory.verify()
            assert not findings.problems
            assert findings.checked["points"] == points and findings.checked["pending"] == 0
    assert kills > count / 2, "most moments fell within the run"
