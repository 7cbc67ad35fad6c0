"""Watches folders: finds the files that arrive there, waits until they are complete, and reads them.

A file is found by an event of the operating system, by the scan at the start, or by a periodic scan, because events get
lost. It is queued in the database, and read once neither it nor the files next to it have changed for a while: the
files of an export that is being unpacked arrive one by one. Files are read where they are, and never changed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.ingest.file_events import FileEvents, ObservedFolder
from appliance.ingest.file_outcomes import outcome_of
from appliance.ingest.litter import UNFINISHED_ENDINGS, folder_reason, litter_reason
from appliance.ingest.side_files import SideFiles
from appliance.ingest.watch_roots import (
    WatchRoot,
    database_of,
    digest_of,
    entry_of,
    is_within,
    outermost_folders,
    stamp_of,
    watch_root,
)
from appliance.paths import display_path
from appliance.store import watched_files
from appliance.store.database import Database
from appliance.store.file_problems import BY_HAND, DISMISSED
from appliance.store.watched_files import WatchedEntry
from appliance.types import FileReport, InputProblem

MAX_SETTLE_WAIT_SECONDS = 60.0
"""The longest wait before a file is read although files next to it keep changing."""

REST_FACTOR = 9.0
"""After a file was read, it is not read again for this many times as long as the reading took. A growing file that is
not followed (``following``) is read completely each time; the pause limits this to a tenth of a processor."""

MAX_READS_ONCE = 3
"""How often a file that changes while it is read is read for a caller of ``read_present``."""

POLL_INTERVAL_SECONDS = 30.0
"""The time between two scans where the operating system does not report changes."""

ReadFile = Callable[[Path, Path], Sequence[FileReport]]
"""Called with a watched folder and a file in it: ingests the file and returns the results."""


@dataclass(frozen=True, slots=True)
class WatchIntervals:
    """Times in seconds: a file is read when it has not changed for ``settle``; folders are scanned every ``rescan``."""

    settle: float = 2.0
    rescan: float = 600.0


@dataclass(slots=True)
class _PendingFile:
    """A queued file, the time since which it has been waiting, and the time of its last change."""

    file: WatchedEntry
    pending_since: float
    changed_at: float


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """What is watched: folders and single files, without the ``excluded`` folders and files, as real paths. Without
    ``follows_events``, nothing but what a caller of ``read_present`` asks for is found."""

    roots: tuple[WatchRoot, ...]
    excluded: frozenset[Path] = frozenset()
    follows_events: bool = True


@dataclass(slots=True)
class _PresentRequest:
    """A call of ``read_present``: ``reads_before`` is how often each file had been read."""

    done: Callable[[], None]
    reads_before: Counter[Path]
    has_scanned: bool = False


class FolderWatcher:
    """Watches folders. ``run`` is called once, in one thread; everything else in any thread."""

    def __init__(
        self,
        database: Database,
        read: ReadFile,
        *,
        reader: str,
        owner: str = "",
        intervals: WatchIntervals,
        excluded: Iterable[Path] = (),
        patterns_of: Callable[[Path], tuple[str, ...]] = lambda folder: (),
        is_cheap: Callable[[Path], bool] = lambda file: False,
        side_files: SideFiles | None = None,
        on_read: Callable[[FileReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> None:
        """``follow`` says which folders are watched.

        Args:
            database: Where the queue and the results are stored.
            read: Ingests a file.
            reader: The version of the program: files that another version could not read completely are tried again.
            owner: The user for whom files are read: files that were read for another user are read again.
            intervals: How long to wait.
            excluded: Folders that are never read, such as the home itself.
            patterns_of: The patterns of the files that are read of a watched folder; none to read every file but
                litter.
            is_cheap: Returns whether the next readings of a file take little time, whatever the last one took.
            side_files: Where ``read`` collects the files that are read with others.
            on_read: Called with the result of each file.
            on_trouble: Called with a message when something can't be watched.
        """
        self._database = database
        self._read = read
        self._reader = reader
        self._owner = owner
        self._intervals = intervals
        self._is_cheap = is_cheap
        self._never_read = frozenset(Path(os.path.realpath(path)) for path in excluded)
        self._patterns_of = patterns_of
        self._side_files = side_files or SideFiles()
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._plan = self._next_plan = WatchPlan((), follows_events=False)
        self._requests: list[_PresentRequest] = []
        self._reported_problems: set[str] = set()
        self._changed_paths: set[Path] = set()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._pending: dict[Path, _PendingFile] = {}
        self._rest_until: dict[Path, float] = {}
        self._read_counts: Counter[Path] = Counter()

    @property
    def roots(self) -> tuple[WatchRoot, ...]:
        """The folders and single files that are watched."""
        return self._next_plan.roots

    def follow(self, folders: Sequence[Path], *, excluded: Iterable[Path] = (), follows_events: bool = True) -> None:
        """Watch these folders and files from now on, and no others.

        Args:
            folders: The folders to watch, and single files.
            excluded: Folders and files that are left out.
            follows_events: Whether to find files whenever they arrive.

        Raises:
            HomeError: A folder does not exist.
        """
        left_out = frozenset(Path(os.path.realpath(path)) for path in excluded)
        roots = [watch_root(path, self._patterns_of) for path in outermost_folders(folders)]
        kept = tuple(root for root in roots if not _lies_in(Path(os.path.realpath(root.path)), left_out))
        self._next_plan = WatchPlan(kept, self._never_read | left_out, follows_events)
        self._woken.set()

    def read_present(self, done: Callable[[], None]) -> None:
        """Read the files that exist now, and call ``done`` when they have been read. Files that keep changing stay in
        the queue."""
        self._requests.append(_PresentRequest(done, Counter(self._read_counts)))
        self._woken.set()

    def stop(self) -> None:
        """Make ``run`` end after the file that it is reading."""
        self._stopping.set()
        self._woken.set()

    def run(self) -> None:
        """Watch until stopped."""
        scanned = time.monotonic()  # with a new plan, its folders are scanned
        with closing(FileEvents(self._on_event)) as events:
            while not self._stopping.is_set():
                self._adopt_plan(events)
                present = [request for request in self._requests if not request.has_scanned]
                is_due = self._plan.follows_events and time.monotonic() - scanned >= self._intervals.rescan
                if present or is_due:
                    self._queue_changed(file for root in self._plan.roots for file in self.scan(root.path, root))
                    scanned = time.monotonic()
                    for request in present:
                        request.has_scanned = True
                self._queue_changed(self._changed_entries())
                pause = self._read_settled()
                self._finish_requests()
                if self._plan.follows_events:
                    pause = min(pause, scanned + self._intervals.rescan - time.monotonic())
                self._woken.wait(min(max(0.0, pause), threading.TIMEOUT_MAX))
                self._woken.clear()

    def _adopt_plan(self, events: FileEvents) -> None:
        """Follow the latest plan: observe its folders, find what is new in it, and forget what is not in it any
        more."""
        plan, before = self._next_plan, self._plan
        if plan is before:
            return
        self._plan = plan
        observed = {ObservedFolder(root.folder, not root.is_file) for root in plan.roots if plan.follows_events}
        try:
            events.observe(observed)
        except OSError as error:
            # Most likely the system's limit of watches; periodic scans still find everything.
            self._intervals = replace(self._intervals, rescan=min(self._intervals.rescan, POLL_INTERVAL_SECONDS))
            self._on_trouble(
                f"the operating system does not report changes ({error.strerror or error});"
                f" scanning every {self._intervals.rescan:g} seconds instead"
            )
        for path in [path for path in self._pending if not self._is_watched(path)]:
            del self._pending[path]
            with self._database.write() as tx:
                watched_files.delete_queued(tx, path)
        for file in watched_files.entries(self._database.read()):
            if file.state == "queued" and file.path not in self._pending and self._is_watched(file.path):
                self._add_pending(file)
        if plan.follows_events:
            added = [root for root in plan.roots if root not in before.roots or not before.follows_events]
            self._queue_changed(file for root in added for file in self.scan(root.path, root))

    def _is_watched(self, path: Path) -> bool:
        return any(path.is_relative_to(root.path) for root in self._plan.roots) and not _lies_in(
            Path(os.path.realpath(path)), self._plan.excluded
        )

    def _finish_requests(self) -> None:
        for request in [request for request in self._requests if request.has_scanned]:
            before = request.reads_before
            if all(self._read_counts[path] - before[path] >= MAX_READS_ONCE for path in self._pending):
                self._requests.remove(request)
                request.done()

    def _on_event(self, path: Path) -> None:
        self._changed_paths.add(path)
        self._woken.set()

    # --- finding ------------------------------------------------------------------------------------------

    def scan(self, folder: Path, root: WatchRoot) -> Iterator[WatchedEntry]:
        """Yield the files in a folder and its subfolders that ``root`` selects, without links that lead out of it; or
        the one file that is watched. Reports a folder that can't be read once."""
        if root.is_file:
            with self._reporting(root.path):
                yield entry_of(root.path, root.folder, root.path.stat())
            return
        # Links to folders are not followed, so everything below a real folder is real.
        pending_folders = [(folder, Path(os.path.realpath(folder)))]
        while pending_folders:
            folder, real = pending_folders.pop()
            if real in self._plan.excluded or (folder != root.path and self._is_programs_own(folder, root)):
                continue
            items: list[os.DirEntry[str]] = []
            with self._reporting(folder), os.scandir(folder) as scanned:
                items = sorted(scanned, key=lambda item: item.name)
            for item in items:
                path, entry = folder / item.name, None
                with self._reporting(path):
                    is_folder = item.is_dir(follow_symlinks=False)
                    if not root.patterns and litter_reason(item.name, is_folder=is_folder):
                        continue
                    if is_folder:
                        pending_folders.append((path, real / item.name))
                    elif not root.selects(path):
                        continue
                    elif item.is_file() and (not item.is_symlink() or is_within(path, root.folder)):
                        entry = entry_of(path, root.folder, item.stat())
                if entry is not None:
                    yield entry

    def _is_programs_own(self, folder: Path, root: WatchRoot) -> bool:
        """Whether a folder in a watched one is not read because of what is in it; says so once."""
        if root.patterns or not (reason := folder_reason(folder)):
            return False
        self._report_once(f"{folder} is not read: {reason}")
        return True

    @contextmanager
    def _reporting(self, path: Path) -> Iterator[None]:
        """Reports, once for each path, that it can't be read; a path that has disappeared is no problem."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            self._report_once(f"{path} can't be read: {error.strerror or error}")

    def _report_once(self, problem: str) -> None:
        if problem not in self._reported_problems:
            self._reported_problems.add(problem)
            self._on_trouble(problem)

    def _changed_entries(self) -> Iterator[WatchedEntry]:
        """The files for which events have arrived since the last call."""
        while self._changed_paths:
            path = database_of(self._changed_paths.pop())
            for root in self._plan.roots:
                if path.is_relative_to(root.path):
                    yield from self._changed_below(path, root)

    def _changed_below(self, path: Path, root: WatchRoot) -> Iterator[WatchedEntry]:
        """The files at ``path``, for which an event has arrived."""
        if root.is_litter(path):
            return
        entry = None
        with self._reporting(path):
            if path.is_dir():
                yield from self.scan(path, root)
            elif _lies_in(Path(os.path.realpath(path)), self._plan.excluded):
                return
            elif root.selects(path) and path.is_file() and (root.is_file or is_within(path, root.folder)):
                entry = entry_of(path, root.folder, path.stat())
        if entry is not None:
            yield entry

    def _queue_changed(self, found: Iterable[WatchedEntry]) -> None:
        """Queue files that are new or have changed."""
        db = self._database.read()
        known, forgotten = {file.path: file for file in watched_files.entries(db)}, watched_files.forgotten_entries(db)
        new = [file for file in found if self._is_new(file, known.get(file.path) or forgotten(file.path))]
        if new:
            with self._database.write() as tx:
                watched_files.enqueue(tx, new)
        for file in new:
            self._add_pending(file)

    def _is_new(self, file: WatchedEntry, known: WatchedEntry | None) -> bool:
        if known is None or known.stamp != file.stamp:
            return True
        if known.state != "queued" and known.owner != self._owner:
            return True
        if known.root == BY_HAND and known.state != "read":  # with its options, which may not be the watcher's
            return not known.reason.startswith(DISMISSED)
        is_incomplete = known.state in ("skipped", "partial", "failed") and not known.reason.startswith(DISMISSED)
        return is_incomplete and known.reader != self._reader

    def _add_pending(self, file: WatchedEntry) -> None:
        now = time.time()
        old = self._pending.get(file.path)
        # A modification time in the future, after the clock was set back, must not delay the file for years.
        changed = min(file.stamp.mtime / 1e9, now) if old is None else now
        self._pending[file.path] = _PendingFile(file, old.pending_since if old else now, changed)

    # --- reading ------------------------------------------------------------------------------------------

    def _read_settled(self) -> float:
        """Read every group of files that has settled; returns the seconds until another may have."""
        groups: dict[Path, list[_PendingFile]] = {}
        for pending in list(self._pending.values()):
            if self._refresh(pending):
                groups.setdefault(_group(pending.file), []).append(pending)
        pause = float("inf")
        for group in groups.values():
            now = time.time()
            settled = max(pending.changed_at for pending in group) + self._intervals.settle
            due = min(settled, min(pending.pending_since for pending in group) + MAX_SETTLE_WAIT_SECONDS)
            if now < due:
                pause = min(pause, due - now)
                continue
            skipped: list[FileReport] = []
            for pending in sorted(group, key=lambda pending: pending.file.path):
                if self._stopping.is_set():
                    self._report_skipped(skipped)
                    return 0.0
                if (rest := self._rest_until.get(pending.file.path, 0.0) - now) > 0:
                    pause = min(pause, rest)
                    continue
                began = time.time()
                self._read_counts[pending.file.path] += 1
                if self._read_file(pending.file, skipped) and not self._is_cheap(pending.file.path):
                    self._rest_until[pending.file.path] = time.time() + REST_FACTOR * (time.time() - began)
                if pending.file.path in self._pending:  # it changed while it was read
                    pause = min(pause, self._intervals.settle)
            self._report_skipped(skipped)
        return pause

    def _report_skipped(self, skipped: Sequence[FileReport]) -> None:
        """Report the files of a group that no parser knows, now that those are known which were read with others."""
        explained = self._side_files.explained(skipped)
        with_others = [(report.path, report.notes[0].message) for report in explained if report.status == "ok"]
        if with_others:
            with self._database.write() as tx:
                watched_files.note_read_with_others(tx, with_others)
        for report in explained:
            self._on_read(report)

    def _refresh(self, pending: _PendingFile) -> bool:
        """Whether a file still exists; a file that has changed starts waiting again."""
        stamp = stamp_of(pending.file.path)
        if stamp is None:
            del self._pending[pending.file.path]
            with self._database.write() as tx:
                watched_files.delete_queued(tx, pending.file.path)
            return False
        if stamp != pending.file.stamp or _is_unfinished(pending.file.path):
            pending.file = replace(pending.file, stamp=stamp)
            pending.changed_at = time.time()
        return True

    def _read_file(self, file: WatchedEntry, skipped: list[FileReport]) -> bool:
        """Read one file, store the result and report it; those that are skipped are added to ``skipped`` instead.
        Returns whether most of it was known: only then tells the time that it took what reading the file again would
        cost."""
        db = self._database.read()
        forgotten = watched_files.forgotten_entries(db)(file.path)
        known = forgotten or watched_files.entry(db, file.path)
        try:
            digest = digest_of(file.path)
        except FileNotFoundError:  # gone since it was found: nothing to read, and nothing that failed
            self._refresh(self._pending[file.path])
            return True
        except OSError as error:
            reason = f"can't be read: {error.strerror or error}"
            self._save_outcome(replace(file, state="failed", reason=reason))
            self._on_read(FileReport(display_path(file.path), None, "failed", errors=(InputProblem("", reason),)))
            return True
        if known is not None and (known.digest, known.owner) == (digest, self._owner):
            self._save_outcome(replace(file, state="read", digest=digest), was_forgotten=forgotten is not None)
            return True
        reports = self._read(file.root, file.path)
        if (stamp := stamp_of(file.path)) not in (None, file.stamp):
            # It changed while it was read: complete records are stored, the rest follows with the next reading.
            self._queue_changed([replace(file, stamp=stamp)])
        else:
            is_stored = any(report.new or report.updated or report.duplicates for report in reports)
            self._save_outcome(
                outcome_of(file, digest, reports), was_forgotten=forgotten is not None, is_stored=is_stored
            )
        for report in reports:
            if report.status == "skipped":
                skipped.append(report)
            else:
                self._on_read(report)
        return sum(report.new for report in reports) <= sum(report.duplicates for report in reports)

    def _save_outcome(self, file: WatchedEntry, *, was_forgotten: bool = False, is_stored: bool = False) -> None:
        """Store the result of reading a file. Of a forgotten file the name is kept only if it has new messages."""
        with self._database.write() as tx:
            watched_files.record_result(tx, replace(file, reader=self._reader, owner=self._owner))
            if was_forgotten and is_stored:
                watched_files.remember(tx, file.path)
            elif was_forgotten:
                watched_files.forget(tx, [os.fsencode(file.path)])
        self._pending.pop(file.path, None)


def _lies_in(path: Path, folders: frozenset[Path]) -> bool:
    return not folders.isdisjoint((path, *path.parents))


def _is_unfinished(path: Path) -> bool:
    """Whether a download of a file goes on. One that was given up is read in spite of it after a minute."""
    return any(os.path.lexists(f"{path}{ending}") for ending in UNFINISHED_ENDINGS)


def _group(file: WatchedEntry) -> Path:
    """The files that are read together: those in one folder directly below the watched one, or a single file there."""
    return file.root / file.path.relative_to(file.root).parts[0]
