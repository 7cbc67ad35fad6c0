"""Keys that act on a row wait for the rows, however early they are typed: nothing behind them becomes a command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, until
from test_tui_typing import burst, settled
from textual.widgets import Input

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.export import ExportScreen
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.session_list import SessionList
from tests.homes import copied

LOADERS = {
    "f2": "appliance_tui.screens.conversations.load_page",
    "f4": "appliance_tui.screens.memory.load_listing",
    "f7": "appliance_tui.screens.people._load_people",
}
"""What reads the rows of a screen, by its key."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Rows are read when this is set."""
    opened = threading.Event()

    def waiting(load: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*arguments: Any, **named: Any) -> Any:
            opened.wait(30)
            return load(*arguments, **named)

        return wait

    for place in LOADERS.values():
        module, name = place.rsplit(".", 1)
        loaded = getattr(__import__(module, fromlist=[name]), name)
        monkeypatch.setattr(place, waiting(loaded))
    yield opened
    opened.set()


def selected(app: ApplianceApp) -> list[str]:
    return list(app.screen.selection)  # type: ignore[attr-defined]


def place(app: ApplianceApp) -> str:
    return getattr(app.screen, "PLACE", "")


async def typed_ahead(app: ApplianceApp, pilot: Any, gate: threading.Event, *keys: str) -> None:
    """Type while the rows are being read, and let them come."""
    await burst(pilot, *keys)
    await until(pilot, lambda: app.input_queue._long_wait is not None)  # a key waits
    gate.set()


def test_a_dialog_that_acts_on_a_row_gets_the_letters_behind_its_key(filled: Path, gate: threading.Event) -> None:
    """The letters of the file's name were commands: the "d" of "pad.md" opened the dialog that erases."""

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await typed_ahead(app, pilot, gate, "f2", "xpad.md")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen))
            line = app.screen.query_one(Input)
            await until(pilot, lambda: line.value.endswith("pad.md"))

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "kind"), [("f2", SessionList), ("f4", RowList), ("f7", RowList)])
def test_moving_and_selecting_wait_for_the_first_rows(
    key: str, kind: type, filled: Path, gate: threading.Event
) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await typed_ahead(app, pilot, gate, key, "j ")
            await until(pilot, lambda: len(selected(app)) == 1)
            ahead = selected(app)
            await burst(pilot, " g")
            await settled(pilot)
            await burst(pilot, "j ")
            await until(pilot, lambda: selected(app) == ahead)

    run(body)


@pytest.mark.slow
def test_a_key_waits_for_the_rows_of_the_filter_before_it(filled: Path, gate: threading.Event) -> None:
    """Without pins nothing was listed, and "x" came before all were listed again."""

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            gate.set()
            await burst(pilot, "f2", "P")
            await settled(pilot)
            assert not app.screen.query_one(SessionList).rows
            gate.clear()
            await typed_ahead(app, pilot, gate, "Pxtud.md")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen))
            line = app.screen.query_one(Input)
            await until(pilot, lambda: line.value.endswith("tud.md"))

    run(body)


@pytest.mark.slow
def test_another_view_of_the_memory_is_waited_for(filled: Path, gate: threading.Event) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            gate.set()
            await burst(pilot, "f4", "3")
            await settled(pilot)
            gate.clear()
            await typed_ahead(app, pilot, gate, "1x")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen))

    run(body)


@pytest.mark.slow
def test_a_long_wait_is_said_and_another_key_takes_its_place(
    filled: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance_tui.input_queue.LONG_WAIT_SECONDS", 0.05)

    async def body() -> None:
        async with shown(filled, notifications=True) as (app, pilot):
            await burst(pilot, "f2", "x")
            await until(pilot, lambda: any("x waits for the list" in one.message for one in app._notifications))
            await burst(pilot, "escape")
            gate.set()
            await settled(pilot)
            assert place(app) == "conversations"

    run(body)
