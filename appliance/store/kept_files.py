"""Copies of attachments in the home, so that they open when their export is gone: one file for each content.

The table ``attachment`` says which messages have a copy (``kept``), the name of a file is the SHA-256 of its content. A
file gets its name in the transaction that notes it, and is removed in one that sees no message with it: a crash leaves
at most a file too many, which ``purge`` removes.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import BinaryIO

from appliance import paths
from appliance.lazy_dataclasses import dataclass
from appliance.store import room
from appliance.store.database import Database
from appliance.store.sql import fetch_int

BLOCK_BYTES = 1 << 20

_NAME = re.compile(r"[0-9a-f]{64}")
_copying = threading.Lock()
"""Held while a file is copied, whose temporary file ``purge`` leaves alone."""


@dataclass(frozen=True, slots=True)
class KeptAttachment:
    """An attachment to keep: the number ``number`` of a message."""

    message: int
    number: int
    size: int
    digest: str | None


def path_of(folder: Path, digest: str) -> Path:
    """Return where the copy of a content lies, whether it is there or not."""
    return folder / digest[:2] / digest


def unkept(db: sqlite3.Connection, source: int, *, again: bool = False) -> Iterator[tuple[KeptAttachment, str]]:
    """Yield the attachments of a source of which the home has no copy, with their paths; those whose text was forgotten
    only with ``again``."""
    rows = db.execute(
        "SELECT message_id, number, size, digest, path FROM attachment WHERE source_id = ? AND kept = 0"
        " AND path IS NOT NULL AND size IS NOT NULL AND (? OR text_state IS NOT 'forgotten')"
        " ORDER BY message_id, number",
        (source, again),
    )
    for *values, path in rows.fetchall():
        yield KeptAttachment(*values), path


def keep(
    database: Database,
    folder: Path,
    attachment: KeptAttachment,
    open_file: Callable[[], AbstractContextManager[BinaryIO]],
) -> int:
    """Copy the file of an attachment into the home, unless it is there. Returns the bytes that were written.

    Raises:
        DiskFull: There is no room for it.
        OSError, zipfile.BadZipFile: It can't be read or written.
    """
    if attachment.digest is not None and path_of(folder, attachment.digest).is_file():
        with database.write() as tx:
            if path_of(folder, attachment.digest).is_file():
                _note(tx, attachment, attachment.digest)
                return 0
    room.require_room(folder.parent, attachment.size, "keep a copy of an attachment")
    with _copying:
        folder.mkdir(mode=paths.FOLDER_MODE, exist_ok=True)
        temporary = folder / "copy.new"
        hashed, size = hashlib.sha256(), 0
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, paths.FILE_MODE)
        try:
            with os.fdopen(descriptor, "wb") as copy, open_file() as file:
                while block := file.read(BLOCK_BYTES):
                    hashed.update(block)
                    size += copy.write(block)
                copy.flush()
                os.fsync(copy.fileno())
            digest = hashed.hexdigest()
            with database.write() as tx:
                target = path_of(folder, digest)
                target.parent.mkdir(mode=paths.FOLDER_MODE, exist_ok=True)
                os.replace(temporary, target)
                paths.sync_folder(target.parent)
                _note(tx, attachment, digest)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
    return size


def _note(tx: sqlite3.Connection, attachment: KeptAttachment, digest: str) -> None:
    """Note that an attachment is kept. One that had no digest because of its size has one now."""
    tx.execute(
        "UPDATE attachment SET kept = 1, digest = ?, text_state = CASE text_state WHEN 'forgotten' THEN NULL"
        " ELSE text_state END WHERE message_id = ? AND number = ? AND (digest IS NULL OR digest = ?)",
        (digest, attachment.message, attachment.number, digest),
    )


def purge(database: Database, folder: Path) -> int:
    """Overwrite and remove the copies that no message has any more. Returns how many there were."""
    if not folder.is_dir():
        return 0
    removed = 0
    with _copying, database.write() as tx:
        for path in paths.files(folder):
            is_kept = _NAME.fullmatch(path.name) and fetch_int(
                tx, "SELECT count(*) FROM attachment WHERE digest = ? AND kept = 1", (path.name,)
            )
            if not is_kept:
                _overwrite(path)
                path.unlink()
                paths.sync_folder(path.parent)
                removed += 1
    return removed


def disagreements(db: sqlite3.Connection, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids of kept attachments whose copy is missing or damaged, each with the reason. Reads all copies."""
    rows = db.execute(
        "SELECT digest, min(message_id || '.' || (number + 1)) FROM attachment WHERE kept = 1 GROUP BY digest"
    )
    for digest, where in rows.fetchall():
        path = path_of(folder, digest)
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            yield f"m{where}", f"the copy of its file can't be read ({error.strerror})"
            continue
        if found != digest:
            yield f"m{where}", "the copy of its file is damaged"


def _overwrite(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        left, at = os.fstat(descriptor).st_size, 0
        while left:
            written = os.pwrite(descriptor, bytes(min(left, BLOCK_BYTES)), at)
            at, left = at + written, left - written
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
