"""/v1/events: what happens in the memory, as server-sent events.

The memory tells of an event on the thread that it happens on, and must never wait for whoever listens: a listener
has a queue of a bounded length, what does not fit is counted, and the count is told as soon as there is room.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Annotated

import anyio
import msgspec
from fastapi import Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from appliance.engine import Engine
from appliance.server.problems import TooMany
from appliance.server.reach import Reader
from appliance.server.routes.base import group
from appliance.types import Event

router = group("events")

MEDIA_TYPE = "text/event-stream"

QUEUED = 256
"""Events that wait for one listener; an ingest of minutes tells of fewer."""

KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment says that the stream is alive: proxies cut what is silent for 30."""

LISTENERS = 32
"""Streams at the same time."""

LONGEST = 24 * 60 * 60
"""Seconds that a stream may be asked to last."""


@router.get(
    "/v1/events",
    response_class=Response,
    responses={
        200: {"description": "A stream of events", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
    },
)
async def events(
    request: Request,
    caller: Reader,
    seconds: Annotated[
        float | None,
        Query(ge=0, le=LONGEST, description="How long to listen; until either side goes unless given."),
    ] = None,
) -> Response:
    """Every event of the memory, as it happens: its kind, what it is about and counts, never words. For the owner."""
    caller.require_owner("events are")
    streams: Streams = request.app.state.streams
    return _Stream(streams, caller.memory, seconds)


class Streams:
    """The streams that are open. ``close`` ends them, so that a server can stop."""

    def __init__(self) -> None:
        self._open: set[Listener] = set()
        self._closed = False

    def add(self, listener: Listener) -> None:
        """
        Raises:
            TooMany: there are many already.
        """
        if len(self._open) >= LISTENERS:
            raise TooMany(
                f"{LISTENERS} listen already", hint="close a stream of /v1/events that nobody reads"
            )
        self._open.add(listener)
        if self._closed:
            listener.end()

    def remove(self, listener: Listener) -> None:
        self._open.discard(listener)

    def close(self) -> None:
        """End every stream, and those that are yet to come; to be called, on any thread, before the server waits for
        its connections."""
        self._closed = True
        for listener in [*self._open]:
            listener.end()


class Listener:
    """A bounded queue between the threads of the memory and the task of one stream."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int = QUEUED) -> None:
        self._loop = loop
        self._most = most
        self._lock = threading.Lock()
        self._queue: deque[Event] = deque()
        self._dropped = 0
        self._told = False
        self._wake = asyncio.Event()
        self.ended = False

    def hear(self, event: Event) -> None:
        """Take an event, or count it as dropped. Never waits; called on any thread."""
        with self._lock:
            if len(self._queue) >= self._most:
                self._dropped += 1
            else:
                self._queue.append(event)
            told, self._told = self._told, True
        if not told:  # one call waits in the loop at most, however busy the loop is
            self._rouse()

    def end(self) -> None:
        """Let the stream end."""
        self.ended = True
        self._rouse()

    def _rouse(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it whoever listened
            self._loop.call_soon_threadsafe(self._wake.set)

    async def next(self, patience: float) -> bytes:
        """What is to be sent now: events and how many were dropped, or a comment after ``patience`` seconds."""
        with anyio.move_on_after(patience):
            await self._wake.wait()
        with self._lock:
            self._wake.clear()
            self._told = False
            events, dropped = [*self._queue], self._dropped
            self._queue.clear()
            self._dropped = 0
        lines = [_written(event.kind, event) for event in events]
        if dropped:
            lines.append(_written("dropped", {"dropped": dropped}))
        return b"".join(lines) or b": still here\n\n"


def _written(kind: str, value: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


class _Stream(Response):
    """Sends what a listener hears until its time is over or its reader goes."""

    media_type = MEDIA_TYPE

    def __init__(self, streams: Streams, memory: Engine, seconds: float | None) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._memory = memory
        self._streams = streams
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = Listener(asyncio.get_running_loop())
        self._streams.add(listener)
        stop = self._memory.events.listen(listener.hear)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell, listener, send, tasks.cancel_scope)
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()
        finally:
            stop()
            self._streams.remove(listener)

    async def _tell(self, listener: Listener, send: Send, done: anyio.CancelScope) -> None:
        with suppress(OSError):  # whoever listened has gone
            await self._send(listener, send)
        done.cancel()

    async def _send(self, listener: Listener, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await _body(send, b": listening\n\n")
        until = None if self._seconds is None else time.monotonic() + self._seconds
        while not listener.ended:
            left = KEEP_ALIVE if until is None else min(KEEP_ALIVE, until - time.monotonic())
            if left <= 0:
                break
            await _body(send, await listener.next(left))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
