"""Where backups of a home were made, as the home knows it (``backups/list.json``): to name them when something is
damaged, and when something is forgotten that they still hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from appliance.errors import NotFound, StoreError
from appliance.paths import FOLDER_MODE, Home, write_file_atomically
from appliance.runtime.decoding import decode
from appliance.store.backup import storage
from appliance.store.backup.backup_ids import is_id, time_of
from appliance.store.room import file_errors
from appliance.timestamps import iso_from_microseconds
from appliance.types import KnownBackups

LIST = "list.json"
BEFORE_MIGRATION = "before-migration"
"""The repository in a home with a backup of its state before the last migration."""


class _Entry(msgspec.Struct, frozen=True):
    """A repository by its path and its id, and the ids of the backups in it that were there when it was last seen."""

    path: str
    repository: str
    backups: list[str]


def note(home: Home, path: Path, repository: str, backups: Sequence[str]) -> None:
    """Note the backups that a repository has now."""
    entries = [one for one in _read(home) if one.path != str(path)]
    _write(home, [*entries, _Entry(str(path), repository, list(backups))])


def known(home: Home) -> list[KnownBackups]:
    """Return where backups were made, the latest first. What can be reached is looked at again: a process that was
    killed may have made or replaced a backup without noting it."""
    found = []
    for entry in _read(home):
        present = _present_ids(Path(entry.path))
        if ids := entry.backups if present is None else present:
            times = tuple(iso_from_microseconds(time_of(id)) for id in ids)
            found.append(KnownBackups(entry.path, times, present is not None))
    return sorted(found, key=lambda one: one.times[-1], reverse=True)


def _present_ids(path: Path) -> list[str] | None:
    """The ids of the backups in a folder or a file; None if it can't be reached or read."""
    with suppress(NotFound, StoreError, OSError), storage.reading(path) as entries:
        if entries.size(storage.REPOSITORY) is not None:
            return [name for name in entries.names(storage.BACKUPS) if is_id(name)]
    return None


@dataclass(frozen=True, slots=True)
class LatestBackup:
    """A backup by its folder or file and its time (ISO 8601), and whether it can be found there now: it may have been
    deleted, or its disk may not be connected."""

    path: str
    at: str
    is_there: bool


def latest(home: Home) -> list[LatestBackup]:
    """Return the latest backup outside the home, as the home noted it; if it is not there, then also the latest that
    is."""
    own = str(home.backups / BEFORE_MIGRATION)
    found: list[tuple[str, str, bool]] = []
    for one in _read(home):
        if one.path != own and one.backups:
            noted, present = max(one.backups), _present_ids(Path(one.path)) or []
            found += [(max(present), one.path, True)] if present else []
            found += [] if noted in present else [(noted, one.path, False)]
    found.sort(reverse=True)
    there = [one for one in found if one[2]]
    meant = found[:1] if found[:1] == there[:1] else [*found[:1], *there[:1]]
    return [LatestBackup(path, iso_from_microseconds(time_of(id)), is_there) for id, path, is_there in meant]


def is_lost(found: Sequence[LatestBackup]) -> bool:
    """Whether none of the backups that ``latest`` returns is there, and the latest was deleted."""
    return bool(found) and not any(one.is_there for one in found) and _is_deleted(Path(found[0].path))


def _is_deleted(path: Path) -> bool:
    """Whether a folder or file is not there though its disk is: an empty folder may be where a disk belongs."""
    with suppress(OSError):
        return not os.path.lexists(path) and next(path.parent.iterdir(), None) is not None
    return False


def holding(home: Home, forgotten_at: str) -> list[str]:
    """Return the paths of repositories with a backup from before something was forgotten, each with the time of its
    latest such backup. One that can't be reached now is named, one that was deleted is not."""
    before = datetime.fromisoformat(forgotten_at)
    found = []
    for one in known(home):
        times = [time for time in one.times if datetime.fromisoformat(time) <= before]
        if times and (one.is_reachable or not _is_deleted(Path(one.path))):
            found.append(f"{one.path} ({times[-1][:10]}{'' if one.is_reachable else ', not in reach now'})")
    return found


def remove_own(home: Home) -> None:
    """Remove the backup in the home itself: something is forgotten that it may hold."""
    own = home.backups / BEFORE_MIGRATION
    if own.exists():
        shutil.rmtree(own)
    entries = _read(home)
    others = [one for one in entries if one.path != str(own)]
    if len(others) < len(entries):  # also where a process ended between the two
        _write(home, others)


def restore_hint(home: Home) -> str:
    """Return what to do when the database is damaged, as a part of a sentence: restore the latest backup that can be
    reached, named if one is known."""
    try:
        backups = sorted(known(home), key=lambda one: one.is_reachable, reverse=True)
    except (OSError, ValueError):  # this stands in the error of a damaged home
        backups = []
    if not backups:
        return "restore a backup"
    return f"restore the backup of {backups[0].times[-1][:10]} ('appliance restore {backups[0].path} --home NEW')"


def _write(home: Home, entries: Sequence[_Entry]) -> None:
    with file_errors(home.backups / LIST, "written"):
        home.backups.mkdir(mode=FOLDER_MODE, exist_ok=True)
        write_file_atomically(home.backups / LIST, msgspec.json.encode(entries))


def _read(home: Home) -> list[_Entry]:
    try:
        entries = decode((home.backups / LIST).read_bytes(), list[_Entry])
    except (OSError, msgspec.DecodeError):  # it only helps to find backups, which are there without it
        return []
    return [msgspec.structs.replace(one, backups=[id for id in one.backups if is_id(id)]) for one in entries]
