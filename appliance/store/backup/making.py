"""Makes a backup: the files of a snapshot are compared with the previous backup, and new blocks go into new packs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance import __version__
from appliance.errors import UsageError
from appliance.paths import Home
from appliance.store.backup import catalogue, packs, previous, repository, retention, snapshot, storage
from appliance.store.backup import manifest as manifests
from appliance.store.backup.backup_ids import next_id, time_of
from appliance.store.backup.encryption import Keys
from appliance.store.backup.manifest import FORMAT_VERSION, Manifest
from appliance.store.backup.packs import BLOCK_BYTES, DIGEST_BYTES, FRAME_BLOCKS, PackWriter
from appliance.store.backup.previous import FileBlocks, PreviousBackup
from appliance.store.backup.repository import NO_KEYS, Repository
from appliance.store.backup.retention import RetentionPolicy
from appliance.store.backup.snapshot import Snapshot, SnapshotFile
from appliance.store.backup.storage import MARKER, PACKS
from appliance.types import BackupReport

SEGMENT_BYTES = FRAME_BLOCKS * BLOCK_BYTES
"""Bytes that are read and compared at once."""

NO_BLOCKS = FileBlocks(b"", np.zeros((0, 2), np.int64))

OnBlocks = Callable[[int, int], None]
"""Called with the blocks that are done and those that are left."""


def make(
    home: Home,
    target: Path,
    *,
    keys: Keys = NO_KEYS,
    keep: RetentionPolicy | None = None,
    forgotten_at: int | None = None,
    is_read_only: bool = False,
    progress: OnBlocks = lambda done, left: None,
) -> BackupReport:
    """Back up a home into a folder or a file.

    The caller keeps erasures out. Everything else may go on.

    Args:
        home: The home.
        target: The folder or the file.
        keys: To encrypt a new repository, and to read an encrypted one, which ``keep`` needs.
        keep: Which backups to keep; None to keep all.
        forgotten_at: When something was last forgotten, in microseconds since 1970: see ``retention.remove_others``.
        is_read_only: Whether nothing can be written in the home. It then does not know of the backup.
        progress: Called with the blocks that are done and those that are left.

    Raises:
        UsageError: The target lies in the home.
        StoreError: The target can't be written, or the home can't be read.
    """
    began = time.perf_counter()
    target = target.expanduser().absolute()
    if home.root.resolve() in (target.resolve(), *target.resolve().parents) and home.backups not in target.parents:
        hint = "Name a folder on another disk, so that the backup outlives the memory."
        raise UsageError("A backup can't lie within the memory itself.", where=str(target), hint=hint)
    if not target.parent.is_dir() and home.backups not in target.parents:
        hint = "Make it first, check the spelling, or connect its disk."
        raise UsageError("The folder for the backup does not exist.", where=str(target.parent), hint=hint)
    if keep is not None and storage.is_archive(target):
        raise UsageError("--keep needs a folder: a file holds one backup.", where=str(target))
    with repository.opened_to_write(target, keys) as written:
        if keep is not None and written.backup_ids():
            written.manifest(written.backup_ids()[-1])  # an encrypted one can be read, before anything is written
        _remove_unfinished(written)
        if not storage.is_archive(target) and not is_read_only:
            # Before there is a backup: a receipt has to name it also if this process ends before it comes to the end.
            catalogue.note(home, target, written.head.id, written.backup_ids())
        with snapshot.take(home, is_read_only=is_read_only) as taken:
            manifest, digests = _write(written, taken, previous.find(home, written), progress)
        removed: Sequence[str] = ()
        if keep is not None:
            removed = retention.remove_others(written, keep, forgotten_at)
            manifest = written.manifest(manifest.id)  # its blocks may have moved
        if not storage.is_archive(target) and not is_read_only:
            previous.remember(home, written, manifest, digests)
        if not is_read_only:
            catalogue.note(home, target, written.head.id, written.backup_ids())
    return BackupReport(
        path=str(target), id=manifest.id, at=manifest.info().at, messages=manifest.messages,
        bytes=manifest.info().bytes, new_bytes=manifest.new_bytes, seconds=time.perf_counter() - began,
        removed=tuple(removed),
    )  # fmt: skip


def make_before_migration(home: Home) -> None:
    """Back up a home whose database is about to be migrated, in the home itself. The backup before is removed.

    Raises:
        StoreError: It can't be written. The database was not migrated.
    """
    make(home, home.backups / catalogue.BEFORE_MIGRATION, keep=RetentionPolicy(()))


def _remove_unfinished(written: Repository) -> None:
    """Remove the packs of a backup that was interrupted, if there was one."""
    if written.storage.size(MARKER) is None:
        return
    id = written.storage.read(MARKER).decode()
    if id not in written.backup_ids():
        for name in written.storage.names(PACKS):
            if name.startswith(id):
                written.storage.remove(f"{PACKS}/{name}")
    written.storage.remove(MARKER)


def _write(
    written: Repository, taken: Snapshot, before: PreviousBackup, progress: OnBlocks
) -> tuple[Manifest, dict[str, bytes]]:
    """Write the packs and the manifest of a backup. Returns the manifest, and the digests of each file's blocks."""
    ids = written.backup_ids()
    id, at = next_id(time_of(ids[-1]) if ids else 0)
    written.storage.write(MARKER, id.encode())
    all_packs = list(before.packs)

    def store_pack(data: bytes, blocks: int) -> None:
        all_packs.append(written.write_pack(f"{id}-{len(all_packs)}", data, blocks))

    writer = PackWriter(store_pack, first_pack=len(all_packs))
    total = left = sum(manifests.block_count(file.bytes) for file in taken.files)

    def step(blocks: int) -> None:
        nonlocal left
        left = max(0, left - blocks)  # a file may have grown
        progress(total - left, left)

    sizes, found = {}, {}
    for file in taken.files:
        sizes[file.path], found[file.path] = _write_file(file, before.files.get(file.path, NO_BLOCKS), writer, step)
    writer.finish()
    packs, files = manifests.with_used_packs(
        all_packs, {path: (sizes[path], blocks.places) for path, blocks in found.items()}
    )
    manifest = Manifest(
        FORMAT_VERSION, id, at, __version__, taken.schema, taken.messages,
        new_bytes=sum(pack.bytes for pack in all_packs[len(before.packs) :]), packs=packs, files=files,
    )  # fmt: skip
    written.write_manifest(manifest)
    written.storage.remove(MARKER)
    return manifest, {path: blocks.digests for path, blocks in found.items()}


