"""The serving generation of an open home: its model, and its stores, which are opened when they are first needed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from appliance.engine.index_location import IndexLocation
from appliance.engine.leased_stores import LeasedStores
from appliance.engine.model_cache import ModelCache, max_positions, token_identity, vector_identity
from appliance.engine.passage_vectors import token_dimension
from appliance.errors import IndexUnavailable, ModelUnavailable, StoreError
from appliance.ingest.chunk import Chunker, WholeMessages, chunk_tokens
from appliance.paths import Home
from appliance.runtime.workers import ShouldContinue
from appliance.settings import Settings
from appliance.store import chunk_spans, chunks, generation_states, generations, server_collections, token_places
from appliance.store.check import ModelWindow
from appliance.store.database import Database
from appliance.store.generation_states import Chunking, Generation
from appliance.store.generations import DerivedStores
from appliance.store.index.mirror import MirrorIndex
from appliance.store.index.protocol import VectorIndex
from appliance.store.vectors import VectorLedger

if TYPE_CHECKING:
    from appliance_models import Embedder


class ServingGeneration:
    """The generation that searches read, with its model and its stores. Safe to use from several threads."""

    def __init__(self, home: Home, settings: Settings, database: Database, models: ModelCache) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._models = models
        self._lock = threading.RLock()
        self._stores = LeasedStores(self._open_current)
        self.location = IndexLocation(settings.index)
        self.mirror: Callable[[VectorIndex], VectorIndex] | None = None
        """While the index is moved: what updates of the serving index go through; see ``index_move``."""

    def current(self) -> Generation | None:
        """The serving generation; None in a home that never stored anything."""
        return generation_states.active(self._database.read())

    def ensure(self) -> Generation:
        """The serving generation, begun with the configured model if there is none yet.

        Raises:
            ModelUnavailable: Its model can't be loaded, or is no longer the one that made its vectors.
        """
        with self._lock:
            found = self.current()
            if found is None:
                model = self._models.load(self._models.name)
                with self._database.write() as tx:
                    return self.begin(tx, self._models.name, model, "active")
            self._models.for_generation(found)
            return found

    def begun(self) -> Generation:
        """The serving generation, whether its model can be used or not; the first one needs its model.

        Raises:
            ModelUnavailable: There is none yet, and its model can't be loaded.
        """
        return self.current() or self.ensure()

    def begin(
        self, tx: sqlite3.Connection, name: str, model: Embedder, state: Literal["active", "building"]
    ) -> Generation:
        """Add a generation of a model, without chunks and vectors."""
        new = generation_states.begin(tx, name, vector_identity(model), model.dimension, state)
        generation_states.set_chunkings(tx, new.id, {self.chunking})
        if identity := self.token_identity(model):
            token_places.begin(tx, new.id, identity, token_dimension(model))
        return new

    # --- its stores -------------------------------------------------------------------------------------

    def open(self) -> DerivedStores | None:
        """The ledgers and the index of the serving generation, opened if necessary."""
        return self._stores.open()

    def _open_current(self) -> DerivedStores | None:
        found = self.current()
        if found is None:
            return None
        generations.remove_orphaned_files(self._home, self._database)
        stores = self.mirrored(self.open_generation(found))
        self.drop_unused_collections()
        return stores

    def mirrored(self, stores: DerivedStores) -> DerivedStores:
        return stores if self.mirror is None else replace(stores, index=self.mirror(stores.index))

    @property
    def is_open(self) -> bool:
        return self._stores.is_open

    def open_generation(self, generation: Generation) -> DerivedStores:
        """The stores of a generation, which may not serve yet."""
        return generations.open_stores(
            self._home,
            self._database,
            generation,
            server=self.location.nodes(),
            ledger_dtype=self._settings.index.ledger,
            search_threads=self._settings.index.search_threads,
        )

    def drop_unused_collections(self, should_continue: ShouldContinue = lambda: True) -> int:
        """Drop the collections on servers that nothing needs any more, as far as the servers answer. Returns how many
        were dropped."""
        dropped = 0
        if self._database.is_read_only:
            return 0
        for row in server_collections.unused(self._database.read(), self.location.server):
            if should_continue() and (row.state != "filling" or self.mirror is None):
                with suppress(StoreError):  # tried again at the next opening, and by the background
                    server_collections.drop(self._database, self.location.nodes_of(row.server), row)
                    dropped += 1
        return dropped

    def remove_index(self, generation: Generation) -> None:
        """Remove the index of a generation, which must be closed, wherever it is: the next opening makes it anew.

        Raises:
            DiskFull, IndexUnavailable: The disk has no room for a new one, or the server is away; the index stays.
        """
        generations.remove_index_for_rebuild(self._home, self._database, generation)
        if (nodes := self.location.nodes()) is not None:
            for row in server_collections.held(self._database.read()):
                if (row.server, row.generation) == (self.location.server, generation.id):
                    server_collections.drop(self._database, nodes, row)

    @contextmanager
    def without_index(self, reason: IndexUnavailable) -> Iterator[DerivedStores | None]:
        """What can be read of the serving generation while its server is away."""
        found = self.current()
        stores = None
        if found is not None:
            stores = generations.open_without_index(self._home, self._database, found, reason)
        try:
            yield stores
        finally:
            if stores is not None:
                stores.close()

    def begin_mirror(self, wrap: Callable[[VectorIndex], VectorIndex]) -> None:
        """Let all updates of the index go through what ``wrap`` makes of it, also after it was opened anew. The
        caller keeps the indexer out."""
        self.mirror = wrap
        self._stores.update(self.mirrored)

    def end_mirror(self) -> None:
        """Let updates go to the serving index alone again."""
        self.mirror = None
        self._stores.update(_without_mirror)

    def lease(self) -> AbstractContextManager[DerivedStores | None]:
        """See ``LeasedStores``."""
        return self._stores.lease()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """See ``LeasedStores``. No generation begins within the context."""
        with self._lock, self._stores.closed():
            yield

    def serve(self, stores: DerivedStores) -> None:
        """Take the open stores of the generation that serves from now on; called where they are ``closed``."""
        self._stores.replace(stores)

    def other_ledgers(self) -> list[Callable[[], tuple[int, VectorLedger]]]:
        """Open the ledgers of the generations that do not serve; each with its generation."""
        db = self._database.read()
        others = [one for one in generation_states.stored(db) if one.state == "kept"]
        return [partial(self._ledger_for_reading, one) for one in others if chunks.count_ledger_rows(db, one.id)]

    def _ledger_for_reading(self, generation: Generation) -> tuple[int, VectorLedger]:
        return generation.id, generations.ledger_for_reading(self._home, self._database, generation)

    def count_chunks(self, messages: Sequence[int]) -> int:
        """How many chunks messages have in it now."""
        found = self.current()
        return chunk_spans.count_of(self._database.read(), found.id, messages) if found else 0

    # --- what its model reads ----------------------------------------------------------------------------

    def chunking_target(self) -> tuple[int, Chunker]:
        """The generation and its chunker.

        Raises:
            ModelUnavailable: Its model can't be used.
        """
        found = self.begun()
        self.note_chunking(found)
        return found.id, self.chunker(self._models.for_generation(found))

    def storing_target(self) -> tuple[int, Chunker]:
        """The same for messages, within the transaction that stores them. Where the model can't be used, each becomes
        one chunk, which is split when it is embedded: a broken model is no reason to lose what was said."""
        try:
            return self.chunking_target()
        except ModelUnavailable:
            return self.begun().id, WholeMessages()

    def model_window(self) -> ModelWindow | None:
        """How much of a passage the model reads; None in a home that never stored anything."""
        found = self.current()
        if found is None:
            return None
        model = self._models.for_generation(found)
        return ModelWindow(max_positions(model), model.count_tokens)

    @property
    def chunking(self) -> Chunking:
        """The settings that messages are chunked under now."""
        return self._settings.chunk.tokens, self._settings.chunk.overlap

    def note_chunking(self, generation: Generation) -> None:
        """Note that messages of a generation are chunked under the present settings from now on."""
        found = generation_states.chunkings(self._database.read(), generation.id)
        if self.chunking not in found:
            with self._database.write() as tx:
                generation_states.set_chunkings(tx, generation.id, found | {self.chunking})

    def chunker(self, model: Embedder) -> Chunker:
        chunk = self._settings.chunk
        window = chunk_tokens(chunk.tokens, model.max_tokens, max_positions(model))
        return Chunker(model.count_tokens, window, chunk.overlap)

    # --- its token vectors -------------------------------------------------------------------------------

    def token_identity(self, model: Embedder) -> str:
        """What makes the token vectors of a model; empty if none are kept."""
        return token_identity(model) if self._settings.index.token_vectors else ""

    def has_tokens_of(self, generation: Generation, model: Embedder) -> bool:
        """Whether the token ledger is of this model, or there is none and should be none."""
        state = token_places.state(self._database.read(), generation.id)
        return (state.identity if state else "") == self.token_identity(model)

    def begin_tokens(self, generation: Generation, model: Embedder) -> None:
        """Begin an empty token ledger, or remove it if there should be none."""
        with self.closed():
            if identity := self.token_identity(model):
                dimension = token_dimension(model)
                generations.begin_tokens(self._home, self._database, generation, identity, dimension)
            else:
                generations.remove_tokens(self._home, self._database, generation)


def _without_mirror(stores: DerivedStores) -> DerivedStores:
    return replace(stores, index=stores.index.serving) if isinstance(stores.index, MirrorIndex) else stores
