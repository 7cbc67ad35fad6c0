"""Every text can be read in every theme: what is drawn has a contrast of 4.5 with what is behind it (WCAG 2.1, AA)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.color import Color
from scenes import MOMENTS, SCENES, still
from screens import run, shown, until
from textual.color import Color as Shade

from appliance_tui.app import ApplianceApp
from appliance_tui.themes import THEMES

MIN_CONTRAST = 4.5
BLOCK = range(0x2500, 0x25A0)
"""Frames, bars and scrollbars: shapes, not text."""
BRAILLE = range(0x2800, 0x2900)
"""The points of a plot."""


def _luminance(shade: Shade) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(shade.r) + 0.7152 * linear(shade.g) + 0.0722 * linear(shade.b)


def contrast(one: Shade, other: Shade) -> float:
    """The contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _shade(colour: Color | None, default: str) -> Shade:
    return Shade.parse(default) if colour is None or colour.is_default else Shade.from_rich_color(colour)


def texts(app: ApplianceApp) -> Iterator[tuple[str, Shade, Shade]]:
    """Every piece of text on the screen with its colour and the one behind it."""
    theme = app.current_theme
    dialog = [widget.region for widget in app.screen.children] if app.screen.is_modal else [app.screen.region]
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        end = 0
        for text, style, _ in strip:
            x, end = end, end + cell_len(text)
            if not any(region.contains(x, y) for region in dialog):
                continue  # behind a dialog, faded
            letters = "".join(letter for letter in text if ord(letter) not in BLOCK and ord(letter) not in BRAILLE)
            if style is None or not letters.strip():
                continue
            front = _shade(style.color, theme.foreground or "")
            back = _shade(style.bgcolor, theme.background or "")
            yield letters.strip(), *((back, front) if style.reverse else (front, back))


def unreadable(app: ApplianceApp) -> list[str]:
    """What can't be read on the screen."""
    found = {
        f"{app.theme}: {text!r}, {front.hex} on {back.hex}: {contrast(front, back):.2f}"
        for text, front, back in texts(app)
        if contrast(front, back) < MIN_CONTRAST
    }
    return sorted(found)


QUICK = ("recall-list",)


@pytest.mark.parametrize(
    "scene", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in (*SCENES, *MOMENTS)]
)
def test_all_texts_can_be_read_in_every_theme(scene: str, looked_at: Path) -> None:
    async def body() -> None:
        async with shown(looked_at, notifications=True, motion=False) as (app, pilot):
            await until(pilot, lambda: app.status_text)
            await (SCENES | MOMENTS)[scene](app, pilot)
            found = []
            for theme in THEMES:
                app.theme = theme.name
                await still(app, pilot)
                found += unreadable(app)
            assert not found, "\n".join(found)

    run(body)


def test_a_contrast_is_measured_as_the_standard_says() -> None:
    assert contrast(Shade.parse("#000"), Shade.parse("#fff")) == pytest.approx(21)
    assert contrast(Shade.parse("#777"), Shade.parse("#fff")) == pytest.approx(4.48, abs=0.01)
