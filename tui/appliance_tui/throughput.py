"""The recent speed of an import or of embedding, and durations and sizes in words."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_SECONDS = 15.0
"""Seconds over which the speed is measured: a shorter window jumps about, a longer one lags."""

MIN_SPAN_SECONDS = 0.5
"""Seconds of samples below which no speed is given."""


class Throughput:
    """The speed of a growing count, from samples of the count over time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque([(clock(), 0.0)])

    def add(self, count: float) -> None:
        now = self._clock()
        self._samples.append((now, count))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def per_second(self) -> float | None:
        """Counts a second; None before there are enough samples."""
        (then, before), (now, count) = self._samples[0], self._samples[-1]
        return (count - before) / (now - then) if now - then >= MIN_SPAN_SECONDS else None

    def seconds_left(self, remaining: float) -> float | None:
        """Seconds until ``remaining`` more are done, at the present speed."""
        speed = self.per_second
        return remaining / speed if speed else None


def format_duration(seconds: float) -> str:
    """ "8 s", "3 min", "2 h 5 min"."""
    whole = max(1, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def format_bytes(size: float) -> str:
    """ "999 B", "1.5 KB", "120 MB"."""
    unit = "B"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
