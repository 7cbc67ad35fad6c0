"""Progress and events of a running verb, and the metrics of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

from appliance.lazy_dataclasses import dataclass
from appliance.types.records import FileReport

T_co = TypeVar("T_co", covariant=True)


class Stream(Iterator[T_co], Protocol[T_co]):
    """An iterator over results that are still being produced. Closing it, in any thread, ends that work."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a verb: in the stage "reading", ``done`` messages of ``file``; in "embedding" the chunks that
    are ``done`` and ``pending``; in "archiving" and "scanning" the same for messages, in "saving" for blocks of a
    backup, in "discovering" for histories, of which ``file`` is the next. In "waiting" nothing is done until
    ``waits_for`` has ended."""

    stage: Literal["reading", "embedding", "archiving", "scanning", "saving", "discovering", "waiting"]
    done: int
    pending: int = 0
    file: str = ""
    waits_for: str = ""


OnProgress = Callable[[Progress], None]
"""Called with the progress of a verb, in the thread that called the verb."""


def of_embedding(on_progress: OnProgress) -> Callable[[int, int], None]:
    """Return a function that reports the chunks done and pending as progress."""
    return lambda done, pending: on_progress(Progress("embedding", done, pending))


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """An event of a watcher: the ``report`` of a file that was read, or a ``trouble`` that prevents it from
    watching."""

    report: FileReport | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class WatchChange:
    """A change of the setting ``watch.folders``: the ``paths`` that were added or removed, and whether a watcher runs
    that follows the change at once."""

    paths: tuple[str, ...]
    is_followed: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """The distribution of values.

    Attributes:
        count: The number of values.
        total: Their sum.
        bounds: The upper bounds of the buckets.
        buckets: The number of values up to each bound; the last one counts all.
        p50, p95, p99: Percentiles of the latest values; None without any.
    """

    count: int
    total: float
    bounds: Sequence[float]
    buckets: Sequence[int]
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """The counts and times of a memory since it was opened.

    Attributes:
        counters: Counts by name.
        search: Seconds of searches, by stage.
        context: Seconds of contexts, with the searches in them.
        context_tokens: Tokens of contexts.
        embedding: Seconds of embedding steps, of a few texts each.
        api: Seconds of answered requests to an embedding API.
    """

    counters: Mapping[str, int]
    search: Mapping[str, Histogram]
    context: Histogram
    context_tokens: Histogram
    embedding: Histogram
    api: Histogram
