"""How every screen looks, with the clock and the cursor standing still.

Every scene is drawn at the middle size in the dark theme, at the sizes that break a layout, and in the theme that has
other colours; where colours are at stake, in the high contrast and without colours, too. Most are slow tests: in the
quick run a few scenes stand for all.

``pytest tests/tui/test_tui_snapshots.py -m '' --snapshot-update`` draws them anew; look at what changed before it is
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from scenes import SCENES, still
from screens import opened, until
from textual.pilot import Pilot

from appliance_tui.app import ApplianceApp

SIZES = {"small": (80, 24), "middle": (120, 40), "large": (200, 60)}


STAND_FOR_ALL = ("recall-found", "reading", "context", "memory", "vitals")
"""Scenes whose layouts between them have every widget that is laid out anew at another size."""


def looks() -> Iterator[ParameterSet]:
    """Every scene with the sizes and the themes in which it is drawn."""

    def one(scene: str, size: str, theme: str, slow: bool) -> ParameterSet:
        return pytest.param(scene, size, theme, id=f"{scene}-{size}-{theme}", marks=[pytest.mark.slow] if slow else [])

    for scene in SCENES:
        yield one(scene, "middle", "dark", scene not in STAND_FOR_ALL)
        yield one(scene, "small", "dark", scene != "recall-found")
        yield one(scene, "large", "dark", scene != "recall-found")
        yield one(scene, "middle", "light", scene != "recall-found")
    for scene in ("recall-found", "review-disputed"):
        for theme in ("contrast", "plain"):
            yield one(scene, "middle", theme, scene != "recall-found")


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
