"""The metrics of an open memory, for ``status`` and ``/metrics``: numbers and fixed names, no words.

Recording a value costs about a microsecond. Each histogram keeps the latest ``PERCENTILE_SAMPLES`` values for its
percentiles, and counts in fixed buckets since the memory was opened.
"""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal, get_args

from appliance.types import LEVELS, Event, Histogram, MetricsSnapshot

PERCENTILE_SAMPLES = 512
"""The values that percentiles are computed from: some minutes of a busy memory, 4 KB."""

TIME_BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""The upper bounds of the buckets of times; 60 ms is the target of a search during an ingest."""

API_BUCKETS_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""The upper bounds of the buckets of requests over the network."""

TOKEN_BUCKETS = (250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0, 64_000.0, 128_000.0)

Stage = Literal["whole", "wait", "query", "candidates", "features", "second_stage", "confidence", "hits"]
"""The stages of a search: all of it; waiting for recent messages to be embedded; embedding the query; candidates; the
features of the first ranking; the second stage; the hits with their texts."""

STAGES: tuple[Stage, ...] = ("whole", "wait", "query", "candidates", "features", "second_stage", "confidence", "hits")

CounterName = Literal[
    "messages_new", "messages_updated", "messages_duplicate",
    "chunks_embedded", "embedding_failures", "query_cache_hits", "query_cache_misses",
    "summaries_made", "messages_deleted", "sessions_deleted", "messages_forgotten", "sessions_forgotten",
    "searches_failed", "contexts_failed",
    "messages_recalled", "feedback_helpful", "feedback_used", "feedback_wrong", "feedback_outdated",
    "api_requests", "api_failures", "api_retries", "api_tokens",
]  # fmt: skip

EVENT_COUNTERS: Mapping[str, Mapping[str, CounterName]] = {
    "ingested": {"new": "messages_new", "updated": "messages_updated", "duplicates": "messages_duplicate"},
    "deleted": {"messages": "messages_deleted", "sessions": "sessions_deleted"},
    "forgotten": {"messages": "messages_forgotten", "sessions": "sessions_forgotten"},
}
"""The counters of the fields of an event's detail, by kind."""

StageTimer = Callable[[Stage], AbstractContextManager[None]]
"""Times its context as a stage of a search."""


def no_timer(stage: Stage) -> AbstractContextManager[None]:
    return nullcontext()


class HistogramRecorder:
    """Records the values of one histogram. Safe to use from several threads."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._lock = threading.Lock()
        self._bucket_counts = [0] * (len(bounds) + 1)
        self._latest_values = array("d")
        self._count = 0
        self._total = 0.0

    def add(self, value: float) -> None:
        with self._lock:
            self._bucket_counts[bisect_left(self._bounds, value)] += 1
            if len(self._latest_values) < PERCENTILE_SAMPLES:
                self._latest_values.append(value)
            else:
                self._latest_values[self._count % PERCENTILE_SAMPLES] = value
            self._count += 1
            self._total += value

    def histogram(self) -> Histogram:
        with self._lock:
            latest, bucket_counts = sorted(self._latest_values), list(self._bucket_counts)
            count, total = self._count, self._total
        cumulative = [sum(bucket_counts[: place + 1]) for place in range(len(bucket_counts))]
        return Histogram(
            count, total, self._bounds, cumulative, *(_percentile(latest, share) for share in (0.5, 0.95, 0.99))
        )


def _percentile(ordered: Sequence[float], fraction: float) -> float | None:
    return ordered[round(fraction * (len(ordered) - 1))] if ordered else None


class Metrics:
    """Counters and histograms of an open memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self.search: Mapping[Stage, HistogramRecorder] = {
            stage: HistogramRecorder(TIME_BUCKETS_SECONDS) for stage in STAGES
        }
        self.context = HistogramRecorder(TIME_BUCKETS_SECONDS)
        self.context_tokens = HistogramRecorder(TOKEN_BUCKETS)
        self.embedding = HistogramRecorder(TIME_BUCKETS_SECONDS)
        """Seconds of each batch of embedding."""
        self.api = HistogramRecorder(API_BUCKETS_SECONDS)
        """Seconds of each answered request to an embedding API."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: CounterName, number: int = 1) -> None:
        with self._lock:
            self._counts[name] += number

    def counter_value(self, name: CounterName) -> int:
        """A counter's value since the memory was opened."""
        return self._counts[name]

    def snapshot(self) -> MetricsSnapshot:
        """All values so far."""
        with self._lock:
            counters = {name: self._counts[name] for name in get_args(CounterName)}
        return MetricsSnapshot(
            counters,
            {stage: recorder.histogram() for stage, recorder in self.search.items()},
            self.context.histogram(),
            self.context_tokens.histogram(),
            self.embedding.histogram(),
            self.api.histogram(),
        )

    @contextmanager
    def time_search_stage(self, stage: Stage) -> Iterator[None]:
        """Time a stage of a search. A failed search is counted once, and not timed."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            if stage == "whole":
                self.count("searches_failed")
            raise
        self.search[stage].add(time.perf_counter() - began)

    @contextmanager
    def time_context(self) -> Iterator[None]:
        """Time the building of a context."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.count("contexts_failed")
            raise
        self.context.add(time.perf_counter() - began)

    @contextmanager
    def time_embedding(self, texts: int) -> Iterator[None]:
        """Time the embedding of a batch of ``texts`` texts."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.count("embedding_failures")
            raise
        self.embedding.add(time.perf_counter() - began)
        self.count("chunks_embedded", texts)

    def count_event(self, event: Event) -> None:
        """Count the contents of an event."""
        for detail_key, counter_name in EVENT_COUNTERS.get(event.kind, {}).items():
            self.count(counter_name, int(event.detail.get(detail_key, 0)))
        if event.kind == "summarised":
            self.count("summaries_made", sum(int(event.detail.get(level, 0)) for level in LEVELS))


def resident_memory() -> dict[str, int] | None:
    """This process's resident memory in bytes: ``anonymous``, its own, and ``files``, pages of mapped files that the
    system reclaims when it needs them. None if the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if "RssAnon" not in fields:
        return None
    kilobytes = {name: int(fields[name].split()[0]) for name in ("RssAnon", "RssFile")}
    return {"anonymous": kilobytes["RssAnon"] * 1024, "files": kilobytes["RssFile"] * 1024}
