"""Inbox: files are read from the screen, each says what became of it, and paths can be dropped on any screen."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from screens import until
from textual.events import Paste
from textual.widgets import Input, Static

from appliance import Appliance
from appliance.errors import HomeError
from appliance.types import FileReport, FileStatus, ImportedFile, InputProblem
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from appliance_tui.ingestion import ImportOutcome
from appliance_tui.path_input import complete_common, complete_path, matching_names, open_file, parse_paths, source_file
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.import_preview import ImportPreviewScreen, PathInput
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.throughput import Throughput, format_bytes, format_duration
from appliance_tui.widgets.files import FileList, files_in, imported_row, outcome_rows
from tests import waits

SIZES = [(80, 24), (200, 60)]


def line(number: int, content: str, session: str = "s") -> str:
    return json.dumps({"session_id": session, "message_id": f"{session}{number}", "role": "user", "content": content})


def chat(path: Path, *texts: str) -> Path:
    path.write_text("\n".join(line(at, text, path.stem) for at, text in enumerate(texts)) + "\n", encoding="utf-8")
    return path


def app_on(home: Path) -> ApplianceApp:
    return ApplianceApp(lambda: Appliance.open(home, embedder=HashEmbedder(), purpose="a test"))


@asynccontextmanager
async def shown(home: Path, size: tuple[int, int] = (100, 30)) -> Any:
    """The app on a home, when it has its memory."""
    app = app_on(home)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(app.status_text) and app.import_queue._watcher is not None)
        yield app, pilot


def said(app: ApplianceApp, selector: str) -> str:
    return "".join(str(one.visual) for one in app.screen.query(selector).results(Static))


def rows(app: ApplianceApp, selector: str) -> list[tuple[str, str]]:
    return [(Path(row.path).name, row.state) for row in app.screen.query_one(selector, FileList)._rows]


@pytest.fixture
def settled(home: Path) -> Path:
    """A home whose watched folder needs no time to settle."""
    home.mkdir()
    (home / "config.toml").write_text("[watch]\nsettle = 0\n")
    (home / "inbox").mkdir()
    return home


def run(body: Awaitable[None]) -> None:
    async def go() -> None:
        await body

    asyncio.run(go())


@pytest.mark.parametrize("size", SIZES)
def test_what_lands_in_the_inbox_is_read_and_listed_with_what_became_of_it(
    settled: Path, size: tuple[int, int]
) -> None:
    chat(settled / "inbox" / "good.jsonl", "the otter sleeps")
    (settled / "inbox" / "half.jsonl").write_text(line(1, "the heron stands") + "\n{broken\n")

    async def body() -> None:
        async with shown(settled, size) as (app, pilot):
            await pilot.press("f5")
            await until(
                pilot, lambda: set(rows(app, "#inbox-files")) == {("good.jsonl", "read"), ("half.jsonl", "partial")}
            )
            assert str(settled / "inbox") in said(app, "#inbox-folders")
            files = app.screen.query_one("#inbox-files", FileList)
            await pilot.press("g")
            if files.chosen.path.endswith("good.jsonl"):  # which of them came first is chance
                await pilot.press("down")
            assert "line 2" in said(app, "#inbox-text")
            chat(settled / "inbox" / "later.jsonl", "the crane flies")
            await until(pilot, lambda: ("later.jsonl", "read") in rows(app, "#inbox-files"))
            await until(pilot, lambda: ("later.jsonl", "ok") in rows(app, "#inbox-imports"))
            assert app.screen.query_one("#inbox-files").region.right <= size[0]

    run(body())


@pytest.mark.slow
def test_what_another_program_imported_is_listed_with_what_it_gave_and_a_way_to_it(
    settled: Path, tmp_path: Path
) -> None:
    chat(settled / "inbox" / "good.jsonl", "the otter sleeps", "and wakes")
    other = chat(tmp_path / "crane.jsonl", "the crane flies")
    with Appliance.open(settled, embedder=HashEmbedder()) as memory:
        memory.ingest([other, settled / "inbox" / "good.jsonl"])

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: rows(app, "#inbox-imports") == [("good.jsonl", "ok"), ("crane.jsonl", "ok")])
            await until(pilot, lambda: rows(app, "#inbox-files") == [("good.jsonl", "read")])
            assert "2 messages" in app.screen.query_one("#inbox-files", FileList).chosen.facts[0]
            assert "Gave 2 messages in 1 conversation." in said(app, "#inbox-text")
            app.screen.query_one("#inbox-imports", FileList).focus()
            await pilot.press("down")
            assert "Gave 1 message in 1 conversation." in said(app, "#inbox-text")
            await pilot.press("i")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            await until(pilot, lambda: "crane" in str(app.screen.query_one("#reading-title", Static).render()))

    run(body())


@pytest.mark.slow
def test_a_file_without_messages_says_so_when_its_contents_are_asked_for(settled: Path) -> None:
    (settled / "inbox" / "photo.txt").write_text("not a chat")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: [state for _, state in rows(app, "#inbox-files")] == ["skipped"])
            await pilot.press("i")
            await until(pilot, lambda: any("No conversation came" in one.message for one in app._notifications))

    run(body())


@pytest.mark.slow
def test_a_filter_lists_files_by_words_of_their_path(settled: Path) -> None:
    for name in ("otter", "heron", "crane"):
        chat(settled / "inbox" / f"{name}.jsonl", f"the {name} sleeps")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: len(rows(app, "#inbox-files")) == 3)
            await pilot.press("slash", *"HERON")
            await until(pilot, lambda: [name for name, _ in rows(app, "#inbox-files")] == ["heron.jsonl"])
            await pilot.press("enter")
            files = app.screen.query_one("#inbox-files", FileList)
            await until(pilot, lambda: app.focused is files)
            await pilot.press("slash", *"zebra", "enter")
            await until(pilot, lambda: not rows(app, "#inbox-files"))
            assert files.empty.startswith("No files match.")
            await pilot.press("escape")
            await until(pilot, lambda: len(rows(app, "#inbox-files")) == 3)

    run(body())


def test_enter_reads_a_file_again_and_says_so(settled: Path) -> None:
    broken = settled / "inbox" / "half.jsonl"
    broken.write_text(line(1, "the heron stands") + "\n{broken\n")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: rows(app, "#inbox-files") == [("half.jsonl", "partial")])
            read = app.import_queue.outcomes.copy()
            await pilot.press("enter")
            await until(pilot, lambda: any(one.requested for one in app.import_queue.outcomes))
            again = next(one for one in app.import_queue.outcomes if one.requested)
            assert again not in read
            assert (again.files[0].status, again.files[0].duplicates, again.files[0].new) == ("partial", 1, 0)
            await pilot.press("R")
            await until(pilot, lambda: sum(one.requested for one in app.import_queue.outcomes) == 2)

    run(body())


def test_a_preview_changes_nothing(settled: Path, tmp_path: Path) -> None:
    chat(settled / "inbox" / "good.jsonl", "the otter sleeps")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: rows(app, "#inbox-files") == [("good.jsonl", "read")])
            await pilot.press("v")
            await until(pilot, lambda: "Nothing was changed" in said(app, "#inbox-text"))
            assert "0 new" in said(app, "#inbox-text")
            chat(settled / "inbox" / "good.jsonl", "the otter sleeps", "and wakes")
            app.offer_import(chat(tmp_path / "new.jsonl", "one", "two"))
            await until(
                pilot, lambda: isinstance(app.screen, ImportPreviewScreen) and "new.jsonl" in said(app, "#offer-text")
            )
            await pilot.press("v")
            await until(pilot, lambda: "Would add 2 messages" in said(app, "#offer-text"))
            assert app.memory_worker.memory().search("two").query == "two"
            await pilot.press("escape")
            assert isinstance(app.screen, ImportPreviewScreen) and "new.jsonl" in said(app, "#offer-text")
            await pilot.press("escape")
            assert not isinstance(app.screen, ImportPreviewScreen)
            assert all(
                "new.jsonl" not in file.path
                for one in app.import_queue.outcomes
                if not one.dry_run
                for file in one.files
            )

    run(body())


@pytest.mark.parametrize("keys", [("f1",), *(pytest.param((key,), marks=pytest.mark.slow) for key in ("f5", "f6"))])
def test_a_dropped_path_is_offered_on_any_screen(settled: Path, tmp_path: Path, keys: tuple[str, ...]) -> None:
    file = chat(tmp_path / "a chat of mine.jsonl", "the badger digs")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press(*keys)
            app.post_message(Paste(f"'{file}'"))
            await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
            assert file.name in said(app, "#offer-text")
            await pilot.press("enter")
            await until(pilot, lambda: bool(app.import_queue.outcomes) and app.import_queue.current is None)
            assert app.import_queue.outcomes[0].files[0].new == 1
            hits = await app.memory_worker.run_query(lambda memory: memory.search("badger"))
            assert [hit.text for hit in hits] == ["the badger digs"]

    run(body())


def test_what_is_pasted_into_the_search_line_and_is_no_file_stays_there(settled: Path) -> None:
    async def body() -> None:
        async with shown(settled) as (app, pilot):
            app.post_message(Paste("/no/such/file and words"))
            await until(pilot, lambda: app.screen.query_one("#query", Input).value == "/no/such/file and words")
            assert not isinstance(app.screen, ImportPreviewScreen)

    run(body())


def test_a_typed_path_is_completed_and_read(settled: Path, tmp_path: Path) -> None:
    chat(tmp_path / "export-of-2026.jsonl", "the badger digs")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5", "a")
            await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
            typed = app.screen.query_one(PathInput)
            typed.value = f"{tmp_path}/nothing"
            await pilot.press("enter")
            assert "There is no such file" in said(app, "#offer-text")
            typed.value = ""
            typed.insert_text_at_cursor(f"{tmp_path}/export")
            await until(pilot, lambda: typed._suggestion.endswith("export-of-2026.jsonl"))
            await pilot.press("right")
            assert typed.value.endswith("export-of-2026.jsonl")
            typed.value = ""
            typed.insert_text_at_cursor(f"{tmp_path}/exp")
            await pilot.press("tab")
            assert typed.value.endswith("export-of-2026.jsonl") and app.focused is typed
            await pilot.press("enter")
            await until(pilot, lambda: "export-of-2026.jsonl" in said(app, "#offer-text"))
            await pilot.press("enter")
            await until(pilot, lambda: bool(app.import_queue.outcomes) and app.import_queue.current is None)
            assert app.import_queue.outcomes[0].files[0].new == 1

    run(body())


def test_reading_can_be_broken_off_and_what_was_stored_stays(settled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        chat(folder / f"{number:03}.jsonl", *(f"words {number} {at}" for at in range(50)))

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5", "x")  # nothing to stop
            task = asyncio.ensure_future(app.import_queue.import_files([folder]))
            await until(pilot, lambda: app.import_queue.current is not None and app.import_queue.current.total > 0)
            assert "Reading" in said(app, "#inbox-progress")
            await pilot.press("x")
            outcome = await task
            assert outcome.stopped is not None and "kept" in outcome.error
            counts = (await app.memory_worker.run_query(lambda memory: memory.status()))["counts"]
            assert 0 < counts["messages"] < 2000
            outcome = await app.import_queue.import_files([folder])
            assert sum(file.new for file in outcome.files) + counts["messages"] == 2000

    run(body())


def test_an_error_is_told_in_words(settled: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(settled) as (app, pilot):
            outcome = await app.import_queue.import_files([tmp_path / "gone"])
            assert outcome.error or outcome.files[0].errors

            def refuse(*_: Any, **__: Any) -> Any:
                raise HomeError("The disk is full.", hint="Make room.")

            app.memory_worker.memory().ingest = refuse  # type: ignore[method-assign]
            outcome = await app.import_queue.import_files([tmp_path])
            assert outcome.error == "The disk is full. Make room."
            await pilot.press("f5")
            await until(pilot, lambda: ("", "failed") in rows(app, "#inbox-imports"))

    run(body())


def test_copy_takes_the_path(settled: Path) -> None:
    file = chat(settled / "inbox" / "good.jsonl", "the otter sleeps")

    async def body() -> None:
        async with shown(settled) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: bool(rows(app, "#inbox-files")))
            await pilot.press("y")
            assert app.clipboard == str(file)

    run(body())


def test_the_file_of_a_document_in_a_zip_is_the_zip(two: tuple[Path, Path]) -> None:
    one, archive = two
    assert source_file(f"{archive}/deep/chat.txt") == archive
    assert source_file(str(one)) == one
    assert source_file("/no/such/chat.txt") == Path("/no/such/chat.txt")


def test_files_in_a_zip_are_named_with_it_and_counted_for_it() -> None:
    def imported(path: str, messages: int) -> ImportedFile:
        return ImportedFile(path, "slack", 10, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 1, messages)

    files = [imported("/in/team.zip/general/1.json", 2), imported("/in/team.zip/random/1.json", 0)]
    assert [imported_row(file).name for file in files] == ["team.zip/general/1.json", "team.zip/random/1.json"]
    assert [imported_row(file).facts[0] for file in files] == ["2 messages", "all known"]
    begun = replace(files[0], complete=False)
    assert (imported_row(files[0]).state, imported_row(begun).state) == ("ok", "partial")
    assert imported_row(begun, is_being_read=True).state == "reading"
    assert files_in([*files, imported("/elsewhere/1.json", 7)], {"/in/team.zip", "/in/te"}) == {"/in/team.zip": files}


# --- paths as they are given ----------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "a chat (1).txt", tmp_path / "b.zip"
    one.touch()
    other.touch()
    return one, other


def test_paths_are_understood_as_terminals_paste_them(two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = two
    escaped = str(one).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)")
    for text in (str(one), f"'{one}'", f'"{one}" ', escaped, one.as_uri(), f"\n{one}\n"):
        assert parse_paths(text) == [one], text
    for text in (
        f"{one}\n{other}",
        f"'{one}' '{other}'",
        f"{escaped} {other}",
        f"{one.as_uri()}\r\n{other.as_uri()}\r\n",
    ):
        assert parse_paths(text) == [one, other], text
    monkeypatch.setenv("HOME", str(one.parent))
    assert parse_paths("~/b.zip") == [other]


@pytest.mark.parametrize(
    "text",
    [
        "", "b.zip", "the /tmp folder", "/no/such/thing", "'/tmp", "file://elsewhere/tmp", "/tmp\x00", "/" + "a" * 5000,
        "~nobody/x",
    ],
)  # fmt: skip
def test_other_texts_are_no_paths(text: str, two: tuple[Path, Path]) -> None:
    assert parse_paths(text) == []
    assert parse_paths(f"{two[0]} {text}x" if text else text) == []


def test_a_path_is_completed_by_what_is_there(two: tuple[Path, Path]) -> None:
    folder = two[0].parent
    (folder / "deep").mkdir()
    assert complete_path(f"{folder}/a") == f"{folder}/a chat (1).txt"
    assert complete_path(f"{folder}/d") == f"{folder}/deep/"
    assert complete_path(f"{folder}/z") is None
    assert complete_path(f"{folder}/no/such") is None
    assert complete_path("") is None
    (folder / "deeds.txt").touch()
    assert complete_common(f"{folder}/d") == f"{folder}/dee" and matching_names(f"{folder}/d") == ["deeds.txt", "deep/"]
    assert complete_common(f"{folder}/deep") == f"{folder}/deep/" and complete_common(f"{folder}/z") == f"{folder}/z"


def test_a_program_that_opens_a_file_is_no_zombie_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Process(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr("appliance_tui.path_input.OPEN_COMMAND", "true")
    monkeypatch.setattr("appliance_tui.path_input.subprocess.Popen", Process)
    assert open_file(Path("/"))
    waits.until(lambda: started[0].returncode == 0)  # set by what waits for it, not by looking
    monkeypatch.setattr("appliance_tui.path_input.OPEN_COMMAND", "/no/such/program")
    assert not open_file(Path("/"))


def test_speed_and_time_left_are_those_of_late() -> None:
    now = [0.0]
    rate = Throughput(lambda: now[0])
    assert rate.per_second is None and rate.seconds_left(10) is None
    for _ in range(100):
        now[0] += 1
        rate.add(now[0] * 5)
    assert rate.per_second == pytest.approx(5) and rate.seconds_left(50) == pytest.approx(10)
    for _ in range(40):
        now[0] += 1
        rate.add(500)
    assert rate.per_second == 0 and rate.seconds_left(50) is None


def test_numbers_are_said_as_people_do() -> None:
    assert [format_duration(seconds) for seconds in (0.1, 8, 100, 7500)] == ["1 s", "8 s", "2 min", "2 h 5 min"]
    assert [format_bytes(size) for size in (6, 1500, 2_500_000, 250_000_000, 3e12)] == [
        "6 B", "1.5 KB", "2.5 MB", "250 MB", "3,000 GB",
    ]  # fmt: skip


def test_an_outcome_that_failed_as_a_whole_is_a_row(home: Path) -> None:
    rows = outcome_rows(ImportOutcome(time.time(), error="no\x1b[2J room"))
    assert rows[0].state == "failed" and "\x1b" not in str(rows[0].details)


def test_files_without_messages_are_folded_and_errors_stand_first() -> None:
    def report(name: str, status: FileStatus, note: str = "", messages: int = 0, **more: Any) -> FileReport:
        notes = (InputProblem("", note, harmless=True),) if note else ()
        return FileReport(f"/x/{name}", None, status, messages=messages, new=messages, notes=notes, **more)

    parts = [report(f"part/{n}.json", "ok", "read with its session", read_with="/x/s.json") for n in range(30)]
    damaged = report("bad.json", "failed", errors=(InputProblem("line 1", "not JSON"),))
    rows = outcome_rows(ImportOutcome(time.time(), [*parts, report("s.json", "ok", messages=2), damaged]))
    assert [(row.path, row.state, row.facts[0]) for row in rows] == [
        ("/x/bad.json", "failed", "0 new"),
        ("/x/s.json", "ok", "2 new"),
        ("/x/part", "ok", "30 files"),
    ]
    assert rows[2].reason == "read with their sessions" and "/x/part/29.json" in str(rows[2].details)
