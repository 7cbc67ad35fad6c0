"""``kill -9`` while it summarises, then open: nothing is twice, all stores agree, and it goes on to the same end."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from crash_runs import open_memory, write
from workers import shared_workers

from appliance import Appliance
from tests import homes
from tests.summary_talk import chat

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

SESSIONS = 12


def run(home: Path, kill: tuple[int, float] | None) -> tuple[list[str], float, bool]:
    """Summarise in a process of its own, killed so many seconds after so many events; the sessions that it told
    of, how long it worked, and whether it was killed before its end."""
    outcome = shared_workers().run("run_verbs.summarise", str(home), kill_at=kill)
    assert outcome.code == 0 or (kill is not None and outcome.killed), outcome.errors
    told = [about for kind, about in outcome.acknowledged if kind == "summarised"]
    return told, outcome.seconds, outcome.killed


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
