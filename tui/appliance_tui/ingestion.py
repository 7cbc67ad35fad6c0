"""Imports from the screen: files that a person names, and those that arrive in watched folders.

Files and folders are imported one after the other on a thread. Their outcomes are kept while the screen is open, and
progress is posted to the screens at most ten times a second.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from appliance.errors import ApplianceError
from appliance.paths import absolute_paths, display_path
from appliance.report_groups import outcome_of
from appliance_tui.throughput import Throughput
from appliance_tui.workers import ImportProgressed, MemoryChanged, begin, error_text, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import FileReport
    from appliance_tui.app import ApplianceApp

PROGRESS_INTERVAL_SECONDS = 0.1
"""Seconds between two reports of progress: as fast as a person reads."""

WATCHER_STOP_TIMEOUT_SECONDS = 3.0
"""Seconds the watcher has to finish a file when the screen closes; the rest of it is read next time."""

QUIT_QUESTION_SECONDS = 10
"""Seconds for which the question at quitting stands; to quit again answers it."""

STOP_TIMEOUT_SECONDS = 5.0
"""Seconds that the owner of the memory has to notice that an import was stopped: mostly it is between two transactions
sooner. Later, what is left to read is not known yet."""

STOP_CHECK_SECONDS = 0.05

MAX_OUTCOMES = 500
"""Outcomes that are kept, the latest ones."""

STOPPED = "Stopped. What was read by then is kept; Retry imports the rest."
ALL_READ = "Everything had been read by then, so nothing is left to import."
PREVIEW_STOPPED = "The preview was stopped. Nothing was changed."


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The result of an import, ``requested`` by a person or started by the watcher. With an ``error`` it failed as a
    whole; a ``dry_run`` changed nothing. ``at`` is seconds since the epoch, ``paths`` are those that a person named,
    ``user`` is whose memory it was for, None for the user of the settings.
    ``stopped`` is how far an import was when the person stopped it: the owner of the memory may have read on a little
    before it noticed."""

    at: float
    files: Sequence[FileReport] = ()
    requested: bool = True
    dry_run: bool = False
    error: str = ""
    seconds: float = 0.0
    paths: Sequence[Path] = ()
    user: str | None = None
    stopped: ImportProgress | None = None


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The running import. ``messages`` are those of the present ``file``, ``previous_messages`` those before it."""

    paths: Sequence[Path]
    dry_run: bool
    started_at: float
    file: str = ""
    messages: int = 0
    previous_messages: int = 0
    total_bytes: int = 0

    @property
    def total(self) -> int:
        return self.previous_messages + self.messages


class WatcherHandle(Protocol):
    """The watcher of folders, as ``Appliance.watcher`` gives it."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class ImportStopped(Exception):
    """The person stopped the import; what was committed stays."""


