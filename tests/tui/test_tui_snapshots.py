"""How every screen looks, with the clock and the cursor standing still.

Every screen and dialog is drawn in every theme, at the smallest size and at a large one. Most are slow tests: in the
quick run a few stand for all, and what differs from two others in nothing is a campaign.

``pytest tests/tui/test_tui_snapshots.py -m '' --snapshot-update`` draws them anew; look at what changed before it is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pytest_textual_snapshot import SVGImageExtension
from scenes import SCENES, still
from screens import opened, run, until
from syrupy.assertion import SnapshotAssertion

from appliance_tui.app import ApplianceApp
from appliance_tui.themes import PREFIX

SIZES = {"small": (80, 24), "large": (200, 60)}
THEMES = ("dark", "light", "contrast", "plain")
STATES = (
    "recall-gone", "recall-completed", "recall-list", "palette", "notified", "reading-found", "context-rows",
    "memory-details", "picker", "import", "files", "proposals",
)  # fmt: skip
"""Scenes that show a screen once more, in a state that changes little of it: these are drawn once."""
QUICK = ("recall-found",)
"""What stands for all in the quick run."""


def looks() -> Iterator[ParameterSet]:
    """Every scene with the sizes and the themes in which it is drawn, those of a size one after the other."""

    for scene in SCENES:
        marks = [] if scene in QUICK else [pytest.mark.slow]
        if scene in STATES:
            yield pytest.param(scene, "small", THEMES[:1], id=f"{scene}-small", marks=marks)
            continue
        yield pytest.param(scene, "small", THEMES, id=f"{scene}-small", marks=marks)
        yield pytest.param(scene, "large", THEMES[:1], id=f"{scene}-large", marks=marks)
        # The layout is that of the dark one, the colours are those of the small.
        marks = [pytest.mark.slow, pytest.mark.campaign]
        yield pytest.param(scene, "large", THEMES[1:], id=f"{scene}-large-colours", marks=marks)


@pytest.mark.parametrize(("scene", "size", "themes"), looks())
def test_it_looks_as_it_did(
    scene: str, size: str, themes: tuple[str, ...], looked_at: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    kept = snapshot.use_extension(SVGImageExtension)
    changed: list[str] = []

    async def body() -> None:
        app = ApplianceApp(opened(looked_at), theme=themes[0], motion=False)
        async with app.run_test(size=SIZES[size], notifications=True) as pilot:
            await until(pilot, lambda: app.status_text)
            await SCENES[scene](app, pilot)
            for theme in themes:
                app.theme = f"{PREFIX}{theme}"
                await still(app, pilot)
                drawn = app.export_screenshot(title=app.title, simplify=True)
                if kept(name=theme) != drawn:
                    changed.append(str(tmp_path / f"{theme}.svg"))
                    Path(changed[-1]).write_text(drawn, encoding="utf-8")

    run(body)
    assert not changed, "drawn otherwise than before"
