"""Searches this machine for histories: the places of the table, exports by name and content, and Aider's files.

Folders are listed and the beginnings of files are read, within bounds of depth, number and processor time. Links are
not followed below the folders of the table.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from appliance.formats.sqlite import beside
from appliance.formats.titles import export_title
from appliance.ingest.discovery.places import PLACES, HistoryPlace, Machine, existing, is_history
from appliance.ingest.discovery.remote_places import is_in_the_cloud, is_remote, network_folders
from appliance.ingest.litter import litter_reason
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.paths import display_path

AIDER_HISTORY = ".aider.chat.history.md"

MAX_FILES = 50_000
"""Files that are listed of a place; a place with more is estimated."""

MAX_LISTED = 200_000
"""Files and folders that are looked at in a place for those of its chats, and in all folders for those of Aider."""

MAX_EXPORT_FILES = 20_000
MAX_EXPORT_DEPTH = 3
"""How many files, and how many folders below each other, are looked at in each folder of exports."""

MAX_LAYOUT_DEPTH = 8
"""How many folders below each other are looked at where their names are those of an unpacked export: Facebook's chats
lie six folders deep."""

SAMPLE_FILES = 3
"""Of files whose names differ in numbers only, in one export, so many are read; the others are taken for the same."""

EXPORT_WAIT_SECONDS = 8.0
"""The same, with the time that a slow disk takes."""

EXPORT_SECONDS = 1.2
"""Processor time in which the beginnings of files are read, those with the names of exports and the newest first."""

MAX_PROJECT_FOLDERS = 5_000
MAX_PROJECT_DEPTH = 4
"""How many folders, and how many below each other, are looked at for Aider's files."""

MAX_DOCUMENTS = 50
"""How many documents of a zip are looked at until one is recognised."""

UNREADABLE_EXPORT = "unreadable export"
"""What an export is called whose format can't be told, because it is damaged or encrypted."""

