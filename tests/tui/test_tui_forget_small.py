"""Forgetting on a small screen: what is erased stays in view, and digits are of the number that is asked for."""

from __future__ import annotations

import asyncio

import pytest
from forget_dialog import asks, run, told
from scenes import words
from screens import until
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input

from appliance import Appliance
from appliance.types import Receipt
from appliance_tui.app import ApplianceApp
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


@pytest.mark.parametrize("keys", [("space", "space"), ("space", "1", "enter", "tab", "space")])
def test_keys_from_before_the_dialog_is_drawn_tick_and_type_nothing(
    memory: Appliance, repeated: str, keys: tuple[str, ...]
) -> None:
    other = memory.sessions.create(title="Tea").add("user", "I like green tea.").id
    memory.erasure.forget(memory.erasure.preview(other))

    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.status_text)
            assert app._driver is not None
            app.forget(repeated)
            for key in keys:  # as a terminal sends them
                app._driver.send_message(Key(key, " " if key == "space" else key if len(key) == 1 else None))
            await until(pilot, lambda: isinstance(app.screen, ForgetScreen) and asks(app.screen))
            screen = app.screen
            assert isinstance(screen, ForgetScreen)
            count = screen.query_one("#forget-count", Input)
            await until(pilot, lambda: count.has_focus and not app.input_queue.is_busy)
            assert count.value == "" and not any(box.value for box in screen.query(Checkbox))
            assert [box.id for box in screen.query(Checkbox)] == ["forget-echoes"]
            await pilot.press("ctrl+r")
            await until(pilot, lambda: not asks(screen) and "y Copy" in words(app))
            assert "Go on" not in words(app)  # in a receipt, enter does nothing
            await pilot.press("escape", "space")  # from the receipts back to the number
            await until(pilot, lambda: asks(screen) and count.has_focus)
            assert "Go on" in words(app)
            assert not any(box.value for box in screen.query(Checkbox))
            app.screen.dismiss()
            app.forget(repeated)
            app._driver.send_message(Key("escape", None))
            await until(pilot, lambda: not isinstance(app.screen, ForgetScreen))

    asyncio.run(go())


def test_everything_beside_a_field_says_which_one_to_clear_and_how(memory: Appliance, repeated: str) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        assert screen.focused is screen.query_one("#forget-words")
        screen.query_one("#forget-words", Input).value = "key"
        screen.query_one("#forget-since", Input).value = "2025"
        screen.query_one("#forget-everything", Checkbox).focus()
        await pilot.press("space")
        await until(pilot, lambda: "can't be combined with Words and Since" in told(screen))
        assert "^u in each" in told(screen)

    run(memory, (), body)
