"""The embedded index on disk: creates, opens and discards its folder.

    <folder>/engine.json    what made the index, and what it holds (see ``marker``)
    <folder>/shard/         the files of the engine

The folder can always be discarded: database and vector ledger have everything that is in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import qdrant_edge as q

from appliance.errors import ApplianceError, DiskFull, HomeError, HomeLocked, OutOfMemory, StoreCorrupt, StoreError
from appliance.paths import FOLDER_MODE, file_stats
from appliance.runtime.address_space import MEMORY_HINT, require_memory
from appliance.runtime.file_sizes import bounded_file_sizes
from appliance.runtime.processors import processors
from appliance.store.index import marker, preallocation, readahead, sparse, trimming
from appliance.store.index.marker import REINDEX_HINT, IndexContents, Marker
from appliance.store.room import ROOM_HINT, file_errors, free_bytes, require_room

_SHARD_FOLDER = "shard"

# From this number of points of 2-byte floats on, a segment is optimized. Opening 10,000 points that are not optimized
# takes 0.1 s and 20 MB; optimizing them takes about 2 s.
_MIN_OPTIMIZED_POINTS = 10_000
# Optimizing merges the smallest segments beyond this number; with two, every call would rewrite everything.
_MAX_SEGMENTS = 8
_NO_GRAPH_THRESHOLD_KB = 10**9

# The engine searches the segments on threads of its own, on a small machine on more of them than there are processors:
# eight on two, which wait for one another. A search of 100,000 points takes a twelfth more of the processors then, and
# no less time.
_MAX_SEARCH_THREADS = 8

# An engine that gets no memory ends the process or hangs. It maps all of its files; beyond these, opening took 250 MB
# of address space (threads, points in memory), and 100,000 points that are not optimized take 200 MB.
_OPENING_MEMORY_BYTES = 400_000_000
_EMPTY_SHARD_BYTES = 330_000_000

MAX_FILE_BYTES = 16_000_000_000
"""No file of the index is longer: 10 million points take 8 GB. Of a damaged length, the engine would make a file of
terabytes, and read it."""


@dataclass(frozen=True, slots=True)
class OpenedShard:
    """An open shard of the engine.

    Attributes:
        engine: The shard.
        is_fresh: Whether it is new.
        contents: What it held when it was last closed, if that is known.
        trims: How its files were cut then; None if a process did not close it.
    """

    engine: q.EdgeShard
    is_fresh: bool
    contents: IndexContents | None = None
    trims: Sequence[trimming.Trim] | None = None


def open_shard(folder: Path, dimension: int, *, prewarm: bool, threads: int = 0) -> OpenedShard:
    """Open the engine's shard in ``folder``, or create it.

    Args:
        folder: The folder of the index.
        dimension: The dimension of the vectors.
        prewarm: Whether to read the files ahead (see ``readahead``).
        threads: On how many threads it searches; 0 for one a processor.

    Raises:
        HomeLocked: Another process has it open.
        StoreVersion: Another version, schema or dimension made it.
        StoreCorrupt: It can't be read.
        DiskFull, OutOfMemory: There is too little room or memory to open it.
    """
    shard = folder / _SHARD_FOLDER
    if not shard.exists():
        return OpenedShard(_create(folder, dimension, threads), is_fresh=True)
    known = marker.read(folder, dimension)
    if prewarm:
        readahead.wait_until_read(shard)
    with file_errors(shard, "opened"):
        trims = trimming.restore(shard, known.lengths)
    is_known = known.lengths and len(trims) == len(known.lengths)
    return OpenedShard(
        _load(shard, dimension, threads), is_fresh=False, contents=known.contents, trims=trims if is_known else None
    )


def close_shard(
    shard: q.EdgeShard,
    folder: Path,
    dimension: int,
    contents: IndexContents,
    unchanged: Sequence[trimming.Trim] | None = None,
) -> None:
    """Flush and close the shard in ``folder``, note its contents, and cut its files behind what they hold.

    Args:
        shard: The shard, as ``open_shard`` returned it.
        folder: The folder of the index.
        dimension: The dimension of the vectors.
        contents: What it holds.
        unchanged: How its files were cut before, if it was only read since: then they need not be looked through. Where
            holes that are read take blocks, these are 60 MB of zeros.

    Raises:
        DiskFull, OutOfMemory, StoreError: The engine says so.
    """
    with translate_errors("close", folder):
        shard.flush()
        shard.close()
    with suppress(OSError):  # files that are not cut are only longer
        if unchanged is not None and trimming.still_fit(folder / _SHARD_FOLDER, unchanged):
            trims = list(unchanged)
        else:
            trims = trimming.plan(folder / _SHARD_FOLDER)
        marker.write(folder, dimension, Marker({trim.name: trim.length for trim in trims}, contents))
        trimming.cut(folder / _SHARD_FOLDER, trims)


def discard(folder: Path) -> None:
    """Delete an index that is not open, so that ``open_edge`` creates a new one. A missing folder is no error."""
    try:
        if folder.exists():
            # Renamed first, so that an interrupted removal does not leave half an index under the old name.
            discarded = folder.with_name(f"{folder.name}.discarded")
            shutil.rmtree(discarded, ignore_errors=True)
            folder.rename(discarded)
            shutil.rmtree(discarded)
    except OSError as error:
        raise HomeError(f"The index can't be deleted: {error}.", where=str(folder)) from error


def shard_folder(folder: Path) -> Path:
    """Where the engine's files are in the folder of an index."""
    return folder / _SHARD_FOLDER


