"""Restores a backup into a new home.

Everything is written into a hidden folder beside the new home, which gets its name at the end: a home is there as a
whole, or not at all.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import numpy as np

from appliance.errors import DiskFull, HomeError, StoreCorrupt, StoreVersion
from appliance.paths import DATABASE, FILE_MODE, FOLDER_MODE, Home, sync_folder
from appliance.store import migrations, room
from appliance.store.backup import catalogue, repository
from appliance.store.backup import manifest as manifests
from appliance.store.backup.encryption import Keys
from appliance.store.backup.manifest import Manifest, StoredFile
from appliance.store.backup.packs import BLOCK_BYTES, FRAME_BLOCKS, Pack
from appliance.store.backup.repository import NO_KEYS, Repository
from appliance.store.lock import OwnerLock
from appliance.types import LostPart, RestoreReport

OnBlocks = Callable[[int, int], None]
"""Called with the blocks that are written and those that are left."""


def restore(
    source: Path,
    target: Path,
    id: str | None = None,
    *,
    keys: Keys = NO_KEYS,
    progress: OnBlocks = lambda done, left: None,
) -> RestoreReport:
    """Restore a backup into a new home. An older schema is brought up to date when the home is first opened.

    Args:
        source: The folder or the file with the backup.
        target: The new home: a folder that does not exist, or an empty one.
        id: The id of the backup or its beginning; None for the latest one.
        keys: To decrypt it.
        progress: Called with the blocks that are written and those that are left.

    Raises:
        HomeError: The folder of the new home is not empty, or can't be written.
        NotFound: There is no such backup.
        StoreCorrupt: The database in the backup is damaged. Nothing is left behind.
        StoreVersion: A newer version of this program made the backup.
        DiskFull: The disk has no room for the memory.
        StoreError: The backup can't be read.
    """
    began = time.perf_counter()
    source, target = source.expanduser().absolute(), target.expanduser().absolute()
    refuse_to_overwrite(target)
    with repository.opened(source, keys) as opened:
        manifest = opened.manifest(opened.find(id))
        if manifest.schema > migrations.latest():
            raise StoreVersion(
                f"A newer version of this program ({manifest.version}) made this backup.",
                where=str(source),
                hint="Update the program, then try again.",
            )
        with ExitStack() as stack:
            work = begin(target, stack, "appliance restore")
            lost = _write_files(opened, manifest, work, progress)
            catalogue.note(Home(work), source, opened.head.id, opened.backup_ids())
            finish(work, target)
    return RestoreReport(
        home=str(target), backup=manifest.id, at=manifest.info().at, messages=manifest.messages,
        bytes=manifest.info().bytes, seconds=time.perf_counter() - began, lost=tuple(lost),
    )  # fmt: skip


def refuse_to_overwrite(target: Path) -> None:
    """Check that a new home can be made in a folder.

    Raises:
        HomeError: The folder holds something.
    """
    hint = "Name a new folder with --home. An existing memory is never overwritten."
    if Home(target).database.exists():
        raise HomeError("There is already a memory in this folder.", where=str(target), hint=hint)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise HomeError("This folder is not empty.", where=str(target), hint=hint)


def begin(target: Path, stack: ExitStack, purpose: str) -> Path:
    """The hidden folder beside the new home, locked and empty. It is removed with the stack, unless it was renamed."""
    work = target.with_name(f".{target.name}.restoring")
    try:
        work.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from error
    lock = OwnerLock(Home(work).lock)
    lock.acquire(purpose)
    stack.callback(shutil.rmtree, work, ignore_errors=True)
    stack.callback(lock.release)
    for entry in work.iterdir():  # left over from a restoration that was killed
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry != Home(work).lock:
            entry.unlink()
    return work


def _write_files(opened: Repository, manifest: Manifest, work: Path, progress: OnBlocks) -> list[LostPart]:
    """Write the files of a backup into ``work``. Returns the parts that are damaged, among them no database."""
    room.require_room(work, manifest.info().bytes, "restore the backup")
    writer = _Writer(opened, manifest, progress)
    lost = []
    # The database comes last, under another name: without it, the folder is no home.
    for file in sorted(manifest.files, key=lambda file: file.path == DATABASE):
        path = work / checked_path(file.path, opened.storage.path)
        partial = path.with_name(path.name + ".new")
        try:
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            writer.write(file, partial)
            partial.replace(path)
        except StoreCorrupt as error:
            if file.path == DATABASE:
                raise
            partial.unlink(missing_ok=True)
            lost.append(LostPart(file.path, str(error.args[0])))
        except OSError as error:
            raise _unwritable(path, error) from error
    return lost


class _Writer:
    """Writes files from packs; the latest pack is kept, because neighbouring blocks lie together."""

    def __init__(self, opened: Repository, manifest: Manifest, progress: OnBlocks) -> None:
        self._opened = opened
        self._packs = manifest.packs
        self._progress = progress
        self._done, self._total = 0, sum(manifests.block_count(file.bytes) for file in manifest.files)
        self._number, self._pack = -1, Pack(b"", (), 0, "")

    def write(self, file: StoredFile, path: Path) -> None:
        """Write a file pack by pack, so that each pack is read once, and frame by frame."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        try:
            os.ftruncate(descriptor, file.bytes)
            for pack, frame, blocks in by_frame(file):
                for number, data in self._load(pack).frame_blocks(frame):
                    for position in blocks.get(number, ()):
                        at = position * BLOCK_BYTES
                        write_at(descriptor, data[: file.bytes - at], at)
                self._done += sum(map(len, blocks.values()))
                self._progress(self._done, self._total - self._done)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _load(self, number: int) -> Pack:
        if number != self._number:
            self._pack, self._number = self._opened.pack(self._packs[number]), number
        return self._pack


def by_frame(file: StoredFile) -> Iterator[tuple[int, int, dict[int, list[int]]]]:
    """Yield the frames that a file needs: pack, frame, and the positions in the file of each needed block."""
    places = manifests.places(file.extents)
    order = np.lexsort((places[:, 1], places[:, 0]))
    current: tuple[int, int] | None = None
    blocks: dict[int, list[int]] = {}
    for position, (pack, number) in zip(order.tolist(), places[order].tolist(), strict=True):
        frame = pack, number // FRAME_BLOCKS
        if current is not None and frame != current:
            yield *current, blocks
            blocks = {}
        current = frame
        blocks.setdefault(number, []).append(position)
    if current is not None:
        yield *current, blocks


def write_at(descriptor: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, at)
        data, at = data[written:], at + written


def checked_path(path: str, where: Path) -> PurePosixPath:
    """The path of a file within the home. A manifest from elsewhere must not write outside of it."""
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise StoreCorrupt("This backup names a file outside of the memory.", where=str(where))
    return relative


def finish(work: Path, target: Path) -> None:
    """Give the hidden folder its name, after all of it has reached the disk."""
    for folder in {work, *(path.parent for path in work.rglob("*"))}:
        sync_folder(folder)
    try:
        work.replace(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    sync_folder(target.parent)


def _unwritable(path: Path, error: OSError) -> HomeError | DiskFull:
    if room.is_disk_full(error):
        return DiskFull("The memory can't be restored here: the disk is full.", where=str(path), hint=room.ROOM_HINT)
    return HomeError(
        f"The memory can't be restored here: {error.strerror or error}.",
        where=str(path),
        hint="Check that the disk works and has room, or name another folder with --home.",
    )
