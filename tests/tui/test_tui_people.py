"""People on the screen: the list, what is known of one, and who is one person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from screens import run, shown, type_in, until
from textual.pilot import Pilot
from textual.widgets import Input, Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from appliance_tui.details import DetailList
from appliance_tui.frame import COMPACT_BAR_COLUMNS
from appliance_tui.screens.calendar import CalendarScreen
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.people import PeopleScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.month_bars import render_months
from appliance_tui.widgets.person_rows import PersonRow, fitting_columns
from appliance_tui.widgets.rows import RowList
from tests.homes import copied

SAID = (
    ("crew", "Ben Carter", "2024-01-10T09:00:00Z", "The hull is dry."),
    ("crew", "Ana Lima", "2025-03-01T09:00:00Z", "Paint it blue."),
    ("crew", "Ben Carter", "2025-03-02T09:00:00Z", "Blue it is."),
    ("crew", "Zoë", "2025-03-02T10:00:00Z", "Or green."),
    ("cook", "Ben Carter", "2025-05-02T09:00:00Z", "Soup tonight."),
    ("cook", "Zoë", "2025-05-03T09:00:00Z", "No soup for me."),
    ("cook", "Gus", "2025-05-03T10:00:00Z", "Bread, then."),
)
CHAT = "05/06/2025, 10:0{n} - {who}: {text}\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people in one source, one of whom has a namesake in another."""
    folder = tmp_path_factory.mktemp("people")
    lines = [
        {"session_id": session, "session_title": session.title(), "message_id": f"{session}{number}", "role": "user",
         "author": author, "timestamp": at, "content": text}
        for number, (session, author, at, text) in enumerate(SAID)
    ]  # fmt: skip
    (folder / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spoken = (
        ("Ben Carter", "Where are the keys?"),
        ("Tilda", "On the hook."),
        ("Hal", "Thanks."),
        ("Ben Carter", "Found."),
    )
    chat = "".join(CHAT.format(n=number, who=who, text=text) for number, (who, text) in enumerate(spoken))
    (folder / "WhatsApp Chat with Crew.txt").write_text(chat)
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(folder / "said.jsonl")
        memory.ingest(folder / "WhatsApp Chat with Crew.txt")
        memory.run_pending_jobs()
    return folder / "home"


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


def rows(page: PeopleScreen) -> list[str]:
    items = page.query_one("#people-rows", RowList).items
    return [row.person.name if isinstance(row, PersonRow) else f"{row.a.name} = {row.b.name}" for row in items]


def ids(page: PeopleScreen) -> dict[str, str]:
    """The ids of people by name and source."""
    people = page._list or ()
    return {f"{one.name} {one.identities[0].source}": one.id for one in people}


def details(page: PeopleScreen) -> str:
    return "\n".join(str(part.content) for part in page.query_one("#person", DetailList).parts)


async def listed(app: ApplianceApp, pilot: Pilot[None]) -> PeopleScreen:
    await pilot.press("f7")
    await until(pilot, lambda: isinstance(app.screen, PeopleScreen) and rows(app.screen))
    assert isinstance(app.screen, PeopleScreen)
    return app.screen


def test_people_are_listed_with_what_is_known_of_the_selected_one(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            assert rows(page) == ["Ben Carter", "Ben Carter", "Zoë", "Ana Lima", "Gus", "Hal", "Tilda"]
            await until(pilot, lambda: "Cook" in details(page))
            text = details(page)
            assert "3 messages in 2 conversations, 2024-01-10 to 2025-05-02" in text
            assert "2024-01 to 2025-05 · at most 1 in a month" in text and "native: Ben Carter" in text
            assert "May be the same person" in text and ids(page)["Ben Carter whatsapp"] in text
            await pilot.press("s", "s")
            await until(pilot, lambda: rows(page)[0] == "Ana Lima")
            assert "by name" in str(page.query_one("#people-pane").border_title)

    run(body)


@pytest.mark.slow
def test_the_list_is_filtered_by_names_and_sources(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("slash")
            await type_in(pilot, "whatsapp ben")
            await until(pilot, lambda: rows(page) == ["Ben Carter"])
            await pilot.press("escape")
            assert rows(page) == ["Ben Carter"] and page.focused is page.query_one("#people-rows")
            assert "filter: whatsapp ben" in str(page.query_one("#people-note", Static).visual)
            await pilot.press("escape")
            await until(
                pilot,
                lambda: len(rows(page)) > 1 and "filter:" not in str(page.query_one("#people-note", Static).visual),
            )
            await pilot.press("slash")
            assert page.query_one("#people-ask Input", Input).value == "", "what was cleared is not asked for again"
            await type_in(pilot, "zzz")
            await until(pilot, lambda: not rows(page))
            await pilot.press("escape", "2")
            await until(pilot, lambda: page._view == "proposals" and rows(page))

    run(body)


@pytest.mark.slow
def test_enter_lists_everything_that_a_person_wrote(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            page.query_one("#people-rows", RowList).mark(ids(page)["Ana Lima native"])
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen))
            hits = app.screen.query_one(HitList)
            await until(pilot, lambda: hits.results is not None and hits.results.hits)
            assert hits.results is not None and [hit.text for hit in hits.results.hits] == ["Paint it blue."]
            await until(pilot, lambda: app.screen.query("FilterChip"))
            assert "author: Ana Lima" in str(app.screen.query("FilterChip").first().label)  # type: ignore[attr-defined]
            await pilot.press("tab", "w")  # no query, no reasons
            assert app.screen is not page and any("matches the filters" in one.message for one in app._notifications)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            note = app.screen.query_one("#reading-note", Static)
            await until(pilot, lambda: "2025-03-01" in str(note.visual))
            assert "“”" not in str(note.visual)
            await pilot.press("P")  # and back to her
            await until(pilot, lambda: isinstance(app.screen, PeopleScreen))
            assert page._person is not None and page._person.name == "Ana Lima"

    run(body)


@pytest.mark.slow
def test_a_proposal_is_accepted_and_taken_back(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await pilot.press("2")
            await until(pilot, lambda: rows(page) == ["Ben Carter = Ben Carter"])
            await until(pilot, lambda: details(page).count("Ben Carter  p") == 2)
            await pilot.press("a")
            await until(pilot, lambda: not rows(page))
            await pilot.press("1")
            await until(pilot, lambda: rows(page) == ["Ben Carter", "Zoë", "Ana Lima", "Gus", "Hal", "Tilda"])
            await pilot.press("u")
            await until(pilot, lambda: rows(page).count("Ben Carter") == 2)
            await pilot.press("r")  # of the one proposal about the selected person
            await until(pilot, lambda: page._list is not None and not page._list.proposals)
            assert rows(page).count("Ben Carter") == 2

    run(body)


@pytest.mark.slow
def test_a_person_is_renamed_merged_split_and_said_to_be_oneself(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            people = page.query_one("#people-rows", RowList)
            people.mark(ids(page)["Zoë native"])
            await pilot.press("n", "ctrl+a", "ctrl+k")
            await type_in(pilot, "Zoe Park")
            await pilot.press("enter")
            await until(pilot, lambda: "Zoe Park" in rows(page))
            assert people.chosen.person.name == "Zoe Park"  # type: ignore[union-attr]
            await pilot.press("S")
            await until(pilot, lambda: app._notifications)
            assert any("one account" in one.message for one in app._notifications)

            await pilot.press("m")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "Tilda")
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is page and "Tilda" not in rows(page))
            await until(pilot, lambda: "whatsapp: Tilda" in details(page))
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "Tilda")
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is page and "Tilda" in rows(page))

            assert page._person is not None and not page._person.me
            await pilot.press("M")
            await until(pilot, lambda: page._person is not None and page._person.me)
            me = app.memory_worker.memory().people.me()
            assert me is not None and me.name == "Zoe Park"

    run(body)


