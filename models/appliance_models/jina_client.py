"""Sends requests to the Jina embeddings API, and no other module of the models connects to anything.

Requests share one connection pool, a few at once, within the limits of a minute; each is tried several times. A query
is tried once, in a short time, and not at all for a while after it failed. The tokens of a request are reserved before
it is sent, and set right when the API has counted them.
"""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from appliance_models.errors import ApiError, ApiUnavailable
from appliance_models.jina_answers import RequestRefused, error_of, read_vectors
from appliance_models.jina_limits import (
    FIRST_OPEN_SECONDS,
    MAX_ATTEMPTS,
    MAX_OPEN_SECONDS,
    MAX_RETRY_AFTER_SECONDS,
    MAX_UNANSWERED_ATTEMPTS,
    PASSAGES_OPEN_SECONDS,
    CircuitBreaker,
    MinuteWindow,
    Timing,
    pause,
)
from appliance_models.jina_loop import LoopThread, on_thread
from appliance_models.jina_tokens import estimate_tokens, halves

if TYPE_CHECKING:
    import httpx
    from numpy.typing import NDArray

WHERE = "The Jina API"

MAX_ANSWER_BYTES = 64 << 20
"""A larger answer is an error: the largest one, 64 vectors of 1,024 numbers, has about 2 MB."""

KEEPALIVE_SECONDS = 30.0
"""How long a connection is kept for the next request: to open another one takes a query a good part of its time."""

BACKGROUND_SHARE = 0.9
"""The share of a minute's requests and tokens that passages may use; the rest is for queries, which do not wait."""


class TokenAccount(Protocol):
    """Counts the tokens that are sent, and knows how many may be."""

    def reserve(self, tokens: int) -> None:
        """Count tokens that are about to be sent. Raises ApiError if they may not be."""

    def settle(self, reserved: int, counted: int | None) -> None:
        """Replace the reserved tokens of a request by those that the API has counted: 0 if it did not take the
        request, None if it is not known whether it did."""


class RequestObserver(Protocol):
    """Is told what happens to requests, in numbers alone."""

    def answered(self, seconds: float, tokens: int) -> None:
        """A request was answered with vectors."""

    def failed(self) -> None:
        """A request was refused, or not answered."""

    def retried(self) -> None:
        """A request is about to be sent again."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How the API is asked.

    Attributes:
        url: The address of the API, ``https://api.jina.ai/v1``.
        model: The model's name there.
        dimension: Numbers in a vector.
        requests_a_minute, tokens_a_minute: The limits of the account; 0 is none.
        concurrency: Requests at once.
        timeout: Seconds for the answer to a request for passages.
        query_timeout: Seconds for the vector of a query, everything included.
    """

    url: str
    model: str
    dimension: int
    requests_a_minute: int
    tokens_a_minute: int
    concurrency: int
    timeout: float
    query_timeout: float


