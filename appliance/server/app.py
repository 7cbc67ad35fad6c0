"""The HTTP application: which routes there are, and what stands before them.

``ROUTERS`` is the list of them: a group of routes is added by a line there. ``create_app`` reads top to bottom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from appliance import __version__
from appliance.server import described, local, metrics, problems
from appliance.server.chat import route as chat
from appliance.server.guard import Guard
from appliance.server.idempotency import Answers
from appliance.server.mcp.http import mounted
from appliance.server.routes import (
    events,
    facts,
    finding,
    forgetting,
    health,
    intake,
    messages,
    sessions,
    summaries,
)
from appliance.server.service import Service
from appliance.server.tokens import Doorkeeper

ROUTERS: tuple[APIRouter, ...] = (
    finding.router,
    messages.router,
    sessions.router,
    facts.router,
    summaries.router,
    intake.router,
    forgetting.router,
    events.router,
    health.router,
    metrics.router,
    chat.router,
)

QUESTIONS = frozenset(
    {"/v1/search", "/v1/context", "/local/calls/memory/search", "/local/calls/memory/context"}
)
"""Paths of what somebody waits for; the memory itself sees to it for all that asks it, but later."""

THREADS = 8
"""Requests that are worked on at once. Each thread reads through a connection of its own, with a cache of its own,
and two cores have no more to give."""


def create_app(service: Service) -> FastAPI:
    """The application that serves a memory. ``app.state.streams.close()`` ends what never ends by itself, for whoever
    wants to stop it.

    Raises:
        ConfigError: the owner's token can't be read.
    """
    app = FastAPI(
        title="Memory appliance",
        version=__version__,
        description=described.ABOUT,
        lifespan=_lifespan,
        docs_url=None,  # its pages are loaded from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.answers = Answers()
    app.state.streams = events.Streams()
    app.state.imports = intake.at_once()
    for router in ROUTERS:
        app.include_router(router)
    app.include_router(local.router(service))
    app.router.routes.append(Route("/mcp", endpoint=_Mcp()))  # a Mount would send /mcp on to /mcp/
    problems.install(app, [route for router in ROUTERS for route in router.routes])
    app.add_middleware(Guard, settings=service.settings, doorkeeper=Doorkeeper(service.home))
    app.add_middleware(QuestionsFirst, service=service)
    described.describe(app, service)
    intake.clear_leftovers(service.home)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    app.state.mcp = mounted(app.state.service)  # anew for each run of the application
    async with app.state.mcp.lifespan():
        yield


class QuestionsFirst:
    """ASGI: while a question is on its way to the memory and its answer on the way back, what can wait makes way."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in QUESTIONS:
            with self._service.memory.expecting():
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _Mcp:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.mcp.app(scope, receive, send)
