"""What the screen has changed is taken back by one key, unless something else has changed it since."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, type_in, until
from test_tui_footer import footer
from textual.pilot import Pilot
from textual.widgets import Input

from appliance import Appliance, UsageError
from appliance.types import Event
from appliance_models import HashEmbedder
from appliance_tui import toasts, undo
from appliance_tui.app import ApplianceApp
from appliance_tui.screens.memory import MemoryScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.hits import HitList
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


def notices(app: ApplianceApp) -> list[str]:
    return [f"{note.title}: {note.message}" if note.title else note.message for note in app._notifications]


async def said(app: ApplianceApp, pilot: Pilot[Any], text: str) -> None:
    await until(pilot, lambda: any(text in notice for notice in notices(app)))


def test_changes_are_taken_back_one_after_the_other(filled: Path) -> None:
    """The changes of the screen, at the memory."""
    with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
        memory.pin("m2")
        memory.sessions.get("s1").tag(["sea"])
        before = memory.sessions.list(), {id: memory.message(id).pinned for id in ("m1", "m2", "m3")}
        made = [
            undo.toggle_pins(memory, ("m1", "m2", "m3")),
            undo.toggle_pins(memory, ("m1", "m2")),
            undo.toggle_session_pins(memory, ("s1", "s2")),
            undo.rename_session(memory, "s1", "The quay"),
            undo.tag_sessions(memory, ("s1", "s2"), ["boats", "#Sea"], []),
            undo.tag_sessions(memory, ("s1", "s2"), [], ["sea"]),
        ]
        assert [change.done for change in made] == [
            "Pinned 2 messages", "Unpinned 2 messages", "Pinned 2 conversations", "Renamed to “The quay”",
            "Tagged 2 conversations: boats, #Sea", "Removed the tag from 2 conversations: sea",
        ]  # fmt: skip
        assert memory.sessions.info("s1").tags == ("boats",)
        assert [change.undone for change in made[1:4]] == [
            "Pinned 2 messages", "Unpinned 2 conversations", "The title is “Harbour watch” again",
        ]  # fmt: skip
        one = undo.toggle_pins(memory, ("m3",)), undo.toggle_session_pins(memory, ("s3",))
        assert [change.undone for change in one] == [
            "Pinned “Remind me: my sister Mira moved to Lisb…”", "Unpinned “The ledger”",
        ]  # fmt: skip
        for change in (*one[::-1], *reversed(made)):
            change.undo(memory)
        after = memory.sessions.list(), {id: memory.message(id).pinned for id in ("m1", "m2", "m3")}
        assert after == before


@pytest.mark.slow
def test_a_title_of_first_words_is_one_again(home: Path) -> None:
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        session = memory.sessions.create()
        session.add("user", "How do I prune a quince tree in a cold winter?")
        memory.run_pending_jobs()
        before = session.info
        change = undo.rename_session(memory, session.id, "Quinces")
        assert session.info.title == "Quinces" and not session.info.title_found
        change.undo(memory)
        assert session.info == before


def test_what_something_else_has_changed_since_stays(filled: Path) -> None:
    with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
        pins = undo.toggle_pins(memory, ("m1", "m2"))
        memory.unpin("m2")
        with pytest.raises(UsageError, match="m2 was unpinned meanwhile"):
            pins.undo(memory)
        assert memory.message("m1").pinned  # nothing of it is taken back
        tags = undo.tag_sessions(memory, ("s1", "s2"), ["a"], [])
        memory.sessions.get("s2").tag(["b"])
        with pytest.raises(UsageError, match="s2 were changed meanwhile"):
            tags.undo(memory)
        assert memory.sessions.info("s1").tags == ("a",)
        title = undo.rename_session(memory, "s1", "One")
        memory.sessions.get("s1").rename("Two")
        with pytest.raises(UsageError, match="renamed meanwhile"):
            title.undo(memory)
        gone = undo.toggle_pins(memory, ("m5",))
        memory.erasure.forget(memory.erasure.preview("m5"))
        with pytest.raises(UsageError, match="m5 no longer exists"):
            gone.undo(memory)


def test_the_key_takes_back_a_pin_and_says_what_it_did(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory = app.memory_worker.memory()
            screen = app.screen
            assert isinstance(screen, SearchScreen)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: screen.query_one(HitList).hits)
            await pilot.press("tab", "u")
            await said(app, pilot, "Nothing to undo.")
            id = screen.query_one(HitList).hits[0].message_id
            await pilot.press("p")
            await said(app, pilot, "Pinned 1 message  (u undoes it)")
            await until(pilot, lambda: "★" in screen.query_one(HitList).render_line(0).text)
            await pilot.press("u")
            await said(app, pilot, "Undone in Recall: Unpinned “")
            assert not memory.message(id).pinned
            await until(pilot, lambda: "★" not in screen.query_one(HitList).render_line(0).text)
            await pilot.press("p")
            await until(pilot, lambda: memory.message(id).pinned)
            await app.memory_worker.run_command(lambda memory: memory.unpin(id))
            await pilot.press("u")
            await said(app, pilot, f"Not undone: The message {id} was unpinned meanwhile.")
            await pilot.press("slash", "u")  # a letter on the search line
            await until(pilot, lambda: screen.answered_query not in ("", "ferry"))

    run(body)


@pytest.mark.slow
def test_a_fact_that_was_corrected_is_as_before(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory = app.memory_worker.memory()
            await pilot.press("f4")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen._rows.items)
            screen = app.screen
            assert isinstance(screen, MemoryScreen)
            before = memory.facts.list()
            await pilot.press("down", "c")
            await type_in(pilot, "x")
            await pilot.press("enter")
            await until(pilot, lambda: memory.facts.list() != before)
            await pilot.press("u")
            await said(app, pilot, "is no longer corrected")
            assert memory.facts.list() == before

    run(body)


@pytest.mark.slow
def test_an_erasure_leaves_nothing_to_take_back(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2", "p")
            await said(app, pilot, "Pinned 1 conversation")
            await app.memory_worker.run_command(lambda memory: memory.erasure.forget(memory.erasure.preview("m1")))
            await until(pilot, lambda: app.changes.stack.pop() is None)
            await pilot.press("u")
            await said(app, pilot, "Nothing to undo: what was forgotten can't be brought back.")

    run(body)


@pytest.mark.slow
def test_an_added_fact_is_taken_back_before_what_was_decided_earlier(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory = app.memory_worker.memory()
            await pilot.press("f4")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen._rows.items)
            await pilot.press("down", "a")
            await said(app, pilot, "(u undoes it)")
            confirmed = memory.facts.list()
            await pilot.press("n")
            await type_in(pilot, "I am allergic to peanuts")
            await pilot.press("enter")
            await until(pilot, lambda: any("peanuts" in fact.value for fact in memory.facts.list()))
            await until(pilot, lambda: app.screen.focused is app.screen._rows)  # type: ignore[attr-defined]
            await pilot.press("u")
            await said(app, pilot, "No longer added: I am allergic to peanuts")
            assert memory.facts.list() == confirmed
            await pilot.press("u")
            await said(app, pilot, "is no longer confirmed")

    run(body)


@pytest.mark.slow
def test_a_pin_of_another_program_gets_its_star(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            hits = app.query_one(HitList)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: hits.hits)
            id, memory = hits.hits[0].message_id, app.memory_worker.memory()
            await asyncio.to_thread(memory.pin, id)
            await until(pilot, lambda: id in hits._pinned)
            await asyncio.to_thread(memory.unpin, id)
            await until(pilot, lambda: id not in hits._pinned)

    run(body)


def test_pins_are_told_to_all_who_listen(filled: Path) -> None:
    with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
        told: list[Event] = []
        end = memory.events.listen(told.append)
        memory.pin("m1")
        memory.sessions.get("s1").pin()
        memory.sessions.get("s1").unpin()
        end()
        assert told == [Event("pinned", "m1", {"pinned": 1}), Event("pinned", "s1", {"pinned": 1}),
                        Event("pinned", "s1", {"pinned": 0})]  # fmt: skip


def test_a_notice_that_was_read_goes_with_the_next_key_and_an_error_stays(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            app.notify("Theme: dark", timeout=600)
            app.notify("Pinned 1 message", timeout=600)  # takes its place
            app.notify_error("The disk is full.", timeout=600)
            await pilot.press("down")
            assert len(notices(app)) == 2, "there was no time to read it"
            monkeypatch.setattr(toasts, "READING_SHARE", 0.0)
            await pilot.press("down")
            await until(pilot, lambda: notices(app) == ["The disk is full."])

    run(body)


@pytest.mark.slow
def test_undo_waits_for_the_change_that_was_asked_for_before_it(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory, screen = app.memory_worker.memory(), app.screen
            await type_in(pilot, "ferry")
            await until(pilot, lambda: len(screen.query_one(HitList).hits) > 1)
            first, second = (hit.message_id for hit in screen.query_one(HitList).hits[:2])
            await pilot.press("tab", "p")
            await said(app, pilot, "Pinned 1 message  (u undoes it)")
            pin = memory.pin

            def slowly(id: str) -> None:
                time.sleep(0.2)
                pin(id)

            memory.pin = slowly  # type: ignore[method-assign,assignment]
            await pilot.press("down", "p", "u")
            await said(app, pilot, "Unpinned “")
            assert memory.message(first).pinned and not memory.message(second).pinned
            assert not any("undoes it" in notice for notice in notices(app)), "what is done says so no more"

    run(body)


@pytest.mark.slow
def test_a_change_can_be_taken_back_although_its_screen_was_closed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            memory, screen = app.memory_worker.memory(), app.screen
            await type_in(pilot, "ferry")
            await until(pilot, lambda: screen.query_one(HitList).hits)
            id = screen.query_one(HitList).hits[0].message_id
            await pilot.press("enter")
            await until(pilot, lambda: getattr(app.screen, "selectable", None) and app.screen.target_ids())  # type: ignore[attr-defined]
            pin = memory.pin

            def slowly(id: str) -> None:
                time.sleep(0.2)
                pin(id)

            memory.pin = slowly  # type: ignore[method-assign,assignment]
            await pilot.press("p", "escape", "tab", "u")
            await said(app, pilot, "Unpinned “")
            assert not memory.message(id).pinned

    run(body)


@pytest.mark.slow
def test_a_notice_names_the_key_only_where_it_undoes(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, notifications=True) as (app, pilot):
            screen = app.screen
            await type_in(pilot, "ferry")
            await until(pilot, lambda: screen.query_one(HitList).hits)
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is not screen and app.screen.target_ids())  # type: ignore[attr-defined]
            await pilot.press("p")
            await said(app, pilot, "(u undoes it)")
            await until(pilot, lambda: "u Undo" in footer(app))
            await pilot.press("escape")  # back on the search line, where u is a letter
            await until(pilot, lambda: app.screen is screen and isinstance(app.focused, Input))
            await until(pilot, lambda: not any("undoes it" in notice for notice in notices(app)))
            assert any("Pinned 1 message" in notice for notice in notices(app))
            assert "u Undo" not in footer(app)

    run(body)


@pytest.mark.slow
def test_what_a_hit_was_worth_is_said_from_the_list_and_taken_back(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 30)) as (app, pilot):
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await pilot.press("tab")
            await until(pilot, lambda: "v Worth" in footer(app))
            ids = [hit.message_id for hit in app.query_one(HitList).hits[:2]]
            await pilot.press("shift+down", "v")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press(*"outdated", "enter")
            importance = app.memory_worker.memory().pins.importance
            await until(pilot, lambda: [importance(id).judgement for id in ids] == ["outdated"] * 2)
            await until(pilot, lambda: "u Undo" in footer(app))
            await pilot.press("u")
            await until(pilot, lambda: [importance(id).judgement for id in ids] == [None] * 2)
            assert any(note.message == "2 messages no longer count as outdated." for note in app._notifications)

    run(body)