def _write_file(
    file: SnapshotFile, known: FileBlocks, writer: PackWriter, step: Callable[[int], None]
) -> tuple[int, FileBlocks]:
    """Add the blocks of a file that its previous form does not have. Returns its size and all of its blocks."""
    digests = bytearray()
    places: list[NDArray[np.int64]] = []
    with file.source.open("rb") as source:
        # Rows that are appended from now on belong to the next backup.
        left = size = os.fstat(source.fileno()).st_size
        while left and (segment := source.read(min(left, SEGMENT_BYTES))):
            left -= len(segment)
            segment += bytes(-len(segment) % BLOCK_BYTES)
            blocks = [segment[at : at + BLOCK_BYTES] for at in range(0, len(segment), BLOCK_BYTES)]
            found = [packs.digest(block) for block in blocks]
            first, joined = len(digests) // DIGEST_BYTES, b"".join(found)
            if known.digests[len(digests) :][: len(joined)] == joined:
                places.append(known.places[first : first + len(found)])
            else:
                places.append(np.array([
                    known.places[number]
                    if known.digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES] == one
                    else writer.add(block, one)
                    for number, (one, block) in enumerate(zip(found, blocks, strict=True), first)
                ]))  # fmt: skip
            digests += joined
            step(len(found))
    return size - left, FileBlocks(bytes(digests), np.concatenate([NO_BLOCKS.places, *places]))
