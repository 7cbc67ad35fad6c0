"""Reading a conversation, key by key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screens import run, shown, type_in, until
from sea import MEGABYTE, note, number, reading, sea, summarised, text, written

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.widgets.conversation_layout import ConversationLayout
from appliance_tui.widgets.message_cache import MAX_CACHED_LINES
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.workers import MemoryChanged
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return summarised(tmp_path_factory.mktemp("built"))


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


@pytest.fixture
def deep(home: Path, tmp_path: Path) -> Path:
    """With a megabyte in one message."""
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(written(tmp_path / "sea.jsonl", sea(MEGABYTE)), wait=False)
    return home


def test_it_opens_at_a_message_with_its_neighbours_around(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e17")
            assert number(page) == 17
            for one in (15, 16, 17, 18, 19):
                assert f"Number {one} about" in text(page)
            marked = [line for line in text(page).splitlines() if line.startswith("▌")]
            assert any("Number 17" in line for line in marked)
            row = next(n for n, line in enumerate(text(page).splitlines()) if "Number 17" in line)
            assert 0.25 < row / page.transcript.size.height < 0.75

    run(body)


def test_an_answer_that_comes_while_it_is_being_closed_is_dropped(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            screen = await reading(app, pilot)
            await until(pilot, lambda: " of " in note(screen))
            await pilot.pause()  # what the opening began is done
            layout = screen.transcript.conversation_layout
            assert layout is not None
            await screen.remove_children()  # as the closing of a screen begins
            screen.call_next(screen._show_layout, layout)
            app.pop_screen()
            await until(pilot, lambda: not isinstance(app.screen, ConversationScreen))
            await type_in(pilot, "ferries")
            assert app.is_running

    run(body)


def test_a_traceback_shows_no_local_variables(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):

            def fail(said: str) -> None:
                raise RuntimeError("a bug")

            app.call_next(fail, "the needle is here".upper())
            await pilot.pause()

    with pytest.raises(RuntimeError, match="a bug"):
        run(body)
    printed = capsys.readouterr()
    assert "a bug" in printed.err + printed.out and "THE NEEDLE IS HERE" not in printed.err + printed.out


def test_days_heads_code_and_what_is_no_markdown_stand_there(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            words = text(page)
            assert "Sunday, 5 November 2023" in words
            assert " U  user  08:00" in words and " A  assistant  08:03" in words
            assert "<b>this</b>" in words and "return '06:40'" in words and "```" not in words
            await pilot.press("m")
            await until(pilot, lambda: "```python" in text(page))
            await pilot.press("m")
            await until(pilot, lambda: "```python" not in text(page) and "06:40" in text(page))

    run(body)


def test_messages_one_by_one_pages_and_both_ends(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            await pilot.press("j", "down", "j", "k", "up")
            assert number(page) == 1
            await pilot.press("end")
            assert number(page) == 39
            await until(pilot, lambda: "Number 39" in text(page))
            await pilot.press("home")
            assert number(page) == 0
            await until(pilot, lambda: "Number 0" in text(page))
            before = page.transcript.scroll_offset.y
            await pilot.press("pagedown")
            assert page.transcript.scroll_offset.y == before + page.transcript.size.height - 1
            await pilot.press("pageup")
            assert page.transcript.scroll_offset.y == before
            await pilot.press("G")
            assert number(page) == 39
            assert "40 of 40" in note(page)

    run(body)


@pytest.mark.slow
def test_days_next_before_and_by_date(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            await pilot.press("right_square_bracket", "right_square_bracket")
            assert number(page) == 20
            await pilot.press("j", "left_square_bracket")
            assert number(page) == 20
            await pilot.press("left_square_bracket")
            assert number(page) == 10
            for date, place in (("2025", 30), ("2024-03", 10), ("2024-03-10", 20), ("2023-12", 10)):
                await pilot.press("D")
                await type_in(pilot, date)
                await pilot.press("enter")
                assert number(page) == place, date
            await pilot.press("D")
            await type_in(pilot, "soon")
            await pilot.press("enter")
            examples = page.query_one(QuestionLine).placeholder.removeprefix("Go to: ")
            await until(pilot, lambda: app._notifications)
            (error,) = app._notifications  # it advises what the line does
            assert error.message == f"Invalid date 'soon'. Use {examples}."
            assert number(page) == 10
            line = page.query_one(QuestionLine)
            assert line.has_focus and line.value == "soon"  # to be corrected
            await pilot.press("escape", "D", "escape")
            assert not page.query_one(QuestionLine).display and app.screen is page

    run(body)


def test_a_long_message_is_folded_and_unfolds_in_its_place(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e5")
            await until(pilot, lambda: "more lines, enter unfolds" in text(page))
            assert "needle" not in text(page)
            before = page.transcript._heights[5]
            await pilot.press("enter")
            await until(pilot, lambda: page.transcript._heights[5] > before + 30)
            await pilot.press("tab")
            await until(pilot, lambda: page.transcript._heights[5] == before)

    run(body)


@pytest.mark.slow
def test_a_megabyte_is_never_drawn_at_once(deep: Path) -> None:
    async def body() -> None:
        async with shown(deep) as (app, pilot):
            page = await reading(app, pilot, "e35")
            transcript = page.transcript
            await until(pilot, lambda: "more lines, enter unfolds" in text(page))
            await pilot.press("enter")
            await until(pilot, lambda: transcript._heights[35] > 20_000)
            await until(pilot, lambda: not transcript._is_drawing)
            assert transcript.body_cache.line_count <= MAX_CACHED_LINES
            for _ in range(5):
                await pilot.press("j")
                await until(pilot, lambda: not transcript._is_drawing)
            assert number(page) == 35  # it is scrolled through first
            assert "row 1" in text(page)
            await pilot.press("end")
            await until(pilot, lambda: "Number 39" in text(page))
            await pilot.press("k", "k", "k", "k")
            await until(pilot, lambda: "row 23999" in text(page))
            assert transcript.body_cache.line_count <= MAX_CACHED_LINES

    run(body)


@pytest.mark.parametrize("estimate", [2, pytest.param(37, marks=pytest.mark.slow)])
def test_what_is_on_the_screen_stays_when_heights_are_corrected(
    filled: Path, monkeypatch: pytest.MonkeyPatch, estimate: int
) -> None:
    monkeypatch.setattr(
        ConversationLayout,
        "estimate_heights",
        lambda self, width: np.where(self.has_header, 4, 1) + np.full(len(self), estimate),
    )

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e17")
            row = next(n for n, line in enumerate(text(page).splitlines()) if "Number 17" in line)
            assert 0.2 < row / page.transcript.size.height < 0.8
            assert all(f"Number {one} about" in text(page) for one in (16, 17, 18))
            for key in ("pageup", "pagedown", "pagedown", "pageup"):
                await pilot.press(key)
                await until(pilot, lambda: not page.transcript._is_drawing)
            assert "Number 17 about" in text(page)

    run(body)


@pytest.mark.slow
def test_the_selected_message_stays_in_view_when_the_summary_takes_rows(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            page = await reading(app, pilot)
            view = page.transcript
            await until(pilot, lambda: view._heights.total > view.size.height and not view._is_drawing)
            last = view.scroll_offset.y + view.size.height - 1
            view.mark = mark = view._heights.index_at(last) - 1  # near the foot, whole
            rows = view.size.height
            await pilot.press("s")
            await until(pilot, lambda: view.size.height < rows and not view._is_drawing)
            start, end = view._marked_lines()
            top = view.scroll_offset.y
            assert (
                view.mark == mark and top <= start and (end <= top + view.size.height or end - start > view.size.height)
            )

    run(body)


def test_what_happens_meanwhile_is_shown_and_the_place_is_kept(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e17")
            row = next(n for n, line in enumerate(text(page).splitlines()) if "Number 17" in line)
            ids = page.transcript.conversation_layout.outline.ids[8:10]  # type: ignore[union-attr]
            await app.memory_worker.run_command(lambda memory: memory.erasure.forget(memory.erasure.preview(*ids)))
            await until(
                pilot,
                lambda: (
                    page.transcript.conversation_layout is not None and len(page.transcript.conversation_layout) == 38
                ),
            )
            assert number(page) == 15
            assert "Number 17" in text(page).splitlines()[row]
            await until(pilot, lambda: "16 of 38" in note(page))

    run(body)


def test_a_conversation_that_goes_is_said_to_be_gone(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            await app.memory_worker.run_command(lambda memory: memory.sessions.get("sea").delete())
            page.post_message(MemoryChanged("deleted"))
            await until(pilot, lambda: "no longer exists" in note(page))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is not page)

    run(body)


def test_a_resize_keeps_the_place_and_names_do_not_break_lines(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e7")
            assert "דניאל 麺" in text(page)
            for size in ((60, 20), (200, 60), (80, 24)):
                await pilot.resize_terminal(*size)
                await until(pilot, lambda: not page.transcript._is_drawing and "Number 7 about" in text(page))
                assert number(page) == 7
                widths = {page.transcript.render_line(row).cell_length for row in range(page.transcript.size.height)}
                assert widths == {page.transcript.size.width}

    run(body)


def test_a_click_marks_and_unfolds(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e5")
            rows = text(page).splitlines()
            row = next(n for n, line in enumerate(rows) if "enter unfolds" in line)
            await pilot.click(page.transcript, offset=(10, row))
            await until(pilot, lambda: page.transcript._heights[5] > 60)

    run(body)


def test_colours_follow_the_theme(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            before = page.transcript._text_style
            await pilot.press("ctrl+t")
            await until(pilot, lambda: page.transcript._text_style != before)
            await until(pilot, lambda: "Number 1 about" in text(page))

    run(body)
