"""The screen under test: on a real memory with a tiny model, driven by keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from tests.waits import PATIENCE

SIZE = (120, 40)
LOOK = 0.01
"""Seconds between two looks at the screen, which is asked to handle all messages before each."""
TALK = (
    ("harbour", "user", "Ana", "2025-03-01T09:00:00Z", "When does the ferry to Brodgar leave?"),
    ("harbour", "assistant", None, "2025-03-01T09:00:20Z", "The ferry to Brodgar leaves at **06:40**."),
    ("harbour", "user", "Ana", "2025-03-02T18:30:00Z", "Remind me: my sister Mira moved to Lisbon."),
    ("harbour", "assistant", None, "2025-03-02T18:30:30Z", "Noted.\n\n```python\ncity = 'Lisbon'\n```"),
    ("kitchen", "user", "דניאל", "2025-04-11T12:00:00Z", "The sourdough needs 78 % water, 水 is all it takes."),
    ("kitchen", "user", "Ana", "2025-04-11T12:01:00Z", "I'm allergic to walnuts, so none of those in it."),
    ("kitchen", "assistant", None, "2025-04-11T12:02:00Z", "Bread without walnuts, then. Bake it at 230 °C."),
    ("ledger", "user", "Ana", "2025-05-20T08:00:00Z", "My deadline for the ledger is 12 June 2025."),
    ("ledger", "assistant", None, "2025-05-20T08:00:10Z", "Then the ledger is due on 12 June 2025."),
)
TITLES = {"harbour": "Harbour watch", "kitchen": "麺 and bread", "ledger": "The ledger"}


def talk(path: Path) -> Path:
    """Three short conversations as native JSONL."""
    lines = [
        {"session_id": session, "session_title": TITLES[session], "message_id": f"{session}-{number}", "role": role,
         "author": author, "timestamp": at, "content": text}
        for number, (session, role, author, at, text) in enumerate(TALK)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def fill(home: Path, folder: Path) -> Path:
    """A home that remembers the three conversations, tended."""
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(talk(folder / "talk.jsonl"))
        memory.run_pending_jobs()
    return home


def opened(home: Path) -> Callable[[], Appliance]:
    """What opens the memory for an app."""
    return lambda: Appliance.open(home, embedder=HashEmbedder(), worker=False)


@asynccontextmanager
async def shown(
    home: Path, size: tuple[int, int] = SIZE, notifications: bool = False, **how: Any
) -> AsyncIterator[tuple[ApplianceApp, Pilot[None]]]:
    """The app on a home, once it knows what there is."""
    app = ApplianceApp(opened(home), **how)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        await until(pilot, lambda: bool(app.status_text))
        yield app, pilot


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Let the app go on until something holds.

    Raises:
        AssertionError: it does not in ``PATIENCE``.
    """
    end = asyncio.get_running_loop().time() + PATIENCE
    while True:
        await pilot.pause(0)  # what is on its way to a widget has come
        if holds():
            return
        assert asyncio.get_running_loop().time() < end, "it did not come about"
        await asyncio.sleep(LOOK)


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the body of a test."""
    asyncio.run(body())


async def type_in(pilot: Pilot[Any], text: str) -> None:
    """Press the keys of a text."""
    names = {" ": "space", ":": "colon", "-": "minus", ".": "full_stop"}
    await pilot.press(*(names.get(letter, letter) for letter in text))


Scene = Callable[[ApplianceApp, Pilot[None]], Awaitable[None]]
