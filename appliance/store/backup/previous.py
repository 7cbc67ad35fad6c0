"""The previous backup of a home, with which the next one is compared.

A home remembers the digests of what it backed up last, for each repository (``backups/ID.blocks`` in the home). Without
them, as in a restored home, they are read from the packs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FOLDER_MODE, Home, write_file_atomically
from appliance.store.backup import manifest as manifests
from appliance.store.backup.manifest import Manifest, StoredPack
from appliance.store.backup.packs import DIGEST_BYTES
from appliance.store.backup.repository import Repository
from appliance.store.backup.storage import PACKS


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The blocks of a file in order: their digests, one after the other, and their places, shape (blocks, 2): the
    number of a pack, and the number of the block in it."""

    digests: bytes
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PreviousBackup:
    """The packs of the previous backup, and the blocks of each of its files."""

    packs: Sequence[StoredPack] = ()
    files: Mapping[str, FileBlocks] = field(default_factory=dict)


class _BackupDigests(msgspec.Struct, frozen=True):
    """A backup, the digests of the blocks of each of its files, and to whom it is encrypted."""

    recipients: list[str]
    manifest: Manifest
    digests: Mapping[str, bytes]


def find(home: Home, written: Repository) -> PreviousBackup:
    """Return the previous backup: what the home remembers of it, else the latest one that can be read, else none.

    Raises:
        StoreError: The repository is encrypted to others than before.
    """
    if (remembered := _from_home(home, written)) is not None:
        return remembered
    if not written.cipher.can_decrypt:
        return PreviousBackup()
    for id in reversed(written.backup_ids()):
        with suppress(StoreCorrupt):
            manifest = written.manifest(id)
            return _from_packs(manifest, [written.pack(pack).digests for pack in manifest.packs])
    return PreviousBackup()


def remember(home: Home, written: Repository, manifest: Manifest, digests: Mapping[str, bytes]) -> None:
    """Keep what the next backup is compared with."""
    path = home.backups / f"{written.head.id}.blocks"
    path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    write_file_atomically(path, msgspec.msgpack.encode(_BackupDigests(written.head.recipients, manifest, digests)))


def _from_home(home: Home, written: Repository) -> PreviousBackup | None:
    try:
        data = (home.backups / f"{written.head.id}.blocks").read_bytes()
        known = msgspec.msgpack.decode(data, type=_BackupDigests)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    if known.recipients != written.head.recipients:
        hint = "If you did not change them, somebody else may want to read your backups. Use a new folder."
        raise StoreError("The recipients of these backups have changed.", where=str(written.storage.path), hint=hint)
    if not {pack.name for pack in known.manifest.packs} <= {*written.storage.names(PACKS)}:
        return None  # removed meanwhile, for another home
    return PreviousBackup(
        known.manifest.packs,
        {
            file.path: FileBlocks(known.digests[file.path], manifests.places(file.extents))
            for file in known.manifest.files
        },
    )


def _from_packs(manifest: Manifest, pack_digests: Sequence[bytes]) -> PreviousBackup:
    starts = np.concatenate(([0], np.cumsum([pack.blocks for pack in manifest.packs], dtype=np.int64)))
    all_digests = np.frombuffer(b"".join(pack_digests), f"V{DIGEST_BYTES}")
    files = {}
    for file in manifest.files:
        found = manifests.places(file.extents)
        files[file.path] = FileBlocks(all_digests[starts[found[:, 0]] + found[:, 1]].tobytes(), found)
    return PreviousBackup(manifest.packs, files)
