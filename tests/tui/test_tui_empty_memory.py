"""The screen on a memory without messages: it says how to begin, and goes when there is something to search."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import words
from screens import fill, run, shown, talk, type_in, until

from appliance_tui.app import ApplianceApp
from appliance_tui.frame import KeyFooter
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.first_run import DEMO_USER, FirstRunPanel
from appliance_tui.widgets.hits import HitList


def welcome(app: ApplianceApp) -> FirstRunPanel:
    return app.screen_stack[0].query_one(FirstRunPanel)


@pytest.mark.slow
def test_an_import_while_words_are_in_the_line_replaces_how_to_begin(home: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            await until(pilot, lambda: welcome(app).display)
            await type_in(pilot, "walnuts")
            await pilot.press("f5")
            await until(pilot, lambda: app.current_mode == "inbox")
            await app.import_queue.import_files([talk(tmp_path / "talk.jsonl")])
            await pilot.press("f1")
            await until(pilot, lambda: not welcome(app).display and app.query_one(HitList).hits)
            assert "Nothing imported" not in words(app)

    run(body)


@pytest.mark.slow
def test_the_samples_replace_how_to_begin_too(home: Path, tmp_path: Path) -> None:
    home = fill(home, tmp_path)

    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            app.user = "eve"
            await until(pilot, lambda: welcome(app).display)
            await type_in(pilot, "walnuts")
            app.user = None
            await until(pilot, lambda: not welcome(app).display and app.query_one(HitList).hits)

    run(body)


def test_enter_asks_for_a_path(home: Path) -> None:
    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            await until(pilot, lambda: welcome(app).display and "F5 and a" in words(app))
            await until(pilot, lambda: "⏎ Import" in words(app))
            assert "esc Leave" not in words(app)
            await pilot.press("enter")
            await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "offer")

    run(body)


@pytest.mark.slow
def test_samples_that_were_erased_are_read_again(home: Path) -> None:
    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            for _ in range(2):
                await pilot.press("f9")
                await until(pilot, lambda: app.user == DEMO_USER)
                memory = app.memory_worker.memory()
                assert sum(one.messages for one in memory.overview.activity(user_id=DEMO_USER)) > 100
                await pilot.press("f9")
                await until(pilot, lambda: app.user is None)
                memory.erasure.forget(memory.erasure.preview(user_id=DEMO_USER, everything=True))
                assert not memory.overview.activity(user_id=DEMO_USER)

    run(body)


@pytest.mark.slow
def test_f9_asks_before_samples_come_into_a_memory_with_messages(home: Path, tmp_path: Path) -> None:
    home = fill(home, tmp_path)

    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            memory = app.memory_worker.memory()
            before = memory.overview.counts()["messages"]
            for answer in ("escape", "enter"):
                await pilot.press("f9")
                await until(pilot, lambda: isinstance(app.screen, PickerScreen))
                await pilot.press(answer)
                await until(pilot, lambda: not isinstance(app.screen, PickerScreen))
            assert app.user is None and memory.overview.counts()["messages"] == before
            await pilot.press("f9")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press("down", "enter")
            await until(pilot, lambda: app.user == DEMO_USER)
            await pilot.press("f9")
            await until(pilot, lambda: app.user is None)
            await pilot.press("f9")
            await until(pilot, lambda: app.user == DEMO_USER)

    run(body)


@pytest.mark.slow
def test_a_long_list_of_paths_leaves_room_for_the_keys(home: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            folder = tmp_path / ("a-long-name-of-a-folder-" * 4)
            folder.mkdir()
            paths = [folder / f"{number}.txt" for number in range(14)]
            app.offer_import(*paths)
            await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "offer" and "⏎ Import" in words(app))
            dialog, footer = app.screen.query_one("#offer").region, app.screen.query_one(KeyFooter).region
            assert dialog.contains_region(footer) and "esc Close" in words(app)

    run(body)
