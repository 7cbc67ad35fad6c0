"""The serving generation of an open home: its model, and its stores, which are opened when they are first needed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from appliance.config import Settings
from appliance.engine.model_cache import ModelCache, token_dimension, token_identity, vector_identity
from appliance.ingest.chunk import Chunker
from appliance.paths import Home
from appliance.store import chunks, generations, token_places
from appliance.store.check import ModelWindow
from appliance.store.chunks import Generation
from appliance.store.database import Database
from appliance.store.generations import DerivedStores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import Embedder


class ServingGeneration:
    """The generation that searches read, with its model and its stores. Safe to use from several threads."""

    def __init__(self, home: Home, settings: Settings, database: Database, models: ModelCache) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._models = models
        self._lock = threading.RLock()
        self._leases_changed = threading.Condition()
        self._leases = 0
        self._stores: DerivedStores | None = None

    def current(self) -> Generation | None:
        """The serving generation; None in a home that never stored anything."""
        return chunks.generation(self._database.read())

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
                    return self.begin(tx, self._models.name, model, active=True)
            self._models.for_generation(found)
            return found

    def begin(self, tx: sqlite3.Connection, name: str, model: Embedder, *, active: bool) -> Generation:
        """Add a generation of a model, without chunks and vectors."""
        new = chunks.begin_generation(tx, name, vector_identity(model), model.dimension, active=active)
        if identity := self.token_identity(model):
            token_places.begin(tx, new.id, identity, token_dimension(model))
        return new

    # --- its stores -------------------------------------------------------------------------------------

    def open(self) -> DerivedStores | None:
        """The ledgers and the index of the serving generation, opened if necessary."""
        with self._lock:
            found = self.current()
            if self._stores is None and found is not None:
                generations.remove_orphaned_files(self._home, self._database)
                self._stores = self.open_generation(found)
            return self._stores

    @property
    def is_open(self) -> bool:
        return self._stores is not None

    def open_generation(self, generation: Generation) -> DerivedStores:
        """The stores of a generation, which may not serve yet."""
        index = self._settings.index
        return generations.open_stores(
            self._home, self._database, generation, url=index.url, collection=index.collection
        )

    @contextmanager
    def lease(self) -> Iterator[DerivedStores | None]:
        """The open stores, which stay open within the context: ``closed`` waits for it. So nothing that takes this
        class's lock may be called within."""
        with self._lock:
            stores = self.open()
            with self._leases_changed:
                self._leases += 1
        try:
            yield stores
        finally:
            with self._leases_changed:
                self._leases -= 1
                self._leases_changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the stores once all leases have ended, and let nobody open them within the context."""
        with self._lock:
            with self._leases_changed:
                self._leases_changed.wait_for(lambda: not self._leases)
            if self._stores is not None:
                self._stores.close()
                self._stores = None
            yield

    def serve(self, stores: DerivedStores) -> None:
        """Take the open stores of the generation that serves from now on; called where they are ``closed``."""
        self._stores = stores

    # --- what its model reads ----------------------------------------------------------------------------

    def chunking_target(self) -> tuple[int, Chunker]:
        """The generation and its chunker; called within the transaction that stores messages."""
        found = self.current() or self.ensure()
        return found.id, self.chunker(self._models.for_generation(found))

    def model_window(self) -> ModelWindow | None:
        """How much of a passage the model reads; None in a home that never stored anything."""
        found = self.current()
        if found is None:
            return None
        model = self._models.for_generation(found)
        return ModelWindow(model.max_tokens, model.count_tokens)

    def chunker(self, model: Embedder) -> Chunker:
        return Chunker(model.count_tokens, model.max_tokens, self._settings.chunk.overlap)

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


def read_tokens(db: sqlite3.Connection, stores: DerivedStores, keys: Collection[int]) -> Mapping[int, NDArray[np.int8]]:
    """The token vectors of messages; see ``SearchResources``."""
    places = token_places.of_messages(db, stores.generation.id, keys)
    return {key: stores.tokens.read(places[key]) for key in places} if stores.tokens is not None else {}
