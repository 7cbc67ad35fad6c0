"""The models of an open home, each loaded once, when it is first needed; and the vectors that are used again: of recent
queries, which a context uses several times and a person repeats, and of the most recent messages."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance.engine.embedding_api import is_api_model, is_remote, open_api_model
from appliance.engine.passage_vectors import embed_passages, passage_format, token_dimension
from appliance.errors import EmbeddingApiError, ModelUnavailable, OutOfMemory
from appliance.ingest.indexer import EmbeddedPassages, EmbedPassages, embedding_inputs
from appliance.paths import Home
from appliance.retrieval.resources import RerankerSettings
from appliance.runtime.address_space import MEMORY_HINT, require_memory
from appliance.runtime.heap import return_free_memory
from appliance.runtime.installation import how_to_repair
from appliance.runtime.metrics import Metrics
from appliance.runtime.workers import ShouldContinue
from appliance.settings import Settings
from appliance.store import chunks
from appliance.store.chunks import PendingChunk
from appliance.store.generation_states import Generation
from appliance.store.passages import Passage
from appliance.store.token_account import FileTokenAccount
from appliance_models.registry import UnloadableEmbedder

if TYPE_CHECKING:
    from appliance_models import CrossEncoder, EmbeddedQuery, Embedder, Lexicon, TokenEmbedder

T = TypeVar("T")

RUNTIME_BYTES = 420_000_000
"""The address space that the runtime of a model takes when it first runs, as measured with the bundled one."""

MAX_CACHED_VECTORS = 256
"""How many vectors are cached, 1.5 KB each, and with the token vectors of a query some 4 KB."""

MAX_RECENT_MESSAGES = 64
"""How many messages count as recent. More at once are an import, which is found once it is indexed."""


class ModelCache:
    """Loads and keeps the models of a home. Safe to use from several threads."""

    def __init__(self, home: Home, settings: Settings, metrics: Metrics, embedder: Embedder | None) -> None:
        """``embedder`` replaces the configured model, under its own name."""
        self._home = home
        self._settings = settings
        self.metrics = metrics
        """Those of the engine."""
        self._load_lock = threading.Lock()
        self._queries: RecentlyUsed[EmbeddedQuery] = RecentlyUsed()
        self.name = embedder.name if embedder else settings.model.full_name()
        """The model of the first generation of a new home."""
        self._embedders: dict[str, Embedder] = {embedder.name: embedder} if embedder else {}
        self._supplied_names = frozenset(self._embedders)
        self._ran: set[str] = set()
        self.token_account = FileTokenAccount(home.jina, settings.jina.token_cap)
        """Counts what is sent to an embedding API."""
        self._is_closing = False
        self._runs = 0
        self._used_at = time.monotonic()
        self._reranker: CrossEncoder | None = None

    def load(self, name: str) -> Embedder:
        """The embedding model with this name.

        Raises:
            ModelUnavailable: It is missing or damaged.
        """
        if name in self._embedders:  # without the lock, because this is called within transactions
            return self._embedders[name]
        with self._load_lock:
            if name not in self._embedders:
                try:
                    self._embedders[name] = self._load(name)
                except appliance_models.ModelError as error:
                    raise model_error(error) from error
            return self._embedders[name]

    def _load(self, name: str) -> Embedder:
        if is_api_model(name):
            return open_api_model(name, self._settings, self.token_account, self.metrics)
        return appliance_models.load(name, (self._home.models,), threads=self._settings.model.threads or None)

    def retry_requests(self) -> None:
        """Ask an embedding API again however recently it has failed, because a caller wants it."""
        for model in [*self._embedders.values()]:
            if is_remote(model):
                model.retry()

    def cancel_requests(self) -> None:
        """End the requests to an embedding API, and refuse further ones, because the memory is being closed."""
        self._is_closing = True
        for model in [*self._embedders.values()]:
            if is_remote(model):
                model.cancel()

    def close(self) -> None:
        """Close the connections to an embedding API. A model that a caller has supplied stays as it is."""
        for name, model in self._embedders.items():
            if name not in self._supplied_names and is_remote(model):
                model.close()

    def trouble(self, generation: Generation) -> str:
        """Why the model of a generation can't be used, and what to do; empty if nothing speaks against it. It is not
        loaded for that."""
        name = generation.model
        if (loaded := self._embedders.get(name)) is not None and (changed := _identity_change(loaded, generation)):
            return changed.with_hint
        if name in self._supplied_names or is_api_model(name):
            return ""
        fault = appliance_models.find_fault(appliance_models.pack_name(name), (self._home.models,))
        return model_error(fault).with_hint if fault is not None else ""

    def for_generation(self, generation: Generation) -> Embedder:
        """The model that made a generation.

        Raises:
            ModelUnavailable: It can't be loaded, or another model now has its name.
        """
        model = self.load(generation.model)
        if changed := _identity_change(model, generation):
            raise changed
        return model

    def preload(self, model: str) -> None:
        """Load what a query needs besides the stores."""
        if model in self._supplied_names:  # a caller's own model gets no texts but the caller's
            return
        with suppress(Exception):  # a failure occurs again, and is reported, where the model is needed
            loaded = self.load(model)
            if not is_remote(loaded) and loaded.name not in self._ran:
                with self._running(loaded):
                    loaded.embed_query("warm")
            appliance_models.load_lexicon()

    def load_lexicon(self) -> Lexicon:
        """The lexicon of late interaction.

        Raises:
            ModelUnavailable: It is damaged.
        """
        try:
            return appliance_models.load_lexicon()
        except appliance_models.ModelError as error:
            raise ModelUnavailable(str(error), hint="'appliance models verify' checks the files.") from error

    def embed_query(self, model: Embedder, text: str) -> EmbeddedQuery:
        """The vectors of a query, from the cache if the query is recent."""
        cached = self._queries.get((model.identity, text))
        self.metrics.count("query_cache_misses" if cached is None else "query_cache_hits")
        if cached is None:
            with self.metrics.time_search_stage("query"), self._running(model):
                cached = embed_query(model, text)
            self._queries.put((model.identity, text), cached)
        return cached

    def embed_passages(self, model: Embedder, passages: Sequence[Passage]) -> EmbeddedPassages:
        """The vectors of passages in order, with their token vectors if the model gives any.

        Raises:
            OutOfMemory: The process has too little memory to run the model.
            ModelUnavailable: The model can't be run, or (``EmbeddingApiError``) be asked.
        """
        with self._running(model):
            return embed_passages(model, passages)

    @contextmanager
    def _running(self, model: Embedder) -> Iterator[None]:
        """Within it the model runs: the first time, it needs the memory for that."""
        if model.name not in self._ran and model.name not in self._supplied_names and not is_remote(model):
            require_memory(RUNTIME_BYTES, f"run the model {model.name}")
        with self._load_lock:
            self._runs += 1
        try:
            yield
        except MemoryError as error:
            message = f"There is too little memory to run the model {model.name}."
            raise OutOfMemory(message, hint=MEMORY_HINT) from error
        except appliance_models.ModelError as error:
            if is_remote(model) and not self._is_closing:
                self.token_account.note_trouble(str(error))
            raise model_error(error) from error
        except EmbeddingApiError as error:  # the token account refuses
            self.token_account.note_trouble(str(error))
            raise
        finally:
            with self._load_lock:
                self._runs -= 1
                self._used_at = time.monotonic()
        self._ran.add(model.name)
        if is_remote(model):
            self.token_account.note_trouble("")

    def unload_idle(self, should_continue: ShouldContinue = lambda: True) -> int:
        """Let the models leave the memory that were not used for ``model.idle`` seconds. Returns 0: nothing waits for
        it."""
        with self._load_lock:
            idle = time.monotonic() - self._used_at
            if not self._settings.model.idle or self._runs or not self._ran or idle < self._settings.model.idle:
                return 0
            for name in self._ran - self._supplied_names:
                if isinstance(model := self._embedders.get(name), UnloadableEmbedder):
                    model.unload()
            self._ran.clear()
            self._reranker = None
        return_free_memory()
        return 0

    def load_reranker(self) -> RerankerSettings | None:
        """The reranker, if the settings name a model for it."""
        settings = self._settings.rerank
        if not settings.model:
            return None
        with self._load_lock:
            try:
                self._reranker = self._reranker or appliance_models.load_reranker(
                    settings.model, (self._home.models,), threads=self._settings.model.threads or None
                )
            except appliance_models.ModelError as error:
                return RerankerSettings(None, settings.top, settings.budget_ms, str(error))
        return RerankerSettings(self._reranker, settings.top, settings.budget_ms)


def model_error(error: appliance_models.ModelError) -> ModelUnavailable:
    """The error of a model as one of this program."""
    from appliance_models.errors import ApiError, ModelCorrupt, ModelMissing

    if isinstance(error, ApiError):
        return EmbeddingApiError(str(error), hint=error.hint or "What waits is embedded as soon as it answers again.")
    if isinstance(error, ModelMissing | ModelCorrupt):
        again = "Import the model again: 'appliance models import DIR'."
        return ModelUnavailable(str(error), hint=how_to_repair() if error.is_shipped else again)
    return ModelUnavailable(str(error), hint="'appliance models list' shows the models.")


def vector_identity(model: Embedder) -> str:
    """Identifies what made a generation's vectors: the model, the format of its passages, and late chunking."""
    return f"{model.identity} {passage_format(model)}"


