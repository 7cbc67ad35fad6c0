"""The nodes of a Qdrant server or cluster: each request goes to one that answers.

A node that fails is left alone for some seconds (a circuit breaker), and the request goes to the next one: all requests
of this program can be repeated. When no node is left, a request fails at once, so that a search can fall back to words.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from appliance.errors import ApplianceError, ConfigError, IndexUnavailable, StoreError
from appliance.store.index.server import ServerOptions

if TYPE_CHECKING:
    from httpx import Request, Response
    from qdrant_client import QdrantClient

CONNECT_SECONDS = 2.0
"""Seconds until a node that can't be connected to counts as away; a connection across an ocean takes 0.3."""

MIN_WRITE_SECONDS = 60.0
"""Seconds that an update may take at least: a server that optimizes its segments delays it."""

RETRY_SECONDS, MAX_RETRY_SECONDS = 5.0, 60.0
"""Seconds for which a node that failed is left alone: at first, and at most. They double with each failure."""

DEFAULT_PORT = 6333
"""The port of a URL that names none, also of one that begins with https, as in qdrant-client."""

AWAY_HINT = "Messages are stored, and found by their words. 'appliance index status' says more."
KEY_HINT = "Set index.api_key, or APPLIANCE_INDEX_API_KEY in the environment, to a key that may write."

_T = TypeVar("_T")


class ServerNodes:
    """The nodes of one server or cluster. Safe to use from several threads."""

    def __init__(self, options: ServerOptions, *, client: QdrantClient | None = None) -> None:
        """``client`` stands for the only node, as the in-memory mode of qdrant-client does in tests."""
        self.options = options
        self._lock = threading.Lock()
        self._nodes = [_Node(url, options, client) for url in options.urls]
        self._preferred = 0
        # The in-memory mode takes no two requests at once.
        self._turn: AbstractContextManager[Any] = nullcontext() if client is None else threading.Lock()
        self.last_error = ""
        """Why the latest node failed; empty when one has answered since."""

    def call(self, what: str, operation: Callable[[QdrantClient], _T]) -> _T:
        """Carry out a request, which is sent to another node if the first one fails. ``what`` completes "The index
        can't …".

        Raises:
            IndexUnavailable: No node answers, the key is refused, or the collection is missing.
            StoreError: The server refuses the request.
        """
        for number in self._candidates():
            node = self._nodes[number]
            try:
                with self._turn:
                    result = operation(node.client())
            except ApplianceError:
                raise
            except Exception as error:
                failure = _failure(error)
                if failure is None:
                    self._note_answer(number)
                    raise _refusal(error, what, node.url) from error
                self._note_failure(number, failure)
                continue
            self._note_answer(number)
            return result
        raise IndexUnavailable(
            f"The Qdrant server at {self.options.server} does not answer ({self.last_error}).", hint=AWAY_HINT
        )

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def _candidates(self) -> Iterator[int]:
        """The nodes to try, the last one that answered first; without those that are to be left alone."""
        count = len(self._nodes)
        for number in [(self._preferred + step) % count for step in range(count)]:
            with self._lock:
                node = self._nodes[number]
                if node.failures:
                    if time.monotonic() < node.retry_at:
                        continue
                    node.retry_at = time.monotonic() + RETRY_SECONDS  # one caller tries; the others pass by
            yield number

    def _note_answer(self, number: int) -> None:
        if self._preferred != number or self._nodes[number].failures:
            with self._lock:
                self._preferred, self._nodes[number].failures, self.last_error = number, 0, ""

    def _note_failure(self, number: int, reason: str) -> None:
        with self._lock:
            node = self._nodes[number]
            node.failures += 1
            node.retry_at = time.monotonic() + min(RETRY_SECONDS * 2 ** (node.failures - 1), MAX_RETRY_SECONDS)
            self.last_error = reason if len(self._nodes) == 1 else f"{node.url}: {reason}"


