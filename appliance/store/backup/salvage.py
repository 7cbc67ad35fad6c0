"""What can be read of a damaged backup.

Backups of a folder share their packs, so that one damaged block may be in all of them. Each block has a digest: those
that are whole are written to their places, and zeros stand for the others. ``appliance.engine.recovery`` then reads the
database as a damaged one.
"""

from __future__ import annotations

import os
from pathlib import Path

from appliance.errors import NotFound, StoreCorrupt, StoreError
from appliance.paths import DATABASE, FILE_MODE, FOLDER_MODE, Home
from appliance.store import room
from appliance.store.backup import repository, storage
from appliance.store.backup.encryption import Keys
from appliance.store.backup.manifest import Manifest, StoredFile
from appliance.store.backup.packs import BLOCK_BYTES, Pack
from appliance.store.backup.repository import NO_KEYS, Repository
from appliance.store.backup.restoring import by_frame, checked_path, write_at
from appliance.types import LostPart


def is_repository(path: Path) -> bool:
    """Whether there are backups in a folder or a file."""
    try:
        with storage.reading(path) as entries:
            return entries.size(storage.REPOSITORY) is not None
    except (NotFound, StoreError):  # a database, or nothing that can be read
        return False


def write_readable(source: Path, home: Home, id: str | None = None, *, keys: Keys = NO_KEYS) -> list[LostPart]:
    """Write what can be read of the database, the settings and the attachments in a backup.

    Args:
        source: The folder or the file with the backup.
        home: An existing, empty folder.
        id: The id of the backup or its beginning; None for the latest one.
        keys: To decrypt it.

    Returns:
        Each file with damaged blocks.

    Raises:
        NotFound: There is no such backup.
        StoreCorrupt: The list of what is in it is damaged.
        DiskFull: The disk has no room for it.
        StoreError: The backup can't be read.
    """
    with repository.opened(source, keys) as opened:
        manifest = opened.manifest(opened.find(id))
        kept = (DATABASE, home.config.name, f"{home.attachments.name}/")
        wanted = [file for file in manifest.files if file.path.startswith(kept)]
        room.require_room(home.root, sum(file.bytes for file in wanted), "read the backup")
        lost = [_write(opened, manifest, file, home.root / checked_path(file.path, source)) for file in wanted]
    return [part for part in lost if part is not None]


def _write(opened: Repository, manifest: Manifest, file: StoredFile, path: Path) -> LostPart | None:
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    damaged, number, pack = 0, -1, None
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    try:
        os.ftruncate(descriptor, file.bytes)
        for pack_number, frame, blocks in by_frame(file):
            if pack_number != number:
                number, pack = pack_number, _readable_pack(opened, manifest, pack_number)
            found = dict(pack.readable_blocks(frame)) if pack is not None else {}
            for block, positions in blocks.items():
                damaged += len(positions) if block not in found else 0
                for position in positions if block in found else ():
                    at = position * BLOCK_BYTES
                    write_at(descriptor, found[block][: file.bytes - at], at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not damaged:
        return None
    return LostPart(file.path, f"{damaged * BLOCK_BYTES:,} of {file.bytes:,} bytes are damaged in the backup.")


def _readable_pack(opened: Repository, manifest: Manifest, number: int) -> Pack | None:
    """A pack, whose blocks may be damaged; None if nothing of it can be read."""
    try:
        return opened.damaged_pack(manifest.packs[number])
    except StoreCorrupt:
        return None
