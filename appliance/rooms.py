"""The rooms of an open memory, each made when somebody first goes there.

What a room needs is loaded with it: a search waits for nothing that reads facts or writes summaries, and a command that
asks one thing loads the modules for that one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")


class Room(Generic[T]):
    """A method that makes a room, as the room that it makes: once for each memory, whichever thread asks first.
    (functools.cached_property makes it once a thread from Python 3.12 on.)"""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.__doc__ = make.__doc__
        self._make = make
        self._lock = threading.RLock()

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, memory: None, kind: type) -> Self: ...
    @overload
    def __get__(self, memory: object, kind: type) -> T: ...
    def __get__(self, memory: object | None, kind: type) -> Self | T:
        if memory is None:
            return self
        # Kept in the memory under the room's own name, where it is found before this is asked again.
        kept = vars(memory)
        with self._lock:
            if self._name not in kept:
                kept[self._name] = self._make(memory)
            return cast("T", kept[self._name])

    def made(self, memory: object) -> T | None:
        """The room, if anybody has been there."""
        return cast("T | None", vars(memory).get(self._name))
