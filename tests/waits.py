"""How tests wait and how they judge a cost, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a test gives up. It ends a test that hangs, and judges no speed: a busy machine may take a
hundred times as long as an idle one."""

STEP = 0.005
"""Seconds between two looks."""


def until(holds: Callable[[], T], what: object = "it") -> T:
    """Wait until something holds that another thread or process does.

    Args:
        holds: what is looked at again and again.
        what: what the failure names; a callable is asked when it fails.

    Returns:
        The first true value.

    Raises:
        AssertionError: it does not come about in ``PATIENCE``.
    """
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, f"{what() if callable(what) else what} did not come about"
        time.sleep(STEP)
    return found


def spent(work: Callable[[], object]) -> float:
    """The processor time in seconds that this thread spends on some work; what else the machine does is not in it.

    Limits for it lie far above what is spent and far below what a cost that grows with the square would be.
    """
    began = time.thread_time()
    work()
    return time.thread_time() - began
