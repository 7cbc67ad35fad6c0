"""The context screen: what is typed becomes a prompt, whose layers can be given more or less."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from scenes import words as seen
from screens import until
from textual.pilot import Pilot
from textual.widgets import Input, Static

from appliance import Appliance
from appliance.types import Context
from appliance_tui.app import ApplianceApp
from appliance_tui.budget_shares import PRESETS
from appliance_tui.context_changes import GONE_REASON, ContextChange
from appliance_tui.screens import context as context_module
from appliance_tui.screens.context import GATHERING, ContextScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.session_picker import SessionPickerScreen
from appliance_tui.widgets import layers
from appliance_tui.widgets.prompt_view import PromptView, prompt_lines
from appliance_tui.widgets.rows import RowList
from tests.waits import PATIENCE

Row = TypeVar("Row", bound=layers.LayerRow)
Body = Callable[[Pilot[None], ContextScreen], Awaitable[None]]


@pytest.fixture
def talk(memory: Appliance) -> str:
    """A conversation in which somebody says where they live."""
    session = memory.sessions.create(title="Moving")
    session.add("user", "I moved to Lisbon in March 2025. My sister is called Eva.")
    session.add("assistant", "Lisbon is lovely in spring.")
    session.add("user", "I need a desk for the flat in Lisbon.")
    memory.embed_pending()
    return session.id


def run(memory: Appliance, body: Body, size: tuple[int, int] = (140, 40)) -> None:
    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=size) as pilot:
            app.action_go("context")
            await until(pilot, lambda: isinstance(app.screen, ContextScreen) and shown(pilot) is not None)
            screen = app.screen
            assert isinstance(screen, ContextScreen)
            await body(pilot, screen)

    asyncio.run(go())


def shown(pilot: Pilot[None]) -> Context | None:
    screen = pilot.app.screen
    return screen._shown_context if isinstance(screen, ContextScreen) else None


def rows(screen: ContextScreen) -> RowList[layers.LayerRow]:
    return screen.query_one("#layers", RowList)


def note(screen: ContextScreen) -> str:
    return str(screen.query_one("#context-note", Static).render())


def included(context: Context) -> list[str]:
    return [item.message_id for layer in context.layers for item in layer.items]


async def say(pilot: Pilot[None], words: str) -> Context:
    pilot.app.screen.query_one("#context-query", Input).value = words
    await until(pilot, lambda: (there := shown(pilot)) is not None and there.query == words)
    there = shown(pilot)
    assert there is not None
    return there


def test_what_is_typed_gives_the_exact_prompt(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await pilot.press(*"Lisbon")
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.query == "Lisbon")
        there = shown(pilot)
        assert there is not None
        asked = memory.context("Lisbon", counted=False)
        assert there.text == asked.text
        assert "Lisbon" in there.text
        assert screen.query_one(PromptView)._lines[0].text == "# About the person"
        heads = [row for row in rows(screen).items if isinstance(row, layers.LayerHead)]
        sharing = [one for one in asked.layers if one.name != "core"]  # it has no share to change
        assert [(head.layer, head.tokens) for head in heads] == [(one.name, one.tokens) for one in sharing]
        assert sum(head.tokens for head in heads) == there.tokens

    run(memory, body)
    assert memory is not None


def test_a_context_that_takes_a_while_is_said_to_be_gathered(
    memory: Appliance, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered, load = threading.Event(), context_module._load_answer

    def load_when_told(*arguments: Any) -> Any:
        gathered.wait(PATIENCE)
        return load(*arguments)

    monkeypatch.setattr(context_module, "_load_answer", load_when_told)
    monkeypatch.setattr("appliance_tui.workers.SLOW_SECONDS", 0.01)

    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=(80, 24)) as pilot:
            app.action_go("context")
            try:
                await until(pilot, lambda: isinstance(app.screen, ContextScreen) and GATHERING in note(app.screen))
                assert seen(app).count(GATHERING) == 2  # where the prompt will be, and in the last line
            finally:
                gathered.set()
            await until(pilot, lambda: shown(pilot) is not None)
            assert GATHERING not in seen(app)

    asyncio.run(go())


def test_looking_counts_nothing_as_recalled(memory: Appliance, talk: str) -> None:
    id = memory.sessions.messages(talk)[0].id

    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        assert id in (await say(pilot, "Lisbon")).text
        assert memory.pins.importance(id).times == 0

    run(memory, body)


@pytest.mark.slow
def test_a_memory_is_said_to_be_wrong(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Who needs a desk for the flat in Lisbon?")
        await pilot.press("tab", "home", "v")
        assert isinstance(pilot.app.screen, ContextScreen)  # a layer is no memory
        places = [isinstance(row, layers.LayerEntry) and row.layer == "retrieved" for row in rows(screen).items]
        await pilot.press(*["down"] * places.index(True))
        chosen = rows(screen).chosen
        assert isinstance(chosen, layers.LayerEntry)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
        await pilot.press(*"wrong", "enter")
        await until(pilot, lambda: memory.pins.importance(chosen.item.message_id).feedback == {"wrong": 1})
        await until(pilot, lambda: isinstance(pilot.app.screen, ContextScreen))
        await until(pilot, lambda: "judged wrong" in screen._shown_context.text)
        await pilot.press("u")
        await until(pilot, lambda: memory.pins.importance(chosen.item.message_id).feedback == {})
        await until(pilot, lambda: "judged wrong" not in screen._shown_context.text)

    run(memory, body)


def test_the_latest_that_is_typed_wins(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        line = screen.query_one("#context-query", Input)
        for words in ("a", "desk", "Eva", "sister"):
            line.value = words
            await pilot.pause(0)
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.query == "sister")
        await pilot.pause(0.1)
        there = shown(pilot)
        assert there is not None
        assert (there.query, line.value) == ("sister", "sister")

    run(memory, body)


def test_plus_and_minus_move_the_share_of_the_marked_layer(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Lisbon")
        await pilot.press("tab", "home", "down")
        assert layers.row_key(rows(screen).chosen) == "retrieved"  # type: ignore[arg-type]
        await pilot.press("plus")
        assert screen.options.shares["retrieved"] == pytest.approx(0.50)
        assert sum(screen.options.shares.values()) == pytest.approx(1)
        await until(
            pilot,
            lambda: any(
                isinstance(row, layers.LayerHead) and row.layer == "retrieved" and row.share == pytest.approx(0.5)
                for row in rows(screen).items
            ),
        )
        await pilot.press("minus", "minus")
        assert screen.options.shares["retrieved"] == pytest.approx(0.40)
        await pilot.press("0")
        assert screen.options.shares == PRESETS["assistant"]

    run(memory, body)


def test_brackets_change_the_budget_and_t_the_preset(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Lisbon")
        await pilot.press("tab", "left_square_bracket")
        assert screen.options.budget == 6_000
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.budget == 6_000)
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert screen.options.budget == 12_000
        for preset in ("support", "tutor", "code", "assistant"):
            await pilot.press("t")
            assert (screen.options.preset, screen.options.shares) == (preset, PRESETS[preset])

    run(memory, body)


def test_instructions_without_room_are_named_and_nothing_typed_is_lost(memory: Appliance, talk: str) -> None:
    memory.facts.add("Always answer in short sentences and " + "very " * 300 + "politely.", user_id=None)
    memory.facts.add(attribute="rule", value="word " * 400, kind="instruction")

    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Lisbon")
        screen.options = replace(screen.options, budget=250)
        note = screen.query_one("#context-note", Static)
        await until(pilot, lambda: "no room in the budget" in str(note.render()))
        assert screen.query_one("#context-query", Input).value == "Lisbon"

    run(memory, body)


@pytest.mark.slow
def test_a_chosen_conversation_brings_its_turns(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await pilot.press("tab", "s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPickerScreen))
        chooser = pilot.app.screen
        await until(pilot, lambda: len(chooser.query_one(RowList).items) == 2)
        await pilot.press(*talk)
        await until(pilot, lambda: len(chooser.query_one(RowList).items) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.layers[4].items)
        assert screen.options.session == talk
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPickerScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert screen.options.session == talk

    run(memory, body)


def test_y_copies_the_prompt_and_slash_goes_back_to_the_line(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        there = await say(pilot, "Lisbon")
        await pilot.press("tab", "y")
        assert pilot.app.clipboard == there.text
        await pilot.press("slash")
        assert screen.query_one("#context-query", Input).has_focus

    run(memory, body)


def test_enter_opens_the_message_in_its_conversation(
    memory: Appliance, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str | None]] = []
    monkeypatch.setattr(ApplianceApp, "read", lambda self, *about: opened.append(about))
    first = memory.sessions.messages(talk)[0].id

    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Lisbon")
        await pilot.press("tab")
        rows(screen).mark(("retrieved", first))
        await pilot.press("enter")
        await until(pilot, lambda: opened == [(talk, first)])
        fact = next(row for row in rows(screen).items if isinstance(row, layers.LayerEntry) and row.layer == "profile")
        rows(screen).mark(layers.row_key(fact))
        await pilot.press("enter")
        await until(pilot, lambda: opened == [(talk, first)] * 2)  # the message that the fact is from

    run(memory, body)


@pytest.fixture
def gardens(memory: Appliance) -> None:
    """A conversation of which a small budget holds a part."""
    session = memory.sessions.create(title="Long")
    for number in range(30):
        session.add("user", f"Note {number} on gardens: " + "roses need water and patience. " * 12)
    memory.embed_pending()


async def with_budget(pilot: Pilot[None], screen: ContextScreen, budget: int) -> Context:
    screen.options = replace(screen.options, budget=budget)
    await until(pilot, lambda: (there := shown(pilot)) is not None and there.budget == budget)
    there = shown(pilot)
    assert there is not None
    return there


def of_kind(screen: ContextScreen, kind: type[Row]) -> list[Row]:
    return [row for row in rows(screen).items if isinstance(row, kind)]


@pytest.mark.slow
def test_what_was_left_out_is_a_row_for_each_reason_and_unfolds(memory: Appliance, gardens: None) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "gardens roses")
        there = await with_budget(pilot, screen, 250)
        group = of_kind(screen, layers.DroppedGroup)[0]
        expected = [one for one in there.dropped if one.reason == group.reason]
        assert group.count == len(expected) > 1
        assert all(row.dropped.reason != group.reason for row in of_kind(screen, layers.DroppedEntry))
        line = layers.render_row(group, 120).plain
        assert group.reason in line and str(group.count) in line
        await pilot.press("tab")
        rows(screen).mark(layers.row_key(group))
        await pilot.press("enter")
        entries = [row for row in of_kind(screen, layers.DroppedEntry) if row.in_group]
        assert [row.dropped for row in entries] == expected
        assert entries[0].message is not None
        assert "on gardens" in layers.render_row(entries[0], 120).plain
        await pilot.press("enter")
        assert not [row for row in of_kind(screen, layers.DroppedEntry) if row.in_group]

    run(memory, body)


def test_what_a_budget_drops_and_lets_in_is_marked_with_its_reason(memory: Appliance, gardens: None) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "gardens roses")
        assert not of_kind(screen, layers.RemovedEntry)  # another message is no change of the budget
        large = await with_budget(pilot, screen, 2_000)
        small = await with_budget(pilot, screen, 500)
        removed = of_kind(screen, layers.RemovedEntry)
        gone = {id for id in included(large) if id not in included(small)}
        assert {row.removed.item.message_id for row in removed} == gone != set()
        reasons = {one.message_id: one.reason for one in small.dropped}
        assert [row.removed.reason for row in removed] == [
            reasons.get(row.removed.item.message_id, GONE_REASON) for row in removed
        ]
        line = layers.render_row(removed[0], 120).plain
        assert line.startswith(f"−{removed[0].removed.item.message_id}") and removed[0].removed.reason in line
        left_out = [row for row in removed if row.removed.reason != GONE_REASON]
        assert f"{len(removed) - len(left_out)} {GONE_REASON}" in note(screen) or len(left_out) == len(removed)
        assert f"{len(left_out)} now left out" in note(screen) or not left_out
        assert len(left_out) <= len(small.dropped)
        screen._schedule_build(0)  # as when something else changes in the memory
        await until(pilot, lambda: shown(pilot) is not small)
        assert of_kind(screen, layers.RemovedEntry) == removed
        await with_budget(pilot, screen, 2_000)
        came_in = [row for row in of_kind(screen, layers.LayerEntry) if row.came_in is not None]
        assert {row.item.message_id for row in came_in} == gone
        assert layers.render_row(came_in[0], 120).plain.startswith(f"+{came_in[0].item.message_id}")
        assert f"{len(gone)} now included" in note(screen)
        prompt = screen.query_one(PromptView)
        first = next(line for line in prompt._lines if line.item == came_in[0].item.message_id and line.is_first)
        assert prompt._content(first, 80, False).plain.startswith("+ ")

    run(memory, body)


@pytest.mark.slow
def test_the_marks_of_a_change_go_by_themselves(
    memory: Appliance, gardens: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_module, "CHANGE_SECONDS", 0.01)
    seen: list[ContextChange] = []
    mark = ContextScreen._show_change
    monkeypatch.setattr(ContextScreen, "_show_change", lambda self, change: (seen.append(change), mark(self, change)))

    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "gardens roses")
        await with_budget(pilot, screen, 500)
        await until(pilot, lambda: any(seen) and not seen[-1])
        assert not of_kind(screen, layers.RemovedEntry) and "now left out" not in note(screen)

    run(memory, body)


def test_before_anything_is_typed_the_screen_explains_itself_with_an_example(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        explanation = screen.query_one("#context-empty", Static)
        await until(pilot, lambda: explanation.display)
        example = "What did we say about “Moving”?"
        assert example in screen.query_one("#context-query", Input).placeholder
        assert "takes the example" in str(explanation.render()) and "word for word" in str(explanation.render())
        assert not screen.query_one(PromptView).display
        assert "o200k" not in str(screen.query_one("#context-options", Static).render())
        await pilot.press("right")
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.query == example)
        assert screen.query_one(PromptView).display and not explanation.display
        await pilot.press("right", "left", "x")
        assert screen.query_one("#context-query", Input).value == "What did we say about “Moving”x?"

    run(memory, body, (80, 24))


@pytest.mark.slow
def test_the_empty_state_of_an_empty_memory_says_where_to_begin(memory: Appliance) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        explanation = screen.query_one("#context-empty", Static)
        await until(pilot, lambda: "F5 imports some" in str(explanation.render()))
        await pilot.press("right")
        assert screen.query_one("#context-query", Input).value == ""

    run(memory, body)


def test_a_narrow_window_has_both_under_each_other_and_a_resize_loses_nothing(memory: Appliance, talk: str) -> None:
    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        await say(pilot, "Lisbon")
        await pilot.resize_terminal(80, 24)
        view, pane = screen.query_one(PromptView), screen.query_one("#layers-pane")
        await until(pilot, lambda: pane.region.y > view.region.y)
        await until(pilot, lambda: view._wrapped_width == view.text_width)
        assert all(len(line.text) <= view.text_width for line in view._lines)
        assert screen.query_one("#context-query", Input).value == "Lisbon"
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: pane.region.x > view.region.x and pane.region.y == view.region.y)

    run(memory, body)


def test_a_resize_while_the_prompt_is_made_breaks_it_to_the_new_width(
    memory: Appliance, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, resized = threading.Event(), threading.Event()
    load = context_module._load_answer

    def load_slowly(*arguments: Any) -> Any:
        answer = load(*arguments)
        made.set()
        assert resized.wait(PATIENCE)
        return answer

    async def body(pilot: Pilot[None], screen: ContextScreen) -> None:
        view = screen.query_one(PromptView)
        await say(pilot, "Eva")
        await until(pilot, lambda: view._wrapped_width == view.text_width > 1)
        monkeypatch.setattr(context_module, "_load_answer", load_slowly)
        screen.query_one("#context-query", Input).value = "Lisbon"
        await until(pilot, made.is_set)
        before = view.text_width
        await pilot.resize_terminal(100, 40)
        await until(pilot, lambda: view.text_width < before)
        resized.set()
        await until(pilot, lambda: (there := shown(pilot)) is not None and there.query == "Lisbon")
        there = shown(pilot)
        assert there is not None
        text = there.text
        assert prompt_lines(text, before) != prompt_lines(text, view.text_width)
        await until(pilot, lambda: list(view._lines) == prompt_lines(text, view.text_width))

    run(memory, body)
