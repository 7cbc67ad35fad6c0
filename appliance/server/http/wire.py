"""What every answer owes its client on the wire: HEAD, and a refusal that arrives. ASGI middleware, like ``access``."""

from __future__ import annotations

import time

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_DRAINED_BYTES = 256 * 1024 * 1024
"""Bytes of a refused body that are read and thrown away."""

MAX_DRAIN_SECONDS = 20.0
"""How long that may take."""

MAX_DRAIN_PAUSE_SECONDS = 0.5
"""A client that sends nothing for so long waits for the answer."""

TOO_LARGE = 413

LONG_LIVED_PATHS = frozenset({"/mcp"})
"""Paths where a GET opens a session, and HEAD means nothing."""


class HeadMiddleware:
    """Answers HEAD with the head of what GET would answer. The request ends there, also that of an endless stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] in LONG_LIVED_PATHS:
            await self._app(scope, receive, send)
            return
        async with anyio.create_task_group() as tasks:

            async def send_head(message: Message) -> None:
                if message["type"] == "http.response.start":
                    await send(message)
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    tasks.cancel_scope.cancel()

            await self._app({**scope, "method": "GET"}, receive, send_head)


class DrainMiddleware:
    """Reads the rest of a body that is refused as too large, within bounds: a client that is still sending would see a
    reset connection instead of the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Such a client sends its body only when it is asked to, which the first ``receive`` does.
        waits = any(name == b"expect" for name, _ in scope["headers"])
        is_complete = False

        async def receive_watched() -> Message:
            nonlocal waits, is_complete
            waits = False
            message = await receive()
            is_complete = not message.get("more_body", False)
            return message

        async def send_drained(message: Message) -> None:
            is_refused = message["type"] == "http.response.start" and message["status"] == TOO_LARGE
            if is_refused and not (waits or is_complete):
                await _drain(receive)
            await send(message)

        await self._app(scope, receive_watched, send_drained)


async def _drain(receive: Receive) -> None:
    drained, deadline = 0, time.monotonic() + MAX_DRAIN_SECONDS
    while drained <= MAX_DRAINED_BYTES and time.monotonic() < deadline:
        with anyio.move_on_after(MAX_DRAIN_PAUSE_SECONDS) as pause:
            message = await receive()
            drained += len(message.get("body", b""))
        if pause.cancelled_caught or not message.get("more_body", False):  # the end, or a disconnect
            return
