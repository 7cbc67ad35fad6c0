"""The client of a local language model behind an OpenAI-compatible endpoint (Ollama, llama.cpp, LM Studio).

No other module connects to it. Errors name the endpoint and what it did, and contain no word of a prompt or an answer;
nothing is logged. httpx is imported with the first endpoint, asyncio with the first request.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.errors import ConfigError, EndpointError
from appliance.runtime.decoding import decode
from appliance.settings import LlmSettings

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_TOKENS = 1_000
"""The most tokens of an answer; notes of eight sentences have about 300."""

MAX_ANSWER_BYTES = 1 << 20
"""A larger response is an error: no answer to a prompt of this program is as long."""

TEMPERATURE = 0.2
"""Low, so that notes are reproducible; exactly 0 makes some small models repeat themselves."""

INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 60.0, 3_600.0
"""Seconds without requests after a failure, doubled with each one: an endpoint that is down is not tried again for
every session, and one that comes back is noticed within the hour."""

CANCEL_GRACE_SECONDS = 2.0
"""Seconds after the timeout at which the caller stops waiting for a request that can't be cancelled, such as one in a
DNS lookup."""

CLOSING_MESSAGE = "The memory is being closed."


class _ChatMessage(msgspec.Struct):
    content: str | None = None


class _ChatChoice(msgspec.Struct):
    message: _ChatMessage


class _ChatCompletion(msgspec.Struct):
    choices: list[_ChatChoice]


def configured_endpoint(settings: LlmSettings) -> LlmEndpoint | None:
    """The local language model, if the settings name one.

    Raises:
        ConfigError: Its address or its name is invalid.
    """
    if not settings.base_url:
        return None
    return LlmEndpoint(settings.base_url, settings.model, api_key=settings.api_key, timeout=settings.timeout)


class LlmEndpoint:
    """An endpoint of a language model. Safe to use from several threads. ``last_error`` is why the last request failed;
    None if it succeeded."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "",
        timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            base_url: The address of the API, such as ``http://127.0.0.1:11434/v1``.
            model: The name of the model.
            api_key: Sent as a bearer token, if not empty.
            timeout: Seconds for a whole answer.
            clock: Counts seconds.

        Raises:
            ConfigError: The address is not an HTTP URL, or no model is named.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(
                f"{base_url!r} is not an HTTP address.",
                where="llm.base_url",
                hint='Use an address like "http://127.0.0.1:11434/v1".',
            )
        if not model:
            raise ConfigError(
                "No model is named for the endpoint.", where="llm.model", hint="Name one that the endpoint lists."
            )
        # Imported here, not with the first request on a background thread: the openai package looks for httpx in
        # sys.modules at every request, and fails while another thread has it half loaded.
        importlib.import_module("httpx")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._clock = clock
        self._retry_at = float("-inf")
        self._backoff = 0.0
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._cancels: set[Callable[[], object]] = set()
        self.last_error: str | None = None

    @property
    def name(self) -> str:
        return self._model

    def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Complete a chat of ``{"role", "content"}`` messages.

        Raises:
            EndpointError: There is no answer within the timeout, or the endpoint has failed recently.
        """
        if self._clock() < self._retry_at:
            seconds_left = self._retry_at - self._clock()
            raise EndpointError(f"{self.last_error} It is not asked again for {seconds_left:.0f} s.")
        try:
            answer = self._request_with_timeout(messages)
        except EndpointError as error:
            self._backoff = min(max(2 * self._backoff, INITIAL_BACKOFF_SECONDS), MAX_BACKOFF_SECONDS)
            self._retry_at = self._clock() + self._backoff
            self.last_error = str(error)
            raise
        self._backoff, self.last_error = 0.0, None
        return answer

    def cancel_all(self) -> None:
        """Cancel the running requests and refuse new ones, because the memory is being closed."""
        with self._lock:
            self._is_cancelled = True
            for cancel in self._cancels:
                cancel()

    def _request_with_timeout(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Run a request on its own thread: the caller may have an event loop, and a DNS lookup can't be cancelled."""
        import asyncio

        found: list[str | Exception | asyncio.CancelledError] = []

        def ask() -> None:
            try:
                found.append(asyncio.run(self._cancellable_request(messages)))
            except (Exception, asyncio.CancelledError) as error:
                found.append(error)

        thread = threading.Thread(target=ask, name="appliance-llm", daemon=True)
        thread.start()
        thread.join(self._timeout + CANCEL_GRACE_SECONDS)
        match found:
            case [str(answer)]:
                return answer
            case [EndpointError() as error]:
                raise error
            case [asyncio.CancelledError()]:
                raise EndpointError(CLOSING_MESSAGE)
            case [Exception() as error] if not isinstance(error, TimeoutError):
                raise EndpointError(f"{self._url} can't be asked ({type(error).__name__}).") from None
        raise EndpointError(f"{self._url} did not answer within {self._timeout:g} s.")

    async def _cancellable_request(self, messages: Sequence[Mapping[str, str]]) -> str:
        import asyncio

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        with self._lock:
            if self._is_cancelled:
                raise EndpointError(CLOSING_MESSAGE)
            self._cancels.add(cancel)
        try:
            return await asyncio.wait_for(self._request(messages), self._timeout)
        finally:
            with self._lock:
                self._cancels.discard(cancel)

    async def _request(self, messages: Sequence[Mapping[str, str]]) -> str:
        import httpx

        body = {
            "model": self._model,
            "messages": list(messages),
            "temperature": TEMPERATURE,
            "max_tokens": MAX_ANSWER_TOKENS,
            "stream": False,
        }
        try:
            # No proxies from the environment and no redirects: prompts go only where the settings say.
            async with (
                httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=self._timeout) as client,
                client.stream("POST", self._url, json=body, headers=self._headers) as response,
            ):
                return _content(self._url, response.status_code, await _read(self._url, response))
        except httpx.TimeoutException:
            raise EndpointError(f"{self._url} did not answer within {self._timeout:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(f"{self._url} can't be reached ({type(error).__name__}).") from None


async def _read(url: str, response: httpx.Response) -> bytes:
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            raise EndpointError(f"{url} sent more than {MAX_ANSWER_BYTES:,} bytes.")
    return bytes(data)


def _content(url: str, status: int, data: bytes) -> str:
    if 300 <= status < 400:
        raise EndpointError(f"{url} redirects (HTTP {status}); redirects are not followed.")
    if status != 200:
        raise EndpointError(f"{url} answered with HTTP {status}.")
    try:
        answer: Any = decode(data, _ChatCompletion)
    except msgspec.DecodeError:
        raise EndpointError(f"{url} answered with something other than a chat completion.") from None
    if not answer.choices:
        raise EndpointError(f"{url} answered with no choices.")
    return answer.choices[0].message.content or ""
