"""Reading a conversation, key by key."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from screens import run, shown, type_in, until
from textual.widgets import Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.conversation_layout import ConversationLayout
from appliance_tui.widgets.message_cache import MAX_CACHED_LINES
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.summary_panel import SummaryPanel
from appliance_tui.workers import MemoryChanged
from tests.homes import copied

DAYS = ("2023-11-05", "2024-03-09", "2024-03-10", "2025-01-02")
MEGABYTE = "\n".join(f"row {number} of a very large table of numbers" for number in range(24_000))


def entry(number: int, role: str, at: str, text: str, author: str | None = None) -> dict[str, object]:
    return {
        "session_id": "sea", "session_title": "The sea", "message_id": f"e{number}", "role": role,
        "author": author, "timestamp": at, "content": text,
    }  # fmt: skip


def sea(deep: str | None = None) -> list[dict[str, object]]:
    """Forty messages of four days, with code, HTML, a long list, wide and right-to-left letters."""
    out = []
    for number in range(40):
        text = f"Number {number} about ferries."
        if number == 3:
            text = "Look:\n```python\ndef early():\n    return '06:40'\n```\nand <b>this</b>"
        if number == 5:
            text = "A list:\n" + "\n".join(f"- thing {thing}" for thing in range(60)) + "\n\nthe needle is here"
        if number == 35 and deep is not None:
            text = deep
        at = f"{DAYS[number // 10]}T08:{number % 10 * 3:02}:00Z"
        author = "דניאל 麺" if number == 7 else None
        out.append(entry(number, "assistant" if number % 2 else "user", at, text, author))
    return out


def written(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in entries), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the conversation and its summaries."""
    folder = tmp_path_factory.mktemp("built")
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(written(folder / "sea.jsonl", sea()))
        memory.summaries.make("sea")
    return folder / "home"


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


def text(page: ConversationScreen) -> str:
    """What of the conversation is on the screen."""
    transcript = page.transcript
    return "\n".join(transcript.render_line(row).text for row in range(transcript.size.height))


def note(page: ConversationScreen) -> str:
    return str(page.query_one("#reading-note", Static).render())


async def reading(app, pilot, at: str | None = None) -> ConversationScreen:  # type: ignore[no-untyped-def]
    """The conversation, open and drawn."""
    message = None
    if at is not None:
        listed = await app.memory_worker.run_query(lambda memory: memory.sessions.messages("sea"))
        message = next(one.id for one in listed if one.external_id == at)
    app.read("sea", message)
    await until(
        pilot,
        lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.conversation_layout is not None,
    )
    page = app.screen
    await until(pilot, lambda: "ferries" in text(page) or "row " in text(page) or "thing" in text(page))
    await until(pilot, lambda: not page.transcript._is_drawing)
    return page  # type: ignore[no-any-return]


def number(page: ConversationScreen) -> int:
    """The marked message."""
    return page.transcript.mark


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
            await screen.transcript.remove()  # as the closing of a screen begins
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
def test_words_are_found_marked_and_gone_through(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e17")
            await pilot.press("slash")
            await type_in(pilot, "NEEDLE is")
            await pilot.press("enter")
            await until(pilot, lambda: number(page) == 5 and "the needle is here" in text(page))
            assert "1 of 1" in note(page)
            await pilot.press("slash")
            await type_in(pilot, "about")
            await pilot.press("enter")
            await until(pilot, lambda: not page._is_searching and len(page.hits) == 38)
            here = number(page)
            await pilot.press("n")
            assert number(page) == page.hits[page.hits.index(here) + 1]
            await pilot.press("N", "N")
            assert number(page) == page.hits[page.hits.index(here) - 1]
            await pilot.press("escape")
            assert page.transcript.search_pattern is None and app.screen is page
            await pilot.press("slash")
            await type_in(pilot, "nowhere at all")
            await pilot.press("enter")
            await until(pilot, lambda: "no matches" in note(page))

    run(body)


@pytest.mark.slow
def test_words_deep_in_a_megabyte_are_gone_to(deep: Path) -> None:
    async def body() -> None:
        async with shown(deep) as (app, pilot):
            page = await reading(app, pilot)
            await pilot.press("slash")
            await type_in(pilot, "row 17123")
            await pilot.press("enter")
            await until(pilot, lambda: number(page) == 35 and "row 17123 of" in text(page))

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


@pytest.mark.slow
def test_the_summary_leads_to_its_messages(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            panel = page.query_one(SummaryPanel)
            assert panel.display and panel.summary is not None
            await pilot.press("s")
            assert panel.has_class("-whole")
            await pilot.press("s")
            assert not panel.display and "summary folded" in str(page.query_one("#reading-title", Static).render())
            await pilot.press("escape")
            page = await reading(app, pilot)  # it stays folded for what is read next
            panel = page.query_one(SummaryPanel)
            assert not panel.display and panel.is_folded
            await pilot.press("s")
            assert panel.display and not panel.has_class("-whole")
            await pilot.resize_terminal(140, 40)
            await until(pilot, lambda: page.has_class("-wide"))
            await pilot.press("s")  # beside the conversation there are no first lines to go through
            assert not panel.display
            await pilot.press("s")
            assert panel.display
            await pilot.press("end", "1")
            assert page.transcript.marked_id == panel.summary.quotes[0].message_id
            await pilot.press("end", "0")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is page)
            assert page.transcript.marked_id == panel.summary.quotes[0].message_id

    run(body)


def test_a_message_is_copied_and_pinned(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e3")
            await pilot.press("y")
            await until(pilot, lambda: app.clipboard.startswith("Look:\n```python"))
            assert "★" not in text(page)
            await pilot.press("p")
            await until(pilot, lambda: "★" in text(page))
            id = page.transcript.marked_id
            assert (await app.memory_worker.run_query(lambda memory: memory.message(id))).pinned
            await pilot.press("p")
            await until(pilot, lambda: "★" not in text(page))
            assert not (await app.memory_worker.run_query(lambda memory: memory.message(id))).pinned

    run(body)


def test_forget_asks_for_the_marked_message(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot, "e3")
            asked: list[str] = []
            monkeypatch.setattr(app, "forget", lambda *ids: asked.extend(ids))
            await pilot.press("d")
            assert asked == [page.transcript.marked_id]

    run(body)


@pytest.mark.slow
def test_branches_and_what_they_left_are_gone_to(filled: Path) -> None:
    with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
        sea = memory.sessions.get("sea")
        sea.branch("e12", title="Another sea").add("user", "And what of the lake?")

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await reading(app, pilot)
            await pilot.press("b")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen is not page)
            branch = app.screen
            assert isinstance(branch, ConversationScreen)
            await until(pilot, lambda: "Number 12" in text(branch) and "the lake" in text(branch))
            await pilot.press("b")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen is not branch)
            assert app.screen.session_id == page.info.id  # type: ignore[attr-defined, union-attr]

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
