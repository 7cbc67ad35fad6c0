"""What the parts of the server share: the memory that they serve, and the grant of a caller."""

from __future__ import annotations

import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.engine.engine import Engine
    from appliance.paths import Home
    from appliance.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a token. The owner's has no limits; any other has one fixed user and namespace. With ``any_user``
    its requests to the chat proxy name the user themselves."""

    name: str
    user_id: str | None = None
    namespace: str | None = None
    read_only: bool = False
    any_user: bool = False

    @property
    def is_owner(self) -> bool:
        return self.user_id is None


OWNER = Grant("owner")

ANONYMOUS = Grant("anonymous", "", "", read_only=True)
"""The grant of a request that needs no token."""


@dataclass(frozen=True, slots=True)
class Service:
    """A served memory, with the engine in this process that it runs on. ``masked`` is the memory as callers see it:
    with secrets hidden, unless the settings show them to all callers."""

    memory: Appliance
    engine: Engine
    home: Home
    settings: ServerSettings
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to stop, so that event streams end."""
    masked: Appliance = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "masked", self.memory.masked())


def set_grant(scope: MutableMapping[str, Any], grant: Grant) -> None:
    """Store the caller's grant in a request's ASGI scope."""
    scope.setdefault("state", {})["grant"] = grant


def get_grant(scope: Mapping[str, Any]) -> Grant:
    """The grant of an admitted request.

    Raises:
        KeyError: The request has not been admitted.
    """
    grant: Grant = scope["state"]["grant"]
    return grant


def is_unix_socket_request(scope: Mapping[str, Any]) -> bool:
    """Whether a request (by its ASGI scope) came over the Unix socket, which only the owner of the home can open."""
    server = scope.get("server")
    return server is not None and server[1] is None
