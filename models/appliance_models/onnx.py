"""The direct onnxruntime runtime: the default, and the one that has token-level output."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.counting import TokenCounter
from appliance_models.errors import ModelCorrupt, ModelError, TextTooLong
from appliance_models.files import check_pack
from appliance_models.manifest import MODEL_FILE, TOKENIZER_FILE, Manifest, read_manifest
from appliance_models.pieces import encode_ids, encode_spans, load_tokenizer, token_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped, unused-ignore]
    from tokenizers import Tokenizer

# Texts tokenised at once: enough to keep the tokenizer's threads busy, few enough to hold in memory.
TOKENISE_AT_ONCE = 2048

# onnxruntime would join residual sums and layer normalisation into one operator, which is 8 times as slow on the
# CPU as the two (measured on AVX2: 15 % of a text's time).
SLOW_FUSIONS = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]


# What can be fed; a graph that wants more is of a kind this runtime doesn't serve.
KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}

# Names of token-level output in common exports, preferred over the graph's first such output.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True)
class _Graph:
    """A loaded model: the inputs it takes and the output of shape (batch, sequence, dimension)."""

    session: InferenceSession
    inputs: tuple[str, ...]
    output: str


def available_cores() -> int:
    """Physical cores this process may run on, at least 1."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    cores = {_siblings(cpu) for cpu in allowed}
    return max(1, len(cores))


