"""``GET /metrics``: the memory's metrics in Prometheus' text format. Owner only.

Metrics are read at each scrape. Counts that need the database are cached for ``STATUS_TTL_SECONDS``, so that scraping
costs next to nothing however often it is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool

from appliance.runtime.metrics import STAGES, CounterName, resident_memory
from appliance.server.http.caller import Reader
from appliance.server.http.routes.base import make_router
from appliance.types import Histogram, MetricsSnapshot

if TYPE_CHECKING:
    from appliance.client import Appliance

STATUS_TTL_SECONDS = 5.0
"""Seconds for which counts of the database are cached; a common scrape interval is fifteen."""

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS: Sequence[tuple[str, str, Sequence[tuple[Mapping[str, str], CounterName]]]] = (
    (
        "appliance_messages_read",
        "Messages ingested, by result; duplicates over all is the deduplication rate",
        (
            ({"result": "new"}, "messages_new"),
            ({"result": "updated"}, "messages_updated"),
            ({"result": "duplicate"}, "messages_duplicate"),
        ),
    ),
    ("appliance_texts_embedded", "Texts embedded", (({}, "chunks_embedded"),)),
    ("appliance_embedding_failures", "Embedding batches that failed", (({}, "embedding_failures"),)),
    (
        "appliance_query_cache",
        "Queries whose vector was cached, and those that had to be embedded",
        (({"result": "hit"}, "query_cache_hits"), ({"result": "miss"}, "query_cache_misses")),
    ),
    ("appliance_summaries_made", "Summaries written", (({}, "summaries_made"),)),
    (
        "appliance_messages_removed",
        "Messages deleted with their session, or forgotten for good",
        (({"how": "deleted"}, "messages_deleted"), ({"how": "forgotten"}, "messages_forgotten")),
    ),
    (
        "appliance_sessions_removed",
        "Sessions deleted or expired, or forgotten for good",
        (({"how": "deleted"}, "sessions_deleted"), ({"how": "forgotten"}, "sessions_forgotten")),
    ),
    (
        "appliance_messages_recalled",
        "Messages given to an assistant in a context, or opened by their id",
        (({}, "messages_recalled"),),
    ),
    (
        "appliance_feedback",
        "Feedback on recalled messages, by kind",
        (
            ({"kind": "helpful"}, "feedback_helpful"),
            ({"kind": "used"}, "feedback_used"),
            ({"kind": "wrong"}, "feedback_wrong"),
            ({"kind": "outdated"}, "feedback_outdated"),
        ),
    ),
    (
        "appliance_failures",
        "Queries that ended in an error, invalid ones included",
        (({"of": "search"}, "searches_failed"), ({"of": "context"}, "contexts_failed")),
    ),
    (
        "appliance_embedding_api_requests",
        "Attempts at requests to an embedding API",
        (({"result": "answered"}, "api_requests"), ({"result": "failed"}, "api_failures")),
    ),
    ("appliance_embedding_api_retries", "Requests to an embedding API sent again", (({}, "api_retries"),)),
    ("appliance_embedding_api_tokens", "Tokens that an embedding API has counted", (({}, "api_tokens"),)),
)
"""Each counter's name, description and samples by label."""

WORTH_SHARES: Mapping[str, str] = {
    "usefulness": "Share of recalled memories that were helpful or used",
    "consistency": "Share of feedback that calls a memory neither wrong nor outdated",
}
"""The shares of a status's ``recall``; without feedback there is no sample."""


class MemoryCollector(Collector):
    """The metrics of one memory. Counters start at 0 when it is opened, as Prometheus expects."""

    def __init__(self, memory: Appliance) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._cached_status: dict[str, Any] = {}
        self._cached_at = -STATUS_TTL_SECONDS

    def collect(self) -> Iterator[Metric]:
        metrics = self._memory.metrics()
        yield from _latency_metrics(metrics)
        for name, documentation, samples in COUNTERS:
            counter = CounterMetricFamily(name, documentation, labels=list(samples[0][0]))
            for labels, counter_name in samples:
                counter.add_metric(list(labels.values()), metrics.counters[counter_name])
            yield counter
        yield from _size_metrics(self._status())
        resident_bytes = resident_memory()
        if resident_bytes is not None:
            yield _gauge("appliance_resident_bytes", "Resident memory of this process", "kind", resident_bytes)

    def describe(self) -> Iterator[Metric]:
        return iter(())  # registration must not count anything

    def _status(self) -> dict[str, Any]:
        with self._lock:
            if time.monotonic() - self._cached_at >= STATUS_TTL_SECONDS:
                self._cached_status = self._memory.status()
                self._cached_at = time.monotonic()
            return self._cached_status


