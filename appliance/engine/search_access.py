"""What a search reads from: the stores and the model of the serving generation, or of one that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from appliance.engine.embedding_api import is_remote
from appliance.engine.generation_changes import GenerationChanges
from appliance.engine.index_location import UNAVAILABLE
from appliance.engine.model_cache import ModelCache
from appliance.engine.serving_generation import ServingGeneration
from appliance.errors import ModelUnavailable
from appliance.retrieval.resources import RerankerSettings, SearchResources
from appliance.runtime.address_space import available_bytes
from appliance.runtime.metrics import Metrics
from appliance.runtime.workers import run_concurrently
from appliance.store import archive, generation_states, generations
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.generations import DerivedStores
from appliance.timestamps import from_microseconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import Embedder


class SearchAccess:
    """Opens what searches read from. Safe to use from several threads."""

    def __init__(
        self,
        database: Database,
        models: ModelCache,
        serving: ServingGeneration,
        changes: GenerationChanges,
        metrics: Metrics,
        has_backlog: Callable[[Generation], bool],
        catch_up: Callable[[Generation, Embedder], Mapping[int, NDArray[np.float32]]],
    ) -> None:
        """
        Args:
            database: The database of the home.
            models: Its models.
            serving: The generation that serves.
            changes: Leases the stores of a kept generation.
            metrics: Times the stages of a search.
            has_backlog: Whether anything waits that a search embeds first.
            catch_up: Embeds a small backlog; returns the vectors of recent messages that still wait.
        """
        self._database = database
        self._models = models
        self._serving = serving
        self._changes = changes
        self._metrics = metrics
        self._has_backlog = has_backlog
        self._catch_up = catch_up

    @contextmanager
    def resources(self, *, dense: bool, number: int | None = None) -> Iterator[SearchResources | None]:
        """What a search reads from, open within the context; None in a home that never stored anything.

        With a ``number``, that of a generation: also one that does not serve, but is kept.

        The model is loaded only for ``dense`` or for a small backlog. If it can't be loaded, the resources have no
        ``embed`` and give the reason.
        """
        with ExitStack() as leases:
            generation = None if number is None else generation_states.find(self._database.read(), number)
            if generation is None or generation.state == "active":
                yield self._serving_resources(leases, dense)
            else:
                yield self._kept_resources(leases, generation)

    def _kept_resources(self, leases: ExitStack, generation: Generation) -> SearchResources:
        """What a search in a kept generation reads from."""
        model = self._models.for_generation(generation)
        stores = leases.enter_context(self._changes.lease_kept(generation))
        until = format(from_microseconds(generation.complete_at or 0), "%Y-%m-%d %H:%M:%S UTC")
        note = f"Generation {generation.id} ({generation.model}) has what was stored until {until}."
        return replace(self._resources(stores, model, self._models.load_reranker()), notes=(note,))

    def _resources(
        self, stores: DerivedStores, model: Embedder | None, reranker: RerankerSettings | None
    ) -> SearchResources:
        db = self._database.read()
        return SearchResources(
            db=db,
            index=stores.index,
            generation=stores.generation.id,
            embed=partial(self._models.embed_query, model) if model else None,
            lexicon=self._models.load_lexicon,
            reranker=reranker,
            time_stage=self._metrics.time_search_stage,
            archive=None if archive.is_empty(db) else stores.archive,
            read_tokens=partial(generations.token_vectors, db, stores) if stores.tokens else None,
            model=stores.generation.model,
        )

    def _serving_resources(self, leases: ExitStack, dense: bool) -> SearchResources | None:
        reranker = self._models.load_reranker() if dense else None
        while (found := self._serving.current()) is not None:
            # One after the other where memory is limited: each looks whether there is enough for it.
            if dense and not self._serving.is_open and available_bytes() is None:
                with suppress(*UNAVAILABLE), run_concurrently(partial(self._models.preload, found.model)):
                    self._serving.open()
            model, unavailable_reason = None, ""
            recent_vectors: Mapping[int, NDArray[np.float32]] = {}
            has_backlog = self._has_backlog(found)
            if dense or has_backlog:
                try:
                    model = self._models.for_generation(found)
                except ModelUnavailable as error:
                    unavailable_reason = error.with_hint
            try:
                # A search does not wait for an API: the background embeds what waits, and words find it until then.
                if model is not None and has_backlog and not is_remote(model):
                    with self._metrics.time_search_stage("wait"):
                        recent_vectors = self._catch_up(found, model)
                stores = leases.enter_context(self._serving.lease())
            except UNAVAILABLE as error:
                lexicon = self._models.load_lexicon
                return SearchResources(self._database.read(), None, found.id, None, lexicon, str(error), reranker)
            if stores is not None and stores.generation.id == found.id:
                return replace(
                    self._resources(stores, model, reranker),
                    unavailable_reason=unavailable_reason,
                    recent_vectors=recent_vectors,
                )
            leases.close()  # a rebuild has just ended: try again with its generation
        return None
