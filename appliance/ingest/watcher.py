"""Watches folders: finds the files that arrive there, waits until they are complete, and reads them.

A file is found by an event of the operating system, by the scan at the start, or by a periodic scan, because events get
lost. It is queued in the database, and read once neither it nor the files next to it have changed for a while: the
files of an export that is being unpacked arrive one by one. Files are read where they are, and never changed.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.errors import HomeError
from appliance.formats import sqlite
from appliance.ingest.discovery.places import is_history
from appliance.ingest.litter import litter_reason, path_litter
from appliance.store import watched_files
from appliance.store.database import Database
from appliance.store.watched_files import FileStamp, WatchedEntry
from appliance.types import FileReport

MAX_SETTLE_WAIT_SECONDS = 60.0
"""The longest wait before a file is read although files next to it keep changing."""

REST_FACTOR = 9.0
"""After a file was read, it is not read again for this many times as long as the reading took. A growing file that is
not followed (``following``) is read completely each time; the pause limits this to a tenth of a processor."""

MAX_READS_ONCE = 3
"""How often ``run(once=True)`` reads a file that changes while it is read."""

POLL_INTERVAL_SECONDS = 30.0
"""The time between two scans where the operating system does not report changes."""

_READ_BYTES = 1 << 20
_DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3", ".vscdb")
_BESIDE_DATABASE = tuple(name + beside for name in _DATABASE_ENDINGS for beside in sqlite.SIDE_FILES)

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


class FolderWatcher:
    """Watches folders. ``run`` is called once, in one thread; ``stop`` in any thread."""

    def __init__(
        self,
        folders: Sequence[Path],
        database: Database,
        read: ReadFile,
        *,
        reader: str,
        owner: str = "",
        intervals: WatchIntervals,
        excluded: Iterable[Path] = (),
        patterns_of: Callable[[Path], tuple[str, ...]] = lambda folder: (),
        is_cheap: Callable[[Path], bool] = lambda file: False,
        on_read: Callable[[FileReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> None:
        """Check the folders; ``run`` watches them.

        Args:
            folders: The folders to watch, and single files.
            database: Where the queue and the results are stored.
            read: Ingests a file.
            reader: The version of the program: files that another version could not read completely are tried again.
            owner: The user for whom files are read: files that were read for another user are read again.
            intervals: How long to wait.
            excluded: Folders that are never read, such as the home itself.
            patterns_of: The patterns of the files that are read of a watched folder; none to read every file but
                litter.
            is_cheap: Returns whether the next readings of a file take little time, whatever the last one took.
            on_read: Called with the result of each file.
            on_trouble: Called with a message when something can't be watched.

        Raises:
            HomeError: A folder does not exist.
        """
        self.roots = [_root(path, patterns_of) for path in outermost_folders(folders)]
        self._database = database
        self._read = read
        self._reader = reader
        self._owner = owner
        self._intervals = intervals
        self._excluded = {Path(os.path.realpath(path)) for path in excluded}
        self._is_cheap = is_cheap
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._reported_problems: set[str] = set()
        self._changed_paths: set[Path] = set()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._pending: dict[Path, _PendingFile] = {}
        self._rest_until: dict[Path, float] = {}
        self._read_counts: Counter[Path] = Counter()

    def stop(self) -> None:
        """Make ``run`` end after the file that it is reading."""
        self._stopping.set()
        self._woken.set()

    def run(self, *, once: bool = False) -> None:
        """Watch until stopped; with ``once``, read the files that exist now and return."""
        for file in watched_files.entries(self._database.read()):
            if file.state == "queued":
                self._add_pending(file)
        with self._file_events(once):
            scanned = float("-inf")
            while not self._stopping.is_set():
                if time.monotonic() - scanned >= self._intervals.rescan:
                    self._queue_changed(file for root in self.roots for file in self.scan(root.path, root))
                    scanned = time.monotonic()
                self._queue_changed(self._changed_entries())
                pause = self._read_settled()
                if once and all(self._read_counts[path] >= MAX_READS_ONCE for path in self._pending):
                    return  # files that keep changing stay in the queue
                due = scanned + self._intervals.rescan - time.monotonic()
                self._woken.wait(max(0.0, min(due, pause)))
                self._woken.clear()

    # --- finding ------------------------------------------------------------------------------------------

    def scan(self, folder: Path, root: WatchRoot) -> Iterator[WatchedEntry]:
        """Yield the files in a folder and its subfolders that ``root`` selects, without links that lead out of it; or
        the one file that is watched. Reports a folder that can't be read once."""
        if root.is_file:
            with self._reporting(root.path):
                yield _entry(root.path, root.folder, root.path.stat())
            return
        # Links to folders are not followed, so everything below a real folder is real.
        pending_folders = [(folder, Path(os.path.realpath(folder)))]
        while pending_folders:
            folder, real = pending_folders.pop()
            if real in self._excluded:
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
                    elif item.is_file() and (not item.is_symlink() or _is_within(path, root.folder)):
                        entry = _entry(path, root.folder, item.stat())
                if entry is not None:
                    yield entry

    @contextmanager
    def _reporting(self, path: Path) -> Iterator[None]:
        """Reports, once for each path, that it can't be read; a path that has disappeared is no problem."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            problem = f"{path} can't be read: {error.strerror or error}"
            if problem not in self._reported_problems:
                self._reported_problems.add(problem)
                self._on_trouble(problem)

    def _changed_entries(self) -> Iterator[WatchedEntry]:
        """The files for which events have arrived since the last call."""
        while self._changed_paths:
            path = database_of(self._changed_paths.pop())
            for root in self.roots:
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
            elif any(Path(os.path.realpath(path)).is_relative_to(excluded) for excluded in self._excluded):
                return
            elif root.selects(path) and path.is_file() and (root.is_file or _is_within(path, root.folder)):
                entry = _entry(path, root.folder, path.stat())
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
        return known.state in ("skipped", "partial", "failed") and known.reader != self._reader

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
            for pending in sorted(group, key=lambda pending: pending.file.path):
                if self._stopping.is_set():
                    return 0.0
                if (rest := self._rest_until.get(pending.file.path, 0.0) - now) > 0:
                    pause = min(pause, rest)
                    continue
                began = time.time()
                self._read_counts[pending.file.path] += 1
                if self._read_file(pending.file) and not self._is_cheap(pending.file.path):
                    self._rest_until[pending.file.path] = time.time() + REST_FACTOR * (time.time() - began)
                if pending.file.path in self._pending:  # it changed while it was read
                    pause = min(pause, self._intervals.settle)
        return pause

    def _refresh(self, pending: _PendingFile) -> bool:
        """Whether a file still exists; a file that has changed starts waiting again."""
        stamp = _stamp(pending.file.path)
        if stamp is None:
            del self._pending[pending.file.path]
            with self._database.write() as tx:
                watched_files.delete_queued(tx, pending.file.path)
            return False
        if stamp != pending.file.stamp:
            pending.file = replace(pending.file, stamp=stamp)
            pending.changed_at = time.time()
        return True

    def _read_file(self, file: WatchedEntry) -> bool:
        """Read one file and store the result. Returns whether most of it was known: only then tells the time that it
        took what reading the file again would cost."""
        db = self._database.read()
        forgotten = watched_files.forgotten_entries(db)(file.path)
        known = forgotten or watched_files.entry(db, file.path)
        try:
            digest = _digest(file.path)
        except OSError as error:
            self._save_outcome(replace(file, state="failed", reason=f"can't be read: {error.strerror or error}"))
            return True
        if known is not None and (known.digest, known.owner) == (digest, self._owner):
            self._save_outcome(replace(file, state="read", digest=digest), was_forgotten=forgotten is not None)
            return True
        reports = self._read(file.root, file.path)
        if (stamp := _stamp(file.path)) not in (None, file.stamp):
            # It changed while it was read: complete records are stored, the rest follows with the next reading.
            self._queue_changed([replace(file, stamp=stamp)])
        else:
            is_stored = any(report.new or report.updated or report.duplicates for report in reports)
            self._save_outcome(
                _outcome(file, digest, reports), was_forgotten=forgotten is not None, is_stored=is_stored
            )
        for report in reports:
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

    # --- events -------------------------------------------------------------------------------------------

    @contextmanager
    def _file_events(self, once: bool) -> Iterator[None]:
        if once:
            yield
            return
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        watcher = self

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if event.event_type in ("opened", "closed_no_write", "deleted"):
                    return
                for path in (event.src_path, event.dest_path):
                    if path and not (event.is_directory and event.event_type == "modified"):
                        watcher._changed_paths.add(Path(os.fsdecode(path)))
                watcher._woken.set()

        observer = Observer()
        try:
            for root in self.roots:
                observer.schedule(Handler(), str(root.folder), recursive=not root.is_file)
            observer.start()
        except OSError as error:
            # Most likely the system's limit of watches; periodic scans still find everything.
            self._intervals = replace(self._intervals, rescan=min(self._intervals.rescan, POLL_INTERVAL_SECONDS))
            self._on_trouble(
                f"the operating system does not report changes ({error.strerror or error});"
                f" scanning every {self._intervals.rescan:g} seconds instead"
            )
            yield
            return
        try:
            yield
        finally:
            observer.stop()
            observer.join()


@dataclass(frozen=True, slots=True)
class WatchRoot:
    """A watched folder, or a single file. With ``patterns``, only the files that these match are read of a folder."""

    path: Path
    is_file: bool = False
    patterns: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The watched folder, or the one that the file is in."""
        return self.path.parent if self.is_file else self.path

    def is_litter(self, path: Path) -> bool:
        """Whether a path, by its names, is never a chat. What is named itself, or by a pattern, is none."""
        if self.is_file or self.patterns:
            return False
        return bool(path_litter(path.relative_to(self.path).parts, is_folder=path.is_dir())[0])

    def selects(self, path: Path) -> bool:
        """Whether a file is one of those that are read."""
        if self.is_file:
            return path == self.path
        if self.patterns:
            return is_history(path.relative_to(self.path).as_posix(), self.patterns)
        return not is_beside_database(path)


