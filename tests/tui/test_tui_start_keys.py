"""Letters on the start page are text, whatever led there; no key acts on a hit that is not seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import fill, opened, run, shown, type_in, until

from appliance_tui.app import ApplianceApp
from appliance_tui.frame import KeyFooter
from appliance_tui.screens.search import SearchScreen
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


@pytest.mark.parametrize("words", ["dinner", pytest.param("under", marks=pytest.mark.slow)])
def test_letters_right_behind_escape_are_text(filled: Path, words: str) -> None:
    """No letter is for the hits of the line before, which are listed no more."""

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, hits, page = app.query_one(SearchInput), app.query_one(HitList), app.query_one(StartPagePanel)
            await until(pilot, lambda: page.page)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: hits.hits)
            await pilot.press("escape", "escape", "escape", *words)
            await until(pilot, lambda: line.value == words)
            assert isinstance(app.screen, SearchScreen) and app.focused is line

    run(body)


@pytest.mark.slow
def test_no_letter_is_a_command_on_the_start_page(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, page = app.query_one(SearchInput), app.query_one(StartPagePanel)
            await until(pilot, lambda: page.display)
            for letter in "fgjkuGdpwxXstye":
                await pilot.press("escape", letter)
                await until(pilot, lambda letter=letter: line.value == letter)  # type: ignore[misc]
                await pilot.press("backspace")
                await until(pilot, lambda: page.display and not line.value)

    run(body)


@pytest.mark.slow
def test_the_start_page_takes_keys_when_words_came_before_it(filled: Path) -> None:
    async def body() -> None:
        app = ApplianceApp(opened(filled))
        async with app.run_test(size=(80, 24)) as pilot:
            line, hits, page = app.query_one(SearchInput), app.query_one(HitList), app.query_one(StartPagePanel)
            await pilot.press(*"ferry")
            await until(pilot, lambda: hits.hits)
            for _ in range(3):
                await pilot.press("escape")
                await pilot.pause(0.05)
            await until(pilot, lambda: page.display)
            await pilot.press("down")
            await until(pilot, lambda: page.marked == 0)
            await until(pilot, lambda: "Open" in "".join(p.content.plain for p in app.query_one(KeyFooter).parts))
            await pilot.press(*"ferry")
            await until(pilot, lambda: line.value == "ferry" and hits.hits)

    run(body)


@pytest.mark.slow
def test_the_start_page_of_another_user_takes_keys(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, page = app.query_one(SearchInput), app.query_one(StartPagePanel)
            await until(pilot, lambda: page.display)
            await pilot.press("escape", "down")
            for user in ("eve", None):
                app.user = user
                await until(pilot, lambda: page.page is not None)
                await pilot.press("b")
                await until(pilot, lambda: line.value == "b")
                await pilot.press("backspace")
            await until(pilot, lambda: page.display)
            await pilot.press("down")
            await until(pilot, lambda: page.marked == 0)

    run(body)


@pytest.mark.slow
def test_without_a_hit_letters_behind_tab_stay_commands(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, hits = app.query_one(SearchInput), app.query_one(HitList)
            app.screen.search_filters = app.screen.search_filters.with_filter("source", "slack")  # type: ignore[attr-defined]
            await until(pilot, lambda: hits.results is not None and not hits.hits)
            hits.focus()
            await until(pilot, lambda: app.focused is hits)
            await pilot.press("j", *"de", "X")  # X drops the filter, which hides the hits
            await until(pilot, lambda: not app.screen.search_filters)  # type: ignore[attr-defined]
            assert not line.value

    run(body)
