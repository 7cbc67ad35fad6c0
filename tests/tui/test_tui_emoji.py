"""Emoji that are joined of several: terminals disagree on their width, so the screen draws none."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len, get_character_cell_size
from screens import opened, run, shown, until
from textual.strip import Strip

from appliance_tui.widgets.display_text import fit_width, one_line, sanitize

FAMILY = "👨‍👩‍👧‍👦 Family ❤️ 🏳️‍🌈 👩🏽‍💻"


def widths_agree(text: str) -> bool:
    """Whether a terminal that draws each character by itself and one that joins them come to the same width."""
    return cell_len(text) == sum(map(get_character_cell_size, text))


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (FAMILY, "👨👩👧👦 Family ❤ 🏳🌈 👩💻"),
        ("👍🏽 yes", "👍 yes"),
        ("🏽", "🏽"),  # a colour by itself is one
        ("1️⃣ 🇩🇪", "1⃣ 🇩🇪"),
        ("क्‍ष می‌خواهم", "क्‍ष می‌خواهم"),  # letters that need their joiners
        ("plain", "plain"),
    ],
)
def test_joined_emoji_are_drawn_as_single_ones(text: str, drawn: str) -> None:
    assert sanitize(text) == drawn
    assert one_line(drawn) == drawn


def test_their_width_is_the_same_in_every_terminal() -> None:
    assert not widths_agree(FAMILY)
    assert widths_agree(one_line(FAMILY))
    assert cell_len(fit_width(FAMILY, 9)) == 9


@pytest.mark.slow
def test_a_title_with_joined_emoji_leaves_no_stray_cells(home: Path) -> None:
    with opened(home)() as memory:
        session = memory.sessions.create(title=FAMILY)
        session.add("user", f"Who brings the cake? {FAMILY}", author=FAMILY)
        session.add("user", "The walnut cake 👍🏽")

    async def body() -> None:
        async with shown(home, (140, 30)) as (app, pilot):

            def lines() -> list[Strip]:
                return app.screen._compositor.render_strips()

            def says(text: str) -> bool:
                return any(text in line.text for line in lines())

            async def agrees() -> None:
                await until(pilot, lambda: says("👨👩👧👦 Family"))
                assert all(widths_agree(line.text) for line in lines())

            await pilot.press(*"cake")
            await agrees()
            await pilot.press("f2")
            await agrees()
            await pilot.press("enter")
            await until(pilot, lambda: says("walnut"))
            await agrees()

    run(body)
