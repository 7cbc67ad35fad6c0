"""A memory served: in this process, or by uvicorn on loopback and on a Unix socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute, _EffectiveRouteContext
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.server.access import tokens
from appliance.server.access.grants import Service
from appliance.server.http.app import ROUTERS, create_app
from appliance.settings import ServerSettings
from tests.engines import engine_of
from tests.waits import until

_read_route = _EffectiveRouteContext.from_api_route
_routes: dict[int, _EffectiveRouteContext | None] = {id(route): None for router in ROUTERS for route in router.routes}


def _read_route_once(*, original_route: APIRoute, include_context: Any) -> _EffectiveRouteContext:
    """A route as an application has it; those that all applications share are read once."""
    if (known := _routes.get(id(original_route))) is not None:
        return known
    read = _read_route(original_route=original_route, include_context=include_context)
    if id(original_route) in _routes:
        _routes[id(original_route)] = read
    return read


# The first request to each application would read the types of all routes anew: twenty times the time of the request.
_EffectiveRouteContext.from_api_route = _read_route_once  # type: ignore[method-assign]


def service(memory: Appliance, **settings: Any) -> Service:
    """A service without a limit of its rate, unless one is given."""
    return Service(memory, engine_of(memory), memory.home, ServerSettings(**{"rate": 0.0, **settings}))


def application(memory: Appliance, **settings: Any) -> FastAPI:
    return create_app(service(memory, **settings))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def owner(memory: Appliance) -> dict[str, str]:
    """The headers of the owner."""
    return bearer(tokens.owner_token(memory.home))


def given(memory: Appliance, name: str, **scope: Any) -> dict[str, str]:
    """The headers of somebody whom a token is given."""
    return bearer(tokens.issue(memory.home, name, **scope)[0])


@contextmanager
def calling(app: FastAPI, headers: dict[str, str]) -> Iterator[TestClient]:
    """A client within this process."""
    with TestClient(app, base_url="http://127.0.0.1:7707", headers=headers) as client:
        yield client


@contextmanager
def running(app: FastAPI, *, uds: Path | None = None) -> Iterator[str]:
    """A real server until the block ends; its address on loopback, or of ``uds`` the path."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, uds=None if uds is None else str(uds),
        log_config=None, access_log=False, proxy_headers=False, timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive(), "the server's beginning")
        assert server.started, "the server did not begin"
        yield str(uds) if uds is not None else f"http://127.0.0.1:{_port(server)}"
    finally:
        app.state.streams.close()
        server.should_exit = True
        thread.join()


def _port(server: uvicorn.Server) -> int:
    sockets: list[socket.socket] = list(server.servers[0].sockets)
    return int(sockets[0].getsockname()[1])
