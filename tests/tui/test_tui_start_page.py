"""The start page: what is shown before anything is typed, and what its entries open."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from scenes import words
from screens import run, shown, until
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import OptionList, Tabs

from appliance import Appliance
from appliance.types import Anniversary, Message, RecentSession, SessionInfo, StartPage, Waiting
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from appliance_tui.author_colours import readable_colours
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.memory import MemoryScreen
from appliance_tui.screens.people import PeopleScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.themes import THEMES
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import FilterChips, SearchInput
from appliance_tui.widgets.start_entries import (
    ExampleEntry,
    Look,
    PinnedEntry,
    SessionEntry,
    WaitingEntry,
    friendly_time,
    start_sections,
)
from appliance_tui.widgets.start_layout import arrange
from appliance_tui.widgets.start_page import StartPagePanel
from tests.homes import copied

TODAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of which the page has something under every heading."""
    folder = tmp_path_factory.mktemp("lively")
    now = datetime.now().astimezone().replace(hour=12)
    try:
        last_year = now.replace(year=now.year - 1)
    except ValueError:  # the 29th of February
        last_year = now.replace(year=now.year - 4)
    said = [
        ("trip", "Pyrenees", "user", "Mira", last_year, "The cabin in Barbastro is booked for us."),
        ("trip", "Pyrenees", "user", "Mira", now - timedelta(hours=2), "See you at the cabin in Barbastro."),
        ("moves", "My data", "user", None, now - timedelta(days=700), "My birthday is May 3."),
        ("moves", "My data", "assistant", None, now - timedelta(days=700), "Noted."),
        ("moves", "My data", "user", None, now - timedelta(days=600), "My birthday is June 4."),
        ("bread", "Sourdough hydration", "user", None, now - timedelta(days=3), "How wet should a sourdough be?"),
        ("bread", "Sourdough hydration", "assistant", None, now - timedelta(days=3), "About 75 % water."),
    ]
    lines = [
        {"session_id": session, "session_title": title, "message_id": f"{session}{number}", "role": role,
         "author": author, "timestamp": at.isoformat(), "content": text}
        for number, (session, title, role, author, at, text) in enumerate(said)
    ]  # fmt: skip
    (folder / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(folder / "talk.jsonl")
        memory.run_pending_jobs()
        memory.pin("bread6")
        (memory.home.inbox / "conversations.json").write_text('{"half": ')
        memory.watcher().run(once=True)
    return folder / "home"


def panel(app: ApplianceApp) -> StartPagePanel:
    return app.screen_stack[0].query_one(StartPagePanel)


async def loaded(app: ApplianceApp, pilot: Pilot[None]) -> StartPagePanel:
    await until(pilot, lambda: panel(app).display and panel(app).entries)
    return panel(app)


async def select(pilot: Pilot[None], page: StartPagePanel, which: type, **attributes: str) -> None:
    """Go to the first entry of a kind by the arrows of the search line."""

    def is_meant() -> bool:
        entry = page.chosen
        return isinstance(entry, which) and all(getattr(entry, name) == value for name, value in attributes.items())

    for _ in page.entries:
        await pilot.press("down")
        if is_meant():
            return
    raise AssertionError(f"there is no {which.__name__} with {attributes}")


@pytest.mark.slow
def test_the_page_is_the_first_that_is_seen_and_typing_replaces_it(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively, (80, 24)) as (app, pilot):
            page = await loaded(app, pilot)
            assert page.virtual_size.height <= page.size.height, "it fits"
            seen = words(app)
            for expected in ("Pyrenees", "Recent", "On this day", "Pinned", "★", "Waiting", "Try", "Barbastro"):
                assert expected in seen, expected
            assert isinstance(app.focused, SearchInput) and page.marked is None
            await pilot.press("down", "down", *"bread")
            await until(pilot, lambda: app.query_one(HitList).display and app.query_one(HitList).hits)
            assert not page.display and app.query_one(SearchInput).value == "bread"
            await pilot.press(*["backspace"] * 5)
            await until(pilot, lambda: page.display)
            app.query_one(SearchInput).insert_text_at_cursor("source:native ")
            await until(pilot, lambda: app.query_one(FilterChips).display and not page.display)
            await pilot.press("backspace")
            await until(pilot, lambda: page.display and not app.query_one(SearchInput).value)
            assert page.marked is None and isinstance(app.focused, SearchInput)

    run(body)


@pytest.mark.slow
def test_the_arrows_enter_it_and_leave_it_above(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively) as (app, pilot):
            page = await loaded(app, pilot)
            await pilot.press("up")
            assert page.marked is None
            await pilot.press("down", "down", "up", "up")
            assert page.marked is None and isinstance(app.focused, SearchInput)
            await pilot.press("down", "down", "right")
            assert page.marked is not None and page.marked >= page.columns[1]
            await pilot.press("left")
            assert page.marked < page.columns[1]
            await pilot.press("end", "down")
            assert page.marked == len(page.entries) - 1
            await pilot.press("home", "pagedown", "pageup")
            assert page.marked == 0
            await pilot.press("escape", "escape", "escape")
            assert page.marked is None and page.display
            await pilot.press("e", "l", "k")
            assert app.query_one(SearchInput).value == "elk" and isinstance(app.focused, SearchInput)

    run(body)


@pytest.mark.slow
def test_enter_reads_a_conversation_at_its_message_and_comes_back(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively) as (app, pilot):
            page = await loaded(app, pilot)
            for kind, text in ((SessionEntry, "See you at the cabin"), (PinnedEntry, "About 75 %")):
                await select(pilot, page, kind)
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
                await until(pilot, lambda text=text: text in words(app))
                await pilot.press("escape")
                await until(pilot, lambda: isinstance(app.screen, SearchScreen))
                assert isinstance(page.chosen, kind), "what was opened stays selected"

    run(body)


@pytest.mark.slow
def test_what_waits_opens_where_it_is_settled(lively: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(copied(lively, tmp_path / "own")) as (app, pilot):
            page = await loaded(app, pilot)
            await select(pilot, page, WaitingEntry, kind="failed")
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == "inbox")
            await pilot.press("f1")
            page.marked = None
            await select(pilot, page, WaitingEntry, kind="contradictions")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen))
            await until(pilot, lambda: "4 June" in words(app) and "Review 1" in words(app))
            await pilot.press("a")
            await until(pilot, lambda: "Review 1" not in words(app))
            await pilot.press("f1")
            await until(pilot, lambda: "1 contradiction" not in words(app) and "not be read" in words(app))
            assert isinstance(page.chosen, WaitingEntry), "the next one is selected"

    run(body)


