"""A lock whose holders take turns, so that long work which often lets go of it does not get it back at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType


class FairLock:
    """A lock that is acquired in the order in which it was asked for. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._is_held = False

    def __enter__(self) -> None:
        self._acquire(None, lambda: None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._is_held = False
            self._changed.notify_all()

    @contextmanager
    def held(self, seconds: float, on_wait: Callable[[], None]) -> Iterator[None]:
        """Hold the lock within the context; ``on_wait`` is called once if it could not be acquired in so many
        seconds, and the wait goes on."""
        self._acquire(seconds, on_wait)
        with ExitStack() as stack:
            stack.push(self)
            yield

    def _acquire(self, seconds: float | None, on_wait: Callable[[], None]) -> None:
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
        try:
            if not self._take_turn(ticket, seconds):
                on_wait()  # without the condition, which the holder needs
                self._take_turn(ticket, None)
        except BaseException:  # an interrupted wait must not hold up those behind it
            with self._changed:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                self._changed.notify_all()
            raise

    def _take_turn(self, ticket: object, seconds: float | None) -> bool:
        """Whether the turn has come within so many seconds; the lock is then held, and its ticket gone."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting[0] is ticket and not self._is_held, seconds):
                return False
            self._waiting.remove(ticket)
            self._is_held = True
            return True

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits for the lock."""
        return bool(self._waiting)
