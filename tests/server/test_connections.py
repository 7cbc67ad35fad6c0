"""Connections of clients that send nothing, too slowly or too much; and what of it stands in the log."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from appliance.server import logs
from appliance.server.connections import ConnectionLimits, ConnectionTable, LimitedProtocol, fitting_limits
from tests.waits import PATIENCE

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

GET = b"GET /quick HTTP/1.1\r\nHost: a\r\n\r\n"
SHORT = {"head_seconds": 0.05, "body_seconds": 0.05}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _App:
    """Answers ``/quick`` and ``/refused`` at once, ``/body`` when it has the body, ``/slow`` when it is told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.disconnected = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await self.go_on.wait()
        size, more = 0, scope["path"] == "/body"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected += 1
                return
            size, more = size + len(message["body"]), message["more_body"]
        headers = [(b"content-length", b"8")] + [(b"connection", b"close")] * (scope["path"] == "/refused")
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"%8d" % size})


class _Served:
    def __init__(self, port: int, app: _App, table: ConnectionTable, connections: set[Any]) -> None:
        self.port, self.app, self.table, self.connections = port, app, table, connections

    async def connect(self, sent: bytes = b"") -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        return reader, writer

    async def connect_and_settle(self, sent: bytes, phase: str) -> Streams:
        """A connection that the server has seen to be in this phase."""
        streams = await self.connect(sent)
        host = streams[1].get_extra_info("sockname")
        while (host, phase) not in [(held.client, held.phase.name) for held in self.connections]:
            await asyncio.sleep(0)
        return streams


