"""What a backup consists of: its files, and the places of their blocks in the packs of the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.runtime.decoding import decode as decode_json
from appliance.store.backup.packs import BLOCK_BYTES
from appliance.timestamps import iso_from_microseconds
from appliance.types import BackupInfo

FORMAT_VERSION = 1
MAX_MANIFEST_BYTES = 1 << 30


class StoredPack(msgspec.Struct, frozen=True):
    """A pack that a backup needs, with its size in the repository and the digest of its bytes there."""

    name: str
    bytes: int
    blocks: int
    sha256: str


class StoredFile(msgspec.Struct, frozen=True):
    """A file of the home. ``extents`` are the places of its blocks in order: the number of a pack in the manifest, the
    number of a block in it, and how many blocks follow each other from there."""

    path: str
    bytes: int
    extents: list[tuple[int, int, int]]


class Manifest(msgspec.Struct, frozen=True):
    """A backup: of which moment (microseconds since 1970), made by which version, and all that it needs. ``new_bytes``
    is what it added to the repository."""

    format: int
    id: str
    at: int
    version: str
    schema: int
    messages: int
    new_bytes: int
    packs: list[StoredPack]
    files: list[StoredFile]

    def info(self) -> BackupInfo:
        """The backup as it is listed."""
        return BackupInfo(
            id=self.id, at=iso_from_microseconds(self.at), messages=self.messages,
            bytes=sum(file.bytes for file in self.files), new_bytes=self.new_bytes, version=self.version,
        )  # fmt: skip


def encode(manifest: Manifest) -> bytes:
    """Return the manifest as zstd-compressed JSON, preceded by its SHA-256 as a line of text."""
    body = zstandard.ZstdCompressor(level=9).compress(msgspec.json.encode(manifest))
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(data: bytes, where: str) -> Manifest:
    """Return a manifest.

    Raises:
        StoreCorrupt: It is damaged.
        StoreVersion: A newer version of this program wrote it.
    """
    checksum, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        hint = "Restore another backup: 'appliance backup list' shows them."
        raise StoreCorrupt("The manifest of this backup is damaged.", where=where, hint=hint)
    text = zstandard.ZstdDecompressor().decompress(body, max_output_size=MAX_MANIFEST_BYTES)
    if msgspec.json.decode(text).get("format", 0) > FORMAT_VERSION:
        raise StoreVersion(
            "A newer version of this program wrote this backup.",
            where=where,
            hint="Update the program, then try again.",
        )
    return decode_json(text, Manifest)


# --- the blocks of a file as arrays --------------------------------------------------------------------------


def block_count(size: int) -> int:
    """Return how many blocks a file of ``size`` bytes has."""
    return -(-size // BLOCK_BYTES)


def places(extents: Sequence[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Return the places of all blocks of extents, shape (blocks, 2): the number of a pack, and the number in it."""
    table = np.array(extents, np.int64).reshape(-1, 3)
    counts = table[:, 2]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack((np.repeat(table[:, 0], counts), np.repeat(table[:, 1], counts) + within))


def to_extents(places: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return the places of blocks as extents."""
    if not len(places):
        return []
    steps = np.diff(places, axis=0)
    starts = np.concatenate(([0], np.flatnonzero((steps[:, 0] != 0) | (steps[:, 1] != 1)) + 1))
    counts = np.diff(np.concatenate((starts, [len(places)])))
    return [(int(pack), int(number), int(count)) for (pack, number), count in zip(places[starts], counts, strict=True)]


def with_used_packs(
    packs: Sequence[StoredPack], files: Mapping[str, tuple[int, NDArray[np.int64]]]
) -> tuple[list[StoredPack], list[StoredFile]]:
    """Return those of the packs that files need, and the files with the numbers of these. ``files`` are the sizes and
    the places of the blocks by path."""
    used = np.unique(np.concatenate([found[:, 0] for _, found in files.values()]))
    stored_files = []
    for path, (size, found) in files.items():
        renumbered = np.column_stack((np.searchsorted(used, found[:, 0]), found[:, 1]))
        stored_files.append(StoredFile(path, size, to_extents(renumbered)))
    return [packs[number] for number in used], stored_files
