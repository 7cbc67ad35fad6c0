"""The screen stays quick while the memory takes in an export beside it, in the same process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from screens import fill, run, shown, type_in

from tests.bench.screen import Beats

pytestmark = pytest.mark.slow

MESSAGES = 3_000
HELD_UP = 0.05
"""Seconds that a frame may be held up. The interpreter's lock is shared with the ingest, and the machine with other
tests: three beats in a hundred may be later (docs/benchmarks.md has how late they were)."""
MOSTLY = 0.97


def export(path: Path) -> Path:
    lines = (
        {
            "session_id": f"s{number // 30}",
            "message_id": str(number),
            "role": "user",
            "timestamp": f"2025-01-{1 + number % 28:02}T10:00:00Z",
            "content": f"The crane of harbour {number} lifts {number % 7} crates of oil and {number % 11} of rope.",
        }
        for number in range(MESSAGES)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("by_the_clock", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_no_frame_waits_for_an_ingest(home: Path, tmp_path: Path, by_the_clock: bool) -> None:
    """The loop comes round all the time. On a machine of its own it is measured, too."""
    fill(home, tmp_path)
    file = export(tmp_path / "much.jsonl")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await type_in(pilot, "ferry")
            beats = Beats()
            beating = asyncio.create_task(beats.go_on())
            report = await app.memory_worker.run_command(lambda memory: memory.ingest(file))
            beating.cancel()
            assert report.embedded == MESSAGES
            late = sorted(beats.late)
            assert len(late) > 100
            assert late[int(MOSTLY * len(late))] < HELD_UP or not by_the_clock, late[-20:]

    run(body)
