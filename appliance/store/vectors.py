"""The vector ledger: every vector ever computed by one model, in one append-only, memory-mapped file.

    header   4,096 bytes: a JSON line (format, model identity, dimension, dtype, row size), its CRC-32
    row      digest of what was embedded (16 bytes) · CRC-32 of digest and vector · vector, as the header's dtype says:
             float16 · int8: a scale (float32), which the CRC covers too, and a byte a number

The database knows which row holds which text, and how many rows count; rows after these are left over from a crash and
are overwritten. No other row is ever written twice, so a reader needs no lock; only an erasure overwrites rows with
zeros, while nothing else reads. The index and a rebuild both read the same rounded numbers.

float16 halves the file. On unit vectors it changes a cosine by less than 0.001. int8 halves it again: a vector is
divided by its largest number, 127 steps are kept, and the scale restores its length. So of d numbers with the largest m
and the length l, the angle to the vector itself has a sine of at most sqrt(d) m / (254 l): 0.02 for 384 numbers of
which the largest is 0.25. ``tests/property/test_property_ledger.py`` holds it to that.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError
from appliance.paths import FILE_MODE
from appliance.store.ledger_header import HEADER_BYTES, check_header, read_header, write_header

LedgerDtype = Literal["float16", "int8"]

FORMATS: Mapping[str, int] = {"float16": 1, "int8": 2}
"""The version of the format by dtype: an earlier program must not take int8 for damage."""

STEPS = 127
"""The steps of an int8 on each side of zero."""

DIGEST_BYTES = 16

ERASED = bytes(DIGEST_BYTES)
"""The digest of a row whose vector was erased."""

_REBUILD_HINT = "Run 'appliance reindex --vectors' to compute the vectors again. No message is lost."


class VectorLedger:
    """The vectors of one generation. ``rows`` is the number of rows that count, according to the database."""

    def __init__(
        self,
        path: Path,
        identity: str,
        dimension: int,
        rows: int,
        *,
        dtype: LedgerDtype = "float16",
        read_only: bool = False,
    ) -> None:
        """Open the ledger, or create an empty one unless it is only to be read. ``dtype`` counts for a new one; the
        header says that of any other.

        Raises:
            StoreCorrupt: The header is damaged or names another model, or rows are missing.
            StoreVersion: A newer version of this program wrote it.
        """
        self.path = path
        self.dimension = dimension
        expected = {"format": max(FORMATS.values()), "model": identity, "dimension": dimension}
        created = not path.exists()
        if read_only and created:
            raise self._corrupt("The vector ledger is missing.")
        self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            if created or (os.fstat(self._file).st_size < HEADER_BYTES and rows == 0):
                write_header(self._file, path, {**expected, "format": FORMATS[dtype], "dtype": dtype})
            self.dtype: LedgerDtype = check_header(self._file, path, expected, _REBUILD_HINT)["dtype"]
            if self.dtype not in FORMATS:
                raise self._corrupt(f"The vector ledger has numbers of an unknown kind ({self.dtype}).")
            self._row_dtype = _row_layout(dimension, self.dtype)
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
        if self.dtype == "int8":
            block["vector"], block["scale"] = quantize(vectors)
        else:
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
        last = int(index.max())
        view = self._map(last + 1)
        if index.min() < 0 or last >= len(view):
            raise StoreCorrupt(
                f"Row {last} does not exist; the ledger has {len(view)} rows.",
                where=str(self.path),
                hint="Run 'appliance verify'.",
            )
        vectors: NDArray[np.float32] = view["vector"][index].astype(np.float32)
        if self.dtype == "int8":
            vectors *= view["scale"][index][:, np.newaxis]
        return vectors

    def round(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors as the ledger stores them."""
        if self.dtype == "int8":
            numbers, scales = quantize(vectors)
            return numbers.astype(np.float32) * scales[..., np.newaxis]
        return vectors.astype(np.float16).astype(np.float32)

    def damaged_rows(self, rows: Iterable[int]) -> set[int]:
        """Return those of the rows that are not as they were written."""
        view = self._map(self.rows)
        return {number for number in rows if number < len(view) and _crc(view[number]) != int(view[number]["crc"])}

    def rewrite(self, number: int, digest: bytes, vector: NDArray[np.float32]) -> None:
        """Write a damaged row again, and make it survive a power cut.

        Raises:
            StoreError: The disk is full or fails.
        """
        self._write(self._block([digest], vector[np.newaxis]), number)

    def check(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the number and the digest of every row, in order; None as the digest of a damaged row."""
        rows = self.rows
        view = self._map(rows)
        for number in range(rows):
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

    def _map(self, rows: int) -> NDArray[Any]:
        """The rows of the file, mapped up to ``rows`` if it has as many. It tells what can be read, and not ``rows``,
        which follows the database a moment after a commit that another thread has read already."""
        view = self._view
        if view is None or len(view) < rows:
            mapped = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
            count = (len(mapped) - HEADER_BYTES) // self._row_dtype.itemsize
            view = self._view = np.frombuffer(mapped, self._row_dtype, count=count, offset=HEADER_BYTES)
        return view

    def _check_length(self, rows: int) -> None:
        stored_rows = (os.fstat(self._file).st_size - HEADER_BYTES) // self._row_dtype.itemsize
        if stored_rows < rows:
            raise self._corrupt(f"{rows - stored_rows} of {rows} rows of the vector ledger are missing.")

    def _corrupt(self, message: str) -> StoreCorrupt:
        return StoreCorrupt(message, where=str(self.path), hint=_REBUILD_HINT)


def missing_rows(path: Path, dimension: int, rows: int) -> int:
    """Return how many of so many rows a ledger lacks, by its size; all of them if there is no ledger."""
    try:
        with path.open("rb") as file:
            header = read_header(file.fileno())
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return rows
    dtype = header.get("dtype") if header is not None else None
    row_bytes = _row_layout(dimension, "int8" if dtype == "int8" else "float16").itemsize
    return max(0, rows - max(0, size - HEADER_BYTES) // row_bytes)


def stored_dtype(path: Path) -> str | None:
    """How the ledger at ``path`` stores its vectors: "float16" or "int8"; None if there is none that can be read."""
    try:
        with path.open("rb") as file:
            header = read_header(file.fileno())
    except OSError:
        return None
    return None if header is None else str(header.get("dtype", "float16"))


def min_file_bytes(dimension: int, rows: int, dtype: LedgerDtype = "float16") -> int:
    """Return the least size in bytes of a ledger with this number of rows."""
    return HEADER_BYTES + rows * _row_layout(dimension, dtype).itemsize


def quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return vectors, (..., dimension), as bytes, and the scale of each, (...), by which the bytes become a vector of
    the same length again. A vector of zeros has the scale 0."""
    wide = vectors.astype(np.float64)
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    steps = np.rint(wide * (STEPS / np.where(largest > 0, largest, 1.0)))
    lengths, rounded = np.linalg.norm(wide, axis=-1), np.linalg.norm(steps, axis=-1)
    return steps.astype(np.int8), (lengths / np.maximum(rounded, 1.0)).astype(np.float32)


def _row_layout(dimension: int, dtype: LedgerDtype) -> np.dtype[Any]:
    key = [("digest", f"V{DIGEST_BYTES}"), ("crc", "<u4")]
    if dtype == "int8":
        return np.dtype([*key, ("scale", "<f4"), ("vector", "i1", (dimension,))])
    return np.dtype([*key, ("vector", "<f2", (dimension,))])


def _crc(row: Any) -> int:
    crc = zlib.crc32(row["vector"].tobytes(), zlib.crc32(bytes(row["digest"])))
    return zlib.crc32(row["scale"].tobytes(), crc) if "scale" in row.dtype.names else crc
