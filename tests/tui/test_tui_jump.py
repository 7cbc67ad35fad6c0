"""Going anywhere by a colon, earlier queries, other users, the palette, and the help."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import fill, opened, run, shown, talk, type_in, until
from test_tui_keys import GETS_THERE
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui import query_history
from appliance_tui.actions import ACTIONS, PLACES, SCREENS, ActionProvider
from appliance_tui.app import ApplianceApp
from appliance_tui.destinations import Destination, find_destinations, first_day_since
from appliance_tui.frame import KeyFooter
from appliance_tui.screens.help import HelpScreen
from appliance_tui.screens.jump import nothing_found
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.widgets.session_list import SessionList
from appliance_tui.widgets.transcript import TranscriptView


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three conversations of its owner, and as many of another user."""
    folder = tmp_path_factory.mktemp("jump")
    home = fill(folder / "home", folder)
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(talk(folder / "hers.jsonl"), user_id="mira")
    return home


def place(app: ApplianceApp) -> str:
    return getattr(app.screen, "PLACE", "")


async def go_to(app: ApplianceApp, pilot: Pilot[None], text: str, kind: str) -> None:
    """Type where to go, and go to the first destination."""
    await pilot.press("colon")
    await until(pilot, lambda: place(app) == "jump")
    await type_in(pilot, text)
    rows = app.screen.query_one(RowList)
    await until(pilot, lambda: app.screen._listed_text == text)  # type: ignore[attr-defined]
    assert isinstance(rows.chosen, Destination), f"nothing is found for {text}"
    assert rows.chosen.kind == kind
    await pilot.press("enter")
    await until(pilot, lambda: place(app) != "jump")


async def read(app: ApplianceApp, pilot: Pilot[None]) -> TranscriptView:
    await until(pilot, lambda: app.screen.query(TranscriptView) and app.screen.query_one(TranscriptView).marked_id)
    return app.screen.query_one(TranscriptView)


def test_where_nothing_is_found_it_says_what_can_be_typed() -> None:
    assert nothing_found("m5905").startswith("There is no message m5905 of this user.")
    assert nothing_found("s7").startswith("There is no conversation s7 ")
    assert nothing_found("yesterday") == (
        "Nothing found for “yesterday”.\n\n"
        "A title, a person, a screen, a date (15 March 2024, last May) or an id (m345) can be typed here."
    )


