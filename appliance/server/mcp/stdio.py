"""MCP over stdin and stdout, for one client that started this process.

Nothing but the protocol goes to stdout: while serving, whatever else is printed goes to stderr. It ends when stdin
does, after the calls under way were answered, or when a signal tells it to.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from appliance.server.mcp.opening import Opening
from appliance.server.mcp.protocol import server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from appliance.server.service import Grant

LAST_ANSWERS = 30.0
"""Seconds that calls under way have to end after stdin did: who closes it has often asked something just before."""

READ = 65_536
"""Bytes that are read from stdin at once."""

_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What is raised when the client does not read any more."""


def serve(home: str | None, grant: Grant) -> None:
    """Serve until stdin ends, the client is gone, or a signal comes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    opening = Opening(home, "appliance mcp")
    try:
        anyio.run(_serve, opening, grant)
    finally:
        opening.close()


async def _serve(opening: Opening, grant: Grant) -> None:
    conversation = f"mcp-{secrets.token_hex(6)}"
    serving = server(opening.lease, lambda _: grant, lambda _: conversation, listed=_once(opening.warm))
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_ended_by_signals, group.cancel_scope)
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", _lines())) as (incoming, outgoing):
                waiting = _Waiting()
                options = serving.create_initialization_options()
                await serving.run(_In(incoming, waiting), _Out(outgoing, waiting), options)
            group.cancel_scope.cancel()
    except* _GONE:
        pass


async def _ended_by_signals(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _once(call: Callable[[], None]) -> Callable[[], None]:
    left = [call]

    def first() -> None:
        if left:
            left.pop()()

    return first


# --- stdin ------------------------------------------------------------------------------------------------


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin. A thread of its own reads them, because one that waits for a line can't be cancelled: it
    holds no lock and no object that the end of the program would wait for."""
    send, receive = anyio.create_memory_object_stream[str](0)
    wire = os.dup(0)
    # Whoever else reads stdin while the protocol owns it finds its end.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read, args=(wire, loop, send), name="stdin", daemon=True).start()
    async with receive:
        async for line in receive:
            yield line


def _read(wire: int, loop: asyncio.AbstractEventLoop, send: MemoryObjectSendStream[str]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    try:
        while data := os.read(wire, READ):
            *lines, rest = (rest + decoder.decode(data)).split("\n")
            for line in lines:
                asyncio.run_coroutine_threadsafe(send.send(line), loop).result()
        if rest:
            asyncio.run_coroutine_threadsafe(send.send(rest), loop).result()
    except (*_GONE, RuntimeError, asyncio.CancelledError):
        return  # the program ends
    finally:
        try:
            loop.call_soon_threadsafe(send.close)
        except RuntimeError:
            return  # it has ended


# --- answers under way at the end -----------------------------------------------------------------------------


class _Waiting:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._changed = anyio.Event()

    def heard(self, message: object) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._drop((message.params or {}).get("requestId"))

    def told(self, message: object) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._drop(message.id)

    async def done(self) -> None:
        """Return when every request was answered, or after a while."""
        with anyio.move_on_after(LAST_ANSWERS):
            while self._ids:
                await self._changed.wait()

    def _drop(self, id: object) -> None:
        self._ids = {one for one in self._ids if str(one) != str(id)}
        self._changed.set()
        self._changed = anyio.Event()


class _Stream:
    """A stream of the protocol, for as long as a connection lasts."""

    def __init__(self, inner: Any, waiting: _Waiting) -> None:
        self._inner = inner
        self._waiting = waiting

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _In(_Stream):
    """What the client sends; it ends after everything that it asked was answered."""

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except StopAsyncIteration:
            await self._waiting.done()
            raise
        if isinstance(item, SessionMessage):
            self._waiting.heard(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()


class _Out(_Stream):
    """What the client is told."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._waiting.told(item.message)
