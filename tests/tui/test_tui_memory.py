"""The memory screen: facts with their evidence, the queue of conflicts, summaries, pins and importance."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from scenes import words
from screens import until
from textual.pilot import Pilot
from textual.widgets import Input, Static, Tab

from appliance import Appliance
from appliance_tui.app import ApplianceApp
from appliance_tui.details import DetailList
from appliance_tui.frame import KeyFooter
from appliance_tui.screens.memory import EMPTY_HINTS, MemoryScreen
from appliance_tui.widgets.entries import Entry, FactEntry, GroupHead, PinEntry, SummaryEntry, entry_key
from appliance_tui.widgets.prompt_line import PromptLine
from appliance_tui.widgets.rows import RowList
from tests.summary_talk import chat, write

Body = Callable[[Pilot[None], MemoryScreen], Awaitable[None]]


@pytest.fixture
def talk(memory: Appliance) -> list[str]:
    """What somebody said of themselves, two things of which contradict each other."""
    session = memory.sessions.create(title="About me")
    said = (
        "I moved to Lisbon in March 2025.",
        "My birthday is on 3 May.",
        "My birthday is on 4 May.",
        "My name is Maria.",
        "My name is Anna.",
    )
    ids = [session.add("user", one).id for one in said]
    memory.embed_pending()
    return ids


def run(memory: Appliance, body: Body, size: tuple[int, int] = (140, 40)) -> None:
    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=size) as pilot:
            app.action_go("memory")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen.is_mounted)
            screen = app.screen
            assert isinstance(screen, MemoryScreen)
            await until(pilot, lambda: rows(screen).has_focus)
            await body(pilot, screen)

    asyncio.run(go())


def rows(screen: MemoryScreen) -> RowList[Entry]:
    return screen.query_one("#entries", RowList)


def texts(screen: MemoryScreen) -> list[str]:
    return [row.fact.text for row in rows(screen).items if isinstance(row, FactEntry)]


def footer(screen: MemoryScreen) -> str:
    return "".join(part.content.plain for part in screen.query_one(KeyFooter).parts)


def detail(screen: MemoryScreen, id: str = "detail") -> str:
    return "\n".join(part.content.plain for part in screen.query_one(f"#{id}", DetailList).parts)


async def mark(pilot: Pilot[None], screen: MemoryScreen, text: str) -> str:
    """Mark the fact that says something; its id."""
    await until(pilot, lambda: text in texts(screen))
    fact = next(row.fact for row in rows(screen).items if isinstance(row, FactEntry) and row.fact.text == text)
    rows(screen).mark(fact.id)
    await until(pilot, lambda: text in detail(screen))
    return fact.id


def test_facts_stand_in_groups_with_their_evidence_and_history(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "is called Anna")
        assert [row.name for row in rows(screen).items if isinstance(row, GroupHead)] == ["You"]
        assert "“My name is Anna" in detail(screen)
        assert "Maria  superseded" in detail(screen)
        history = [line for line in detail(screen).splitlines() if "superseded" in line]
        assert history and all(line.lstrip("▪ ").startswith("said 20") and " to 20" in line for line in history)
        await until(pilot, lambda: str(screen.query_one("#review", Tab).label) == "2 Review 1")

    run(memory, body)


def test_enter_opens_the_message_that_a_fact_is_from_and_tab_leads_to_each_quote(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str | None]] = []
    monkeypatch.setattr(ApplianceApp, "read", lambda self, *about: opened.append(about))
    session = memory.message(talk[0]).session_id

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "is called Anna")
        await pilot.press("enter")
        await until(pilot, lambda: opened == [(session, talk[4])])
        await pilot.press("tab")
        assert screen.query_one("#detail", DetailList).has_focus
        await pilot.press("down", "enter")  # from the evidence to the history: Maria
        await until(pilot, lambda: opened[1:] == [(session, talk[3])])

    run(memory, body)


def test_a_conflict_stands_side_by_side_and_one_key_accepts_it(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await pilot.press("2")
        await until(pilot, lambda: "4 May" in detail(screen) and "3 May" in detail(screen, "conflicts"))
        assert "“My birthday is on 4 May" in detail(screen)
        assert "“My birthday is on 3 May" in detail(screen, "conflicts")
        left, right = (screen.query_one(f"#{id}").region for id in ("conflicts", "detail"))
        assert left.y == right.y
        assert left.right <= right.x
        await pilot.press("a")
        await until(pilot, lambda: EMPTY_HINTS["review"] in words(pilot.app))
        assert memory.facts.review() == []
        assert "birthday: 4 May" in [fact.text for fact in memory.facts.list()]

    run(memory, body, (80, 24))


def test_r_rejects_and_what_was_rejected_can_be_taken_back(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await pilot.press("2")
        await until(pilot, lambda: texts(screen) == ["birthday: 4 May"])
        await pilot.press("r")
        await until(pilot, lambda: memory.facts.review() == [])
        assert [fact.text for fact in memory.facts.list(state="rejected")] == ["birthday: 4 May"]
        await pilot.press("1", "s", "s", "s")
        await until(pilot, lambda: texts(screen) == ["birthday: 4 May"])
        assert "rejected" in str(screen.query_one("#entries-pane").border_title)
        await pilot.press("a")
        await until(pilot, lambda: "birthday: 4 May" in [fact.text for fact in memory.facts.list()])

    run(memory, body)


def test_c_corrects_and_what_was_typed_stays_until_it_is_taken(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "is called Anna")
        await pilot.press("c")
        line = screen.query_one(PromptLine).query_one(Input)
        assert (line.value, line.has_focus) == ("Anna", True)
        line.value = "Hanna"
        await pilot.press("escape")
        assert not screen.query_one(PromptLine).display
        assert rows(screen).has_focus
        await pilot.press("c")
        assert line.value == "Hanna"
        await pilot.press("enter")
        await until(pilot, lambda: "is called Hanna" in texts(screen))
        assert not screen.query_one(PromptLine).display
        assert "is called Hanna" in [fact.text for fact in memory.facts.list()]

    run(memory, body)


def test_n_adds_a_sentence_or_a_value_with_its_name(memory: Appliance) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await until(pilot, lambda: EMPTY_HINTS["facts"] in words(pilot.app))
        line = screen.query_one(PromptLine).query_one(Input)
        await pilot.press("n")
        line.value = "I live in Berlin"
        await pilot.press("enter")
        await until(pilot, lambda: texts(screen) == ["lives in Berlin"])
        await until(pilot, lambda: "you entered this fact" in detail(screen))
        await pilot.press("n")
        assert line.value == ""
        await pilot.press("enter")
        assert screen.query_one(PromptLine).display, "nothing typed adds nothing"
        line.value = "shoe size = 43"
        await pilot.press("enter")
        await until(pilot, lambda: len(texts(screen)) == 2)
        assert ("shoe size", "43") in [(fact.attribute, fact.value) for fact in memory.facts.list()]

    run(memory, body)


def test_the_fact_that_was_added_is_the_current_one(memory: Appliance) -> None:
    memory.facts.add("I live in Berlin")

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await until(pilot, lambda: texts(screen) == ["lives in Berlin"])
        screen._filter = "berlin"
        await pilot.press("n")
        screen.query_one(PromptLine).query_one(Input).value = "shoe size = 43"
        await pilot.press("enter")
        await until(pilot, lambda: len(texts(screen)) == 2)
        entry = rows(screen).chosen
        assert isinstance(entry, FactEntry) and entry.fact.value == "43"
        await pilot.press("c")
        assert screen.query_one(PromptLine).query_one(Input).value == "43"

    run(memory, body)


@pytest.mark.slow
def test_slash_narrows_the_list_to_what_holds_the_words(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await until(pilot, lambda: len(texts(screen)) == 3)
        await pilot.press("slash", *"lisbon")
        await until(pilot, lambda: texts(screen) == ["lives in Lisbon"])
        await pilot.press("enter")
        assert rows(screen).has_focus
        assert "filter: lisbon" in str(screen.query_one("#memory-note", Static).render())

    run(memory, body)


def test_summaries_are_read_with_links_to_their_messages(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str | None]] = []
    monkeypatch.setattr(ApplianceApp, "read", lambda self, *about: opened.append(about))
    memory.ingest(write(tmp_path / "chat.jsonl", chat("harbour", 40)))
    (session,) = (one.id for one in memory.sessions.list())
    assert len(memory.summaries.make(session)) > 1

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await pilot.press("3")
        await until(pilot, lambda: any(isinstance(row, SummaryEntry) for row in rows(screen).items))
        told = [row for row in rows(screen).items if isinstance(row, SummaryEntry)]
        assert {row.summary.id for row in told} == {one.id for one in memory.summaries.list()}
        title = memory.sessions.info(session).title
        assert [row.name for row in rows(screen).items if isinstance(row, GroupHead)] == [title]
        quote = told[0].summary.quotes[-1]
        await until(pilot, lambda: quote.text in detail(screen))
        await pilot.press("tab", "end", "enter")
        await until(pilot, lambda: opened == [(session, quote.message_id)])
        await pilot.press("shift+tab", "s")
        level = [one.id for one in memory.summaries.list(level="session")]
        await until(
            pilot, lambda: [entry_key(row) for row in rows(screen).items if not isinstance(row, GroupHead)] == level
        )

    run(memory, body)


def test_more_summaries_are_read_by_plus(memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance_tui.screens.memory.PAGE_SIZE", 1)
    memory.ingest(write(tmp_path / "chat.jsonl", chat("harbour", 40)))
    memory.summaries.make(memory.sessions.list()[0].id)
    assert len(memory.summaries.list()) > 1

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await pilot.press("3")
        await until(pilot, lambda: sum(isinstance(row, SummaryEntry) for row in rows(screen).items) == 1)
        assert "press + for more" in str(screen.query_one("#memory-note", Static).render())
        assert screen.query_one("#entries-pane").border_title == "first 1 · all levels"
        await pilot.press("plus")
        await until(pilot, lambda: sum(isinstance(row, SummaryEntry) for row in rows(screen).items) == 2)

    run(memory, body)


def test_p_pins_and_the_pinned_stand_with_what_makes_them_important(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "lives in Lisbon")
        await pilot.press("p")
        await until(pilot, lambda: memory.message(talk[0]).pinned)
        await until(pilot, lambda: "p Unpin" in footer(screen))
        await pilot.press("4")
        await until(pilot, lambda: [row for row in rows(screen).items if isinstance(row, PinEntry)])
        await until(pilot, lambda: "Importance 1.00" in detail(screen))
        lines = [line for line in detail(screen).splitlines() if " +" in line]
        parts = [worth for worth in memory.pins.importance(talk[0]).parts.values() if worth >= 0.005]
        assert [line.rsplit(" ", 1)[1] for line in lines] == [f"{worth:+.2f}" for worth in sorted(parts, reverse=True)]
        assert lines[0].startswith("pinned") and sum(float(line.rsplit("+", 1)[1]) for line in lines) > 0.95
        await pilot.press("p")
        await until(pilot, lambda: not memory.message(talk[0]).pinned)
        await until(pilot, lambda: not rows(screen).items)

    run(memory, body)


def test_i_shows_the_importance_of_the_marked_message(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "lives in Lisbon")
        await pilot.press("i")
        score = f"Importance {memory.pins.importance(talk[0]).score:.2f}"
        await until(pilot, lambda: score in detail(screen))

    run(memory, body)


def test_d_asks_for_the_marked_message_to_be_forgotten(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(ApplianceApp, "forget", lambda self, *ids: asked.append(ids))

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        await mark(pilot, screen, "lives in Lisbon")
        await pilot.press("d")
        assert asked == [(talk[0],)]
        await pilot.press("4")
        await until(pilot, lambda: not rows(screen).items)
        await pilot.press("d")
        assert asked[1:] == [()]

    run(memory, body)


@pytest.mark.slow
def test_what_changes_elsewhere_is_seen_and_each_view_keeps_its_place(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        id = await mark(pilot, screen, "lives in Lisbon")
        await pilot.press("2")
        await until(pilot, lambda: texts(screen) == ["birthday: 4 May"])
        session = memory.message(talk[0]).session_id
        memory.sessions.get(session).add("user", "My sister is called Eva.")
        await pilot.press("1")
        await until(pilot, lambda: "sister is Eva" in texts(screen))
        chosen = rows(screen).chosen
        assert isinstance(chosen, FactEntry)
        assert chosen.fact.id == id

    run(memory, body)


@pytest.mark.slow
def test_a_list_of_a_hundred_thousand_lines_is_shown_at_once(memory: Appliance) -> None:
    from textual.content import Content

    drawn: list[int] = []

    def draw(number: int, width: int) -> Content:
        drawn.append(number)
        return Content(str(number))

    async def body(pilot: Pilot[None], screen: MemoryScreen) -> None:
        long = RowList[int](draw, key=lambda number: number)
        await screen.mount(long)
        long.show(range(100_000))
        assert len(drawn) < 100, "no more is drawn than can be seen"
        await pilot.pause()
        long.focus()
        await pilot.press("end")
        assert long.chosen == 99_999
        await pilot.press("pageup", "home", "down", "up", "pagedown")
        assert long.chosen is not None
        assert 0 < long.chosen < 100
        assert len(set(drawn)) < 400

    run(memory, body)
