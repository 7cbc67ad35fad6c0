"""Token vectors of texts that were embedded without them: computed in the background, and again on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from appliance.engine.model_cache import ModelCache
from appliance.engine.serving_generation import ServingGeneration
from appliance.errors import ModelUnavailable
from appliance.ingest import token_filler
from appliance.ingest.indexer import IndexingContext
from appliance.store import token_places
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.generations import DerivedStores
from appliance.types import OnEmbedded

if TYPE_CHECKING:
    from appliance_models import Embedder


class TokenFilling:
    """The background job and the rebuild. Safe to use from several threads."""

    def __init__(
        self,
        database: Database,
        models: ModelCache,
        serving: ServingGeneration,
        exclusive: Callable[[], AbstractContextManager[object]],
        take_turn: Callable[[], AbstractContextManager[None]],
        indexing_context: Callable[[DerivedStores, Embedder], IndexingContext],
    ) -> None:
        """
        Args:
            database: The home's database.
            models: The loaded models.
            serving: The serving generation.
            exclusive: Within it nothing else is indexed.
            take_turn: Waits for queries and for what is exclusive; within it no batch is drained.
            indexing_context: The resources of a step.
        """
        self._database = database
        self._models = models
        self._serving = serving
        self._exclusive = exclusive
        self._take_turn = take_turn
        self._indexing_context = indexing_context
        self._is_complete = False

    def queue(self) -> None:
        """Look again for texts without token vectors, because there are new ones."""
        self._is_complete = False

    def run(self, should_continue: Callable[[], bool]) -> int:
        """Compute the token vectors of texts that have none. Returns the number of steps that this took."""
        found = self._serving.current()
        if self._is_complete or found is None or self._database.is_read_only or not should_continue():
            return 0
        try:
            model = self._models.for_generation(found)
        except ModelUnavailable:
            return 0
        if not self._serving.has_tokens_of(found, model):
            with self._exclusive():
                self._serving.begin_tokens(found, model)
        steps = 0
        for _ in self._fill(found, model):
            steps += 1
            if not should_continue():
                break
        return steps

    def rebuild(self, progress: OnEmbedded) -> int:
        """Compute all token vectors again.

        Returns:
            The number of chunks that got any; 0 if none are kept.
        """
        found = self._serving.ensure()
        model = self._models.for_generation(found)
        with self._exclusive():
            self._serving.begin_tokens(found, model)
        self._is_complete = False
        total, done = token_places.count_missing(self._database.read(), found.id), 0
        if self._serving.token_identity(model):
            for done in self._fill(found, model):
                progress(done, max(0, total - done))
        return done

    def _fill(self, generation: Generation, model: Embedder) -> Iterator[int]:
        """Compute missing token vectors, queries first; yields after each step how many chunks have got theirs."""
        before, done = token_filler.FIRST_CHUNK, 0
        while True:
            with self._take_turn():
                stores = self._serving.open()
                if stores is None or stores.generation.id != generation.id:
                    return
                filled = token_filler.fill_step(self._indexing_context(stores, model), before)
            if not filled.chunks:
                self._is_complete = True
                return
            before, done = filled.before, done + filled.chunks
            yield done
