"""The stream of events: told as they happen, to whoever listens, and never at the memory's cost."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from appliance import Appliance
from appliance.server.http.routes import events
from appliance.server.http.routes.events import EventQueue
from appliance.types import Event
from tests.engines import engine_of
from tests.http_calls import application, calling, owner, running
from tests.waits import PATIENCE, until

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]


def parsed(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def listening(memory: Appliance, many: int) -> None:
    until(lambda: len(engine_of(memory).events._subscriptions) == many, f"{many} listeners")


def test_an_event_is_told_as_it_happens(memory: Appliance) -> None:
    with (
        running(application(memory)) as url,
        httpx.Client(base_url=url, headers=owner(memory), timeout=PATIENCE) as client,
    ):
        with client.stream("GET", "/v1/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            assert next(lines) == ": listening"
            engine_of(memory).events.publish(Event("summarised", "s1", {"exchange": 3}))
            assert next(parsed(lines)) == (
                "summarised", {"kind": "summarised", "about": "s1", "detail": {"exchange": 3}},
            )  # fmt: skip
        listening(memory, 0)


def test_a_stream_says_that_it_is_alive(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE_SECONDS", 0.02)
    with (
        running(application(memory)) as url,
        httpx.Client(base_url=url, headers=owner(memory), timeout=PATIENCE) as client,
        client.stream("GET", "/v1/events") as stream,
    ):
        said = [line for line, _ in zip(stream.iter_lines(), range(7), strict=False)]
    assert said.count(": still here") == 3


def test_a_stream_lasts_as_long_as_it_is_asked_to(memory: Appliance) -> None:
    with calling(application(memory), owner(memory)) as client:
        assert client.get("/v1/events", params={"seconds": 0.05}).text.startswith(": listening")
        assert client.get("/v1/events", params={"seconds": -1}).status_code == 422


def test_the_server_ends_its_streams_when_it_stops(memory: Appliance) -> None:
    said: list[str] = []
    whole = threading.Event()

    def listen(url: str) -> None:
        client = httpx.Client(base_url=url, headers=owner(memory), timeout=PATIENCE)
        with client, client.stream("GET", "/v1/events") as stream:
            said.extend(stream.iter_lines())
            whole.set()  # a stream that the server cuts off raises instead

    with running(application(memory)) as url:
        thread = threading.Thread(target=listen, args=(url,))
        thread.start()
        listening(memory, 1)
    thread.join()
    assert said[0] == ": listening" and whole.is_set()


def test_a_client_that_stops_reading_costs_the_memory_nothing(memory: Appliance) -> None:
    served = application(memory)
    with running(served) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect((host, int(port)))
            token = owner(memory)["Authorization"]
            deaf.sendall(f"GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: {token}\r\n\r\n".encode())
            listening(memory, 1)
            padding = "x" * 1000
            for number in range(20_000):  # waiting for the deaf one would last for ever
                engine_of(memory).events.publish(Event("progress", f"s{number}", {"padding": padding}))
            with httpx.Client(base_url=url, headers=owner(memory)) as client:
                assert client.get("/health/live").status_code == 200
            (hear,) = served.state.service.masked.events._subscriptions
            assert len(hear._listener.__self__._queue) <= events.MAX_QUEUED_EVENTS  # type: ignore[attr-defined]
            # It reads on after all, and is told what it missed.
            deaf.settimeout(PATIENCE)
            said = b""
            while b"event: dropped" not in said:
                said += deaf.recv(1 << 20)
        listening(memory, 0)
    assert len(said) < 20_000 * 1000


def test_a_full_queue_counts_what_it_drops() -> None:
    async def hear() -> bytes:
        listener = EventQueue(asyncio.get_running_loop(), max_size=2)
        for number in range(5):
            listener.put(Event("progress", f"s{number}"))
        return await listener.next_chunk(1.0)

    told = [*parsed(iter(asyncio.run(hear()).decode().splitlines()))]
    assert [kind for kind, _ in told] == ["progress", "progress", "dropped"]
    assert told[-1][1] == {"dropped": 3}


def test_a_listener_outlives_its_loop_without_harm() -> None:
    loop = asyncio.new_event_loop()
    listener = EventQueue(loop)
    loop.close()
    listener.put(Event("progress", "s1"))


def test_too_many_listeners_are_refused(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_STREAMS", 1)
    with (
        running(application(memory)) as url,
        httpx.Client(base_url=url, headers=owner(memory), timeout=PATIENCE) as client,
    ):
        with client.stream("GET", "/v1/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": listening"
            refused = client.get("/v1/events")
            assert (refused.status_code, refused.json()["error"]) == (429, "TooMany")
        listening(memory, 0)
        assert client.get("/v1/events", params={"seconds": 0}).status_code == 200
