"""The list of conversations, key by key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from screens import fill, run, shown, type_in, until
from textual.widgets import OptionList, Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.conversations import PAGE_SIZE, ConversationsScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.session_list import SessionList
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three conversations that were imported, one that was begun here, and two branches of that."""
    folder = tmp_path_factory.mktemp("built")
    home = fill(folder / "home", folder)
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        begun = memory.sessions.create(title="Plans", external_id="plans", agent_id="clerk")
        first = begun.add("user", "What shall we do on Sunday?")
        begun.add("assistant", "Walk to the lighthouse.")
        branch = begun.branch(first.id, title="Plans in the rain")
        again = branch.add("user", "And if it rains?")
        branch.branch(again.id, title="Plans in the snow").add("user", "And if it snows?")
    return home


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


def titles(page: ConversationsScreen) -> list[str]:
    return [("  " * row.depth) + (row.info.title or "") for row in page.sessions.rows]


def text(page: ConversationsScreen) -> str:
    """What of the list is on the screen."""
    return "\n".join(page.sessions.render_line(row).text for row in range(page.sessions.size.height))


def said(page: ConversationsScreen, id: str) -> str:
    return str(page.query_one(f"#{id}", Static).render())


async def listed(app, pilot) -> ConversationsScreen:  # type: ignore[no-untyped-def]
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(app.screen, ConversationsScreen) and app.screen.sessions.rows)
    return app.screen  # type: ignore[no-any-return]


