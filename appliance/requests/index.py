"""Requests about where the index is: in the home, or on a Qdrant server."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import IndexStatus


@dataclass(frozen=True, slots=True)
class IndexStatusRequest(Request[IndexStatus]):
    """Say where the index is, how many points it has, and what is the matter with it. An index in the home is opened
    for that."""

    name: ClassVar[str] = "index.status"


@dataclass(frozen=True, slots=True)
class MoveIndexRequest(Request[IndexStatus]):
    """Move the index into the home or to a Qdrant server, from the stored vectors, while it is in use. Then write
    ``index.url`` into the settings, and remove the index from where it was. If it is interrupted, nothing has changed.

    Args:
        target: "embedded", or the URL of a server; the nodes of a cluster with commas between them.

    Raises:
        UsageError: It is there already, or a variable of the environment sets ``index.url``.
        IndexUnavailable: The server does not answer, or refuses the key.
    """

    name: ClassVar[str] = "index.move"
    repeatable: ClassVar[bool] = False
    long_running: ClassVar[bool] = True

    target: str


@dataclass(frozen=True, slots=True)
class ClaimIndexRequest(Request[IndexStatus]):
    """Settle which of two copies of a memory has the collection on the server: this one. It is made again from the
    vectors of this copy, and the other copy is refused from then on.

    Args:
        new: Leave the collection to the other copy, and give this one a collection of its own.

    Raises:
        UsageError: The index is in the home.
        IndexUnavailable: The server does not answer.
    """

    name: ClassVar[str] = "index.claim"

    _: KW_ONLY
    new: bool = False