def _latency_metrics(metrics: MetricsSnapshot) -> Iterator[Metric]:
    search = HistogramMetricFamily("appliance_search_seconds", "Searches, by stage", labels=["stage"])
    for stage in STAGES:
        _add_histogram(search, [stage], metrics.search[stage])
    yield search
    for name, documentation, histogram in (
        ("appliance_context_seconds", "Contexts, with the searches in them", metrics.context),
        ("appliance_context_tokens", "Tokens of each context", metrics.context_tokens),
        ("appliance_embedding_seconds", "Embedding batches, of a few texts each", metrics.embedding),
        ("appliance_embedding_api_seconds", "Answered requests to an embedding API", metrics.api),
    ):
        yield _histogram(name, documentation, histogram)
    recent = GaugeMetricFamily(
        "appliance_search_recent_seconds", "Percentiles of the latest searches", labels=["stage", "quantile"]
    )
    for stage in STAGES:
        percentiles = metrics.search[stage]
        for quantile, value in (("0.5", percentiles.p50), ("0.95", percentiles.p95), ("0.99", percentiles.p99)):
            if value is not None:
                recent.add_metric([stage, quantile], value)
    yield recent


def _histogram(name: str, documentation: str, histogram: Histogram) -> Metric:
    family = HistogramMetricFamily(name, documentation)
    _add_histogram(family, [], histogram)
    return family


def _add_histogram(family: HistogramMetricFamily, labels: Sequence[str], histogram: Histogram) -> None:
    bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
    family.add_metric(list(labels), list(zip(bounds, map(float, histogram.buckets), strict=True)), histogram.total)


def _size_metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    counts, disk = status["counts"], status["disk_bytes"]
    yield _gauge("appliance_stored", "Stored now; the growth is the rate", "what", counts)
    yield _gauge("appliance_disk_bytes", "Disk use of the home", "part", disk)
    bytes_per_message = GaugeMetricFamily(
        "appliance_disk_bytes_per_message", "Disk use per message, derived data included"
    )
    bytes_per_message.add_metric([], sum(disk.values()) / max(1, counts["messages"]))
    yield bytes_per_message
    queues = dict(status["queues"])
    lag = GaugeMetricFamily(
        "appliance_summaries_lag_seconds", "Seconds since the last message of the session that waits longest"
    )
    lag.add_metric([], queues.pop("summaries_lag_seconds"))
    yield lag
    yield _gauge("appliance_queue", "Pending work", "of", queues)
    yield _gauge("appliance_files", "Files of watched folders", "state", _integer_values(status["files"]))
    recall = status["recall"]
    for name, documentation in WORTH_SHARES.items():
        share = GaugeMetricFamily(f"appliance_recall_{name}_ratio", f"{documentation}, in {recall['days']} days")
        if (value := recall[name]) is not None:
            share.add_metric([], value)
        yield share
    health = GaugeMetricFamily("appliance_healthy", "1 while the health is ok, or chunks are pending")
    health.add_metric([], float(status["health"] == "ok" or bool(counts["pending"])))
    yield health


def _gauge(name: str, documentation: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, documentation, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _integer_values(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, int)}


router = make_router("health")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus' text", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, caller: Reader) -> Response:
    """Metrics for Prometheus. Owner only."""
    caller.require_owner("metrics")
    body = await run_in_threadpool(generate_latest, _registry(request))
    return Response(body, media_type=MEDIA_TYPE)


def _registry(request: Request) -> CollectorRegistry:
    """The application's own registry, created at the first scrape."""
    state = request.app.state
    registry: CollectorRegistry | None = getattr(state, "metrics", None)
    if registry is None:
        registry = CollectorRegistry()
        registry.register(MemoryCollector(state.service.memory))
        state.metrics = registry
    return registry
