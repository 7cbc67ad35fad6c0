"""The checks that every request passes first, in the order of ``AccessMiddleware._admit_request``.

Pure ASGI, because every byte passes through it.
"""

from __future__ import annotations

import ipaddress
import math
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from appliance.errors import ApplianceError
from appliance.server.access.grants import ANONYMOUS, OWNER, Grant, is_unix_socket_request, set_grant
from appliance.server.access.tokens import Authenticator
from appliance.server.http import problems
from appliance.server.http.problems import (
    REQUEST_ID_KEY,
    BodyTooLarge,
    Forbidden,
    MalformedRequest,
    TooManyRequests,
    Unauthorized,
)
from appliance.settings import ServerSettings

PUBLIC_PATHS = frozenset({"/health/live", "/health/ready"})
"""Answered without a token; the answers reveal nothing of the memory."""

UPLOAD_PATHS = frozenset({"/v1/import"})
"""Paths whose body is an export, which may be larger."""

LOCAL_PREFIX = "/local/"
"""Paths that only the owner's programs reach. They may send as much as they could process themselves."""

BURST_SECONDS = 2.0
"""Seconds' worth of requests that a token may make at once."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_LOOPBACK_NAMES = frozenset({"localhost", "localhost."})

Headers = MutableMapping[bytes, bytes]


class AccessMiddleware:
    """Admits requests, and answers those that it refuses."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, authenticator: Authenticator) -> None:
        self._app = app
        self._settings = settings
        self._authenticator = authenticator
        self._rate_limiter = RateLimiter(settings.rate)
        self._origins = {origin.lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers: Headers = dict(reversed(scope["headers"]))  # of repeated headers, the first counts
        scope[REQUEST_ID_KEY] = request_id = _request_id(headers)
        origin = self._listed_origin(scope, headers)
        answer = _GuardedResponse(send, request_id, origin)
        try:
            receive = self._admit_request(scope, headers, receive)
            if origin and scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await answer.send_unless_started(_preflight_response(headers), scope, receive)
            else:
                await self._app(scope, receive, answer.send)
        except ClientDisconnect:
            return  # nothing can be sent any more
        except ApplianceError as error:
            response = problems.error_response(error, request_id, scope.get("state", {}).get("grant", ANONYMOUS))
            await answer.send_unless_started(response, scope, receive)
        except Exception as error:
            await answer.send_unless_started(problems.bug_response(error, request_id), scope, receive)

    def _admit_request(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """Check a request and store its grant in the scope.

        Returns:
            ``receive``, limited to the allowed size of the body.

        Raises:
            MalformedRequest, Forbidden, Unauthorized, TooManyRequests, BodyTooLarge: The request is refused.
        """
        if is_unix_socket_request(scope):
            set_grant(scope, OWNER)  # only the owner can open the socket's file
        else:
            host = _check_host(headers, scope["server"], self._settings)
            _check_origin(headers, scope["scheme"], host, self._settings)
            is_preflight = scope["method"] == "OPTIONS" and self._listed_origin(scope, headers)
            grant = ANONYMOUS if is_preflight else self._grant(scope["path"], headers)
            set_grant(scope, grant)
            self._rate_limiter.check(grant)
        return _limit_body(receive, headers, self._body_limit(scope["path"]))

    def _listed_origin(self, scope: Scope, headers: Headers) -> bytes:
        """The origin of a web page that ``server.origins`` lists; empty for other requests."""
        origin = headers.get(b"origin", b"")
        is_listed = not is_unix_socket_request(scope) and origin.decode("latin-1").lower() in self._origins
        return origin if is_listed else b""

    def _grant(self, path: str, headers: Headers) -> Grant:
        if path in PUBLIC_PATHS:
            return ANONYMOUS
        authorization = headers.get(b"authorization")
        if authorization is None:
            raise Unauthorized(
                "The request has no token.",
                hint="Send 'Authorization: Bearer TOKEN'; 'appliance path' names the token's file.",
            )
        kind, _, token = authorization.decode("latin-1").partition(" ")
        grant = self._authenticator.grant(token.strip()) if kind.lower() == "bearer" else None
        if grant is None:
            raise Unauthorized(
                "The token is not valid.",
                hint="It may have been revoked; 'appliance tokens list' shows the valid ones.",
            )
        return grant

    def _body_limit(self, path: str) -> int:
        return self._settings.upload if path in UPLOAD_PATHS or path.startswith(LOCAL_PREFIX) else self._settings.body


class RateLimiter:
    """A token bucket for each grant."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``rate`` is in requests a second; 0 sets no limit."""
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def check(self, grant: Grant) -> None:
        """
        Raises:
            TooManyRequests: The grant has made too many requests.
        """
        if not self._rate or grant is ANONYMOUS:
            return
        now, capacity = self._clock(), max(1.0, self._rate * BURST_SECONDS)
        tokens, updated_at = self._buckets.get(grant.name, (capacity, now))
        tokens = min(capacity, tokens + (now - updated_at) * self._rate)
        if tokens < 1.0:
            self._buckets[grant.name] = (tokens, now)
            error = TooManyRequests(
                f"The token makes more than {self._rate:g} requests a second.", hint="server.rate sets the limit."
            )
            error.retry_after_seconds = max(1, math.ceil((1.0 - tokens) / self._rate))
            raise error
        self._buckets[grant.name] = (tokens - 1.0, now)


class _GuardedResponse:
    """Adds the request's id to the response, and for a listed origin that its page may read it (CORS); knows whether
    the response has begun."""

    def __init__(self, send: Send, request_id: str, origin: bytes) -> None:
        self._send = send
        self._headers = [(b"x-request-id", request_id.encode())]
        if origin:
            exposed = b"x-request-id, retry-after, mcp-session-id"
            self._headers += [
                (b"access-control-allow-origin", origin), (b"access-control-expose-headers", exposed),
                (b"vary", b"Origin"),
            ]  # fmt: skip
        self._is_started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_started = True
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)

    async def send_unless_started(self, response: Any, scope: Scope, receive: Receive) -> None:
        """Send an error response; after the head of another one nothing can be corrected."""
        if not self._is_started:
            await response(scope, receive, self.send)


def _request_id(headers: Headers) -> str:
    """The client's id of the request if it is safe in a log, else a new one."""
    client_id = headers.get(b"x-request-id", b"")
    return client_id.decode() if _REQUEST_ID.fullmatch(client_id) else secrets.token_hex(8)


def _preflight_response(headers: Headers) -> Response:
    """The answer to a browser that asks whether a page of a listed origin may send a request."""
    allowed = {
        "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers": headers.get(b"access-control-request-headers", b"").decode("latin-1"),
        "Access-Control-Max-Age": "600",
    }
    if headers.get(b"access-control-request-private-network") == b"true":
        allowed["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=allowed)


def _check_host(headers: Headers, server: tuple[str, int | None] | None, settings: ServerSettings) -> str:
    """The host that the request names, if it is served here. A web page whose name was pointed at this machine (DNS
    rebinding) sends its own name, which ``server.hosts`` does not list; an IP address can't be pointed elsewhere.

    Raises:
        MalformedRequest, Forbidden: The host is missing or not served.
    """
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name, port = _split_host(host)
    if not name:
        raise MalformedRequest("The request names no host.")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        is_own = name in _LOOPBACK_NAMES
    else:
        is_own = address.is_loopback or not _is_loopback(settings.host)
    server_port = server[1] if server is not None else None
    is_own = is_own or (name == settings.host.lower() and port in (None, server_port))
    if not is_own and not {host, name} & {listed.lower().strip("[]") for listed in settings.hosts}:
        raise Forbidden(
            "This server does not answer for this host.",
            hint="Use localhost or the address that the server listens on, or list the host in server.hosts.",
        )
    return host


def _check_origin(headers: Headers, scheme: str, host: str, settings: ServerSettings) -> None:
    """
    Raises:
        Forbidden: A web page of another origin sent the request.
    """
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    served = {"", f"{scheme}://{host}", *(listed.lower() for listed in settings.origins)}
    if origin not in served:
        raise Forbidden(
            "Requests from web pages of another origin are refused.",
            hint="Use a program, or list the origin in server.origins.",
        )


def _is_loopback(name: str) -> bool:
    if name in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _split_host(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header; an empty name if it is invalid."""
    match = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?", host)
    if match is None:
        return "", None
    return match[1] or match[2], int(match[3]) if match[3] else None


def _limit_body(receive: Receive, headers: Headers, limit: int) -> Receive:
    """``receive`` for at most ``limit`` bytes of body, by Content-Length first and by the bytes received after that.

    Raises:
        BodyTooLarge: Content-Length is larger.
        MalformedRequest: Content-Length is not a number.
    """
    content_length = headers.get(b"content-length", b"0")
    if not content_length.isdigit():
        raise MalformedRequest("Content-Length is not a number.")
    # Parsing a very long number takes long, and it is too large anyway.
    if len(content_length) > len(str(limit)) + 20 or int(content_length) > limit:
        raise _too_large_error(limit)
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large_error(limit)
        return message

    return receive_limited


def _too_large_error(limit: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is larger than {limit:,} bytes.",
        hint="server.body and server.upload set the limits; send exports to /v1/import.",
    )