_EXPORT_ENDINGS = (
    ".json", ".jsonl", ".txt", ".md", ".markdown", ".html", ".htm", ".zip", ".db", ".mbox", ".eml", ".csv", ".xml",
)  # fmt: skip
_EXPORT_NAME = re.compile(
    r"chat|conversation|export|whatsapp|telegram|openai|claude|anthropic|gemini|takeout|activity|slack|discord|teams"
    r"|messages|facebook|instagram|signal|librechat|webui|grok|deepseek|typingmind|perplexity|copilot|history|session"
    r"|message_\d|sms|kakao|line\]|skype|hangouts|snapchat|mattermost|\.mbox$|\.jsonl$",
    re.IGNORECASE,
)
_EXPORT_FOLDER = re.compile(
    r"facebook|instagram|your_.*activity|messages|inbox|archived_threads|filtered_threads|message_requests|e2ee_cutover"
    r"|takeout|my ?activity|gemini|google ?chat|hangouts|voice|groups|whatsapp|telegram|chatexport|chats?$|slack"
    r"|discord|teams|signal|snapchat|skype|chatgpt|openai|claude|anthropic|grok|deepseek|mail|export",
    re.IGNORECASE,
)
"""The names of folders in unpacked exports."""
_DAMAGED = re.compile(r"zip is cut off|zip's end is cut off|encrypted|empty \(0 bytes\)")
_NOT_PROJECTS = frozenset(
    {"node_modules", "venv", "site-packages", "__pycache__", "Library", "AppData", "snap", "Applications", "Pictures",
     "Music", "Movies", "Videos", "target", "dist", "build"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A place with files. ``path`` is what would be watched; a file lies in ``root``, beyond which no parser looks.
    ``complete`` is False if there are more files. ``problem`` says why it can't be read."""

    tool: str
    path: Path
    root: Path
    files: tuple[Path, ...] = ()
    bytes: int = 0
    complete: bool = True
    problem: str = ""
    hint: str = ""


@dataclass(slots=True)
class Search:
    """A search: ``yield_to_queries`` is called often, and ``notes`` say what was not looked at."""

    machine: Machine
    me: str | None = None
    yield_to_queries: Callable[[], None] = lambda: None
    notes: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _network: frozenset[str] = frozenset()
    _remote: list[Path] = field(default_factory=list)
    """Folders on network drives, which are not looked at."""

    def run(self) -> Iterator[FoundPlace]:
        """Yield what is found: the places of the table, Aider's histories, and exports."""
        self._network = network_folders(self.machine.platform, self.machine.home)
        for place in PLACES:
            for pattern in self.machine.paths(place.path):
                if self._is_remote(Path(pattern.partition("*")[0])):
                    continue
                for path, error in existing(pattern):
                    if self._is_remote(path):
                        continue
                    self.yield_to_queries()
                    found = _unreadable(place.tool, path, error, place.hint) if error else self._at(place, path)
                    if found is not None and self._is_first(path):
                        yield found
        yield from self._aider_histories()
        yield from self._exports()
        if self._remote:
            folders = ", ".join(map(display_path, dict.fromkeys(self._remote)))
            self.notes.append(
                f"Not looked at, because it is on a network drive: {folders}. 'appliance ingest' reads it."
            )

    def _is_remote(self, path: Path) -> bool:
        """Whether a path is on a network drive; a folder that would be looked at is noted."""
        if not is_remote(path, self._network):
            return False
        if path in (*self.machine.export_folders(), self.machine.home):
            self._remote.append(path)
        return True

    def _is_first(self, path: Path) -> bool:
        """Whether a path has not been found before, by whatever links."""
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def _at(self, place: HistoryPlace, path: Path) -> FoundPlace | None:
        if place.unreadable:
            size = database_size(path)
            return FoundPlace(place.tool, path, path.parent, (), size, problem=place.unreadable, hint=place.hint)
        if not place.files:
            if not path.is_file():  # a named pipe would never end
                return None
            try:
                with path.open("rb") as stream:
                    stream.read(1)
            except OSError as error:
                return _unreadable(place.tool, path, error, place.hint)
            return FoundPlace(place.tool, path, path.parent, (path,), database_size(path))
        try:
            os.listdir(path)
        except OSError as error:
            return _unreadable(place.tool, path, error, place.hint)
        files, listed = [], 0
        for listed, file in enumerate(self._walk(path), 1):
            if is_history(file.relative_to(path).as_posix(), place.files):
                files.append(file)
            if len(files) > MAX_FILES or listed >= MAX_LISTED:
                break
        if listed >= MAX_LISTED:
            self.notes.append(f"Of {display_path(path)} the first {MAX_LISTED:,} files were looked at.")
        if not files:
            return None
        size = sum(map(database_size, files))
        is_complete = len(files) <= MAX_FILES and listed < MAX_LISTED
        return FoundPlace(place.tool, path, path, tuple(files[:MAX_FILES]), size, complete=is_complete)

    def _walk(self, folder: Path) -> Iterator[Path]:
        """The files in a folder and its subfolders; links and folders that can't be read are left out."""
        pending = [folder]
        while pending:
            current = pending.pop()
            self.yield_to_queries()
            for item in _items(current, MAX_LISTED):
                if item.is_dir(follow_symlinks=False):
                    if str(current / item.name) not in self._network:
                        pending.append(current / item.name)
                elif item.is_file(follow_symlinks=False):
                    yield current / item.name

    # --- Aider ------------------------------------------------------------------------------------------------

    def _aider_histories(self) -> Iterator[FoundPlace]:
        """Aider keeps its history in the folder of each project."""
        level, looked_at, listed = [self.machine.home], 0, 0
        for _ in range(MAX_PROJECT_DEPTH + 1):
            inside: list[Path] = []
            for folder in level:
                if looked_at >= MAX_PROJECT_FOLDERS or listed >= MAX_LISTED:
                    self.notes.append(f"Aider's histories were searched for in the first {looked_at:,} folders only.")
                    return
                looked_at += 1
                self.yield_to_queries()
                items = _items(folder, MAX_LISTED - listed)
                listed += len(items)
                for item in items:
                    if item.name == AIDER_HISTORY and item.is_file(follow_symlinks=False):
                        path = folder / item.name
                        if self._is_first(path):
                            yield FoundPlace("Aider", path, folder, (path,), database_size(path))
                    elif (
                        not item.name.startswith(".")
                        and item.name not in _NOT_PROJECTS
                        and item.is_dir(follow_symlinks=False)
                        and str(folder / item.name) not in self._network
                    ):
                        inside.append(folder / item.name)
            level = inside

    # --- exports ----------------------------------------------------------------------------------------------

    def _exports(self) -> Iterator[FoundPlace]:
        limit, wait_limit = time.thread_time() + EXPORT_SECONDS, time.monotonic() + EXPORT_WAIT_SECONDS
        recognised: dict[tuple[Path, str], list[Path]] = {}
        failed: list[FoundPlace] = []
        folders = [folder for folder in self.machine.export_folders() if not self._is_remote(folder)]
        candidates = [(folder, file) for folder in folders for file in self._candidates(folder)]
        candidates.sort(key=lambda item: (not _EXPORT_NAME.search(item[1].name), -_modified(item[1])))
        known: dict[tuple[Path, str], list[str]] = {}
        for looked_at, (folder, file) in enumerate(candidates):
            if time.thread_time() > limit or time.monotonic() > wait_limit:
                self.notes.append(
                    f"{len(candidates) - looked_at:,} files, the oldest without the name of an export, were not looked"
                    f" into in {', '.join(map(display_path, self.machine.export_folders()))}, to save time."
                    " 'appliance ingest FOLDER --dry-run' reads them all."
                )
                break
            self.yield_to_queries()
            top = folder / file.relative_to(folder).parts[0]
            alike = known.setdefault((top, re.sub(r"\d+", "0", file.name)), [])
            is_sampled = len(alike) >= SAMPLE_FILES and len(set(alike)) == 1
            kind, problem, hint = (alike[0], "", "") if is_sampled else _recognise(file, self.me)
            if kind is not None:
                alike.append(kind)
                recognised.setdefault((top, kind), []).append(file)
                if problem:
                    self.notes.append(f"{display_path(file)}: {problem}; {hint}.")
            elif problem and _EXPORT_NAME.search(file.name):
                size = database_size(file)
                failed.append(FoundPlace(UNREADABLE_EXPORT, file, file.parent, (), size, problem=problem, hint=hint))
        for (_, kind), files in recognised.items():
            path = files[0] if len(files) == 1 else Path(os.path.commonpath([file.parent for file in files]))
            title = export_title(kind)
            if self._is_first(path):
                root = path.parent if len(files) == 1 else path
                yield FoundPlace(title, path, root, tuple(sorted(files)), sum(map(database_size, files)))
        yield from failed

    def _candidates(self, folder: Path) -> list[Path]:
        """The files that may be exports by their names, a few folders deep; deeper, in folders of unpacked exports."""
        found: list[Path] = []
        level, listed, in_the_cloud, left_out = [folder], 0, 0, 0
        for depth in range(MAX_LAYOUT_DEPTH + 1):
            inside: list[Path] = []
            for current in level:
                if os.path.realpath(current) in self._seen:  # a place of the table
                    continue
                for item in _items(current, MAX_EXPORT_FILES + 1):
                    listed += 1
                    if listed > MAX_EXPORT_FILES:
                        self.notes.append(
                            f"Of {display_path(folder)} the first {MAX_EXPORT_FILES:,} files were looked at."
                        )
                        return found
                    is_folder = item.is_dir(follow_symlinks=False)
                    if litter_reason(item.name, is_folder=is_folder) or item.name in _NOT_PROJECTS:
                        continue
                    if is_folder:
                        if str(current / item.name) not in self._network:
                            inner = current / item.name
                            if _is_looked_into(inner.relative_to(folder).parts, depth + 1):
                                inside.append(inner)
                            else:
                                left_out += 1
                    elif item.name.lower().endswith(_EXPORT_ENDINGS) and item.is_file(follow_symlinks=False):
                        path = current / item.name
                        if _is_in_the_cloud(item):
                            in_the_cloud += 1
                        elif os.path.realpath(path) not in self._seen:
                            found.append(path)
            level = inside
        if left_out:
            count = "1 folder was" if left_out == 1 else f"{left_out:,} folders were"
            self.notes.append(
                f"Looked {MAX_EXPORT_DEPTH} folders deep in {display_path(folder)}, and deeper where an export is"
                f" unpacked; {count} not looked into. 'appliance ingest FOLDER --dry-run' reads any folder."
            )
        if in_the_cloud:
            count = "1 file" if in_the_cloud == 1 else f"{in_the_cloud:,} files"
            self.notes.append(f"{count} in {display_path(folder)} would have to be fetched from a cloud first.")
        return found


def _is_looked_into(parts: tuple[str, ...], depth: int) -> bool:
    """Whether a folder of a folder of exports is looked into, by its depth and the names on the way to it."""
    if depth <= MAX_EXPORT_DEPTH:
        return True
    return depth <= MAX_LAYOUT_DEPTH and any(_EXPORT_FOLDER.search(part) for part in parts)


def _recognise(file: Path, me: str | None) -> tuple[str | None, str, str]:
    """The format of a file, or of the first document of a zip that has one; why all or a part of it can't be read, and
    what to do."""
    problem = hint = ""
    for number, item in enumerate(detect_documents([file], me=me, within=file.parent)):
        if isinstance(item, DetectedDocument):
            if item.format is not None:
                return item.format, problem, hint
        elif item.status in ("failed", "partial") and item.errors and _DAMAGED.search(item.errors[0].message):
            problem, hint = item.errors[0].message, item.hint or ""
        if number >= MAX_DOCUMENTS:
            break
    return None, problem, hint


def database_size(path: Path) -> int:
    """The size of a file, with the write-ahead log of a database."""
    size = 0
    for file in (path, beside(path, "-wal")):
        try:
            size += file.stat().st_size
        except OSError:
            continue
    return size


def _unreadable(tool: str, path: Path, error: OSError, hint: str) -> FoundPlace:
    reason = f"can't be read: {error.strerror or error}"
    return FoundPlace(tool, path, path.parent, problem=reason, hint=hint or "allow your user to read it")


def _is_in_the_cloud(item: os.DirEntry[str]) -> bool:
    try:
        return is_in_the_cloud(item.stat(follow_symlinks=False))
    except OSError:
        return False


def _items(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    """The items of a folder in order, at most ``limit`` of them; none if it can't be read."""
    try:
        with os.scandir(folder) as items:
            return sorted(islice(items, max(0, limit)), key=lambda item: item.name)
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
