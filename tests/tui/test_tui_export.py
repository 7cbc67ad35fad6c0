"""Messages and conversations are saved as Markdown, HTML or JSONL, and nothing is overwritten unasked."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from screens import fill, run, shown, type_in, until
from textual.pilot import Pilot
from textual.widgets import Static

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.export import ExportScreen, FormatLabel
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.path_line import PathInput
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    folder = tmp_path / "person" / "Downloads"
    folder.mkdir(parents=True)
    return folder


async def asked(app: ApplianceApp, pilot: Pilot[Any]) -> PathInput:
    """The dialog with its proposal."""
    await pilot.press("x")
    await until(pilot, lambda: isinstance(app.screen, ExportScreen) and app.screen.query_one(PathInput).value)
    return app.screen.query_one(PathInput)


def test_a_selection_is_saved_privately_in_the_format_that_was_chosen(filled: Path, downloads: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: len(app.screen.query_one("#sessions").rows) == 3)  # type: ignore[attr-defined]
            await pilot.press("space", "j", "space")
            line = await asked(app, pilot)
            assert line.value == "~/Downloads/conversations.md"
            assert "2 conversations" in str(app.screen.query_one("#exporting").border_title)
            await pilot.press("shift+tab")  # the formats go round
            assert line.value == "~/Downloads/conversations.jsonl"
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        (file,) = downloads.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        exported = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
        assert {each["session_id"] for each in exported} == {"ledger", "kitchen"} and len(exported) == 5

    run(body)


def test_what_is_typed_takes_the_place_of_the_proposed_path_whenever_it_comes(filled: Path, downloads: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.query_one("#sessions").rows)  # type: ignore[attr-defined]
            line = await asked(app, pilot)
            proposed = line.value
            await pilot.press("tab")  # another format is no editing
            await type_in(pilot, "b.md")
            assert line.value == "b.md"
            await pilot.press("escape")
            line = await asked(app, pilot)
            await pilot.press("end", "x")  # once the cursor was moved, the path is edited
            assert line.value == f"{proposed}x"
            await pilot.press("backspace", "tab", "y")
            assert line.value == f"{proposed.removesuffix('.md')}.htmly"

    run(body)


@pytest.mark.slow
def test_nothing_is_overwritten_unasked(filled: Path, downloads: Path) -> None:
    taken = downloads / "Harbour watch.md"
    taken.write_text("mine")

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.screen.query_one(HitList).hits)
            await pilot.press("tab")
            line = await asked(app, pilot)
            assert line.value == "~/Downloads/Harbour watch 2.md"  # named for the conversation, beside what is there
            line.value = "~/Downloads/Harbour watch.md"
            await pilot.press("end", "enter")
            note = app.screen.query_one("#export-note", Static)
            await until(pilot, lambda: "exists. Press enter again" in str(note.content))
            assert taken.read_text() == "mine"
            await pilot.press("backspace", "d")  # another look at the path: it is asked again
            await pilot.press("enter")
            await pilot.pause()
            await until(pilot, lambda: "exists. Press enter again" in str(note.content))
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert taken.read_text(encoding="utf-8").split("\n\n")[1:3] == [
            "# Harbour watch",
            "_native, some of 4 messages_",
        ]

    run(body)


@pytest.mark.slow
def test_what_cannot_be_written_is_said_and_the_dialog_stays(filled: Path, downloads: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.query_one("#sessions").rows)  # type: ignore[attr-defined]
            line = await asked(app, pilot)
            line.value = str(downloads / "missing" / "x.md")
            await pilot.press("enter")
            note = app.screen.query_one("#export-note", Static)
            await until(pilot, lambda: "can't be written: No such file" in str(note.content))
            await pilot.click("#export-html", offset=(1, 0))
            assert app.screen.query_one("#export-html", FormatLabel) and line.value.endswith("missing/x.html")
            line.value = str(downloads)  # a folder: the file gets a name of its own in it
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        (file,) = downloads.iterdir()
        assert file.suffix == ".html" and file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")

    run(body)
