"""The RPC server: runs each request on a thread of its pool and answers it, in lines where
``answers_in_lines`` says so.

It answers only over the Unix socket, which only the owner can open.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from appliance.errors import ApplianceError, UsageError
from appliance.server.access.grants import Service, is_unix_socket_request
from appliance.transports import codec
from appliance.transports.answer_lines import (
    AnswerLines,
    CallerGone,
    answers_in_lines,
    carry_out_in_lines,
    encode_line,
    hello_document,
)
from appliance.transports.local import LocalTransport

MAX_SHORT_REQUESTS = 8
"""Concurrent short requests, each with a database connection of its thread."""

MAX_LONG_REQUESTS = 32
"""Concurrent requests that report progress, stream, or take long."""

HEARTBEAT_SECONDS = 1.0
"""Seconds without news after which a heartbeat line is sent; it detects callers that have disconnected."""

MAX_QUEUED_LINES = 256
"""Lines queued for a slow reader before the request waits too."""

_log = logging.getLogger("appliance.rpc")


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
        return _answer(hello_document(service.engine))

    @routes.post("/requests/{name}")
    async def carry_out(request: Request, name: str) -> Response:
        if not is_unix_socket_request(request.scope):
            return Response(status_code=404)
        try:
            asked = codec.decode_request(name, await request.body())
        except UsageError as error:
            return _answer({"error": codec.encode_error(error)}, 400)
        if answers_in_lines(asked):
            is_short = not (asked.long_running or codec.wire_types(type(asked)).streams)
            lines = LineStream(threading.Event() if is_short else service.stopping)
            work = lambda: carry_out_in_lines(transport, asked, lines)  # noqa: E731
            return StreamingResponse(lines.run(long, work), media_type="application/x-ndjson")
        try:
            result = await asyncio.get_running_loop().run_in_executor(short, transport.send, asked)
            return _answer({"result": result})
        except Exception as error:
            return _answer({"error": _encode_error(error, name)}, 400)

    return routes


class LineStream(AnswerLines):
    """The lines of an answer, passed from the request's thread to the server's event loop."""

    def __init__(self, ending: threading.Event) -> None:
        super().__init__()
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED_LINES)

    # --- on the thread of the request -------------------------------------------------------------------

    def _send(self, line: bytes) -> None:
        asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()

    def _work(self, work: Callable[[], Any]) -> None:
        try:
            last = {"result": work()}
        except CallerGone:
            return
        except Exception as error:
            last = {"error": _encode_error(error, "a request")}
        with suppress(CallerGone):
            for line in self.held_lines():
                self._put(line)
            self.put(last)

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
                    line = encode_line({"still": True})
                if line is None:
                    return
                yield line
        finally:
            # Not awaited: when the caller has gone this task is being cancelled, and so would be what it waits for.
            self.end()
            while not self._queue.empty():  # wakes a thread that waits to put a line
                self._queue.get_nowait()


def _encode_error(error: Exception, what: str) -> codec.EncodedError:
    if not isinstance(error, ApplianceError):
        _log.error("%s failed", what, exc_info=error)
    return codec.encode_error(error)


def _answer(value: Any, status: int = 200) -> Response:
    body = msgspec.json.encode(value, enc_hook=codec.plain)
    return Response(body, status, media_type="application/json")
