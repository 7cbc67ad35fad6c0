"""A small language model's endpoint on loopback: real sockets, and answers as the test wants them."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[dict[str, Any]], "bytes | str | None"]
"""What a request (the decoded body) is answered with: text as a completion, bytes as they are, None for silence."""

PATIENCE = 30.0
"""Seconds that a silent connection is held open at most."""


@dataclass
class Served:
    """The address of a running endpoint and what it was asked."""

    base_url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    silent: int = 0
    """Connections that are held open without an answer."""


def completion(text: str) -> bytes:
    return response(json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode())


def response(body: bytes, status: str = "200 OK", head: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Connection: close\r\n{head}\r\n"
    ).encode() + body


@contextmanager
def serving(answer: Answer, dribble: float = 0.0) -> Iterator[Served]:
    """Serve until the block ends. ``dribble`` sends one byte every so many seconds."""
    stopping = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = self.rfile.readline()
                if not line:
                    return
                head += line
            found = [line for line in head.decode().splitlines() if line.lower().startswith("content-length")]
            body = json.loads(self.rfile.read(int(found[0].split(":")[1])))
            served.asked.append(body)
            served.heads.append(head.decode())
            answered = answer(body)
            if answered is None:
                served.silent += 1
                stopping.wait(PATIENCE)
                served.silent -= 1
                return
            data = completion(answered) if isinstance(answered, str) else answered
            try:
                if not dribble:
                    self.wfile.write(data)
                    return
                began = time.monotonic()
                for byte in data:
                    if stopping.wait(dribble) or time.monotonic() - began > PATIENCE:
                        return
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
            except OSError:
                return  # whoever asked has gone

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        served = Served(f"http://127.0.0.1:{server.server_address[1]}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield served
        finally:
            stopping.set()
            server.shutdown()
            thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """An address that nobody listens at."""
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
    yield f"http://127.0.0.1:{port}/v1"
