"""The model's endpoint, as the proxy speaks to it: what it says passes through as it is.

It is given the api key of ``[llm]`` and nothing of the caller's headers. Neither proxies of the environment nor
redirects are followed. httpx is imported with the first request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.errors import EndpointError

if TYPE_CHECKING:
    import httpx

CONNECT = 10.0
"""Seconds for a connection to be made: a model on this machine or in this house answers in far less."""

DROPPED = frozenset(
    "connection keep-alive transfer-encoding te trailer upgrade content-length content-encoding set-cookie date server"
    .split()
)  # fmt: skip
"""Headers of an answer that are between the endpoint and us, or no longer true."""

OURS = ("access-control-", "x-memory", "proxy-", "strict-transport-security", "alt-svc")
"""What these begin is ours to say: many a model on this machine lets every web page read its answers."""


class NotConfigured(EndpointError):
    """No endpoint is configured."""


class TooSlow(EndpointError):
    """The endpoint does not answer in time."""


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that has been read."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Answered:
    """An answer that has begun. Read its ``chunks``, or the ``whole`` of it, and ``close`` it."""

    def __init__(self, url: str, response: httpx.Response, open: AsyncExitStack, timeout: float) -> None:
        self._url = url
        self._response = response
        self._open = open
        self._timeout = timeout
        self.status = response.status_code
        self.headers: dict[str, str] = {
            name: value
            for name, value in response.headers.items()
            if name.lower() not in DROPPED and not name.lower().startswith(OURS)
        }

    @property
    def is_stream(self) -> bool:
        """Whether it consists of server-sent events."""
        kind: str = self._response.headers.get("content-type", "")
        return kind.lower().startswith("text/event-stream")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come.

        Raises:
            EndpointError: it broke off.
        """
        async with _Told(self._url, self._timeout):
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def whole(self, most: int) -> Whole:
        """All of it.

        Raises:
            EndpointError: it broke off, or has more than ``most`` bytes.
        """
        body = bytearray()
        try:
            async for chunk in self.chunks():
                body += chunk
                if len(body) > most:
                    raise EndpointError(f"{self._url} sends more than {most:,} bytes")
        finally:
            await self.close()
        return Whole(self.status, self.headers, bytes(body))

    async def close(self) -> None:
        """Let go of the connection; a model that is still at it stops."""
        await self._open.aclose()


class Upstream:
    """An endpoint by its address. ``timeout`` is in seconds without a word from it."""

    def __init__(self, base_url: str, api_key: str, timeout: float) -> None:
        """
        Raises:
            NotConfigured: there is no address, or it is none of http.
        """
        if not base_url.startswith(("http://", "https://")):
            raise NotConfigured(
                "no language model is configured to answer",
                where="llm.base_url",
                hint='set it to the address of one, like "http://127.0.0.1:11434/v1"',
            )
        self._base = base_url.rstrip("/")
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "memory-appliance"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout

    async def post(self, path: str, body: bytes) -> Answered:
        """Ask, and wait for the answer to begin.

        Raises:
            EndpointError: it can't be reached, does not answer in time, or leads elsewhere.
        """
        return await self._send("POST", path, body)

    async def get(self, path: str) -> Whole:
        """
        Raises:
            EndpointError: as ``post``.
        """
        answered = await self._send("GET", path, None)
        return await answered.whole(LARGEST_LIST)

    async def _send(self, method: str, path: str, body: bytes | None) -> Answered:
        url, open = self._base + path, AsyncExitStack()
        try:
            async with _Told(url, self._timeout):
                return await self._begun(method, url, body, open)
        except BaseException:
            await open.aclose()
            raise

    async def _begun(self, method: str, url: str, body: bytes | None, open: AsyncExitStack) -> Answered:
        import httpx

        client = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            verify=url.startswith("https://"),  # certificates take long to read, and plain http needs none
            timeout=httpx.Timeout(self._timeout, connect=min(CONNECT, self._timeout)),
        )
        await open.enter_async_context(client)
        headers = {**self._headers, **({"Content-Type": "application/json"} if body is not None else {})}
        response = await client.send(
            client.build_request(method, url, content=body, headers=headers), stream=True
        )
        open.push_async_callback(response.aclose)
        if 300 <= response.status_code < 400:
            raise EndpointError(f"{url} leads elsewhere ({response.status_code}), and is not followed there")
        return Answered(url, response, open, self._timeout)


LARGEST_LIST = 4 << 20
"""Bytes of a list of models; that of the largest gateway has a tenth of it."""


class _Told:
    """Turns what httpx raises into an EndpointError that names the endpoint and what it did."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise EndpointError(
                f"{self._url} can't be reached ({type(error).__name__})", hint="is the model running?"
            ) from None
        if isinstance(error, httpx.TimeoutException):
            raise TooSlow(f"{self._url} says nothing for {self._timeout:g} s") from None
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
            raise EndpointError(f"{self._url} broke off ({type(error).__name__})") from None