def _root(path: Path, patterns_of: Callable[[Path], tuple[str, ...]]) -> WatchRoot:
    return WatchRoot(path, is_file=True) if path.is_file() else WatchRoot(path, patterns=patterns_of(path))


def outermost_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders and files, as absolute paths, without those that are read with another of them.

    Raises:
        HomeError: A folder does not exist.
    """
    absolute = [Path(os.path.abspath(folder)) for folder in folders]
    for folder in absolute:
        if not folder.exists():
            hint = "Create it, or name another folder."
            raise HomeError("There is no such folder to watch.", where=str(folder), hint=hint)
    unique = dict.fromkeys(absolute)
    return [folder for folder in unique if not any(_includes(outer, folder) for outer in unique)]


def _includes(outer: Path, path: Path) -> bool:
    return outer in path.parents and not path_litter(path.relative_to(outer).parts, is_folder=path.is_dir())[0]


def _group(file: WatchedEntry) -> Path:
    """The files that are read together: those in one folder directly below the watched one, or a single file there."""
    return file.root / file.path.relative_to(file.root).parts[0]


def _outcome(file: WatchedEntry, digest: bytes, reports: Sequence[FileReport]) -> WatchedEntry:
    """The entry of a file, from the results of its documents (a zip has several). Keeps the digest only of a file that
    was read completely: others are tried again when their modification time changes."""
    errors = [problem for report in reports for problem in report.errors]
    is_read = any(report.status == "ok" for report in reports)
    if errors:
        prefix = f"{errors[0].where}: " if errors[0].where else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        is_partial = is_read or any(report.messages for report in reports)
        reason = f"{prefix}{errors[0].message}{more}"
        return replace(file, state="partial" if is_partial else "failed", reason=reason)
    if is_read:
        return replace(file, state="read", digest=digest)
    notes = [problem.message for report in reports for problem in report.notes]
    return replace(file, state="skipped", reason=notes[0] if notes else "no chat export found")


def _entry(path: Path, root: Path, stat: os.stat_result) -> WatchedEntry:
    return WatchedEntry(path, root, _stamp_of(path, stat), "queued")


def _stamp(path: Path) -> FileStamp | None:
    try:
        return _stamp_of(path, path.stat())
    except OSError:
        return None


def _stamp_of(path: Path, stat: os.stat_result) -> FileStamp:
    """The size and the time of the last change of a file; of a database, together with those of its log."""
    log = _log_of(path)
    if log is None:
        return FileStamp(stat.st_size, stat.st_mtime_ns)
    added = log.stat()
    return FileStamp(stat.st_size + added.st_size, max(stat.st_mtime_ns, added.st_mtime_ns))


def _is_within(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _digest(path: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in (path, _log_of(path)):
        if part is not None:
            with part.open("rb", buffering=0) as file:
                while block := file.read(_READ_BYTES):
                    digest.update(block)
    return digest.digest()


def _log_of(path: Path) -> Path | None:
    """The write-ahead log of a database, in which its program writes first; None without one."""
    if not path.name.endswith(_DATABASE_ENDINGS):
        return None
    log = sqlite.beside(path, "-wal")
    return log if log.is_file() else None


def database_of(path: Path) -> Path:
    """The database that a file belongs to which SQLite keeps beside it; any other path as it is."""
    if not is_beside_database(path):
        return path
    return path.with_name(path.name.rpartition("-")[0])


def is_beside_database(path: Path) -> bool:
    """Whether a file is one that SQLite keeps beside a database."""
    return path.name.endswith(_BESIDE_DATABASE)
