"""Every key of the table of actions, and so of the help, is pressed where it is, and does what it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from screens import Scene, fill, run, shown, type_in, until
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from appliance_tui.actions import ACTIONS, PLACES, Action
from appliance_tui.app import ApplianceApp
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.layers import LayerEntry, row_key
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.widgets.transcript import TranscriptView


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    return fill(folder / "home", folder)


def method(node: Any, action: Action) -> str:
    """The name of what carries out an action on its screen or the app."""
    return "action_" + action.action.partition("(")[0].rpartition(".")[2]


async def recall(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The first screen, with hits before the person."""
    await type_in(pilot, "ferry")
    await until(pilot, lambda: app.query_one(HitList).hits)
    await pilot.press("tab")


async def context(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """A context on a message, with the list of its layers before the person."""
    await at("context", "f3")(app, pilot)
    await type_in(pilot, "ferry")
    await until(pilot, lambda: any(isinstance(row, LayerEntry) for row in app.screen.query_one(RowList).items))
    await pilot.press("tab")
    rows = app.screen.query_one(RowList)
    rows.mark(row_key(next(row for row in rows.items if isinstance(row, LayerEntry) and row.layer == "retrieved")))


async def memory(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """What is known, with a fact marked and its evidence beside it."""
    await at("memory", "f4")(app, pilot)
    await until(pilot, lambda: app.screen.query_one(RowList).items)


async def people(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The people, one of them marked."""
    await at("people", "f7")(app, pilot)
    await until(pilot, lambda: app.screen.query_one(RowList).items)


async def inbox(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The files, one of them marked."""
    (app.memory_worker.memory().home.inbox / "seen.jsonl").write_text('{"role": "user", "content": "An otter!"}\n')
    await at("inbox", "f5")(app, pilot)
    await until(pilot, lambda: app.screen.query_one("#inbox-files", OptionList).highlighted is not None)


def at(place: str, *keys: str, first: Scene | None = None) -> Scene:
    """Press keys and be at a place; another before it."""

    async def go(app: ApplianceApp, pilot: Pilot[None]) -> None:
        if first is not None:
            await first(app, pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: getattr(app.screen, "PLACE", "") == place)
        await pilot.pause()

    return go


async def offer(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """A file that is offered to be read."""
    await pilot.pause()
    app.offer_import(Path(__file__))
    await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "offer")
    await pilot.pause()


async def receipts(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """A receipt that is shown."""
    memory = app.memory_worker.memory()
    memory.erasure.forget(memory.erasure.preview(query="walnuts"))
    await pilot.press("f12", "ctrl+r")
    await until(pilot, lambda: app.screen.query_one("#forget-receipts", RowList).items)
    await pilot.pause()


async def forget(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The dialog to forget a message, with what would be erased."""
    await at("forget", "d", first=recall)(app, pilot)
    await until(pilot, lambda: app.screen.query_one("#forget-confirm").display)


async def export(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The dialog to export a message, with a path."""
    await at("export", "x", first=recall)(app, pilot)
    line = app.screen.query_one(Input)
    await until(pilot, lambda: line.value)
    line.value = str(app.memory_worker.memory().home.inbox.parent / "saved.md")


async def repeats(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The list of the dialog to forget."""
    await at("forget", "d", first=recall)(app, pilot)
    rows = app.screen.query_one("#forget-sample", RowList)
    await until(pilot, lambda: rows.items)
    rows.focus()
    await pilot.pause()


async def question(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The line of a question, with the focus on it."""
    await at("reading", "enter", first=recall)(app, pilot)
    await until(pilot, lambda: app.screen.query_one(TranscriptView).marked_id)
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(app.focused, QuestionLine))


async def line(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The search line, with the focus on it."""
    await pilot.pause()
    assert isinstance(app.focused, SearchInput)


GETS_THERE: dict[str, Scene] = {
    "app": recall,
    "list": at("vitals", "f6"),
    "line": line,
    "question": question,
    "picker": at("picker", "f", first=recall),
    "palette": at("palette", "ctrl+p", first=recall),
    "help": at("help", "f10", first=recall),
    "recall": recall,
    "why": at("why", "w", first=recall),
    "conversations": at("conversations", "f2"),
    "reading": at("reading", "enter", first=recall),
    "context": context,
    "present": at("present", "s", first=context),
    "jump": at("jump", "colon", first=recall),
    "memory": memory,
    "inbox": inbox,
    "offer": offer,
    "path": at("offer", "a", first=at("inbox", "f5")),
    "vitals": at("vitals", "f6"),
    "people": people,
    "calendar": at("calendar", "ctrl+y"),
    "attachments": at("attachments", "A", first=at("conversations", "f2")),
    "forget": forget,
    "export": export,
    "receipts": receipts,
    "repeats": repeats,
}


def scene_of(action: Action) -> str:
    """Where its keys act: a receipt is copied and saved while one is shown, a space in a line is one, a path is
    completed while it is typed, and proposals are settled where there are any, in the tests of People."""
    if action.id in ("people.accept", "people.reject"):
        return "proposals"
    if action.id == "offer.complete":
        return "path"
    if action.id == "forget.choose":
        return "repeats"
    return "receipts" if action.id in ("forget.copy", "forget.save") else action.place


def is_at(place: str) -> Callable[[ApplianceApp], bool]:
    return lambda app: getattr(app.screen, "PLACE", "") == place


LEADS_TO: dict[str, Callable[[ApplianceApp], bool]] = {
    "recall.open": is_at("reading"),
    "conversations.read": is_at("reading"),
    "context.open": is_at("reading"),
    "memory.open": is_at("reading"),
    "picker.choose": is_at("recall"),
    "export.save": is_at("recall"),
    "forget.erase": lambda app: "doesn't match" in str(app.screen.query_one("#forget-prompt", Static).content),
    "palette.run": lambda app: not app.screen.query("#--container"),
    "present.choose": is_at("context"),
    "present.leave": is_at("context"),
    "jump.leave": is_at("recall"),
    "jump.choose": is_at("recall"),
    "inbox.retry": lambda app: bool(app.screen.query("#picker") or len(app._notifications)),  # what a file gave
}
"""What comes of a key that a list or a line has first: it tells its screen, and no action is called."""


def quick_for(name: str, names: Iterable[str]) -> list[ParameterSet]:
    """All of them, of which one stands for the others in the quick run."""
    return [pytest.param(one, marks=[] if one == name else [pytest.mark.slow]) for one in names]


@pytest.mark.parametrize("place", quick_for("recall", [*PLACES, "receipts", "repeats", "path"]))
def test_each_key_reaches_its_action(place: str, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await GETS_THERE[place](app, pilot)
            missed = []
            for action in (one for one in ACTIONS if scene_of(one) == place and one.id not in LEADS_TO):
                node = {"app": app, "line": app.focused, "question": app.focused}.get(place, app.screen)
                reached: list[str] = []
                name = method(node, action)
                assert hasattr(node, name), f"{action.id}: {type(node).__name__} has no {name}"
                with monkeypatch.context() as patch:
                    patch.setattr(node, name, recorder(reached, action.id), raising=False)
                    patch.setattr(app.screen, "why_not", lambda id: "", raising=False)  # also where there is no row
                    for key in action.keys.split(","):
                        await pilot.press(key)
                        await pilot.pause()
                if len(reached) < len(action.keys.split(",")):
                    missed.append((action.id, action.keys, len(reached)))
            assert not missed

    run(body)


@pytest.mark.parametrize("id", quick_for("recall.open", LEADS_TO))
def test_the_key_of_a_list_or_a_line_leads_on(id: str, filled: Path) -> None:
    (action,) = (one for one in ACTIONS if one.id == id)

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await GETS_THERE[action.place](app, pilot)
            assert not LEADS_TO[id](app)
            await pilot.press(action.keys)
            await until(pilot, lambda: LEADS_TO[id](app))

    run(body)


def recorder(reached: list[str], id: str) -> Callable[..., None]:
    def action(*arguments: object) -> None:
        reached.append(id)

    return action


def test_every_place_has_a_name_and_ids_are_its_own() -> None:
    assert {action.place for action in ACTIONS} <= PLACES.keys()
    ids = [action.id for action in ACTIONS]
    assert len(ids) == len(set(ids))
    for place in PLACES:
        keys = [key for action in ACTIONS if action.place == place for key in action.keys.split(",")]
        assert len(keys) == len(set(keys)), place
