"""The model's endpoint. Its answers pass through unchanged.

The endpoint gets the API key of ``[llm]`` and none of the caller's headers. Proxies of the environment are not used and
redirects not followed. httpx is imported with the first request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.errors import EndpointError

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_SECONDS = 10.0
"""Seconds to connect; a model on this machine or the local network takes far less."""

DROPPED_HEADERS = frozenset(
    "connection keep-alive transfer-encoding te trailer upgrade content-length content-encoding set-cookie date server"
    .split()
)  # fmt: skip
"""Headers of an answer that concern only this connection, or are no longer true."""

RESERVED_HEADER_PREFIXES = ("access-control-", "x-memory", "proxy-", "strict-transport-security", "alt-svc")
"""Prefixes of headers that only the proxy may set: many local models allow every web page to read their answers."""

RENAMED_HEADERS = {"x-request-id": "x-upstream-request-id"}
"""Headers that the answers of this server have too. Clients join two of a name to one value that names nothing."""


class UpstreamNotConfigured(EndpointError):
    """No endpoint is configured."""


class UpstreamTimeout(EndpointError):
    """The endpoint did not answer in time."""


class UpstreamStreamEnded(EndpointError):
    """A stream ended before the answer was complete."""


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class UpstreamStream:
    """An answer that has begun. Use ``chunks`` or ``read_all``, then ``close``."""

    def __init__(self, url: str, response: httpx.Response, exit_stack: AsyncExitStack, timeout: float) -> None:
        self._url = url
        self._response = response
        self._exit_stack = exit_stack
        self._timeout = timeout
        self.status = response.status_code
        self.headers: dict[str, str] = {
            RENAMED_HEADERS.get(name.lower(), name): value
            for name, value in response.headers.items()
            if name.lower() not in DROPPED_HEADERS and not name.lower().startswith(RESERVED_HEADER_PREFIXES)
        }

    @property
    def is_stream(self) -> bool:
        """Whether it consists of server-sent events."""
        kind: str = self._response.headers.get("content-type", "")
        return kind.lower().startswith("text/event-stream")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come.

        Raises:
            EndpointError: The connection broke; of a stream, UpstreamStreamEnded.
        """
        broken = UpstreamStreamEnded if self.is_stream else EndpointError
        async with _UpstreamErrors(self._url, self._timeout, broken):
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def read_all(self, max_bytes: int) -> UpstreamAnswer:
        """
        Raises:
            EndpointError: The connection broke, or the answer has more than ``max_bytes`` bytes.
        """
        body = bytearray()
        try:
            async for chunk in self.chunks():
                body += chunk
                if len(body) > max_bytes:
                    raise EndpointError(f"{self._url} sent more than {max_bytes:,} bytes.")
        finally:
            await self.close()
        return UpstreamAnswer(self.status, self.headers, bytes(body))

    def ended_early(self) -> UpstreamStreamEnded:
        """The error for a stream that ended as it should, before the answer did."""
        return UpstreamStreamEnded(f"{self._url} ended its stream before its answer was complete.")

    async def close(self) -> None:
        """Close the connection; a model that is still generating stops."""
        await self._exit_stack.aclose()


class Upstream:
    """An endpoint. ``timeout`` is the longest silence, in seconds."""

    def __init__(self, base_url: str, api_key: str, timeout: float) -> None:
        """
        Raises:
            UpstreamNotConfigured: There is no address, or it is not an HTTP URL.
        """
        if not base_url.startswith(("http://", "https://")):
            raise UpstreamNotConfigured(
                "No language model is configured.",
                where="llm.base_url",
                hint='Set it to the address of one, such as "http://127.0.0.1:11434/v1".',
            )
        self._base = base_url.rstrip("/")
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "memory-appliance"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout

    async def post(self, path: str, body: bytes) -> UpstreamStream:
        """Send a request and wait for the answer to begin.

        Raises:
            EndpointError: The endpoint can't be reached, does not answer in time, or redirects.
        """
        return await self._send("POST", path, body)

    async def get(self, path: str) -> UpstreamAnswer:
        """
        Raises:
            EndpointError: As for ``post``.
        """
        response = await self._send("GET", path, None)
        return await response.read_all(MAX_MODEL_LIST_BYTES)

    async def _send(self, method: str, path: str, body: bytes | None) -> UpstreamStream:
        url, exit_stack = self._base + path, AsyncExitStack()
        try:
            async with _UpstreamErrors(url, self._timeout):
                return await self._open_response(method, url, body, exit_stack)
        except BaseException:
            await exit_stack.aclose()
            raise

    async def _open_response(
        self, method: str, url: str, body: bytes | None, exit_stack: AsyncExitStack
    ) -> UpstreamStream:
        import httpx

        client = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            verify=url.startswith("https://"),  # loading certificates takes long, and plain HTTP needs none
            timeout=httpx.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT_SECONDS, self._timeout)),
        )
        await exit_stack.enter_async_context(client)
        headers = {**self._headers, **({"Content-Type": "application/json"} if body is not None else {})}
        response = await client.send(client.build_request(method, url, content=body, headers=headers), stream=True)
        exit_stack.push_async_callback(response.aclose)
        if 300 <= response.status_code < 400:
            raise EndpointError(f"{url} redirects (HTTP {response.status_code}); redirects are not followed.")
        return UpstreamStream(url, response, exit_stack, self._timeout)


MAX_MODEL_LIST_BYTES = 4 << 20
"""Bytes of a list of models; the largest gateway's has a tenth of it."""


class _UpstreamErrors:
    """Turns httpx errors into an EndpointError that names the endpoint; ``broken`` is that of an answer broken off."""

    def __init__(self, url: str, timeout: float, broken: type[EndpointError] = EndpointError) -> None:
        self._url = url
        self._timeout = timeout
        self._broken = broken

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise EndpointError(
                f"{self._url} can't be reached ({type(error).__name__}).", hint="Check that the model is running."
            ) from None
        if isinstance(error, httpx.TimeoutException):
            raise UpstreamTimeout(f"{self._url} has sent nothing for {self._timeout:g} s.") from None
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
            raise self._broken(f"{self._url} broke off its answer ({type(error).__name__}).") from None
