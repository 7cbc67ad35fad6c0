"""The files in watched folders: the result of reading each, and which ones wait to be read.

A file is recognised by its path, size and modification time; if size or time changed, by the digest of its bytes. The
queue is stored too, so that a restart loses nothing. A file whose messages were all erased is known by a keyed digest
of its path, so that it is not read again and its name is not kept.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from appliance.paths import is_there
from appliance.store import tombstones
from appliance.store.sql import fetch_int, placeholders
from appliance.timestamps import now
from appliance.types import Scope

FORGOTTEN = b"\0"
"""Begins the digest that replaces the path of a forgotten file; no path has this byte."""

NAMED_SQL = "substr(path, 1, 1) <> x'00'"
"""Leaves out forgotten files."""

State = Literal["queued", "read", "partial", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file's size in bytes and its modification time in nanoseconds since 1970."""

    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class WatchedEntry:
    """A file of the watched folder ``root``. ``stamp`` and ``digest`` describe its content as it was read, or as it
    waits to be; ``reason`` says why it failed, in part or completely, or has no messages; ``reader`` is the version of
    the program that read it, ``owner`` the user into whose memory it was read."""

    path: Path
    root: Path
    stamp: FileStamp
    state: State
    digest: bytes | None = None
    reason: str = ""
    reader: str = ""
    owner: str = ""


def entries(db: sqlite3.Connection, root: Path | None = None) -> Iterator[WatchedEntry]:
    """Yield every known file, or those of one folder, by path; without forgotten ones."""
    where, values = ("1", ()) if root is None else ("root = ?", (os.fsencode(root),))
    return _select(db, f"{NAMED_SQL} AND {where}", values)


def entry(db: sqlite3.Connection, path: Path) -> WatchedEntry | None:
    """Return the file with this path if it is known, else None."""
    return next(_select(db, "path = ?", (os.fsencode(path),)), None)


def forgotten_entries(db: sqlite3.Connection) -> Callable[[Path], WatchedEntry | None]:
    """Return a function that returns the entry of a forgotten file, None for any other file."""
    digest = tombstones.path_digester(db)
    if digest is None:
        return lambda path: None
    # Looked up as bytes: a digest that is read back as a path loses a slash at its end.
    return lambda path: next(_select(db, "path = ?", (FORGOTTEN + digest(os.fsencode(path)),)), None)


def forget(tx: sqlite3.Connection, paths: Sequence[bytes]) -> None:
    """Keep digests in place of the paths of files. What failed is not tried again, because its reason is not kept."""
    for path, digest in zip(paths, tombstones.path_tombstones(tx, paths), strict=True):
        tx.execute(
            "UPDATE OR REPLACE file SET path = ?, state = 'read', reason = '' WHERE path = ?",
            (FORGOTTEN + digest, path),
        )


def remember(tx: sqlite3.Connection, path: Path) -> None:
    """Drop the digest of a file whose name is kept again, because it has new messages."""
    tx.executemany(
        "DELETE FROM file WHERE path = ?",
        [(FORGOTTEN + digest,) for digest in tombstones.path_tombstones(tx, [os.fsencode(path)])],
    )


def without_source(db: sqlite3.Connection, scope: Scope | None, paths: Collection[str]) -> list[bytes]:
    """Return the paths of files from which no message is left.

    Args:
        db: The connection.
        scope: All such files that were read for this scope.
        paths: Only these files, or zips whose documents these are.
    """
    sources = {path for (path,) in db.execute("SELECT path FROM source")}
    found = []
    for path, owner in db.execute(f"SELECT path, owner FROM file WHERE {NAMED_SQL} AND state <> 'queued'"):
        name = os.fsdecode(path).encode("utf-8", "replace").decode()
        is_meant = scope is not None and owner in ("", f"{scope.user_id} {scope.namespace}")
        if (is_meant or _has_document(name, paths)) and not _has_document(name, sources):
            found.append(bytes(path))
    return found


def _has_document(file: str, paths: Collection[str]) -> bool:
    """Whether a file, or a document in it if it is a zip, is among paths."""
    return file in paths or any(path.startswith(f"{file}/") for path in paths)


