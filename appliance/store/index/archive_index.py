"""The archive index: one compact, memory-mapped file that keeps archived chunks findable.

    MAGIC, then segments one after the other, each
        a line of JSON (arrays, values, length and checksum of the body), with its own checksum
        the body: the arrays, each at a multiple of 64 bytes

A segment is appended and flushed before the messages in it are archived, so that none is ever missing; a torn one at
the end is cut off. Rows of messages that came back do no harm: the database decides which tier a message is in. When
there are too many segments, they are merged into a new file. The file can always be discarded: the database and the
ledger have everything that is in it. A damaged one is discarded when a search meets the damage, and is made again in
the background.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.errors import DiskFull, StoreCorrupt, StoreError
from appliance.lazy_dataclasses import dataclass
from appliance.paths import FILE_MODE, sync_folder
from appliance.runtime.decoding import decode
from appliance.store.index import conditions, sparse
from appliance.store.index.archive_segments import POSTINGS_LEGS, ArchivedPoint, Array, Mask, Segment, encode, merge
from appliance.store.index.conditions import Condition
from appliance.store.index.protocol import SCHEMA_VERSION, Leg, LegQuery, ScoredPoint
from appliance.store.room import file_errors, is_disk_full
from appliance.types import Filters, Scope

MAGIC = b"appliance archive index\n"

FORMAT_VERSION = 1

MAX_SEGMENTS = 6
"""Segments beyond which all are merged: each costs every search a preselection of its own, and a merge writes the
whole file."""

OVERSAMPLING = 5
"""How many times as many points as are wanted are preselected by their codes. Of the exact best hundred of 85,000
vectors, 90 % are then among the best hundred, and nearly all of the best ten; twenty times as many (99 %) take 10 ms
more a search and change no recall@10, because every other leg's candidates get their exact cosine anyhow."""

_ALIGNMENT = 64

_HEADER_LINE = b"%08x %08x\n"
_HEADER_LINE_BYTES = 18

ReadVectors = Callable[[Array], "NDArray[np.float32]"]
"""Reads rows of the ledger."""


