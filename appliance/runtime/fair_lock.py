"""A lock whose holders take turns, so that long work which often lets go of it does not get it back at once."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """A lock that is acquired in the order in which it was asked for. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._is_held = False

    def __enter__(self) -> None:
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is ticket and not self._is_held)
                self._is_held = True
            finally:  # an interrupted wait must not hold up those behind it
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._is_held = False
            self._changed.notify_all()

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits for the lock."""
        return bool(self._waiting)
