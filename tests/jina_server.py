"""The Jina embeddings API on loopback, as it is published: deterministic vectors over real sockets, its limits, and
faults on demand.

Run as a program, it serves until it is killed. It prints its address first, and for each line of its input the numbers
of requests and texts until then; see ``FAULTS``.
"""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appliance_models import HashEmbedder

KEY = "jina_0123456789abcdefSECRETsecret"
MODELS = ("jina-embeddings-v3",)
TASKS = ("retrieval.query", "retrieval.passage", "text-matching", "separation", "classification")
FIELDS = {
    "model", "input", "task", "dimensions", "late_chunking", "embedding_type", "truncate", "normalized",
}  # fmt: skip
MAX_TEXTS = 512
MAX_TOKENS = 8_192
PATIENCE = 30.0
"""Seconds that a silent connection is held open at most."""

Answer = Callable[[dict[str, Any]], "bytes | None"]
"""What a request is answered with in place of vectors: bytes as they are, None for silence."""


@dataclass
class Served:
    """The address of a running API and what it was asked. ``faults`` are used up one a request, before it answers as it
    should."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    faults: deque[Answer] = field(default_factory=deque)
    always: Answer | None = None
    """A fault of every request; set it to None to end it."""
    max_tokens: int = MAX_TOKENS
    silent: int = 0
    """Connections that are held open without an answer."""

    @property
    def texts(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for body in self.asked for text in body["input"]]

    @property
    def tokens(self) -> int:
        """The tokens of all requests, as the API counts them."""
        return sum(map(count_tokens, self.texts))


def count_tokens(text: str) -> int:
    """The API's own count, here of words; none of the client's estimates."""
    return len(text.split()) + 2


def vector(text: str, task: str, dimension: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Of passages and queries that share words alike, and not the same."""
    found = HashEmbedder(dimension).embed_query(text) + (0.05 if task == "retrieval.query" else 0.0)
    return np.asarray(found / np.linalg.norm(found), np.float32)


