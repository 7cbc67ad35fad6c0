"""Rewrites the segments of an index that hold points which are to go, in a process of its own and beside the index that
serves meanwhile.

An erasure must leave no value of an erased point in any file, and the engine keeps deleted points in its segments. To
build the whole index anew for one message takes as long as for all. So the index is copied, what waits in the outbox is
deleted from the copy, and the engine rewrites the segments that have deleted points, from what it has: it encodes no
text again. Like ``index_build``, this leaves either index whole when it is killed.

    python -m appliance.ingest.index_vacuum PLAN
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np

from appliance.ingest import index_build
from appliance.ingest.segment_worker import end_with_the_parent
from appliance.paths import FOLDER_MODE, Home
from appliance.store import generations, outbox
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index import bulk, preallocation
from appliance.store.room import free_bytes

MAX_SHARE = 0.5
"""The share of the points up to which this is worth while: where more of them go, or are put again, the index is built
anew."""

MIN_POINTS = 500
"""Points in memory that become a segment; fewer are put again, in less time than a segment more costs at each start."""

_COPY, _KEPT, _IDS = "copy", "kept.npy", "ids.npy"


class VacuumPlan(msgspec.Struct, frozen=True):
    """``folder`` has the copy of the index and the points that are to go; ``target`` is the folder of the new index."""

    folder: str
    target: str
    dimension: int
    min_points: int


def copy_index(home: Home, database: Database, generation: Generation) -> bool:
    """Copy the embedded index of a generation, which must be closed, and note which points are to go: all that wait in
    the outbox. Nothing may be put or dropped before ``replace_index``.

    Returns:
        Whether this is worth while, and has been done: there may be no room for it, or a file can't be read.
    """
    index, folder = generations.index_path(home, generation.id), index_build.built_path(home, generation)
    index_build.discard(home, generation)
    ids = outbox.points(database.read(), generation.id)
    if (
        not index.is_dir()
        or len(ids) > MAX_SHARE * index_build.count_points(database.read(), generation)
        or free_bytes(home.index) < preallocation.optimizing_bytes(index)
    ):
        return False
    try:
        folder.mkdir(mode=FOLDER_MODE)
        shutil.copytree(index, folder / _COPY)
        np.save(folder / _IDS, np.array(ids, np.int64))
    except (OSError, shutil.Error):
        index_build.discard(home, generation)
        return False
    return True


def run(home: Home, generation: Generation) -> list[int] | None:
    """Make the new index of the copy, where ``index_build.replace_index`` expects it.

    Returns:
        Its points, ascending; None if that failed. Then there is no folder.
    """
    folder = index_build.built_path(home, generation)
    plan = VacuumPlan(str(folder), str(folder / index_build.INDEX_FOLDER), generation.dimension, MIN_POINTS)
    try:
        with index_build.started("appliance.ingest.index_vacuum", plan) as process:
            try:
                failed = process.wait()
            except BaseException:
                process.kill()
                raise
        if not failed:
            return [int(id) for id in np.load(folder / _KEPT)]
    except BaseException:
        index_build.discard(home, generation)
        raise
    index_build.discard(home, generation)
    return None


def main() -> None:
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    carry_out(msgspec.json.decode(sys.argv[1], type=VacuumPlan))


def carry_out(plan: VacuumPlan) -> None:
    """Make the new index of a plan.

    Raises:
        StoreError: See ``bulk.vacuum``.
    """
    folder = Path(plan.folder)
    ids = np.load(folder / _IDS).tolist()
    kept = bulk.vacuum(folder / _COPY, Path(plan.target), plan.dimension, ids, plan.min_points)
    np.save(folder / _KEPT, np.array(kept, np.int64))


if __name__ == "__main__":
    main()
