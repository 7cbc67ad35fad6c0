"""What is done in a conversation: words are found, messages pinned and forgotten, quotes and branches gone to."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import run, shown, type_in, until
from sea import MEGABYTE, note, number, reading, sea, summarised, text, written
from textual.widgets import Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.summary_panel import SummaryPanel
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
            page.transcript.seek(page.hits[-1])
            await pilot.press("n")  # as lists do, it stops at the end
            assert number(page) == page.hits[-1]
            await until(pilot, lambda: any(one.message == "This is the last match." for one in app._notifications))
            page.transcript.seek(page.hits[0])
            await pilot.press("N")
            assert number(page) == page.hits[0]
            await until(pilot, lambda: any(one.message == "This is the first match." for one in app._notifications))
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
