"""The onnxruntime runtime, which is the default and gives token-level output."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.errors import ModelCorrupt, ModelError, TextTooLong
from appliance_models.files import check_pack
from appliance_models.manifest import (
    IDENTITY_DIGITS,
    MODEL_FILE,
    OUTPUT_POOLING,
    TOKEN_PROJECTION_FILE,
    TOKENIZER_FILE,
    Manifest,
    read_manifest,
)
from appliance_models.registry import LATE_SUFFIX
from appliance_models.spans import SpannedText, Window, plan_windows
from appliance_models.token_vectors import EmbeddedQuery, load_projection, rarity, to_bytes
from appliance_models.wordpieces import WordpieceCounter, encode_ids, encode_spans, load_tokenizer, token_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped, unused-ignore]
    from tokenizers import Tokenizer

# Texts tokenised at once: enough to keep the tokenizer's threads busy, few enough for memory.
TOKENIZE_BATCH_SIZE = 2048

# onnxruntime would fuse residual sums and layer normalisation into one operator, which on the CPU is 8 times as slow as
# the two (measured on AVX2: 15 % of a text's time).
SLOW_FUSIONS = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]

# The inputs that this runtime can feed.
KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}

# Names of token-level output in common exports, preferred to the graph's first such output.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")

# The same for output of one vector a text.
POOLED_OUTPUTS = ("sentence_embedding", "text_embeds", "embeddings")


@dataclass(frozen=True, slots=True)
class _OnnxGraph:
    """A loaded model: the inputs it takes and the output that is read, of shape (batch, sequence, dimension), or
    (batch, dimension) of a graph that pools by itself."""

    session: InferenceSession
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True)
class GraphOutputs:
    """The token-level and the pooled output of a graph, each by name and dimension; dimension 0 if there is none. The
    name of a token-level output is empty where `OnnxEmbedder` finds it by itself."""

    tokens: tuple[str, int] = ("", 0)
    pooled: tuple[str, int] = ("", 0)


def available_cores() -> int:
    """Physical cores this process may run on, at least 1."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    return max(1, len({_physical_core(cpu) for cpu in os.sched_getaffinity(0)}))


def _physical_core(cpu: int) -> str:
    """A name of the physical core of a logical one; where Linux doesn't tell, each is its own."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


def run_longest_first(work: Callable[[int], None], lengths: Sequence[int], threads: int) -> None:
    """Call `work` with each index of `lengths`, on so many threads: the longest first, so that no thread is left alone
    with a long text at the end."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    if len(order) < 2 or threads < 2:
        for index in order:
            work(index)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, order):
            pass


