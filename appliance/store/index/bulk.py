"""A whole index at once, in a folder that no search reads yet: segments that other processes write, put together.

To add points one batch after another, the engine writes each of them three times (log, segment in memory, optimized
segment) and keeps the interpreter lock meanwhile. ``write_segment`` writes one optimized segment, in a process of its
own, without a log: if it is interrupted, its folder is discarded. ``assemble`` moves the segments of several such
folders into a new shard. ``vacuum`` does so with the segments of an index, once those that hold what is to go have been
rewritten.

The engine leaves an update of a point out if the point has a higher version, the number of the update that wrote it.
Each segment was numbered by a shard of its own, so ``assemble`` first raises the number of the new shard's next update
above those of all its segments.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import qdrant_edge as q

from appliance.errors import StoreCorrupt
from appliance.paths import FOLDER_MODE, file_entries, sync_folder
from appliance.store.index import edge, marker, shard, trimming, validation
from appliance.store.index.protocol import IndexPoint

BATCH_POINTS = 1_000
"""Points in one update: with fewer, an update of a segment in memory takes longer, with more it does not."""

MEMORY_BYTES_A_FLOAT, MEMORY_BYTES_A_POINT = 6, 2_500
"""What a point takes in memory until its segment is optimized, at most: its vector, and terms, payload and keys."""

BATCH_IDS = 10_000

MAX_VERSION = 500_000
"""A new shard needs an update for each of the versions before it, which take a second for so many."""

_ABSENT_POINT = 2**63 - 1
_SEGMENTS = "segments"


def write_segment(folder: Path, dimension: int, batches: Iterable[Sequence[IndexPoint]]) -> int:
    """Write points into one optimized segment, in a folder that does not exist. Each point occurs once.

    Returns:
        The number of points.

    Raises:
        UsageError: A point is invalid.
        DiskFull, OutOfMemory, StoreError: The engine says so.
    """
    folder.mkdir(parents=True, mode=FOLDER_MODE)
    count = 0
    with shard.translate_errors("be built", folder):
        engine = q.EdgeShard.create(str(folder), shard.segment_config(dimension))
        before, after = shard.split_field_indexes()
        for operation in before:
            engine.update(operation)
        for batch in batches:
            validation.check_points(batch, dimension)
            for start in range(0, len(batch), BATCH_POINTS):
                points = [edge.engine_point(point) for point in batch[start : start + BATCH_POINTS]]
                engine.update(q.UpdateOperation.upsert_points(points))
            count += len(batch)
        engine.optimize()
        for operation in after:
            engine.update(operation)
        engine.flush()
        engine.close()
    return count


def assemble(folder: Path, dimension: int, parts: Sequence[Path], points: int) -> None:
    """Make an index in ``folder``, which does not exist, of the segments that ``write_segment`` has written.

    Args:
        folder: The folder of the new index.
        dimension: The dimension of the vectors.
        parts: The folders of the segments, which are emptied.
        points: How many points there must be.

    Raises:
        StoreCorrupt: The engine does not find so many points.
        DiskFull, OutOfMemory, StoreError: The engine says so.
    """
    _put_together(folder, dimension, [segment for part in parts for segment in _filled_segments(part)])
    for part in parts:
        shutil.rmtree(part)
    index = edge.open_edge(folder, dimension)
    try:
        if index.opened_with != points:
            raise StoreCorrupt(f"The new index has {index.opened_with} of {points} points.", where=str(folder))
    finally:
        index.close()
    _sync(shard.shard_folder(folder))


def vacuum(source: Path, folder: Path, dimension: int, ids: Sequence[int], min_points: int) -> list[int]:
    """Make an index in ``folder``, which does not exist, of what another one has but for some points: no file of it
    holds a value of those, nor of points that were deleted or replaced before. Segments without any of them are taken
    as they are.

    Args:
        source: The folder of the other index, which is closed. It is used up.
        folder: The folder of the new index.
        dimension: The dimension of the vectors.
        ids: The points that are to go; they need not exist.
        min_points: Points of a segment in memory are left out, too, if there are no more than about this many.

    Returns:
        The points of the new index, ascending.

    Raises:
        StoreCorrupt: A segment was not rewritten, or a point stands in several: the index must be built anew.
        StoreVersion: Another version made it.
        DiskFull, OutOfMemory, StoreError: The engine says so.
    """
    path = shard.shard_folder(source)
    trimming.restore(path, marker.read(source, dimension).lengths)
    with shard.translate_errors("be rewritten", source):
        engine = q.EdgeShard.load(str(path), shard.vacuum_config(dimension, min_points))
        for start in range(0, len(ids), BATCH_IDS):
            engine.update(q.UpdateOperation.delete_points(list(ids[start : start + BATCH_IDS])))
        # The sum over the segments is greater if two of them have a point, one of them an earlier form of it.
        is_sound = engine.info().points_count == engine.count(q.CountRequest(exact=True))
        while is_sound and engine.optimize():
            pass
        engine.flush()
        engine.close()
    segments = [segment for segment in sorted((path / _SEGMENTS).iterdir()) if _is_optimized(segment)]
    if not is_sound or any(map(_has_deleted_points, segments)) or max(map(_version, segments), default=0) > MAX_VERSION:
        raise StoreCorrupt("The segments of the index can't be rewritten one by one.", where=str(source))
    _put_together(folder, dimension, segments)
    shutil.rmtree(source)
    index = edge.open_edge(folder, dimension)
    try:
        kept = list(index.ids())
    finally:
        index.close()
    if not set(ids).isdisjoint(kept):
        raise StoreCorrupt("The new index has points that were to go.", where=str(folder))
    _sync(shard.shard_folder(folder))
    return kept


def _put_together(folder: Path, dimension: int, segments: Sequence[Path]) -> None:
    """Make a new shard in ``folder`` and move segments into it."""
    newest = max(map(_version, segments), default=0)
    engine = shard.open_shard(folder, dimension, prewarm=False).engine
    with shard.translate_errors("be built", folder):
        for _ in range(newest + 1):
            engine.update(q.UpdateOperation.delete_points([_ABSENT_POINT]))
        engine.flush()
        engine.close()
    target = shard.shard_folder(folder) / _SEGMENTS
    for segment in segments:
        segment.rename(target / segment.name)
    _sync(target)


def _filled_segments(part: Path) -> list[Path]:
    """The segments of a shard but the empty one that takes its next points. A few points are not optimized."""
    every = sorted((part / _SEGMENTS).iterdir())
    return [segment for segment in every if _is_optimized(segment)] or every


def _is_optimized(segment: Path) -> bool:
    legs = json.loads((segment / "segment.json").read_text())["config"]["sparse_vector_data"].values()
    return all(leg["index"]["index_type"] == "Mmap" for leg in legs)


def _has_deleted_points(segment: Path) -> bool:
    """Whether a segment still holds points that were deleted or replaced."""
    return any((segment / "id_tracker.deleted").read_bytes())


def _version(segment: Path) -> int:
    """The number of the last update of a segment, in its shard."""
    return int(json.loads((segment / "segment.json").read_text())["version"] or 0)


def _sync(folder: Path) -> None:
    """Make everything in a folder survive a power cut."""
    for entry in file_entries(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    for path, _, _ in os.walk(folder):
        sync_folder(Path(path))
