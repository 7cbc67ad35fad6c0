"""Escape on the People screen leads back step by step, and moves nothing on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import fill, run, shown, until
from textual.content import Content

from appliance_tui.details import DetailList, DetailPart
from appliance_tui.screens.people import PeopleScreen
from appliance_tui.widgets.rows import RowList
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


def test_escape_clears_the_filter_then_leaves_the_details_then_the_screen(built: Path, home: Path) -> None:
    async def body() -> None:
        async with shown(copied(built, home), (100, 16)) as (app, pilot):
            await pilot.press("f2", "f7")
            page = app.screen
            assert isinstance(page, PeopleScreen)
            rows, detail = page.query_one("#people-rows", RowList), page.query_one("#person", DetailList)
            await until(pilot, lambda: rows.items and detail.parts and not app.workers)
            assert detail.max_scroll_y > 0 and detail.scroll_y == 0
            page._filter = "a"
            page._show()
            detail.focus()
            await pilot.press("escape")
            await until(pilot, lambda: not page._filter and not app.workers)
            assert detail.scroll_y == 0 and detail.has_focus
            await pilot.press("escape")
            await until(pilot, lambda: rows.has_focus)
            assert app.screen is page and detail.scroll_y == 0
            await pilot.press("escape")
            await until(pilot, lambda: app.current_mode == "conversations")

    run(body)


def test_details_that_lead_to_the_same_places_stay_where_they_were_read(built: Path, home: Path) -> None:
    def parts(text: str) -> list[DetailPart]:
        return [DetailPart(Content(f"{text} {number}"), "m1" if number == 29 else "") for number in range(30)]

    async def body() -> None:
        async with shown(copied(built, home), (100, 16)) as (app, pilot):
            await pilot.press("f7")
            detail = app.screen.query_one("#person", DetailList)
            await until(pilot, lambda: detail.parts and not app.workers)
            detail.show(parts("Line"))
            await until(pilot, lambda: detail.max_scroll_y > 0 and detail.scroll_y == 0)
            for text in ("Line", "Another"):
                detail.show(parts(text))
                await pilot.pause(0)
                await until(pilot, lambda: detail.scroll_y == 0)

    run(body)
