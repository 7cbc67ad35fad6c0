"""Keys that act on hits wait for the hits of the query as it stands, however fast they come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scenes import words
from screens import fill, run, shown, until
from test_tui_typing import burst, settled

from appliance import Appliance
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


class Gate:
    """Searches with a word wait until the gate is opened."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.opened = threading.Event()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate, search = Gate("walnuts"), Appliance.search

    def wait(self: Appliance, query: str, **arguments: Any) -> Any:
        if gate.word in query:
            gate.opened.wait(30)
        return search(self, query, **arguments)

    monkeypatch.setattr(Appliance, "search", wait)
    yield gate
    gate.opened.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "position"),
    [(("enter",), 0), (("down", "enter"), 1), (("tab", "jj", "enter"), 2), (("tab", "G", "enter"), -1)],
)
def test_what_is_opened_is_a_hit_of_the_query_as_it_stands(keys: tuple[str, ...], position: int, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            recall = app.screen
            await burst(pilot, "ledger")
            await until(pilot, lambda: app.query_one(HitList).hits)
            app.query_one(SearchInput).value = ""
            await burst(pilot, "ferry brodgar", *keys)
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            results = recall.query_one(HitList).results
            assert results is not None and results.spec.query == "ferry brodgar"
            assert results.position == position % len(results)

    run(body)


def test_a_key_behind_enter_is_for_what_enter_opens(filled: Path, gate: Gate) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await burst(pilot, "ferry")
            await until(pilot, lambda: app.query_one(HitList).hits)
            line = app.query_one(SearchInput)
            line.value = ""
            await burst(pilot, "walnuts", "enter", "p")
            await until(pilot, lambda: line.value == "walnuts")
            assert isinstance(app.screen, SearchScreen)
            gate.opened.set()
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            await settled(pilot)
            memory = app.memory_worker.memory()
            # A conversation that is still loading has nothing to pin yet.
            assert all("walnuts" in pinned.text for pinned in memory.pins.pinned("me")) and line.value == "walnuts"

    run(body)


@pytest.mark.slow
def test_letters_of_a_burst_with_arrows_stay_in_the_line(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await burst(pilot, "ledger", "down", " deadline", "down", " june")
            await until(pilot, lambda: app.query_one(SearchInput).value == "ledger deadline june")

    run(body)


@pytest.mark.parametrize(
    ("key", "line"), [("x", "walnutsx"), pytest.param("escape", "walnuts", marks=pytest.mark.slow)]
)
def test_a_search_that_takes_long_is_said_and_another_key_takes_the_place(
    key: str, line: str, filled: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance_tui.input_queue.LONG_WAIT_SECONDS", 0.1)
    monkeypatch.setattr("appliance_tui.workers.SLOW_SECONDS", 0.01)

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await burst(pilot, "walnuts")
            await until(pilot, lambda: "Searching …" in words(app))
            await burst(pilot, "enter")
            await until(pilot, lambda: "Still searching" in words(app))
            await burst(pilot, key)
            await until(pilot, lambda: app.query_one(SearchInput).value == line)
            gate.opened.set()
            await until(pilot, lambda: app.query_one(HitList).results is not None)
            await settled(pilot)
            assert isinstance(app.screen, SearchScreen) and app.focused is app.query_one(SearchInput)
            assert "Still searching" not in words(app)

    run(body)
