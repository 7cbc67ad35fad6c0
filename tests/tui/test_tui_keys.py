"""Every row of the table of actions is bound where it says, and its key reaches what it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, type_in, until
from textual.pilot import Pilot

from appliance_tui.actions import ACTIONS, PLACES, SCREENS, Action
from appliance_tui.app import ApplianceApp
from appliance_tui.widgets.hits import HitList

OPENS = "enter"
"""What a list does by itself with the line that is marked: the screens' own tests see to it."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    return fill(folder / "home", folder)


def method(node: Any, action: Action) -> str:
    """The name of what carries out an action on its screen or the app."""
    return "action_" + action.does.partition("(")[0].rpartition(".")[2]


async def ready(app: ApplianceApp, pilot: Pilot[None], place: str) -> None:
    """Go to a place, with its list before the person."""
    if place in ("recall", "app"):
        await type_in(pilot, "ferry")
        await until(pilot, lambda: app.query_one(HitList).hits)
        await pilot.press("escape")
    else:
        await pilot.press(f"f{SCREENS.index(place) + 1}")
        await until(pilot, lambda: getattr(app.screen, "PLACE", "") == place)
        if place == "context":
            await pilot.press("escape")
    await pilot.pause()


@pytest.mark.parametrize("place", ["app", *SCREENS])
def test_each_key_reaches_its_action(place: str, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await ready(app, pilot, place)
            missed = []
            for action in (one for one in ACTIONS if one.place == place and one.keys != OPENS):
                node = app if place == "app" else app.screen
                reached: list[str] = []
                name = method(node, action)
                assert hasattr(node, name), f"{action.id}: {type(node).__name__} has no {name}"
                with monkeypatch.context() as patch:
                    patch.setattr(node, name, recorder(reached, action.id), raising=False)
                    for key in action.keys.split(","):
                        await pilot.press(key)
                        await pilot.pause()
                if len(reached) < len(action.keys.split(",")):
                    missed.append((action.id, action.keys, len(reached)))
            assert not missed

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
