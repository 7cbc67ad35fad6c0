"""The RPC server: runs each request on a thread of its pool and answers it, in lines if it streams or reports progress.

It answers only over the Unix socket, which only the owner can open.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from types import GeneratorType
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from appliance import __version__
from appliance import requests as r
from appliance.errors import ApplianceError, UsageError
from appliance.server.access.grants import Service, is_unix_socket_request
from appliance.transports import codec
from appliance.transports.local import LocalTransport
from appliance.types import Progress

MAX_SHORT_REQUESTS = 8
"""Concurrent short requests, each with a database connection of its thread."""

MAX_LONG_REQUESTS = 32
"""Concurrent requests that report progress, stream, or take long."""

PROGRESS_INTERVAL_SECONDS = 0.05
"""Seconds between two progress lines about the same file or stage: faster than anyone can read."""

HEARTBEAT_SECONDS = 1.0
"""Seconds without news after which a heartbeat line is sent; it detects callers that have disconnected."""

MAX_QUEUED_LINES = 256
"""Lines queued for a slow reader before the request waits too."""

_log = logging.getLogger("appliance.rpc")


class CallerGone(Exception):
    """The caller has disconnected."""


def router(service: Service) -> APIRouter:
    """The routes for requests."""
    short = ThreadPoolExecutor(MAX_SHORT_REQUESTS, "appliance-request")
    long = ThreadPoolExecutor(MAX_LONG_REQUESTS, "appliance-long-request")
    transport = LocalTransport(service.engine)
    routes = APIRouter(prefix="/local", include_in_schema=False)

    @routes.get("/hello")
    async def hello(request: Request) -> Response:
        if not is_unix_socket_request(request.scope):
            return Response(status_code=404)
        return _answer({"version": __version__, "settings": service.engine.settings})

    @routes.post("/requests/{name}")
    async def carry_out(request: Request, name: str) -> Response:
        if not is_unix_socket_request(request.scope):
            return Response(status_code=404)
        try:
            asked = codec.decode_request(name, await request.body())
        except UsageError as error:
            return _answer({"error": codec.encode_error(error)}, 400)
        if asked.long_running or codec.wire_types(name).streams:
            lines = LineStream(service.stopping)
            work = lambda: carry_out_in_lines(transport, asked, lines)  # noqa: E731
            return StreamingResponse(lines.run(long, work), media_type="application/x-ndjson")
        try:
            result = await asyncio.get_running_loop().run_in_executor(short, transport.send, asked)
            return _answer({"result": result})
        except Exception as error:
            return _answer({"error": _encode_error(error, name)}, 400)

    return routes


def carry_out_in_lines(transport: LocalTransport, request: r.Request[Any], lines: LineStream) -> Any:
    """Run a request that streams or reports progress. Returns the result for the last line."""
    if not codec.wire_types(request.name).streams:
        return transport.send(request, lines.report)
    stream: Any = transport.send(request)
    # The thread that reads a generator closes it, when its next line finds the caller gone.
    close = (lambda: None) if isinstance(stream, GeneratorType) else stream.close
    with closing(stream), lines.when_gone(close):
        lines.put({"begun": True})
        for item in stream:
            lines.put({"item": item})
    return None


class LineStream:
    """The lines of an answer, passed from the request's thread to the server's event loop."""

    def __init__(self, ending: threading.Event) -> None:
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED_LINES)
        self._gone = threading.Event()
        self._on_gone: list[Callable[[], None]] = []
        self._reported: dict[tuple[str, str], tuple[float, bytes | None]] = {}

    # --- on the thread of the request -------------------------------------------------------------------

    def put(self, line: Mapping[str, Any]) -> None:
        """Send a line; waits while the reader is slow.

        Raises:
            CallerGone: The caller has disconnected.
        """
        self._put(_line(line))

    def report(self, progress: Progress) -> None:
        """Send progress, at most once per ``PROGRESS_INTERVAL_SECONDS`` for the same file or stage.

        Raises:
            CallerGone: The caller has disconnected.
        """
        subject = (progress.stage, progress.file)
        now, (last, _) = time.monotonic(), self._reported.get(subject, (0.0, None))
        line = _line({"progress": progress})
        if now - last < PROGRESS_INTERVAL_SECONDS:
            self._reported[subject] = (last, line)
            if self._gone.is_set():
                raise CallerGone
            return
        self._reported[subject] = (now, None)
        self._put(line)

    def when_gone(self, act: Callable[[], None]) -> ExitStack:
        """Within the context, call ``act`` when the caller disconnects."""
        self._on_gone.append(act)
        if self._gone.is_set():
            act()
        stack = ExitStack()
        stack.callback(self._on_gone.remove, act)
        return stack

    def _put(self, line: bytes) -> None:
        if self._gone.is_set():
            raise CallerGone
        asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()

    def _work(self, work: Callable[[], Any]) -> None:
        try:
            last = {"result": work()}
        except CallerGone:
            return
        except Exception as error:
            last = {"error": _encode_error(error, "a request")}
        try:
            for _, line in self._reported.values():
                if line is not None:
                    self._put(line)
            self._put(_line(last))
        except CallerGone:
            return

    # --- on the event loop --------------------------------------------------------------------------------

    async def run(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> AsyncIterator[bytes]:
        """Run ``work`` in the pool and yield its lines."""
        working = self._loop.run_in_executor(pool, self._work, work)
        working.add_done_callback(lambda _: self._loop.create_task(self._queue.put(None)))
        try:
            while True:
                try:
                    line = await asyncio.wait_for(self._queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    if self._ending.is_set():
                        return
                    line = _line({"still": True})
                if line is None:
                    return
                yield line
        finally:
            self._gone.set()
            # Not awaited: when the caller has gone this task is being cancelled, and so would be what it waits for.
            for act in [*self._on_gone]:
                threading.Thread(target=act, name="appliance-caller-gone", daemon=True).start()
            while not self._queue.empty():  # wakes a thread that waits to put a line
                self._queue.get_nowait()


def _encode_error(error: Exception, what: str) -> codec.EncodedError:
    if not isinstance(error, ApplianceError):
        _log.error("%s failed", what, exc_info=error)
    return codec.encode_error(error)


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=codec.plain) + b"\n"


def _answer(value: Any, status: int = 200) -> Response:
    body = msgspec.json.encode(value, enc_hook=codec.plain)
    return Response(body, status, media_type="application/json")
