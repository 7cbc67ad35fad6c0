"""A running erasure goes on without its dialog, and says how it ends."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from forget_dialog import asks, done, run, told, two_conversations
from screens import until
from textual.pilot import Pilot
from textual.widgets import ProgressBar

from appliance import Appliance
from appliance import requests as r
from appliance.engine.erasure import ErasureService
from appliance.errors import HomeError
from appliance.memory import erasure as forgetting
from appliance.types import OnProgress, Progress, Receipt
from appliance_tui.app import ApplianceApp
from appliance_tui.frame import ScreenBar
from appliance_tui.screens.forget import ForgetScreen
from tests.waits import PATIENCE


@pytest.fixture
def talk(memory: Appliance) -> list[str]:
    return two_conversations(memory)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Erasures wait after their first step until this is set."""
    goes_on, real = Event(), ErasureService.forget

    def slow(self: ErasureService, request: r.ForgetRequest, on_progress: OnProgress) -> Receipt:
        on_progress(Progress("embedding", 1, 3))
        assert goes_on.wait(PATIENCE)
        return real(self, request, on_progress)

    monkeypatch.setattr(ErasureService, "forget", slow)
    return goes_on


def bar(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(ScreenBar).render())


def test_a_running_erasure_can_be_left_and_is_shown_again(memory: Appliance, talk: list[str], held: Event) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        app = pilot.app
        assert isinstance(app, ApplianceApp)
        await until(pilot, lambda: asks(screen))
        await pilot.press("1", "enter")
        await until(pilot, lambda: screen.query_one(ProgressBar).percentage == 0.25)
        assert "You can leave" in told(screen) and not asks(screen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
        assert given == [None]
        assert "erasing 25%" in bar(pilot)
        app.forget(talk[2])  # the running one comes first
        await until(pilot, lambda: isinstance(app.screen, ForgetScreen) and app.screen._stage == "erasing")
        again = app.screen
        assert isinstance(again, ForgetScreen)
        assert again.query_one(ProgressBar).percentage == 0.25
        held.set()
        await done(pilot, again)
        assert "traces    none found" in told(again)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not again)
        assert "erasing" not in bar(pilot)
        assert [one.id for one in memory.overview.messages(talk)] == talk[1:]

    run(memory, (talk[0],), body)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_an_erasure_that_ends_out_of_sight_says_how(
    memory: Appliance, talk: list[str], held: Event, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        app = pilot.app
        assert isinstance(app, ApplianceApp)
        await until(pilot, lambda: asks(screen))
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.erasure is not None and app.erasure.done)
        await pilot.press("escape")
        if fails:
            monkeypatch.setattr(forgetting, "erase", refuse)
        held.set()
        await until(pilot, lambda: app.erasure is None)
        said = [one.message for one in app._notifications]
        expected = "The disk is full." if fails else "Erased 1 message. f12, then ^r shows the receipt e1."
        assert expected in said
        assert len(memory.overview.messages(talk)) == (3 if fails else 2)

    def refuse(*about: Any) -> None:
        raise HomeError("The disk is full.")

    run(memory, (talk[0],), body, (80, 24))


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_the_screen_closes_when_a_running_erasure_is_done(
    memory: Appliance, talk: list[str], held: Event, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        app = pilot.app
        assert isinstance(app, ApplianceApp)
        await until(pilot, lambda: asks(screen))
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.erasure is not None and app.erasure.done)
        await pilot.press("escape", "ctrl+q")
        await until(pilot, lambda: any("closes when it is done" in one.message for one in app._notifications))
        assert app.is_running and app._exit is False
        if fails:
            monkeypatch.setattr(forgetting, "erase", refuse)
        held.set()
        await until(pilot, lambda: app.erasure is None)
        assert app._exit is not fails  # what went wrong is read before the screen closes

    def refuse(*about: Any) -> None:
        raise HomeError("The disk is full.")

    run(memory, (talk[0],), body)
