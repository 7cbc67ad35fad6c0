"""In Recall a letter is text, until tab leads to the hits: there it is a command, and says what it has done."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import words
from screens import fill, run, shown, type_in, until
from test_tui_typing import settled
from textual.events import Paste

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.search import SearchScreen
from appliance_tui.search_notes import COMMANDS
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


def said(app: ApplianceApp) -> str:
    return "\n".join(notice.message for notice in app._notifications)


def test_letters_behind_arrows_and_escape_are_text(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, screen = app.query_one(SearchInput), app.screen
            assert isinstance(screen, SearchScreen)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await pilot.press("down", "escape", *" pdsxXu", "down", *"e")
            await settled(pilot)
            assert line.value == "ferry pdsxXue" and app.screen is screen and screen.sort == "score"
            assert not app.memory_worker.memory().pins.pinned("me") and not said(app)

    run(body)


@pytest.mark.slow
def test_behind_tab_letters_are_commands_which_say_what_they_do(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (100, 30)) as (app, pilot):
            line, hits, screen = app.query_one(SearchInput), app.query_one(HitList), app.screen
            assert isinstance(screen, SearchScreen)
            await type_in(pilot, "ferry role:user ")
            await until(pilot, lambda: hits.hits)
            assert COMMANDS not in words(app)
            await pilot.press("tab")
            await until(pilot, lambda: COMMANDS in words(app))
            await pilot.press("s")
            await until(pilot, lambda: "Newest hits first; s lists the best first" in said(app))
            await pilot.press("X")
            await until(pilot, lambda: "Cleared role:user  (u undoes it)" in said(app))
            assert not screen.search_filters
            await pilot.press("u")
            await until(pilot, lambda: screen.search_filters.roles == ("user",))
            await until(pilot, lambda: hits.hits)
            await pilot.press("c")
            await until(pilot, lambda: "c is not a command here" in said(app))
            assert app._driver is not None
            app._driver.send_message(Paste(" to Brodgar"))
            await until(pilot, lambda: line.value == "ferry to Brodgar" and line.has_focus)
            await pilot.press("tab", "tab", "s")
            await until(pilot, lambda: line.value == "ferry to Brodgars")

    run(body)