@asynccontextmanager
async def serving(**limits: Any) -> AsyncIterator[_Served]:
    app, table = _App(), ConnectionTable(ConnectionLimits(**limits))
    config = uvicorn.Config(
        app, http=functools.partial(LimitedProtocol, table), log_config=None, lifespan="off"  # type: ignore[arg-type]
    )  # fmt: skip
    state = uvicorn.server.ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: LimitedProtocol(table, config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield _Served(server.sockets[0].getsockname()[1], app, table, state.connections)
    finally:
        app.go_on.set()
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.gather(*state.tasks)


async def end_of(streams: Streams) -> bytes:
    """What the server sends until it closes the connection."""
    try:
        return await asyncio.wait_for(streams[0].read(), PATIENCE)
    except ConnectionResetError:
        return b""
    finally:
        streams[1].close()


async def answer_of(streams: Streams) -> bytes:
    head = await asyncio.wait_for(streams[0].readuntil(b"\r\n\r\n"), PATIENCE)
    return head + await streams[0].readexactly(8)


def run(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def in_a_loop() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    return in_a_loop


# --- time -----------------------------------------------------------------------------------------------------


@run
async def test_a_client_that_sends_nothing_is_disconnected() -> None:
    async with serving(**SHORT) as served:
        assert await end_of(await served.connect()) == b""
        assert len(served.table) == 0


@run
async def test_a_head_that_is_not_finished_is_answered_with_a_timeout() -> None:
    async with serving(**SHORT) as served:
        assert (await end_of(await served.connect(GET[:-3]))).startswith(b"HTTP/1.1 408 ")
        streams = await served.connect(GET)
        assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
        streams[1].write(GET[:9])  # the second request of a connection has the same time
        assert (await end_of(streams)).startswith(b"HTTP/1.1 408 ")


@run
async def test_a_body_that_drips_is_answered_with_a_timeout_and_ends_its_request() -> None:
    async with serving(**SHORT) as served:
        streams = await served.connect(b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc")
        assert (await end_of(streams)).startswith(b"HTTP/1.1 408 ")
        while not served.app.disconnected:
            await asyncio.sleep(0)


@run
async def test_a_body_that_keeps_coming_is_read_to_its_end_however_long_it_takes() -> None:
    async with serving(body_seconds=0.05, body_bytes=1) as served:
        loop = asyncio.get_running_loop()
        reader, writer = await served.connect(b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        began, sent = loop.time(), 0
        while loop.time() - began < 0.2:
            writer.write(b"4\r\nabcd\r\n")
            sent += 4
            await asyncio.sleep(0.001)
        writer.write(b"0\r\n\r\n")
        assert (await answer_of((reader, writer))).endswith(b"%8d" % sent)
        writer.close()


@run
async def test_an_answer_may_take_longer_than_a_client() -> None:
    async with serving(**SHORT) as served:
        streams = await served.connect(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(0.15)
        served.app.go_on.set()
        assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
        streams[1].close()


@pytest.mark.parametrize("path", ["/refused", "/quick"])
def test_who_is_answered_before_its_body_is_sent_gets_the_answer(path: str) -> None:
    async def test() -> None:
        async with serving() as served:
            size = 4_000_000
            streams = await served.connect(
                f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode()
            )
            assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
            streams[1].write(b"x" * size)
            await streams[1].drain()
            if path == "/quick":  # the connection goes on
                streams[1].write(GET)
                assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
            else:
                assert await streams[0].read() == b""
            streams[1].close()

    asyncio.run(test())


@run
async def test_what_is_discarded_has_an_end() -> None:
    async with serving(head_seconds=0.05) as served:
        streams = await served.connect(b"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
        while len(served.table):
            await asyncio.sleep(0.001)
        streams[1].close()


# --- number ---------------------------------------------------------------------------------------------------


@run
async def test_the_oldest_silent_connection_gives_way_then_the_oldest_idle_one() -> None:
    async with serving(total=4) as served:
        idle = await served.connect_and_settle(GET, "IDLE")
        assert await answer_of(idle)
        silent = [await served.connect_and_settle(b"", "SILENT") for _ in range(2)]
        busy = await served.connect_and_settle(GET.replace(b"quick", b"slow"), "ANSWER")
        for first in (*silent, idle):  # each request that comes now stays
            one = await served.connect_and_settle(GET.replace(b"quick", b"slow"), "ANSWER")
            assert await end_of(first) == b""
            assert len(served.table) == 4
            silent.append(one)
        assert await end_of(await served.connect(GET)) == b""  # all are being answered
        served.app.go_on.set()
        for streams in (busy, *silent[2:]):
            assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
            streams[1].close()


@run
async def test_slow_heads_give_way_to_a_connection_that_has_not_been_read_from() -> None:
    async with serving(total=3) as served:
        slow = [await served.connect_and_settle(GET[:-1], "HEAD") for _ in range(3)]
        new = await served.connect_and_settle(b"", "SILENT")
        assert await end_of(slow[0]) == b""
        newer = await served.connect_and_settle(b"", "SILENT")
        assert await end_of(slow[1]) == b""
        for streams in (new, newer):
            streams[1].write(GET)
            assert (await answer_of(streams)).startswith(b"HTTP/1.1 200 ")
            streams[1].close()
        slow[2][1].close()


@run
async def test_a_body_that_is_not_read_gives_way() -> None:
    async with serving(total=1) as served:
        streams = await served.connect_and_settle(
            b"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\nabc", "DISCARD"
        )
        other = await served.connect(GET)
        assert (await answer_of(other)).startswith(b"HTTP/1.1 200 ")
        assert len(served.table) == 1
        for opened in (streams, other):
            opened[1].close()


@run
async def test_an_address_has_a_share_of_the_connections() -> None:
    async with serving(total=100, per_peer=2) as served:
        first = await served.connect_and_settle(b"", "SILENT")
        others = [await served.connect_and_settle(b"", "SILENT") for _ in range(2)]
        assert await end_of(first) == b""
        assert len(served.table) == 2
        for streams in others:
            streams[1].close()


def test_the_limits_leave_descriptors_for_the_memory() -> None:
    limits = ConnectionLimits(total=512, per_peer=256)
    assert fitting_limits(limits, 8192) == limits
    assert fitting_limits(limits, 1024) == limits
    assert fitting_limits(limits, 700).total == 316
    assert fitting_limits(limits, 64).total == 16


# --- the log --------------------------------------------------------------------------------------------------


def test_a_line_that_strangers_cause_is_logged_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    now = [10.0]
    repeats = logs.RepeatFilter(clock=lambda: now[0])
    log = logging.getLogger("uvicorn.error")
    log.addFilter(repeats)
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(1000):
                log.warning("Invalid HTTP request received.")
            log.warning("another")
            now[0] += 1.0
            log.warning("Invalid HTTP request received.")
    finally:
        log.removeFilter(repeats)
    assert [record.getMessage()[:7] for record in caplog.records] == ["Invalid", "another", "Invalid"]
    assert caplog.records[-1].about == {"left_out": 999}  # type: ignore[attr-defined]


def test_requests_with_a_token_are_all_logged() -> None:
    repeats = logs.RepeatFilter(clock=lambda: 0.0)

    def passes(stranger: str) -> bool:
        record = logging.LogRecord("appliance.requests", logging.INFO, "", 0, "request", (), None)
        record.stranger = stranger
        return repeats.filter(record)

    assert [passes("") for _ in range(3)] == [True] * 3
    assert [passes("/v1/search 401") for _ in range(3)] == [True, False, False]
    assert passes("/health/live 200")
