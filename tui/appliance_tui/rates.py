"""How fast something goes, of late."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW = 15.0
"""Seconds that a speed is taken over: less jumps about, more does not notice."""

ANY = 0.5
"""Seconds below which there is no speed yet."""


class Rate:
    """The speed of a count that grows. Each sample is a count at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque([(clock(), 0.0)])

    def add(self, count: float) -> None:
        now = self._clock()
        self._samples.append((now, count))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW:
            self._samples.popleft()

    @property
    def a_second(self) -> float | None:
        """So much a second; None where that can't be said yet."""
        (then, before), (now, count) = self._samples[0], self._samples[-1]
        return (count - before) / (now - then) if now - then >= ANY else None

    def left(self, rest: float) -> float | None:
        """Seconds until the rest is done, too."""
        speed = self.a_second
        return rest / speed if speed else None


def spoken(seconds: float) -> str:
    """A time as a person says it: "8 s", "3 min", "2 h 5 min"."""
    whole = max(1, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def amount(size: float) -> str:
    """Bytes as a person says them."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit in ("B", "kB") or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError
