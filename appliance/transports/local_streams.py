"""The streams of an engine in this process, which may leave the home to another one while they are read."""

from __future__ import annotations

import threading
from typing import Generic, Self, TypeVar

from appliance.errors import DaemonGone
from appliance.types import Stream

T = TypeVar("T")


class LocalStreams:
    """The streams that are open. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[LocalStream[object]] = set()

    def add(self, stream: Stream[T]) -> LocalStream[T]:
        """Return the stream as one that ``leave`` ends."""
        added = LocalStream(stream, self)
        with self._lock:
            self._open.add(added)  # type: ignore[arg-type]
        return added

    def discard(self, stream: LocalStream[T]) -> None:
        with self._lock:
            self._open.discard(stream)

    def leave(self) -> None:
        """End all of them. Their readers meet a DaemonGone, and send the request to the next owner."""
        with self._lock:
            streams, self._open = self._open, set()
        for stream in streams:
            stream.leave()


class LocalStream(Generic[T]):
    """A stream that ends with DaemonGone when the owner leaves."""

    def __init__(self, stream: Stream[T], all_streams: LocalStreams) -> None:
        self._stream = stream
        self._all = all_streams
        self._has_left = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        try:
            return next(self._stream)
        except BaseException as error:
            if self._has_left and isinstance(error, Exception):
                raise DaemonGone("The memory was handed over to another process.") from error
            self._all.discard(self)
            raise

    def leave(self) -> None:
        self._has_left = True
        self._stream.close()

    def close(self) -> None:
        """End the stream and the work behind it."""
        self._all.discard(self)
        self._stream.close()
