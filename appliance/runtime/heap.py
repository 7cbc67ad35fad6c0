"""The heap of this process, where the C library is glibc."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8
"""From glibc's malloc.h."""


def share_one_heap() -> None:
    """Let all threads share one heap. With one heap each, which glibc keeps returning to the system, a search on a
    thread takes a tenth longer, and more memory."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Give what is free in the heap back to the system."""
    with suppress(AttributeError, OSError, TypeError):  # Windows has no library of the process itself
        ctypes.CDLL(None).malloc_trim(0)