def segment_config(dimension: int) -> q.EdgeConfig:
    """The configuration of a shard that becomes one optimized segment of another one: without a log."""
    return _config(dimension, wal_enabled=False, indexing_threshold=1)


def vacuum_config(dimension: int, min_points: int) -> q.EdgeConfig:
    """The configuration with which optimizing a shard rewrites every segment that has a deleted point, and makes one of
    the points in memory if they are more than about ``min_points``."""
    return _config(dimension, indexing_threshold=_kilobytes(min_points, dimension), is_vacuum=True)


def _kilobytes(points: int, dimension: int) -> int:
    return max(1, points * dimension * 2 // 1024)


def _config(
    dimension: int,
    *,
    wal_enabled: bool | None = None,
    indexing_threshold: int | None = None,
    is_vacuum: bool = False,
    search_threads: int | None = None,
) -> q.EdgeConfig:
    if indexing_threshold is None:
        indexing_threshold = _kilobytes(_MIN_OPTIMIZED_POINTS, dimension)
    return q.EdgeConfig(
        wal_enabled=wal_enabled,
        vectors={
            "dense": q.EdgeVectorParams(
                size=dimension,
                distance=q.Distance.Cosine,
                datatype=q.VectorStorageDatatype.Float16,
                memory=q.Memory.Cold,
                quantization_config=q.TurboQuantQuantizationConfig(
                    bits=q.TurboQuantBitSize.Bits4, memory=q.Memory.Cached
                ),
            )
        },
        sparse_vectors={
            leg: q.EdgeSparseVectorParams(modifier=q.Modifier.Idf, memory=q.Memory.Cold) for leg in sparse.LEGS
        },
        payload_memory=q.Memory.Cold,
        max_search_threads=search_threads,
        # m=0: a segment is optimized without building a graph.
        hnsw_config=q.HnswIndexConfig(m=0, ef_construct=16, full_scan_threshold=_NO_GRAPH_THRESHOLD_KB),
        optimizers=q.EdgeOptimizersConfig(
            indexing_threshold=indexing_threshold,
            default_segment_number=_MAX_SEGMENTS,
            deleted_threshold=0.0 if is_vacuum else None,
            vacuum_min_vector_number=0 if is_vacuum else None,
        ),
    )


def _field_indexes() -> list[q.UpdateOperation]:
    create = q.UpdateOperation.create_field_index
    cold = q.Memory.Cold
    return [
        create("scope", q.KeywordIndexParams(is_tenant=True, memory=cold)),
        *(
            create(name, q.KeywordIndexParams(memory=cold))
            for name in ("talk", "agent_id", "role", "level", "source", "author")
        ),
        create("session", q.IntegerIndexParams(lookup=True, range=False, memory=cold)),
        create("at", q.IntegerIndexParams(lookup=False, range=True, memory=cold)),
    ]


def split_field_indexes() -> tuple[list[q.UpdateOperation], list[q.UpdateOperation]]:
    """The field indexes that a shard needs before it is optimized, and those that are faster made afterwards. The
    engine stores the points of a scope side by side if it knows the scopes then."""
    scope, *others = _field_indexes()
    return [scope], others


def _create(folder: Path, dimension: int, threads: int) -> q.EdgeShard:
    """Create the shard and write the marker last: a shard without a marker was never finished."""
    shard_folder = folder / _SHARD_FOLDER
    require_memory(_EMPTY_SHARD_BYTES + _OPENING_MEMORY_BYTES, "create the index")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(FOLDER_MODE)
        require_room(folder, preallocation.creating_bytes(folder), "create the index")
        shard_folder.mkdir(mode=FOLDER_MODE)
        with translate_errors("be created", folder):
            shard = q.EdgeShard.create(str(shard_folder), _config(dimension, search_threads=_search_threads(threads)))
            for operation in _field_indexes():
                shard.update(operation)
            shard.flush()
        marker.write(folder, dimension, Marker())
    except OSError as error:
        raise HomeError(f"The index can't be created: {error}.", where=str(folder)) from error
    return shard


def _search_threads(threads: int) -> int:
    return threads or min(_MAX_SEARCH_THREADS, processors())


def _load(shard: Path, dimension: int, threads: int) -> q.EdgeShard:
    where = str(shard.parent)
    lengths = [stat.st_size for stat in file_stats(shard)]
    if max(lengths, default=0) > MAX_FILE_BYTES:
        raise StoreCorrupt("A file of the index has an impossible length.", where=where, hint=REINDEX_HINT)
    require_memory(sum(lengths) + _OPENING_MEMORY_BYTES, "open the index")
    require_room(shard, preallocation.opening_bytes(shard), "open the index")
    preallocation.preallocate(shard, 0, "open the index")
    try:
        with translate_errors("be opened", shard):
            return q.EdgeShard.load(str(shard), _config(dimension, search_threads=_search_threads(threads)))
    except (DiskFull, OutOfMemory):
        raise
    except StoreError as error:
        if "WouldBlock" in str(error):
            hint = "Close the other process, or share the memory through 'appliance serve'."
            raise HomeLocked("Another process has the index open.", where=where, hint=hint) from error
        raise StoreCorrupt(str(error), where=where, hint=REINDEX_HINT) from error


_DISK_FULL_SIGNS = ("os error 28)", "os error 122)", "os error 112)")  # ENOSPC, EDQUOT, and that of Windows
_TOO_LARGE_SIGNS = ("os error 27)",)  # EFBIG
_OUT_OF_MEMORY_SIGNS = ("os error 12)", "os error 1455)", "emory allocation", "out of memory")


@contextmanager
def translate_errors(what: str, folder: Path) -> Iterator[None]:
    """Raise everything that the engine raises as StoreError, including its panics, which are not Exceptions. ``what``
    completes "The index can't …"; ``folder`` is on its disk.

    Raises:
        StoreCorrupt: A damaged number would have made a file endless.
        DiskFull, OutOfMemory: The engine says so; that is no damage.
        StoreError: It says anything else.
    """
    try:
        with bounded_file_sizes(MAX_FILE_BYTES):
            yield
    except (ApplianceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        said = str(error)
        if any(sign in said for sign in _DISK_FULL_SIGNS):
            free = free_bytes(folder) / 1e6
            message = f"The index can't {what}: the disk is full, {free:,.1f} MB are free."
            raise DiskFull(message, where=str(folder), hint=ROOM_HINT) from error
        if isinstance(error, MemoryError) or any(sign in said for sign in _OUT_OF_MEMORY_SIGNS):
            message = f"The index can't {what}: this process gets no more memory."
            raise OutOfMemory(message, where=str(folder), hint=MEMORY_HINT) from error
        if any(sign in said for sign in _TOO_LARGE_SIGNS):
            message = f"The index can't {what}: a number in its files is damaged."
            raise StoreCorrupt(message, where=str(folder), hint=REINDEX_HINT) from error
        raise StoreError(f"The index can't {what}: {error}.") from error
