"""Imports that are overtaken, cancelled and stopped from the screen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from screens import run, shown, talk, until

from appliance_tui.app import ApplianceApp
from appliance_tui.screens.import_preview import ImportPreviewScreen


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
    [("v", "v", "enter"), pytest.param(("v", "escape"), marks=SLOW), pytest.param(("v", "v", "escape"), marks=SLOW)],
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