@pytest.mark.slow
def test_a_colon_leads_anywhere(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await go_to(app, pilot, "vit", "screen")  # from the empty search line
            assert place(app) == "vitals"
            await go_to(app, pilot, "ledger", "conversation")
            view = await read(app, pilot)
            assert app.screen.info.title == "The ledger"  # type: ignore[attr-defined]
            await go_to(app, pilot, "2 march 2025", "day")  # from reading another conversation
            view = await read(app, pilot)
            await until(pilot, lambda: app.screen.info.title == "Harbour watch")  # type: ignore[attr-defined]
            await until(pilot, lambda: view.conversation_layout.outline.times[view.mark][:10] == "2025-03-02")  # type: ignore[union-attr]
            await pilot.press("g")
            await until(pilot, lambda: view.mark == 0)
            before = app.screen
            await go_to(app, pilot, "2025-03-02", "day")  # in the conversation itself
            await until(pilot, lambda: view.mark == 2)
            assert app.screen is before
            await go_to(app, pilot, "m1", "message")
            await until(pilot, lambda: app.screen is not before)
            view = await read(app, pilot)
            assert view.marked_id == "m1"
            await go_to(app, pilot, "ana", "person")
            assert place(app) == "recall"
            assert [name for name, _ in app.screen.search_filters.pairs()] == ["author"]  # type: ignore[attr-defined]
            await until(pilot, lambda: isinstance(app.focused, SearchInput))
            hits = app.query_one(HitList)
            await until(pilot, lambda: hits.hits and {hit.author for hit in hits.hits} == {"Ana"})
            times = [str(hit.timestamp) for hit in hits.hits]
            assert times == sorted(times, reverse=True)  # without words, the newest come first
            await pilot.press("enter")
            view = await read(app, pilot)
            assert view.marked_id == hits.hits[0].message_id
            assert not app.screen.hits  # type: ignore[attr-defined]

    run(body)


@pytest.mark.slow
def test_a_colon_in_a_text_is_text(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "a:b")
            await until(pilot, lambda: app.query_one(SearchInput).value == "a:b")
            assert place(app) == "recall"
            await pilot.press("ctrl+u")  # deletes the text, as in every line
            await until(pilot, lambda: not app.query_one(SearchInput).value)
            assert place(app) == "recall"

    run(body)


def test_destinations_match_by_their_kind(filled: Path) -> None:
    with opened(filled)() as memory:
        empty = find_destinations(memory, "", None, None)
        assert [one.target for one in empty if one.kind == "screen"] == [*SCREENS, "calendar"]
        assert len([one for one in empty if one.kind == "conversation"]) == 3
        days = find_destinations(memory, "11 April 2025", None, None)
        assert [(one.kind, one.day) for one in days] == [("day", "2025-04-11")]
        assert "麺" in days[0].note
        months = [one.day for one in find_destinations(memory, "march 2025", None, None)]
        assert months == ["2025-03-01", "2025-03-02"]
        harbour = find_destinations(memory, "harbour", None, None)[0].target
        assert find_destinations(memory, "2025-03-02", None, harbour)[0].note.startswith("in this conversation")
        assert first_day_since(memory, harbour, "march 2025") == "2025-03-01"
        assert first_day_since(memory, harbour, "2026") is None
        assert find_destinations(memory, "m999999", None, None) == []
        assert find_destinations(memory, "zebra crossing", None, None) == []
        theirs = find_destinations(memory, "harbour", "mira", None)
        assert [one.kind for one in theirs] == ["conversation"]
        assert theirs[0].target != harbour
        assert find_destinations(memory, theirs[0].target, None, None) == []  # it is another's
        assert find_destinations(memory, theirs[0].target, "mira", None) == theirs


@pytest.mark.slow
def test_earlier_queries_come_back_and_a_forgetting_drops_them(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_history, "STOOD_SECONDS", 0.0)

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line = app.query_one(SearchInput)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await pilot.press(*["backspace"] * 5)
            await type_in(pilot, "walnuts author:Ana ")
            await until(pilot, lambda: app.screen.search_filters.authors == ("Ana",))  # type: ignore[attr-defined]
            await pilot.press(*["backspace"] * 8)
            await until(pilot, lambda: not line.value)
            footer = app.screen.query_one(KeyFooter)
            await until(pilot, lambda: any("↑ Earlier" in part.content.plain for part in footer.parts))
            await pilot.press("up")
            await until(pilot, lambda: line.value.strip() == "walnuts")
            await pilot.press("up")
            await until(pilot, lambda: line.value == "ferry")
            assert not app.screen.search_filters  # type: ignore[attr-defined]
            await until(pilot, lambda: app.query_one(HitList).hits)
            await pilot.press("down")
            await until(pilot, lambda: line.value.strip() == "walnuts")
            assert app.screen.search_filters.authors == ("Ana",)  # type: ignore[attr-defined]
            await pilot.press("down")
            await until(pilot, lambda: not line.value)

            memory = app.memory_worker.memory()
            session = memory.sessions.create(title="A note")
            session.add("user", "Something to forget.")
            memory.erasure.forget(memory.erasure.preview(session.id))
            history = app.screen._history  # type: ignore[attr-defined]
            await until(pilot, lambda: not any(history._queries.values()))
            await pilot.press("up")
            await pilot.pause()
            assert not line.value

    run(body)


@pytest.mark.slow
def test_another_user_is_shown_on_every_screen(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.query(SessionList) and app.screen.query_one(SessionList).rows)
            own = app.screen.query_one(SessionList).marked
            await pilot.press("enter")
            await read(app, pilot)
            await pilot.press("ctrl+g")
            await until(pilot, lambda: app.screen.query("#picker") and "3 conversations" in str(shown_options(app)))
            await type_in(pilot, "mira")
            await pilot.press("enter")
            await until(pilot, lambda: app.active_user == "mira")
            await until(pilot, lambda: place(app) == "conversations")  # the other's conversation is closed
            rows = app.screen.query_one(SessionList)
            await until(pilot, lambda: rows.marked is not None and own is not None and rows.marked.id != own.id)
            assert len(rows.rows) == 3
            await pilot.press("f1")
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.screen.query_one(HitList).hits)
            assert app.screen.query_one(HitList).hits[0].session_id in {row.info.id for row in rows.rows}

    run(body)


def shown_options(app: ApplianceApp) -> list[str]:
    return [f"{option.label} {option.note}" for option in app.screen._shown_options]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_palette_has_the_commands_of_all_screens_and_goes_to_them(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await GETS_THERE["recall"](app, pilot)
            provider = ActionProvider(app.screen)
            offered = {action.id for action in provider._offered_actions()}
            assert offered == {action.id for action in ACTIONS if action.place in ("app", "list", *SCREENS)}
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await type_in(pilot, "conversations titles")
            await until(pilot, lambda: app.screen.query_one("CommandList").option_count == 1)  # type: ignore[attr-defined]
            await pilot.press("enter")
            await until(pilot, lambda: place(app) == "conversations" and isinstance(app.focused, Input))
            await pilot.press("escape", "enter")
            await read(app, pilot)
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await type_in(pilot, "conversations pinned")
            await until(pilot, lambda: app.screen.query_one("CommandList").option_count == 1)  # type: ignore[attr-defined]
            await pilot.press("enter")  # from a conversation to the list that lies under it
            await until(pilot, lambda: place(app) == "conversations" and app.screen.view.pinned)  # type: ignore[attr-defined]

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conversations", "reading"])
def test_the_help_begins_at_the_screen_and_filters(name: str, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (100, 24)) as (app, pilot):
            await GETS_THERE[name](app, pilot)
            await pilot.press("question_mark")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            text = app.screen.query_one("#help-text")
            heading = app.screen.query_one(f"#help-{name}")
            await until(pilot, lambda: heading.region.y == text.region.y)
            await type_in(pilot, "forget")
            await until(pilot, lambda: not app.screen.query_one("#help-vitals").display)
            keys = app.screen.query_one("#help-keys-conversations", Static)
            assert keys.display
            assert "Erase the conversation" in str(keys.content)
            await pilot.press("escape")
            await until(pilot, lambda: place(app) == name)

    run(body)


def test_the_help_has_a_section_for_every_place() -> None:
    assert {action.place for action in ACTIONS} == PLACES.keys()
