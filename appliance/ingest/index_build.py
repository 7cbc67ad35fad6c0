"""Builds the index of a generation anew, in processes of their own and beside the index that serves meanwhile.

``build`` divides the messages among processes, each of which builds one segment at a time (``segment_worker``), puts
the segments together and puts the new index in the place of the old one. The caller has queued all chunks before, and
keeps the indexer from putting or dropping points meanwhile. The chunks stay in the outbox: a drain then links their
messages with variants and takes them out, and ``BuiltPoints`` tells it which of them need no point. A process that is
killed at any time leaves either index whole, and the outbox as it was.
"""

from __future__ import annotations

import itertools
import math
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.ingest.segment_worker import KEYS_SUFFIX, SegmentPlan
from appliance.paths import FOLDER_MODE, Home, sync_folder
from appliance.runtime import child_process
from appliance.runtime.address_space import available_bytes
from appliance.runtime.processors import processors
from appliance.store import chunks, generations, point_ids
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index import bulk, preallocation
from appliance.store.room import free_bytes
from appliance.store.sql import JSON_KEYS_SQL, json_keys

MIN_CHUNKS = 20_000
"""With fewer, starting processes saves little: 20,000 points are put one batch after another in some ten seconds."""

MIN_CHUNKS_TO_GO_ON_SERVING = 2_000
"""The same where the alternative is an empty index: fewer chunks are put in a second, in which words find them."""

SEGMENT_POINTS, MAX_SEGMENT_POINTS, FEWEST_SEGMENTS = 50_000, 250_000, 6
"""The points of a segment: so many that six segments are enough, as the engine merges the smallest beyond eight when it
is next optimized. They are in memory until the segment is written."""

MAX_PROCESSES = 8
MEMORY_SHARE = 0.5
"""How much of the memory that is free all processes may take together."""


@dataclass(frozen=True, slots=True)
class BuiltPoints:
    """Chunks whose points an index has already, unless they were queued again, with a newer ticket."""

    ticket: int = 0
    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Sorted."""

    def has(self, ticket: int, chunk: int) -> bool:
        """Whether the index has the point of a queued chunk as it is in the database."""
        if ticket > self.ticket or not len(self.keys):
            return False
        place = int(np.searchsorted(self.keys, chunk))
        return place < len(self.keys) and int(self.keys[place]) == chunk


def is_worthwhile(home: Home, database: Database, generation: Generation, min_chunks: int | None = None) -> bool:
    """Whether the index of a generation is large enough to be built in processes of their own (by default from
    ``MIN_CHUNKS`` on), and there is room and memory for that beside the present one."""
    if available_bytes() is not None:
        return False
    count = count_points(database.read(), generation)
    if count < (MIN_CHUNKS if min_chunks is None else min_chunks) or not _process_count(count, generation.dimension):
        return False
    needed = 2 * preallocation.upsert_log_bytes(count, generation.dimension, 0)
    return free_bytes(home.index) > needed + preallocation.creating_bytes(home.index)


def build(
    home: Home, database: Database, generation: Generation, progress: Callable[[int, int], None]
) -> BuiltPoints | None:
    """Build an index of all chunks that have a vector, in the folder of ``built_path``.

    Args:
        home: The home.
        database: Its database.
        generation: The generation.
        progress: Called with the points done and the points left.

    Returns:
        The points; None if a process failed. Then there is no folder.
    """
    discard(home, generation)
    folder = built_path(home, generation)
    folder.mkdir(mode=FOLDER_MODE)
    # What a process of a killed build still writes must not come into this one.
    parts = Path(tempfile.mkdtemp(dir=folder))
    db = database.read()
    ticket, total = chunks.newest_ticket(db), count_points(db, generation)
    keys = np.array(chunks.messages_by_scope(db, generation.id), np.int64)
    np.save(parts / "messages.npy", keys)
    plans = list(_plans(home, database, generation, parts, len(keys), segment_count(total)))
    try:
        if not _run(plans, _process_count(total, generation.dimension), lambda done: progress(done, total - done)):
            discard(home, generation)
            return None
        built = np.sort(np.concatenate([np.load(plan.folder + KEYS_SUFFIX) for plan in plans]))
        bulk.assemble(folder / INDEX_FOLDER, generation.dimension, [Path(plan.folder) for plan in plans], len(built))
    except BaseException:
        discard(home, generation)
        raise
    return BuiltPoints(ticket, built)


def queue_missing(tx: sqlite3.Connection, generation: Generation, points: Sequence[int]) -> None:
    """Queue what an index with these points (ascending) lacks: chunks of messages, such as those without a sound vector
    when it was built, and the chunks of summaries, all of them if one is missing."""
    missing = list(point_ids.missing(tx, generation.id, points))
    if any(id >= chunks.SUMMARY_POINTS for id in missing):
        chunks.requeue_summaries(tx, generation.id)
    query = f"SELECT DISTINCT message_id FROM chunk WHERE id IN {JSON_KEYS_SQL}"
    chunks.requeue(tx, [key for (key,) in tx.execute(query, (json_keys(missing),))])


def replace_index(home: Home, generation: Generation) -> None:
    """Put the built index in the place of the present one; both must be closed."""
    generations.remove_index(home, generation.id)
    (built_path(home, generation) / INDEX_FOLDER).rename(generations.index_path(home, generation.id))
    sync_folder(home.index)
    discard(home, generation)


def discard(home: Home, generation: Generation) -> None:
    """Remove what a build has left over."""
    shutil.rmtree(built_path(home, generation), ignore_errors=True)


INDEX_FOLDER = "index"


def discard_leftovers(home: Home) -> None:
    """Remove what builds that were killed have left over; called before there are stores."""
    for folder in home.index.glob("g*.built"):
        shutil.rmtree(folder, ignore_errors=True)


def built_path(home: Home, generation: Generation) -> Path:
    return home.index / f"g{generation.id}.built"


def count_points(db: sqlite3.Connection, generation: Generation) -> int:
    """How many chunks of messages have a point, now or later."""
    return chunks.count(db, generation.id) - chunks.count_archived(db, generation.id)


def segment_count(points: int) -> int:
    """How many segments so many points get."""
    size = min(MAX_SEGMENT_POINTS, max(SEGMENT_POINTS, -(-points // FEWEST_SEGMENTS)))
    return max(min(processors(), MAX_PROCESSES), -(-points // size))


def _process_count(points: int, dimension: int) -> int:
    """How many processes build at a time: one a core, if their memory allows it; 0 if there is none for any."""
    size = -(-points // segment_count(points))
    needed = size * (bulk.MEMORY_BYTES_A_POINT + bulk.MEMORY_BYTES_A_FLOAT * dimension)
    return min(processors(), MAX_PROCESSES, int(_free_memory_bytes() * MEMORY_SHARE / needed))


def _free_memory_bytes() -> float:
    """The memory that no process uses; without a bound where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return 1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return math.inf


