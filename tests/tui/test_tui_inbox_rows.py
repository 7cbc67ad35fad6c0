"""The rows of Inbox: what stands in them, whose files they are, and what is said before they are known."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from screens import run, shown, talk, until
from textual.content import Content

from appliance.client import Appliance
from appliance.types import FileReport, InputProblem
from appliance_tui.app import ApplianceApp
from appliance_tui.ingestion import ImportOutcome
from appliance_tui.screens import inbox
from appliance_tui.screens.import_preview import ImportPreviewScreen, import_and_notify
from appliance_tui.widgets.files import FileList, FileRow, _row_content, outcome_rows, sentence, tell_apart
from appliance_tui.widgets.path_line import PathInput


def note(text: str) -> tuple[InputProblem, ...]:
    return (InputProblem("", text, harmless=True),)


def test_a_space_stands_between_each_state_and_the_name() -> None:
    for state in ("skipped", "partial", "failed"):
        row = FileRow("/x/photo.jpg", state, ("", "12:00"), "", Content(""))
        assert " photo.jpg " in _row_content(row, 60, [0, 5]).plain


def test_the_latest_file_of_an_import_is_first_where_that_is_said() -> None:
    files = [FileReport(f"/x/{name}", "native", "ok", messages=1, new=1) for name in "abc"]
    outcome = ImportOutcome(time.time(), files)
    assert [row.path for row in outcome_rows(outcome)] == ["/x/a", "/x/b", "/x/c"]
    assert [row.path for row in outcome_rows(outcome, latest_first=True)] == ["/x/c", "/x/b", "/x/a"]


def test_a_file_without_content_is_empty_and_one_with_contacts_is_read() -> None:
    empty = FileReport("/x/a.txt", None, "ok", notes=note("the file holds no messages"))
    contacts = FileReport("/x/b.vcf", "vcard", "ok", notes=note("read 2 contacts, by which people are told"))
    states = {row.path: row.state for row in outcome_rows(ImportOutcome(time.time(), [empty, contacts]))}
    assert states == {"/x/a.txt": "empty", "/x/b.vcf": "ok"}


def test_files_of_one_name_are_told_apart_by_their_folders() -> None:
    paths = ["/x/chatgpt/1/c.json", "/x/claude/1/c.json", "/x/claude/2/c.json", "/x/other.json", "/c.json"]
    rows = [FileRow(path, "ok", (), "", Content("")) for path in paths]
    told = ["c.json · chatgpt/1", "c.json · claude/1", "c.json · 2", "", ""]
    assert [row.name for row in tell_apart(rows)] == told
    assert [row.name for row in tell_apart([rows[0], rows[0]])] == ["", ""]
    zips = [FileRow(f"/{place}/e.zip/c.json", "ok", (), "", Content(""), "e.zip/c.json") for place in "ab"]
    assert [row.name for row in tell_apart(zips)] == ["e.zip/c.json · a/e.zip", "e.zip/c.json · b/e.zip"]


def test_a_reason_by_itself_is_a_sentence_and_names_stay_as_they_are() -> None:
    assert sentence("the file is no text") == "The file is no text"
    for reason in ("chat.db: damaged", "line 2: not JSON", "", "m1"):
        assert sentence(reason) == reason


def listed(app: ApplianceApp, id: str) -> tuple[list[str], str]:
    """The names of the files, and the text of an empty list."""
    files = app.screen.query_one(id, FileList)
    return [Path(row.path).name for row in files._rows], files._shown_empty


def test_nothing_is_said_of_files_until_they_are_known_and_then_of_the_present_user(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, load = threading.Event(), inbox._load_contents

    def wait_and_load(memory: Appliance, **options: Any) -> Any:
        known.wait()
        return load(memory, **options)

    monkeypatch.setattr(inbox, "_load_contents", wait_and_load)

    async def body() -> None:
        async with shown(home) as (app, pilot):
            memory = app.memory_worker.memory()
            memory.ingest(talk(tmp_path / "talk.jsonl"), user_id="demo")
            try:
                await pilot.press("f5")
                await until(pilot, lambda: app.screen.query("#inbox-imports"))
                assert listed(app, "#inbox-files") == listed(app, "#inbox-imports") == ([], "")
            finally:
                known.set()
            await until(pilot, lambda: listed(app, "#inbox-imports") == ([], inbox.NONE_READ_HINT))
            assert listed(app, "#inbox-files") == ([], inbox.EMPTY_HINT)
            app.user = "demo"
            await until(pilot, lambda: listed(app, "#inbox-imports")[0] == ["talk.jsonl"])
            imported = app.screen.query_one("#inbox-imports", FileList)
            imported.focus()
            await until(pilot, lambda: app.focused is imported)
            assert not app.screen._is_retriable and app.screen.available("inbox.preview")

    run(body)


@pytest.mark.parametrize("typed", ["exports", *(pytest.param(one, marks=pytest.mark.slow) for one in (
    "exports/", "./exports", "other/../exports", "~/exports", "exports/one.jsonl", "linked",
))])  # fmt: skip
def test_a_file_is_listed_once_however_its_path_is_typed(
    home: Path, tmp_path: Path, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("exports", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "linked").symlink_to("exports")
    talk(tmp_path / "exports" / "one.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await pilot.press("f5", "a")
            await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
            app.screen.query_one(PathInput).value = typed
            await pilot.press("enter", "enter")
            await until(pilot, lambda: app.import_queue.outcomes and app.import_queue.current is None)
            await until(pilot, lambda: app.screen._imported_files)
            (stored,) = await app.memory_worker.run_query(lambda memory: memory.overview.imported_files())
            assert [row.path for row in app.screen.query_one("#inbox-imports", FileList)._rows] == [stored.path]

    run(body)


@pytest.mark.slow
def test_the_latest_failure_is_seen_and_said_where_one_is(home: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(30):
        talk(many / f"talk{number}.jsonl")
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(bytes(range(256)) * 40)

    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            await pilot.press("f5")
            await app.import_queue.import_files([many])
            await until(pilot, lambda: len(listed(app, "#inbox-imports")[0]) >= 30)
            imported = app.screen.query_one("#inbox-imports", FileList)
            imported.focus()
            await pilot.press("end")
            app.screen.query_one("#inbox-files", FileList).focus()
            await until(pilot, lambda: imported.scroll_y > 0)
            await import_and_notify(app, [bad])
            await until(pilot, lambda: listed(app, "#inbox-imports")[0][0] == "bad.jsonl" and imported.scroll_y == 0)
            (said,) = (one for one in app._notifications if "to see why" in one.message)
            assert said.title == "Nothing imported" and "1 file could not be read" in said.message

    run(body)


def test_a_file_that_was_not_recognised_is_known_when_the_screen_is_opened_again(home: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": [1, 2]}')

    async def body() -> None:
        for is_first in (True, False):
            async with shown(home) as (app, pilot):
                await pilot.press("f5")
                if is_first:
                    await import_and_notify(app, [bad])
                await until(pilot, lambda: listed(app, "#inbox-files")[0] == ["bad.json"])
                assert app.screen.query_one("#inbox-files", FileList)._rows[0].state == "failed"

    run(body)