@pytest.mark.slow
def test_who_may_be_one_and_what_is_archived_soon_is_opened_too(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively) as (app, pilot):
            page = await loaded(app, pilot)
            assert page.page is not None
            infos = tuple(one.session for one in page.page.recent)
            waiting = Waiting(proposals=1, archived_soon=infos, archived_soon_count=len(infos))
            memory = app.memory_worker.memory()
            real = memory.overview.start_page
            memory.overview.start_page = lambda **how: replace(real(**how), waiting=waiting)  # type: ignore[method-assign]
            page.read()
            await until(pilot, lambda: "pair of names" in words(app))
            await select(pilot, page, WaitingEntry, kind="archived")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await until(pilot, lambda: app.screen.query_one(OptionList).highlighted == 0)
            await pilot.press("down")
            await until(pilot, lambda: app.screen.query_one(OptionList).highlighted == 1)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            assert app.screen.session_id == infos[1].id  # type: ignore[attr-defined]
            await pilot.press("escape")
            page.marked = None
            await select(pilot, page, WaitingEntry, kind="proposals")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, PeopleScreen))
            await until(pilot, lambda: app.screen.query_one(Tabs).active == "proposals")

    run(body)


def test_an_example_is_typed_and_searched(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively) as (app, pilot):
            page = await loaded(app, pilot)
            example = next(entry for entry in page.entries if isinstance(entry, ExampleEntry) and ":" in entry.query)
            await select(pilot, page, ExampleEntry, query=example.query)
            await pilot.press("enter")
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert isinstance(app.focused, SearchInput) and not page.display
            assert app.query_one(FilterChips).display
            assert all(hit.author == "Mira" for hit in app.query_one(HitList).hits)

    run(body)


@pytest.mark.slow
def test_a_click_selects_and_another_opens(lively: Path) -> None:
    async def body() -> None:
        async with shown(lively) as (app, pilot):
            page = await loaded(app, pilot)
            entry = next(place for place, one in enumerate(page.entries) if isinstance(one, PinnedEntry))
            row = page._row(entry)
            (cell,) = [cell for cell in page.lines[row] if cell.entry == entry]
            where = (cell.x + 4, row)
            await pilot.hover(page, where)
            assert page.hovered == entry
            await pilot.click(page, where)
            assert page.marked == entry and isinstance(app.focused, SearchInput)
            await pilot.click(page, where)
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))

    run(body)


