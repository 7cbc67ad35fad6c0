"""How every screen looks, with the clock and the cursor standing still.

Every screen and dialog is drawn in every theme, at the smallest size and at a large one. Most are slow tests: in the
quick run a few stand for all, and what differs from two others in nothing is a campaign.

``pytest tests/tui/test_tui_snapshots.py -m '' --snapshot-update`` draws them anew; look at what changed before it is
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from scenes import SCENES, still
from screens import opened, until
from textual.pilot import Pilot

from appliance_tui.app import ApplianceApp

SIZES = {"small": (80, 24), "large": (200, 60)}
STATES = (
    "recall-gone", "recall-completed", "recall-list", "palette", "notified", "reading-found", "context-rows",
    "memory-details", "picker", "import", "files", "proposals",
)  # fmt: skip
"""Scenes that show a screen once more, in a state that changes little of it: these are drawn once."""
QUICK = {
    *((scene, "small", "dark") for scene in ("recall-found", "reading", "context", "memory", "vitals")),
    ("recall-found", "large", "dark"),
    ("recall-found", "small", "light"),
}
"""What stands for all in the quick run: between them, these have every widget that is laid out anew at another size."""


def looks() -> Iterator[ParameterSet]:
    """Every scene with the sizes and the themes in which it is drawn."""
    for scene in SCENES:
        for size, theme in (
            [("small", "dark")] if scene in STATES else product(SIZES, ("dark", "light", "contrast", "plain"))
        ):
            marks = [] if (scene, size, theme) in QUICK else [pytest.mark.slow]
            if (
                size == "large" and theme != "dark"
            ):  # the layout is that of the dark one, the colours those of the small
                marks.append(pytest.mark.campaign)
            yield pytest.param(scene, size, theme, id=f"{scene}-{size}-{theme}", marks=marks)


@pytest.mark.parametrize(("scene", "size", "theme"), looks())
def test_it_looks_as_it_did(
    scene: str, size: str, theme: str, looked_at: Path, snap_compare: Callable[..., bool]
) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, ApplianceApp)
        await until(pilot, lambda: app.status_text)
        await SCENES[scene](app, pilot)
        await still(app, pilot)

    app = ApplianceApp(opened(looked_at), theme=theme, motion=False)
    assert snap_compare(app, terminal_size=SIZES[size], run_before=ready)
