"""Makes a backup: the files of a snapshot are compared with the previous backup, and new blocks go into new packs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance import __version__
from appliance.errors import StoreCorrupt, UsageError
from appliance.paths import Home
from appliance.store.backup import manifest as manifests
from appliance.store.backup import packs, repository, snapshot
from appliance.store.backup.manifest import FORMAT_VERSION, FileBlocks, Manifest, Previous, StoredFile, StoredPack
from appliance.store.backup.packs import BLOCK_BYTES, DIGEST_BYTES, FRAME_BLOCKS, PackWriter
from appliance.store.backup.repository import Repository
from appliance.store.backup.snapshot import Snapshot, SnapshotFile
from appliance.store.backup.storage import PACKS
from appliance.timestamps import from_microseconds, now, to_microseconds
from appliance.types import BackupReport

MARKER = "unfinished"
"""The entry that names the backup that is being made. If its process ends, the next one removes its packs."""

ID_FORMAT = "%Y%m%dT%H%M%S.%fZ"
"""The id of a backup: its time in UTC, so that ids sort by time."""

SEGMENT_BYTES = FRAME_BLOCKS * BLOCK_BYTES
"""Bytes that are read and compared at once."""

NO_BLOCKS = FileBlocks(b"", np.zeros((0, 2), np.int64))

OnBlocks = Callable[[int, int], None]
"""Called with the blocks that are done and those that are left."""


def make(home: Home, target: Path, progress: OnBlocks = lambda done, left: None) -> BackupReport:
    """Back up a home into a folder or a file.

    The caller keeps erasures out. Everything else may go on.

    Raises:
        UsageError: The target lies in the home.
        StoreError: The target can't be written, or the home can't be read.
    """
    began = time.perf_counter()
    target = target.expanduser().absolute()
    if home.root.resolve() in (target.resolve(), *target.resolve().parents) and home.backups not in target.parents:
        hint = "Name a folder on another disk, so that the backup outlives the memory."
        raise UsageError("A backup can't lie within the memory itself.", where=str(target), hint=hint)
    with repository.opened_to_write(target) as written, snapshot.take(home) as taken:
        _remove_unfinished(written)
        manifest = _write(written, taken, _previous(written), progress)
    return BackupReport(
        path=str(target), id=manifest.id, at=manifest.info().at, messages=manifest.messages,
        bytes=manifest.info().bytes, new_bytes=manifest.new_bytes, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _previous(written: Repository) -> Previous:
    """The latest backup that can be read; an empty one if there is none."""
    for id in reversed(written.backup_ids()):
        with suppress(StoreCorrupt):
            manifest = written.manifest(id)
            return manifests.previous(manifest, [written.pack(pack).digests for pack in manifest.packs])
    return Previous()


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


def _write(written: Repository, taken: Snapshot, previous: Previous, progress: OnBlocks) -> Manifest:
    id, at = _next_id(written)
    written.storage.write(MARKER, id.encode())
    all_packs = list(previous.packs)

    def store_pack(data: bytes, blocks: int) -> None:
        all_packs.append(written.write_pack(f"{id}-{len(all_packs)}", data, blocks))

    writer = PackWriter(store_pack, first_pack=len(all_packs))
    left = [sum(manifests.block_count(file.bytes) for file in taken.files)]
    total = left[0]

    def step(blocks: int) -> None:
        left[0] = max(0, left[0] - blocks)
        progress(total - left[0], left[0])

    files = {file.path: _write_file(file, previous.files.get(file.path), writer, step) for file in taken.files}
    writer.finish()
    needed, stored_files = _renumbered(all_packs, files)
    manifest = Manifest(
        FORMAT_VERSION, id, at, __version__, taken.schema, taken.messages,
        new_bytes=sum(pack.bytes for pack in all_packs[len(previous.packs) :]), packs=needed, files=stored_files,
    )  # fmt: skip
    written.write_manifest(manifest)
    written.storage.remove(MARKER)
    return manifest


def _next_id(written: Repository) -> tuple[str, int]:
    """The id of a new backup, which is its time, and the time. Ids sort after earlier ones whatever the clock does."""
    at = now()
    if ids := written.backup_ids():
        at = max(at, time_of(ids[-1]) + 1)
    return f"{from_microseconds(at):{ID_FORMAT}}", at


def time_of(id: str) -> int:
    """Return the time of a backup in microseconds since 1970, as its id says."""
    return to_microseconds(datetime.strptime(id, ID_FORMAT).replace(tzinfo=UTC))


def _write_file(
    file: SnapshotFile, before: FileBlocks | None, writer: PackWriter, step: Callable[[int], None]
) -> tuple[int, FileBlocks]:
    """Add the blocks of a file that its previous form does not have. Returns its size and the places of all blocks."""
    digests = bytearray()
    places: list[NDArray[np.int64]] = []
    known = before or NO_BLOCKS
    with file.source.open("rb") as source:
        # Rows that are appended from now on belong to the next backup.
        left = size = os.fstat(source.fileno()).st_size
        while left and (segment := source.read(min(left, SEGMENT_BYTES))):
            left -= len(segment)
            segment += bytes(-len(segment) % BLOCK_BYTES)
            found = [packs.digest(segment[at : at + BLOCK_BYTES]) for at in range(0, len(segment), BLOCK_BYTES)]
            first, joined = len(digests) // DIGEST_BYTES, b"".join(found)
            if known.digests[first * DIGEST_BYTES :][: len(joined)] == joined:
                places.append(known.places[first : first + len(found)])
            else:
                places.append(np.array([
                    known.places[first + number]
                    if known.digests[(first + number) * DIGEST_BYTES :][:DIGEST_BYTES] == one
                    else writer.add(segment[number * BLOCK_BYTES :][:BLOCK_BYTES], one)
                    for number, one in enumerate(found)
                ]))  # fmt: skip
            digests += joined
            step(len(found))
    return size - left, FileBlocks(bytes(digests), np.concatenate([NO_BLOCKS.places, *places]))


def _renumbered(
    all_packs: Sequence[StoredPack], files: Mapping[str, tuple[int, FileBlocks]]
) -> tuple[list[StoredPack], list[StoredFile]]:
    """The packs that the files need, and the files with the numbers of these packs."""
    used = np.unique(np.concatenate([blocks.places[:, 0] for _, blocks in files.values()]))
    stored_files = []
    for path, (size, blocks) in files.items():
        numbers = np.searchsorted(used, blocks.places[:, 0])
        stored_files.append(StoredFile(path, size, manifests.extents(numbers, blocks.places[:, 1])))
    return [all_packs[number] for number in used], stored_files