def mean_by_tokens(vectors: NDArray[np.float32], windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """The mean of the vectors of windows, (dimension,), weighted by the token ids in each."""
    weights = np.array([len(ids) for ids in windows], dtype=np.float32)
    return np.average(vectors, axis=0, weights=weights).astype(np.float32)


class OnnxEmbedder:
    """A model pack run by onnxruntime on the CPU. Thread-safe.

    The constructor checks the pack's files; the first call that needs the model loads it.
    """

    def __init__(self, folder: Path, threads: int | None = None, *, late_chunking: bool = False) -> None:
        """`threads`: texts embedded at once, by default one a physical core. `late_chunking`: see
        `LateChunkingEmbedder`. Raises ModelMissing or ModelCorrupt; ModelError if it can't do late chunking."""
        self.manifest: Manifest = read_manifest(folder)
        check_pack(folder, self.manifest)
        self.folder = folder
        self.threads = threads or available_cores()
        self.name = self.manifest.name + (LATE_SUFFIX if late_chunking else "")
        self.late_chunking = late_chunking
        if late_chunking:
            self._require_mean_pooling()
        self.dimension = self.manifest.dimension
        self.max_tokens = self.manifest.max_tokens
        self.max_positions = self.manifest.max_positions
        self._projection = load_projection(folder, self.dimension)
        self.token_dimension = 0 if self._projection is None else self._projection.dimension
        self._lock = threading.Lock()
        self._graph: _OnnxGraph | None = None
        self._tokenizer: Tokenizer | None = None
        self._token_counter: WordpieceCounter | None = None

    @cached_property
    def identity(self) -> str:
        return self.manifest.identity

    @cached_property
    def token_identity(self) -> str:
        """See `TokenEmbedder`."""
        digest = self.manifest.files[TOKEN_PROJECTION_FILE].sha256 if self._projection is not None else ""
        return f"{self.identity} {digest[:IDENTITY_DIGITS]}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dimension) float32. Raises TextTooLong; see `Embedder`."""
        return self._embed(self._encode_passages(texts), lambda index, hidden: None)

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        """(n, dimension) float32, and (tokens, token_dimension) of each text; see `TokenEmbedder`."""
        tokens = [np.zeros((0, self.token_dimension), np.int8) for _ in texts]

        def keep_tokens(index: int, hidden: NDArray[np.float32]) -> None:
            tokens[index] = to_bytes(self._project(hidden))

        return self._embed(self._encode_passages(texts), keep_tokens), tokens

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """(dimension,) float32, for a text of any length; see `Embedder`."""
        return self.embed_query_with_tokens(text).vector

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        """The vector and the token vectors of a text of any length; see `TokenEmbedder`."""
        prefix = self.manifest.query_prefix
        limit = self.max_tokens
        if prefix:
            limit -= len(encode_spans(self.tokenizer, prefix).ids)
        windows = [prefix + window for window in token_windows(self.tokenizer, text, limit)]
        encoded = encode_ids(self.tokenizer, windows)
        tokens: dict[int, NDArray[np.float32]] = {}

        def keep_tokens(index: int, hidden: NDArray[np.float32]) -> None:
            tokens[index] = self._project(hidden)

        vectors = self._embed(encoded, keep_tokens)
        vector = np.asarray(vectors[0])
        if len(windows) > 1:
            mean = mean_by_tokens(vectors, encoded)
            vector = unit_vector(mean) if self.manifest.normalise else mean
        if self._projection is None:
            return EmbeddedQuery(vector, np.zeros((0, 0), np.float32), np.zeros(0, np.float32))
        ids = [id for window in encoded for id in window[1:-1]]
        in_order = np.concatenate([tokens[index] for index in range(len(windows))])
        return EmbeddedQuery(vector, in_order, rarity(ids, self.tokenizer.get_vocab_size()))

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        """Late chunking: the vectors of all spans, in order, (spans, dimension); see `LateChunkingEmbedder`.

        A span over a whole text that fits gives the vector of `embed_passages`, except that a passage prefix belongs to
        no span.
        """
        return self._embed_spans(texts, keep_tokens=False)[0]

    def embed_spans_with_tokens(
        self, texts: Sequence[SpannedText]
    ) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        """The same, and (tokens, token_dimension) of each span, with the tokens of its text's lead first."""
        return self._embed_spans(texts, keep_tokens=True)

    def _embed_spans(
        self, texts: Sequence[SpannedText], *, keep_tokens: bool
    ) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        self._require_mean_pooling()
        windows: list[tuple[int, Window]] = []
        count = 0
        for text in texts:
            lead = self.manifest.passage_prefix + text.lead
            encoding = encode_spans(self.tokenizer, lead + text.text)
            planned = plan_windows(encoding, len(lead), text.spans, self.max_positions)
            windows += [(count, window) for window in planned]
            count += len(text.spans)
        # A window's token vectors take a megabyte, so that only what is needed of them is kept.
        found: list[dict[int, tuple[int, NDArray[np.float32], NDArray[np.int8]]]] = [{} for _ in range(count)]

        def read(number: int) -> None:
            first, window = windows[number]
            hidden = self.token_vectors(window.ids)
            for piece in window.pieces:
                tokens = np.zeros((0, self.token_dimension), np.int8)
                if keep_tokens and self._projection is not None:
                    tokens = to_bytes(self._projection.project(hidden[piece.own_rows]))
                found[first + piece.span][number] = (len(piece.rows), hidden[piece.rows].mean(axis=0), tokens)

        run_longest_first(read, [len(window.ids) for _, window in windows], self.threads)
        vectors, tokens = np.empty((count, self.dimension), np.float32), []
        for row, by_window in enumerate(found):
            parts = [by_window[number] for number in sorted(by_window)]
            mean = parts[0][1]
            if len(parts) > 1:
                mean = np.average([part[1] for part in parts], axis=0, weights=[part[0] for part in parts])
            vectors[row] = unit_vector(mean) if self.manifest.normalise else mean
            tokens.append(np.concatenate([part[2] for part in parts]))
        return vectors, tokens

    def _require_mean_pooling(self) -> None:
        if self.manifest.pooling != "mean":
            raise ModelError(
                f"{self.manifest.name} pools by {self.manifest.pooling!r}; late chunking needs a model that pools by "
                "mean. Use it without late chunking."
            )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Exact counts, special tokens and passage prefix included; see `Embedder`."""
        prefix = self.manifest.passage_prefix
        return self._counter.count([prefix + text for text in texts] if prefix else texts)

    @property
    def _counter(self) -> WordpieceCounter:
        tokenizer = self.tokenizer
        with self._lock:
            if self._token_counter is None:
                self._token_counter = WordpieceCounter(tokenizer)
            return self._token_counter

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer with truncation and padding off."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(self.folder / TOKENIZER_FILE)
            return self._tokenizer

    @property
    def _loaded_graph(self) -> _OnnxGraph:
        with self._lock:
            if self._graph is None:
                self._graph = _open_graph(self.folder / MODEL_FILE, self.manifest.output)
            return self._graph

    def unload(self) -> None:
        """Let go of graph and tokenizer, some 40 MB; the next call that needs them loads them again."""
        with self._lock:
            self._graph = self._tokenizer = self._token_counter = None

    def _encode_passages(self, texts: Sequence[str]) -> list[list[int]]:
        prefix = self.manifest.passage_prefix
        encoded: list[list[int]] = []
        for start in range(0, len(texts), TOKENIZE_BATCH_SIZE):
            batch = texts[start : start + TOKENIZE_BATCH_SIZE]
            encoded += encode_ids(self.tokenizer, [prefix + text for text in batch] if prefix else batch)
        return encoded

    def _embed(
        self, encoded: Sequence[list[int]], on_hidden: Callable[[int, NDArray[np.float32]], None]
    ) -> NDArray[np.float32]:
        """The vectors of encoded texts; ``on_hidden`` gets the number and the token vectors of each text, on any
        thread."""
        for index, ids in enumerate(encoded):
            self._check_length(index, len(ids))
        vectors = np.empty((len(encoded), self.dimension), dtype=np.float32)

        def embed_text(index: int) -> None:
            hidden = self.token_vectors(encoded[index])
            vectors[index] = self._pool(hidden)
            on_hidden(index, hidden)

        run_longest_first(embed_text, list(map(len, encoded)), self.threads)
        return vectors

    def _project(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """The token vectors of a text, without its special tokens at both ends."""
        if self._projection is None:
            return np.zeros((0, 0), np.float32)
        return self._projection.project(hidden[1:-1])

    def _check_length(self, index: int, tokens: int) -> None:
        if tokens > self.manifest.max_positions:
            raise TextTooLong(index, tokens, self.manifest.max_positions, self.name)

    def token_vectors(self, ids: list[int]) -> NDArray[np.float32]:
        """Token vectors of one text, (tokens, dimension); its vector, (1, dimension), if the graph pools by itself."""
        graph = self._loaded_graph
        output = np.asarray(graph.session.run([graph.output], feeds_of(graph.inputs, ids))[0], dtype=np.float32)
        hidden = output if self.manifest.pooling == OUTPUT_POOLING else output[0]
        expected = (1 if self.manifest.pooling == OUTPUT_POOLING else len(ids), self.dimension)
        if hidden.shape != expected:
            raise ModelCorrupt(
                f"{self.folder / MODEL_FILE} gives an array of {hidden.shape} for a text, and its manifest says "
                f"{expected}. Import the model again."
            )
        return hidden

    def _pool(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        pooling = self.manifest.pooling
        vector: NDArray[np.float32] = (
            hidden.mean(axis=0) if pooling == "mean" else hidden[-1] if pooling == "last" else hidden[0]
        )
        return unit_vector(vector) if self.manifest.normalise else vector


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))


def open_session(path: Path) -> tuple[InferenceSession, tuple[str, ...]]:
    """Load a graph that reads tokens. Returns the session and its inputs; raises ModelCorrupt."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Several texts on one thread each are faster than one text on several threads, and share the weights.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # onnxruntime's own exceptions share no public base
        raise ModelCorrupt(f"{path} is not a model onnxruntime can run ({error}). Import it again.") from error
    inputs = tuple(item.name for item in session.get_inputs())
    if "input_ids" not in inputs or set(inputs) - KNOWN_INPUTS:
        raise ModelCorrupt(
            f"{path} has the inputs {', '.join(inputs)}; supported are {', '.join(sorted(KNOWN_INPUTS))}. "
            "Use an export of the plain text encoder."
        )
    return session, inputs


def feeds_of(inputs: Sequence[str], ids: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    """What a graph with these inputs gets for one text."""
    row = np.array([ids], dtype=np.int64)
    feeds = {
        "input_ids": row,
        "attention_mask": np.ones_like(row),
        "token_type_ids": np.zeros_like(row),
        "position_ids": np.arange(len(ids), dtype=np.int64)[np.newaxis],
    }
    return {name: feeds[name] for name in inputs}


def probe_outputs(path: Path, ids: Sequence[int]) -> GraphOutputs:
    """What a graph gives for one text of these tokens, at least two.

    Raises ModelCorrupt if it can't run, or gives neither a vector a token nor one a text.
    """
    session, inputs = open_session(path)
    try:
        found = dict(zip(_output_names(session), session.run(None, feeds_of(inputs, ids)), strict=True))
    except Exception as error:  # onnxruntime's own exceptions share no public base
        raise ModelCorrupt(f"{path} can't be run on a text ({error}). Use another export of the model.") from error
    shapes = {name: np.asarray(value).shape for name, value in found.items()}
    tokens = [name for name, shape in shapes.items() if len(shape) == 3 and shape[:2] == (1, len(ids))]
    pooled = [name for name, shape in shapes.items() if len(shape) == 2 and shape[0] == 1]
    if not tokens and not pooled:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ModelCorrupt(
            f"{path} has no token-level output and none of one vector a text ({listed}). Use an export that keeps "
            "last_hidden_state."
        )
    result = GraphOutputs()
    if tokens:
        name = _preferred(tokens, TOKEN_OUTPUTS)
        result = replace(result, tokens=("" if name == _default_output(session) else name, shapes[name][2]))
    if pooled:
        name = _preferred(pooled, POOLED_OUTPUTS)
        result = replace(result, pooled=(name, shapes[name][1]))
    return result


def _open_graph(path: Path, output: str) -> _OnnxGraph:
    session, inputs = open_session(path)
    name = output or _default_output(session)
    if name not in _output_names(session):
        raise ModelCorrupt(f"{path} has no token-level output. Use an export that keeps last_hidden_state.")
    return _OnnxGraph(session, inputs, name)


def _default_output(session: InferenceSession) -> str:
    """The token-level output of a graph by its shape and its name; empty if there is none."""
    outputs = [item.name for item in session.get_outputs() if len(item.shape) == 3]
    return _preferred(outputs, TOKEN_OUTPUTS) if outputs else ""


def _output_names(session: InferenceSession) -> list[str]:
    return [item.name for item in session.get_outputs()]


def _preferred(names: Sequence[str], preferred: Sequence[str]) -> str:
    return next((name for name in preferred if name in names), names[0])
