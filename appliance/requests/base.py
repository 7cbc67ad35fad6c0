"""What every request has in common."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, get_args

from appliance.lazy_dataclasses import dataclass

R = TypeVar("R", covariant=True)

PRIVATE_PREFIX = "private-"
"""Begins the ids of private sessions, which no stored session has."""


@dataclass(frozen=True, slots=True)
class Request(Generic[R]):
    """A verb with its arguments, as a frozen value. A subclass names the type of its result: ``Request[Hits]``.

    Attributes:
        name: Where the verb is found on an engine, and what it is called on the wire: "search", "sessions.create".
        repeatable: Whether a client may send the request again when the connection ends before the answer: it only
            reads, or doing it twice comes to the same.
        resumable: Whether another process that has taken over the home may carry the request on after it was begun:
            what was done stays done, and the rest is done there.
        long_running: Whether it may take long. Its method takes a second argument, to which it reports progress.
    """

    name: ClassVar[str]
    repeatable: ClassVar[bool] = True
    resumable: ClassVar[bool] = False
    long_running: ClassVar[bool] = False


def result_type(kind: type[Request[Any]]) -> Any:
    """The type of a request's result, as its class names it."""
    for base in kind.__orig_bases__:  # type: ignore[attr-defined]
        (result,) = get_args(base)
        return result
    raise TypeError(f"{kind.__name__} names no result")
