"""Checks a repository: whether all that its backups need is there, and on request whether all of it is undamaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from appliance.errors import StoreCorrupt
from appliance.store.backup import repository
from appliance.store.backup.encryption import Keys
from appliance.store.backup.manifest import Manifest, StoredPack
from appliance.store.backup.packs import FRAME_BLOCKS
from appliance.store.backup.repository import NO_KEYS, Repository
from appliance.store.backup.storage import BACKUPS, MARKER, PACKS
from appliance.types import BackupCheck, BackupInfo, BackupProblem

OnPacks = Callable[[int, int], None]
"""Called with the packs that are checked and those that are left."""


def list_backups(source: Path, keys: Keys = NO_KEYS) -> list[BackupInfo]:
    """Return the backups in a folder or a file, the latest first.

    Raises:
        NotFound: There are none.
        StoreCorrupt: A manifest is damaged.
    """
    with repository.opened(source.expanduser().absolute(), keys) as opened:
        return [opened.manifest(id).info() for id in reversed(opened.backup_ids())]


def check(
    source: Path, *, read_data: bool = False, keys: Keys = NO_KEYS, progress: OnPacks = lambda done, left: None
) -> BackupCheck:
    """Check the manifests and that every pack is there with its size; with ``read_data``, also read every block.

    Raises:
        NotFound: There are no backups.
    """
    with repository.opened(source.expanduser().absolute(), keys) as opened:
        problems: list[BackupProblem] = []
        ids = opened.backup_ids()
        needed_by: dict[str, tuple[StoredPack, list[str]]] = {}
        for id in ids:
            try:
                manifest = opened.manifest(id)
                _check_extents(manifest)
            except StoreCorrupt as error:
                problems.append(BackupProblem(f"{BACKUPS}/{id}", str(error.args[0]), (id,)))
                continue
            for pack in manifest.packs:
                needed_by.setdefault(pack.name, (pack, []))[1].append(id)
        size = 0
        for number, (pack, backups) in enumerate(needed_by.values(), 1):
            if reason := _pack_problem(opened, pack, read_data):
                problems.append(BackupProblem(f"{PACKS}/{pack.name}", reason, tuple(backups)))
            size += pack.bytes
            progress(number, len(needed_by) - number)
        if not ids and opened.storage.names(PACKS) and opened.storage.size(MARKER) is None:
            problems.append(BackupProblem(BACKUPS, "The manifests of all backups are missing.", ()))
    return BackupCheck(len(ids), len(needed_by), size, read_data, tuple(problems))


def _check_extents(manifest: Manifest) -> None:
    """Check that every block of every file has a place in a pack."""
    for file in manifest.files:
        for number, first, count in file.extents:
            if not (
                0 <= number < len(manifest.packs) and first >= 0 and first + count <= manifest.packs[number].blocks
            ):
                raise StoreCorrupt("The manifest names blocks that no pack has.")


def _pack_problem(opened: Repository, pack: StoredPack, read_data: bool) -> str:
    """What is wrong with a pack; nothing if it is whole."""
    size = opened.storage.size(f"{PACKS}/{pack.name}")
    if size is None:
        return "It is missing."
    if size != pack.bytes:
        return f"It has {size:,} bytes instead of {pack.bytes:,}."
    if read_data:
        try:
            found = opened.pack(pack)
            for frame in range(-(-found.blocks // FRAME_BLOCKS)):
                for _ in found.frame_blocks(frame):
                    pass
        except StoreCorrupt as error:
            return str(error.args[0])
    return ""
