"""What HTTP costs: each call over loopback and in this process, one after the other, and as many as can be.

    python -m tests.bench.http [--messages 2000] [--calls 400] [--model]

Prints the least, the median and the 95th percentile of each in milliseconds, what a request costs that does nothing
(the app and its guard alone), and the requests a second that some clients get answered together.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from appliance import Appliance
from appliance_models import Embedder, HashEmbedder
from tests.http_calls import application, owner, running

WORDS = "harbour crane lever winch rope sailor storm pier garden tomato fence spade seed greenhouse tulip".split()


def filled(memory: Appliance, folder: Path, messages: int) -> None:
    chance = random.Random(7)
    path = folder / "talk.jsonl"
    with path.open("w") as file:
        for number in range(messages):
            text = " ".join(chance.choices(WORDS, k=20)) + f" number {number}"
            file.write(json.dumps({"session_id": f"s{number // 40}", "role": "user", "content": text}) + "\n")
    memory.ingest(path)


def timed(call: Callable[[int], object], calls: int) -> list[float]:
    for number in range(20):
        call(number)
    took = []
    for number in range(calls):
        began = time.perf_counter()
        call(number)
        took.append((time.perf_counter() - began) * 1000)
    return took


def told(name: str, took: Sequence[float]) -> None:
    in_order = sorted(took)
    p95 = in_order[int(len(took) * 0.95)]
    print(f"{name:<28} least {in_order[0]:6.2f}   p50 {statistics.median(took):6.2f}   p95 {p95:6.2f} ms")


def query(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]} and {WORDS[(number * 7 + 3) % len(WORDS)]}"


class Client:
    """One connection that is kept."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._connection = http.client.HTTPConnection(host, int(port))
        self._headers = {**headers, "Content-Type": "application/json"}

    def get(self, path: str) -> bytes:
        return self._ask("GET", path, None)

    def search(self, number: int) -> bytes:
        return self._ask("POST", "/v1/search", json.dumps({"query": query(number)}).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        data = answer.read()
        assert answer.status == 200, data
        return data


def together(url: str, headers: dict[str, str], clients: int, seconds: float) -> float:
    """Searches a second that ``clients`` get answered, each one after the other."""
    counts = [0] * clients
    end = time.monotonic() + seconds

    def ask(which: int) -> None:
        client = Client(url, headers)
        while time.monotonic() < end:
            client.search(counts[which] * clients + which)
            counts[which] += 1

    threads = [threading.Thread(target=ask, args=(which,)) for which in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def cost(app: FastAPI, headers: dict[str, str], path: str, body: bytes | None, calls: int) -> float:
    """Milliseconds of processor time that the app and its guard take for a request, without a socket."""
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "query_string": b"",
        "method": "GET" if body is None else "POST", "path": path, "raw_path": path.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1:1"), (b"content-type", b"application/json"), *sent],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1),
    }  # fmt: skip

    async def call() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body or b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message.get("status", 200) == 200

        await app({**scope}, receive, send)

    async def several() -> float:
        for _ in range(20):
            await call()
        began = time.process_time()
        for _ in range(calls):
            await call()
        return (time.process_time() - began) * 1000 / calls

    return asyncio.run(several())


@contextmanager
def serving(home: Path, model: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """A server in a process of its own, as a daemon is: its address, and the owner's headers."""
    command = [sys.executable, "-m", "tests.bench.http", "--serve", str(home), *(["--model"] if model else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        yield json.loads(server.stdout.readline())
        server.stdin.close()


def serve(home: Path, embedder: Embedder | None) -> None:
    """Serve until stdin ends."""
    # Without a background, which would do at once what an ingest leaves: it is HTTP that is measured.
    with Appliance.open(home, worker=False, embedder=embedder) as memory, running(application(memory)) as url:
        print(json.dumps([url, owner(memory)]), flush=True)
        sys.stdin.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--model", action="store_true", help="the shipped model in place of a tiny one")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    embedder = None if given.model else HashEmbedder()
    if given.serve is not None:
        serve(given.serve, embedder)
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with Appliance.open(home, worker=False, embedder=embedder) as memory:
            filled(memory, Path(folder), given.messages)
            told("search in this process", timed(lambda number: memory.search(query(number)), given.calls))
            app, own = application(memory), owner(memory)
            nothing = cost(app, own, "/health/live", None, given.calls)
            threaded = cost(app, own, "/v1/forget/receipts", None, given.calls)
            print(f"app and guard, processor time: {nothing:.2f} ms, on a thread {threaded:.2f} ms")
        with serving(home, given.model) as (url, headers):
            client = Client(url, headers)
            beyond: list[float] = []

            def search(number: int) -> None:
                began = time.perf_counter()
                found = json.loads(client.search(number))
                beyond.append((time.perf_counter() - began) * 1000 - found["took_ms"])

            told("search over HTTP", timed(search, given.calls))
            told("  of it not the search's own", beyond)
            told("nothing (/health/live)", timed(lambda number: client.get("/health/live"), given.calls))
            told("a token and a thread", timed(lambda number: client.get("/v1/forget/receipts"), given.calls))
            for clients in (1, 4, 8):
                print(f"{clients} clients: {together(url, headers, clients, 5.0):.0f} searches a second")


if __name__ == "__main__":
    main()
