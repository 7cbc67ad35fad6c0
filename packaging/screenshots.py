"""Makes the screenshots of the README: the real program on the demo data, as SVGs.

.venv/bin/python packaging/screenshots.py docs/screens
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from appliance import Appliance
from appliance.demo import samples
from appliance_tui.app import ApplianceApp
from appliance_tui.widgets.start_page import StartPagePanel

SIZE = (118, 34)
NOW = 1_773_500_000_000_000_000
"""The time at which the clock is frozen, in nanoseconds: some days after the demo's last message."""

A_YEAR_LATER = 1_803_891_600_000_000_000
"""The first of March 2027, 9:00 UTC: a year after a day on which several conversations went on."""

TIMEOUT_SECONDS = 60.0
STABLE_CHECKS = 20
"""Checks in a row at which a screen must be unchanged to count as settled."""

Scene = Callable[[ApplianceApp, Pilot[None]], Awaitable[None]]


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    end = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
    while not condition():
        if asyncio.get_running_loop().time() > end:
            raise SystemExit("timed out waiting for a screen")
        await pilot.pause(0.05)


async def type_query(app: ApplianceApp, pilot: Pilot[None], text: str) -> None:
    line = app.screen.query_one("#query", Input)
    line.value = ""
    line.insert_text_at_cursor(text)
    await until(pilot, lambda: getattr(app.screen, "answered_query", text) == text)


async def start(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The start page a year after a day with messages, with two of them pinned."""
    memory = app.memory_worker.memory()
    for query in ("cashews", "Barbastro"):
        memory.pin(memory.search(query, limit=1)[0].message_id)
    time.time_ns = lambda: A_YEAR_LATER
    page = app.screen.query_one(StartPagePanel)
    page.read()
    await until(pilot, lambda: page.page is not None and page.page.on_this_day and len(page.page.pinned) == 2)
    await pilot.press("down")


async def recall(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await type_query(app, pilot, "which food is dangerous for Ben")


async def why(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await recall(app, pilot)
    await pilot.press("tab", "w")


async def reading(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await recall(app, pilot)
    await pilot.press("enter")


async def context(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("f3")
    await pilot.pause()
    message = "what can I cook for Mara and Ben?"
    app.screen.query(Input).first().insert_text_at_cursor(message)
    await until(pilot, lambda: getattr(app.screen, "answered_query", message) == message)


async def memory(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("f4")


SCENES: dict[str, Scene] = {
    "recall": recall, "why": why, "reading": reading, "context": context, "memory": memory, "start": start,
}  # fmt: skip
"""The scenes by name. The last one changes the memory and the clock."""


async def settle(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """Return when the screen has not changed for a while."""
    previous, unchanged = "", 0
    while unchanged < STABLE_CHECKS:
        for line in app.screen.query(Input):
            line.cursor_blink = False
        await pilot.pause(0.05)
        current = render(app)
        previous, unchanged = current, unchanged + 1 if current == previous else 0


def render(app: ApplianceApp) -> str:
    """The screen as a reproducible SVG that loads nothing from the network."""
    svg = app.export_screenshot(title="appliance tui")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"\bterminal-\d+-", "terminal-", svg)


def render_scenes() -> dict[str, str]:
    """The SVG of each scene, by name."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        for name in [name for name in os.environ if name.startswith("APPLIANCE_")]:
            del os.environ[name]
        time.time_ns = lambda: NOW
        home = Path(folder, "memory")
        with Appliance.open(home, worker=False) as opened:
            opened.ingest(list(samples()))
            opened.run_pending_jobs()
        return {name: asyncio.run(_render_scene(home, scene)) for name, scene in SCENES.items()}


async def _render_scene(home: Path, scene: Scene) -> str:
    app = ApplianceApp(lambda: Appliance.open(home, worker=False), theme="dark", motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.status_text)
        await scene(app, pilot)
        await settle(app, pilot)
        return render(app)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in render_scenes().items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
