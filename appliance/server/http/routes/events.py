"""/v1/events: events of the memory as server-sent events.

The memory publishes an event on the thread on which it happens and must never wait for a listener. So each listener has
a bounded queue; events that don't fit are counted, and the count is sent as soon as there is room.
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

from appliance.client import Appliance
from appliance.server.http.caller import Reader
from appliance.server.http.problems import TooManyRequests
from appliance.server.http.routes.base import make_router
from appliance.types import Event

router = make_router("events")

MEDIA_TYPE = "text/event-stream"

MAX_QUEUED_EVENTS = 256
"""Events queued for one listener; an ingest of several minutes publishes fewer."""

KEEP_ALIVE_SECONDS = 15.0
"""Seconds without an event after which a comment is sent: proxies cut connections that are silent for 30."""

MAX_STREAMS = 32
"""Streams at the same time."""

MAX_STREAM_SECONDS = 24 * 60 * 60
"""The longest that a client may ask a stream to last."""


@router.get(
    "/v1/events",
    response_class=Response,
    responses={200: {"description": "A stream of events", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    caller: Reader,
    seconds: Annotated[
        float | None,
        Query(ge=0, le=MAX_STREAM_SECONDS, description="How long to listen; by default until either side closes."),
    ] = None,
) -> Response:
    """Every event as it happens: its kind, subject and counts, never text. Owner only."""
    caller.require_owner("events")
    streams: EventStreams = request.app.state.streams
    return _EventResponse(streams, caller.memory, seconds)


class EventStreams:
    """The open streams. ``close`` ends them, so that the server can stop."""

    def __init__(self) -> None:
        self._open: set[EventQueue] = set()
        self._closed = False

    def add(self, listener: EventQueue) -> None:
        """
        Raises:
            TooManyRequests: ``MAX_STREAMS`` are open.
        """
        if len(self._open) >= MAX_STREAMS:
            raise TooManyRequests(f"{MAX_STREAMS} streams are open.", hint="Close an unused stream of /v1/events.")
        self._open.add(listener)
        if self._closed:
            listener.end()

    def remove(self, listener: EventQueue) -> None:
        self._open.discard(listener)

    def close(self) -> None:
        """End all streams, present and future. Call it, on any thread, before the server waits for its connections."""
        self._closed = True
        for listener in [*self._open]:
            listener.end()


class EventQueue:
    """A bounded queue between the threads of the memory and the task of one stream."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_size: int = MAX_QUEUED_EVENTS) -> None:
        self._loop = loop
        self._max_size = max_size
        self._lock = threading.Lock()
        self._queue: deque[Event] = deque()
        self._dropped = 0
        self._is_wake_scheduled = False
        self._wake = asyncio.Event()
        self.is_ended = False

    def put(self, event: Event) -> None:
        """Queue an event, or count it as dropped. Never waits; any thread may call it."""
        with self._lock:
            if len(self._queue) >= self._max_size:
                self._dropped += 1
            else:
                self._queue.append(event)
            was_scheduled, self._is_wake_scheduled = self._is_wake_scheduled, True
        if not was_scheduled:  # at most one call waits in a busy loop
            self._wake_reader()

    def end(self) -> None:
        self.is_ended = True
        self._wake_reader()

    def _wake_reader(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and its streams with it
            self._loop.call_soon_threadsafe(self._wake.set)

    async def next_chunk(self, timeout: float) -> bytes:
        """The next bytes to send: events and the number dropped, or a comment after ``timeout`` seconds."""
        with anyio.move_on_after(timeout):
            await self._wake.wait()
        with self._lock:
            self._wake.clear()
            self._is_wake_scheduled = False
            events, dropped = [*self._queue], self._dropped
            self._queue.clear()
            self._dropped = 0
        lines = [_format_event(event.kind, event) for event in events]
        if dropped:
            lines.append(_format_event("dropped", {"dropped": dropped}))
        return b"".join(lines) or b": still here\n\n"


def _format_event(kind: str, value: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


class _EventResponse(Response):
    """Streams events until the time is up or the client disconnects."""

    media_type = MEDIA_TYPE

    def __init__(self, streams: EventStreams, memory: Appliance, seconds: float | None) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._memory = memory
        self._streams = streams
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = EventQueue(asyncio.get_running_loop())
        self._streams.add(listener)
        stop = self._memory.events.listen(listener.put)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send_until_gone, listener, send, tasks.cancel_scope)
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()
        finally:
            stop()
            self._streams.remove(listener)

    async def _send_until_gone(self, listener: EventQueue, send: Send, cancel_scope: anyio.CancelScope) -> None:
        with suppress(OSError):  # the client has disconnected
            await self._send_events(listener, send)
        cancel_scope.cancel()

    async def _send_events(self, listener: EventQueue, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await _send_chunk(send, b": listening\n\n")
        deadline = None if self._seconds is None else time.monotonic() + self._seconds
        while not listener.is_ended:
            timeout = KEEP_ALIVE_SECONDS if deadline is None else min(KEEP_ALIVE_SECONDS, deadline - time.monotonic())
            if timeout <= 0:
                break
            await _send_chunk(send, await listener.next_chunk(timeout))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_chunk(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
