"""The models of an open home: loaded when they are first needed, once, and asked about each question once."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import appliance_models
from appliance.config import Settings
from appliance.errors import ModelUnavailable
from appliance.measures import Measures
from appliance.paths import Home
from appliance.recall.at_hand import AtHand
from appliance.recall.shelf import Reranking
from appliance.store.chunks import PASSAGE_FORM, Generation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import CrossEncoder, Embedder


class Models:
    """The models that a home has. Safe to use from several threads."""

    def __init__(self, home: Home, settings: Settings, measures: Measures, embedder: Embedder | None) -> None:
        """``embedder`` is used in place of the configured model, and known by its own name."""
        self._home = home
        self._settings = settings
        self._measures = measures
        self._loading = threading.Lock()
        self._queries = AtHand()
        self.name = embedder.name if embedder else settings.model.name
        """The model that a new home would begin with."""
        self._embedders: dict[str, Embedder] = {embedder.name: embedder} if embedder else {}
        self._given = frozenset(self._embedders)
        self._reranker: CrossEncoder | None = None

    def load(self, name: str) -> Embedder:
        """The embedding model of a name.

        Raises:
            ModelUnavailable: it is missing or damaged.
        """
        if name in self._embedders:  # without the lock: this is asked within transactions
            return self._embedders[name]
        with self._loading:
            if name not in self._embedders:
                try:
                    self._embedders[name] = appliance_models.load(
                        name, (self._home.models,), threads=self._settings.model.threads or None
                    )
                except appliance_models.ModelError as error:
                    raise ModelUnavailable(
                        str(error), hint="'appliance models list' shows what there is"
                    ) from error
            return self._embedders[name]

    def of(self, generation: Generation) -> Embedder:
        """The model that made a generation.

        Raises:
            ModelUnavailable: it can't be loaded, or the files of its name are now another model's.
        """
        model = self.load(generation.model)
        if identity(model) != generation.identity:
            raise ModelUnavailable(
                f"the model {generation.model} is not the one that made the stored vectors"
                f" ({identity(model)} now, {generation.identity} then)",
                hint="'appliance reindex --vectors' computes them again; full text goes on working meanwhile",
            )
        return model

    def warm(self, model: str) -> None:
        """Load what a question needs besides the stores."""
        if model in self._given:  # whoever brings a model of their own gets no text that nobody asked about
            return
        with suppress(Exception):  # what fails here fails again where it is asked for, and is told there
            self.load(model).embed_query("warm")
            appliance_models.load_lexicon()

    def embed_query(self, model: Embedder, text: str) -> NDArray[np.float32]:
        """A question's vector, (dimension,); of one that was asked lately, the same again."""
        known = self._queries.get(model.identity, text)
        self._measures.count("query_cache_misses" if known is None else "query_cache_hits")
        if known is None:
            with self._measures.searching("query"):
                known = model.embed_query(text)
            self._queries.keep(model.identity, text, known)
        return known

    def reranking(self) -> Reranking | None:
        """How the best are reranked, if the settings name a model for it; loading it takes its time once."""
        wanted = self._settings.rerank
        if not wanted.model:
            return None
        with self._loading:
            try:
                self._reranker = self._reranker or appliance_models.load_reranker(
                    wanted.model, (self._home.models,), threads=self._settings.model.threads or None
                )
            except appliance_models.ModelError as error:
                return Reranking(None, wanted.top, wanted.budget_ms, str(error))
        return Reranking(self._reranker, wanted.top, wanted.budget_ms)


def identity(model: Embedder) -> str:
    """What made a generation's vectors: the model, and the form in which it is given passages."""
    return f"{model.identity} {PASSAGE_FORM}"
