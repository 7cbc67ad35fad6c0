"""MCP over streamable HTTP, as a part of another application.

``AccessMiddleware`` has checked token, Host and Origin and stored the caller's grant (``scope["state"]["grant"]``);
without a grant the request is refused. A client's protocol session belongs to the grant that began it.
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
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

from appliance import timestamps
from appliance.server.access.grants import Grant
from appliance.server.mcp import json_rpc
from appliance.server.mcp.protocol import McpRequestContext, build_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from appliance.server.access.grants import Service

MAX_SESSIONS = 500
"""Concurrent client sessions: more than a person has programs. One that is idle for half an hour is closed."""

SESSION_HEADER = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class McpApplication:
    """The ASGI application for /mcp, and a context to enter while the whole application serves."""

    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[None]]


def build_application(service: Service) -> McpApplication:
    """MCP on an open memory, for one run of an application.

    mcp = build_application(service)
    app.router.routes.append(Route("/mcp", endpoint=mcp.app))    # a Mount would send /mcp on to /mcp/
    async with mcp.lifespan(): ...                               # in the application's own lifespan
    """
    mcp_server = build_server(lambda: nullcontext(service.masked), _grant, _conversation_name)
    manager = StreamableHTTPSessionManager(
        mcp_server, json_response=True, max_request_body_size=service.settings.body, max_sessions=MAX_SESSIONS
    )
    return McpApplication(_GrantMiddleware(manager, service.settings.body), manager.run)


class _GrantMiddleware:
    """Refuses requests without a grant and messages that can't be understood, and ties every session to the grant that
    began it."""

    def __init__(self, manager: StreamableHTTPSessionManager, max_body: int) -> None:
        self._manager = manager
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        grant = scope.get("state", {}).get("grant")
        if not isinstance(grant, Grant):
            await _send_unauthorized(send)
            return
        if scope["method"] == "POST":
            body, receive = await _read_body(receive, self._max_body)
            if body is not None and (refusal := json_rpc.refusal(body)) is not None:
                await _send_error(send, 400, refusal)
                return
        # The SDK compares a session's owner by this client id.
        token = AccessToken(token="", client_id=_grant_digest(grant), scopes=[])
        await self._manager.handle_request({**scope, "user": AuthenticatedUser(token)}, receive, send)


def _grant_digest(grant: Grant) -> str:
    parts = (grant.name, grant.user_id, grant.namespace, grant.read_only)
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _grant(context: McpRequestContext) -> Grant:
    grant = context.request.scope.get("state", {}).get("grant") if context.request is not None else None
    if not isinstance(grant, Grant):
        raise MCPError(code=INVALID_REQUEST, message="The request has no grant.")
    return grant


def _conversation_name(context: McpRequestContext) -> str:
    """The name of the client's conversation: one per protocol session; without one, one per day, grant and client."""
    session = context.request.headers.get(SESSION_HEADER) if context.request is not None else None
    client: Any = context.session.client_params
    name_parts = session or (
        _grant_digest(_grant(context)),
        client and client.client_info.name,
        timestamps.local_now().date().isoformat(),
    )
    return "mcp-" + hashlib.sha256(msgspec.json.encode(name_parts)).hexdigest()[:12]


async def _read_body(receive: Receive, maximum: int) -> tuple[bytes | None, Receive]:
    """The body of a request, and what gives its messages once more. None in place of a body that is larger than the
    maximum, of which no more is read, or that its sender broke off."""
    received: list[Message] = []
    size, is_whole = 0, False
    while not is_whole and size <= maximum:
        received.append(message := await receive())
        if message["type"] != "http.request":
            break
        size += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
    messages = iter(received)

    async def receive_again() -> Message:
        return next(messages, None) or await receive()

    is_read = is_whole and size <= maximum
    return (b"".join(message.get("body", b"") for message in received) if is_read else None), receive_again


async def _send_unauthorized(send: Send) -> None:
    error = JSONRPCError(
        jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message="The request has no grant.")
    )
    await _send_error(send, 401, error, (b"www-authenticate", b"Bearer"))


async def _send_error(send: Send, status: int, error: JSONRPCError, *headers: tuple[bytes, bytes]) -> None:
    body = error.model_dump_json(by_alias=True, exclude_unset=True).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*head, *headers]})
    await send({"type": "http.response.body", "body": body})
