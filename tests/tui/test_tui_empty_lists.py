"""A key for a row of a list that has none says so, and the footer does not offer it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, type_in, until
from test_tui_footer import footer
from textual.pilot import Pilot

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.attachments import AttachmentsScreen
from appliance_tui.screens.inbox import InboxScreen
from appliance_tui.screens.memory import MemoryScreen
from appliance_tui.screens.people import PeopleScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.rows import RowList


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    return fill(folder / "home", folder)


async def assert_told(app: ApplianceApp, pilot: Pilot[Any], reason: str, *keys: str) -> None:
    """Each of the keys is answered by the reason, and does nothing else."""
    screen = app.screen
    for key in keys:
        app.clear_notifications()
        await pilot.press(key)
        await until(pilot, lambda: app._notifications)
        assert [one.message for one in app._notifications] == [reason], key
        assert app.screen is screen, key
    await until(pilot, lambda: "Select" not in footer(app))


def test_keys_for_a_conversation_say_that_none_is_listed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.sessions.rows and "space Select" in footer(app))  # type: ignore[attr-defined]
            await pilot.press("P")
            await until(pilot, lambda: not app.screen.sessions.rows)  # type: ignore[attr-defined]
            keys = ("enter", "space", "p", "r", "d", "x", "e", "t", "shift+down", "shift+up")
            await assert_told(app, pilot, "No conversation is listed.", *keys)
            app.clear_notifications()
            await pilot.press("ctrl+p", *"rename")
            await until(
                pilot, lambda: app.screen.query("OptionList") and app.screen.query_one("OptionList").option_count
            )  # type: ignore[attr-defined]
            await pilot.press("enter")  # the palette says so too
            await until(pilot, lambda: [one.message for one in app._notifications] == ["No conversation is listed."])

    run(body)


@pytest.mark.slow
def test_keys_for_an_entry_of_memory_say_that_none_is_listed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f4")
            page = app.screen
            assert isinstance(page, MemoryScreen)
            rows = page.query_one("#entries", RowList)
            await until(pilot, lambda: rows.items)
            await assert_told_of_block(app, pilot)
            await pilot.press("2")
            await until(pilot, lambda: page._view == "review" and not page.rows_pending)
            await assert_told(
                app, pilot, "No statement is listed.", "enter", "space", "a", "c", "r", "p", "i", "x", "e"
            )
            await pilot.press("4")
            await until(pilot, lambda: page._view == "pinned" and not page.rows_pending)
            await assert_told(app, pilot, "No message is listed.", "enter", "space", "p", "i", "x", "e", "shift+down")

    async def assert_told_of_block(app: ApplianceApp, pilot: Pilot[Any]) -> None:
        await pilot.press("v")
        await until(pilot, lambda: any("press 5 for core memory" in one.message for one in app._notifications))

    run(body)


@pytest.mark.slow
def test_keys_for_a_person_say_that_none_is_listed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f7")
            page = app.screen
            assert isinstance(page, PeopleScreen)
            await until(pilot, lambda: page._rows.items)
            await assert_told_of(app, pilot, "No proposal about this person.", "a", "r")
            await pilot.press("slash")
            await type_in(pilot, "zzz")
            await pilot.press("enter")
            await until(pilot, lambda: not page._rows.items and page._rows.has_focus)
            await assert_told(app, pilot, "No person is listed.", "enter", "space", "m", "S", "n", "M", "c", "a", "r")
            await pilot.press("2")
            await until(pilot, lambda: page._view == "proposals")
            await assert_told(app, pilot, "No proposal is listed.", "enter", "space", "m", "a", "r")

    async def assert_told_of(app: ApplianceApp, pilot: Pilot[Any], reason: str, *keys: str) -> None:
        for key in keys:
            app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: [one.message for one in app._notifications] == [reason])

    run(body)


@pytest.mark.slow
def test_keys_for_a_file_say_that_none_is_listed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f5")
            page = app.screen
            assert isinstance(page, InboxScreen)
            await until(pilot, lambda: not page.rows_pending)
            await assert_told(app, pilot, "No file is listed.", "enter", "i", "v", "y", "X")
            await assert_told(app, pilot, "No import was broken off.", "r")
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.sessions.rows)  # type: ignore[attr-defined]
            await pilot.press("A")
            await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen) and not app.screen.rows_pending)
            await assert_told(app, pilot, "No file is listed.", "enter", "r")

    run(body)


@pytest.mark.slow
def test_keys_for_a_hit_say_that_none_is_listed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ferry until:2001 ")
            await until(pilot, lambda: app.screen.answered_query == "ferry " and app.screen.search_filters)  # type: ignore[attr-defined]
            hits = app.screen.query_one(HitList)
            await until(pilot, lambda: hits.results is not None and not hits.hits)
            await assert_told(app, pilot, "No hit is listed.", "enter")
            await pilot.press("tab")
            await until(pilot, lambda: hits.has_focus)
            await assert_told(app, pilot, "No hit is listed.", "enter", "shift+down")
            await assert_told(app, pilot, "There is no hit for p; tab leads back to the line.", "p")

    run(body)