class _ArrayPlace(msgspec.Struct, frozen=True):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class _SegmentHeader(msgspec.Struct, frozen=True):
    format: int
    schema: int
    dimension: int
    arrays: list[_ArrayPlace]
    values: dict[str, list[list[str]]]
    length: int
    crc: int
    sealed: bool


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How many texts of a scope there are, and in how many of them each term occurs."""

    texts: int
    documents: Mapping[int, int]


class ArchiveIndex:
    """The archive index of one generation; safe to call from several threads."""

    def __init__(self, path: Path, dimension: int, read_vectors: ReadVectors) -> None:
        """Open the file. What is missing, damaged or of another version is as if it had never been written: ``ids``
        returns what there is."""
        self.path = path
        self.dimension = dimension
        self._read_vectors = read_vectors
        self._lock = threading.RLock()
        self._length = 0
        self._opened: tuple[Segment, ...] | None = None

    @property
    def _segments(self) -> tuple[Segment, ...]:
        # Opened when they are first needed: most searches of a home need only the hot messages.
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._open()
        assert self._opened is not None
        return self._opened

    # --- writing --------------------------------------------------------------------------------------

    def append(self, points: Sequence[ArchivedPoint]) -> None:
        """Add or replace points, and return once they would survive a power cut.

        Raises:
            DiskFull: The disk is full.
            StoreError: It fails.
        """
        if not points:
            return
        segment = encode(points)
        with self._lock, self._writing():
            if len(self._segments) >= MAX_SEGMENTS:
                self._merge(lambda ids: np.ones(len(ids), bool))
            created = not self.path.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
            try:
                if not self._length:
                    os.ftruncate(descriptor, 0)
                    self._length = _write(descriptor, MAGIC, 0)
                os.ftruncate(descriptor, self._length)
                end = self._length
                for part in _encoded(segment, self.dimension, self._length, sealed=False):
                    end = _write(descriptor, part, end)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if created:
                sync_folder(self.path.parent)
            self._open()

    def retain(self, wanted: Callable[[Array], Mask]) -> None:
        """Write the file anew with only the points that ``wanted`` chooses from their ids."""
        with self._lock, self._writing():
            if self._segments:
                self._merge(wanted)
            else:
                self.discard()

    def merge_all(self) -> None:
        """Write the file anew as one segment, unless it is one."""
        if len(self._segments) > 1:
            self.retain(lambda ids: np.ones(len(ids), bool))

    def discard(self) -> None:
        """Delete the file."""
        with self._lock, file_errors(self.path, "deleted"):
            self.path.unlink(missing_ok=True)
            self._opened, self._length = (), 0

    def _merge(self, wanted: Callable[[Array], Mask]) -> None:
        """Write the file anew as one segment of the points that ``wanted`` chooses. Discards a damaged file."""
        merged = None
        with self._discarding_damage():
            merged = merge(self._segments, wanted)
        if merged is not None:
            self._replace(merged)

    @contextmanager
    def _discarding_damage(self) -> Iterator[None]:
        """Within it, a number in the file that leads outside of it, or of the ledger, has the file discarded."""
        try:
            yield
        except (IndexError, ValueError, StoreCorrupt):
            with suppress(OSError):  # nothing is deleted in a memory that is read-only
                self.discard()

    def _replace(self, segment: Segment) -> None:
        temporary = self.path.with_name(f"{self.path.name}.new")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
            try:
                end = _write(descriptor, MAGIC, 0)
                for part in _encoded(segment, self.dimension, end, sealed=True):
                    end = _write(descriptor, part, end)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, self.path)
        except OSError:
            with suppress(OSError):  # half a file would take the room that everything else needs
                temporary.unlink()
            raise
        sync_folder(self.path.parent)
        self._open()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "Make room on the disk. Nothing was archived by this step, and nothing is lost."
            message = f"The archive index can't be written: {error.strerror}."
            kind = DiskFull if is_disk_full(error) else StoreError
            raise kind(message, where=str(self.path), hint=hint) from error

    # --- reading --------------------------------------------------------------------------------------

    @property
    def written_rows(self) -> int:
        """The number of rows in the file, with those that were written again."""
        return sum(map(len, self._segments))

    @property
    def has_torn_end(self) -> bool:
        """Whether an interrupted ``append`` left something behind the segments."""
        return self.file_bytes > (self._length if self._segments else 0)

    @property
    def file_bytes(self) -> int:
        """The size of the file."""
        return self.path.stat().st_size if self.path.exists() else 0

    def __len__(self) -> int:
        return sum(len(segment) if segment.dead is None else int((~segment.dead).sum()) for segment in self._segments)

    def is_intact(self) -> bool:
        """Whether every segment is as it was written. What an interrupted ``append`` left behind them is none, and no
        damage. Reads the whole file."""
        with file_errors(self.path, "read"):
            return not self.path.exists() or _is_intact(self.path, self.dimension)

    def ids(self) -> Array:
        """The ids of all points, in no particular order."""
        found = [s.arrays["ids"] if s.dead is None else s.arrays["ids"][~s.dead] for s in self._segments]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def rows(self) -> dict[int, int]:
        """The ledger row of each point, by id."""
        found: dict[int, int] = {}
        for segment in self._segments:
            found |= zip(segment.arrays["ids"].tolist(), segment.arrays["rows"].tolist(), strict=True)
        return found

    def search(
        self, query: LegQuery, filters: Filters | None, limit: int, weights: Mapping[int, float]
    ) -> list[ScoredPoint]:
        """The best ``limit`` points of one leg, best first. ``weights`` are those of the query's terms."""
        required = conditions.filter_conditions(filters)
        found: list[list[ScoredPoint]] = []
        with self._discarding_damage():
            found = [self._search_segment(s, query, s.mask(required), limit, weights) for s in self._segments]
        return sorted((one for some in found for one in some), key=lambda one: (-one.score, one.id))[:limit]

    def _search_segment(
        self, segment: Segment, query: LegQuery, mask: Mask | None, limit: int, weights: Mapping[int, float]
    ) -> list[ScoredPoint]:
        if query.leg == "dense":
            assert query.vector is not None
            near = segment.nearest(query.vector, mask, limit * OVERSAMPLING)
            scores = self._exact(segment, near, query.vector)
        elif query.leg in POSTINGS_LEGS:
            every = segment.bm25(query.leg, weights)
            near = np.flatnonzero(every if mask is None else every * mask)
            scores = every[near]
        else:
            return []
        if len(near) > limit:
            best = np.argpartition(-scores, limit)[:limit]
            near, scores = near[best], scores[best]
        return _scored(segment.arrays["ids"][near], scores)

    def score(self, query: LegQuery, ids: Collection[int], weights: Mapping[int, float]) -> dict[int, float]:
        """The exact scores of given points in one leg, without those that share no term with it."""
        found: dict[int, float] = {}
        with self._discarding_damage():
            for segment in self._segments:
                rows = segment.places(ids)
                if not len(rows):
                    continue
                if query.leg == "dense":
                    assert query.vector is not None
                    scores = self._exact(segment, rows, query.vector)
                elif query.leg in POSTINGS_LEGS:
                    scores = segment.bm25(query.leg, weights)[rows]
                    rows, scores = rows[scores > 0], scores[scores > 0]
                else:
                    continue
                found |= dict(_scored(segment.arrays["ids"][rows], scores))
        return found

    def statistics(self, leg: Leg, terms: Collection[int], scope: Scope | None) -> TermStatistics:
        """How often terms occur in the texts of a scope, of all if it is None."""
        required: list[Condition] = [] if scope is None else conditions.statistics_conditions(scope)
        texts, documents = 0, dict.fromkeys(terms, 0)
        if leg not in POSTINGS_LEGS:
            return TermStatistics(texts, documents)
        with self._discarding_damage():
            for segment in self._segments:
                mask = segment.mask(required)
                texts += len(segment) if mask is None else int(mask.sum())
                for term in terms:
                    docs, _ = segment.postings(leg, term)
                    documents[term] += len(docs) if mask is None else int(mask[docs].sum())
        return TermStatistics(texts, documents)

    def _exact(self, segment: Segment, places: Array, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        rows = segment.arrays["rows"][places]
        scores: NDArray[np.float32] = self._read_vectors(rows) @ vector
        return scores

    # --- the file -------------------------------------------------------------------------------------

    def _open(self) -> None:
        with file_errors(self.path, "opened"):
            segments, self._length = _read_segments(self.path, self.dimension)
        seen: list[Array] = []
        for segment in reversed(segments):
            ids = segment.arrays["ids"]
            if seen and (again := np.isin(ids, np.concatenate(seen))).any():
                segment.dead = again
            seen.append(ids)
        self._opened = tuple(segments)


def inverse_document_frequency(texts: int, documents: float) -> float:
    """How rare a term is, as the engine computes it."""
    return math.log((texts - documents + 0.5) / (documents + 0.5) + 1)


def query_terms(query: LegQuery) -> list[int]:
    """The terms of a lexical query, by their numbers."""
    return [] if query.text is None else list(sparse.encode_query(query.text).indices)


def _scored(ids: Array, scores: Array) -> list[ScoredPoint]:
    return [ScoredPoint(id, score) for id, score in zip(ids.tolist(), scores.tolist(), strict=True)]


def _encoded(segment: Segment, dimension: int, start: int, *, sealed: bool) -> Iterator[bytes | memoryview]:
    """The bytes of a segment that begins at ``start``, in parts. ``sealed`` says that its file replaces another one
    as a whole, so that it can't be torn."""
    arrays = {name: np.ascontiguousarray(array) for name, array in segment.arrays.items()}
    places, offset, crc = [], 0, 0
    for name, array in arrays.items():
        places.append(_ArrayPlace(name, array.dtype.str, array.shape, offset))
        crc = zlib.crc32(_bytes(array), crc)
        offset = _aligned(offset + array.nbytes)
    values = {name: [list(value) for value in found] for name, found in segment.values.items()}
    header = msgspec.json.encode(
        _SegmentHeader(FORMAT_VERSION, SCHEMA_VERSION, dimension, places, values, offset, crc, sealed)
    )
    line = _HEADER_LINE % (len(header), zlib.crc32(header)) + header
    yield line.ljust(_aligned(start + len(line)) - start, b"\0")
    for place, array in zip(places, arrays.values(), strict=True):
        yield _bytes(array)
        yield bytes(_aligned(place.offset + array.nbytes) - place.offset - array.nbytes)


def _bytes(array: Array) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8)).cast("B") if array.size else memoryview(b"")  # type: ignore[arg-type]


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _write(descriptor: int, data: bytes | memoryview, offset: int) -> int:
    """Write at an offset; returns the offset behind."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    return offset


def _read_segments(path: Path, dimension: int) -> tuple[list[Segment], int]:
    """The whole segments of a file, and where they end; nothing of a file of another version."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError):  # an empty file can't be mapped
        return [], 0
    if content[: len(MAGIC)] != MAGIC:
        return [], 0
    segments, end = [], len(MAGIC)
    while (found := _read_segment(content, end, dimension)) is not None:
        segment, header, behind = found
        if _may_be_torn(header, behind, content) and _body_crc(segment) != header.crc:
            break
        segments.append(segment)
        end = behind
    return segments, end


