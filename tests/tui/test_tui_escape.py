"""Escape leads out, never into a line that is typed in."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pseudo_terminal import pseudo_terminal
from screens import fill, run, shown, type_in, until

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.explanation import ExplanationScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.search_notes import LEAVING
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.widgets.start_page import StartPagePanel
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


def note(app: ApplianceApp) -> str:
    return str(app.screen.query_one("#note").render())


@pytest.mark.slow
def test_escape_behind_a_dialog_changes_nothing_and_twice_it_shows_the_start_page(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, hits, page = app.query_one(SearchInput), app.query_one(HitList), app.query_one(StartPagePanel)
            await until(pilot, lambda: page.page)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: hits.hits)
            await pilot.press("tab", "w")
            await until(pilot, lambda: isinstance(app.screen, ExplanationScreen))
            await pilot.press("escape", "escape")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen) and LEAVING in note(app))
            await pilot.press("j")
            assert LEAVING not in note(app)
            await pilot.press("escape", "y", "escape")
            assert line.value == "ferry" and app.focused is hits
            await pilot.press("escape")
            await until(pilot, lambda: page.display and app.focused is line)
            assert not line.value
            await pilot.press("escape", "escape", "up")
            await until(pilot, lambda: line.value == "ferry")
            await until(pilot, lambda: hits.hits)
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, SearchScreen))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen))
            await type_in(pilot, "walnuts")  # in place of what was answered
            assert line.value == "walnuts"

    run(body)


@pytest.mark.slow
def test_a_command_right_behind_tab_waits_for_the_hits(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press(*"ferry", "tab", "w")
            await until(pilot, lambda: isinstance(app.screen, ExplanationScreen))
            assert app.screen_stack[0].query_one(SearchInput).value == "ferry"

    run(body)


@pytest.mark.slow
def test_without_hits_escape_leads_from_the_line_to_the_start_page(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = app.query_one(StartPagePanel)
            await until(pilot, lambda: page.page)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.query_one(HitList).hits)
            app.query_one(HitList).show(None)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: page.display and isinstance(app.focused, SearchInput))

    run(body)


def test_a_slash_on_the_empty_line_is_a_command_and_ctrl_u_only_deletes(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("slash", *"a/b")
            assert app.query_one(SearchInput).value == "a/b"
            await pilot.press("ctrl+u", "ctrl+u", "ctrl+u")
            assert not app.query_one(SearchInput).value
            assert not isinstance(app.screen, PickerScreen)

    run(body)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
@pytest.mark.parametrize("pause", [0.0, 0.06])
def test_a_key_right_behind_escape_is_no_text_in_a_real_terminal(filled: Path, pause: float) -> None:
    with pseudo_terminal(filled) as terminal:
        terminal.until("Harbour watch")
        terminal.type("ferry")
        terminal.until("hits")
        terminal.type("\t")  # to the hits, where letters are commands
        terminal.until("letters are commands")
        start = len(terminal.sent)
        terminal.type("\x1b")
        time.sleep(pause)  # a quick person
        terminal.type("w")
        terminal.until("is hit 1", start)
