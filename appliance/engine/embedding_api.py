"""Embedding models behind an API: opening one for a home, and what a rebuild with it would send.

``appliance_models.jina`` is imported with the first model, and not at all without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from appliance.engine.passage_vectors import is_late, spanned_text
from appliance.errors import EmbeddingApiError
from appliance.ingest.chunk import Chunker
from appliance.paths import Home
from appliance.requests import ReindexRequest
from appliance.runtime.metrics import Metrics
from appliance.runtime.network import network_uses
from appliance.secrets.detector import find_secrets
from appliance.secrets.masking import mask
from appliance.settings import JINA_PREFIX, Settings
from appliance.store import chunks, summary_chunks
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.passages import chunk_digests, passage, sections
from appliance.store.token_account import FileTokenAccount, TokenUsage, read_usage
from appliance.types import ReindexForecast

if TYPE_CHECKING:
    from appliance.engine.index_service import IndexService
    from appliance.engine.model_cache import ModelCache
    from appliance.runtime.llm import LlmEndpoint
    from appliance_models import Embedder, SpannedText
    from appliance_models.registry import RemoteEmbedder

REDACTION = "masked/1"
"""Names how secrets are hidden before a text is sent; another way would give other vectors."""

NO_GENERATION = 0
"""No generation has this key, so that every message lacks chunks of it."""


def is_api_model(name: str) -> bool:
    """Whether a model of this name is asked over the network."""
    return name.startswith(JINA_PREFIX)


def is_remote(model: Embedder) -> TypeGuard[RemoteEmbedder]:
    """Whether a model is asked over the network."""
    return getattr(model, "texts_a_call", 0) > 0


def open_api_model(name: str, settings: Settings, account: FileTokenAccount, metrics: Metrics) -> RemoteEmbedder:
    """The model of a name that ``is_api_model``. Nothing is sent yet.

    Raises:
        appliance_models.ModelError: There is no such model, or the settings don't fit it.
    """
    from appliance_models.jina import JinaEmbedder, JinaOptions
    from appliance_models.registry import split_late, split_name

    name_and_late, dimensions = split_name(name)
    base, is_late = split_late(name_and_late)
    jina, is_masked = settings.jina, settings.secrets.policy != "keep"
    options = JinaOptions(
        base.removeprefix(JINA_PREFIX), jina.url, dimensions, jina.requests_a_minute,
        jina.tokens_a_minute, jina.concurrency, jina.timeout, jina.query_timeout, name=name,
        redact=_mask_secrets if is_masked else str, redaction=REDACTION if is_masked else "",
        late_chunking=is_late,
    )  # fmt: skip
    return JinaEmbedder(options, account, _RequestMetrics(metrics))


def _mask_secrets(text: str) -> str:
    return mask(text, find_secrets(text))


class _RequestMetrics:
    """Counts requests in the metrics of the memory; see ``appliance_models.jina_client.RequestObserver``."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def answered(self, seconds: float, tokens: int) -> None:
        self._metrics.count("api_requests")
        self._metrics.count("api_tokens", tokens)
        self._metrics.api.add(seconds)

    def failed(self) -> None:
        self._metrics.count("api_failures")

    def retried(self) -> None:
        self._metrics.count("api_retries")


def forecast_rebuild(
    database: Database, index_service: IndexService, settings: Settings, name: str | None
) -> ReindexForecast:
    """What a rebuild of all vectors would send; see ``ForecastReindexRequest``. ``name`` is the model's; None for the
    present one.

    Raises:
        ModelUnavailable: The model can't be loaded, or it is not known what was sent so far.
    """
    models, serving = index_service.models, index_service.serving
    found = serving.current()
    model = models.load(settings.model.full_name(name) if name else found.model if found else models.name)
    if not is_remote(model):
        return ReindexForecast(0, 0, 0, 0, 0.0, 0.0, "")
    return _forecast(database, model, serving.chunker(model), settings, models.token_account)


def prepare_rebuild(
    database: Database, index_service: IndexService, settings: Settings, request: ReindexRequest
) -> None:
    """Check before a rebuild that it would not send more tokens than may be sent, and let it ask the API at once.

    Raises:
        EmbeddingApiError: It would send more.
    """
    index_service.models.retry_requests()
    if settings.jina.token_cap and (request.model is not None or request.vectors):
        found = forecast_rebuild(database, index_service, settings, request.model)
        if found.address:
            index_service.models.token_account.require(found.tokens)


def cancel_requests(llm: LlmEndpoint | None, models: ModelCache) -> None:
    """End the requests of a language model and of embedding models, because the memory is being closed."""
    if llm is not None:
        llm.cancel_all()
    models.cancel_requests()


def pending_reason(index_service: IndexService) -> str:
    """Why chunks wait, if that is because an embedding API failed when it was last asked; else empty."""
    found = index_service.serving.current()
    if found is None or not is_api_model(found.model) or not index_service.pending():
        return ""
    try:
        return index_service.models.token_account.usage().trouble
    except EmbeddingApiError as error:
        return str(error)


def network_status(home: Home, settings: Settings, model: str) -> dict[str, Any]:
    """For a status: which parts use the network, and what was sent to an embedding API, if the model is behind one."""
    uses = [{"part": use.part, "address": use.address} for use in network_uses(settings, model)]
    if not is_api_model(model):
        return {"network": uses, "api": None}
    try:
        usage = read_usage(home.jina)
    except EmbeddingApiError as error:
        usage = TokenUsage(trouble=str(error))
    cap = settings.jina.token_cap or None
    return {"network": uses, "api": {"tokens": usage.tokens, "token_cap": cap, "trouble": usage.trouble}}


def _forecast(
    database: Database, model: RemoteEmbedder, chunker: Chunker, settings: Settings, account: FileTokenAccount
) -> ReindexForecast:
    """What is sent to embed everything stored, equal texts once."""
    seen: set[bytes] = set()
    estimated = 0
    for are_messages, page in _pages(database):
        texts: list[str] = []
        split: list[SpannedText] = []
        for message, spans in zip(page, chunker.split(page), strict=True):
            late = are_messages and is_late(model) and len(spans) > 1
            digests = chunk_digests(message.author, message.text, spans, is_late=late)
            if late and not seen.issuperset(digests):
                split += [spanned_text(message.author, message.text, section) for section in sections(spans)]
            elif not late:
                own = zip(spans, digests, strict=True)
                new = {digest: span for span, digest in own if digest not in seen}
                texts += [passage(message.author, message.text[span.start : span.end]) for span in new.values()]
            seen.update(digests)
        estimated += sum(chunker.count_tokens(texts))
        if split:
            estimated += sum(cast("Any", model).count_span_tokens(split))
    usage, jina = account.usage(), settings.jina
    tokens = round(estimated * usage.correction)
    return ReindexForecast(
        texts=len(seen),
        tokens=tokens,
        tokens_sent=usage.tokens,
        token_cap=jina.token_cap,
        price=tokens * jina.price_per_million / 1_000_000,
        minutes=tokens / jina.tokens_a_minute if jina.tokens_a_minute else 0.0,
        address=jina.url,
    )


def _pages(database: Database) -> Iterator[tuple[bool, Sequence[ChunkableMessage]]]:
    """All messages and summaries with text; whether they are messages first."""
    for without_chunks in (chunks.messages_without_chunks, summary_chunks.summaries_without_chunks):
        after = 0
        while page := without_chunks(database.read(), NO_GENERATION, after):
            yield without_chunks is chunks.messages_without_chunks, page
            after = page[-1].id
