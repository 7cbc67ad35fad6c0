"""What every request has in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args

R = TypeVar("R", covariant=True)

PRIVATE_PREFIX = "private-"
"""Begins the ids of private sessions, which no stored session has."""

PRIVATE_ID_BYTES = 8
"""Random bytes of such an id, written as hexadecimal digits."""

_PRIVATE_ID = re.compile(rf"{PRIVATE_PREFIX}[0-9a-f]{{{2 * PRIVATE_ID_BYTES}}}(?:-\d+)?")
"""The id of a private session, or of a message in one."""


def is_private_id(reference: str) -> bool:
    """Whether a text is the id of a private session or of a message in one; "private-notes" is a name like others."""
    return _PRIVATE_ID.fullmatch(reference) is not None


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
