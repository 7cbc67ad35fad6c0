"""A stream that outlives the owner that fills it: the next owner goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar

from appliance.errors import DaemonGone
from appliance.types import Stream

T = TypeVar("T")


class CarriedStream(Generic[T]):
    """The items of a resumable request, from one owner after the other.

    A stream that ends by itself, such as an export, begins anew with each owner: the items that the reader has are
    skipped, if the last of them is the same. One that tells of what happens goes on with what happens next.
    """

    def __init__(self, open: Callable[[], Stream[T]], *, repeats: bool) -> None:
        """
        Args:
            open: Sends the request to the present owner.
            repeats: Whether the next owner's stream begins with the same items.
        """
        self._open = open
        self._repeats = repeats
        self._closed = False
        self._count = 0
        self._last: T | None = None
        self._stream = open()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        while True:
            try:
                item = next(self._stream)
            except DaemonGone as error:
                if self._closed:
                    raise StopIteration from None
                self._reopen(error)
                continue
            if self._repeats:
                self._count, self._last = self._count + 1, item
            return item

    def close(self) -> None:
        """End the stream and the work behind it."""
        self._closed = True
        self._stream.close()

    def _reopen(self, error: DaemonGone) -> None:
        """
        Raises:
            DaemonGone: What the reader has is no longer the beginning of the stream.
        """
        while True:
            self._stream = self._open()
            if self._closed:  # meanwhile, on another thread
                self._stream.close()
                return
            try:
                last = self._skip()
            except DaemonGone:  # this owner has left, too
                continue
            if last != self._last:
                self._stream.close()
                raise error
            return

    def _skip(self) -> T | None:
        """Read the items that the reader has, and return the last of them."""
        last = None
        for _ in range(self._count):
            last = next(self._stream, None)
        return last
