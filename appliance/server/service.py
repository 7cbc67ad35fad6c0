"""What the parts of the server share: the memory that they serve, and what a caller may do with it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appliance.config import ServerSettings
    from appliance.engine import Engine
    from appliance.paths import Home


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller may do. The owner's has no limits; any other is of one user and one namespace, for good."""

    name: str
    user_id: str | None = None
    namespace: str | None = None
    read_only: bool = False

    @property
    def is_owner(self) -> bool:
        """Whether it is the owner's: nobody's memory is closed to it."""
        return self.user_id is None


OWNER = Grant("owner")


@dataclass(frozen=True, slots=True)
class Service:
    """An open memory that is served, with the home that it lies in."""

    memory: Engine
    home: Home
    settings: ServerSettings
    ending: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to end: what goes on by itself, a stream of events, ends then."""


def admit(scope: MutableMapping[str, Any], grant: Grant) -> None:
    """Note in a request (its ASGI scope) what its caller may do."""
    scope.setdefault("state", {})["grant"] = grant


def grant_of(scope: Mapping[str, Any]) -> Grant:
    """What the caller of an admitted request may do.

    Raises:
        KeyError: nobody has admitted it.
    """
    grant: Grant = scope["state"]["grant"]
    return grant


def came_over_the_socket(scope: Mapping[str, Any]) -> bool:
    """Whether a request (its ASGI scope) came over the Unix socket, which only the owner of the home can reach."""
    server = scope.get("server")
    return server is not None and server[1] is None
