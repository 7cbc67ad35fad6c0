"""MCP at /mcp, loaded with the first request for it: the SDK is a quarter of what a daemon's start costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from appliance.server.access.grants import Service

if TYPE_CHECKING:
    from appliance.server.mcp.streamable_http import McpApplication


class McpMount:
    """MCP for one run of an application, made when it is asked for.

    Serves while ``running()`` is entered, in the application's own lifespan. The sessions of the protocol belong to one
    task, which must also end them: so a task of its own makes the MCP application, not the first request.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._app: ASGIApp | None = None
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._ended = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests while entered."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve)
            try:
                yield
            finally:
                self._ended.set()
                self._wanted.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._wanted.set()
            await self._ready.wait()
            assert self._app is not None
        await self._app(scope, receive, send)

    async def _serve(self) -> None:
        await self._wanted.wait()
        if self._ended.is_set():
            return
        mcp = await anyio.to_thread.run_sync(_build, self._service)
        async with mcp.lifespan():
            self._app = mcp.app
            self._ready.set()
            await self._ended.wait()


def _build(service: Service) -> McpApplication:
    from appliance.server.mcp.streamable_http import build_application

    return build_application(service)
