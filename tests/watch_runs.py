"""What the tests of watched folders share: exports to write, a watcher that runs, and what it has read."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine import watching as watching_module
from appliance.ingest.watcher import FolderWatcher, ReadFile
from appliance.store.database import Database
from appliance.types import FileReport
from appliance_models import HashEmbedder
from tests.waits import PATIENCE, until

SETTLE = 0.3
"""Seconds for which a file must not have changed."""


@contextmanager
def opened(home: Path) -> Iterator[Appliance]:
    """A memory whose watchers wait ``SETTLE`` seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPLIANCE_WATCH_SETTLE", str(SETTLE))
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            yield memory


def lines(name: str, count: int, first: int = 0) -> str:
    return "".join(
        json.dumps({"session_id": name, "message_id": f"{name}-{n}", "role": "user", "content": f"{name} says {n}"})
        + "\n"
        for n in range(first, count)
    )


def zipped(path: Path, name: str, text: str) -> Path:
    """A zip that appears whole, as a browser's finished download does."""
    made = path.with_name(path.name + ".part")
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, text)
    made.replace(path)
    return path


def contents(memory: Appliance) -> list[str]:
    return sorted(line["content"] for line in memory.export())


def read_once(memory: Appliance, folder: Path) -> list[FileReport]:
    reports: list[FileReport] = []
    memory.watcher([folder], on_read=reports.append).run(once=True)
    return reports


class Reports(list[FileReport]):
    """What a watcher that runs has read."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.wake: Callable[[], None] = lambda: None

    def look(self) -> None:
        """Let the watcher look, and wait until it has: at everything that happened before."""
        enough = self.looks + 2  # one may be under way

        def looked() -> bool:
            self.wake()
            return self.looks >= enough

        until(looked, "a look")


@contextmanager
def reading(wrap: Callable[[ReadFile], ReadFile]) -> Iterator[None]:
    """Within, every watcher reads its files by a reader around its own."""

    class WrappedWatcher(FolderWatcher):
        def __init__(self, database: Database, read: ReadFile, **more: Any) -> None:
            super().__init__(database, wrap(read), **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching_module, "FolderWatcher", WrappedWatcher)
        yield


@contextmanager
def watching(memory: Appliance, folder: Path) -> Iterator[Reports]:
    reports = Reports()

    class CountedWatcher(FolderWatcher):
        def run(self) -> None:
            reports.wake = self._woken.set
            super().run()

        def _read_settled(self) -> float:
            pause = super()._read_settled()
            reports.looks += 1
            return pause

    watcher = memory.watcher([folder], on_read=reports.append)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(watching_module, "FolderWatcher", CountedWatcher)
                watcher.run()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield reports
    finally:
        watcher.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive() and not ended, ended
