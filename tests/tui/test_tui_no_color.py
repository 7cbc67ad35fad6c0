"""NO_COLOR: no colour at all reaches the terminal, and what is selected is seen all the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pseudo_terminal import PseudoTerminal, pseudo_terminal
from rich.segment import Segment
from rich.style import Style
from scenes import SCENES, still
from screens import opened, run, shown, talk
from textual.color import Color

from appliance import Appliance
from appliance_tui.app import ApplianceApp
from appliance_tui.themes import THEMES, ColourFilter


@pytest.mark.slow
def test_the_plain_theme_is_used_and_no_colour_is_drawn(looked_at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def body() -> None:
        async with shown(looked_at, motion=False) as (app, pilot):
            assert app.theme == "appliance-plain"
            await SCENES["recall-list"](app, pilot)
            await still(app, pilot)
            drawn = [
                (text, style)
                for strip in app.screen._compositor.render_strips()
                for text, style, _ in strip
                if style is not None
            ]
            assert drawn and not any(style.color or style.bgcolor for _, style in drawn)
            assert "walnuts" in "".join(text for text, style in drawn if style.reverse)  # the selected hit

    run(body)


def test_an_empty_no_color_counts_as_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app = ApplianceApp(opened(home))
    assert app.theme == "appliance-dark" and not app.no_color
    assert not any(isinstance(each, ColourFilter) for each in app.get_line_filters())


def test_bold_and_reverse_stay_without_colours() -> None:
    def bare(style: str) -> Style | None:
        (segment,) = ColourFilter().apply([Segment("x", Style.parse(style))], Color(0, 0, 0))
        return segment.style

    assert bare("bold reverse #ff0000 on #00ff00") == Style(bold=True, reverse=True)
    assert bare(f"#ff0000 on {THEMES[0].variables['block-cursor-background']}") == Style(reverse=True)


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    with Appliance.open(home) as memory:
        memory.ingest(talk(tmp_path / "talk.jsonl"))
    return home


def _look_around(terminal: PseudoTerminal) -> None:
    terminal.until("9 messages")
    terminal.type("walnuts")
    terminal.until("allergic to")
    terminal.type("\r")
    terminal.until("Bake it at 230")
    terminal.type("\x1bOQ")  # F2
    terminal.until("Harbour watch")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--theme", "light")])
def test_the_terminal_gets_no_colour(filled: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    with pseudo_terminal(filled, *options, NO_COLOR="1") as terminal:
        _look_around(terminal)
        assert terminal.colours() == []
        assert re.search(rb"\x1b\[[0-9;]*7m", terminal.sent)  # reversed


@pytest.mark.slow
def test_the_terminal_gets_colours_else(filled: Path) -> None:
    with pseudo_terminal(filled) as terminal:
        _look_around(terminal)
        assert b"38" in terminal.colours() and b"48" in terminal.colours()
