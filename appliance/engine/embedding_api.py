"""Embedding models behind an API: opening one for a home, and what a status says of it.

``appliance_models.jina`` is imported with the first model, and not at all without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from appliance.errors import EmbeddingApiError, ModelUnavailable
from appliance.paths import Home
from appliance.runtime.metrics import Metrics
from appliance.runtime.network import loopback_uses, network_uses
from appliance.settings import JINA_PREFIX, Settings
from appliance.store.token_account import FileTokenAccount, TokenUsage, read_usage

if TYPE_CHECKING:
    from appliance.engine.index_service import IndexService
    from appliance.engine.model_cache import ModelCache
    from appliance.runtime.llm import LlmEndpoint
    from appliance_models import Embedder
    from appliance_models.registry import RemoteEmbedder

REDACTION = "masked/1"
"""Names how secrets are hidden before a text is sent; another way would give other vectors."""


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
    from appliance.secrets.detector import find_secrets  # with its patterns, for those who use the API
    from appliance.secrets.masking import mask

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


def cancel_requests(llm: LlmEndpoint | None, models: ModelCache) -> None:
    """End the requests of a language model and of embedding models, because the memory is being closed."""
    if llm is not None:
        llm.cancel_all()
    models.cancel_requests()


def pending_reason(index_service: IndexService) -> str:
    """Why chunks wait, if that is because the model can't be used, or its API failed when it was last asked; else
    empty."""
    found = index_service.serving.current()
    if found is None or not index_service.pending():
        return ""
    if not is_api_model(found.model):
        try:
            index_service.models.for_generation(found)
        except ModelUnavailable as error:
            return error.with_hint
        return ""
    try:
        return index_service.models.token_account.usage().trouble
    except EmbeddingApiError as error:
        return str(error)


def network_status(home: Home, settings: Settings, model: str) -> dict[str, Any]:
    """For a status: which parts use the network (``network``), which ask a server on this machine (``loopback``), and
    what was sent to an embedding API, if the model is behind one."""
    uses = {
        name: [{"part": use.part, "address": use.address} for use in found(settings, model)]
        for name, found in (("network", network_uses), ("loopback", loopback_uses))
    }
    if not is_api_model(model):
        return {**uses, "api": None}
    try:
        usage = read_usage(home.jina)
    except EmbeddingApiError as error:
        usage = TokenUsage(trouble=str(error))
    cap = settings.jina.token_cap or None
    return {**uses, "api": {"tokens": usage.tokens, "token_cap": cap, "trouble": usage.trouble}}