def test_they_are_listed_by_time_and_branches_under_what_they_left(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            assert titles(page) == [
                "Plans",
                "  Plans in the rain",
                "    Plans in the snow",
                "The ledger",
                "麺 and bread",
                "Harbour watch",
            ]
            rows = text(page).splitlines()
            assert rows[0].startswith("▌") and "Plans" in rows[0] and rows[0].rstrip().endswith("2")
            assert "local" in rows[1] and "with clerk" in rows[1]
            assert "└ Plans in the rain" in rows[2] and "shares 1" in rows[3]
            assert "2025-04-11" in text(page)
            assert "6 conversations" in said(page, "sessions-note")

    run(body)


def test_the_mark_moves_and_enter_reads(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("j", "down", "j", "k", "up", "down")
            assert page.sessions.mark == 2
            await pilot.press("end")
            assert page.sessions.mark == 5
            await pilot.press("home")
            assert page.sessions.mark == 0
            await pilot.press("pagedown")
            assert page.sessions.mark == 5
            await pilot.press("pageup", "end", "enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.info is not None)
            assert app.screen.info.title == "Harbour watch"
            await pilot.press("q")
            await until(pilot, lambda: app.screen is page)
            assert page.sessions.mark == 5

    run(body)


def test_orders_and_their_other_end(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            first = titles(page)
            await pilot.press("S")
            await until(pilot, lambda: titles(page) != first)
            assert titles(page)[0] == "Harbour watch"
            await pilot.press("S")
            await until(pilot, lambda: titles(page) == first)
            for order in ("by start", "title", "length"):
                await pilot.press("s")
                await until(pilot, lambda order=order: order in said(page, "sessions-view"))  # type: ignore[misc]
            await until(pilot, lambda: titles(page)[0] == "Harbour watch")  # four messages
            await pilot.press("s")
            await until(pilot, lambda: "importance" in said(page, "sessions-view"))
            await pilot.press("s")
            await until(pilot, lambda: titles(page) == first)
            await pilot.press("P")
            await until(pilot, lambda: "X lists all; p pins" in said(page, "sessions-note"))
            await pilot.press("X")
            await until(pilot, lambda: titles(page) == first)

    run(body)


@pytest.mark.slow
def test_titles_are_narrowed_as_one_types(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("slash")
            await type_in(pilot, "plans rain")
            await until(pilot, lambda: titles(page) == ["Plans in the rain"])
            assert "↳ Plans in the rain" in text(page)
            await pilot.press("enter")
            assert not page.query_one(QuestionLine).display and titles(page) == ["Plans in the rain"]
            await pilot.press("slash")
            await type_in(pilot, "zzz")
            await until(pilot, lambda: "No conversations match" in said(page, "sessions-note"))
            await pilot.press("escape")
            await until(pilot, lambda: titles(page) == ["Plans in the rain"])
            await pilot.press("escape", "escape")
            await until(pilot, lambda: len(titles(page)) == 6)
            marked = page.sessions.marked
            assert marked is not None and marked.title == "Plans in the rain", "a key behind is for what was found"

    run(body)


@pytest.mark.slow
def test_one_source_only(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            options = app.screen.query_one(OptionList)
            await type_in(pilot, "zzz")
            await until(pilot, lambda: [str(one.prompt) for one in options.options] == ["No match"])
            await pilot.press("enter", "ctrl+u")
            assert isinstance(app.screen, PickerScreen)
            await type_in(pilot, "native")
            await pilot.press("enter")
            await until(pilot, lambda: len(page.sessions.rows) == 3)
            assert {row.info.format for row in page.sessions.rows} == {"native"}
            assert "source: native" in said(page, "sessions-view")

    run(body)


def test_conversations_are_pinned_and_the_pinned_ones_shown(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("end", "p")
            await until(pilot, lambda: "★ Harbour watch" in text(page))
            await pilot.press("P")
            await until(pilot, lambda: titles(page) == ["Harbour watch"])
            await pilot.press("p")
            await until(pilot, lambda: not titles(page))
            await pilot.press("P")
            await until(pilot, lambda: len(titles(page)) == 6 and "★" not in text(page))

    run(body)


def test_a_title_is_given(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("end", "r")
            assert page.query_one(QuestionLine).value == "Harbour watch"
            await pilot.press("end")  # the title stays
            await type_in(pilot, " again")
            await pilot.press("enter")
            await until(pilot, lambda: "Harbour watch again" in titles(page))
            await pilot.press("r")
            await type_in(pilot, "Ferries")  # it is replaced
            await pilot.press("enter")
            await until(pilot, lambda: "Ferries" in titles(page))
            await pilot.press("r")
            page.query_one(QuestionLine).value = ""
            await pilot.press("enter")
            await until(pilot, lambda: any("title is empty" in one.message for one in app._notifications))

    run(body)


def test_forget_asks_for_the_marked_one(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            asked: list[str] = []
            monkeypatch.setattr(app, "forget", lambda *ids: asked.extend(ids))
            await pilot.press("end", "d")
            assert asked == [page.sessions.rows[5].info.id]

    run(body)


def test_wide_screens_look_into_the_marked_one(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(160, 40)) as (app, pilot):
            page = await listed(app, pilot)
            await until(pilot, lambda: "Walk to the lighthouse" in said(page, "sessions-text"))
            await pilot.press("end")
            await until(pilot, lambda: "ferry to Brodgar" in said(page, "sessions-text"))
            assert "Ana 2" in said(page, "sessions-text")
            await pilot.resize_terminal(80, 24)
            await until(pilot, lambda: not page.query_one("#sessions-preview").display)
            assert "Harbour watch" in text(page)

    run(body)


def test_a_click_marks_and_another_one_reads(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.click(page.sessions, offset=(8, 7))
            await until(pilot, lambda: page.sessions.mark == 3)
            await pilot.click(page.sessions, offset=(8, 6))
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))

    run(body)


def test_what_is_said_meanwhile_moves_no_mark(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("j", "j", "j", "j")
            marked = page.sessions.marked
            assert marked is not None and marked.title == "麺 and bread"
            await app.memory_worker.run_command(
                lambda memory: memory.sessions.create(title="News").add("user", "The ferry is late.")
            )
            await until(pilot, lambda: "News" in titles(page))
            now = page.sessions.marked
            assert now is not None and now.id == marked.id

    run(body)


def test_many_come_page_by_page(home: Path, tmp_path: Path) -> None:
    many = 3 * PAGE_SIZE + 20
    path = tmp_path / "many.jsonl"
    lines = [
        {"session_id": f"n{n}", "session_title": f"Title {n}", "message_id": f"n{n}", "role": "user",
         "timestamp": f"2024-01-01T{n // 60:02}:{n % 60:02}:00Z", "content": f"word {n}"}
        for n in range(many)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(path, wait=False)

    async def body() -> None:
        async with shown(home) as (app, pilot):
            page = await listed(app, pilot)
            assert len(page.sessions.rows) == PAGE_SIZE
            assert "more as you scroll" in said(page, "sessions-note")
            while page.listing.next_cursor is not None:
                count = len(page.sessions.rows)
                await pilot.press("end")
                await until(pilot, lambda count=count: len(page.sessions.rows) > count)  # type: ignore[misc]
            assert titles(page) == [f"Title {n}" for n in reversed(range(many))]
            await pilot.press("end")
            assert "Title 0" in text(page).splitlines()[-2]

    run(body)


def test_an_empty_home_says_how_to_begin(home: Path) -> None:
    async def body() -> None:
        async with shown(home) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: isinstance(app.screen, ConversationsScreen))
            await until(pilot, lambda: "ingest PATH" in said(app.screen, "sessions-note"))
            await pilot.press("enter", "p", "r", "d", "down", "end")
            assert app.screen.query_one(SessionList).marked is None

    run(body)


@pytest.mark.slow
def test_tags_are_shown_changed_and_filtered_by(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            memory = app.memory_worker.memory()
            plans = memory.sessions.get(page.sessions.rows[0].info.id)
            plans.tag(["sea", "half, half"])
            await pilot.press("p")  # the list is loaded again
            await until(pilot, lambda: "#half, half #sea" in text(page))
            await pilot.press("t")
            assert page.query_one(QuestionLine).value == "sea"
            await type_in(pilot, "s")  # tags are added to those that there are
            assert page.query_one(QuestionLine).value == "seas"
            await pilot.press("ctrl+a", "ctrl+k")
            await type_in(pilot, "Trip, Été")
            await pilot.press("enter")
            await until(pilot, lambda: "#trip" in text(page))
            assert {"trip", "half, half"} < set(plans.info.tags) and "sea" not in plans.info.tags
            assert len(plans.info.tags) == 3
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "tag trip")
            await pilot.press("enter")
            await until(pilot, lambda: titles(page) == ["Plans"] and "tag: trip" in said(page, "sessions-view"))
            await pilot.press("t")
            await until(pilot, lambda: page.query_one(QuestionLine).display)
            await pilot.press("ctrl+a", "ctrl+k", "enter")
            await until(pilot, lambda: not page.sessions.rows)
            assert plans.info.tags == ("half, half",)

    run(body)


@pytest.mark.slow
def test_conversations_of_tools_alone_are_listed_on_request(filled: Path) -> None:
    with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
        memory.sessions.create(title="Crane log").add("tool", "lifted 3 t")

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await until(pilot, lambda: said(page, "sessions-note") == "6 conversations")
            for note in ("7 conversations", "6 conversations"):
                await pilot.press("f")
                await until(pilot, lambda: isinstance(app.screen, PickerScreen))
                await type_in(pilot, "only tools")
                await pilot.press("enter")
                await until(pilot, lambda note=note: said(page, "sessions-note") == note)  # type: ignore[misc]

    run(body)
