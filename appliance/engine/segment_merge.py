"""Merging the segments of a large embedded index in the background.

An index that was filled, batch after batch, has up to eight segments and opens in twice the time of one with two: the
engine takes as long for each, however small it is. Merging them in this process would hold the interpreter's lock for
ten seconds at 100,000 points, so the index is built anew in processes of its own (``ingest.index_build``), beside the
one that serves, from the vectors and texts that are stored. Nothing is indexed meanwhile, so it ends at once when
messages come; a process that is killed leaves the old index.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from appliance.engine.serving_generation import ServingGeneration
from appliance.errors import DiskFull
from appliance.ingest import index_build
from appliance.paths import Home
from appliance.runtime.workers import ShouldContinue
from appliance.store import chunks, summary_chunks
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index.edge import EdgeIndex

MIN_SPARE_SEGMENTS = 4
"""How many more segments than an index that is built has make it worth while: each takes 34 ms to open."""

RETRY_SECONDS = 600.0
"""How long an attempt that was given up is not repeated."""


class _MergeStopped(Exception):
    """Messages wait for the index, or the memory is being closed."""


class SegmentMerge:
    """The background job. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        database: Database,
        serving: ServingGeneration,
        is_idle: Callable[[], bool],
        without_drains: Callable[[], AbstractContextManager[None]],
        exclusive: Callable[[], AbstractContextManager[object]],
        rebuild_lock: AbstractContextManager[None],
    ) -> None:
        """
        Args:
            home: The home.
            database: Its database.
            serving: The serving generation.
            is_idle: Whether there was no query for a while.
            without_drains: Within it nothing is put into the index or dropped from it.
            exclusive: Within it nothing else is indexed.
            rebuild_lock: Held while an index is rebuilt.
        """
        self._home = home
        self._database = database
        self._serving = serving
        self._is_idle = is_idle
        self._without_drains = without_drains
        self._exclusive = exclusive
        self._rebuild_lock = rebuild_lock
        self._not_before = 0.0

    def run(self, should_continue: ShouldContinue) -> int:
        """Merge the segments if there are many, the index is open and nothing else is due. Returns 1 if they were."""
        if time.monotonic() < self._not_before or not self._serving.is_open or not self._is_idle():
            return 0
        generation = self._serving.current()
        if generation is None or not should_continue() or not self._is_worthwhile(generation):
            return 0
        with self._rebuild_lock, self._without_drains(), suppress(_MergeStopped, DiskFull):
            if self._merge(generation, should_continue):
                return 1
        self._not_before = time.monotonic() + RETRY_SECONDS
        return 0

    def _is_worthwhile(self, generation: Generation) -> bool:
        with self._serving.lease() as stores:
            if stores is None or stores.generation.id != generation.id or not isinstance(stores.index, EdgeIndex):
                return False
            segments, points = stores.index.segment_count(), stores.index.count()
        return (
            segments - index_build.segment_count(points) >= MIN_SPARE_SEGMENTS
            and not self._database.is_read_only
            and not self._has_work(generation)
            and index_build.is_worthwhile(self._home, self._database, generation)
        )

    def _has_work(self, generation: Generation) -> bool:
        return chunks.has_queued_work(self._database.read(), generation.id)

    def _merge(self, generation: Generation, should_continue: ShouldContinue) -> bool:
        """Build the index anew and put it in the place of the present one."""
        with self._serving.lease() as stores:
            if stores is None or self._has_work(generation):
                return False
            present = stores.index.count()

        def check(done: int, left: int) -> None:
            if not should_continue() or self._has_work(generation):
                raise _MergeStopped

        built = index_build.build(self._home, self._database, generation, check)
        summaries = summary_chunks.count(self._database.read(), generation.id)
        # A chunk whose vector is damaged has a point in the old index, and would have none in the new one.
        if built is None or len(built.keys) + summaries < present or self._has_work(generation):
            index_build.discard(self._home, generation)
            return False
        with self._exclusive(), self._serving.closed():
            with self._database.write() as tx:
                chunks.requeue_summaries(tx, generation.id)
            index_build.replace_index(self._home, generation)
        return True
