"""Files that could not be read completely, found by the watcher or imported by hand.

A watched file is an entry of ``watched_files``, whatever became of it. One that a person imported by hand is an entry
only as long as something is wrong with it, and its folder is empty. What a person dismissed stays, as skipped, with
what was wrong: it can be asked for, and is no trouble any more. Whether a file is still there is looked up, not stored.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from appliance.paths import display_path
from appliance.store.watched_files import NAMED_SQL, WatchedEntry
from appliance.timestamps import iso_from_microseconds, now

BY_HAND = Path()
"""The folder of a file that was imported by hand."""

BY_HAND_SQL = "root = x''"

DISMISSED = "dismissed: "
"""Begins the reason of a file that a person dismissed; what was wrong follows."""

_FAILED_SQL = "state IN ('failed', 'partial')"
_ANY_SQL = f"({_FAILED_SQL} OR state = 'skipped' AND substr(reason, 1, {len(DISMISSED)}) = '{DISMISSED}')"


@dataclass(frozen=True, slots=True)
class StoredProblem:
    """A file that was not read completely. ``root`` is the watched folder, or ``BY_HAND``; ``read_at`` ISO 8601."""

    path: Path
    root: Path
    state: str
    reason: str
    read_at: str | None
    owner: str

    @property
    def is_dismissed(self) -> bool:
        return self.reason.startswith(DISMISSED)

    @property
    def shown_path(self) -> str:
        """The path as text to print."""
        return display_path(self.path)


def stored(db: sqlite3.Connection, *, dismissed: bool = False) -> list[StoredProblem]:
    """Return the files that were not read completely, the latest read first; with ``dismissed`` also those that a
    person dismissed."""
    which = _ANY_SQL if dismissed else _FAILED_SQL
    rows = db.execute(
        "SELECT path, root, state, reason, read_at, owner FROM file"
        f" WHERE {NAMED_SQL} AND {which} ORDER BY read_at DESC, path"
    )
    return [
        StoredProblem(
            Path(os.fsdecode(path)), Path(os.fsdecode(root)), state, reason,
            None if read_at is None else iso_from_microseconds(read_at), owner,
        )
        for path, root, state, reason, read_at, owner in rows
    ]  # fmt: skip


def note_by_hand(tx: sqlite3.Connection, file: WatchedEntry) -> None:
    """Note that a file which was imported by hand was not read completely. What the watcher read well, or is about to
    read, stays as it is."""
    tx.execute(
        "INSERT INTO file (path, root, owner, size, mtime, state, reason, reader, seen_at, read_at)"
        " VALUES (?1, x'', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT (path) DO UPDATE"
        " SET state = ?5, reason = ?6, read_at = ?8 WHERE state IN ('failed', 'partial', 'skipped')",
        (os.fsencode(file.path), file.owner, file.stamp.size, file.stamp.mtime, file.state, file.reason, file.reader,
         now()),
    )  # fmt: skip


def settle(tx: sqlite3.Connection, path: Path, owner: str) -> None:
    """Note that a file was read completely for an owner: nothing is wrong with it any more."""
    values = (os.fsencode(path), owner)
    tx.execute(f"DELETE FROM file WHERE path = ? AND owner = ? AND {BY_HAND_SQL}", values)
    tx.execute(f"UPDATE file SET state = 'read', reason = '' WHERE path = ? AND owner = ? AND {_ANY_SQL}", values)


def dismiss(tx: sqlite3.Connection, is_meant: Callable[[Path], bool]) -> list[StoredProblem]:
    """Dismiss the files that are meant; returns them. The watcher reads one again only once it has changed."""
    found = [problem for problem in stored(tx) if is_meant(problem.path)]
    tx.executemany(
        "UPDATE file SET state = 'skipped', reason = ? || reason WHERE path = ?",
        [(DISMISSED, os.fsencode(problem.path)) for problem in found],
    )
    return found


def lies_in(path: Path, places: Collection[Path]) -> bool:
    """Whether a path is one of these files and folders, or lies in one of them."""
    return any(place == path or place in path.parents for place in places)