def _siblings(cpu: int) -> str:
    """Names the physical core of a logical one; where Linux doesn't say, each is its own."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


class OnnxEmbedder:
    """A model pack run by onnxruntime on the CPU. Thread-safe.

    Making one checks the pack's files; the model itself is loaded by the first call that needs it.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`threads`: texts worked on at once, physical cores by default.

        Raises ModelMissing or ModelCorrupt.
        """
        self.manifest: Manifest = read_manifest(folder)
        check_pack(folder, self.manifest)
        self.folder = folder
        self.threads = threads or available_cores()
        self._lock = threading.Lock()
        self._graph: _Graph | None = None
        self._tokenizer: Tokenizer | None = None
        self._token_counter: TokenCounter | None = None

    @property
    def name(self) -> str:
        return self.manifest.name

    @cached_property
    def identity(self) -> str:
        return self.manifest.identity

    @property
    def dimension(self) -> int:
        return self.manifest.dimension

    @property
    def max_tokens(self) -> int:
        return self.manifest.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dimension) float32. Raises TextTooLong; see `Embedder`."""
        prefix = self.manifest.passage_prefix
        return self._embed([prefix + text for text in texts] if prefix else texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """(dimension,) float32, for a text of any length; see `Embedder`."""
        prefix = self.manifest.query_prefix
        limit = self.max_tokens
        if prefix:
            limit -= len(encode_spans(self.tokenizer, prefix).ids)
        windows = [prefix + window for window in token_windows(self.tokenizer, text, limit)]
        vectors = self._embed(windows)
        if len(windows) == 1:
            return np.asarray(vectors[0])
        weights = np.array([len(ids) for ids in encode_ids(self.tokenizer, windows)], dtype=np.float32)
        mean: NDArray[np.float32] = np.average(vectors, axis=0, weights=weights).astype(np.float32)
        return _unit(mean) if self.manifest.normalise else mean

    def embed_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
        """Late chunking: one pass over `text`, then a vector for each character span, (len(spans), dimension).

        A token belongs to a span that shares a character with it; the special token at either end belongs to
        the span at that end, so that one span over everything gives the vector of `embed_passages` (but
        for a passage prefix, which belongs to no span). A span without tokens (blank) gets that of all.
        Raises TextTooLong as `embed_passages` does, and ModelError for a model that doesn't pool by mean.
        """
        if self.manifest.pooling != "mean":
            raise ModelError(
                f"{self.name} pools by {self.manifest.pooling!r}; pooling by span needs a mean-pooling model. "
                "Embed the spans as separate texts instead"
            )
        prefix = self.manifest.passage_prefix
        encoding = encode_spans(self.tokenizer, prefix + text)
        self._check_length(0, len(encoding.ids))
        hidden = self.token_vectors(encoding.ids)
        special = np.array(encoding.special_tokens_mask, dtype=bool)
        starts, ends = np.array(encoding.offsets).T - len(prefix)
        own = np.flatnonzero(~special)
        if own.size:
            starts[: own[0]], ends[: own[0]] = starts[own[0]], ends[own[0]]
            starts[own[-1] + 1 :], ends[own[-1] + 1 :] = starts[own[-1]], ends[own[-1]]
        vectors = np.empty((len(spans), self.dimension), dtype=np.float32)
        for row, (start, end) in enumerate(spans):
            inside = (starts < end) & (ends > start)
            vectors[row] = self._pool(hidden[inside] if inside.any() else hidden)
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Exact counts, special tokens and passage prefix included; see `Embedder`."""
        prefix = self.manifest.passage_prefix
        return self._counter.count([prefix + text for text in texts] if prefix else texts)

    @property
    def _counter(self) -> TokenCounter:
        tokenizer = self.tokenizer
        with self._lock:
            if self._token_counter is None:
                self._token_counter = TokenCounter(tokenizer)
            return self._token_counter

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer with truncation and padding off."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(self.folder / TOKENIZER_FILE)
            return self._tokenizer

    @property
    def _loaded(self) -> _Graph:
        with self._lock:
            if self._graph is None:
                self._graph = _open_graph(self.folder / MODEL_FILE)
            return self._graph

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        encoded: list[list[int]] = []
        for start in range(0, len(texts), TOKENISE_AT_ONCE):
            encoded += encode_ids(self.tokenizer, texts[start : start + TOKENISE_AT_ONCE])
        for index, ids in enumerate(encoded):
            self._check_length(index, len(ids))
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)

        def one(index: int) -> None:
            vectors[index] = self._pool(self.token_vectors(encoded[index]))

        if len(texts) < 2 or self.threads < 2:
            for index in range(len(texts)):
                one(index)
            return vectors
        # Longest first, so that no thread is left alone with a long text at the end.
        order = sorted(range(len(texts)), key=lambda index: -len(encoded[index]))
        with ThreadPoolExecutor(self.threads) as pool:
            for _ in pool.map(one, order):
                pass
        return vectors

    def _check_length(self, index: int, tokens: int) -> None:
        if tokens > self.manifest.max_positions:
            raise TextTooLong(index, tokens, self.manifest.max_positions, self.name)

    def token_vectors(self, ids: list[int]) -> NDArray[np.float32]:
        """Token vectors of one text, (tokens, dimension)."""
        graph = self._loaded
        row = np.array([ids], dtype=np.int64)
        feeds = {name: np.zeros_like(row) for name in graph.inputs}
        feeds["input_ids"] = row
        if "attention_mask" in feeds:
            feeds["attention_mask"] = np.ones_like(row)
        hidden = np.asarray(graph.session.run([graph.output], feeds)[0][0], dtype=np.float32)
        if hidden.shape != (len(ids), self.dimension):
            raise ModelCorrupt(
                f"{self.folder / MODEL_FILE} gives {hidden.shape[-1]} numbers a token, its manifest says "
                f"{self.dimension}: correct hidden_size in the model's config.json, and import it again"
            )
        return hidden

    def _pool(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = hidden[0] if self.manifest.pooling == "cls" else hidden.mean(axis=0)
        return _unit(vector) if self.manifest.normalise else vector


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))


def open_session(path: Path) -> tuple[InferenceSession, tuple[str, ...]]:
    """A graph that reads tokens, and the inputs it takes. Raises ModelCorrupt."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Several texts at once on one thread each beat one text on several threads, and share the weights.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # onnxruntime's own exceptions share no public base
        raise ModelCorrupt(f"{path} is not a model onnxruntime can run ({error}): import it again") from error
    inputs = tuple(item.name for item in session.get_inputs())
    if "input_ids" not in inputs or set(inputs) - KNOWN_INPUTS:
        raise ModelCorrupt(
            f"{path} takes {', '.join(inputs)}; known are {', '.join(sorted(KNOWN_INPUTS))}: "
            "use an export of the plain text encoder"
        )
    return session, inputs


def _open_graph(path: Path) -> _Graph:
    session, inputs = open_session(path)
    outputs = [item.name for item in session.get_outputs() if len(item.shape) == 3]
    if not outputs:
        raise ModelCorrupt(f"{path} has no token-level output: use an export that keeps last_hidden_state")
    return _Graph(session, inputs, next((name for name in TOKEN_OUTPUTS if name in outputs), outputs[0]))
