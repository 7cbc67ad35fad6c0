"""Room on the disk for the embedded engine, taken before it writes.

The engine writes through memory maps of files that are mostly holes. Where the disk has no block left for such a write,
the system ends the process (SIGBUS), and there is no error to catch. So before each update the blocks that it may touch
are allocated, which fails as an ordinary error, and what begins new files needs room to spare.

Measured for points of 384 dimensions with texts of 60 words: a point takes 3.3 KB in the engine's log and 2.5 KB in its
segment, a new shard 0.2 MB.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from appliance.paths import file_entries
from appliance.store.room import allocated_bytes, free_bytes, is_disk_full, no_room, require_room

SPARE_BYTES = 4_000_000
"""Room for the files that the engine begins by itself: of a segment that holds nothing yet, or of its next log."""

_FRONT_BYTES = 32_768
"""Allocated behind the data of every file: more than an update of one batch takes of a file of flags or numbers."""

_SMALL_FILE_BYTES = 524_288
"""Files up to this size are allocated as a whole: their bits are set in any order."""

_DELETED_FLAGS_BYTES = 262_144
"""Allocated of the flags of deleted points, which are set in any order: enough for two million points."""

_ENTRY_BYTES, _FLOAT_BYTES, _CHARACTER_BYTES = 1_500, 5, 2
"""An upper bound of a point's bytes in the log: its payload and names, each number of its vector, each character of its
texts (a term and its weight take ten bytes, and five characters or more)."""

_ID_BYTES = 16

_FILE_SHARE = 0.5
"""No file of the segment grows by more than this share of what the log grows by."""

_POPULATED = ("payload_index", "quantized_data")
"""The folders whose files the engine reads whole when it opens them, holes and all."""

_PROBE_BYTES = 1_000_000


def upsert_log_bytes(points: int, dimension: int, characters: int) -> int:
    """How much the engine's log grows, at most, by an upsert of so many points with texts of so many characters."""
    return points * (_ENTRY_BYTES + _FLOAT_BYTES * dimension) + _CHARACTER_BYTES * characters


def deletion_log_bytes(points: int) -> int:
    """How much the engine's log grows, at most, by the deletion of so many points."""
    return _ENTRY_BYTES + _ID_BYTES * points


def preallocate(shard: Path, log_growth: int, purpose: str) -> None:
    """Allocate what an update may write into a shard's files, given how much its log grows.

    Raises:
        DiskFull: The disk has too little room; ``purpose`` completes "The disk has no room to …".
    """
    file_growth = int(log_growth * _FILE_SHARE)
    # The log and six files of the segment grow.
    needed = 3 * log_growth + SPARE_BYTES
    require_room(shard, needed, purpose)
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        for entry in file_entries(shard):
            with suppress(FileNotFoundError):
                stat = entry.stat(follow_symlinks=False)
                if allocated_bytes(stat) < stat.st_size:
                    _fill_holes(entry, stat.st_size, log_growth, file_growth)
    except OSError as error:
        if is_disk_full(error):
            raise no_room(shard, needed, purpose) from error
        raise


def _fill_holes(entry: os.DirEntry[str], size: int, log_growth: int, file_growth: int) -> None:
    descriptor = os.open(entry.path, os.O_RDWR)
    try:
        found = list(holes(descriptor, size))
        data_end = found[-1][0] if found and found[-1][1] == size else size
        stop = _allocated_end(entry, size, data_end, log_growth, file_growth)
        for start, end in found:
            if start < stop:
                os.posix_fallocate(descriptor, start, min(end, stop) - start)
    finally:
        os.close(descriptor)


def _allocated_end(entry: os.DirEntry[str], size: int, data_end: int, log_growth: int, file_growth: int) -> int:
    """Up to where a file of this size needs its blocks, whose data end at ``data_end``."""
    if size <= _SMALL_FILE_BYTES:
        return size
    parts = entry.path.split(os.sep)
    if parts[-2] == "deleted":
        return max(data_end + _FRONT_BYTES, _DELETED_FLAGS_BYTES)
    if parts[-2] == "wal":
        return data_end + _FRONT_BYTES + log_growth
    if "payload_index" not in parts and entry.name.startswith(("page_", "chunk_")):
        return data_end + _FRONT_BYTES + file_growth
    return data_end + _FRONT_BYTES


def holes(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """The holes of a file, from and to, in order."""
    at = 0
    while at < size:
        hole = os.lseek(descriptor, at, os.SEEK_HOLE)
        if hole >= size:
            return
        try:
            at = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            at = size
        yield hole, at


def opening_bytes(shard: Path) -> int:
    """The room that opening a shard takes: to spare, and where holes that are read take blocks, that of those."""
    if not _is_room_taken_by_reading(shard.parent):
        return SPARE_BYTES
    stats = [
        entry.stat(follow_symlinks=False)
        for entry in file_entries(shard)
        if any(part in entry.path.split(os.sep) for part in _POPULATED)
    ]
    return SPARE_BYTES + sum(max(0, stat.st_size - allocated_bytes(stat)) for stat in stats)


EMPTY_SEGMENT_BYTES = 17_000_000
"""What a segment without points takes where holes that are read take blocks."""


def creating_bytes(folder: Path) -> int:
    """The room that a new shard, or a new segment, takes in a folder."""
    return SPARE_BYTES + (EMPTY_SEGMENT_BYTES if _is_room_taken_by_reading(folder) else 0)


def optimizing_bytes(folder: Path) -> int:
    """The room that optimizing a shard takes at most: the segments are written anew before the old ones go."""
    stats = [entry.stat(follow_symlinks=False) for entry in file_entries(folder)]
    return creating_bytes(folder) + 2 * sum(allocated_bytes(stat) for stat in stats)


def rebuilding_bytes(folder: Path, points: int, dimension: int) -> int:
    """The room that rebuilding a shard with so many points takes in a folder, at most, on top of what the present files
    in it give back."""
    present = sum(allocated_bytes(entry.stat(follow_symlinks=False)) for entry in file_entries(folder))
    # The segments stand twice while they are optimized.
    return max(0, creating_bytes(folder.parent) + 2 * upsert_log_bytes(points, dimension, 0) - present)


def _is_room_taken_by_reading(folder: Path) -> bool:
    """Whether reading a hole through a memory map takes a block, as on tmpfs; tried out on a file of its own."""
    if not hasattr(os, "posix_fallocate") or free_bytes(folder) < _PROBE_BYTES:
        return False  # with less than that nothing is opened anyway
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.truncate(mmap.PAGESIZE)
        with mmap.mmap(probe.fileno(), mmap.PAGESIZE, access=mmap.ACCESS_READ) as mapped:
            mapped[0]
        return os.fstat(probe.fileno()).st_blocks > 0
