"""The serving generation with its model, its ledger and its index; indexing and rebuilding.

Each is loaded when it is first needed, because a full-text search or a status needs none of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from appliance.engine import server_erasure
from appliance.engine.chunk_changes import ChunkChanges
from appliance.engine.embedding_api import is_remote
from appliance.engine.generation_changes import GenerationChanges
from appliance.engine.model_cache import ModelCache, RecentMessages
from appliance.engine.search_access import SearchAccess
from appliance.engine.segment_merge import SegmentMerge
from appliance.engine.serving_generation import ServingGeneration
from appliance.engine.token_filling import TokenFilling
from appliance.errors import DiskFull, EmbeddingApiError, IndexUnavailable, ModelUnavailable, OutOfMemory, with_sentence
from appliance.ingest import archiver, index_build, index_vacuum, indexer
from appliance.ingest.archiver import ArchivingContext
from appliance.ingest.index_build import BuiltPoints
from appliance.ingest.indexer import IndexingContext, Throttle
from appliance.paths import Home
from appliance.requests import ReindexRequest
from appliance.retrieval.resources import SearchResources
from appliance.runtime.admission import AdmissionControl
from appliance.runtime.fair_lock import FairLock
from appliance.runtime.metrics import Metrics
from appliance.settings import Settings
from appliance.store import archive, chunks, generation_states, generations, lexical, outbox, variants
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.generations import DerivedStores
from appliance.types import Event, OnEmbedded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import Embedder

MAX_CATCH_UP_CHUNKS = 64
"""A search first embeds the waiting chunks, if there are no more than this."""

CATCH_UP_SECONDS = 0.05
"""How long a search waits for other indexing to pause, and how long it then embeds itself. Chunks that still wait are
found by full text; recent messages by meaning too, however long the outbox is."""

DRAIN_YIELD_SECONDS = 1.0
"""How long a drain delays its next batch for exclusive requests, however many there are."""

FORCE_OPTIMIZE_AFTER_POINTS = 40_000
"""New points after which the index is optimized even during queries: they take 80 MB of memory, and a second at the
next opening."""

CATCH_UP_STEP_CHUNKS = 8
"""Chunks that a search embeds before it looks at the clock."""

PROGRESS_INTERVAL_SECONDS = 0.5
"""Seconds between two events about the progress of embedding."""

ALL_STORED = "All messages are stored and can be found by their words."
"""What an error of indexing leaves untouched."""


class IndexService:
    """The derived state of an open home. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        database: Database,
        admission: AdmissionControl,
        metrics: Metrics,
        publish: Callable[[Event], None],
        models: ModelCache,
    ) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._admission = admission
        self._metrics = metrics
        self._publish = publish
        self._drain_lock = threading.Lock()
        self._rebuild_lock = FairLock()
        self._exclusive_requests: set[object] = set()
        self._no_exclusive_requests = threading.Condition()
        self._may_drain = threading.Event()
        self._may_drain.set()
        self._built_points = BuiltPoints()
        self._recent_messages = RecentMessages()
        self._unoptimized_points = 0
        self._unreported_chunks = 0
        self._reported_at = 0.0
        self.models = self._models = models
        self.serving = ServingGeneration(home, settings, database, self._models)
        self._changes = GenerationChanges(
            home, database, self._models, self.serving, self._rebuild_lock, self.exclusive, self._background_context
        )
        self.token_filling = TokenFilling(
            database, self._models, self.serving, self.exclusive, self._background_turn, self._background_context
        )
        self.chunk_changes = ChunkChanges(database, self._models, self.serving)
        self._search_access = SearchAccess(
            database, self._models, self.serving, self._changes, metrics, self._has_backlog, self._catch_up
        )
        self.no_build = self._changes.no_build
        self.segment_merge = SegmentMerge(
            home, database, self.serving, admission.is_idle, self._without_drains, self.exclusive, self._rebuild_lock
        )
        if not database.is_read_only:
            index_build.discard_leftovers(home)

    def close(self) -> None:
        with self.exclusive(), self.serving.closed():
            self._changes.close()
            self.serving.location.close()
            self._models.close()

    @property
    def model_name(self) -> str:
        """The model of the first generation of a new home."""
        return self._models.name

    def preserve_vectors(self) -> AbstractContextManager[None]:
        """No vector is erased and no generation removed within the context: a rebuild or an erasure waits for its end,
        or is waited for."""
        return self._rebuild_lock

    # --- embedding ------------------------------------------------------------------------------------

    def pending(self) -> int:
        """How many chunks wait for a vector or a point."""
        found = self.serving.current()
        return chunks.count_pending(self._database.read(), found.id) if found else 0

    def has_pending(self) -> bool:
        """Whether anything waits to be added to the derived stores or removed from them."""
        found = self.serving.current()
        return found is not None and chunks.has_queued_work(self._database.read(), found.id)

    def drain(self, progress: OnEmbedded = lambda done, pending: None, *, require_all: bool = False) -> int:
        """Embed and index all chunks that wait now, and return their number: not those that come while it works, or it
        would not end while messages are added steadily. Queries go first, see ``AdmissionControl``. What the model
        can't embed now goes on waiting; with ``require_all`` that is a ModelUnavailable."""
        return self._drain(lambda: True, progress, only_present=True, require_all=require_all)

    def _drain_embedded(self, progress: OnEmbedded) -> None:
        """Index what waits and has its vector, after the index was made anew. A long backlog without vectors goes on
        waiting: to embed it may take hours, and an erasure does not need it."""
        found, db = self.serving.current(), self._database.read()
        if found is None or outbox.count_without_vectors(db, found.id, MAX_CATCH_UP_CHUNKS + 1) <= MAX_CATCH_UP_CHUNKS:
            self.drain(progress)
            return
        with suppress(ModelUnavailable), self._drain_turn():
            if (stores := self.serving.open()) is not None:
                context = self._background_context(stores, self._models.for_generation(stores.generation))
                self._unoptimized_points += indexer.put_embedded(context)
                stores.make_private()

    def drain_if_possible(self, progress: OnEmbedded = lambda done, pending: None) -> int:
        """The same, for as long as the server of the index answers: what waits is indexed later."""
        with suppress(IndexUnavailable):
            return self.drain(progress)
        return 0

    def drain_while(self, should_continue: Callable[[], bool], *, require_all: bool = False) -> int:
        """The same, also with chunks that come meanwhile, for as long as ``should_continue`` returns True."""
        return self._drain(should_continue, lambda done, pending: None, only_present=False, require_all=require_all)

    def add_recent_message(self, message: int) -> None:
        """Note a new message, so that the next search finds it by meaning too."""
        self._recent_messages.add(message)

    def optimize_index(self, should_continue: Callable[[], bool]) -> int:
        """Optimize the index if it has many new points and no query runs. Returns 1 if it was optimized."""
        if (
            self._unoptimized_points < indexer.OPTIMIZE_AFTER_POINTS
            or not self._admission.is_idle()
            or not should_continue()
        ):
            return 0
        with self.exclusive():
            if (stores := self.serving.open()) is not None:
                stores.index.optimize()
            self._unoptimized_points = 0
        return 1

    @contextmanager
    def exclusive(self, seconds: float = -1) -> Iterator[bool]:
        """Keep others from indexing within the context; running drains pause after their batch.

        Yields whether this succeeded within ``seconds``. Taken before the lock of ``serving``, which a drain takes too.
        """
        request = object()
        self._exclusive_requests.add(request)
        acquired = False
        try:
            acquired = self._drain_lock.acquire(timeout=seconds)
            yield acquired
        finally:
            if acquired:
                self._drain_lock.release()
            with self._no_exclusive_requests:
                self._exclusive_requests.discard(request)
                self._no_exclusive_requests.notify_all()

    @contextmanager
    def _drain_turn(self) -> Iterator[None]:
        """Let those who want to be alone go first; then keep all others from indexing within the context."""
        with self._no_exclusive_requests:
            self._no_exclusive_requests.wait_for(lambda: not self._exclusive_requests, DRAIN_YIELD_SECONDS)
        with self._drain_lock:
            yield

    @contextmanager
    def _background_turn(self) -> Iterator[None]:
        """Let queries go first, then as in ``_drain_turn``."""
        self._admission.yield_to_queries()
        with self._drain_turn():
            yield

    def _drain(
        self, should_continue: Callable[[], bool], progress: OnEmbedded, *, only_present: bool, require_all: bool
    ) -> int:
        try:
            with nullcontext() if require_all else suppress(ModelUnavailable):
                return self._drain_rounds(should_continue, progress, only_present=only_present)
            return 0
        except (DiskFull, OutOfMemory, IndexUnavailable) as error:
            raise with_sentence(error, ALL_STORED) from error

    def _drain_rounds(self, should_continue: Callable[[], bool], progress: OnEmbedded, *, only_present: bool) -> int:
        done = rounds = 0
        up_to_ticket, opened = chunks.MAX_TICKET, None
        throttle = Throttle(
            self._admission.is_idle, self._admission.yield_to_queries, lambda: bool(self._exclusive_requests)
        )
        while should_continue():
            if not self._may_drain.wait(DRAIN_YIELD_SECONDS):
                continue
            with self._drain_turn():
                stores = self.serving.open()
                if stores is None:
                    return done
                if only_present and stores is not opened:  # a new index has everything queued again, with new tickets
                    up_to_ticket, opened = chunks.newest_ticket(self._database.read()), stores
                context = self._indexing_context(stores, self._models.for_generation(stores.generation), throttle)
                try:
                    put = indexer.index_batch(context, up_to_ticket)
                except EmbeddingApiError:
                    self._unoptimized_points += indexer.put_embedded(context, up_to_ticket)
                    raise
                self._unoptimized_points += put.chunks + put.summary_chunks
                should_optimize = not put or self._unoptimized_points >= indexer.OPTIMIZE_AFTER_POINTS
                if (
                    should_optimize and self._admission.is_idle()
                ) or self._unoptimized_points >= FORCE_OPTIMIZE_AFTER_POINTS:
                    stores.index.optimize()
                    self._unoptimized_points = 0
                if not put and rounds:
                    stores.make_private()
            if not put:
                if not rounds:  # another thread was faster, or nothing waited: report that too
                    progress(done, self.pending())
                break
            done, rounds, pending = done + put.chunks, rounds + 1, self.pending()
            self._report_progress(put.chunks, pending)
            progress(done, pending)
        return done

    def _indexing_context(self, stores: DerivedStores, model: Embedder, throttle: Throttle) -> IndexingContext:
        tokens = stores.tokens
        if tokens is not None and tokens.identity != self.serving.token_identity(model):
            tokens = None  # ``fill_tokens`` begins another one
        return IndexingContext(
            self._database, stores.generation.id, stores.ledger, stores.index,
            partial(self._models.embed_passages, model), tokens, throttle, self._metrics,
            *((model.texts_a_call, model.texts_a_request) if is_remote(model) else (0, 0)), self._built_points.has,
            chunker=self.serving.chunker(model), embed_step=self._settings.model.batch or indexer.EMBED_STEP_TEXTS,
        )  # fmt: skip

    def _background_context(self, stores: DerivedStores, model: Embedder) -> IndexingContext:
        """The resources of work that yields to queries."""
        return self._indexing_context(
            stores, model, Throttle(self._admission.is_idle, self._admission.yield_to_queries)
        )

    def _report_progress(self, chunks: int, pending: int) -> None:
        """Publish the progress of embedding, at intervals and at the end."""
        self._unreported_chunks += chunks
        if self._unreported_chunks and (
            not pending or time.monotonic() - self._reported_at > PROGRESS_INTERVAL_SECONDS
        ):
            self._reported_at = time.monotonic()
            done, self._unreported_chunks = self._unreported_chunks, 0
            self._publish(Event("embedded", "", {"chunks": done, "pending": pending}))

    def _catch_up(self, found: Generation, model: Embedder) -> dict[int, NDArray[np.float32]]:
        """Embed a small backlog, within a time limit. Returns the vectors of recent messages that still wait."""
        if chunks.count_pending_up_to(self._database.read(), found.id, MAX_CATCH_UP_CHUNKS + 1) <= MAX_CATCH_UP_CHUNKS:
            self._index_within_limit(found, model)
        return self._recent_messages.vectors(
            self._database.read(), found.id, model.identity, partial(self._models.embed_passages, model)
        )

    def _index_within_limit(self, found: Generation, model: Embedder) -> None:
        with ExitStack() as stack:
            with self._admission.suspend_yielding():
                if not stack.enter_context(self.exclusive(CATCH_UP_SECONDS)):
                    return
            stores, deadline = self.serving.open(), time.monotonic() + CATCH_UP_SECONDS
            if stores is None or stores.generation.id != found.id or not self._may_drain.is_set():
                return
            context = self._indexing_context(stores, model, Throttle(is_idle=lambda: False))
            with suppress(DiskFull, OutOfMemory, IndexUnavailable):  # full text finds what still waits
                while put := indexer.put_chunks(context, CATCH_UP_STEP_CHUNKS):
                    self._unoptimized_points += put
                    self._report_progress(put, 0)
                    if time.monotonic() > deadline:
                        return

    # --- search ---------------------------------------------------------------------------------------

    def search_resources(
        self, *, dense: bool, number: int | None = None
    ) -> AbstractContextManager[SearchResources | None]:
        """See ``SearchAccess.resources``."""
        return self._search_access.resources(dense=dense, number=number)

    def _has_backlog(self, found: Generation) -> bool:
        """Whether anything waits that a search embeds first."""
        if self._database.is_read_only:
            return False
        most = MAX_CATCH_UP_CHUNKS + 1
        return bool(self._recent_messages) or (
            0 < chunks.count_pending_up_to(self._database.read(), found.id, most) < most
        )

    # --- rebuilding -----------------------------------------------------------------------------------

    def reindex(self, request: ReindexRequest, progress: OnEmbedded) -> int:
        """See ``ReindexRequest``."""
        if request.drop_old:
            dropped = self._changes.drop_kept(request.generation)
            self.serving.drop_unused_collections()
            return dropped
        if request.model is not None or request.vectors or request.rollback:
            return self.change_generation(request, progress)
        return self.token_filling.rebuild(progress) if request.tokens else self.rebuild_index(progress)

    def rebuild_index(self, progress: OnEmbedded) -> int:
        """Rebuild the database's own indexes, full text, index and the links between variants, from the tables and
        the ledger.

        Returns:
            The number of indexed chunks.
        """
        with self._rebuild_lock, self._without_drains():
            with self.exclusive(), self.serving.closed():
                found = self.serving.ensure()
                self._database.rebuild_indexes()
                self.chunk_changes.apply(found)
                is_built_beside = self._is_embedded and index_build.is_worthwhile(self._home, self._database, found)
                if not is_built_beside:
                    self.serving.remove_index(found)
                with self._database.write() as tx:
                    lexical.rebuild(tx)
                    variants.delete_all(tx)
                    chunks.requeue_all(tx, found.id, embedded_last=is_built_beside)
            if is_built_beside:
                self._build_beside(found, progress)
        try:
            done = self.drain(progress)
        finally:
            self._built_points = BuiltPoints()
        with self.serving.lease() as stores:  # now that what was chunked again has its vectors
            archiver.rebuild_index(self._database, stores)
        return done

    def _build_beside(self, generation: Generation, progress: OnEmbedded) -> None:
        """Build the index of a generation while the present one serves, and put it in its place. What it still lacks is
        queued. Called within ``_without_drains``."""
        built = index_build.build(self._home, self._database, generation, progress)
        with self.exclusive(), self.serving.closed():
            if built is None:
                self.serving.remove_index(generation)
            else:
                with self._database.write() as tx:
                    index_build.queue_missing(tx, generation, built.keys.tolist())
                index_build.replace_index(self._home, generation)
                self._built_points = built

    def _vacuum_beside(self, generation: Generation) -> bool:
        """Put a copy of an index, without what waits in the outbox, in its place; returns whether this succeeded."""
        if (kept := index_vacuum.run(self._home, generation)) is None:
            return False
        with self.exclusive(), self.serving.closed():
            with self._database.write() as tx:
                index_build.queue_missing(tx, generation, kept)
            index_build.replace_index(self._home, generation)
            return True

    @contextmanager
    def _without_drains(self) -> Iterator[None]:
        """Nothing is put into the index or dropped from it within the context."""
        self._may_drain.clear()
        try:
            yield
        finally:
            self._may_drain.set()

    @property
    def _is_embedded(self) -> bool:
        return not self.serving.location.server

    def expunge(self, progress: OnEmbedded, on_wait: Callable[[str], None] = lambda waits_for: None) -> int:
        """Erase from ledger, index and full text what the database no longer has, and compact the database.

        The engine of an embedded index keeps deleted points in its files, so a small index is made anew. Of a large one
        the segments that have any are rewritten, or all if these are most; it serves until the new one takes its place.
        If it is interrupted, the memory still works, and it can be repeated.
        ``on_wait`` is called with what it waits for, if that takes long. Returns the number of erased vectors.
        """
        archive.rewrite_all_retired_frames(self._database)
        with self._changes.turn(on_wait), self._without_drains():
            with self.exclusive(), self.serving.closed():
                found = self.serving.current()
                with self._database.write() as tx:
                    chunks.delete_orphaned_embeddings(tx)
                    lexical.optimize(tx)
                erased = self._changes.erase_orphaned_vectors()
                is_built_beside = is_copied = False
                if found is not None:
                    erased += generations.erase_orphaned_vectors(self._home, self._database, found)
                    is_built_beside = self._is_embedded and index_build.is_worthwhile(
                        self._home, self._database, found, index_build.MIN_CHUNKS_TO_GO_ON_SERVING
                    )
                    if is_built_beside:
                        is_copied = index_vacuum.copy_index(self._home, self._database, found)
                    elif (
                        not self._is_embedded
                    ):  # ``server_erasure.erase_points`` does the rest, once the server answers
                        server_erasure.erase_local_traces(self._home, self._database, found)
                    else:
                        generations.remove_index_for_rebuild(self._home, self._database, found)
                        with self._database.write() as tx:
                            chunks.requeue_all(tx, found.id)
            if found is not None and is_built_beside and not (is_copied and self._vacuum_beside(found)):
                self._build_beside(found, progress)
        if self._is_embedded:
            try:
                self._drain_embedded(progress)
            finally:
                self._built_points = BuiltPoints()
            with self.serving.lease() as stores:
                archiver.erase_traces(self._database, stores)
        with self.exclusive():
            self._database.compact()
        return erased

    def change_generation(self, request: ReindexRequest, progress: OnEmbedded) -> int:
        """Build a generation with another model or anew, or go back to the one before. Returns the number of indexed
        chunks."""
        name = None if request.model is None else self._settings.model.full_name(request.model)
        changes = self._changes
        change = partial(changes.roll_back, request.generation) if request.rollback else partial(changes.build, name)
        done = change(progress)
        self._unoptimized_points = 0
        self.token_filling.queue()
        with self.serving.lease() as stores:
            if stores is not None:  # what was archived during the switch
                archiver.complete_index(ArchivingContext.of(self._database, stores))
        self.serving.drop_unused_collections()
        return done + self.drain()

    def complete_kept(self, number: int, progress: OnEmbedded) -> int:
        """Embed what a kept generation lacks. Returns the number of chunks."""
        generation = generation_states.find(self._database.read(), number)
        return self.drain(progress) if generation.state == "active" else self._changes.complete(number, progress)

    @property
    def is_building(self) -> bool:
        """Whether a generation is being built or completed."""
        return self._changes.is_running

    def kept_closed(self) -> AbstractContextManager[None]:
        """No kept generation is open within the context, to be compared with the serving one."""
        return self._changes.kept_closed()

    def purge_generations(self, should_continue: Callable[[], bool]) -> int:
        """See ``GenerationChanges.purge``."""
        return self._changes.purge(should_continue)
