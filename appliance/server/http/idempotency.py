"""Idempotency keys: a write is performed once, however often a client that got no answer repeats it.

A write with an ``Idempotency-Key`` is performed once for each grant and key. Repeated, it gets the first answer; the
key with another request is refused. Answers are kept in memory, up to a number of bytes. Storing a message or creating
a session or a branch is idempotent even after a crash: the external id is derived from the key, and finds what was
stored.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import field

from starlette.responses import Response

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.server.access.grants import Grant

KEY_HEADER = "idempotency-key"
REPLAYED_HEADER = "Idempotency-Replayed"
"""The header of a repeated answer."""

MAX_CACHED_BYTES = 8 * 1024 * 1024
"""Bytes of answers that are kept: about ten thousand of the usual size."""

ENTRY_OVERHEAD_BYTES = 200
"""Approximate bytes of an entry besides its body."""


class KeyReused(UsageError):
    """An Idempotency-Key was used for another request before."""


def key_reused_error() -> KeyReused:
    return KeyReused(
        "This Idempotency-Key was used for another request, or its result has changed since.",
        hint="Use a new key for each write; the same key only repeats the same request.",
    )


@dataclass(frozen=True, slots=True)
class _StoredResponse:
    fingerprint: bytes
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def size(self) -> int:
        return len(self.body) + ENTRY_OVERHEAD_BYTES


@dataclass(slots=True)
class _KeyLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiters: int = 0


Key = tuple[Grant, str]


class ResponseCache:
    """The answers to past writes by grant and key, for the tasks of one event loop."""

    def __init__(self) -> None:
        self._responses: OrderedDict[Key, _StoredResponse] = OrderedDict()
        self._size = 0
        self._key_locks: dict[Key, _KeyLock] = {}

    async def run_once(self, key: Key, fingerprint: bytes, perform: Callable[[], Awaitable[Response]]) -> Response:
        """The response of ``perform``, or the stored one. The same request waits meanwhile. Exceptions are
        not stored, so the request can be retried.

        Raises:
            KeyReused: The key belongs to another request.
        """
        key_lock = self._key_locks.setdefault(key, _KeyLock())
        key_lock.waiters += 1
        try:
            async with key_lock.lock:
                stored = self._responses.get(key)
                if stored is not None:
                    return _replay(stored, fingerprint)
                response = await perform()
                self._add(
                    key,
                    _StoredResponse(
                        fingerprint, response.status_code, tuple(response.raw_headers), bytes(response.body)
                    ),
                )
                return response
        finally:
            key_lock.waiters -= 1
            if not key_lock.waiters:
                del self._key_locks[key]

    def _add(self, key: Key, response: _StoredResponse) -> None:
        self._responses[key] = response
        self._size += response.size
        while self._size > MAX_CACHED_BYTES:
            _, oldest = self._responses.popitem(last=False)
            self._size -= oldest.size


def _replay(stored: _StoredResponse, fingerprint: bytes) -> Response:
    if stored.fingerprint != fingerprint:
        raise key_reused_error()
    response = Response(stored.body, stored.status)
    response.raw_headers = [*stored.headers, (REPLAYED_HEADER.lower().encode(), b"true")]
    return response


def fingerprint(method: str, path: str, query: bytes, body: bytes) -> bytes:
    """A digest that differs between different requests."""
    digest = hashlib.sha256()
    for part in (method.encode(), path.encode(), query, body):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def external_id(grant: Grant, key: str) -> str:
    """The external id of the message or session that a write with this key stores."""
    parts = (grant.name, grant.user_id or "", grant.namespace or "", key)
    return "once-" + hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
