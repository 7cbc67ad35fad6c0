"""The calendar: a year as a heatmap, the conversations of a day, and the way to them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from screens import run, shown, type_in, until
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from appliance_tui.calendar_days import CalendarFilters, DayCounts, day_at, first_monday, in_year, week_of
from appliance_tui.screens.calendar import CalendarScreen, years_around
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.conversations import ConversationsScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.year_grid import LABEL_WIDTH, YearGrid
from tests.homes import copied

SAID = (
    ("hull", "a", "2024-02-28T10:00:00Z", 1), ("hull", "b", "2025-03-10T10:00:00Z", 2),
    ("hull", "c", "2025-03-12T10:00:00Z", 9), ("galley", "d", "2025-03-12T18:30:00Z", 3),
    ("galley", "e", "2025-12-31T23:00:00Z", 1),
)  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations on some days of two years, and a message without a time."""
    folder = tmp_path_factory.mktemp("calendar")
    lines = [
        {"session_id": session, "session_title": session.title(), "message_id": f"{id}{number}", "role": "user",
         "author": "Ana" if session == "hull" else "Ben", "timestamp": at, "content": f"{session} {id}{number}"}
        for session, id, at, count in SAID
        for number in range(count)
    ]  # fmt: skip
    lines.append({"session_id": "hull", "message_id": "t", "role": "tool", "content": "Tide table"})
    lines.append({"session_id": "loose", "message_id": "z", "role": "user", "content": "No date."})
    (folder / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(folder / "said.jsonl")
        memory.sessions.get("galley").tag(["food"])
    return folder / "home"


@pytest.fixture
def filled(built: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as this test's own home. Today is a day in June 2025."""
    monkeypatch.setattr("appliance_tui.screens.calendar.today", lambda: date(2025, 6, 1))
    return copied(built, home)


def said(page: CalendarScreen, id: str) -> str:
    return str(page.query_one(f"#calendar-{id}", Static).visual)


def sessions(page: CalendarScreen) -> list[str]:
    return [found.session.title or "" for found in page.query_one("#calendar-sessions", RowList).items]


async def opened(app: ApplianceApp, pilot: Pilot[None]) -> CalendarScreen:
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(app.screen, ConversationsScreen) and app.screen.sessions.rows)
    await pilot.press("c")
    await until(pilot, lambda: isinstance(app.screen, CalendarScreen) and app.screen.grid.day_counts.days)
    assert isinstance(app.screen, CalendarScreen)
    return app.screen


def test_it_begins_with_the_latest_day_before_today(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await opened(app, pilot)
            assert page.grid.selected == date(2025, 3, 12)
            assert (
                "16 messages on 4 days · 1 without a date · 1 not counted (by tools or systems, or not shared)"
                in said(page, "title")
            )
            assert "2024  ‹2025› 15 messages on 3 days, most on 12 Mar (12)" in said(page, "years")
            assert said(page, "day") == "Wed 2025-03-12 · 12 messages"
            await until(pilot, lambda: sessions(page) == ["Hull", "Galley"])
            await until(pilot, lambda: "hull c7" in said(page, "messages"))
            assert "10:00" in said(page, "messages") and "1 more message; enter reads on" in said(page, "messages")
            assert page.query_one("#calendar-preview").display

    run(body)


def test_where_not_all_years_have_room_the_selected_one_is_among_them() -> None:
    years = {year: Content(f"‹{year}›" if year == 2023 else str(year)) for year in range(2007, 2027)}
    assert years_around(years, 2023, 200).plain.split() == [content.plain for content in years.values()]
    assert years_around(years, 2023, 40).plain == "…  2021  2022  ‹2023›  2024  2025  …"
    assert years_around(years, 2023, 10).plain == "…  ‹2023›  …"
    assert years_around(years, 2026, 30).plain == "…  ‹2023›  2024  2025  2026"


@pytest.mark.slow
def test_a_day_is_read_and_one_with_several_conversations_asks_which(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await opened(app, pilot)
            await pilot.press("enter", "down", "enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            assert isinstance(app.screen, ConversationScreen) and app.screen.info is not None
            assert app.screen.info.title == "Galley"
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is page and page.focused is not page.grid)
            await pilot.press("escape", "N", "enter")  # 10 March: one conversation
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            reading = app.screen
            assert isinstance(reading, ConversationScreen) and reading.transcript.marked_id is not None
            assert app.memory_worker.memory().message(reading.transcript.marked_id).text == "hull b0"
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is page)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ConversationsScreen))

    run(body)


