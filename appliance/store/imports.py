"""What messages were imported from: each file, whether it was read completely, and the imports that are not finished.

An unfinished import is noted in the transaction that stores its first messages, with the arguments that it was asked
for with, and the note goes when its path was read to the end. So it stays after whatever broke the import off. Its path
is the bytes of the file system.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.paths import display_path
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, from_json, json_keys, to_json
from appliance.timestamps import now
from appliance.types import Scope

# A path that is this one, or lies in it: those that begin with "path/", which is the range to "path0".
_WITHIN_SQL = "(path = :path OR (path > :first AND path < :last))"


@dataclass(frozen=True, slots=True)
class ImportNote:
    """An import that was begun. ``path`` is what a person named, ``scope`` whose memory it is for, ``options`` the
    other arguments of the request, ``begun_at`` microseconds since 1970."""

    path: Path
    scope: Scope
    options: Mapping[str, Any]
    begun_at: int = 0

    @property
    def shown_path(self) -> str:
        """The path as text to print."""
        return display_path(self.path)


def upsert_source(tx: sqlite3.Connection, path: str, format: str, size: int) -> int:
    """Note that the file at ``path``, of ``size`` bytes, is being read; returns its key. ``finish_source`` says when it
    was read completely."""
    return fetch_int(
        tx,
        "INSERT INTO source (path, format, bytes, first_at, last_at, complete) VALUES (?1, ?2, ?3, ?4, ?4, 0)"
        " ON CONFLICT (path) DO UPDATE SET format = ?2, bytes = ?3, last_at = ?4, complete = 0 RETURNING id",
        (path, format, size, now()),
    )


def finish_source(tx: sqlite3.Connection, path: str) -> None:
    """Note that a file was read to its end and without errors, if it gave anything."""
    tx.execute("UPDATE source SET complete = 1 WHERE path = ? AND complete = 0", (path,))


def link_source(tx: sqlite3.Connection, source: int, session: int) -> None:
    """Note that a source has messages of a session."""
    tx.execute("INSERT OR IGNORE INTO source_session (session_id, source_id) VALUES (?, ?)", (session, source))


IN_PATH_SQL = "(f.path = :path OR (f.path > rtrim(:path, '/') || '/' AND f.path < rtrim(:path, '/') || '0'))"
"""A source ``f`` at a path, or in this zip or folder: paths that begin with "path/", which is the range to "path0"."""


def sources_within(db: sqlite3.Connection, path: str) -> dict[int, str]:
    """Return the source at a path, or those in this zip or folder, with their paths."""
    return dict(db.execute(f"SELECT f.id, f.path FROM source f WHERE {IN_PATH_SQL}", {"path": path}).fetchall())


def linked_sources(db: sqlite3.Connection, sessions: Iterable[int]) -> dict[int, str]:
    """Return the sources that have messages of any of these sessions, with their paths."""
    query = (
        "SELECT DISTINCT f.id, f.path FROM source_session l JOIN source f ON f.id = l.source_id"
        f" WHERE l.session_id IN {JSON_KEYS_SQL}"
    )
    return dict(db.execute(query, (json_keys(sessions),)).fetchall())


# --- imports that are not finished --------------------------------------------------------------------


def note_begun(tx: sqlite3.Connection, notes: Iterable[ImportNote]) -> None:
    """Note that these paths are being imported."""
    tx.executemany(
        "INSERT OR REPLACE INTO unfinished_import (path, user_id, namespace, begun_at, options) VALUES (?, ?, ?, ?, ?)",
        [
            (os.fsencode(note.path), note.scope.user_id, note.scope.namespace, now(), to_json(dict(note.options)))
            for note in notes
        ],
    )


def finish(tx: sqlite3.Connection, path: Path, scope: Scope) -> None:
    """Note that a path, and what lies in it, was read to its end for a scope."""
    tx.execute(
        f"DELETE FROM unfinished_import WHERE user_id = :user AND namespace = :namespace AND {_WITHIN_SQL}",
        _values(path, scope),
    )


def is_unfinished(db: sqlite3.Connection, path: Path, scope: Scope) -> bool:
    """Whether the import of a path, or of something in it, is not finished."""
    query = f"SELECT 1 FROM unfinished_import WHERE user_id = :user AND namespace = :namespace AND {_WITHIN_SQL}"
    return db.execute(f"{query} LIMIT 1", _values(path, scope)).fetchone() is not None


def give_up(tx: sqlite3.Connection, note: ImportNote) -> None:
    """Forget that an import was begun."""
    tx.execute(
        "DELETE FROM unfinished_import WHERE path = ? AND user_id = ? AND namespace = ?",
        (os.fsencode(note.path), note.scope.user_id, note.scope.namespace),
    )


def _values(path: Path, scope: Scope) -> dict[str, object]:
    encoded = os.fsencode(path)
    inside = encoded.rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
    last = inside[:-1] + bytes([inside[-1] + 1])
    return {"path": encoded, "first": inside, "last": last, "user": scope.user_id, "namespace": scope.namespace}


def unfinished(db: sqlite3.Connection) -> list[ImportNote]:
    """Return the imports that are not finished, also those that run now, in the order in which they began."""
    rows = db.execute(
        "SELECT path, user_id, namespace, options, begun_at FROM unfinished_import ORDER BY begun_at, path"
    )
    return [
        ImportNote(Path(os.fsdecode(path)), Scope(user, namespace), from_json(options), begun_at)
        for path, user, namespace, options, begun_at in rows
    ]


def forget(tx: sqlite3.Connection, all_of: Scope | None, paths: Collection[str]) -> set[str]:
    """Forget the unfinished imports of a whole scope, and those of which ``paths`` were the last files with a message.
    Returns their paths, as text."""
    left = [path for (path,) in tx.execute("SELECT path FROM source")]
    gone = set()
    for note in unfinished(tx):
        is_emptied = _has_any(note.shown_path, paths) and not _has_any(note.shown_path, left)
        if note.scope == all_of or is_emptied:
            give_up(tx, note)
            gone.add(note.shown_path)
    return gone


def _has_any(name: str, paths: Collection[str]) -> bool:
    """Whether one of the paths is this one, or lies in it."""
    return any(path == name or path.startswith((f"{name}/", f"{name}{os.sep}")) for path in paths)
