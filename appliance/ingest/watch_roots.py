"""What is watched: folders and single files, which of their files are read, and how a changed file is told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import HomeError, UsageError
from appliance.formats import sqlite
from appliance.ingest.discovery.places import is_history
from appliance.ingest.litter import folder_reason, is_memory, path_litter
from appliance.store.watched_files import FileStamp, WatchedEntry

_READ_BYTES = 1 << 20
_DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3", ".vscdb")
_BESIDE_DATABASE = tuple(name + beside for name in _DATABASE_ENDINGS for beside in sqlite.SIDE_FILES)


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
        """Whether a path is never a chat, by its names, or because a folder that it is in is a program's own. What is
        named itself, or by a pattern, is none."""
        if self.is_file or self.patterns:
            return False
        inside = path.relative_to(self.path).parts
        folders = (Path(self.path, *inside[:count]) for count in range(1, len(inside) + 1))
        return bool(path_litter(inside, is_folder=path.is_dir())[0]) or any(map(folder_reason, folders))

    def selects(self, path: Path) -> bool:
        """Whether a file is one of those that are read."""
        if self.is_file:
            return path == self.path
        if self.patterns:
            return is_history(path.relative_to(self.path).as_posix(), self.patterns)
        return not is_beside_database(path)


def watch_root(path: Path, patterns_of: Callable[[Path], tuple[str, ...]]) -> WatchRoot:
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


def check_readable(folders: Sequence[Path]) -> None:
    """
    Raises:
        HomeError: One of these folders and files exists, and this process may not read it.
    """
    for folder in folders:
        access = os.R_OK | os.X_OK if folder.is_dir() else os.R_OK
        if folder.exists() and not os.access(folder, access):
            hint = "Check its permissions, or name another folder."
            raise HomeError("It can't be read: permission denied.", where=str(folder), hint=hint)


def check_not_a_memory(folders: Sequence[Path]) -> None:
    """
    Raises:
        UsageError: One of these folders is the home of a memory.
    """
    for folder in filter(is_memory, folders):
        hint = f"What you put into its inbox is read: {folder / 'inbox'}. To watch other files, name their folder."
        raise UsageError("It is a memory itself, whose own files are no chats.", where=str(folder), hint=hint)


def _includes(outer: Path, path: Path) -> bool:
    return outer in path.parents and not path_litter(path.relative_to(outer).parts, is_folder=path.is_dir())[0]


def entry_of(path: Path, root: Path, stat: os.stat_result) -> WatchedEntry:
    return WatchedEntry(path, root, _stamp(path, stat), "queued")


def stamp_of(path: Path) -> FileStamp | None:
    try:
        return _stamp(path, path.stat())
    except OSError:
        return None


def _stamp(path: Path, stat: os.stat_result) -> FileStamp:
    """The size and the time of the last change of a file; of a database, together with those of its log."""
    log = _log_of(path)
    if log is None:
        return FileStamp(stat.st_size, stat.st_mtime_ns)
    added = log.stat()
    return FileStamp(stat.st_size + added.st_size, max(stat.st_mtime_ns, added.st_mtime_ns))


def is_within(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def digest_of(path: Path) -> bytes:
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
