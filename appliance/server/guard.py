"""What every request passes before anything of it is done, from top to bottom of ``Guard._admitted``.

Pure ASGI, because it is on the way of every byte.
"""

from __future__ import annotations

import ipaddress
import math
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from appliance.config import ServerSettings
from appliance.errors import ApplianceError
from appliance.server import problems
from appliance.server.problems import REQUEST_ID, Forbidden, Malformed, TooLarge, TooMany, Unauthorized
from appliance.server.service import OWNER, Grant, admit, came_over_the_socket
from appliance.server.tokens import Doorkeeper

OPEN = frozenset({"/health/live", "/health/ready"})
"""What is answered without a token, and says nothing of what is remembered."""

UPLOADS = frozenset({"/v1/import"})
"""What takes an export as its body."""

LOCAL = "/local/"
"""What only the owner's own programs reach, who may say as much as they could in a process of their own."""

BURST = 2.0
"""How many seconds' worth of requests a token may make at once."""

NOBODY = Grant("nobody", "", "", read_only=True)
"""Who asks where no token is needed."""

_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_LOOPBACK_NAMES = frozenset({"localhost", "localhost."})

Headers = MutableMapping[bytes, bytes]


class Guard:
    """Lets in who may come in, and answers all others itself."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._settings = settings
        self._doorkeeper = doorkeeper
        self._rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers: Headers = dict(reversed(scope["headers"]))  # of several, the first one
        scope[REQUEST_ID] = request_id = _request_id(headers)
        answer = _Answer(send, request_id)
        try:
            await self._app(scope, self._admitted(scope, headers, receive), answer.send)
        except ClientDisconnect:
            return  # there is nobody to tell
        except ApplianceError as error:
            refused = problems.refusal(error, request_id, scope.get("state", {}).get("grant", NOBODY))
            await answer.instead(refused, scope, receive)
        except Exception as error:
            await answer.instead(problems.bug(error, request_id), scope, receive)

    def _admitted(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """What the app may read of a request that may come in: each check in its turn.

        Raises:
            Malformed, Forbidden, Unauthorized, TooMany, TooLarge: it may not.
        """
        if came_over_the_socket(scope):
            admit(scope, OWNER)  # whoever can open the socket's file is its owner
        else:
            host = _check_host(headers, scope["server"], self._settings.host)
            _check_origin(headers, scope["scheme"], host)
            grant = self._grant(scope["path"], headers)
            admit(scope, grant)
            self._rates.check(grant)
        return _bounded(receive, headers, self._limit(scope["path"]))

    def _grant(self, path: str, headers: Headers) -> Grant:
        if path in OPEN:
            return NOBODY
        given = headers.get(b"authorization")
        if given is None:
            raise Unauthorized(
                "there is no token",
                hint="send 'Authorization: Bearer TOKEN'; 'appliance path' names the token's file",
            )
        kind, _, token = given.decode("latin-1").partition(" ")
        grant = self._doorkeeper.grant(token.strip()) if kind.lower() == "bearer" else None
        if grant is None:
            raise Unauthorized(
                "the token is not valid", hint="it may have been revoked: see 'appliance tokens list'"
            )
        return grant

    def _limit(self, path: str) -> int:
        return self._settings.upload if path in UPLOADS or path.startswith(LOCAL) else self._settings.body


class Rates:
    """How many requests each grant may make now: a bucket each, which fills up with time."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``rate`` is in requests a second; 0 sets no limit."""
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, grant: Grant) -> None:
        """
        Raises:
            TooMany: it has made too many.
        """
        if not self._rate or grant is NOBODY:
            return
        now, most = self._clock(), max(1.0, self._rate * BURST)
        left, then = self._left.get(grant.name, (most, now))
        left = min(most, left + (now - then) * self._rate)
        if left < 1.0:
            self._left[grant.name] = (left, now)
            error = TooMany(
                f"more than {self._rate:g} requests a second",
                hint="[server] rate in the settings sets the limit",
            )
            error.after = max(1, math.ceil((1.0 - left) / self._rate))
            raise error
        self._left[grant.name] = (left - 1.0, now)


class _Answer:
    """The way back: every answer has the request's id, and what goes wrong after its head can only end it."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._id = (b"x-request-id", request_id.encode())
        self._begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            message = {**message, "headers": [*message.get("headers", ()), self._id]}
        await self._send(message)

    async def instead(self, response: Any, scope: Scope, receive: Receive) -> None:
        """Send a response, unless one has begun."""
        if not self._begun:
            await response(scope, receive, self.send)


def _request_id(headers: Headers) -> str:
    """The caller's own id of the request, if it is one that can stand in a log; else a new one."""
    given = headers.get(b"x-request-id", b"")
    return given.decode() if _ID.fullmatch(given) else secrets.token_hex(8)


def _check_host(headers: Headers, server: tuple[str, int | None] | None, configured: str) -> str:
    """The host that the request names, if it is one of ours. A page of a foreign name that has been pointed at this
    machine (DNS rebinding) names its own; an address can't be pointed elsewhere.

    Raises:
        Malformed, Forbidden: it is none.
    """
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name, port = _split(host)
    if not name:
        raise Malformed("the request names no host")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        ours = name in _LOOPBACK_NAMES
    else:
        ours = address.is_loopback or not _is_loopback(configured)
    at = server[1] if server is not None else None
    if not ours and not (name == configured.lower() and port in (None, at)):
        raise Forbidden(
            "this host is not served here", hint="use the address that the server listens on, or localhost"
        )
    return host


def _check_origin(headers: Headers, scheme: str, host: str) -> None:
    """
    Raises:
        Forbidden: it is a web page of elsewhere that asks.
    """
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").lower() != f"{scheme}://{host}":
        raise Forbidden(
            "pages of another origin are not served", hint="ask from a program, or from the same origin"
        )


def _is_loopback(name: str) -> bool:
    if name in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _split(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header; no name where it is not one."""
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?", host)
    if found is None:
        return "", None
    return found[1] or found[2], int(found[3]) if found[3] else None


def _bounded(receive: Receive, headers: Headers, limit: int) -> Receive:
    """``receive``, for at most ``limit`` bytes of body: by what the request says of its length, and then by what
    comes.

    Raises:
        TooLarge: it says that it is larger.
        Malformed: its length is none.
    """
    said = headers.get(b"content-length", b"0")
    if not said.isdigit():
        raise Malformed("the Content-Length is no number")
    # Digits without end are a number that takes long to read, and are too many anyway.
    if len(said) > len(str(limit)) + 20 or int(said) > limit:
        raise _too_large(limit)
    read = 0

    async def bounded() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > limit:
                raise _too_large(limit)
        return message

    return bounded


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit:,} bytes",
        hint="[server] body and upload in the settings set the limits; exports go to /v1/import",
    )
