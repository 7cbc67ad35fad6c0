"""The page of all keys: columns that never run together, and a word where nothing matches."""

from __future__ import annotations

import asyncio

import pytest
from scenes import words
from screens import until
from textual.widgets import Input, Static

from appliance import Appliance
from appliance_tui.actions import ACTIONS, display_keys
from appliance_tui.app import ApplianceApp
from appliance_tui.screens.help import HelpScreen


@pytest.mark.parametrize(
    ("width", "keys"), [(120, {}), (80, {"forget.erase": "ctrl+shift+pagedown,ctrl+alt+end"}), (44, {})]
)
def test_there_is_a_gap_between_the_columns_and_nothing_found_is_said(
    memory: Appliance, width: int, keys: dict[str, str]
) -> None:
    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False, keys=keys)
        async with app.run_test(size=(width, 30)) as pilot:
            await until(pilot, lambda: app.status_text)
            await app.push_screen(HelpScreen("app"))
            screen = app.screen
            text = "\n".join(str(block.content) for block in screen.query(".help-keys").results(Static))
            room = screen.query_one("#help-text").scrollable_content_region.width
            assert all(len(line) <= room for line in text.splitlines())
            lines = text.splitlines()
            for action in ACTIONS:
                start = f"{display_keys(action, keys):<11}  {action.name}"
                assert any(f"{line}  ".startswith(f"{start}  ") for line in lines), start
            nothing = screen.query_one("#help-nothing")
            assert not nothing.display
            screen.query_one(Input).value = "zebra"
            await until(pilot, lambda: nothing.display and "No key matches" in words(app))

    asyncio.run(go())
