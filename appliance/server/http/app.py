"""The HTTP application: its routes (``ROUTERS``) and the middleware before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from appliance import __version__
from appliance.server.access.grants import Service
from appliance.server.access.middleware import AccessMiddleware
from appliance.server.access.tokens import Authenticator
from appliance.server.http import openapi, problems, prometheus
from appliance.server.http.idempotency import ResponseCache
from appliance.server.http.mcp_mount import McpMount
from appliance.server.http.readiness import Readiness, search_once
from appliance.server.http.routes import (
    core,
    discovery,
    events,
    exports,
    facts,
    forget,
    health,
    imports,
    messages,
    overviews,
    people,
    search,
    sessions,
    summaries,
)
from appliance.server.http.wire import DrainMiddleware, HeadMiddleware
from appliance.server.openai_proxy import models
from appliance.server.openai_proxy import route as chat
from appliance.server.openai_proxy.errors import OpenAIErrorMiddleware
from appliance.server.rpc import server

ROUTERS: tuple[APIRouter, ...] = (
    search.router,
    messages.router,
    sessions.router,
    core.router,
    facts.router,
    people.router,
    summaries.router,
    overviews.router,
    imports.router,
    exports.router,
    discovery.router,
    forget.router,
    events.router,
    health.router,
    prometheus.router,
    chat.router,
    models.router,
)

QUERY_PATHS = frozenset({"/v1/search", "/v1/context", "/local/requests/search", "/local/requests/context"})
"""Paths of queries. The memory makes background work yield to every query, but only once the call reaches it."""

MAX_WORKER_THREADS = 8
"""Requests processed at once. Each thread has its own database connection and cache, and two cores serve no more."""


def create_app(service: Service) -> FastAPI:
    """The application that serves a memory. ``app.state.streams.close()`` ends the event streams, which have no end of
    their own, so that a server can stop.

    Raises:
        ConfigError: The owner's token can't be read.
    """
    app = FastAPI(
        title="Memory appliance",
        version=__version__,
        description=openapi.DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # its pages load scripts from the internet
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.answers = ResponseCache()
    app.state.streams = events.EventStreams()
    app.state.imports = imports.import_limiter()
    app.state.readiness = Readiness(partial(search_once, service))
    for router in ROUTERS:
        app.include_router(router)
    app.include_router(server.router(service))
    app.router.routes.append(Route("/mcp", endpoint=_McpRoute()))  # a Mount would redirect /mcp to /mcp/
    problems.install(app, [route for router in ROUTERS for route in router.routes])
    app.add_middleware(HeadMiddleware)
    app.add_middleware(AccessMiddleware, settings=service.settings, authenticator=Authenticator(service.home))
    app.add_middleware(OpenAIErrorMiddleware)
    app.add_middleware(DrainMiddleware)
    app.add_middleware(QueryPriorityMiddleware, service=service)
    openapi.install(app, service)
    imports.clear_leftovers(service.home)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = MAX_WORKER_THREADS
    app.state.mcp = McpMount(app.state.service)  # a new one for each run of the application
    async with app.state.mcp.running():
        yield


class QueryPriorityMiddleware:
    """ASGI: background work yields while a query is received, answered and sent."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in QUERY_PATHS:
            with self._service.engine.admission.expecting_query():
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _McpRoute:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.mcp(scope, receive, send)