def vectors(body: dict[str, Any]) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Of the inputs of a request, in order; with late chunking each knows the others."""
    own = [vector(text, body["task"], body["dimensions"]) for text in body["input"]]
    if not body.get("late_chunking"):
        return own
    whole = vector(" ".join(body["input"]), body["task"], body["dimensions"])
    return [np.asarray((one + whole) / np.linalg.norm(one + whole), np.float32) for one in own]


def answer_to(body: dict[str, Any], max_tokens: int = MAX_TOKENS) -> bytes:
    """What the API answers to a request."""
    if problem := _invalid(body):
        return response({"detail": f"[models] Bad Request Error, Validation error: {problem}"}, "422 Unprocessable")
    # With late chunking all texts of a request are one.
    texts = [" ".join(body["input"])] if body.get("late_chunking") else body["input"]
    for text in texts:
        if (tokens := count_tokens(text)) > max_tokens:
            return response({"detail": f"Single text cannot exceed {max_tokens} tokens. {tokens} tokens given."}, BAD)
    return response(embeddings(body))


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    total = sum(map(count_tokens, body["input"]))
    rows = [
        {"object": "embedding", "index": index, "embedding": own.tolist()} for index, own in enumerate(vectors(body))
    ]
    usage = {"total_tokens": total, "prompt_tokens": total}
    return {"model": body["model"], "object": "list", "usage": usage, "data": rows}


def _invalid(body: dict[str, Any]) -> str:
    if unknown := body.keys() - FIELDS:
        return f"Extra inputs are not permitted: {unknown}"
    if body.get("model") not in MODELS or body.get("task") not in TASKS:
        return "no such model or task"
    if not 32 <= body.get("dimensions", 1_024) <= 1_024 or body.get("embedding_type", "float") != "float":
        return "dimensions or embedding_type"
    if len(body["input"]) > MAX_TEXTS:
        return f"Each input list can contain at most {MAX_TEXTS} items"
    if not all(isinstance(text, str) and text.strip() for text in body["input"]):
        return "input must not be empty"
    return ""


# --- faults -------------------------------------------------------------------------------------------------

BAD = "400 Bad Request"


def response(value: object, status: str = "200 OK", head: str = "") -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{head}\r\n"
    ).encode() + body


def refusal(status: str, head: str = "", code: str = "", detail: str = f"It quotes {KEY} and your text.") -> Answer:
    """An answer of an error, whose words quote what no log should have."""
    return lambda body: response({"detail": detail, **({"code": code} if code else {})}, status, head)


def limited(seconds: object = None) -> Answer:
    """429, with ``Retry-After`` if it is given."""
    head = "" if seconds is None else f"Retry-After: {seconds}\r\n"
    return refusal("429 Too Many Requests", head, "RATE_TOKEN_LIMIT_EXCEEDED")


def silence(body: dict[str, Any]) -> None:
    """No answer at all."""


def cut(body: dict[str, Any]) -> bytes:
    """The connection ends in the middle of the answer."""
    return response(embeddings(body))[:-50]


def changed(change: Callable[[dict[str, Any]], object]) -> Answer:
    """The right answer after a change."""

    def answer(body: dict[str, Any]) -> bytes:
        right = embeddings(body)
        change(right)
        return response(right)

    return answer


def put_in(what: str) -> Answer:
    """A wrong answer by name: of another "dimension", with "nan", or of another "count"."""

    def change(answer: dict[str, Any]) -> None:
        rows = answer["data"]
        if what == "count":
            rows.pop()
        elif what == "dimension":
            rows[0]["embedding"].pop()
        else:
            rows[0]["embedding"][0] = float("nan")

    return changed(change)


FAULTS: dict[str, Answer] = {"silence": silence, "cut": cut, "down": refusal("503 Service Unavailable")}
"""Faults that the program takes by name on its standard input; an empty line ends them."""


# --- serving ------------------------------------------------------------------------------------------------


@contextmanager
def serving() -> Iterator[Served]:
    """Serve until the block ends."""
    stopping = threading.Event()
    served = Served()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                while self._one():
                    pass
            except OSError:
                return  # whoever asked has gone

        def _one(self) -> bool:
            """Answer one request of a connection; whether another may follow."""
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = self.rfile.readline()
                if not line:
                    return False
                head += line
            fields = dict(line.lower().split(": ", 1) for line in head.decode().splitlines()[1:] if line)
            body = json.loads(self.rfile.read(int(fields["content-length"])))
            served.asked.append(body)
            served.heads.append(head.decode())
            if served.always is not None:
                answered = served.always(body)
            elif served.faults:
                answered = served.faults.popleft()(body)
            elif not head.startswith(b"POST /v1/embeddings "):
                answered = response({"detail": "Not Found"}, "404 Not Found")
            elif fields.get("authorization") != f"bearer {KEY.lower()}":
                answered = response({"detail": "Failed to authenticate with the provided api key."}, "401 Unauthorized")
            else:
                answered = answer_to(body, served.max_tokens)
            if answered is None:
                served.silent += 1
                stopping.wait(PATIENCE)
                served.silent -= 1
                return False
            self.wfile.write(answered)
            self.wfile.flush()
            if answered.startswith(b"HTTP/1.1 200") and not _is_whole(answered):
                # A reset, as a connection that breaks.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            return True

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield served
        finally:
            stopping.set()
            server.shutdown()
            thread.join()


def _is_whole(answered: bytes) -> bool:
    head, _, body = answered.partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return len(body) == int(length.split(b":")[1])


def main() -> None:
    with serving() as served:
        print(served.url, flush=True)
        for line in sys.stdin:
            served.always = FAULTS.get(line.strip())
            print(len(served.asked), len(served.texts), flush=True)


if __name__ == "__main__":
    main()
