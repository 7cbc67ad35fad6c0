"""MCP over stdin and stdout, for the client that started this process.

Only the protocol goes to stdout; anything else that is printed goes to stderr. Serving ends with stdin, after pending
calls have been answered, or on a signal.
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

from appliance.server.mcp import json_rpc
from appliance.server.mcp.memory_lease import MemoryLease
from appliance.server.mcp.protocol import build_server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from appliance.server.access.grants import Grant

DRAIN_TIMEOUT_SECONDS = 30.0
"""Seconds for pending calls to finish after stdin has closed: clients often close it right after a call."""

READ_SIZE_BYTES = 65_536
"""Bytes read from stdin at once."""

_CLIENT_GONE_ERRORS = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""Raised when the client no longer reads."""


def serve(home: str | None, grant: Grant) -> None:
    """Serve until stdin ends, the client is gone, or a signal comes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    memory_lease = MemoryLease(home, "appliance mcp")
    try:
        anyio.run(_serve, memory_lease, grant)
    finally:
        memory_lease.close()


async def _serve(memory_lease: MemoryLease, grant: Grant) -> None:
    conversation = f"mcp-{secrets.token_hex(6)}"
    mcp_server = build_server(
        memory_lease.lease, lambda _: grant, lambda _: conversation, on_listed=_once(memory_lease.preload)
    )
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_on_signal, group.cancel_scope)
            refusals = _Refusals()
            lines = _understood_lines(_stdin_lines(), refusals)
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (incoming, outgoing):
                pending = _PendingRequests()
                refusals.answer_on(outgoing)
                options = mcp_server.create_initialization_options()
                try:
                    await mcp_server.run(_InputStream(incoming, pending), _OutputStream(outgoing, pending), options)
                finally:
                    sys.stdout.flush()  # to stderr: behind this, stdout is the client's again
            group.cancel_scope.cancel()
    except* _CLIENT_GONE_ERRORS:
        pass


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _once(call: Callable[[], None]) -> Callable[[], None]:
    pending = [call]

    def run_once() -> None:
        if pending:
            pending.pop()()

    return run_once


# --- stdin ------------------------------------------------------------------------------------------------


async def _stdin_lines() -> AsyncIterator[str]:
    """The lines of stdin. A daemon thread reads them, because a blocked read can't be cancelled; it holds no lock or
    object that would delay the end of the program."""
    send, receive = anyio.create_memory_object_stream[str](0)
    stdin_fd = os.dup(0)
    # Other readers of stdin find it at its end while the protocol owns it.
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.close(null_fd)
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read_stdin, args=(stdin_fd, loop, send), name="stdin", daemon=True).start()
    async with receive:
        async for line in receive:
            yield line


def _read_stdin(stdin_fd: int, loop: asyncio.AbstractEventLoop, send: MemoryObjectSendStream[str]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    partial_line = ""
    try:
        while data := os.read(stdin_fd, READ_SIZE_BYTES):
            *lines, partial_line = (partial_line + decoder.decode(data)).split("\n")
            for line in lines:
                asyncio.run_coroutine_threadsafe(send.send(line), loop).result()
        if partial_line:
            asyncio.run_coroutine_threadsafe(send.send(partial_line), loop).result()
    except (*_CLIENT_GONE_ERRORS, RuntimeError, asyncio.CancelledError):
        return  # the program ends
    finally:
        try:
            loop.call_soon_threadsafe(send.close)
        except RuntimeError:
            return  # it has ended


class _Refusals:
    """Answers messages that can't be understood, as soon as there is a stream for answers."""

    def __init__(self) -> None:
        self._outgoing: Any = None
        self._is_ready = anyio.Event()

    def answer_on(self, outgoing: Any) -> None:
        self._outgoing = outgoing
        self._is_ready.set()

    async def send(self, refusal: JSONRPCError) -> None:
        await self._is_ready.wait()
        await self._outgoing.send(SessionMessage(refusal))


async def _understood_lines(lines: AsyncIterator[str], refusals: _Refusals) -> AsyncIterator[str]:
    """The lines that are messages of the protocol. The others are refused; empty ones are left out."""
    async for line in lines:
        if (refusal := json_rpc.refusal(line) if line.strip() else None) is not None:
            await refusals.send(refusal)
        elif line.strip():
            yield line


# --- answers under way at the end -----------------------------------------------------------------------------


class _PendingRequests:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._changed = anyio.Event()

    def add_request(self, message: object) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._remove((message.params or {}).get("requestId"))

    def remove_answered(self, message: object) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._remove(message.id)

    async def wait_until_answered(self) -> None:
        """Return when every request has been answered, or after ``DRAIN_TIMEOUT_SECONDS``."""
        with anyio.move_on_after(DRAIN_TIMEOUT_SECONDS):
            while self._ids:
                await self._changed.wait()

    def _remove(self, id: object) -> None:
        self._ids = {pending_id for pending_id in self._ids if str(pending_id) != str(id)}
        self._changed.set()
        self._changed = anyio.Event()


class _ProtocolStream:
    """A stream of the protocol that keeps track of pending requests."""

    def __init__(self, inner: Any, pending: _PendingRequests) -> None:
        self._inner = inner
        self._pending = pending

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _InputStream(_ProtocolStream):
    """Messages from the client; the stream ends after every request has been answered."""

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except StopAsyncIteration:
            await self._pending.wait_until_answered()
            raise
        if isinstance(item, SessionMessage):
            self._pending.add_request(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()


class _OutputStream(_ProtocolStream):
    """Messages to the client."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._pending.remove_answered(item.message)
