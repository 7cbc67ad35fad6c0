"""The token ledger: a vector for each token of every embedded text, in one append-only, memory-mapped file.

    header   4,096 bytes, see ``ledger_header``
    record   digest of the text (16 bytes) · CRC-32 of digest and vectors (4) · vectors, int8 (tokens, dimension)

The database knows where the record of each text begins and how many tokens it has, and so where the file ends: bytes
after it are left over from a crash, and are overwritten. As in the vector ledger, no other byte is ever written twice,
except by an erasure. The whole file can be computed again from the texts.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FILE_MODE
from appliance.store.ledger_header import HEADER_BYTES, check_header, write_header

TOKENS_SUFFIX = ".tokens"
FORMAT_VERSION = 1
DIGEST_BYTES = 16
_PREFIX_BYTES = DIGEST_BYTES + 4
_ERASING_BLOCK_BYTES = 1 << 20
_REBUILD_HINT = "Run 'appliance reindex --tokens' to compute the token vectors again. No message is lost."

Tokens = NDArray[np.int8]
"""The token vectors of a text, (tokens, dimension), each of length 127."""


class TokenPlace(NamedTuple):
    """Where the record of a text begins in the file, and how many tokens it has."""

    start: int
    tokens: int


class TokenLedger:
    """The token vectors of one generation. ``end`` is where the file ends, according to the database."""

    def __init__(self, path: Path, identity: str, dimension: int, end: int, *, read_only: bool = False) -> None:
        """Open the ledger, or create an empty one unless it is only to be read.

        Args:
            path: The file.
            identity: What makes the token vectors.
            dimension: Numbers in a token vector.
            end: The first byte after the last record; 0 if there is none.
            read_only: Nothing is written.

        Raises:
            StoreCorrupt: The header is damaged or names another model, or records are missing.
            StoreVersion: A newer version of this program wrote it.
        """
        self.path = path
        self.dimension = dimension
        self.identity = identity
        self.end = max(end, HEADER_BYTES)
        header = {"format": FORMAT_VERSION, "model": identity, "dimension": dimension, "dtype": "int8"}
        created = not path.exists()
        if read_only and created:
            raise StoreCorrupt("The token ledger is missing.", where=str(path), hint=_REBUILD_HINT)
        self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, FILE_MODE)
        self._view: NDArray[np.int8] | None = None
        try:
            if created or (os.fstat(self._file).st_size < HEADER_BYTES and self.end == HEADER_BYTES):
                write_header(self._file, path, header)
            check_header(self._file, path, header, _REBUILD_HINT)
            if (size := os.fstat(self._file).st_size) < self.end:
                missing = f"{self.end - size} of {self.end} bytes of the token ledger are missing."
                raise StoreCorrupt(missing, where=str(path), hint=_REBUILD_HINT)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, digests: Sequence[bytes], tokens: Sequence[Tokens]) -> list[TokenPlace]:
        """Write records after the acknowledged ones and make them survive a power cut.

        They count once ``acknowledge`` is called, after the database has committed their places.

        Raises:
            StoreError: The disk is full or fails.
        """
        places, parts, start = [], [], self.end
        for digest, vectors in zip(digests, tokens, strict=True):
            data = np.ascontiguousarray(vectors).tobytes()
            parts.append(digest + _crc(digest, data).to_bytes(4, "little") + data)
            places.append(TokenPlace(start, len(vectors)))
            start += len(parts[-1])
        self._write(b"".join(parts), self.end)
        return places

    def end_with(self, places: Iterable[TokenPlace]) -> int:
        """Where the file ends with these records."""
        return max([self.end, *(self._record_end(place) for place in places)])

    def acknowledge(self, places: Iterable[TokenPlace]) -> None:
        """Note the records that the database has committed."""
        self.end = self.end_with(places)

    def read(self, places: Sequence[TokenPlace]) -> Tokens:
        """The token vectors of a message's chunks, one after the other.

        Raises:
            StoreCorrupt: A record is not in the file.
        """
        if not places:
            return np.zeros((0, self.dimension), np.int8)
        ends = [self._record_end(place) for place in places]
        view = self._map(max(ends))
        parts = []
        for place, stop in zip(places, ends, strict=True):
            start = place.start + _PREFIX_BYTES
            if place.start < HEADER_BYTES or stop > len(view):
                message = f"There is no record at {place.start} in the token ledger, which has {len(view)} bytes."
                raise StoreCorrupt(message, where=str(self.path), hint=_REBUILD_HINT)
            parts.append(view[start:stop])
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return flat.reshape(-1, self.dimension)

    def damaged(self, records: Iterable[tuple[bytes, TokenPlace]]) -> set[bytes]:
        """The digests of those of the records that are not as they were written."""
        return {digest for digest, place in records if not self._is_intact(digest, place)}

    def erase(self, kept: Collection[TokenPlace]) -> int:
        """Overwrite everything but the ``kept`` records with zeros, truncate the file after the last record, and make
        this survive a power cut. Nothing may read meanwhile. Returns the number of erased bytes."""
        self._view = None
        erased, at = 0, HEADER_BYTES
        for start, stop in [*sorted((place.start, self._record_end(place)) for place in kept), (self.end, self.end)]:
            erased += self._overwrite(at, start)
            at = max(at, stop)
        os.ftruncate(self._file, self.end)
        os.fsync(self._file)
        return erased

    def close(self) -> None:
        self._view = None
        os.close(self._file)

    def _record_end(self, place: TokenPlace) -> int:
        return place.start + _PREFIX_BYTES + place.tokens * self.dimension

    def _is_intact(self, digest: bytes, place: TokenPlace) -> bool:
        view = self._map(self._record_end(place))
        if place.start < HEADER_BYTES or self._record_end(place) > len(view):
            return False
        record = view[place.start : self._record_end(place)].tobytes()
        stored_crc = int.from_bytes(record[DIGEST_BYTES:_PREFIX_BYTES], "little")
        return record[:DIGEST_BYTES] == digest and stored_crc == _crc(digest, record[_PREFIX_BYTES:])

    def _overwrite(self, start: int, stop: int) -> int:
        """Write zeros where there are none yet; returns the number of bytes written."""
        written = 0
        for at in range(start, stop, _ERASING_BLOCK_BYTES):
            size = min(_ERASING_BLOCK_BYTES, stop - at)
            if any(os.pread(self._file, size, at)):
                os.pwrite(self._file, bytes(size), at)
                written += size
        return written

    def _write(self, block: bytes, offset: int) -> None:
        data = memoryview(block)
        try:
            while data:
                written = os.pwrite(self._file, data, offset)
                data, offset = data[written:], offset + written
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(
                f"The token vectors can't be written: {error.strerror}.",
                where=str(self.path),
                hint="Make room on the disk. Stored messages are kept; their vectors are computed later.",
            ) from error

    def _map(self, stop: int) -> NDArray[np.int8]:
        """The file, mapped up to ``stop`` if it is that long. It tells what can be read, and not ``end``, which follows
        the database a moment after a commit that another thread has read already."""
        view = self._view
        if view is None or len(view) < stop:
            view = self._view = np.frombuffer(mmap.mmap(self._file, 0, access=mmap.ACCESS_READ), np.int8)
        return view


def _crc(digest: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(digest))
