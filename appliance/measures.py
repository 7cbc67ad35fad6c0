"""What an open memory counts and times of itself, for ``status`` and ``/metrics``: numbers and fixed names, no words.

Feeding it costs about a microsecond, so that whatever is done may be told. Of each thing that is timed the latest
``KEPT`` values stay, which give the percentiles, and counts in fixed buckets of all since the memory was opened.
"""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.types import LEVELS, Event

KEPT = 512
"""Values that percentiles are taken of: some minutes of a busy memory, 4 KB."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""The bounds of the buckets of times; 60 ms is what a search may take beside an ingest."""

TOKENS = (250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0, 64_000.0, 128_000.0)

Stage = Literal["whole", "wait", "query", "candidates", "features", "closer", "hits"]
"""Of a search: all of it; waiting for what was just said to be embedded; embedding the question; candidates; their
features; the closer look at the best; the hits with their texts."""

STAGES: tuple[Stage, ...] = ("whole", "wait", "query", "candidates", "features", "closer", "hits")

Counted = Literal[
    "messages_new", "messages_updated", "messages_duplicate",
    "chunks_embedded", "embedding_failures", "query_cache_hits", "query_cache_misses",
    "summaries_made", "messages_deleted", "sessions_deleted", "messages_forgotten", "sessions_forgotten",
    "searches_failed", "contexts_failed",
]  # fmt: skip

OF_EVENTS: Mapping[str, Mapping[str, Counted]] = {
    "ingested": {
        "new": "messages_new",
        "updated": "messages_updated",
        "duplicates": "messages_duplicate",
    },
    "deleted": {"messages": "messages_deleted", "sessions": "sessions_deleted"},
    "forgotten": {"messages": "messages_forgotten", "sessions": "sessions_forgotten"},
}
"""What is counted of an event's detail, by its kind."""

Timed = Callable[[Stage], AbstractContextManager[None]]
"""Times what is done within, as a stage of a search."""


def untimed(stage: Stage) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of one thing are spread. ``buckets`` are counts up to each bound, the last one of all;
    the percentiles are those of the latest values, None without any."""

    count: int
    total: float
    bounds: Sequence[float]
    buckets: Sequence[int]
    p50: float | None
    p95: float | None
    p99: float | None


class Distribution:
    """The values of one thing. Safe to use from several threads."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._lock = threading.Lock()
        self._in_bucket = [0] * (len(bounds) + 1)
        self._latest = array("d")
        self._count = 0
        self._total = 0.0

    def add(self, value: float) -> None:
        with self._lock:
            self._in_bucket[bisect_left(self._bounds, value)] += 1
            if len(self._latest) < KEPT:
                self._latest.append(value)
            else:
                self._latest[self._count % KEPT] = value
            self._count += 1
            self._total += value

    def spread(self) -> Spread:
        with self._lock:
            latest, each = sorted(self._latest), list(self._in_bucket)
            count, total = self._count, self._total
        upto = [sum(each[: place + 1]) for place in range(len(each))]
        return Spread(count, total, self._bounds, upto, *(_at(latest, share) for share in (0.5, 0.95, 0.99)))


def _at(ordered: Sequence[float], share: float) -> float | None:
    return ordered[round(share * (len(ordered) - 1))] if ordered else None


class Measures:
    """All that an open memory tells of its own work. Safe to use from several threads."""

    def __init__(self) -> None:
        self.search: Mapping[Stage, Distribution] = {stage: Distribution(SECONDS) for stage in STAGES}
        self.context = Distribution(SECONDS)
        self.context_tokens = Distribution(TOKENS)
        self.embedding = Distribution(SECONDS)
        """Seconds of each step of embedding: some texts at once."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, what: Counted, number: int = 1) -> None:
        with self._lock:
            self._counts[what] += number

    def counted(self, what: Counted) -> int:
        """How often since the memory was opened."""
        return self._counts[what]

    @contextmanager
    def searching(self, stage: Stage) -> Iterator[None]:
        """Time a stage of a search. What fails is counted once, and not timed."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            if stage == "whole":
                self.count("searches_failed")
            raise
        self.search[stage].add(time.perf_counter() - began)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Time a context."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.count("contexts_failed")
            raise
        self.context.add(time.perf_counter() - began)

    @contextmanager
    def embedding_of(self, texts: int) -> Iterator[None]:
        """Time a step of embedding so many texts."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.count("embedding_failures")
            raise
        self.embedding.add(time.perf_counter() - began)
        self.count("chunks_embedded", texts)

    def happened(self, event: Event) -> None:
        """Count what an event tells of."""
        for name, what in OF_EVENTS.get(event.kind, {}).items():
            self.count(what, int(event.detail.get(name, 0)))
        if event.kind == "summarised":
            self.count("summaries_made", sum(int(event.detail.get(level, 0)) for level in LEVELS))


def resident() -> dict[str, int] | None:
    """This process's resident memory in bytes: ``anonymous``, its own, and ``files``, pages of mapped files that
    the system takes back when it needs them; None where it does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if "RssAnon" not in fields:
        return None
    kilobytes = {name: int(fields[name].split()[0]) for name in ("RssAnon", "RssFile")}
    return {"anonymous": kilobytes["RssAnon"] * 1024, "files": kilobytes["RssFile"] * 1024}
