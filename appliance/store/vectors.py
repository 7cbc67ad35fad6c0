"""The vector ledger: every vector ever computed by one model, in one append-only, memory-mapped file.

    header   4,096 bytes: a JSON line (format, model identity, dimension, dtype, row size), its CRC-32
    row      digest of the embedded text (16 bytes) · CRC-32 of digest and vector · vector (float16)

The database knows which row holds which text, and how many rows count; rows after these are left over from a crash and
are overwritten. No other row is ever written twice, so a reader needs no lock; only an erasure overwrites rows with
zeros, while nothing else reads. float16 halves the file. On unit vectors it changes a cosine by less than 0.001, and
the index and a rebuild both read the same rounded numbers.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FILE_MODE
from appliance.store.ledger_header import HEADER_BYTES, check_header, write_header

FORMAT_VERSION = 1
DIGEST_BYTES = 16

ERASED = bytes(DIGEST_BYTES)
"""The digest of a row whose vector was erased."""

_REBUILD_HINT = "Run 'appliance reindex --vectors' to compute the vectors again. No message is lost."


class VectorLedger:
    """The vectors of one generation. ``rows`` is the number of rows that count, according to the database."""

    def __init__(self, path: Path, identity: str, dimension: int, rows: int, *, read_only: bool = False) -> None:
        """Open the ledger, or create an empty one unless it is only to be read.

        Raises:
            StoreCorrupt: The header is damaged or names another model, or rows are missing.
            StoreVersion: A newer version of this program wrote it.
        """
        self.path = path
        self.dimension = dimension
        self._row_dtype = _row_layout(dimension)
        header = {"format": FORMAT_VERSION, "model": identity, "dimension": dimension, "dtype": "float16"}
        created = not path.exists()
        if read_only and created:
            raise self._corrupt("The vector ledger is missing.")
        self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            if created or (os.fstat(self._file).st_size < HEADER_BYTES and rows == 0):
                write_header(self._file, path, header)
            check_header(self._file, path, header, _REBUILD_HINT)
            self._check_length(rows)
        except BaseException:
            os.close(self._file)
            raise
        self.rows = rows
        self._view: NDArray[Any] | None = None

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> int:
        """Write rows after the acknowledged ones and make them survive a power cut.

        The rows count once ``acknowledge`` is called, after the database has committed them.

        Args:
            digests: The digests of the texts, 16 bytes each.
            vectors: Their vectors, shape (len(digests), dimension).

        Returns:
            The number of the first new row.

        Raises:
            StoreError: The disk is full or fails.
        """
        self._write(self._block(digests, vectors), self.rows)
        return self.rows

    def _block(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> bytes:
        block = np.zeros(len(digests), self._row_dtype)
        block["vector"] = vectors.astype("<f2")
        block["digest"] = [np.void(digest) for digest in digests]
        block["crc"] = [_crc(row) for row in block]
        return block.tobytes()

    def _write(self, block: bytes, row: int) -> None:
        data = memoryview(block)
        offset = HEADER_BYTES + row * self._row_dtype.itemsize
        try:
            while data:
                written = os.pwrite(self._file, data, offset)
                data, offset = data[written:], offset + written
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(
                f"The vectors can't be written: {error.strerror}.",
                where=str(self.path),
                hint="Make room on the disk. Stored messages are kept; their vectors are computed later.",
            ) from error

    def acknowledge(self, rows: int) -> None:
        """Set the number of rows that count, after the database has committed them."""
        self.rows = rows

    def read(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of the given rows, shape (len(rows), dimension), float32.

        Raises:
            StoreCorrupt: A row does not exist.
        """
        index = np.asarray(rows, dtype=np.int64)
        if index.size == 0:
            return np.zeros((0, self.dimension), np.float32)
        if index.min() < 0 or index.max() >= self.rows:
            raise StoreCorrupt(
                f"Row {int(index.max())} does not exist; the ledger has {self.rows} rows.",
                where=str(self.path),
                hint="Run 'appliance verify'.",
            )
        vectors: NDArray[np.float32] = self._map()["vector"][index].astype(np.float32)
        return vectors

    def damaged_rows(self, rows: Iterable[int]) -> set[int]:
        """Return those of the rows that are not as they were written."""
        view = self._map() if self.rows else ()
        return {number for number in rows if number < self.rows and _crc(view[number]) != int(view[number]["crc"])}

    def rewrite(self, number: int, digest: bytes, vector: NDArray[np.float32]) -> None:
        """Write a damaged row again, and make it survive a power cut.

        Raises:
            StoreError: The disk is full or fails.
        """
        self._write(self._block([digest], vector[np.newaxis]), number)

    def check(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the number and the digest of every row, in order; None as the digest of a damaged row."""
        view = self._map() if self.rows else ()
        for number in range(self.rows):
            row = view[number]
            yield number, bytes(row["digest"]) if _crc(row) == int(row["crc"]) else None

    def erase(self, kept_rows: Collection[int]) -> int:
        """Overwrite all rows but ``kept_rows`` with zeros, truncate the file after the last row that counts, and make
        this survive a power cut. Nothing may read meanwhile. Returns the number of erased rows."""
        self._view = None
        # Includes the rows that do not count, which are truncated below.
        written = (os.fstat(self._file).st_size - HEADER_BYTES) // self._row_dtype.itemsize
        erased_rows = [number for number in range(max(self.rows, written)) if number not in kept_rows]
        blank_row = np.zeros(1, self._row_dtype)
        blank_row["crc"] = _crc(blank_row[0])
        erased = 0
        for number in erased_rows:
            offset = HEADER_BYTES + number * self._row_dtype.itemsize
            if os.pread(self._file, self._row_dtype.itemsize, offset) != blank_row.tobytes():
                os.pwrite(self._file, blank_row.tobytes(), offset)
                erased += 1
        os.ftruncate(self._file, HEADER_BYTES + self.rows * self._row_dtype.itemsize)
        os.fsync(self._file)
        return erased

    def close(self) -> None:
        self._view = None
        os.close(self._file)

    def _map(self) -> NDArray[Any]:
        if self._view is None or len(self._view) < self.rows:
            size = HEADER_BYTES + self.rows * self._row_dtype.itemsize
            mapped = mmap.mmap(self._file, size, access=mmap.ACCESS_READ)
            self._view = np.frombuffer(mapped, self._row_dtype, count=self.rows, offset=HEADER_BYTES)
        return self._view

    def _check_length(self, rows: int) -> None:
        stored_rows = (os.fstat(self._file).st_size - HEADER_BYTES) // self._row_dtype.itemsize
        if stored_rows < rows:
            raise self._corrupt(f"{rows - stored_rows} of {rows} rows of the vector ledger are missing.")

    def _corrupt(self, message: str) -> StoreCorrupt:
        return StoreCorrupt(message, where=str(self.path), hint=_REBUILD_HINT)


def min_file_bytes(dimension: int, rows: int) -> int:
    """Return the least size in bytes of a ledger with this number of rows."""
    return HEADER_BYTES + rows * _row_layout(dimension).itemsize


def round_to_stored(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors as the ledger stores them, rounded to float16."""
    return vectors.astype(np.float16).astype(np.float32)


def _row_layout(dimension: int) -> np.dtype[Any]:
    return np.dtype([("digest", f"V{DIGEST_BYTES}"), ("crc", "<u4"), ("vector", "<f2", (dimension,))])


def _crc(row: Any) -> int:
    return zlib.crc32(row["vector"].tobytes(), zlib.crc32(bytes(row["digest"])))
