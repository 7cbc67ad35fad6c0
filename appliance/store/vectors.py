"""The vector ledger: every vector ever computed by one model, in one append-only, memory-mapped file.

    header   4,096 bytes: a JSON line (format, model identity, dimension, dtype, row size), its CRC-32
    row      digest of the embedded text (16 bytes) · CRC-32 of digest and vector · vector (float16)

The truth (SQLite) knows which row holds which text and how many rows count; rows behind that count
are what a crash left, and are written over. Nothing else is ever written twice, so a reader needs no
lock; only an erasure writes zeros over rows, and nobody may read then. float16 halves the file; on unit
vectors it moves a cosine by less than 0.001, and index and rebuild both read the same rounded numbers.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError, StoreVersion
from appliance.paths import FILE_MODE, sync_folder

HEADER_BYTES = 4096
FORMAT = 1
DIGEST_BYTES = 16

ERASED = bytes(DIGEST_BYTES)
"""The digest of a row whose vector was erased."""


class Ledger:
    """One generation's vectors. ``rows`` is the count that the truth acknowledges."""

    def __init__(self, path: Path, identity: str, dimension: int, rows: int) -> None:
        """Open the ledger, or make an empty one.

        Raises:
            StoreCorrupt: the header is damaged or of another model, or rows are missing.
        """
        self.path = path
        self.dimension = dimension
        self._row = _row(dimension)
        header = {"format": FORMAT, "model": identity, "dimension": dimension, "dtype": "float16"}
        created = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            if created or (os.fstat(self._file).st_size < HEADER_BYTES and rows == 0):
                self._write_header(header)
            self._check_header(header)
            self._check_length(rows)
        except BaseException:
            os.close(self._file)
            raise
        self.rows = rows
        self._view: NDArray[Any] | None = None

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> int:
        """Write rows behind the acknowledged ones and make them survive a power cut.

        ``vectors`` has shape (len(digests), dimension). Returns the first new row's number. The rows
        count once ``acknowledge`` is called, after the truth has committed them.

        Raises:
            StoreError: the disk is full or fails.
        """
        block = np.zeros(len(digests), self._row)
        block["vector"] = vectors.astype("<f2")
        block["digest"] = [np.void(digest) for digest in digests]
        block["crc"] = [_crc(row) for row in block]
        data = memoryview(block.tobytes())
        offset = HEADER_BYTES + self.rows * self._row.itemsize
        try:
            while data:
                written = os.pwrite(self._file, data, offset)
                data, offset = data[written:], offset + written
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(
                f"can't be written ({error.strerror})",
                where=str(self.path),
                hint="make room on the disk: what is stored stays, and its vectors are made up for",
            ) from error
        return self.rows

    def acknowledge(self, rows: int) -> None:
        """Count ``rows`` rows: the truth has committed them."""
        self.rows = rows

    def read(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of the given rows, shape (len(rows), dimension), float32."""
        index = np.asarray(rows, dtype=np.int64)
        if index.size == 0:
            return np.zeros((0, self.dimension), np.float32)
        if index.min() < 0 or index.max() >= self.rows:
            raise StoreCorrupt(
                f"row {int(index.max())} was asked for, {self.rows} are there",
                where=str(self.path),
                hint="run 'appliance verify'",
            )
        found: NDArray[np.float32] = self._map()["vector"][index].astype(np.float32)
        return found

    def check(self) -> Iterator[tuple[int, bytes | None]]:
        """Every row's number and digest, in order; None in place of the digest where the row is damaged."""
        view = self._map() if self.rows else ()
        for number in range(self.rows):
            row = view[number]
            yield number, bytes(row["digest"]) if _crc(row) == int(row["crc"]) else None

    def erase(self, kept: Collection[int]) -> int:
        """Write zeros over every row but ``kept``, cut off what lies behind the last that counts, and make that
        survive a power cut; how many rows held something. Nobody may be reading."""
        self._view = None
        # Those behind the last that counts are cut off below: they go, and are counted, as well.
        written = (os.fstat(self._file).st_size - HEADER_BYTES) // self._row.itemsize
        gone = [number for number in range(max(self.rows, written)) if number not in kept]
        blank = np.zeros(1, self._row)
        blank["crc"] = _crc(blank[0])
        erased = 0
        for number in gone:
            offset = HEADER_BYTES + number * self._row.itemsize
            if os.pread(self._file, self._row.itemsize, offset) != blank.tobytes():
                os.pwrite(self._file, blank.tobytes(), offset)
                erased += 1
        os.ftruncate(self._file, HEADER_BYTES + self.rows * self._row.itemsize)
        os.fsync(self._file)
        return erased

    def close(self) -> None:
        self._view = None
        os.close(self._file)

    def _map(self) -> NDArray[Any]:
        if self._view is None or len(self._view) < self.rows:
            size = HEADER_BYTES + self.rows * self._row.itemsize
            mapped = mmap.mmap(self._file, size, access=mmap.ACCESS_READ)
            self._view = np.frombuffer(mapped, self._row, count=self.rows, offset=HEADER_BYTES)
        return self._view

    def _write_header(self, header: dict[str, Any]) -> None:
        body = msgspec.json.encode(header)
        line = body + b"\n" + b"%08x\n" % zlib.crc32(body)
        os.pwrite(self._file, line.ljust(HEADER_BYTES, b"\0"), 0)
        os.fsync(self._file)
        sync_folder(self.path.parent)

    def _check_header(self, expected: dict[str, Any]) -> None:
        body, _, rest = os.pread(self._file, HEADER_BYTES, 0).partition(b"\n")
        if rest[:8] != b"%08x" % zlib.crc32(body):
            raise StoreCorrupt("the header is damaged", where=str(self.path), hint=_REBUILD)
        found = msgspec.json.decode(body)
        if found["format"] > FORMAT:
            raise StoreVersion(
                "written by a newer version of this program", where=str(self.path), hint="update the program"
            )
        if found != expected:
            raise StoreCorrupt(
                f"holds vectors of {found['model']}, not of {expected['model']}",
                where=str(self.path),
                hint=_REBUILD,
            )

    def _check_length(self, rows: int) -> None:
        there = (os.fstat(self._file).st_size - HEADER_BYTES) // self._row.itemsize
        if there < rows:
            raise StoreCorrupt(
                f"{rows - there} of {rows} rows are missing", where=str(self.path), hint=_REBUILD
            )


def shortest(dimension: int, rows: int) -> int:
    """How many bytes a ledger with so many rows has at least."""
    return HEADER_BYTES + rows * _row(dimension).itemsize


def as_stored(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors as the ledger will give them back, rounded to float16."""
    return vectors.astype(np.float16).astype(np.float32)


_REBUILD = "run 'appliance reindex --vectors' to compute the vectors again; no message is lost"


def _row(dimension: int) -> np.dtype[Any]:
    return np.dtype([("digest", f"V{DIGEST_BYTES}"), ("crc", "<u4"), ("vector", "<f2", (dimension,))])


def _crc(row: Any) -> int:
    return zlib.crc32(row["vector"].tobytes(), zlib.crc32(bytes(row["digest"])))