@dataclass(slots=True, eq=False)
class _ImportJob:
    paths: Sequence[Path]
    user: str | None
    dry_run: bool
    again: bool
    options: Mapping[str, Any]
    outcome: asyncio.Future[ImportOutcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ImportQueue:
    """Runs imports one at a time, and the watcher. Methods run on the screen's thread unless they say otherwise."""

    def __init__(self, app: ApplianceApp) -> None:
        self._app = app
        self.current: ImportProgress | None = None
        self.queue: deque[_ImportJob] = deque()
        self._running: _ImportJob | None = None
        self.outcomes: deque[ImportOutcome] = deque(maxlen=MAX_OUTCOMES)
        self.problems: list[str] = []
        self.throughput = Throughput()
        self.embedding_throughput = Throughput()
        self.embedded = self.pending = 0
        self._stop = threading.Event()
        self._notified_at = 0.0
        self._quit_asked_at = -math.inf
        self._watcher: WatcherHandle | None = None
        self._watcher_thread: threading.Thread | None = None

    async def import_files(
        self,
        paths: Sequence[Path],
        user: str | None = None,
        *,
        dry_run: bool = False,
        again: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> ImportOutcome:
        """Import files and folders after those already in the queue. A ``dry_run`` changes nothing; ``again`` also
        takes in what was forgotten; ``options`` are further arguments of the import, such as those that one was begun
        with which was broken off."""
        # The memory names files by their absolute paths, and its reports by those that it was given.
        job = _ImportJob(list(absolute_paths(paths)), user, dry_run, again, options or {})
        self.queue.append(job)
        if self.current is None:
            begin(self._app, self._run_queue)
        self._notify()
        try:
            # An import that was asked for goes on, even if the worker that waits for it is cancelled.
            return await asyncio.shield(job.outcome)
        except asyncio.CancelledError:
            if dry_run:
                self._drop(job)
            raise

    def _drop(self, job: _ImportJob) -> None:
        """Leave out a preview that no screen waits for any more."""
        if job in self.queue:
            self.queue.remove(job)
        elif job is self._running:
            self._stop.set()

    def has(self, path: Path) -> bool:
        """Whether a path is being imported, or waits to be."""
        return any(path in job.paths for job in (self._running, *self.queue) if job is not None and not job.dry_run)

    def stop(self) -> bool:
        """Stop the running import; False if there is none."""
        self._stop.set()
        return self.current is not None

    async def _run_queue(self) -> None:
        if self.current is not None:
            return
        while self.queue:
            job = self.queue.popleft()
            self._running = job
            self._stop.clear()
            self.throughput = Throughput()
            self.current = ImportProgress(job.paths, job.dry_run, time.monotonic())
            self._notify()
            outcome = await self._run_job(job)
            if not job.dry_run:
                self.outcomes.appendleft(outcome)
            self.current = self._running = None
            job.outcome.set_result(outcome)
            self._notify()

    async def _run_job(self, job: _ImportJob) -> ImportOutcome:
        started_at = time.monotonic()
        outcome = ImportOutcome(time.time(), dry_run=job.dry_run, paths=job.paths, user=job.user)

        def work(memory: Appliance) -> ImportOutcome:
            # The memory's worker, or the daemon's, embeds the new messages later.
            self._measure_size(job.paths)
            options = {"user_id": job.user, "again": job.again, **job.options}
            report = memory.ingest(list(job.paths), **options, dry_run=job.dry_run, wait=False, on_file=self._on_file)
            return replace(outcome, files=report.files, error=report.stopped)

        try:
            outcome = await self._app.memory_worker.run_command(work)
        except ImportStopped:
            outcome = replace(outcome, error=PREVIEW_STOPPED, stopped=self.current)
            if not job.dry_run:
                outcome = replace(outcome, error=STOPPED if await self._is_left(job) else ALL_READ)
                self._app.post_message(MemoryChanged("ingested"))  # the memory tells only of files read to their end
        except ApplianceError as error:
            outcome = replace(outcome, error=error_text(error))
        return replace(outcome, seconds=time.monotonic() - started_at)

    async def _is_left(self, job: _ImportJob) -> bool:
        """Whether something of an import that was stopped is left to read. The memory may read on until it notices."""
        paths = {display_path(path) for path in job.paths}
        user = job.options.get("user_id", job.user) or self._app.owner
        ends_at = time.monotonic() + STOP_TIMEOUT_SECONDS
        while True:
            try:
                begun = await self._app.memory_worker.run_query(
                    lambda memory: memory.overview.unfinished_imports(user_id=user, running=True)
                )
            except ApplianceError:
                return True
            left = [one for one in begun if one.path in paths]
            if time.monotonic() > ends_at or not any(one.is_running for one in left):
                return bool(left)
            await asyncio.sleep(STOP_CHECK_SECONDS)

    def _measure_size(self, paths: Sequence[Path]) -> None:
        """Set the total size; called on the importing thread."""
        size = 0
        for path in paths:
            try:
                files = path.rglob("*") if path.is_dir() else [path]
                size += sum(file.stat().st_size for file in files if file.is_file())
            except OSError:
                continue
        if self.current is not None:
            self.current = replace(self.current, total_bytes=size)

    def _on_file(self, file: str, messages: int) -> None:
        """Update the progress; called on the importing thread."""
        current = self.current
        if current is None:
            return
        if file != current.file:
            current = replace(current, file=file, previous_messages=current.total)
        self.current = current = replace(current, messages=messages)
        if self._stop.is_set():
            raise ImportStopped
        self.throughput.add(current.total)
        if time.monotonic() - self._notified_at > PROGRESS_INTERVAL_SECONDS:
            self._notify()

    def watch(self, memory: Appliance) -> None:
        """Start the watcher on a thread, unless a daemon watches. Called on the thread that opened the memory."""
        if memory.is_attached_to_daemon:
            return
        with show_errors(self._on_problem):
            self._watcher = memory.watcher(on_read=self._on_read, on_trouble=self._on_problem)
            thread = threading.Thread(
                target=self._run_watcher, args=(self._watcher,), name="appliance-screen-watch", daemon=True
            )
            thread.start()
            self._watcher_thread = thread  # only once it runs can it be waited for

    def _run_watcher(self, watcher: WatcherHandle) -> None:
        with show_errors(self._on_problem):
            watcher.run()

    def _on_read(self, report: FileReport) -> None:
        if outcome_of(report) in ("messages", "partial", "failed"):
            self.outcomes.appendleft(ImportOutcome(time.time(), (report,), requested=False))
        self._notify()

    def _on_problem(self, text: str) -> None:
        self.problems.append(text)
        self._notify()

    def ask_before_quit(self) -> bool:
        """Ask whether to quit while an import runs: it ends with the screen. False if there is nothing to ask, or if
        the question stands already."""
        is_asked = time.monotonic() - self._quit_asked_at < QUIT_QUESTION_SECONDS
        if is_asked or not any(not job.dry_run for job in (self._running, *self.queue) if job is not None):
            return False
        self._quit_asked_at = time.monotonic()
        waiting = sum(not job.dry_run for job in self.queue)
        left = f" {waiting} more did not begin; import again." if waiting else ""
        self._app.notify(
            f"Press quit again to stop it. What was imported is kept; Inbox offers the rest when you come back.{left}",
            title="An import is running", severity="warning", timeout=QUIT_QUESTION_SECONDS, markup=False,
        )  # fmt: skip
        return True

    def close(self) -> None:
        """Stop imports and the watcher; what was committed stays. The watcher gets a moment to finish its file."""
        self._stop.set()
        self.queue.clear()
        if self._watcher is not None:
            self._watcher.stop()
        if self._watcher_thread is not None:
            self._watcher_thread.join(WATCHER_STOP_TIMEOUT_SECONDS)

    def handle_memory_event(self, kind: str, detail: Mapping[str, Any]) -> None:
        """Count embedded chunks; called on the thread of the memory's events."""
        if kind != "embedded":
            return
        if not self.pending:
            self.embedding_throughput, self.embedded = Throughput(), 0
        self.embedded += int(detail.get("chunks", 0))
        self.pending = int(detail.get("pending", 0))
        self.embedding_throughput.add(self.embedded)

    def _notify(self) -> None:
        self._notified_at = time.monotonic()
        self._app.post_message(ImportProgressed())
