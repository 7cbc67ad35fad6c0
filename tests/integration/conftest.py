"""What tests of a whole memory have."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock by seconds, forwards or back."""
    import time

    shift = [0]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + shift[0])

    def move(seconds: float) -> None:
        shift[0] += int(seconds * 1e9)

    return move
