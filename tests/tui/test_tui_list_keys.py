"""The same keys and clicks move in every list."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import fill, run, shown, type_in, until
from test_tui_keys import GETS_THERE, inbox
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from appliance_tui.app import ApplianceApp
from appliance_tui.list_keys import Navigable, OptionRows
from appliance_tui.widgets.files import FileList
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.session_list import SessionList
from appliance_tui.widgets.transcript import TranscriptView


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lists")
    return fill(folder / "home", folder)


def position(app: ApplianceApp) -> int | None:
    """Where the selection of the list is that the keys move in."""
    match app.screen.navigated:  # type: ignore[attr-defined]
        case OptionList() as options:
            return options.highlighted
        case RowList() as rows:
            return rows.marked
        case SessionList() | TranscriptView() as view:
            return view.mark
    return None


async def forgetting(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The preview of what would be forgotten, a list of messages."""
    await GETS_THERE["recall"](app, pilot)
    await pilot.press("d")
    await until(pilot, lambda: app.screen.query("#forget-words"))
    rows, count = app.screen.query_one("#forget-sample", RowList), app.screen.query_one("#forget-count", Input)
    await until(pilot, lambda: rows.items)
    app.screen.query_one("#forget-ids", Input).value = ""
    await until(pilot, lambda: not rows.items)
    app.screen.query_one("#forget-words", Input).value = "the"
    await until(pilot, lambda: len(rows.items) > 2 and app.focused is count)  # each preview puts the focus there
    rows.focus()


async def choosing(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await GETS_THERE["recall"](app, pilot)
    await pilot.press("f")
    await until(pilot, lambda: app.screen.query(OptionRows))
    app.screen.query_one(OptionRows).focus()


async def present(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await GETS_THERE["present"](app, pilot)
    await until(pilot, lambda: app.screen.query_one(RowList).items)
    app.screen.query_one(RowList).focus()


async def files(app: ApplianceApp, pilot: Pilot[None]) -> None:
    folder = app.memory_worker.memory().home.inbox
    for number in range(3):
        (folder / f"f{number}.jsonl").write_text('{"session_id": "o", "role": "user", "content": "An otter!"}\n')
    await inbox(app, pilot)
    listed = app.screen.query_one("#inbox-files", FileList)
    await until(pilot, lambda: len(listed._rows) >= 4 and all(row.state == "read" for row in listed._rows))


async def conversation(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await GETS_THERE["reading"](app, pilot)
    await until(pilot, lambda: app.screen.query_one(TranscriptView).marked_id)


LISTS = {
    "recall": GETS_THERE["recall"],
    "conversations": GETS_THERE["conversations"],
    "reading": conversation,
    "memory": GETS_THERE["memory"],
    "context": GETS_THERE["context"],
    "inbox": files,
    "forget": forgetting,
    "picker": choosing,
    "present": present,
}
LINES = ("recall", "conversations", "reading", "memory", "context", "inbox", "forget", "picker", "present")
"""The lists beside a line to type in."""

QUICK = ("recall",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in LISTS]
)
def test_the_keys_of_a_list_are_those_of_every_list(name: str, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await LISTS[name](app, pilot)
            await until(pilot, lambda: position(app) is not None)
            await pilot.press("G")
            await until(pilot, lambda: position(app))
            last = position(app)
            assert last
            await pilot.press("j")  # at the end it stays
            assert position(app) == last
            for first, back, on, end in (("g", "k", "j", "G"), ("home", "up", "down", "end")):
                await pilot.press(first)
                await until(pilot, lambda: (position(app) or 0) < last)
                start = position(app)
                await pilot.press(back)
                assert position(app) == start
                await pilot.press(on)
                await until(pilot, lambda start=start: position(app) != start)  # type: ignore[misc]
                await pilot.press(back)
                assert position(app) == start
                await pilot.press("pagedown")
                await until(pilot, lambda start=start: position(app) != start)  # type: ignore[misc]
                await pilot.press("pageup", end)
                await until(pilot, lambda: position(app) == last)

            app.screen.set_focus(None)  # the list of the screen has the keys then
            await pilot.press("g")
            await until(pilot, lambda: (position(app) or 0) < last)
            if name in LINES:
                await pilot.press("slash")
                await until(pilot, lambda: isinstance(app.focused, Input))

    run(body)


def opened(app: ApplianceApp) -> bool:
    return app.screen.query(TranscriptView).first() is not None if app.screen.query(TranscriptView) else False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "row"),
    [("recall", HitList, (8, 3)), ("conversations", SessionList, (8, 2)), ("memory", RowList, (8, 2))],
)
def test_a_click_selects_and_a_click_on_the_selected_row_opens(
    name: str, kind: type, row: tuple[int, int], filled: Path
) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await LISTS[name](app, pilot)
            await pilot.press("g")
            before = position(app)
            list_ = app.screen.query_one(kind)
            await pilot.click(kind, offset=row)
            await until(pilot, lambda: position(app) != before)
            assert app.focused is list_
            assert not opened(app)
            await pilot.click(kind, offset=row)
            await until(pilot, lambda: opened(app))

    run(body)


def test_every_list_moves_as_the_others_do() -> None:
    import appliance_tui.details
    import appliance_tui.screens.picker
    import appliance_tui.widgets.files  # noqa: F401

    def all_of(kind: type) -> set[type]:
        return {kind}.union(*map(all_of, kind.__subclasses__()))

    ours = {kind for kind in all_of(OptionList) if kind.__module__.startswith("appliance_tui")}
    assert {"HitList", "FileList", "DetailList"} <= {kind.__name__ for kind in ours}
    assert all(issubclass(kind, OptionRows) for kind in ours)
    assert all(issubclass(kind, Navigable) for kind in (*ours, RowList, SessionList, TranscriptView))


@pytest.mark.slow
def test_letters_typed_in_a_line_are_no_commands(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            for place in ("recall", "context"):
                await GETS_THERE[place](app, pilot)
                await pilot.press("slash")
                line = app.screen.query_one(Input)
                line.value = ""
                await type_in(pilot, "jkgG/")
                await until(pilot, lambda line=line: line.value == "jkgG/")  # type: ignore[misc]

    run(body)


@pytest.mark.slow
def test_a_text_scrolls_by_the_same_keys(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            await pilot.press("f6")
            plots = app.screen.query_one("#vitals")
            await until(pilot, lambda: plots.max_scroll_y > 0)
            await pilot.press("G")
            await until(pilot, lambda: plots.scroll_y == plots.max_scroll_y)
            await pilot.press("k")
            await until(pilot, lambda: plots.scroll_y == plots.max_scroll_y - 1)
            await pilot.press("g")
            await until(pilot, lambda: plots.scroll_y == 0)

    run(body)


def test_rows_are_as_high_as_they_are_beside_the_scrollbar() -> None:
    class Rows(App[None]):
        def compose(self) -> ComposeResult:
            yield OptionRows()

    async def body() -> None:
        async with Rows().run_test(size=(40, 8)) as pilot:
            rows = pilot.app.query_one(OptionRows)
            rows.add_options(["word " * words for words in (7, 8, 9)])
            await pilot.pause()
            before = len(rows._lines)
            rows.add_options(["word " * words for words in range(1, 20)])
            await pilot.pause()
            assert rows.show_vertical_scrollbar
            lines = len(rows._lines)
            rows._clear_caches()
            assert lines == len(rows._lines) and before

    run(body)