@pytest.mark.slow
def test_several_selected_people_are_merged(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            people = page.query_one("#people-rows", RowList)
            found = ids(page)
            for name in ("Zoë native", "Tilda whatsapp", "Gus native"):
                people.mark(found[name])
                await pilot.press("space")
            note = page.query_one("#people-note", Static)
            await until(pilot, lambda: "3 selected, esc clears" in str(note.content))
            await pilot.press("m")
            await until(pilot, lambda: len(rows(page)) == len(found) - 2)
            assert not len(page.selection)
            assert any("3 people are one person" in one.message for one in app._notifications)
            await pilot.press("u", "u")
            await until(pilot, lambda: sorted(rows(page)) == sorted(name.rpartition(" ")[0] for name in found))
            await pilot.press("space", "2")
            await until(pilot, lambda: page._view == "proposals" and not len(page.selection))
            await pilot.press("space")
            assert not len(page.selection), "a proposal is no person"

    run(body)


@pytest.mark.slow
def test_a_conversation_is_read_from_the_details_and_its_author_found(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            await until(pilot, lambda: "Cook" in details(page))
            await pilot.press("tab", "enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            assert isinstance(app.screen, ConversationScreen) and "Cook" in str(app.screen.info)
            await pilot.press("G", "P")  # the last message is of Gus
            await until(pilot, lambda: app.screen is page)
            assert page._person is not None and page._person.name == "Gus"

    run(body)


@pytest.mark.slow
def test_the_calendar_of_a_person_opens(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            page.query_one("#people-rows", RowList).mark(ids(page)["Ana Lima native"])
            await pilot.press("c")
            await until(pilot, lambda: isinstance(app.screen, CalendarScreen) and app.screen.grid.day_counts.days)
            assert "Ana Lima" in str(app.screen.query_one("#calendar-title", Static).visual)

    run(body)


@pytest.mark.slow
def test_another_users_people_are_not_shown(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page = await listed(app, pilot)
            app.user = "ana"
            await until(pilot, lambda: not rows(page))
            assert "No people yet" in str(page.query_one("#people-note", Static).visual)
            await until(pilot, lambda: app.status_text == "0 messages")
            app.user = None
            await until(pilot, lambda: rows(page) and app.status_text == "11 messages")

    run(body)


def test_a_narrow_list_keeps_the_most_telling_columns() -> None:
    assert [column.heading for column in fitting_columns(30)] == ["messages"]
    assert [column.heading for column in fitting_columns(72)] == ["messages", "sources", "last said"]
    assert [column.heading for column in fitting_columns(120)] == [
        "messages", "conv.", "sources", "since", "last said",
    ]  # fmt: skip


def test_months_are_bars_from_the_first_to_the_last() -> None:
    assert render_months({"": 3}) is None
    assert str(render_months({"2025-03": 3})) == "3 messages, all in 2025-03"
    upper, lower, axis = str(render_months({"2025-01": 16, "2025-02": 8, "2025-04": 1})).split("\n")
    assert upper == "██      " and lower == "████  ▁▁"
    assert axis == "2025-01 to 2025-04 · at most 16 in a month (2025-01)"
    years = str(render_months({"1999-01": 1, "2024-12": 5})).split("\n")
    assert len(years[0]) == 45 and "at most 5 in 7 months (2024-09)" in years[2]


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_bar_has_all_screens_and_the_user(filled: Path, width: int) -> None:
    async def body() -> None:
        async with shown(filled, (width, 24)) as (app, pilot):
            await until(pilot, lambda: "me" in str(app.screen.query_one("#places", Static).visual).split())
            bar = str(app.screen.query_one("#places", Static).visual)
            names = bar.replace("F", " ").translate(str.maketrans("1234567", " " * 7)).split()
            assert [name for name in names if name in ("Recall", "Inbox", "Vitals", "People")] == [
                "Recall", "Inbox", "Vitals", "People",
            ]  # fmt: skip
            assert len(bar) <= width
            narrow = width < COMPACT_BAR_COLUMNS  # the number of messages is not said
            assert ("F1Recall" in bar) == narrow and ("11 messages" in bar) != narrow

    run(body)
