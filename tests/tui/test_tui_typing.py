"""Nothing that is typed is lost or taken for a command, however fast it comes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, until
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Input

from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import begin
from tests.homes import copied

KEY_NAMES = {"]": "right_square_bracket", "/": "slash", " ": "space", ":": "colon", "-": "minus", ".": "full_stop"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


async def burst(pilot: Pilot[Any], *keys: str, pause: float = 0.0) -> None:
    """Send keys as the terminal does: a name such as "escape", else each letter of a text. Nothing is waited for but
    ``pause`` seconds behind each key."""
    driver = pilot.app._driver
    assert driver is not None
    for key in keys:
        for letter in [key] if key in ("escape", "enter", "tab", "down") or key[1:].isdigit() else key:
            driver.send_message(Key(KEY_NAMES.get(letter, letter), letter if len(letter) == 1 else None))
            if pause:
                await asyncio.sleep(pause)


def line_of(pilot: Pilot[Any]) -> str | None:
    """The text of the line that has the focus."""
    focused = pilot.app.focused
    return focused.value if isinstance(focused, Input) else None


async def settled(pilot: Pilot[Any]) -> None:
    """Return when all that was typed is handled, with what it began."""
    await until(pilot, lambda: not pilot.app.input_queue.is_busy and not pilot.app.workers)  # type: ignore[attr-defined]


QUICK, SLOW = (0.0, 0.005), (0.03, 0.05)
"""Seconds from key to key."""


async def _types_in_recall(pilot: Pilot[Any], pause: float) -> None:
    line = pilot.app.screen.query_one(SearchInput)
    await burst(pilot, "Ben since:2026-01 cashews", pause=pause)
    await until(pilot, lambda: line.value == "Ben cashews")
    assert pilot.app.screen.search_filters.since == "2026-01"  # type: ignore[attr-defined]
    await burst(pilot, "tab", "X/", pause=pause)
    line.value = ""
    await until(pilot, lambda: pilot.app.focused is line)
    await burst(pilot, "tab", "/dog", pause=pause)
    await until(pilot, lambda: line_of(pilot) == "dog")
    assert isinstance(pilot.app.screen, SearchScreen) and not pilot.app.screen.search_filters
    line.value = ""


def test_letters_of_a_burst_reach_the_line(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (_, pilot):
            for pause in QUICK:
                await _types_in_recall(pilot, pause)

    run(body)


def test_many_letters_at_once_are_few_searches(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line, values = app.query_one(SearchInput), list[str]()
            pilot.app.screen.watch(line, "value", lambda value: values.append(value), init=False)
            await burst(pilot, "/" + "ferry/" * 50, "escape", "s")
            await until(pilot, lambda: line.value == "ferry/" * 50 + "s")
            assert len(values) <= 5

    run(body)


@pytest.mark.slow
def test_letters_at_the_pace_of_a_held_key_reach_the_line(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (_, pilot):
            for pause in SLOW:
                await _types_in_recall(pilot, pause)

    run(body)


LINES = {
    "filter": (("ledger", "tab"), "f", "walnut"),
    "why not": (("ledger", "tab"), "W", "m3"),
    "title": (("f2",), "/", "ledger"),
    "rename": (("f2",), "r", "books of 2025"),
    "source": (("f2",), "f", "native"),
    "find": (("f2", "enter"), "/", "walnuts"),
    "date": (("f2", "enter"), "D", "2025-03"),
    "context": (("f3", "tab"), "/", "does she pin"),
    "present": (("f3", "tab"), "s", "kitchen"),
    "facts": (("f4",), "/", "carry"),
    "add": (("f4",), "n", "arc = nice"),
    "path": (("f5",), "a", "/vvv/x"),
    "forget": (("f4", "4"), "d", "pickled"),
}
"""The keys that lead to a screen, the key that opens a line there, and what is typed into it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_every_line_gets_all_that_is_typed_behind_the_key_that_opens_it(name: str, filled: Path) -> None:
    way, key, text = LINES[name]

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            for step in way:
                await burst(pilot, step)
                await settled(pilot)
            dialogs = len(app.screen_stack)
            for pause in (*QUICK, *SLOW):
                await burst(pilot, key + text, pause=pause)
                await until(pilot, lambda: line_of(pilot) == text)
                assert len(app.screen_stack) <= dialogs + 1
                app.focused.value = ""  # type: ignore[union-attr]
                await burst(pilot, "tab" if name == "context" else "escape")
                await until(pilot, lambda: line_of(pilot) is None)
                await settled(pilot)

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["f2", "f3", "f4"])
def test_the_first_key_on_a_new_screen_is_for_that_screen(keys: str, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (_, pilot):
            await burst(pilot, keys, *(("tab",) if keys == "f3" else ()), "/dog")
            await until(pilot, lambda: line_of(pilot) == "dog")

    run(body)


def test_a_paste_keeps_its_place_among_the_keys(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await burst(pilot, "tab", "/a")
            assert app._driver is not None
            app._driver.send_message(Paste("\n  ferry\tto\r\nBrodgar \n\n"))
            await burst(pilot, "z")
            await until(pilot, lambda: line_of(pilot) == "aferry to Brodgarz")

    run(body)


class Vanishing(Input):
    """A line that goes with the first letter."""

    def watch_value(self, value: str) -> None:
        if value:
            self.remove()


def test_keys_go_on_when_the_widget_that_had_the_focus_is_removed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line = Vanishing()
            await app.screen.mount(line)
            app.screen.set_focus(line)
            await burst(pilot, "ab")
            await until(pilot, lambda: not app.input_queue.is_busy and app.focused is not line)
            app.screen.query_one(HitList).focus()
            await burst(pilot, "/dog")
            await until(pilot, lambda: (line_of(pilot) or "").endswith("dog"))

    run(body)


def test_work_that_goes_on_while_its_screen_is_removed_ends_without_an_error(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = ConversationScreen("harbour")
            app.push_screen(page)
            await until(pilot, lambda: page.is_mounted and page.transcript.conversation_layout is not None)

            async def work() -> None:
                while page.query("#reading-note"):  # the widgets are removed first, the workers cancelled after them
                    await asyncio.sleep(0)
                page.query_one("#reading-note")

            begin(page, work)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is not page)
            await pilot.press("f")
            await until(pilot, lambda: app.screen.query_one("#query", Input).value == "f")

    run(body)
