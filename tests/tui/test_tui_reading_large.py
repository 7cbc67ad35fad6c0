"""Reading years of talk: 50,000 messages in one conversation, and the screen goes on all the time."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from screens import run, shown, until
from textual.strip import Strip

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.widgets import message_cache
from appliance_tui.widgets.message_cache import MAX_CACHED_LINES
from appliance_tui.widgets.text_rendering import TextStyle
from appliance_tui.widgets.transcript import TranscriptView

pytestmark = pytest.mark.slow

MESSAGES = 50_000
DRAWN_FIRST = 200
"""Texts that are drawn at most before the first screen stands there."""

DRAWN = 5_000
"""Texts that are drawn at most on the way through a hundred pages."""

SHOWN_IN = 1.0
BLOCKED = 0.05
"""Seconds that nothing may hold the screen up."""

LATE = 5
"""How often it may be late all the same, of more than a hundred pages: the machine has other things to do, too."""

WORDS = "ferry harbour bread walnut ledger deadline lisbon garden river engine tomorrow answer window paper".split()
CODE = "```python\ndef ferry(at: int) -> str:\n    return f'{at:02}:40'  # the early one\n```"


def lines(path: Path) -> Path:
    """One conversation of many years, in which some messages are long and some are code."""
    random = Random(7)
    at = datetime(2015, 1, 1, 8)
    with path.open("w", encoding="utf-8") as file:
        for number in range(MESSAGES):
            at += timedelta(minutes=random.choice((0, 1, 3, 30, 300)))
            said = " ".join(random.choices(WORDS, k=random.choice((5, 20, 60, 120))))
            if number % 40 == 0:
                said += f"\n\n{CODE}"
            if number % 500 == 0:
                said += "\n" + "\n".join(f"line {line} of a long list" for line in range(400))
            author = None if number % 2 else "Ana"
            line = {
                "session_id": "years", "session_title": "Years", "message_id": f"y{number}",
                "role": "assistant" if number % 2 else "user", "author": author,
                "timestamp": at.isoformat() + "Z", "content": f"Number {number}: {said}",
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
    return path


@pytest.fixture
def years(home: Path, tmp_path: Path) -> Path:
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(lines(tmp_path / "years.jsonl"), wait=False)
    return home


class Beats:
    """How long the loop was held up: ``worked`` is the longest that it worked itself in one go, ``late`` how often it
    was late, be it that it waited for something or that the machine was given to others."""

    def __init__(self) -> None:
        self.worked = 0.0
        self.late = 0

    async def beat(self) -> None:
        pause = 0.002
        while True:
            began, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(pause)
            self.worked = max(self.worked, time.thread_time() - used)
            self.late += time.perf_counter() - began - pause > BLOCKED


@asynccontextmanager
async def beating() -> AsyncIterator[Beats]:
    beats = Beats()
    task = asyncio.ensure_future(beats.beat())
    try:
        yield beats
    finally:
        task.cancel()


def text(transcript: TranscriptView) -> str:
    """What is on the screen."""
    return "\n".join(transcript.render_line(row).text for row in range(transcript.size.height))


def is_drawn(transcript: TranscriptView) -> bool:
    """Whether no message on the screen has a "…" alone in the place of its text."""
    return all(row.strip("▌ ") != "…" for row in text(transcript).splitlines())


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The thread of each text that is drawn."""
    threads: list[threading.Thread] = []
    draw = message_cache.render_piece

    def noted(piece: str, look: TextStyle) -> list[Strip]:
        threads.append(threading.current_thread())
        return draw(piece, look)

    monkeypatch.setattr(message_cache, "render_piece", noted)
    return threads


@pytest.mark.parametrize("by_the_clock", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_years_of_talk_open_at_once_and_never_hold_the_screen_up(
    years: Path, drawing: list[threading.Thread], by_the_clock: bool
) -> None:
    """Few texts are drawn, and none on the screen's thread. On a machine of its own it is measured, too."""

    async def body() -> None:
        async with shown(years) as (app, pilot):
            page = ConversationScreen("years")
            app.push_screen(page)
            await until(pilot, lambda: page.is_mounted and page.transcript.conversation_layout is not None)
            came = time.perf_counter()
            transcript = page.transcript
            await until(pilot, lambda: "Number 0:" in text(transcript))
            took = time.perf_counter() - came
            print(f"shown {took * 1000:.0f} ms after the outline")
            assert took < SHOWN_IN or not by_the_clock
            assert len(drawing) <= DRAWN_FIRST
            gc.freeze()  # as the program does when it starts: the tests have loaded more than it
            async with beating() as beats:
                for key, times in (("pagedown", 60), ("end", 1), ("pageup", 40), ("home", 1), ("end", 1)):
                    for _ in range(times):
                        app.simulate_key(key)  # a pilot's press would wait for a quiet moment
                        await asyncio.sleep(0.01)
                    await until(pilot, lambda: not app.input_queue.is_busy and is_drawn(transcript))
                    assert transcript.body_cache.line_count <= MAX_CACHED_LINES
                assert f"Number {MESSAGES - 1}:" in text(transcript)
            print(f"worked {beats.worked * 1000:.0f} ms at most, {beats.late} times late")
            assert len(drawing) <= DRAWN and threading.current_thread() not in drawing
            if by_the_clock:
                assert beats.worked < BLOCKED
                assert beats.late <= LATE

    try:
        run(body)
    finally:
        gc.unfreeze()