def _plans(
    home: Home, database: Database, generation: Generation, folder: Path, messages: int, count: int
) -> Iterator[SegmentPlan]:
    """The plans of ``count`` segments, whose files are in ``folder``."""
    rows = chunks.count_ledger_rows(database.read(), generation.id)
    bounds = [number * messages // count for number in range(count + 1)]
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        yield SegmentPlan(
            str(home.database), generation.id, str(generations.ledger_path(home, generation.id)), rows,
            generation.identity, generation.dimension, str(folder / "messages.npy"), start, stop,
            str(folder / f"segment-{number}"),
        )  # fmt: skip


def _run(plans: Sequence[SegmentPlan], processes: int, progress: Callable[[int], None]) -> bool:
    """Run the plans, some at a time; returns whether all succeeded."""
    done = [0] * len(plans)

    def run(number: int) -> bool:
        if failed.is_set():
            return False
        with started("appliance.ingest.segment_worker", plans[number]) as process:
            running.add(process)
            assert process.stdout is not None
            for line in process.stdout:
                done[number] = int(line)
        running.discard(process)
        if process.returncode:
            failed.set()
        return not process.returncode

    failed, running = threading.Event(), set[subprocess.Popen[str]]()
    with ThreadPoolExecutor(max(1, processes), "appliance-index-build") as pool:
        try:
            results = [pool.submit(run, number) for number in range(len(plans))]
            while wait(results, POLL_SECONDS, FIRST_EXCEPTION).not_done:
                progress(sum(done))
        except BaseException:
            failed.set()
            for process in list(running):
                process.kill()
            raise
        return all(result.result() for result in results)


def started(module: str, plan: msgspec.Struct) -> subprocess.Popen[str]:
    """Start a module of this program in a process of its own, with a plan as JSON."""
    return subprocess.Popen(
        child_process.command_for(module, msgspec.json.encode(plan).decode()),
        env=child_process.environment(),
        stdin=subprocess.PIPE,  # never written to: its end tells the process that this one is gone
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


POLL_SECONDS = 0.2
"""Seconds between two reports of the progress."""