def _read_segment(content: mmap.mmap, start: int, dimension: int) -> tuple[Segment, _SegmentHeader, int] | None:
    line = content[start : start + _HEADER_LINE_BYTES]
    try:
        length, crc = int(line[:8], 16), int(line[9:17], 16)
    except ValueError:
        return None
    encoded = content[start + _HEADER_LINE_BYTES : start + _HEADER_LINE_BYTES + length]
    if len(encoded) != length or zlib.crc32(encoded) != crc:
        return None
    header = decode(encoded, _SegmentHeader)
    body = _aligned(start + _HEADER_LINE_BYTES + length)
    if (header.format, header.schema, header.dimension) != (FORMAT_VERSION, SCHEMA_VERSION, dimension):
        return None
    if body + header.length > len(content):
        return None
    arrays = {
        place.name: np.frombuffer(content, place.dtype, math.prod(place.shape), body + place.offset).reshape(
            place.shape
        )
        for place in header.arrays
    }
    return Segment(arrays, header.values), header, body + header.length


def _body_crc(segment: Segment) -> int:
    crc = 0
    for array in segment.arrays.values():
        crc = zlib.crc32(_bytes(array), crc)
    return crc


def _is_intact(path: Path, dimension: int) -> bool:
    if not path.stat().st_size:  # it can't be mapped
        return False
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(MAGIC)
    while (found := _read_segment(content, end, dimension)) is not None:
        segment, header, end = found
        if _body_crc(segment) != header.crc:
            return _may_be_torn(header, end, content)
    return content[: len(MAGIC)] == MAGIC


def _may_be_torn(header: _SegmentHeader, end: int, content: mmap.mmap) -> bool:
    """Whether a segment may have been half written when its process died: it is the last one, and was appended."""
    return end >= len(content) and not header.sealed
