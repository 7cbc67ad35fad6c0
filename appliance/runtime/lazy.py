"""A ``functools.cached_property`` that runs once even if several threads ask first.

In a module of its own, because the engine's modules and its tests share it. (``cached_property`` dropped its lock in
Python 3.12.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property that is computed once for each object, by the first thread that reads it.

    Modules that the method imports are loaded then too: a search does not wait for the modules of facts.
    """

    def __init__(self, method: Callable[[Any], T]) -> None:
        self.__doc__ = method.__doc__
        self._method = method
        self._lock = threading.RLock()

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        values = vars(instance)  # a stored value hides this descriptor
        with self._lock:
            if self._name not in values:
                values[self._name] = self._method(instance)
            return cast("T", values[self._name])

    def peek(self, instance: object) -> T | None:
        """The value, if it was computed."""
        return cast("T | None", vars(instance).get(self._name))
