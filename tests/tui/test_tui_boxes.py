"""What lies above a screen has keys of its own, which are shown; those of the screen beneath are not."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from scenes import words
from screens import fill, run, shown, type_in, until
from test_tui_footer import footer
from test_tui_keys import GETS_THERE
from test_tui_typing import burst
from textual.widgets import Input

from appliance_tui.frame import KeyFooter
from appliance_tui.screens.calendar import CalendarScreen
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.transcript import TranscriptView
from tests.homes import copied
from tests.waits import PATIENCE


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("picker", ("⏎ Choose", "esc Close", "↓ Next", "↑ Previous")),
        ("why", ("esc Close", "↓ Down", "↑ Up")),
        ("help", ("esc Close", "↓ Down", "↑ Up")),
        ("palette", ("⏎ Run", "esc Close", "↓ Next", "↑ Previous")),
        ("jump", ("⏎ Go", "esc Close", "↓ Next")),
        ("present", ("⏎ Choose", "esc Close", "↓ Next")),
        ("attachments", ("esc Close",)),
        ("export", ("⏎ Save", "esc Close")),
        ("forget", ("⏎ Go on", "esc Close")),
        ("question", ("⏎ Enter", "esc Cancel")),
    ],
)
def test_a_box_shows_its_own_keys_alone(place: str, keys: tuple[str, ...], filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            await GETS_THERE[place](app, pilot)
            await until(pilot, lambda: all(f" {key} " in footer(app) for key in keys))
            below = app.screen_stack[-2].query_one(KeyFooter)
            assert not below.visible
            for word in ("Pin", "Export", "Search", "Unfold"):
                assert word not in footer(app)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen.query_one(KeyFooter).visible)

    run(body)


@pytest.mark.slow
def test_a_question_has_no_line_to_filter_by(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            answers = [PickerOption("", "Stay"), PickerOption("", "Go")]
            chosen: list[PickerOption | None] = []
            app.push_screen(PickerScreen("Go on?", answers, is_question=True), chosen.append)
            await until(pilot, lambda: isinstance(app.screen, PickerScreen) and app.focused)
            assert not isinstance(app.focused, Input)
            await until(pilot, lambda: "⏎ Choose" in footer(app) and "esc Close" in footer(app))
            await pilot.press("down", "enter")
            await until(pilot, lambda: chosen == [answers[1]])

    run(body)


@pytest.mark.slow
def test_keys_right_behind_enter_are_for_the_conversation(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ferry")
            await until(pilot, lambda: len(app.query_one(HitList).hits) > 1)
            second = app.query_one(HitList).hits[1].message_id
            memory = app.memory_worker.memory()
            outline, matches, searched = memory.overview.outline, memory.overview.matches, threading.Event()

            def slowly(session_id: str) -> object:
                time.sleep(0.3)
                return outline(session_id)

            def when_told(query: str, ids: Sequence[str]) -> object:
                searched.wait(PATIENCE)
                return matches(query, ids)

            memory.overview.outline = slowly  # type: ignore[method-assign,assignment]
            memory.overview.matches = when_told  # type: ignore[method-assign,assignment]
            await burst(pilot, "enter", "n")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and "searching" in words(app))
            searched.set()  # what comes before the matches waits for them
            await burst(pilot, "N", "]p")
            await until(pilot, lambda: memory.message(second).pinned)
            view = app.screen.query_one(TranscriptView)
            assert view.has_focus and not app.screen.query_one(QuestionLine).display
            assert view.marked_id == second

    run(body)


@pytest.mark.slow
def test_the_calendar_is_gone_to_by_its_name(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await GETS_THERE["jump"](app, pilot)
            await type_in(pilot, "cal")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CalendarScreen))

    run(body)


@pytest.mark.slow
def test_select_and_the_next_hit_are_in_the_footer(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (100, 30)) as (app, pilot):
            await type_in(pilot, "ferry")
            await until(pilot, lambda: "↓ Next" in footer(app))
            for place in ("recall", "conversations", "reading"):
                await pilot.press("f1", "slash", "ctrl+u")
                await GETS_THERE[place](app, pilot)
                await until(pilot, lambda: "space Select" in footer(app))

    run(body)
