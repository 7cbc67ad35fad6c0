"""What is read into the memory from the screen: files that a person names, and those that land in watched folders.

One file or folder after the other is read on a thread; what became of each is kept as long as the screen is open. Of
its progress the screens are told ten times a second at most.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from appliance_tui.messages import Read
from appliance_tui.rates import Rate
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.errors import ApplianceError
    from appliance.server.client import Appliance
    from appliance.types import FileReport
    from appliance_tui.app import ApplianceApp

EVERY = 0.1
"""Seconds between two words about a file that is being read: faster than that nobody reads."""

FAREWELL = 3.0
"""Seconds that a file of a watched folder has to end when the screen is left; the rest of it is read next time."""

KEPT = 500
"""Reports that are kept, the latest first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of what was read: ``asked`` by a person, or found in a watched folder. With an ``error`` all of it
    failed; ``dry`` changed nothing."""

    at: float
    files: Sequence[FileReport] = ()
    asked: bool = True
    dry: bool = False
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What is being read now: of how many bytes, the file, and the messages so far, in it and altogether."""

    paths: Sequence[Path]
    dry: bool
    began: float
    file: str = ""
    messages: int = 0
    before: int = 0
    size: int = 0
    done: int = 0

    @property
    def total(self) -> int:
        return self.before + self.messages


class Watches(Protocol):
    """What reads watched folders until it is stopped."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class Stopped(Exception):
    """The person has had enough of it: what was committed stays."""


@dataclass(slots=True)
class _Asked:
    paths: Sequence[Path]
    user: str | None
    dry: bool
    ended: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Intake:
    """The way in from an open screen. All of it is called on the screen's own thread, but for what says otherwise."""

    def __init__(self, app: ApplianceApp) -> None:
        self._app = app
        self.now: Reading | None = None
        self.waiting: deque[_Asked] = deque()
        self.outcomes: deque[Outcome] = deque(maxlen=KEPT)
        self.troubles: list[str] = []
        self.speed = Rate()
        self.embedding = Rate()
        self.embedded = self.pending = 0
        self._stop = threading.Event()
        self._told = 0.0
        self._watcher: Watches | None = None
        self._watching: threading.Thread | None = None

    # --- by name --------------------------------------------------------------------------------------

    async def read(self, paths: Sequence[Path], user: str | None = None, *, dry: bool = False) -> Outcome:
        """Read files and folders, after those that were named before; what became of them. ``dry`` only looks."""
        asked = _Asked(paths, user, dry)
        self.waiting.append(asked)
        if self.now is None:
            begin(self._app, self._work)
        self._tell()
        return await asked.ended

    def stop(self) -> bool:
        """Break off what is being read; whether anything was."""
        self._stop.set()
        return self.now is not None

    async def _work(self) -> None:
        if self.now is not None:
            return
        while self.waiting:
            asked = self.waiting.popleft()
            self._stop.clear()
            self.speed = Rate()
            self.now = Reading(asked.paths, asked.dry, time.monotonic())
            self._tell()
            outcome = await self._carried_out(asked)
            if not asked.dry:
                self.outcomes.appendleft(outcome)
            self.now = None
            asked.ended.set_result(outcome)
            self._tell()

    async def _carried_out(self, asked: _Asked) -> Outcome:
        from appliance.errors import ApplianceError

        began = time.monotonic()
        made = Outcome(time.time(), dry=asked.dry)

        def work(memory: Appliance) -> Outcome:
            # What waits for its vectors is embedded by the worker, or the daemon's: nobody need wait for that here.
            self._measure(asked.paths)
            report = memory.ingest(
                list(asked.paths), user_id=asked.user, dry_run=asked.dry, wait=False, on_file=self._on_file
            )
            return replace(made, files=report.files)

        try:
            made = await self._app.link.do(work)
        except Stopped:
            made = replace(
                made, error=f"stopped after {self.now.total if self.now else 0:,} messages; they are kept"
            )
        except ApplianceError as error:
            made = replace(made, error=_words(error))
        return replace(made, seconds=time.monotonic() - began)

    def _measure(self, paths: Sequence[Path]) -> None:
        """How much there is to read; on the thread that reads."""
        size = 0
        for path in paths:
            try:
                every = path.rglob("*") if path.is_dir() else [path]
                size += sum(one.stat().st_size for one in every if one.is_file())
            except OSError:
                continue
        if self.now is not None:
            self.now = replace(self.now, size=size)

    def _on_file(self, file: str, messages: int) -> None:
        """On the thread that reads."""
        if self._stop.is_set():
            raise Stopped
        now = self.now
        if now is None:
            return
        if file != now.file:
            now = replace(now, file=file, before=now.total, done=now.done + _size(now.file))
        self.now = now = replace(now, messages=messages)
        self.speed.add(now.total)
        if time.monotonic() - self._told > EVERY:
            self._tell()

    # --- watched folders ------------------------------------------------------------------------------

    def watch(self, memory: Appliance) -> None:
        """Read what lands in watched folders from now on, on a thread of its own; a daemon does so itself. On the
        thread that opened the memory."""
        from appliance.errors import ApplianceError
        from appliance.server.attached import Attached

        if isinstance(memory, Attached):
            return
        try:
            self._watcher = memory.watcher(on_read=self._on_read, on_trouble=self._on_trouble)
        except ApplianceError as error:
            self._on_trouble(_words(error))
            return
        self._watching = threading.Thread(target=self._watch, name="appliance-screen-watch", daemon=True)
        self._watching.start()

    def _watch(self) -> None:
        from appliance.errors import ApplianceError

        assert self._watcher is not None
        try:
            self._watcher.run()
        except ApplianceError as error:
            self._on_trouble(_words(error))

    def _on_read(self, report: FileReport) -> None:
        if report.status != "skipped":
            self.outcomes.appendleft(Outcome(time.time(), (report,), asked=False))
        self._tell()

    def _on_trouble(self, words: str) -> None:
        self.troubles.append(words)
        self._tell()

    def close(self) -> None:
        """End the watching, and break off what a person asked for: what was committed stays. What is under way has a
        moment to end by itself."""
        self._stop.set()
        self.waiting.clear()
        if self._watcher is not None and self._watching is not None:
            self._watcher.stop()
            self._watching.join(FAREWELL)

    # --- embedding ------------------------------------------------------------------------------------

    def heard(self, kind: str, detail: Mapping[str, Any]) -> None:
        """What the memory told of; on the thread that it tells on."""
        if kind != "embedded":
            return
        if not self.pending:
            self.embedding, self.embedded = Rate(), 0
        self.embedded += int(detail.get("chunks", 0))
        self.pending = int(detail.get("pending", 0))
        self.embedding.add(self.embedded)

    def _tell(self) -> None:
        self._told = time.monotonic()
        self._app.post_message(Read())


def _words(error: ApplianceError) -> str:
    return f"{error}; {error.hint}" if error.hint else str(error)


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size if file else 0
    except OSError:  # a document in a zip: the zip is counted with its last
        return 0
