"""Searches beside clients that mean harm and have no token: how long they take, and what the log becomes.

    python -m tests.bench.hostile [--home COPY] [--connections 1400] [--seconds 5]

A daemon with 1,024 file descriptors serves the home, or a small one. One search after the other, each on a connection
of its own and then all on one, runs alone and beside each attack, which another process keeps up: connections that
send nothing (``half_open``), a head a byte at a time (``slow_head``), a body a byte at a time (``slow_body``), what is
not HTTP (``garbage``) and requests without a token (``stranger``). A connection that is closed is opened again.

Target: p95 of the searches below 100 ms, and a log below 100 lines a second.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean

import httpx

from appliance import Appliance
from tests.bench import material, measure, serving

TARGETS = {"search_p95_ms": 100.0, "log_lines_a_second": 100.0}

DESCRIPTORS = 1024
CONNECTIONS = 1400
MESSAGES = 2000
STEP_SECONDS = 0.2
"""Seconds between two bytes of a slow client."""

RETRY_SECONDS = 5.0
"""Seconds, in the mean, until a client that was disconnected comes again: what a daemon spends on accepting and
closing thousands of connections a second, no limit can give back."""

SETTLE_SECONDS = 3.0
"""Seconds until all have connected, and those that were closed for others spread out."""

FIRST_BYTES = {
    "half_open": b"",
    "slow_head": b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",
    "slow_body": b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n",
    "garbage": b"\x16\x03\x01 this is not HTTP\r\n\r\n",
    "stranger": b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


# --- the attack -----------------------------------------------------------------------------------------------


async def _attack(port: int, kind: str, connections: int) -> None:
    """Keep up this many connections for ever."""
    await asyncio.gather(*(_client(port, FIRST_BYTES[kind]) for _ in range(connections)))


async def _client(port: int, first_bytes: bytes) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first_bytes)
            while not reader.at_eof():
                await asyncio.sleep(STEP_SECONDS)
                if first_bytes:
                    writer.write(b"x")
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(4096), 0.001)
            writer.close()
        await asyncio.sleep(RETRY_SECONDS * random.random() * 2)


@contextmanager
def _attacking(port: int, kind: str, connections: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.bench.hostile", "--attack", kind, str(port), "--connections"]
    with subprocess.Popen(
        [*command, str(connections)], cwd=measure.ROOT, env=measure.environment(), stderr=subprocess.DEVNULL
    ) as process:
        time.sleep(SETTLE_SECONDS)
        try:
            yield
        finally:
            process.kill()


# --- the searches ---------------------------------------------------------------------------------------------


def _searches(client: httpx.Client, questions: Iterator[str], seconds: float) -> list[float]:
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        body = {"query": next(questions), "limit": 5}
        taken.append(measure.seconds(lambda body=body: client.post("/v1/search", json=body).raise_for_status()))  # type: ignore[misc]
    return taken


def _measured(served: serving.Daemon, questions: Iterator[str], log: Path, seconds: float) -> measure.Document:
    lines = _count_lines(log)
    with served.client() as client:
        kept = _searches(client, questions, seconds / 2)
    fresh: list[float] = []
    with httpx.Client(base_url=served.url, trust_env=False, timeout=120.0, limits=httpx.Limits(max_keepalive_connections=0)) as client:  # fmt: skip  # noqa: E501
        client.headers["authorization"] = f"Bearer {served.token}"
        fresh = _searches(client, questions, seconds / 2)
    # The searches' own lines, one each, are not of the attack.
    logged = (_count_lines(log) - lines - len(kept) - len(fresh)) / seconds
    return {
        "one_connection_ms": measure.percentiles(kept),
        "new_connections_ms": measure.percentiles(fresh),
        "log_lines_a_second": round(logged, 1),
    }


def _count_lines(log: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in log.parent.glob(f"{log.name}*"))


def run(home: Path, connections: int, seconds: float, kinds: Sequence[str] = tuple(FIRST_BYTES)) -> measure.Document:
    """Searches of a home alone, and beside each attack."""
    questions = itertools.cycle(material.questions(material.texts()[0], 200))
    log = home / "logs" / "daemon.log"
    found: measure.Document = {}
    with serving.daemon(home) as served:
        resource.prlimit(served.process, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        port = int(served.url.rpartition(":")[2])
        _measured(served, questions, log, seconds / 5)  # warms it up
        found["alone"] = _measured(served, questions, log, seconds)
        for kind in kinds:
            measure.say(kind)
            with _attacking(port, kind, connections):
                found[kind] = _measured(served, questions, log, seconds)
                descriptors = len(list(Path(f"/proc/{served.process}/fd").iterdir()))
            found[kind]["descriptors"] = descriptors
    return {
        "benchmark": "hostile",
        "machine": measure.machine(),
        "targets": TARGETS,
        "connections": connections,
        "log_bytes": log.stat().st_size,
        "mean_log_lines_a_second": round(mean(each["log_lines_a_second"] for each in found.values()), 1),
        "beside": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--attack", nargs=2, metavar=("KIND", "PORT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.attack:
        kind, port = given.attack
        asyncio.run(_attack(int(port), kind, given.connections))
    elif given.home:
        measure.show(run(given.home, given.connections, given.seconds))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure.show(run(small_home(Path(folder)), given.connections, given.seconds))


def small_home(folder: Path, messages: int = MESSAGES) -> Path:
    file = material.write_jsonl(folder / "chat.jsonl", material.short_messages(material.texts()[0], messages))
    with Appliance.open(folder / "home", worker=False) as memory:
        memory.ingest(file)
    return folder / "home"


if __name__ == "__main__":
    main()
