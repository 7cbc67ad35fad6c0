"""Blocks in and out of packs.

A file is a sequence of blocks of 1,024 bytes, the last one filled up with zeros: a quarter of a page of the database.
100 new messages change some 700 pages everywhere in it, but most of them in two places only, so that quarters take half
as much as pages. Blocks are compressed in frames of 256, because a single one compresses badly.

    header     its length (4 bytes) · JSON: the lengths of the frames, the number of blocks
    digests    of each block, 16 bytes (SHA-256, truncated)
    frames     zstd
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import zstandard

from appliance.errors import StoreCorrupt
from appliance.runtime.decoding import decode as decode_json

BLOCK_BYTES = 1024
DIGEST_BYTES = 16
FRAME_BLOCKS = 256

PACK_BYTES = 16_000_000
"""A pack is closed when it has so many compressed bytes: it is held in memory as a whole, and a file of this size is
convenient for sync tools."""

COMPRESSION_LEVEL = 3


def digest(block: bytes) -> bytes:
    """Return the digest of a block."""
    return hashlib.sha256(block).digest()[:DIGEST_BYTES]


class PackHeader(msgspec.Struct, frozen=True):
    """The lengths of a pack's frames in bytes, and the number of its blocks."""

    frames: list[int]
    blocks: int


class PackWriter:
    """Collects new blocks in packs, which are numbered from ``first_pack`` on. ``store`` is called with each complete
    pack and the number of its blocks."""

    def __init__(self, store: Callable[[bytes, int], None], first_pack: int) -> None:
        self._store = store
        self._compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        self._begin_pack()
        self._pack = first_pack

    def _begin_pack(self) -> None:
        self._digests: list[bytes] = []
        self._frames: list[bytes] = []
        self._frame: list[bytes] = []
        self._bytes = 0

    def add(self, block: bytes, block_digest: bytes) -> tuple[int, int]:
        """Add a block. Returns the number of its pack, and its number in the pack."""
        if self._bytes >= PACK_BYTES and not self._frame:
            self.finish()
        place = self._pack, len(self._digests)
        self._digests.append(block_digest)
        self._frame.append(block)
        if len(self._frame) == FRAME_BLOCKS:
            self._end_frame()
        return place

    def _end_frame(self) -> None:
        compressed = self._compressor.compress(b"".join(self._frame))
        self._frames.append(compressed)
        self._bytes += len(compressed)
        self._frame = []

    def finish(self) -> None:
        """Store the pack that has been begun, if it has any block."""
        if self._frame:
            self._end_frame()
        if self._digests:
            header = msgspec.json.encode(PackHeader([len(frame) for frame in self._frames], len(self._digests)))
            parts = (len(header).to_bytes(4, "little"), header, *self._digests, *self._frames)
            self._store(b"".join(parts), len(self._digests))
            self._pack += 1
        self._begin_pack()


@dataclass(frozen=True, slots=True)
class Pack:
    """The content of a pack. ``digests`` are those of all blocks, one after the other."""

    digests: bytes
    frames: Sequence[bytes]
    blocks: int
    name: str

    def frame_blocks(self, frame: int) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the content of each block of a frame.

        Raises:
            StoreCorrupt: A block is not what its digest says.
        """
        for number, block in self._blocks(frame):
            if not self._is_whole(number, block):
                raise damaged(self.name)
            yield number, block

    def readable_blocks(self, frame: int) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the content of each block of a frame that is what its digest says."""
        with suppress(StoreCorrupt):
            yield from (found for found in self._blocks(frame) if self._is_whole(*found))

    def _blocks(self, frame: int) -> Iterator[tuple[int, bytes]]:
        try:
            data = zstandard.ZstdDecompressor().decompress(
                self.frames[frame], max_output_size=FRAME_BLOCKS * BLOCK_BYTES
            )
        except zstandard.ZstdError as error:
            raise damaged(self.name) from error
        first = frame * FRAME_BLOCKS
        for number in range(first, min(first + FRAME_BLOCKS, self.blocks)):
            yield number, data[(number - first) * BLOCK_BYTES :][:BLOCK_BYTES]

    def _is_whole(self, number: int, block: bytes) -> bool:
        return digest(block) == self.digests[number * DIGEST_BYTES :][:DIGEST_BYTES]


def decode(data: bytes, name: str) -> Pack:
    """Return a pack from its bytes.

    Raises:
        StoreCorrupt: It is damaged.
    """
    try:
        start = 4 + int.from_bytes(data[:4], "little")
        header = decode_json(data[4:start], PackHeader)
    except msgspec.DecodeError as error:
        raise damaged(name) from error
    at = start + header.blocks * DIGEST_BYTES
    digests, frames = data[start:at], []
    for length in header.frames:
        frames.append(data[at : at + length])
        at += length
    if at != len(data) or len(frames) != -(-header.blocks // FRAME_BLOCKS):
        raise damaged(name)
    return Pack(digests, frames, header.blocks, name)


def damaged(where: str) -> StoreCorrupt:
    """The error of a pack that is not what was written."""
    hint = (
        "Restore another backup: 'appliance backup verify --read-data' says which ones are whole. Without one, "
        "'appliance recover' saves what can be read of a damaged backup."
    )
    return StoreCorrupt("This part of the backup is damaged.", where=where, hint=hint)
