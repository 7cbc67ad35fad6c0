"""Folders that are read by themselves: what lands there is found, waited for until it is whole, and read.

Three things find a file: an event of the system, a look at everything at the start, and one every so often,
because events get lost. What is found waits in the catalogue. It is read when nothing beside it has changed
for a while: an export that is still being unpacked has its files arrive one after the other. Files are
only ever read, where they are.
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
from appliance.ingest.sources import is_litter
from appliance.store import catalogue
from appliance.store.catalogue import Entry, Facts
from appliance.store.database import Database
from appliance.types import FileReport

LONGEST_WAIT = 60.0
"""Seconds after which a file is read although things beside it go on changing."""

RESTS = 9.0
"""A file that goes on growing (an agent's session) is read whole each time: what is known already is passed
over by its ids, and titles and branches may have changed. So that this costs a tenth of a processor at
most, it then rests for so many times as long as its reading took."""

READINGS = 3
"""How often a file that changes while it is read is read by ``run(once=True)``."""

WITHOUT_EVENTS = 30.0
"""Seconds between two looks at everything where the system does not tell of changes."""

_READ_BYTES = 1 << 20

Read = Callable[[Path, Path], Sequence[FileReport]]
"""Given a folder and a file in it: reads the file into the memory, and says what became of it."""


@dataclass(frozen=True, slots=True)
class Habits:
    """Seconds. ``settle``: how long a file must not have changed. ``rescan``: between two looks at everything."""

    settle: float = 2.0
    rescan: float = 600.0


@dataclass(slots=True)
class _Waiting:
    """A file that waits: since when it has, and when it was last seen to change."""

    file: Entry
    since: float
    changed: float


class Watcher:
    """Watches folders. ``run`` is called once, in one thread; ``stop`` from any."""

    def __init__(
        self,
        folders: Sequence[Path],
        database: Database,
        read: Read,
        *,
        reader: str,
        owner: str = "",
        habits: Habits,
        apart: Iterable[Path] = (),
        on_read: Callable[[FileReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> None:
        """``reader`` names what reads: what an earlier one could not read is tried again. ``owner`` names for
        whom: what was read for another is read again. ``apart`` are folders that are never looked into: the
        home itself.

        Raises:
            HomeError: a folder does not exist.
        """
        self.folders = _outermost(folders)
        self._database = database
        self._read = read
        self._reader = reader
        self._owner = owner
        self._habits = habits
        self._apart = {Path(os.path.realpath(path)) for path in apart}
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._told: set[str] = set()
        self._touched: set[Path] = set()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._waiting: dict[Path, _Waiting] = {}
        self._rested: dict[Path, float] = {}
        self._readings: Counter[Path] = Counter()

    def stop(self) -> None:
        """Let ``run`` end after the file that it is reading."""
        self._stopping.set()
        self._woken.set()

    def run(self, *, once: bool = False) -> None:
        """Watch until stopped; ``once`` reads what is there and ends."""
        for file in catalogue.entries(self._database.read()):
            if file.state == "queued":
                self._wait_for(file)
        with self._observed(once):
            scanned = float("-inf")
            while not self._stopping.is_set():
                if time.monotonic() - scanned >= self._habits.rescan:
                    self._note(file for folder in self.folders for file in self.scan(folder, folder))
                    scanned = time.monotonic()
                self._note(self._seen())
                pause = self._read_what_is_ready()
                if once and all(self._readings[path] >= READINGS for path in self._waiting):
                    return  # what never rests stays in the queue
                due = scanned + self._habits.rescan - time.monotonic()
                self._woken.wait(max(0.0, min(due, pause)))
                self._woken.clear()

    # --- finding ------------------------------------------------------------------------------------------

    def scan(self, folder: Path, root: Path) -> Iterator[Entry]:
        """The files in a folder, all the way down, without litter and without links that lead out of it. A
        folder that can't be read is told, once."""
        # Links to folders are not followed, so what lies below a real folder is real.
        waiting = [(folder, Path(os.path.realpath(folder)))]
        while waiting:
            folder, real = waiting.pop()
            if real in self._apart:
                continue
            try:
                with os.scandir(folder) as listed:
                    found = sorted(listed, key=lambda item: item.name)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._tell_once(f"{folder} can't be read: {error.strerror or error}")
                continue
            for item in found:
                path = folder / item.name
                if is_litter(item.name):
                    continue
                try:
                    if item.is_dir(follow_symlinks=False):
                        waiting.append((path, real / item.name))
                    elif item.is_file() and (not item.is_symlink() or _is_within(path, root)):
                        yield _entry(path, root, item.stat())
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self._tell_once(f"{path} can't be read: {error.strerror or error}")

    def _tell_once(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self._on_trouble(words)

    def _seen(self) -> Iterator[Entry]:
        """What events told of since the last time."""
        while self._touched:
            path = self._touched.pop()
            root = next((folder for folder in self.folders if path.is_relative_to(folder)), None)
            if root is None or any(is_litter(part) for part in path.relative_to(root).parts):
                continue
            if path.is_dir():
                yield from self.scan(path, root)
            elif any(Path(os.path.realpath(path)).is_relative_to(apart) for apart in self._apart):
                continue
            elif path.is_file() and _is_within(path, root):
                yield _entry(path, root, path.stat())

    def _note(self, found: Iterable[Entry]) -> None:
        """Queue what is new or has changed."""
        known = {file.path: file for file in catalogue.entries(self._database.read())}
        new = [file for file in found if self._is_new(file, known.get(file.path))]
        if new:
            with self._database.write() as tx:
                catalogue.queue(tx, new)
        for file in new:
            self._wait_for(file)

    def _is_new(self, file: Entry, known: Entry | None) -> bool:
        if known is None or known.facts != file.facts:
            return True
        if known.state != "queued" and known.owner != self._owner:
            return True
        return known.state in ("skipped", "partial", "failed") and known.reader != self._reader

    def _wait_for(self, file: Entry) -> None:
        now = time.time()
        old = self._waiting.get(file.path)
        # A clock that was set back must not make a file wait for years.
        changed = min(file.facts.mtime / 1e9, now) if old is None else now
        self._waiting[file.path] = _Waiting(file, old.since if old else now, changed)

    # --- reading ------------------------------------------------------------------------------------------

    def _read_what_is_ready(self) -> float:
        """Read every group of files that has settled; how many seconds until another may have."""
        groups: dict[Path, list[_Waiting]] = {}
        for waiting in list(self._waiting.values()):
            if self._still(waiting):
                groups.setdefault(_group(waiting.file), []).append(waiting)
        pause = float("inf")
        for group in groups.values():
            now = time.time()
            settled = max(waiting.changed for waiting in group) + self._habits.settle
            due = min(settled, min(waiting.since for waiting in group) + LONGEST_WAIT)
            if now < due:
                pause = min(pause, due - now)
                continue
            for waiting in sorted(group, key=lambda waiting: waiting.file.path):
                if self._stopping.is_set():
                    return 0.0
                if (rest := self._rested.get(waiting.file.path, 0.0) - now) > 0:
                    pause = min(pause, rest)
                    continue
                began = time.time()
                self._readings[waiting.file.path] += 1
                self._take(waiting.file)
                self._rested[waiting.file.path] = time.time() + RESTS * (time.time() - began)
                if waiting.file.path in self._waiting:  # it changed while it was read
                    pause = min(pause, self._habits.settle)
        return pause

    def _still(self, waiting: _Waiting) -> bool:
        """Whether a file is still there; what changed since waits anew."""
        facts = _facts(waiting.file.path)
        if facts is None:
            del self._waiting[waiting.file.path]
            with self._database.write() as tx:
                catalogue.forget(tx, waiting.file.path)
            return False
        if facts != waiting.file.facts:
            waiting.file = replace(waiting.file, facts=facts)
            waiting.changed = time.time()
        return True

    def _take(self, file: Entry) -> None:
        """Read one file and note what became of it."""
        known = catalogue.entry(self._database.read(), file.path)
        try:
            digest = _digest(file.path)
        except OSError as error:
            self._settle(replace(file, state="failed", reason=f"can't be read: {error.strerror or error}"))
            return
        if known is not None and (known.digest, known.owner) == (digest, self._owner):
            self._settle(replace(file, state="read", digest=digest))
            return
        reports = self._read(file.root, file.path)
        if (facts := _facts(file.path)) not in (None, file.facts):
            # It changed while it was read: what was whole is stored, and the rest comes with the next reading.
            self._note([replace(file, facts=facts)])
        else:
            self._settle(_outcome(file, digest, reports))
        for report in reports:
            self._on_read(report)

    def _settle(self, file: Entry) -> None:
        with self._database.write() as tx:
            catalogue.settle(tx, replace(file, reader=self._reader, owner=self._owner))
        self._waiting.pop(file.path, None)

    # --- events -------------------------------------------------------------------------------------------

    @contextmanager
    def _observed(self, once: bool) -> Iterator[None]:
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
                        watcher._touched.add(Path(os.fsdecode(path)))
                watcher._woken.set()

        observer = Observer()
        try:
            for folder in self.folders:
                observer.schedule(Handler(), str(folder), recursive=True)
            observer.start()
        except OSError as error:
            # The system's limit of watches, most likely: looking at everything now and then still finds it all.
            self._habits = replace(self._habits, rescan=min(self._habits.rescan, WITHOUT_EVENTS))
            self._on_trouble(
                f"the system tells of no changes ({error.strerror or error}); looking every"
                f" {self._habits.rescan:g} seconds instead"
            )
            yield
            return
        try:
            yield
        finally:
            observer.stop()
            observer.join()


def _outermost(folders: Sequence[Path]) -> list[Path]:
    """The folders, without those that lie in another of them."""
    every = [Path(os.path.abspath(folder)) for folder in folders]
    for folder in every:
        if not folder.is_dir():
            raise HomeError("no such folder to watch", where=str(folder), hint="make it, or name another")
    inner = {one for one in every for other in every if one != other and one.is_relative_to(other)}
    return list(dict.fromkeys(folder for folder in every if folder not in inner))


def _group(file: Entry) -> Path:
    """What a file belongs together with: the folder right under the watched one that holds it, or itself."""
    return file.root / file.path.relative_to(file.root).parts[0]


def _outcome(file: Entry, digest: bytes, reports: Sequence[FileReport]) -> Entry:
    """The catalogue's entry for a file, from what its documents (a zip has many) gave. Only of what was read
    whole is the digest kept: the rest is tried again when the file is so much as touched."""
    errors = [problem for report in reports for problem in report.errors]
    is_read = any(report.status == "ok" for report in reports)
    if errors:
        place = f"{errors[0].where}: " if errors[0].where else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        is_partial = is_read or any(report.messages for report in reports)
        reason = f"{place}{errors[0].message}{more}"
        return replace(file, state="partial" if is_partial else "failed", reason=reason)
    if is_read:
        return replace(file, state="read", digest=digest)
    notes = [problem.message for report in reports for problem in report.notes]
    return replace(file, state="skipped", reason=notes[0] if notes else "no chat export was found in it")


def _entry(path: Path, root: Path, stat: os.stat_result) -> Entry:
    return Entry(path, root, Facts(stat.st_size, stat.st_mtime_ns), "queued")


def _facts(path: Path) -> Facts | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return Facts(stat.st_size, stat.st_mtime_ns)


def _is_within(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _digest(path: Path) -> bytes:
    made = hashlib.blake2b(digest_size=16)
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_READ_BYTES):
            made.update(piece)
    return made.digest()