@pytest.mark.slow
def test_it_follows_the_memory_and_keeps_what_is_selected(lively: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(copied(lively, tmp_path / "own")) as (app, pilot):
            page = await loaded(app, pilot)
            await select(pilot, page, SessionEntry)
            await pilot.press("down")
            chosen = page.chosen
            assert isinstance(chosen, SessionEntry)
            memory, place = app.memory_worker.memory(), page.marked
            line = {"session_id": "new", "session_title": "Brand new", "message_id": "n1", "role": "user",
                    "content": "Hello there.", "timestamp": datetime.now().astimezone().isoformat()}  # fmt: skip
            (tmp_path / "new.jsonl").write_text(json.dumps(line) + "\n")
            memory.ingest(tmp_path / "new.jsonl")
            await until(pilot, lambda: "Brand new" in words(app))
            assert isinstance(page.chosen, SessionEntry) and page.chosen.recent.session.id == chosen.recent.session.id
            assert place is not None and page.marked == place + 1
            memory.sessions.get("new").delete()
            await until(pilot, lambda: "Brand new" not in words(app))
            assert page.marked == place
            app.user = "eve"
            await until(pilot, lambda: not page.display)
            app.user = None
            await until(pilot, lambda: page.display and page.marked is None)

    run(body)


@pytest.mark.slow
def test_keys_that_are_typed_before_the_page_is_read_are_for_the_line(lively: Path) -> None:
    async def body() -> None:
        from screens import opened

        app = ApplianceApp(opened(lively))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press(*"cabin")
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert app.query_one(SearchInput).value == "cabin" and not panel(app).display
            await pilot.press(*["backspace"] * 5)
            await loaded(app, pilot)

    run(body)


def test_a_memory_with_one_conversation_has_one_column(home: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(
        json.dumps(
            {"session_id": "s", "session_title": "Only this", "message_id": "1", "role": "user", "content": "Words."}
        )
        + "\n"
    )
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(tmp_path / "one.jsonl")

    async def body() -> None:
        async with shown(home, (140, 45)) as (app, pilot):
            page = await loaded(app, pilot)
            await until(pilot, lambda: "1 conversation" in words(app) and len(page.entries) == 1)
            await pilot.press("down", "enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))

    run(body)


# --- the layout by itself -------------------------------------------------------------------------------


def message(number: int, random: Random) -> Message:
    text = "".join(random.choice("ab cd 水🎉\n\t\x1b") for _ in range(random.randrange(200)))
    return Message(
        f"m{number}", "s1", "e", "user", random.choice((None, "Ana", "名" * 30)), "2025-03-01", text, None, {}
    )


def page_of(random: Random) -> StartPage:
    def info(number: int) -> SessionInfo:
        return SessionInfo(
            f"s{number}", "e", random.choice((None, "T" * 300, "麺")), "me", "", "", "native", 3, None,
            random.choice((None, "2026-02-28T10:00:00+00:00", "2019-01-01T00:00:00")), "2026-01-01", {},
        )  # fmt: skip

    numbers = [random.randrange(9) for _ in range(4)]
    return StartPage(
        sessions=12,
        since="2019-01-01",
        recent=tuple(RecentSession(info(n), random.choice((None, message(n, random)))) for n in range(numbers[0])),
        on_this_day=tuple(
            Anniversary(f"{2025 - n}-03-01", info(n), (message(n, random),), 3) for n in range(numbers[1])
        ),
        pinned=tuple(message(n, random) for n in range(numbers[2])),
        pinned_count=12,
        waiting=Waiting(numbers[3], numbers[3] // 2, numbers[3] // 3, 1, (info(90),), 1),
        examples=tuple(f"what about {'w' * random.randrange(150)}" for _ in range(3)),
    )


LOOK = Look(readable_colours({**THEMES[0].to_color_system().generate(), **THEMES[0].variables}), {}, TODAY)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_overlaps_and_every_entry_has_its_place(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        page, width, height = page_of(random), random.randrange(5, 220), random.randrange(1, 70)
        sections = start_sections(page)
        layout = arrange(Content("today"), sections, width, height, LOOK)
        for line in layout.lines:
            end = 0
            for cell in line:
                assert cell.x >= end and "\n" not in cell.content.plain
                end = cell.x + cell.width
                assert end <= width
                room = cell.width - (2 if cell.entry is not None else 0)
                assert width < 60 or cell.content.cell_length <= room, cell.content.plain
        placed = {cell.entry for line in layout.lines for cell in line if cell.entry is not None}
        assert placed == set(range(len(layout.entries)))
        for section in sections if layout.entries else ():
            count = sum(entry in layout.entries for entry in section.entries)
            assert count >= min(section.least, len(section.entries))
        if width >= 80 and height >= 18:
            assert len(layout.lines) <= height


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (None, ""), ("2026-03-01T07:05:00", "07:05"), ("2026-02-28T07:05:00", "yesterday"), ("2026-02-24", "Tue"),
        ("2026-02-22", "22 Feb"), ("2025-12-31", "31 Dec 2025"), ("2026-03-09", "9 Mar"),
    ],
)  # fmt: skip
def test_times_are_said_as_people_say_them(timestamp: str | None, expected: str) -> None:
    assert friendly_time(timestamp, TODAY) == expected
