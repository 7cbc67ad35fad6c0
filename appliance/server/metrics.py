"""``GET /metrics``: what the memory counts and times of itself, in Prometheus' text format. For the owner alone.

What the measures hold is read at each scrape; what has to be counted in the database is kept for ``FRESH`` seconds, so
that scraping costs next to nothing however often it is done.
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

from appliance.measures import STAGES, Counted, Distribution, Measures, Spread, resident
from appliance.server.reach import Reader
from appliance.server.routes.base import group

if TYPE_CHECKING:
    from appliance.engine import Engine

FRESH = 5.0
"""Seconds that counts of the database are told again without being counted: a common interval is fifteen."""

TEXT = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS: Sequence[tuple[str, str, Sequence[tuple[Mapping[str, str], Counted]]]] = (
    (
        "appliance_messages_read",
        "Messages that came in, by what became of them; duplicates over all is the deduplication rate",
        (
            ({"result": "new"}, "messages_new"),
            ({"result": "updated"}, "messages_updated"),
            ({"result": "duplicate"}, "messages_duplicate"),
        ),
    ),
    ("appliance_texts_embedded", "Texts that were embedded", (({}, "chunks_embedded"),)),
    ("appliance_embedding_failures", "Steps of embedding that failed", (({}, "embedding_failures"),)),
    (
        "appliance_query_cache",
        "Questions whose vector was at hand, and those that had to be embedded",
        (({"result": "hit"}, "query_cache_hits"), ({"result": "miss"}, "query_cache_misses")),
    ),
    ("appliance_summaries_made", "Summaries that were written", (({}, "summaries_made"),)),
    (
        "appliance_messages_removed",
        "Messages that were deleted with their session, or forgotten for good",
        (({"how": "deleted"}, "messages_deleted"), ({"how": "forgotten"}, "messages_forgotten")),
    ),
    (
        "appliance_sessions_removed",
        "Sessions that were deleted or expired, or forgotten for good",
        (({"how": "deleted"}, "sessions_deleted"), ({"how": "forgotten"}, "sessions_forgotten")),
    ),
    (
        "appliance_failures",
        "Questions that ended in an error, a wrong one of the caller's too",
        (({"of": "search"}, "searches_failed"), ({"of": "context"}, "contexts_failed")),
    ),
)
"""Each counter's name, what it counts, and by which labels."""


class Telling(Collector):
    """Tells of one memory. Counters begin at 0 when it is opened, as Prometheus expects."""

    def __init__(self, memory: Engine) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._counted: dict[str, Any] = {}
        self._at = -FRESH

    def collect(self) -> Iterator[Metric]:
        measures = self._memory.measures
        yield from _times(measures)
        for name, about, each in COUNTERS:
            counter = CounterMetricFamily(name, about, labels=list(each[0][0]))
            for labels, what in each:
                counter.add_metric(list(labels.values()), measures.counted(what))
            yield counter
        yield from _sizes(self._status())
        kept = resident()
        if kept is not None:
            yield _gauge("appliance_resident_bytes", "Resident memory of this process", "kind", kept)

    def describe(self) -> Iterator[Metric]:
        return iter(())  # nothing is counted only to register

    def _status(self) -> dict[str, Any]:
        with self._lock:
            if time.monotonic() - self._at >= FRESH:
                self._counted = self._memory.status()
                self._at = time.monotonic()
            return self._counted


def _times(measures: Measures) -> Iterator[Metric]:
    search = HistogramMetricFamily("appliance_search_seconds", "Searches, by stage", labels=["stage"])
    for stage in STAGES:
        _add(search, [stage], measures.search[stage].spread())
    yield search
    for name, about, distribution in (
        ("appliance_context_seconds", "Contexts, with the searches in them", measures.context),
        ("appliance_context_tokens", "Tokens of each context", measures.context_tokens),
        ("appliance_embedding_seconds", "Steps of embedding, of a few texts each", measures.embedding),
    ):
        yield _histogram(name, about, distribution)
    recent = GaugeMetricFamily(
        "appliance_search_recent_seconds", "Percentiles of the latest searches", labels=["stage", "quantile"]
    )
    for stage in STAGES:
        spread = measures.search[stage].spread()
        for quantile, value in (("0.5", spread.p50), ("0.95", spread.p95), ("0.99", spread.p99)):
            if value is not None:
                recent.add_metric([stage, quantile], value)
    yield recent


def _histogram(name: str, about: str, distribution: Distribution) -> Metric:
    family = HistogramMetricFamily(name, about)
    _add(family, [], distribution.spread())
    return family


def _add(family: HistogramMetricFamily, labels: Sequence[str], spread: Spread) -> None:
    bounds = [*(f"{bound:g}" for bound in spread.bounds), "+Inf"]
    family.add_metric(list(labels), list(zip(bounds, map(float, spread.buckets), strict=True)), spread.total)


def _sizes(status: Mapping[str, Any]) -> Iterator[Metric]:
    counts, disk = status["counts"], status["disk_bytes"]
    yield _gauge("appliance_stored", "What is stored now; its growth is its rate", "what", counts)
    yield _gauge("appliance_disk_bytes", "What the home takes on the disk", "part", disk)
    payload = GaugeMetricFamily(
        "appliance_disk_bytes_per_message", "What a message takes on the disk, with all that is made of it"
    )
    payload.add_metric([], sum(disk.values()) / max(1, counts["messages"]))
    yield payload
    queues = dict(status["queues"])
    lag = GaugeMetricFamily(
        "appliance_summaries_lag_seconds", "Since the last message of the session that waits longest"
    )
    lag.add_metric([], queues.pop("summaries_lag_seconds"))
    yield lag
    yield _gauge("appliance_queue", "What waits to be done", "of", queues)
    yield _gauge("appliance_files", "Files of watched folders", "state", _numbers(status["files"]))
    health = GaugeMetricFamily("appliance_healthy", "1 while status says ok, or that chunks wait")
    health.add_metric([], float(status["health"] == "ok" or bool(counts["pending"])))
    yield health


def _gauge(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, int)}


router = group("health")


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def metrics(request: Request, caller: Reader) -> Response:
    """What the memory counts and times of itself, for Prometheus. The owner's token is needed."""
    caller.require_owner("measures are")
    told = await run_in_threadpool(generate_latest, _registry(request))
    return Response(told, media_type=TEXT)


def _registry(request: Request) -> CollectorRegistry:
    """The application's own registry, made at the first scrape."""
    state = request.app.state
    found: CollectorRegistry | None = getattr(state, "metrics", None)
    if found is None:
        found = CollectorRegistry()
        found.register(Telling(state.service.memory))
        state.metrics = found
    return found
