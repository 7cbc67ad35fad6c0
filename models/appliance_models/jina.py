"""Embeddings by the Jina API: an embedder that sends texts over the network. It is only used if it is chosen.

A text of more tokens than the API reads is sent in parts, whose mean is its vector; nothing is truncated. A text
without any visible character is not sent: its vector is the same for all of them.

With late chunking the API reads all texts of a request as one: a request has the spans of one text, or of a window of
it if they are more than the API reads. Windows overlap, and a span gets its vector from the one in whose middle it lies
best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.errors import UnknownModel
from appliance_models.jina_client import ClientOptions, JinaClient, RequestObserver, TokenAccount, mean_vector
from appliance_models.jina_key import find_key
from appliance_models.jina_limits import Timing
from appliance_models.jina_tokens import estimate_tokens, windows
from appliance_models.registry import JINA_PREFIX, LATE_SUFFIX, no_such_dimensions
from appliance_models.spans import SpannedText
from appliance_models.wordpieces import replace_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_URL = "https://api.jina.ai/v1"

MAX_TEXT_TOKENS = 8_192
"""The most tokens of one text, as the API counts them."""

MAX_REQUEST_TEXTS = 64
"""Texts of one request. The API takes some hundreds; of so few, little is lost and sent again if a request fails."""

MAX_REQUEST_TOKENS = 16_384
"""Estimated tokens of one request, if it has several texts: a sixth of what a free account may send in a minute."""

MAX_WINDOW_TEXTS = 256
"""Texts of one request with late chunking; the API takes twice as many."""

WINDOW_OVERLAP_TOKENS = 1_024
"""Estimated tokens that a window repeats of the one before, so that a span has at least half of that around it, except
at the ends of the text. They are sent twice: half a window would double the costs of a long text."""

WORDING = "retrieval.passage retrieval.query"
"""The tasks of passages and queries, which the model has adapters for. Others would give other vectors."""


@dataclass(frozen=True, slots=True)
class JinaModel:
    """What the API documents of a model: the default and the range of its dimensions."""

    dimension: int
    min_dimension: int


MODELS = {"jina-embeddings-v3": JinaModel(1_024, 32)}
"""The models whose tokens can be estimated and whose requests have this form."""


def dimension_of(model: str, dimension: int = 0) -> int:
    """The numbers in a vector of a model, by its name at the API, if so many are asked for; 0 asks for all.

    Raises:
        UnknownModel: There is no such model, or it has no vectors of this dimension.
    """
    name, slash, _ = model.partition("/")
    known, base = MODELS.get(name), f"{JINA_PREFIX}{name}"
    if known is None:
        raise UnknownModel(
            f"{JINA_PREFIX}{model} is not a model of the Jina API that this program knows. "
            f"Use {', '.join(JINA_PREFIX + name for name in MODELS)}."
        )
    found = dimension or known.dimension
    if slash or not known.min_dimension <= found <= known.dimension:
        asked_for = f"{JINA_PREFIX}{model}" if slash else f"{base}/{found}"
        raise UnknownModel(no_such_dimensions(asked_for, base, known.min_dimension, known.dimension))
    return found


@dataclass(frozen=True, slots=True)
class JinaOptions:
    """How a model of the API is used; the defaults are those of ``JinaSettings``.

    Attributes:
        model: The model's name at the API.
        url: The address of the API.
        dimension: Numbers in a vector; 0 for as many as the model has.
        requests_a_minute, tokens_a_minute: The limits of the account; 0 is none.
        concurrency: Requests at once.
        timeout: Seconds for the answer to a request for passages.
        query_timeout: Seconds for the vector of a query, everything included.
        redact: Takes out of a text what must not be sent.
        name: The embedder's own name; by default the model's with ``JINA_PREFIX``.
        redaction: Names what ``redact`` does; part of the identity, since other texts are sent.
        late_chunking: See ``LateChunkingEmbedder``.
    """

    model: str
    url: str = DEFAULT_URL
    dimension: int = 0
    requests_a_minute: int = 100
    tokens_a_minute: int = 100_000
    concurrency: int = 1
    timeout: float = 60.0
    query_timeout: float = 0.7
    redact: Callable[[str], str] = str
    redaction: str = ""
    name: str = ""
    late_chunking: bool = False


class JinaEmbedder:
    """A model behind the Jina API. Thread-safe; see ``RemoteEmbedder``."""

    def __init__(
        self,
        options: JinaOptions,
        account: TokenAccount,
        observer: RequestObserver,
        timing: Timing | None = None,
        find_key: Callable[[], str] = find_key,
    ) -> None:
        """Nothing is sent yet, and no key is needed.

        Raises:
            UnknownModel: There is no such model, or it has no vectors of this dimension.
            ApiError: The address can't be used.
        """
        self.dimension = dimension_of(options.model, options.dimension)
        base = f"{JINA_PREFIX}{options.model}"
        self.name = options.name or base + (LATE_SUFFIX if options.late_chunking else "")
        self.late_chunking = options.late_chunking
        self.max_tokens = self.max_positions = MAX_TEXT_TOKENS
        self.texts_a_call = MAX_REQUEST_TEXTS * options.concurrency
        self.texts_a_request = MAX_REQUEST_TEXTS
        self._redact = options.redact
        redaction = f" {options.redaction}" if options.redaction else ""
        self.identity = f"{base}@{self.dimension} {WORDING}{redaction}"
        self._client = JinaClient(
            ClientOptions(
                options.url, options.model, self.dimension, options.requests_a_minute, options.tokens_a_minute,
                options.concurrency, options.timeout, options.query_timeout,
            ),
            find_key, account, observer, timing or Timing(),
        )  # fmt: skip
        passage_task, query_task = WORDING.split()
        self._passage_task, self._query_task = passage_task, query_task

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dimension) float32, unit length. Waits and tries again where that may help, but not for some seconds
        after that was in vain.

        Raises:
            ApiUnavailable: The API does not answer.
            ApiError: It refuses, or the tokens are spent.
        """
        parts = [self._parts(text) for text in texts]
        flat = [part for each in parts for part in each]
        batches = list(_batches(flat))
        found = self._client.embed(self._passage_task, batches) if flat else []
        rows: Iterator[NDArray[np.float32]] = iter(np.concatenate(found) if found else [])
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for number, each in enumerate(parts):
            vectors[number] = self._joined(each, [next(rows) for _ in each])
        return vectors

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        """(spans, dimension) float32, unit length; see ``LateChunkingEmbedder``. A secret is taken out of a span, and
        the lead is sent with the first span of each request. Errors as in ``embed_passages``."""
        planned = [self._windows(text) for text in texts]
        windows = [window for each in planned for window in each]
        requests = [[part for _, part in window] for window in windows]
        found = self._client.embed(self._passage_task, requests, late_chunking=True) if requests else []
        answers = iter(found)
        rows: list[NDArray[np.float32]] = []
        for text, each in zip(texts, planned, strict=True):
            best: dict[int, tuple[float, NDArray[np.float32]]] = {}
            for window in each:
                centres = _centres([part for _, part in window])
                for (span, _), centre, vector in zip(window, centres, next(answers), strict=True):
                    if span not in best or centre < best[span][0]:
                        best[span] = centre, vector
            rows += [best[span][1] if span in best else self._joined([], []) for span in range(len(text.spans))]
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def count_span_tokens(self, texts: Sequence[SpannedText]) -> list[int]:
        """The estimated tokens that ``embed_spans`` sends of each text, what windows repeat included."""
        return [
            sum(sum(estimate_tokens([part for _, part in window])) for window in self._windows(text)) for text in texts
        ]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """(dimension,) float32, unit length, for a text of any length, in a short time or not at all. Errors as in
        ``embed_passages``."""
        parts = self._parts(text)
        found = self._client.embed_now(self._query_task, list(_batches(parts))) if parts else []
        return self._joined(parts, list(np.concatenate(found)) if found else [])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Estimated counts, special tokens included: more often too high than too low; see ``jina_tokens``."""
        return estimate_tokens(texts)

    def retry(self) -> None:
        """Ask the API again at once, however recently it has failed."""
        self._client.retry()

    def cancel(self) -> None:
        """End all requests at once, and refuse further ones."""
        self._client.cancel()

    def close(self) -> None:
        self._client.close()

    def _parts(self, text: str) -> list[str]:
        """What is sent of a text, in parts that the API reads; none of a blank one."""
        return [part for part in windows(self._redact(replace_surrogates(text)), MAX_TEXT_TOKENS) if part.strip()]

    def _windows(self, text: SpannedText) -> list[list[tuple[int, str]]]:
        """What is sent of a text with late chunking, a request each: the numbers of the spans and their texts, without
        blank ones."""
        said = [self._redact(replace_surrogates(text.text[start:end])) for start, end in text.spans]
        sent = [(number, part) for number, part in enumerate(said) if part.strip()]
        lead = self._redact(replace_surrogates(text.lead))
        (lead_tokens,) = estimate_tokens([lead])
        limit = MAX_TEXT_TOKENS - lead_tokens
        windows = []
        for first, end in _runs(estimate_tokens([part for _, part in sent]), limit):
            number, part = sent[first]
            windows.append([(number, lead + part), *sent[first + 1 : end]])
        return windows

    def _joined(self, parts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """The vector of a text from those of its parts."""
        if not parts:
            return np.full(self.dimension, self.dimension**-0.5, np.float32)
        return vectors[0] if len(parts) == 1 else mean_vector(np.stack(vectors), estimate_tokens(parts))


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts in order, in requests of a bounded size."""
    batch: list[str] = []
    used = 0
    for text, tokens in zip(texts, estimate_tokens(texts), strict=True):
        if batch and (len(batch) == MAX_REQUEST_TEXTS or used + tokens > MAX_REQUEST_TOKENS):
            yield batch
            batch, used = [], 0
        batch.append(text)
        used += tokens
    if batch:
        yield batch


def _runs(tokens: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Runs (first, last + 1) of spans of these tokens that one request takes, each with the last spans of the one
    before again; a single span that is too long by itself is a run."""
    first = 0
    while first < len(tokens):
        end, used = first, 0
        while end < len(tokens) and end - first < MAX_WINDOW_TEXTS and (end == first or used + tokens[end] <= limit):
            used += tokens[end]
            end += 1
        yield first, end
        if end == len(tokens):
            return
        first, repeated = end, 0
        while repeated + tokens[first - 1] <= min(WINDOW_OVERLAP_TOKENS, limit - tokens[end]) and (
            end - first < MAX_WINDOW_TEXTS // 2
        ):
            first -= 1
            repeated += tokens[first]


def _centres(parts: Sequence[str]) -> list[float]:
    """How far the middle of each part of a window is from the window's middle, in tokens."""
    ends = np.cumsum([0, *estimate_tokens(parts)])
    return [float(distance) for distance in np.abs(ends[:-1] + ends[1:] - ends[-1]) / 2]