class _Node:
    """One node, its client, and when it may be tried again."""

    def __init__(self, url: str, options: ServerOptions, client: QdrantClient | None) -> None:
        self.url = url
        self.failures = 0
        self.retry_at = 0.0
        self._options = options
        self._client = client
        self._lock = threading.Lock()

    def client(self) -> QdrantClient:
        with self._lock:
            if self._client is None:
                _require_listener(self.url)
                self._client = _connect(self.url, self._options)
            return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # the connections are gone in any case
                client.close()


def in_memory(client: QdrantClient) -> ServerNodes:
    """A client in qdrant-client's in-memory mode as the only node of a server."""
    return ServerNodes(ServerOptions((":memory:",)), client=client)


def _require_listener(url: str) -> None:
    """Check that something listens there before qdrant-client is imported, which takes two seconds: that a server is
    away is to be known at once.

    Raises:
        OSError: Nothing listens there, or the name has no address.
    """
    parts = urlsplit(url)
    port = parts.port or DEFAULT_PORT
    socket.create_connection((parts.hostname, port), CONNECT_SECONDS).close()


def _connect(url: str, options: ServerOptions) -> QdrantClient:
    import httpx
    from qdrant_client import QdrantClient

    class Transport(httpx.HTTPTransport):
        """Bounds how long connecting and answering may take, which differs between reads and updates."""

        def handle_request(self, request: Request) -> Response:
            is_read = request.method == "GET" or (request.method == "POST" and request.url.path.endswith(_READS))
            seconds = options.timeout if is_read else max(options.timeout, MIN_WRITE_SECONDS)
            limits = {"connect": min(CONNECT_SECONDS, seconds), "read": seconds, "write": seconds, "pool": seconds}
            request.extensions["timeout"] = limits
            return super().handle_request(request)

    try:
        verify: Any = True
        if options.ca_file:
            import ssl

            verify = ssl.create_default_context(cafile=options.ca_file)
        transport = Transport(verify=verify)
    except OSError as error:
        raise ConfigError(f"The certificates can't be read ({error.strerror}).", where=options.ca_file) from error
    # The key goes as a header: qdrant-client would warn on standard error about each connection without TLS.
    headers = {"api-key": options.api_key} if options.api_key else None
    return QdrantClient(url=url, headers=headers, check_compatibility=False, transport=transport)


_READS = ("/points", "/points/query/batch", "/points/query", "/points/count", "/points/scroll", "/facet")
"""What the paths of requests end with that only read. Updates of points are PUT requests, and may take longer."""


def _failure(error: Exception) -> str | None:
    """Why a node failed, so that another one may answer; None if the server has answered and refuses."""
    if isinstance(error, OSError):
        return error.strerror or "no connection in time"
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, ResponseHandlingException):
        source = error.source
        return "no answer in time" if "Timeout" in type(source).__name__ else str(source).rstrip(".")
    if isinstance(error, ResourceExhaustedResponse):
        return "it has too much to do"
    if isinstance(error, UnexpectedResponse) and error.status_code is not None:
        status = error.status_code
        return f"status {status}" if status >= 500 or status in (408, 429) else None
    return None


def _refusal(error: Exception, what: str, url: str) -> StoreError:
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return IndexUnavailable(f"The Qdrant server at {url} refuses the key.", hint=KEY_HINT)
    if status == 404 or (isinstance(error, ValueError) and "not found" in str(error)):
        return IndexUnavailable(
            f"The index can't {what}: its collection is missing at {url}, or that is no Qdrant server.",
            hint="Run 'appliance reindex' to make it again from the stored vectors.",
        )
    said = _error_text(error)
    return StoreError(f"The index on the server can't {what}: {said}.", hint="See the log of the Qdrant server.")


def _error_text(error: Exception) -> str:
    content = getattr(error, "content", None)
    return content.decode(errors="replace")[:500] if isinstance(content, bytes) else str(error)
