"""The files behind an erasure: those that a path stands for, and those that may still say what is erased."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from pathlib import PurePath

from appliance.memory import traces
from appliance.paths import is_there
from appliance.store import imports


def covered_files(path: str, within: Mapping[int, str], read: Set[str]) -> tuple[str, ...]:
    """Return the files that the path of a zip or a folder stands for.

    Args:
        path: The path as it was named; it stands for no other file if it is one itself.
        within: The files that were read, at the path or in it.
        read: The files from which something is erased.
    """
    return tuple(sorted({*within.values()} & read - {path}))


def existing_files(
    db: sqlite3.Connection, keys: Sequence[int], read: Collection[str], sessions: Iterable[int]
) -> tuple[str, ...]:
    """Return the files from which something is erased, and those that have messages of the same sessions, as far as
    they are still there and not empty; and watched files in which the texts stand. A zip stands for the files in it.

    Args:
        db: The connection.
        keys: The messages.
        read: The files from which something is erased, as they were named when they were read.
        sessions: The sessions of the messages.
    """
    named = {*read, *imports.linked_sources(db, sessions).values()}
    there = set(filter(None, map(file_with_text, named)))
    return tuple(sorted(there | {*traces.other_files_with(db, keys, named)}))


def file_with_text(path: str) -> str | None:
    """The file at a path, or that the path leads into, if it is not empty, as far as that can be told: of
    "chat.zip/_chat.txt", only the zip is a file."""
    for place in (path, *map(str, PurePath(path).parents)):
        try:
            found = os.stat(place)
        except (FileNotFoundError, NotADirectoryError):
            if is_there(place):  # a link to what is gone
                return None
        except OSError:  # a folder that may not be entered can have it
            return _zip_in(path) or path
        else:
            return place if stat.S_ISREG(found.st_mode) and found.st_size > 0 else None
    return None


def _zip_in(path: str) -> str | None:
    """The part of a path that has the name of a zip."""
    return next((str(parent) for parent in PurePath(path).parents if parent.name.lower().endswith(".zip")), None)
