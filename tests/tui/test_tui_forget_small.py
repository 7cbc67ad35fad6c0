"""Forgetting on a small screen: what is erased stays in view, and digits are of the number that is asked for."""

from __future__ import annotations

import pytest
from forget_dialog import asks, run
from scenes import words
from screens import until
from textual.pilot import Pilot
from textual.widgets import Input

from appliance import Appliance
from appliance.types import Receipt
from appliance_tui.screens.forget import ForgetScreen

TEXT = "The spare key hangs behind the boiler."


@pytest.fixture
def repeated(memory: Appliance) -> str:
    """A message that seven others repeat."""
    sessions = [memory.sessions.create(title=f"Keys {number}") for number in range(8)]
    ids = [session.add("user", TEXT).id for session in sessions]
    return ids[0]


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
def test_the_message_is_in_view_and_tab_leads_to_no_line_for_words(
    memory: Appliance, repeated: str, size: tuple[int, int]
) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        assert f"{repeated} · " in words(pilot.app) and "spare key hangs" in words(pilot.app)  # type: ignore[arg-type]
        await until(pilot, lambda: "exact copy" in words(pilot.app))  # type: ignore[arg-type]
        count = screen.query_one("#forget-count", Input)
        await until(pilot, lambda: count.has_focus)
        for _ in screen.focus_chain:
            await pilot.press("tab")
            await pilot.press("1")
            assert count.value == "1" and count.has_focus
            count.value = ""

    run(memory, (repeated,), body, size)