def max_positions(model: Embedder) -> int:
    """The longest text that the model can read, in tokens; a caller's own model may not say more than its
    ``max_tokens``."""
    return int(getattr(model, "max_positions", model.max_tokens))


def token_identity(model: Embedder) -> str:
    """Identifies what made a generation's token vectors; empty if the model gives none."""
    return f"{cast('TokenEmbedder', model).token_identity} {passage_format(model)}" if token_dimension(model) else ""


def embed_query(model: Embedder, text: str) -> EmbeddedQuery:
    """The vectors of a query, without token vectors if the model gives none."""
    if token_dimension(model):
        return cast("TokenEmbedder", model).embed_query_with_tokens(text)
    return appliance_models.EmbeddedQuery(
        model.embed_query(text), tokens=np.zeros((0, 0), np.float32), rarity=np.zeros(0, np.float32)
    )


class RecentlyUsed(Generic[T]):
    """Values by what made them, those that were used last. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[str, str], T] = OrderedDict()

    def get(self, key: tuple[str, str]) -> T | None:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def put(self, key: tuple[str, str], value: T) -> None:
        """Keep a value in place of the one that was used longest ago."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > MAX_CACHED_VECTORS:
                self._values.popitem(last=False)


class RecentMessages:
    """Messages that were just added and may still wait for the index. Their vectors are computed for the first search,
    so that a new message is found by meaning however long the outbox is."""

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._vectors: RecentlyUsed[NDArray[np.float32]] = RecentlyUsed()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, message: int) -> None:
        if len(self._keys) < MAX_RECENT_MESSAGES:
            self._keys.add(message)

    def keys(self) -> frozenset[int]:
        return frozenset(self._keys.copy())

    def vectors(
        self, db: sqlite3.Connection, generation: int, model: str, embed: EmbedPassages
    ) -> dict[int, NDArray[np.float32]]:
        """The vectors, (chunks, dimension), of each recent message that still waits in the outbox.

        Args:
            db: A connection for reading.
            generation: The serving generation.
            model: The identity of the embedding model.
            embed: Embeds passages.
        """
        recent = self.keys()
        pending = chunks.next_puts(db, generation, MAX_RECENT_MESSAGES, recent) if recent else []
        if not pending:
            self._keys.difference_update(recent)  # the index has them
        found = self._chunk_vectors(model, pending, embed)
        chunks_by_message = chunks.chunks_of(db, generation, sorted(recent)) if found else {}
        return {
            message: np.stack([found[key] for key in keys if key in found])
            for message, keys in chunks_by_message.items()
            if not found.keys().isdisjoint(keys)
        }

    def _chunk_vectors(
        self, model: str, pending: Sequence[PendingChunk], embed: EmbedPassages
    ) -> dict[int, NDArray[np.float32]]:
        """The vectors of chunks, by their keys."""
        keys = {one.digest: (model, one.digest.hex()) for one in pending}
        vectors = {digest: cached for digest, key in keys.items() if (cached := self._vectors.get(key)) is not None}
        for one in embedding_inputs(pending, vectors.keys()):
            for digest, vector in zip(one.digests, embed([one.passage]).vectors, strict=True):
                if digest in keys:
                    vectors[digest] = vector
                    self._vectors.put(keys[digest], vector)
        return {one.chunk: vectors[one.digest] for one in pending}


def _identity_change(model: Embedder, generation: Generation) -> ModelUnavailable | None:
    """The error of a model that makes other vectors than those of the generation; None if it made these."""
    if (identity := vector_identity(model)) == generation.identity:
        return None
    return ModelUnavailable(
        f"The model {generation.model} is not the one that made the stored vectors"
        f" ({identity} now, {generation.identity} then).",
        hint="'appliance reindex --vectors' computes them again; a search by words works meanwhile.",
    )
