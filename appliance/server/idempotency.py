"""Writes that are done once, however often a client that heard no answer sends them again.

A write that carries an ``Idempotency-Key`` is done once for each grant and key; sent again, it is answered with the
first answer, and a key that is used for another request is refused. Answers are kept in memory, a bounded number of
bytes of them. What stores a message or begins a session is safe beyond that, through a crash too: the key makes the
external id, and the one that was stored is found by it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.responses import Response

from appliance.errors import UsageError
from appliance.server.service import Grant

HEADER = "idempotency-key"
REPLAYED = "Idempotency-Replayed"
"""The header of an answer that was given before."""

KEPT = 8 * 1024 * 1024
"""Bytes of answers that are kept: some ten thousand of the usual ones."""

EACH = 200
"""Bytes that an answer takes besides its own, about."""


class KeyReused(UsageError):
    """An Idempotency-Key that was used for another request."""


def key_reused() -> KeyReused:
    """What is said of a key that was used for another request."""
    return KeyReused(
        "this Idempotency-Key was used for another request, or what that one made has changed since",
        hint="take a new key for each thing that is to be done; the same key only repeats the same request",
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    fingerprint: bytes
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def size(self) -> int:
        return len(self.body) + EACH


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


Key = tuple[Grant, str]


class Answers:
    """The answers to writes that were done, by grant and key, for the tasks of one event loop."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, _Answer] = OrderedDict()
        self._size = 0
        self._turns: dict[Key, _Turn] = {}

    async def once(self, key: Key, fingerprint: bytes, do: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of ``do``, or what it was before; the same request that comes meanwhile waits for it. What
        raises is not kept, and can be tried again.

        Raises:
            KeyReused: the key is another request's.
        """
        turn = self._turns.setdefault(key, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                known = self._answers.get(key)
                if known is not None:
                    return _again(known, fingerprint)
                response = await do()
                self._keep(
                    key,
                    _Answer(
                        fingerprint, response.status_code, tuple(response.raw_headers), bytes(response.body)
                    ),
                )
                return response
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._turns[key]

    def _keep(self, key: Key, answer: _Answer) -> None:
        self._answers[key] = answer
        self._size += answer.size
        while self._size > KEPT:
            _, oldest = self._answers.popitem(last=False)
            self._size -= oldest.size


def _again(known: _Answer, fingerprint: bytes) -> Response:
    if known.fingerprint != fingerprint:
        raise key_reused()
    response = Response(known.body, known.status)
    response.raw_headers = [*known.headers, (REPLAYED.lower().encode(), b"true")]
    return response


def fingerprint(method: str, path: str, query: bytes, body: bytes) -> bytes:
    """What tells one request from another."""
    found = hashlib.sha256()
    for part in (method.encode(), path.encode(), query, body):
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def external_id(grant: Grant, key: str) -> str:
    """The external id of what a write with a key stores."""
    whose = (grant.name, grant.user_id or "", grant.namespace or "", key)
    return "once-" + hashlib.sha256("\x1f".join(whose).encode()).hexdigest()[:32]
