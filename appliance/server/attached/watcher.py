"""A watcher of folders that another process runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from appliance.ingest.watch import Watcher
from appliance.server.line import Line
from appliance.types import FileReport


class AttachedWatcher(Watcher):
    """A watcher that the daemon runs for as long as this one listens."""

    def __init__(
        self,
        line: Line,
        asked: Mapping[str, Any],
        on_read: Callable[[FileReport], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._line = line
        self._asked = asked
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._ended = threading.Event()
        self.folders: list[Path] = []
        with line.listening("/watch", {**asked, "run": False}) as lines:
            for said in lines:
                self._hear(said)

    def stop(self) -> None:
        self._ended.set()

    def run(self, *, once: bool = False) -> None:
        with self._line.listening("/watch", {**self._asked, "once": once}) as lines:
            for said in lines:
                self._hear(said)
                if "result" in said or self._ended.is_set():
                    return

    def _hear(self, said: Mapping[str, msgspec.Raw]) -> None:
        if "tell" not in said:
            return
        what, value = msgspec.json.decode(said["tell"], type=tuple[str, msgspec.Raw])
        if what == "on_read":
            self._on_read(msgspec.json.decode(value, type=FileReport))
        elif what == "on_trouble":
            self._on_trouble(msgspec.json.decode(value, type=str))
        else:
            self.folders = [Path(folder) for folder in msgspec.json.decode(value, type=list[str])]