@pytest.mark.slow
def test_days_weeks_and_years_have_keys(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            page = await opened(app, pilot)
            for keys, day in (
                (["left", "up"], date(2025, 3, 4)),
                (["right", "down"], date(2025, 3, 12)),
                (["left_square_bracket"], date(2024, 3, 12)),
                (["left_square_bracket"], date(2024, 3, 12)),  # there is no year before
                (["N"], date(2024, 2, 28)),
                (["down", "right_square_bracket"], date(2025, 2, 28)),  # from a leap day
                (["end"], date(2025, 12, 31)),
                (["down"], date(2025, 12, 31)),
                (["home"], date(2024, 2, 28)),
                (["n", "n", "n"], date(2025, 12, 31)),
                (["t"], date(2025, 6, 1)),
            ):
                await pilot.press(*keys)
                assert page.grid.selected == day, keys
            await pilot.press("enter")
            await until(pilot, lambda: any("No messages on 2025-06-01" in one.message for one in app._notifications))

    run(body)


@pytest.mark.slow
def test_a_click_selects_a_day_and_a_second_one_reads_it(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await opened(app, pilot)
            day = date(2025, 3, 10)
            place = (1 + LABEL_WIDTH + page.grid.cell_width * week_of(day), 1 + day.weekday())
            await pilot.click(YearGrid, offset=place)
            assert page.grid.selected == day
            await pilot.click(YearGrid, offset=place)
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is page)
            await pilot.click("#calendar-years", offset=(2, 0))
            await until(pilot, lambda: page.grid.selected.year == 2024)

    run(body)


@pytest.mark.slow
def test_it_counts_only_what_passes_the_filters(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await opened(app, pilot)
            for typed, words in (
                ("tag food", "tag: food · 4 messages on 2 days"),
                ("author ana", "by Ana · tag: food"),
            ):
                await pilot.press("f")
                await until(pilot, lambda: isinstance(app.screen, PickerScreen))
                await type_in(pilot, typed)
                await pilot.press("enter")
                await until(pilot, lambda words=words: app.screen is page and words in said(page, "title"))
            await until(pilot, lambda: not page.grid.day_counts.days)
            for typed, words in (
                ("author ben", "by Ana, Ben · tag: food · 4 mess"),
                ("author ana", "by Ben · tag: food"),
            ):
                await pilot.press("f")
                await until(pilot, lambda: isinstance(app.screen, PickerScreen))
                await type_in(pilot, typed)
                await pilot.press("enter")
                await until(pilot, lambda words=words: app.screen is page and words in said(page, "title"))
            await pilot.press("X")
            await until(pilot, lambda: "16 messages" in said(page, "title"))
            await until(pilot, lambda: len(sessions(page)) == 2)

    run(body)


@pytest.mark.slow
def test_a_filter_leads_to_a_year_with_messages(filled: Path) -> None:
    async def chosen(app: ApplianceApp, pilot: Pilot[None], page: CalendarScreen, typed: str) -> None:
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await type_in(pilot, typed)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is page)

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await opened(app, pilot)
            await pilot.press("home")
            await until(pilot, lambda: "‹2024› 1 message" in said(page, "years"))
            await chosen(app, pilot, page, "author ben")  # who wrote in 2025 alone
            await until(pilot, lambda: page.grid.selected == date(2025, 3, 12))
            await until(pilot, lambda: "‹2025› 4 messages on 2 days" in said(page, "years"))
            await until(pilot, lambda: sessions(page) == ["Galley"])
            await pilot.press("X")
            await until(pilot, lambda: "2024  ‹2025› 15 messages" in said(page, "years"))
            await pilot.press("home")
            assert page.grid.selected == date(2024, 2, 28)
            await chosen(app, pilot, page, "author ana")
            await chosen(app, pilot, page, "tag food")  # then the year stays, and is named
            await until(pilot, lambda: "‹2024› no messages  2025" in said(page, "years"))

    run(body)


@pytest.mark.slow
def test_it_opens_from_anywhere_and_once(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("ctrl+y")
            await until(pilot, lambda: isinstance(app.screen, CalendarScreen) and app.screen.grid.day_counts.days)
            await pilot.press("ctrl+y")
            assert len(app.screen_stack) == 2
            await pilot.press("escape")
            await type_in(pilot, "author:ana tag:food ")
            await until(pilot, lambda: app.screen.query("FilterChip"))
            await pilot.press("ctrl+y")
            await until(pilot, lambda: isinstance(app.screen, CalendarScreen))
            assert isinstance(app.screen, CalendarScreen)
            assert app.screen.filters == CalendarFilters(("ana",), (), ("food",))

    run(body)


@pytest.mark.slow
def test_marks_tell_levels_apart_without_colours(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, theme="plain") as (app, pilot):
            page = await opened(app, pilot)
            lines = str(page.grid.render()).splitlines()
            assert lines[0].split()[:3] == ["Jan", "Feb", "Mar"] and [line[:3] for line in lines[1:3]] == ["Mon", "Tue"]
            text = "".join(lines)
            assert text.count("◆") == 1 and "○" in text and ("▓" in text or "▒" in text)
            legend = said(page, "legend")
            assert "○ today" in legend  # as it is drawn: it has no messages
            assert "today" in legend and "12+" not in legend  # the largest number is above a bound

    run(body)


def test_days_are_parted_into_levels_of_about_one_size() -> None:
    days = [date(2025, 1, number) for number in range(1, 13)]
    counts = DayCounts.of(dict(zip(days, [1, 1, 1, 2, 2, 3, 4, 5, 8, 9, 30, 31], strict=True)))
    assert list(counts.level_ranges()) == [(1, 2), (3, 4), (5, 9), (10, None)]
    assert [counts.level(day) for day in days] == [1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4]
    assert counts.level(date(2025, 2, 1)) == 0
    same = DayCounts.of(dict.fromkeys(days, 7))
    assert list(same.level_ranges()) == [(1, None)] and same.level(days[0]) == 1
    assert list(DayCounts.of({}).level_ranges()) == [] and DayCounts().next_day(days[0], 1) is None
    assert [counts.next_day(days[4], by) for by in (1, -1)] == [days[5], days[3]]
    assert counts.next_day(days[-1], 1) is None
    sparse = DayCounts.of({days[0]: 1, days[4]: 1})
    assert [sparse.nearest(days[place]) for place in (0, 1, 3, 11)] == [days[0], days[0], days[4], days[4]]
    assert DayCounts().nearest(days[0]) is None


def test_every_day_of_a_year_has_a_place_of_its_own() -> None:
    for year in (1, 1999, 2000, 2024, 2028, 2034, 9999):
        places = [(week, weekday) for week in range(54) for weekday in range(7)]
        days = [day for place in places if (day := day_at(year, *place)) is not None]
        assert days[0] == date(year, 1, 1) and days[-1] == date(year, 12, 31)
        assert len(days) == len(set(days)) == (366 if year in (2000, 2024, 2028) else 365)
        assert all(day_at(year, week_of(day), day.weekday()) == day for day in days[::13])
    assert first_monday(2025) == date(2024, 12, 30)
    assert in_year(date(2024, 2, 29), 2025) == date(2025, 2, 28)
