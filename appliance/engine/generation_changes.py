"""Another generation: built beside the serving one, exchanged for it in one step, and exchanged back.

    build      begin or resume → chunk and index what it lacks → switch
    roll back  the generation that served before → chunk and index what it lacks → switch
    complete   a kept generation → chunk and index what it lacks, so that it can be compared with the serving one

A generation serves only once it has all messages, so that no search misses any for it. While it gets them, searches
read the one that serves. An erasure, a backup or a rebuild of the index does not wait for the end of this, only for
its present batch. A killed build leaves a generation in the state "building", and the next build of the same vectors
goes on with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from appliance.engine.embedding_api import is_remote
from appliance.engine.leased_stores import LeasedStores
from appliance.engine.model_cache import ModelCache, vector_identity
from appliance.engine.serving_generation import ServingGeneration
from appliance.errors import DiskFull, EmbeddingApiError, StoreCorrupt, StoreError, UsageError
from appliance.ingest import archiver, indexer, rechunk
from appliance.ingest.indexer import IndexedBatch, IndexingContext
from appliance.paths import Home
from appliance.runtime.fair_lock import FairLock
from appliance.store import chunks, generation_states, generations
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.generations import DerivedStores
from appliance.timestamps import now
from appliance.types import OnEmbedded

if TYPE_CHECKING:
    from appliance_models import Embedder

SWITCH_CHUNKS = 64
"""A generation counts as complete when it lacked no more chunks than this at the last look. What has come since is
chunked while nothing can be stored, and embedded once the generation serves."""

BATCH_CHUNKS = 256
"""Chunks of a batch: what an interruption loses, and an erasure waits for, some two seconds. It costs a flush each."""

WAIT_NOTICE_SECONDS = 1.0
"""How long an erasure waits for other work before it says so."""

PROBE_TEXT = "memory"
"""What an embedding API is asked for first, to see that it takes the key, before anything is begun."""

IndexingContextOf = Callable[[DerivedStores, "Embedder"], IndexingContext]


@dataclass(frozen=True, slots=True)
class _FillResult:
    """How many chunks a generation got, whether it lacks no more, and since when it does not."""

    chunks: int
    is_complete: bool
    at: int


def _index_batch(context: IndexingContext) -> IndexedBatch:
    """Index a batch. What has a vector when an embedding API fails is put before the failure is raised."""
    try:
        return indexer.index_batch(context)
    except EmbeddingApiError:
        indexer.put_embedded(context)
        raise


def made_by(generation: Generation, name: str, model: Embedder) -> bool:
    """Whether a generation has the vectors that a model would make now."""
    return generation.model == name and generation.identity == vector_identity(model)


class GenerationChanges:
    """Builds, exchanges and drops the generations of an open home. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        database: Database,
        models: ModelCache,
        serving: ServingGeneration,
        rebuild_lock: FairLock,
        pause_indexing: Callable[[], AbstractContextManager[object]],
        indexing_context: IndexingContextOf,
    ) -> None:
        """
        Args:
            home: The home.
            database: Its database.
            models: Its models.
            serving: The generation that searches read.
            rebuild_lock: Keeps rebuilds, erasures and backups apart.
            pause_indexing: Keeps others from indexing into the serving generation within the context.
            indexing_context: What the indexer needs to fill a generation.
        """
        self._home = home
        self._database = database
        self._models = models
        self._serving = serving
        self._rebuild_lock = rebuild_lock
        self._pause_indexing = pause_indexing
        self._indexing_context = indexing_context
        self._running = threading.Lock()
        """Held by what fills a generation, from its first batch to its last."""
        self._compared_lock = threading.Lock()
        self._compared: int | None = None
        self._compared_stores = LeasedStores(self._open_compared)

    # --- building, and going back -------------------------------------------------------------------------

    def build(self, name: str | None, progress: OnEmbedded) -> int:
        """Build a generation, or go on with one that was interrupted, and let it serve when it is complete.

        Args:
            name: The embedding model, and the generation that served is kept; None to compute the vectors of the
                present model again, which replaces it.
            progress: Called with the chunks done and the chunks left.

        Returns:
            The number of indexed chunks.

        Raises:
            ModelUnavailable: The model can't be loaded, or (``EmbeddingApiError``) its API refuses a first word.
            UsageError: It is the one that serves.
        """
        with self._running:
            served = self._serving.current()
            model_name = name or (served.model if served else self._models.name)
            model = self._models.load(model_name)
            if name is not None and served is not None and made_by(served, name, model):
                raise UsageError(
                    f"The memory uses {name} already.", hint="'appliance reindex --vectors' computes its vectors again."
                )
            if is_remote(model):  # before all messages are chunked for it
                self._models.embed_passages(model, [PROBE_TEXT])
            with self._rebuild_lock:
                generation = self._resume_or_begin(model_name, model)
            keep = name is not None
            try:
                done = self._fill_then(
                    generation, model, lambda stores, _: self._switch(stores, model, keep=keep), progress
                )
            except DiskFull:  # what is half done would take the room that everything else needs
                self._give_up(generation)
                raise
            except EmbeddingApiError:
                if not chunks.count_ledger_rows(self._database.read(), generation.id):  # nothing to go on with
                    self._give_up(generation)
                raise
            if served is not None and not keep:
                generations.remove_files(self._home, served.id)
        return done

    def _give_up(self, generation: Generation) -> None:
        with suppress(StoreError), self._rebuild_lock:
            generations.discard(self._home, self._database, generation)

    def roll_back(self, number: int | None, progress: OnEmbedded) -> int:
        """Let a kept generation serve, by default the one that served before; the one that serves now is kept.

        Returns:
            The number of chunks that it lacked.

        Raises:
            UsageError: No generation is kept, or this one is not.
            NotFound: There is no such generation.
            ModelUnavailable: Its model can't be loaded.
        """
        with self._running:
            kept = generations.find_kept(self._home, self._database, number)
            model = self._models.for_generation(kept)
            return self._fill_then(kept, model, lambda stores, _: self._switch(stores, model, keep=True), progress)

    def complete(self, number: int, progress: OnEmbedded) -> int:
        """Give a kept generation all messages that were stored since it served. Returns the number of chunks.

        Raises:
            NotFound: There is no such generation.
        """
        with self._running:
            generation = generation_states.find(self._database.read(), number)
            if generation.state != "kept":  # a rollback was faster
                return 0
            model = self._models.for_generation(generation)

            def note_complete(stores: DerivedStores, filled: _FillResult) -> None:
                with self._database.write() as tx:
                    generation_states.note_complete(tx, generation.id, filled.at)
                stores.close()

            return self._fill_then(generation, model, note_complete, progress)

    def drop_kept(self, number: int | None) -> int:
        """Remove the generations that are kept, and one whose building was interrupted; or only one of them. Returns
        their number.

        Raises:
            UsageError: One is being built or completed at this moment, or this one serves.
            NotFound: There is no such generation.
        """
        if not self._running.acquire(blocking=False):
            raise UsageError(
                "Vectors of another generation are being made at this moment.",
                hint="Wait for the end of that 'appliance reindex', or stop it with Ctrl-C; then try again.",
            )
        try:
            with self._rebuild_lock, self._compared_stores.closed():
                if number is None:
                    stored = generation_states.stored(self._database.read())
                    dropped = [one for one in stored if one.state != "active"]
                else:
                    dropped = [generations.find_kept(self._home, self._database, number, building=True)]
                for generation in dropped:
                    generations.discard(self._home, self._database, generation)
        finally:
            self._running.release()
        return len(dropped)

    @property
    def is_running(self) -> bool:
        """Whether a generation is being built or completed."""
        return self._running.locked()

    def purge(self, should_continue: Callable[[], bool]) -> int:
        """Delete the rows of generations that were dropped. Returns the number of pages that this took."""
        return 0 if self._database.is_read_only else generation_states.purge(self._database, should_continue)

    def _resume_or_begin(self, name: str, model: Embedder) -> Generation:
        """The generation that an interrupted build of the same vectors has left, else a new one."""
        while (unfinished := generation_states.building(self._database.read())) is not None:
            if made_by(unfinished, name, model):
                with suppress(StoreCorrupt):
                    self._serving.open_generation(unfinished).close()
                    return unfinished
            generations.discard(self._home, self._database, unfinished)
        with self._database.write() as tx:
            return self._serving.begin(tx, name, model, "building")

    def _fill_then(
        self,
        generation: Generation,
        model: Embedder,
        finish: Callable[[DerivedStores, _FillResult], None],
        progress: OnEmbedded,
    ) -> int:
        """Fill a generation in turns with others that need the rebuild lock, then ``finish`` with its open stores.
        Returns the number of chunks that it got."""
        done = 0
        while True:
            with self._rebuild_lock, self._not_compared(generation):
                stores = self._serving.open_generation(generation)
                try:
                    filled = self._fill(stores, model, done, progress)
                    done = filled.chunks
                    if filled.is_complete:
                        finish(stores, filled)
                        return done
                except BaseException:
                    stores.close()
                    raise
                stores.close()

    def _fill(self, stores: DerivedStores, model: Embedder, done: int, progress: OnEmbedded) -> _FillResult:
        """Chunk and index what a generation lacks, until it is complete or somebody waits for the rebuild lock;
        ``done`` chunks were indexed before."""
        number, unoptimized = stores.generation.id, 0
        context = replace(self._indexing_context(stores, model), max_batch_chunks=BATCH_CHUNKS)
        self._serving.note_chunking(stores.generation)
        while True:
            at = now()
            self._chunk_all(number, model)
            lacking = chunks.count_pending(self._database.read(), number)
            while put := _index_batch(context):
                done, unoptimized = done + put.chunks, unoptimized + put.chunks + put.summary_chunks
                if unoptimized >= indexer.OPTIMIZE_AFTER_POINTS:
                    stores.index.optimize()
                    unoptimized = 0
                progress(done, chunks.count_pending(self._database.read(), number))
                if self._rebuild_lock.is_awaited:
                    return _FillResult(done, is_complete=False, at=at)
            if lacking <= SWITCH_CHUNKS:
                break
        stores.index.optimize()
        stores.make_private()
        archiver.rebuild_index(self._database, stores)
        return _FillResult(done, is_complete=True, at=at)

    def _chunk_all(self, generation: int, model: Embedder) -> None:
        chunker = self._serving.chunker(model)
        rechunk.messages(self._database, generation, chunker)
        rechunk.summaries(self._database, generation, chunker)

    def _switch(self, stores: DerivedStores, model: Embedder, *, keep: bool) -> None:
        """Let a generation serve, in one transaction. A running search looks up chunks of the one that served, and is
        waited for."""
        with self._pause_indexing(), self._serving.closed():
            served = self._serving.current()
            with self._database.write() as tx:
                self._chunk_all(stores.generation.id, model)
                generation_states.activate(tx, stores.generation.id)
                if served is not None and not keep:
                    generation_states.discard(tx, served.id)
            self._serving.serve(stores)

    # --- comparing ----------------------------------------------------------------------------------------

    @contextmanager
    def lease_kept(self, generation: Generation) -> Iterator[DerivedStores]:
        """The open stores of a kept generation, for a search to be compared with one of the serving generation. One
        of them is open at a time."""
        with ExitStack() as leases:
            with self._compared_lock:
                if self._compared != generation.id:
                    with self._compared_stores.closed():
                        self._compared = generation.id
                stores = leases.enter_context(self._compared_stores.lease())
            assert stores is not None
            yield stores

    @contextmanager
    def _not_compared(self, generation: Generation) -> Iterator[None]:
        """Within the context, a kept generation is not open to be compared: its index can be opened only once."""
        if generation.state != "kept":
            yield
            return
        with self._compared_lock, self._compared_stores.closed():
            yield

    def _open_compared(self) -> DerivedStores:
        assert self._compared is not None
        generation = generation_states.find(self._database.read(), self._compared)
        stores = self._serving.open_generation(generation)
        if not self._database.is_read_only:
            # Its vectors are there; points may have changed, or the index was removed by an erasure.
            context = self._indexing_context(stores, self._models.for_generation(generation))
            while indexer.index_batch(context):
                pass
        return stores

    @contextmanager
    def no_build(self) -> Iterator[None]:
        """Keep generations from being built or completed within the context; such a request waits for its end.

        Raises:
            StoreError: One is being built.
        """
        if not self._running.acquire(blocking=False):
            raise StoreError("Vectors of another generation are being made.", hint="Try again when they are complete.")
        try:
            yield
        finally:
            self._running.release()

    def turn(self, on_wait: Callable[[str], None]) -> AbstractContextManager[None]:
        """The turn of an erasure: no other rebuild within the context. ``on_wait`` is called with what it waits for, if
        it still does after ``WAIT_NOTICE_SECONDS``."""
        build = "the batch of vectors that a change of the model is making ('appliance reindex')"
        others = "a rebuild of the index, a backup or another erasure"
        return self._rebuild_lock.held(WAIT_NOTICE_SECONDS, lambda: on_wait(build if self.is_running else others))

    def kept_closed(self) -> AbstractContextManager[None]:
        """No kept generation is open to be compared within the context."""
        return self._compared_stores.closed()

    # --- erasing ------------------------------------------------------------------------------------------

    def erase_orphaned_vectors(self) -> int:
        """Erase from the files of the generations that do not serve what the database no longer has. Called with the
        rebuild lock. Returns the number of erased vectors."""
        erased = 0
        with self._compared_stores.closed():
            for generation in generation_states.stored(self._database.read()):
                if generation.state != "active":
                    erased += self._erase_orphaned_vectors(generation)
        return erased

    def _erase_orphaned_vectors(self, generation: Generation) -> int:
        try:
            erased = generations.erase_orphaned_vectors(self._home, self._database, generation)
        except StoreCorrupt:  # nothing of it can be erased, so all of it is
            generations.discard(self._home, self._database, generation)
            return 0
        if erased or chunks.next_drops(self._database.read(), generation.id, 1):
            generations.remove_points(self._home, generation.id)
        return erased

    def close(self) -> None:
        with self.kept_closed():
            pass
