"""Draws the screens that stand in the README: the real program on the demo data, as SVGs.

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

SIZE = (118, 34)
NOW = 1_773_500_000_000_000_000
"""The moment at which the demo's clock stands still: some days after its last message."""

PATIENCE = 60.0
STILL = 20
"""Looks in a row at which a screen has to be the same."""

Scene = Callable[[ApplianceApp, Pilot[None]], Awaitable[None]]


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE
    while not holds():
        if asyncio.get_running_loop().time() > end:
            raise SystemExit("the screen did not come about")
        await pilot.pause(0.05)


async def typed(app: ApplianceApp, pilot: Pilot[None], text: str) -> None:
    line = app.screen.query_one("#query", Input)
    line.value = ""
    line.insert_text_at_cursor(text)
    await until(pilot, lambda: getattr(app.screen, "answered", text) == text)


async def recall(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await typed(app, pilot, "which food is dangerous for Ben")


async def why(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await recall(app, pilot)
    await pilot.press("escape", "w")


async def reading(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await recall(app, pilot)
    await pilot.press("enter")


async def context(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("f3")
    await pilot.pause()
    app.screen.query(Input).first().insert_text_at_cursor("what can I cook for Mara and Ben?")


async def memory(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("f4")


SCENES: dict[str, Scene] = {
    "recall": recall,
    "why": why,
    "reading": reading,
    "context": context,
    "memory": memory,
}


async def settled(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """Return when the screen has been the same for a while."""
    last, since = "", 0
    while since < STILL:
        for line in app.screen.query(Input):
            line.cursor_blink = False
        await pilot.pause(0.05)
        now = drawn(app)
        last, since = now, since + 1 if now == last else 0


def drawn(app: ApplianceApp) -> str:
    """The screen as an SVG that is the same each time, and loads nothing from elsewhere."""
    svg = app.export_screenshot(title="appliance tui")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"\bterminal-\d+-", "terminal-", svg)


def pictures() -> dict[str, str]:
    """Each scene's SVG, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        for name in [name for name in os.environ if name.startswith("APPLIANCE_")]:
            del os.environ[name]
        time.time_ns = lambda: NOW
        home = Path(folder, "memory")
        with Appliance.open(home, worker=False) as opened:
            opened.ingest(list(samples()))
            opened.tend()
        return {name: asyncio.run(_picture(home, scene)) for name, scene in SCENES.items()}


async def _picture(home: Path, scene: Scene) -> str:
    app = ApplianceApp(lambda: Appliance.open(home, worker=False), theme="dark", motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.told)
        await scene(app, pilot)
        await settled(app, pilot)
        return drawn(app)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in pictures().items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
