"""Several rows are selected by keys or the mouse, survive a list that changes, and what is done is done to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, type_in, until
from textual.color import Color as Shade
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot
from textual.widgets import Input, Static

from appliance_tui.app import ApplianceApp
from appliance_tui.author_colours import MIN_CONTRAST, contrast
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.conversations import ConversationsScreen
from appliance_tui.screens.memory import MemoryScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.selecting import SelectingScreen
from appliance_tui.selection import CHECK, Selection
from appliance_tui.themes import THEMES
from appliance_tui.widgets.hits import HitList
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


async def recall(app: ApplianceApp, pilot: Pilot[Any]) -> SearchScreen:
    screen = app.screen
    assert isinstance(screen, SearchScreen)
    await type_in(pilot, "ferry")
    await until(pilot, lambda: len(screen.query_one(HitList).hits) >= 2)
    await pilot.press("tab")
    return screen


async def conversations(app: ApplianceApp, pilot: Pilot[Any]) -> ConversationsScreen:
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(app.screen, ConversationsScreen) and len(app.screen.sessions.rows) == 3)
    assert isinstance(app.screen, ConversationsScreen)
    return app.screen


async def reading(app: ApplianceApp, pilot: Pilot[Any]) -> ConversationScreen:
    app.read("s1")
    await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen._is_shown)
    assert isinstance(app.screen, ConversationScreen)
    return app.screen


async def pinned(app: ApplianceApp, pilot: Pilot[Any]) -> MemoryScreen:
    for id in ("m1", "m5", "m6"):
        await app.memory_worker.run_command(lambda memory, id=id: memory.pin(id))  # type: ignore[misc]
    await pilot.press("f4")
    await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen._rows.items)
    assert isinstance(app.screen, MemoryScreen)
    screen = app.screen
    await pilot.press("4")
    await until(pilot, lambda: len(screen._rows.items) == 3)
    return screen


def note(screen: SelectingScreen) -> str:
    ids = {"recall": "#note", "conversations": "#sessions-note", "reading": "#reading-note", "memory": "#memory-note"}
    return str(screen.query_one(ids[screen.PLACE], Static).content)


def checks(screen: SelectingScreen) -> int:
    """How many marks of selected rows are drawn."""
    rows = screen.selectable
    return sum(rows.render_line(y).text[1:2] == CHECK for y in range(rows.size.height))


def selected(screen: SelectingScreen) -> list[str]:
    return list(screen.selection)


def test_a_selection_keeps_its_order_and_drops_what_is_gone() -> None:
    selection = Selection()
    selection.toggle("m3")
    selection.add(["m1", "m2", "m3"])
    selection.toggle("m1")
    assert list(selection) == ["m3", "m2"] and selection.text == "2 selected" and "m1" not in selection
    selection.keep({"m2", "m9"})
    assert list(selection) == ["m2"]
    selection.clear()
    assert not len(selection) and selection.text == ""


@pytest.mark.slow
def test_space_and_shift_arrows_select_in_each_list_and_escape_clears(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            for scene in (recall, conversations, reading):
                screen = await scene(app, pilot)
                ids = [id for id in screen.selectable.row_ids() if id]
                await pilot.press("space")
                await until(pilot, lambda screen=screen: note(screen).startswith("1 selected, esc clears"))
                assert selected(screen) == ids[:1] and checks(screen) == 1
                await pilot.press("space")
                await until(pilot, lambda screen=screen: "selected" not in note(screen))
                await pilot.press("shift+down")
                await until(pilot, lambda screen=screen: note(screen).startswith("2 selected"))
                assert selected(screen) == ids[:2] and screen.selectable.current_row() == 1 and checks(screen) == 2
                await pilot.press("shift+up")
                assert selected(screen) == ids[:2] and screen.selectable.current_row() == 0
                await pilot.press("escape")
                await until(pilot, lambda screen=screen: "selected" not in note(screen))
                assert app.screen is screen and not checks(screen)

    run(body)


@pytest.mark.slow
def test_clicks_with_ctrl_and_shift_select(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            screen = await conversations(app, pilot)
            ids = [id for id in screen.sessions.row_ids() if id]
            await pilot.click("#sessions", offset=(5, 2), control=True)
            assert selected(screen) == ids[1:2] and app.screen is screen
            await pilot.click("#sessions", offset=(5, 2), control=True)
            assert selected(screen) == []
            await pilot.click("#sessions", offset=(5, 4), shift=True)
            assert selected(screen) == ids and screen.sessions.mark == 0
            await pilot.click("#sessions", offset=(5, 4))  # an ordinary click is as before
            assert selected(screen) == ids and screen.sessions.mark == 2

    run(body)


@pytest.mark.slow
def test_a_selection_survives_sorting_and_ends_with_the_filter(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            screen = await conversations(app, pilot)
            first = screen.sessions.rows[0].info.id
            await pilot.press("space", "S")
            await until(pilot, lambda: screen.sessions.rows[-1].info.id == first)
            assert selected(screen) == [first] and checks(screen) == 1
            await pilot.press("P")
            await until(pilot, lambda: not screen.sessions.rows)
            assert selected(screen) == []
            await pilot.press("f1")
            hits = await recall(app, pilot)
            await pilot.press("space", "s")
            await until(pilot, lambda: "newest first" in note(hits))
            assert len(selected(hits)) == 1
            await pilot.press("slash")
            await type_in(pilot, "s")
            await until(pilot, lambda: hits.answered_query not in ("", "ferry"))
            assert selected(hits) == []

    run(body)


@pytest.mark.slow
def test_what_no_longer_exists_drops_out(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            screen = await conversations(app, pilot)
            await pilot.press("shift+down")
            gone, kept = selected(screen)
            await app.memory_worker.run_command(lambda memory: memory.sessions.get(gone).delete())
            await until(pilot, lambda: selected(screen) == [kept])
            await until(pilot, lambda: note(screen).startswith("1 selected"))

    run(body)


@pytest.mark.slow
def test_the_selection_is_pinned_tagged_and_forgotten(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory = app.memory_worker.memory()
            screen = await recall(app, pilot)
            await pilot.press("shift+down", "p")
            ids = selected(screen)
            await until(pilot, lambda: all(memory.message(id).pinned for id in ids))
            await pilot.press("d")
            await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "forget")
            assert app.screen.query_one("#forget-ids", Input).value == " ".join(ids)
            await pilot.press("escape")
            page = await conversations(app, pilot)
            await pilot.press("shift+down", "t")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "sea")
            await pilot.press("enter")
            sessions = selected(page)
            await until(pilot, lambda: all(memory.sessions.info(id).tags == ("sea",) for id in sessions))
            await pilot.press("t")  # what all have is taken from them
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "sea")
            await pilot.press("enter")
            await until(pilot, lambda: not any(memory.sessions.info(id).tags for id in sessions))

    run(body)


@pytest.mark.slow
def test_pinned_messages_and_facts_of_the_memory_are_selected(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory = app.memory_worker.memory()
            screen = await pinned(app, pilot)
            await pilot.press("space", "down", "space", "p")
            await until(pilot, lambda: len(screen._rows.items) == 1)
            assert len(memory.pins.pinned("me")) == 1
            await pilot.press("1")
            await until(pilot, lambda: screen._rows.items and not len(screen.selection))
            held = len(memory.facts.list())
            await pilot.press("shift+down", "r")
            await until(pilot, lambda: len(memory.facts.list()) == held - 2)
            await until(pilot, lambda: not len(screen.selection))  # the rejected ones are not listed any more
            await pilot.press("u")
            await until(pilot, lambda: len(memory.facts.list()) == held)

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize("theme", [theme.name.removeprefix("appliance-") for theme in THEMES])
def test_the_mark_is_readable_in_every_theme(filled: Path, theme: str) -> None:
    async def body() -> None:
        async with shown(filled, theme=theme) as (app, pilot):
            for scene in (recall, conversations, reading, pinned):
                screen = await scene(app, pilot)
                await pilot.press("shift+down")
                await until(pilot, lambda screen=screen: checks(screen) == 2)
                for y in range(screen.selectable.size.height):
                    (cell,) = screen.selectable.render_line(y).crop(1, 2)
                    if cell.text == CHECK:
                        assert cell.style is not None and cell.style.color is not None
                        behind = cell.style.bgcolor or screen.selectable.rich_style.bgcolor
                        assert behind is not None
                        colours = (Shade.from_rich_color(cell.style.color), Shade.from_rich_color(behind))
                        assert contrast(*colours) >= MIN_CONTRAST, (screen.PLACE, y)

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "height"), [(recall, 9), (conversations, 8)])
def test_no_row_out_of_sight_is_current_after_the_wheel(scene: Any, height: int, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, height)) as (app, pilot):
            screen = await scene(app, pilot)
            rows = screen.selectable
            await until(pilot, lambda: rows.max_scroll_y > 1 and rows.current_row() == 0)

            def is_seen() -> bool:
                top = rows.scroll_offset.y
                return rows.current_row() in {rows.row_at(line) for line in range(top, top + rows.size.height)}

            for wheel in (MouseScrollDown, MouseScrollUp):
                for _ in range(8):
                    rows.post_message(wheel(rows, 5, 2, 0, 1, 0, False, False, False))
                end = rows.max_scroll_y if wheel is MouseScrollDown else 0
                await until(pilot, lambda end=end: rows.scroll_offset.y == end and is_seen())
                assert rows.current_row() or not end

    run(body)