def _select(db: sqlite3.Connection, where: str, values: Sequence[bytes]) -> Iterator[WatchedEntry]:
    columns = "path, root, size, mtime, state, digest, reason, reader, owner"
    for path, root, size, mtime, *rest in db.execute(f"SELECT {columns} FROM file WHERE {where} ORDER BY path", values):
        yield WatchedEntry(Path(os.fsdecode(path)), Path(os.fsdecode(root)), FileStamp(size, mtime), *rest)


def enqueue(tx: sqlite3.Connection, files: Iterable[WatchedEntry]) -> None:
    """Queue files for reading. The digest of what was read before is kept."""
    tx.executemany(
        "INSERT INTO file (path, root, size, mtime, state, reason, seen_at)"
        " VALUES (?1, ?2, ?3, ?4, 'queued', '', ?5) ON CONFLICT (path) DO UPDATE"
        " SET root = ?2, size = ?3, mtime = ?4, state = 'queued', reason = '', seen_at = ?5",
        [(os.fsencode(file.path), os.fsencode(file.root), file.stamp.size, file.stamp.mtime, now()) for file in files],
    )


def record_result(tx: sqlite3.Connection, file: WatchedEntry) -> None:
    """Store the result of reading a file."""
    tx.execute(
        "UPDATE file SET size = ?, mtime = ?, state = ?, digest = ?, reason = ?, reader = ?, owner = ?,"
        " read_at = ? WHERE path = ?",
        (file.stamp.size, file.stamp.mtime, file.state, file.digest, file.reason, file.reader, file.owner,
         now(), os.fsencode(file.path)),
    )  # fmt: skip


def note_read_with_others(tx: sqlite3.Connection, files: Iterable[tuple[str, str]]) -> None:
    """Note, of skipped files, that they were read together with others, and the reason. ``files`` are pairs of a path
    and the reason."""
    tx.executemany(
        "UPDATE file SET state = 'read', reason = ?2 WHERE path = ?1 AND state = 'skipped'",
        [(os.fsencode(path), reason) for path, reason in files],
    )


def delete_queued(tx: sqlite3.Connection, path: Path) -> None:
    """Remove a file from the queue that disappeared before it was read."""
    tx.execute("DELETE FROM file WHERE path = ? AND state = 'queued'", (os.fsencode(path),))


GONE = "gone"
"""Counts the files that were read and are not there any more, beside the states."""


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """Return the number of files of watched folders in each state, and of those that are ``GONE``."""
    return _counted(db.execute("SELECT path, state FROM file WHERE root <> x''"))


def _counted(rows: Iterable[tuple[bytes, State]]) -> dict[str, int]:
    """Count files by their states. A forgotten file has no path to look at."""
    states: Counter[str] = Counter()
    for path, state in rows:
        states[state if path.startswith(FORGOTTEN) or is_there(path) else GONE] += 1
    return {state: states[state] for state in (*get_args(State), GONE) if states[state]}


def states_in(db: sqlite3.Connection, place: Path) -> tuple[dict[str, int], int | None]:
    """Return the same of the files that lie in a folder, or are this file, without those that were imported by hand,
    and when one was last read (microseconds)."""
    encoded = os.fsencode(place)
    inside = encoded.rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
    rows = db.execute(
        "SELECT path, state, read_at FROM file WHERE root <> x'' AND (path = ? OR (path > ? AND path < ?))",
        (encoded, inside, inside[:-1] + bytes([inside[-1] + 1])),
    ).fetchall()
    times = [read_at for _, _, read_at in rows if read_at is not None]
    return _counted((path, state) for path, state, _ in rows), max(times, default=None)


def recently_read(db: sqlite3.Connection, scope: Scope, owner: str, since: int) -> int:
    """Return how many files of watched folders were read for a scope, completely or in part, since a time
    (microseconds). ``owner`` is the configured user, whose files name no user."""
    owners = owner_names(scope, owner)
    return fetch_int(
        db,
        f"SELECT count(*) FROM file WHERE state IN ('read', 'partial') AND read_at >= ? AND {NAMED_SQL}"
        f" AND root <> x'' AND owner IN ({placeholders(owners)})",
        (since, *owners),
    )


def owner_names(scope: Scope, owner: str) -> list[str]:
    """What the entries of a scope's files have as their owner; ``owner`` is the configured user."""
    return [f"{scope.user_id} {scope.namespace}", *([""] if scope == Scope(owner) else [])]
