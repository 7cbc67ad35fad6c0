"""Imports that are overtaken, cancelled and stopped from the screen."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from screens import opened, run, shown, talk, until

from appliance.ingest import batches
from appliance_tui.app import ApplianceApp
from appliance_tui.ingestion import ALL_READ
from appliance_tui.screens.import_preview import ImportPreviewScreen, import_and_notify
from appliance_tui.widgets.files import INCOMPLETE, UNFINISHED, FileList
from appliance_tui.widgets.start_page import StartPagePanel
from appliance_tui.workers import begin


@contextmanager
def held_previews(app: ApplianceApp) -> Iterator[threading.Event]:
    """Within, previews wait for the event before they read. It is set at the end, so that a failed test ends."""
    memory = app.memory_worker.memory()
    ingest, go_on = memory.ingest, threading.Event()

    def wait_and_ingest(*args: Any, **options: Any) -> Any:
        if options["dry_run"]:
            go_on.wait()
        return ingest(*args, **options)

    memory.ingest = wait_and_ingest  # type: ignore[method-assign]
    try:
        yield go_on
    finally:
        go_on.set()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "keys",
    [
        ("v", "v", "enter"),
        pytest.param(("v", "escape", "escape"), marks=SLOW),
        pytest.param(("v", "v", "escape", "escape"), marks=SLOW),
    ],
)
def test_a_preview_that_is_cancelled_or_overtaken_is_dropped_and_imports_go_on(
    home: Path, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    file = talk(tmp_path / "talk.jsonl")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            imports = app.import_queue
            with held_previews(app) as go_on:
                app.offer_import(file)
                await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
                await pilot.press(*keys)
                await until(pilot, lambda: not isinstance(app.screen, ImportPreviewScreen))
                assert imports.current is not None and imports.current.dry_run
                assert [job.dry_run for job in imports.queue] == [False] * (keys[-1] == "enter")
                go_on.set()
                if keys[-1] != "enter":
                    app.offer_import(file)
                    await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
                    await pilot.press("enter")
                await until(pilot, lambda: imports.outcomes and imports.current is None)
            assert [sum(report.new for report in outcome.files) for outcome in imports.outcomes] == [9]

    run(body)


def many(path: Path) -> Path:
    """A folder of chats that takes a while to read."""
    path.mkdir()
    for number in range(40):
        line = {"session_id": f"s{number}", "role": "user", "content": f"the heron stands at pond {number}"}
        (path / f"{number:02}.jsonl").write_text(json.dumps(line) + "\n")
    return path


def listed(app: ApplianceApp) -> dict[str, tuple[str, str]]:
    """The imported files by name, with their state and reason."""
    return {
        Path(row.path).name: (row.state, row.reason) for row in app.screen.query_one("#inbox-imports", FileList)._rows
    }


@contextmanager
def held_after_first_file(app: ApplianceApp) -> Iterator[threading.Event]:
    """Within, an import waits for the event when it has read its first messages."""
    imports, go_on = app.import_queue, threading.Event()
    on_file = imports._on_file

    def wait_and_note(file: str, messages: int) -> None:
        on_file(file, messages)
        go_on.wait()

    imports._on_file = wait_and_note  # type: ignore[method-assign]
    try:
        yield go_on
    finally:
        go_on.set()


def test_a_stopped_import_is_partly_read_and_retry_imports_the_rest(home: Path, tmp_path: Path) -> None:
    folder, other = many(tmp_path / "many"), talk(tmp_path / "talk.jsonl")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await pilot.press("f5")
            with held_after_first_file(app) as go_on:
                begin(app, partial(import_and_notify, app, [folder, other]))
                await until(pilot, lambda: app.import_queue.current is not None and app.import_queue.current.total)
                await pilot.press("x")
                go_on.set()
                await until(pilot, lambda: app.import_queue.outcomes and "many" in listed(app))
            states = {name: state for name, (state, _) in listed(app).items()}
            assert states.pop("many") == "partial" and states.pop("talk.jsonl") == "skipped"
            assert states and {*states.values()} == {"ok"}, "what was read of the folder was read completely"
            assert "Stopped. What was read by then is kept" in listed(app)["many"][1]
            imported = app.screen.query_one("#inbox-imports", FileList)
            imported.focus()
            assert imported.chosen is not None and imported.chosen.path == str(folder)
            await pilot.press("enter")
            await until(pilot, lambda: len(app.import_queue.outcomes) == 2 and app.import_queue.current is None)
            await until(pilot, lambda: "many" not in listed(app))
            assert {state for state, _ in listed(app).values()} == {"ok", "skipped"}
            assert (await app.memory_worker.run_query(lambda memory: memory.status()))["counts"]["messages"] == 40

    run(body)


def test_a_file_that_was_read_before_its_import_was_stopped_is_read(home: Path, tmp_path: Path) -> None:
    file = talk(tmp_path / "talk.jsonl")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await pilot.press("f5")
            on_file = app.import_queue._on_file

            def stop_and_note(path: str, messages: int) -> None:
                app.import_queue._stop.set()
                on_file(path, messages)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(app.import_queue, "_on_file", stop_and_note)
                begin(app, partial(import_and_notify, app, [file]))
                await until(pilot, lambda: app.import_queue.outcomes and app.import_queue.current is None)
            assert app.import_queue.outcomes[0].error == ALL_READ
            await until(pilot, lambda: listed(app) == {"talk.jsonl": ("ok", "")})
            unfinished = await app.memory_worker.run_query(lambda memory: memory.overview.unfinished_imports())
            assert unfinished == [] and not app.screen.available("inbox.resume")
            assert [one.title for one in app._notifications] == ["Imported"]

    run(body)


def test_quitting_during_an_import_asks_first(home: Path, tmp_path: Path) -> None:
    folder = many(tmp_path / "many")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            with held_after_first_file(app) as go_on:
                begin(app, partial(import_and_notify, app, [folder]))
                await until(pilot, lambda: app.import_queue.current is not None and app.import_queue.current.total)
                await pilot.press("ctrl+q")
                await until(pilot, lambda: any(one.title == "An import is running" for one in app._notifications))
                assert app._exit is False
                await pilot.press("ctrl+q")
                assert app._exit is True
                go_on.set()

    run(body)


class Broken(Exception):
    """What breaks an import off."""


def broken_off(home: Path, file: Path, **options: Any) -> None:
    """A home in which the import of a file was broken off after its first batch."""

    def stop(path: str, messages: int) -> None:
        raise Broken

    with opened(home)() as memory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BATCH_MESSAGES", 10)
        with pytest.raises(Broken):
            memory.ingest(file, on_file=stop, **options)


def long_talk(path: Path) -> Path:
    line = {"session_id": "ponds", "role": "user"}
    lines = (json.dumps({**line, "message_id": str(n), "content": f"heron {n}"}) for n in range(150))
    path.write_text("".join(one + "\n" for one in lines))
    return path


@pytest.mark.parametrize("key", ["r", pytest.param("enter", marks=SLOW)])
def test_an_import_that_was_broken_off_waits_and_goes_on_as_it_began(home: Path, tmp_path: Path, key: str) -> None:
    file = long_talk(tmp_path / "ponds.jsonl")
    broken_off(home, file, again=True, secrets="drop")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            page = app.screen.query_one(StartPagePanel)
            await until(pilot, lambda: page.page is not None)
            assert page.page is not None and page.page.waiting.imports == 1
            await page._open_waiting("imports")
            imported = app.screen.query_one("#inbox-imports", FileList)
            await until(pilot, lambda: imported.has_focus and "ponds.jsonl" in listed(app))
            assert listed(app)["ponds.jsonl"] == ("partial", UNFINISHED)
            assert imported.chosen is not None and imported.chosen.path == str(file)
            asked: list[dict[str, Any]] = []
            memory = app.memory_worker.memory()
            ingest = memory.ingest
            memory.ingest = lambda *paths, **how: (asked.append(how), ingest(*paths, **how))[1]  # type: ignore[method-assign]
            await pilot.press(key)
            await until(pilot, lambda: app.import_queue.outcomes and app.import_queue.current is None)
            assert (asked[0]["again"], asked[0]["secrets"], asked[0]["user_id"]) == (True, "drop", None)
            await until(pilot, lambda: listed(app)["ponds.jsonl"][0] == "ok")
            (read,) = await app.memory_worker.run_query(lambda memory: memory.overview.imported_files(str(file)))
            assert (read.messages, read.complete) == (150, True)

    run(body)


@SLOW
def test_an_import_that_was_broken_off_can_be_given_up(home: Path, tmp_path: Path) -> None:
    broken_off(home, long_talk(tmp_path / "ponds.jsonl"))

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await pilot.press("f5")
            await until(pilot, lambda: "ponds.jsonl" in listed(app))
            app.screen.query_one("#inbox-imports", FileList).focus()
            await pilot.press("X")
            await until(pilot, lambda: listed(app)["ponds.jsonl"] == ("partial", INCOMPLETE))
            unfinished = await app.memory_worker.run_query(lambda memory: memory.overview.unfinished_imports())
            assert unfinished == []

    run(body)
