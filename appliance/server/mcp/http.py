"""MCP over streamable HTTP, as a part of another application.

Who asks is not found out here: a guard before this has checked token, Host and Origin and put the caller's Grant into
the request (``scope["state"]["grant"]``). Without one nothing is answered. A client's session belongs to the grant that
began it: with another it does not exist.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from appliance import moments
from appliance.server.mcp.protocol import Asking, server
from appliance.server.service import Grant

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from appliance.server.service import Service

SESSIONS = 500
"""Clients' sessions at once: more than a person has programs. One that is idle for half an hour is closed."""

SESSION_HEADER = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class Mounted:
    """The ASGI application for /mcp, and what must be entered around the whole application while it serves."""

    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[None]]


def mounted(service: Service) -> Mounted:
    """MCP on an open memory, for one run of an application.

    mcp = mounted(service)
    app.router.routes.append(Route("/mcp", endpoint=mcp.app))    # a Mount would send /mcp on to /mcp/
    async with mcp.lifespan(): ...                               # in the application's own lifespan
    """
    serving = server(lambda: nullcontext(service.memory), _grant, _conversation)
    manager = StreamableHTTPSessionManager(
        serving, json_response=True, max_request_body_size=service.settings.body, max_sessions=SESSIONS
    )
    return Mounted(_Guarded(manager), manager.run)


class _Guarded:
    """Lets nothing by that has no grant, and ties every session to the grant that began it."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        grant = scope.get("state", {}).get("grant")
        if not isinstance(grant, Grant):
            await _unknown(send)
            return
        # The SDK compares whose a session is by this user's client id.
        known = AccessToken(token="", client_id=_digest(grant), scopes=[])
        await self._manager.handle_request({**scope, "user": AuthenticatedUser(known)}, receive, send)


def _digest(grant: Grant) -> str:
    parts = (grant.name, grant.user_id, grant.namespace, grant.read_only)
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _grant(asking: Asking) -> Grant:
    found = asking.request.scope.get("state", {}).get("grant") if asking.request is not None else None
    if not isinstance(found, Grant):
        raise MCPError(code=INVALID_REQUEST, message="nobody is known to ask this")
    return found


def _conversation(asking: Asking) -> str:
    """A name for what a client says here: one for each session of the protocol. Without such a session it is one a day
    for each grant and client."""
    session = asking.request.headers.get(SESSION_HEADER) if asking.request is not None else None
    client: Any = asking.session.client_params
    named = session or (
        _digest(_grant(asking)),
        client and client.client_info.name,
        moments.here().date().isoformat(),
    )
    return "mcp-" + hashlib.sha256(msgspec.json.encode(named)).hexdigest()[:12]


async def _unknown(send: Send) -> None:
    body = msgspec.json.encode(
        {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": INVALID_REQUEST, "message": "nobody is known to ask this"},
        }
    )
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send(
        {"type": "http.response.start", "status": 401, "headers": [*head, (b"www-authenticate", b"Bearer")]}
    )
    await send({"type": "http.response.body", "body": body})