def check_url(url: str) -> str:
    """Return the address of the endpoint below the address of an API.

    Raises:
        ApiError: It is no address, or texts and key would cross a network in the clear.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("https", "http") or not host or parts.username is not None:
        raise ApiError(f"jina.url is not an HTTP address: {url!r}.", 'The default is "https://api.jina.ai/v1".')
    if parts.scheme == "http" and not is_loopback(host):
        raise ApiError(f"jina.url would send texts and key unencrypted: {url!r}.", "Use an address with https.")
    return url.rstrip("/") + "/embeddings"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class JinaClient:
    """Asks the API for vectors. Safe to use from several threads."""

    def __init__(
        self,
        options: ClientOptions,
        find_key: Callable[[], str],
        account: TokenAccount,
        observer: RequestObserver,
        timing: Timing,
    ) -> None:
        """Raises ApiError for an address that can't be used. Nothing is connected yet."""
        self._options = options
        self._endpoint = check_url(options.url)
        self._find_key = find_key
        self._account = account
        self._observer = observer
        self._timing = timing
        self._key = ""
        self._http: httpx.AsyncClient | None = None
        self._places = asyncio.Semaphore(options.concurrency)
        self._window = MinuteWindow(
            int(options.requests_a_minute * BACKGROUND_SHARE),
            int(options.tokens_a_minute * BACKGROUND_SHARE),
            timing.clock,
        )
        self._queries = CircuitBreaker(timing.clock, FIRST_OPEN_SECONDS, MAX_OPEN_SECONDS)
        self._passages = CircuitBreaker(timing.clock, PASSAGES_OPEN_SECONDS, PASSAGES_OPEN_SECONDS)
        self._loop = LoopThread()
        importlib.import_module("httpx")  # not within the short time of the first query

    def embed(
        self, task: str, batches: Sequence[Sequence[str]], *, late_chunking: bool = False
    ) -> list[NDArray[np.float32]]:
        """The vectors of each batch of texts, (texts, dimension). Several attempts, for as long as it takes; at once an
        error for a while after they were in vain. With ``late_chunking`` the API reads a batch as one text.

        Raises:
            ApiUnavailable: There was no answer to any attempt.
            ApiError: The API refuses.
        """
        return self._loop.run(lambda: self._embed_all(_Task(task, late_chunking), batches))

    def embed_now(self, task: str, batches: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """The same without waiting for a better time, within the time limit of a query; at once an error while the API
        is known not to answer."""
        return self._loop.run(lambda: self._embed_in_time(_Task(task), batches))

    def retry(self) -> None:
        """Let the next request be sent, however recently one has failed."""
        self._queries.close()
        self._passages.close()

    def cancel(self) -> None:
        """End all requests and waiting at once, and refuse further ones: the memory is being closed."""
        self._loop.cancel_all()

    def close(self) -> None:
        self._loop.close(self._close_connections)

    async def _close_connections(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    # --- on the loop ------------------------------------------------------------------------------------

    async def _embed_all(self, task: _Task, batches: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        self._passages.check()
        with self._noting_failure(of_passages=True):
            return await _all([self._embed_batch(task, batch, self._send_patiently) for batch in batches])

    async def _embed_in_time(self, task: _Task, batches: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        self._queries.check()
        with self._noting_failure(of_passages=False):
            try:
                async with asyncio.timeout(self._options.query_timeout):
                    return [await self._embed_batch(task, batch, self._send_at_once) for batch in batches]
            except TimeoutError:
                raise ApiUnavailable(f"{WHERE} did not answer within {self._options.query_timeout:g} s.") from None

    @contextmanager
    def _noting_failure(self, *, of_passages: bool) -> Iterator[None]:
        """Open the circuit breakers if an error ends the context, or else close them. The failure of a query, which has
        little time, says nothing about passages."""
        try:
            yield
        except ApiError as error:
            self._queries.open(error)
            if of_passages:
                self._passages.open(error)
            raise
        self.retry()

    async def _embed_batch(self, task: _Task, texts: Sequence[str], send: _Send) -> NDArray[np.float32]:
        """The vectors of texts. What the API refuses as a whole is sent in halves, and a text that is too long for it
        as the mean of its parts."""
        tokens = estimate_tokens(texts)
        try:
            return await send(task, texts, sum(tokens))
        except RequestRefused as error:
            if len(texts) == 1 and (not error.is_too_long or len(texts[0]) < 2):
                raise
        if len(texts) > 1:
            half = len(texts) // 2
            return np.concatenate([await self._embed_batch(task, part, send) for part in (texts[:half], texts[half:])])
        parts = halves(texts[0])
        vectors = [await self._embed_batch(task, [part], send) for part in parts]
        return mean_vector(np.concatenate(vectors), estimate_tokens(parts))[None, :]

    async def _send_at_once(self, task: _Task, texts: Sequence[str], tokens: int) -> NDArray[np.float32]:
        """Send a request, and once more if the connection broke: it may have been one that the API had closed."""
        self._window.add(tokens)
        try:
            return await self._send(task, texts, tokens)
        except _ConnectionLost:
            self._window.add(tokens)
            return await self._send(task, texts, tokens)

    async def _send_patiently(self, task: _Task, texts: Sequence[str], tokens: int) -> NDArray[np.float32]:
        """Send a request when there is a place and a minute's limits allow it, several times if that may help."""
        attempt = 0
        async with self._places:
            while True:
                while (wait := self._window.delay(tokens)) > 0:
                    await self._timing.sleep(wait)
                self._window.add(tokens)
                try:
                    return await self._send(task, texts, tokens)
                except ApiUnavailable as error:
                    attempt += 1
                    most = MAX_UNANSWERED_ATTEMPTS if isinstance(error, _NoAnswer) else MAX_ATTEMPTS
                    if attempt >= most or (error.retry_after or 0.0) > MAX_RETRY_AFTER_SECONDS:
                        raise
                    self._observer.retried()
                    await self._timing.sleep(pause(attempt - 1, error.retry_after, self._timing.share()))

    async def _send(self, task: _Task, texts: Sequence[str], tokens: int) -> NDArray[np.float32]:
        """Send a request once."""
        if not self._key:
            self._key = await on_thread(self._find_key)  # a keyring may ask the user first
        body = {
            "model": self._options.model,
            "task": task.name,
            "dimensions": self._options.dimension,
            "late_chunking": task.late_chunking,
            "embedding_type": "float",
            "truncate": False,
            "input": list(texts),
        }
        began = self._timing.clock()
        with self._reserved(tokens) as bill:
            status, headers, answer = await self._post(body, bill)
            if status != 200:
                bill.counted = 0
                if status in (401, 403):
                    self._key = ""  # by the next request there may be another one in the keyring
                raise error_of(status, headers, answer, WHERE)
            vectors, bill.counted = read_vectors(answer, len(texts), self._options.dimension, WHERE)
        self._observer.answered(self._timing.clock() - began, tokens if bill.counted is None else bill.counted)
        return vectors

    @contextmanager
    def _reserved(self, tokens: int) -> Iterator[_Bill]:
        """Reserve tokens for a request that is sent within the context, and settle them at its end."""
        self._account.reserve(tokens)
        bill = _Bill()
        try:
            yield bill
        except BaseException:
            self._observer.failed()
            raise
        finally:
            self._account.settle(tokens, bill.counted)

    async def _post(self, body: dict[str, Any], bill: _Bill) -> tuple[int, Mapping[str, str], bytes]:
        """The status, the headers and the content of the answer to a request.

        Raises:
            ApiUnavailable: There is none, or not all of it arrived.
        """
        import httpx

        try:
            async with self._connections().stream(
                "POST", self._endpoint, json=body, headers={"Authorization": f"Bearer {self._key}"}
            ) as response:
                return response.status_code, response.headers, await _read(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            bill.counted = 0
            raise _NoAnswer(f"{WHERE} can't be reached ({type(error).__name__}).") from None
        except httpx.TimeoutException:
            raise _NoAnswer(f"{WHERE} did not answer within {self._options.timeout:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _ConnectionLost(f"The connection to the Jina API broke ({type(error).__name__}).") from None

    def _connections(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            # No proxies from the environment and no redirects: texts go only where the settings say.
            self._http = httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                timeout=self._options.timeout,
                limits=httpx.Limits(keepalive_expiry=KEEPALIVE_SECONDS),
            )
        return self._http


class _NoAnswer(ApiUnavailable):
    """Nothing answers at the address of the API."""


class _ConnectionLost(ApiUnavailable):
    """The connection ended before the whole answer had come."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What the API is to do with the texts of a request: the name of its task, and whether it reads them as one."""

    name: str
    late_chunking: bool = False


@dataclass(slots=True)
class _Bill:
    """The tokens that the API has counted for a request: 0 if it did not take it, None if that is not known."""

    counted: int | None = None


_Send = Callable[[_Task, Sequence[str], int], Coroutine[Any, Any, "NDArray[np.float32]"]]
"""Sends a request with a task, texts and their tokens."""


async def _all(works: Sequence[Coroutine[Any, Any, NDArray[np.float32]]]) -> list[NDArray[np.float32]]:
    """The results of works that run at the same time. If one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(response: httpx.Response) -> bytes:
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            raise ApiError(f"{WHERE} sent more than {MAX_ANSWER_BYTES:,} bytes.", "Check jina.url.")
    return bytes(data)


def mean_vector(vectors: NDArray[np.float32], weights: Sequence[int]) -> NDArray[np.float32]:
    """The weighted mean of vectors, of unit length."""
    mean = np.average(vectors, axis=0, weights=np.array(weights, np.float32))
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)
