"""The keys of lists that have nothing to move in: no options, or none that are laid out yet."""

from __future__ import annotations

import asyncio

import pytest
from screens import until
from textual.app import App
from textual.command import CommandInput, CommandList
from textual.content import Content
from textual.events import Key
from textual.widget import Widget

from appliance import Appliance
from appliance_tui.actions import ActionProvider
from appliance_tui.app import ApplianceApp
from appliance_tui.details import DetailList, DetailPart
from appliance_tui.list_keys import Navigable, OptionRows
from appliance_tui.screens.palette import PaletteScreen
from appliance_tui.widgets.files import FileList
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.session_list import SessionList
from appliance_tui.widgets.transcript import TranscriptView


def test_the_palette_takes_the_keys_of_its_list_before_it_is_drawn_and_while_it_is_empty(memory: Appliance) -> None:
    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.status_text)
            assert app._driver is not None
            for key in ("ctrl+p", "pagedown", "pageup"):  # as a terminal sends them
                app._driver.send_message(Key(key, None))
            await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
            palette = app.screen
            assert isinstance(palette, PaletteScreen)
            listed, line = palette.query_one(CommandList), palette.query_one(CommandInput)
            await until(pilot, lambda: listed.option_count)
            line.value = "theme"
            await pilot.press("ctrl+u", "pagedown", "pageup")
            for is_empty in (False, True):
                listed.display = is_empty  # before, its options have no place
                listed._clear_caches()
                if is_empty:
                    listed.clear_options()
                for action in ("page_up", "page_down", "first", "last", "cursor_up", "cursor_down"):
                    palette._action_command_list(action)
                palette._action_cursor_down()
            assert app.screen is palette

    asyncio.run(go())


@pytest.mark.parametrize("is_shown", [True, False])
def test_keys_do_nothing_in_a_list_that_is_empty_or_not_laid_out(is_shown: bool) -> None:
    def move_all(*lists: Widget) -> None:
        for listed in lists:
            assert isinstance(listed, Navigable)
            for by in (1, -1):
                listed.action_page(by)
                listed.action_step(by)
                listed.action_end(by > 0)

    async def go() -> None:
        async with App[None]().run_test(size=(60, 20)) as pilot:
            details = DetailList(id="details")
            rows = RowList[str](lambda item, width: Content(item), key=str, id="rows")
            files, transcript = FileList("files", "Files", "None"), TranscriptView(id="transcript")
            lists = OptionRows(id="options"), details, files, rows, SessionList(id="sessions"), transcript
            for listed in lists:
                listed.display = is_shown
            await pilot.app.mount(*lists)
            move_all(*lists)
            details.show([DetailPart(Content("A message"), "m1"), DetailPart(Content("Another"), "m2")])
            rows.show(["one", "two"])
            move_all(*lists)
            details.highlighted = 0
            details.action_page(1)
            await pilot.pause(0)
            move_all(*lists)

    asyncio.run(go())


def test_a_word_finds_the_actions_that_say_it_and_no_others() -> None:
    """The letters of a word stand in most sentences somewhere."""

    async def go() -> None:
        async with App[None]().run_test() as pilot:
            provider = ActionProvider(pilot.app.screen)

            async def found(query: str) -> list[str]:
                hits = [hit async for hit in provider.search(query)]
                return [hit.text for hit in sorted(hits, key=lambda hit: -hit.score) if hit.text]

            assert await found("backup") == []
            assert (await found("undo"))[0] == "Undo"
            assert "Undo" in await found("take back")
            assert (await found("expo"))[0].endswith("Export")

    asyncio.run(go())
