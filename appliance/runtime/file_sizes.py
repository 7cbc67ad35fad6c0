"""A bound on the size of files while code runs that trusts the numbers in its files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_users: list[tuple[int, int]] = []
"""For each block that is running, the bounds that the process had before the first of them."""


@contextmanager
def bounded_file_sizes(limit: int) -> Iterator[None]:
    """Within it, a file of this process that would grow beyond ``limit`` bytes is an error of the system ("File too
    large"). Where the system knows no such bound, nothing happens. Blocks of several threads share one bound."""
    try:
        import resource
    except ImportError:
        yield
        return
    with _lock:
        soft, hard = before = _users[0] if _users else resource.getrlimit(resource.RLIMIT_FSIZE)
        _users.append(before)
        if len(_users) == 1:
            bound = limit if soft == resource.RLIM_INFINITY else min(limit, soft)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bound, hard))
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
