"""A memory served: in this process, or by uvicorn on loopback and on a Unix socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.config import ServerSettings
from appliance.server import tokens
from appliance.server.app import create_app
from appliance.server.service import Service

PATIENCE = 10.0
"""Seconds that a server may take to begin."""


def service(memory: Appliance, **settings: Any) -> Service:
    """A service without a limit of its rate, unless one is given."""
    return Service(memory, memory.home, ServerSettings(**{"rate": 0.0, **settings}))


def application(memory: Appliance, **settings: Any) -> FastAPI:
    return create_app(service(memory, **settings))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def owner(memory: Appliance) -> dict[str, str]:
    """The headers of the owner."""
    return bearer(tokens.owners(memory.home))


def given(memory: Appliance, name: str, **scope: Any) -> dict[str, str]:
    """The headers of somebody whom a token is given."""
    return bearer(tokens.new(memory.home, name, **scope)[0])


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
    began = time.monotonic()
    try:
        while not server.started:
            assert time.monotonic() - began < PATIENCE and thread.is_alive(), "the server did not begin"
            time.sleep(0.005)
        yield str(uds) if uds is not None else f"http://127.0.0.1:{_port(server)}"
    finally:
        app.state.streams.close()
        server.should_exit = True
        thread.join()


def _port(server: uvicorn.Server) -> int:
    sockets: list[socket.socket] = list(server.servers[0].sockets)
    return int(sockets[0].getsockname()[1])
