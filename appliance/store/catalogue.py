"""The files that were found in watched folders: what became of each, and which wait to be read.

A file is known by its path, its size and its time of change; by the digest of its bytes where those two
changed and perhaps nothing else did. What waits is a row like any other, so that a restart loses nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.moments import now

State = Literal["queued", "read", "partial", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the file system says of a file: bytes, and nanoseconds since 1970."""

    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a watched folder (``root``). ``facts`` and ``digest`` are of its content as it was read,
    or as it waits; ``reason`` says why it failed, in part or whole, or gives no messages; ``reader`` is the
    version of the program that said so, ``owner`` names whose memory it went into."""

    path: Path
    root: Path
    facts: Facts
    state: State
    digest: bytes | None = None
    reason: str = ""
    reader: str = ""
    owner: str = ""


def entries(db: sqlite3.Connection, root: Path | None = None) -> Iterator[Entry]:
    """Every known file, or those of one folder."""
    where, values = ("", ()) if root is None else (" WHERE root = ?", (os.fsencode(root),))
    for path, of, size, mtime, *rest in db.execute(
        f"SELECT path, root, size, mtime, state, digest, reason, reader, owner FROM file{where} ORDER BY path",
        values,
    ):
        yield Entry(_path(path), _path(of), Facts(size, mtime), *rest)


def entry(db: sqlite3.Connection, path: Path) -> Entry | None:
    """What is known of one file."""
    row = db.execute(
        "SELECT root, size, mtime, state, digest, reason, reader, owner FROM file WHERE path = ?",
        (os.fsencode(path),),
    ).fetchone()
    if row is None:
        return None
    root, size, mtime, *rest = row
    return Entry(path, _path(root), Facts(size, mtime), *rest)


def queue(tx: sqlite3.Connection, files: Iterable[Entry]) -> None:
    """Note that files wait to be read. The digest of what was read of them before is kept."""
    tx.executemany(
        "INSERT INTO file (path, root, size, mtime, state, reason, seen_at)"
        " VALUES (?1, ?2, ?3, ?4, 'queued', '', ?5) ON CONFLICT (path) DO UPDATE"
        " SET root = ?2, size = ?3, mtime = ?4, state = 'queued', reason = '', seen_at = ?5",
        [
            (os.fsencode(file.path), os.fsencode(file.root), file.facts.size, file.facts.mtime, now())
            for file in files
        ],
    )


def settle(tx: sqlite3.Connection, file: Entry) -> None:
    """Note what became of a file that was read."""
    tx.execute(
        "UPDATE file SET size = ?, mtime = ?, state = ?, digest = ?, reason = ?, reader = ?, owner = ?,"
        " read_at = ? WHERE path = ?",
        (
            file.facts.size,
            file.facts.mtime,
            file.state,
            file.digest,
            file.reason,
            file.reader,
            file.owner,
            now(),
            os.fsencode(file.path),
        ),
    )


def forget(tx: sqlite3.Connection, path: Path) -> None:
    """Drop a file that went away before it was read."""
    tx.execute("DELETE FROM file WHERE path = ? AND state = 'queued'", (os.fsencode(path),))


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """How many files there are in each state."""
    return dict(db.execute("SELECT state, count(*) FROM file GROUP BY state ORDER BY state"))


def failed(db: sqlite3.Connection, limit: int) -> list[tuple[str, str]]:
    """Paths, as text to show, and reasons of files that could not be read, or not whole."""
    rows = db.execute(
        "SELECT path, reason FROM file WHERE state IN ('failed', 'partial') ORDER BY read_at DESC, path LIMIT ?",
        (limit,),
    )
    return [(bytes(path).decode("utf-8", "replace"), reason) for path, reason in rows]


def _path(stored: bytes) -> Path:
    return Path(os.fsdecode(stored))
