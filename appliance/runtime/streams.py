"""Streams: iterators that one thread fills while another reads, and that any thread can close."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, Self, TypeVar

T = TypeVar("T")

CLOSE_CHECK_SECONDS = 0.5
"""Seconds after which a waiting thread checks again whether the stream was closed."""


class ProducerStream(Generic[T]):
    """A stream of the items that ``work`` puts into it, on a thread that starts at the first ``next``.

    An error of ``work`` is raised in the reader, after the items before it.
    """

    def __init__(self, work: Callable[[], object], stop: Callable[[], None], *, size: int) -> None:
        """
        Args:
            work: Calls ``put`` with each item, and returns at the end.
            stop: Makes ``work`` return soon. Called by ``close``.
            size: The most items that wait for the reader.
        """
        self._work = work
        self._stop = stop
        self._items: queue.Queue[tuple[T] | None] = queue.Queue(size)
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, item: T) -> None:
        """Queue an item for the reader; waits while the queue is full. After ``close`` items are dropped."""
        while not self._closed.is_set():
            try:
                self._items.put((item,), timeout=CLOSE_CHECK_SECONDS)
                return
            except queue.Full:
                continue

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        with self._starting:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="appliance-stream", daemon=True)
                self._thread.start()
        while not self._closed.is_set():
            try:
                item = self._items.get(timeout=CLOSE_CHECK_SECONDS)
            except queue.Empty:
                continue
            if item is not None:
                return item[0]
            self._closed.set()
            if self._error is not None:
                raise self._error
        raise StopIteration

    def close(self) -> None:
        """Stop the work and wait until its thread has ended."""
        with self._starting:  # a thread that is being started is joined too
            self._closed.set()
        self._stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
        while not self._closed.is_set():
            try:
                self._items.put(None, timeout=CLOSE_CHECK_SECONDS)
                return
            except queue.Full:
                continue


class HeldContext:
    """An empty stream that holds a context until it is closed."""

    def __init__(self, context: AbstractContextManager[object]) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(context)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> None:
        raise StopIteration

    def close(self) -> None:
        """Leave the context."""
        self._stack.close()
