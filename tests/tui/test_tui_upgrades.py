"""A program that is upgraded beneath an open screen: it says so, in place of a traceback, and keeps what is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from screens import run, shown, type_in, until

from appliance_tui import upgrades
from appliance_tui.app import ApplianceApp
from appliance_tui.upgrades import UPGRADED_NOTICE
from appliance_tui.widgets.search_line import SearchInput


def mix(*_: object) -> None:
    raise ImportError("cannot import name 'of_the_new_version'")


def test_an_error_after_an_upgrade_says_so_and_keeps_what_is_typed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(home, notifications=True) as (app, pilot):
            await until(pilot, lambda: app.program_at_start)
            await type_in(pilot, "boiler")
            monkeypatch.setattr(ApplianceApp, "action_next_theme", mix)
            app.program_at_start = {Path("old.py"): (1, 1, 1)}
            await pilot.press("ctrl+t")
            await until(pilot, lambda: any(one.message == UPGRADED_NOTICE for one in app._notifications))
            await type_in(pilot, "s")
            assert app.query_one(SearchInput).value == "boilers"

    run(body)


@pytest.mark.slow
def test_an_error_without_an_upgrade_is_what_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with shown(home) as (app, pilot):
            await until(pilot, lambda: app.program_at_start)
            monkeypatch.setattr(ApplianceApp, "action_next_theme", mix)
            await pilot.press("ctrl+t")

    with pytest.raises(ImportError, match="of_the_new_version"):
        run(body)


def test_files_that_were_replaced_are_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "one.py"
    module.write_text("a = 1\n")
    monkeypatch.setattr(upgrades.appliance, "__path__", [str(tmp_path)])
    monkeypatch.setattr(upgrades.appliance_tui, "__path__", [str(tmp_path / "none")])
    before = upgrades.program_files()
    assert set(before) == {module} and not upgrades.is_upgraded(before) and not upgrades.is_upgraded({})
    os.utime(module, ns=(1, 1))
    assert upgrades.is_upgraded(before)
