"""A language model behind an OpenAI-compatible endpoint of one's own (Ollama, llama.cpp, LM Studio), if one is set.

Nothing else in the package speaks to it, and nothing said here is ever logged: errors name the endpoint and what it
did, never a word of question or answer. httpx is imported with the first endpoint.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.config import LlmSettings
from appliance.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    import httpx

ANSWER_TOKENS = 1_000
"""The most that an answer may have; notes of eight sentences have some 300."""

ANSWER_BYTES = 1 << 20
"""What is more than this is no answer to anything that is asked here."""

TEMPERATURE = 0.2
"""Notes are to be the same twice; exactly 0 makes some small models repeat themselves."""

FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3_600.0
"""Seconds that an endpoint is left alone after it failed, doubled each time: one that is down is not asked again for
every session, and one that comes back is noticed within the hour."""

GRACE = 2.0
"""Seconds beyond the deadline after which a question is given up that can't even be cancelled (a name that the system
is still looking up)."""


CLOSING = "the memory is being closed"


class _Says(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Says


class _Answer(msgspec.Struct):
    choices: list[_Choice]


def endpoint(settings: LlmSettings) -> Endpoint | None:
    """The local language model, if the settings name one.

    Raises:
        ConfigError: its address or its name can't be.
    """
    if not settings.base_url:
        return None
    return Endpoint(settings.base_url, settings.model, api_key=settings.api_key, timeout=settings.timeout)


class Endpoint:
    """The endpoint. Safe to use from several threads. ``trouble`` is why the last question had no answer, None when it
    had one; ``clock`` counts seconds."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "",
        timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``timeout`` is in seconds, for an answer as a whole.

        Raises:
            ConfigError: the address is none of http, or no model is named.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(
                f"{base_url!r} is no address of http",
                where="llm.base_url",
                hint='write it like "http://127.0.0.1:11434/v1"',
            )
        if not model:
            raise ConfigError(
                "no model is named for the endpoint",
                where="llm.model",
                hint="name one that the endpoint lists",
            )
        # Not with the first question, on a thread of the background: the openai package looks at httpx in sys.modules
        # at every request, and fails in a program of one's own while another thread has it half loaded.
        importlib.import_module("httpx")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._clock = clock
        self._rests_until = float("-inf")
        self._pause = 0.0
        self._lock = threading.Lock()
        self._given_up = False
        self._cancels: set[Callable[[], object]] = set()
        self.trouble: str | None = None

    @property
    def name(self) -> str:
        return self._model

    def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The answer to a chat of ``{"role", "content"}``.

        Raises:
            EndpointError: there is none within the time limit, or the endpoint is being left alone.
        """
        if self._clock() < self._rests_until:
            left = self._rests_until - self._clock()
            raise EndpointError(f"the endpoint is left alone for {left:.0f} s more: {self.trouble}")
        try:
            answer = self._in_time(messages)
        except EndpointError as error:
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            self._rests_until = self._clock() + self._pause
            self.trouble = str(error)
            raise
        self._pause, self.trouble = 0.0, None
        return answer

    def give_up(self) -> None:
        """Let the questions that wait for an answer have none, and ask no other: the memory is being closed."""
        with self._lock:
            self._given_up = True
            for cancel in self._cancels:
                cancel()

    def _in_time(self, messages: Sequence[Mapping[str, str]]) -> str:
        """On a thread of its own: the caller may have an event loop, and not everything can be cancelled."""
        found: list[str | Exception | asyncio.CancelledError] = []

        def ask() -> None:
            try:
                found.append(asyncio.run(self._until_given_up(messages)))
            except (Exception, asyncio.CancelledError) as error:
                found.append(error)

        thread = threading.Thread(target=ask, name="appliance-llm", daemon=True)
        thread.start()
        thread.join(self._timeout + GRACE)
        match found:
            case [str(answer)]:
                return answer
            case [EndpointError() as error]:
                raise error
            case [asyncio.CancelledError()]:
                raise EndpointError(CLOSING)
            case [Exception() as error] if not isinstance(error, TimeoutError):
                raise EndpointError(f"{self._url} can't be asked ({type(error).__name__})") from None
        raise EndpointError(f"{self._url} did not answer within {self._timeout:g} s")

    async def _until_given_up(self, messages: Sequence[Mapping[str, str]]) -> str:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        with self._lock:
            if self._given_up:
                raise EndpointError(CLOSING)
            self._cancels.add(cancel)
        try:
            return await asyncio.wait_for(self._ask(messages), self._timeout)
        finally:
            with self._lock:
                self._cancels.discard(cancel)

    async def _ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        import httpx

        body = {
            "model": self._model,
            "messages": list(messages),
            "temperature": TEMPERATURE,
            "max_tokens": ANSWER_TOKENS,
            "stream": False,
        }
        try:
            # Neither proxies of the environment nor redirects: what is asked goes where the settings say.
            async with (
                httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=self._timeout) as client,
                client.stream("POST", self._url, json=body, headers=self._headers) as response,
            ):
                return _content(self._url, response.status_code, await _read(self._url, response))
        except httpx.TimeoutException:
            raise EndpointError(f"{self._url} did not answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(f"{self._url} can't be reached ({type(error).__name__})") from None


async def _read(url: str, response: httpx.Response) -> bytes:
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > ANSWER_BYTES:
            raise EndpointError(f"{url} sends more than {ANSWER_BYTES:,} bytes")
    return bytes(data)


def _content(url: str, status: int, data: bytes) -> str:
    if 300 <= status < 400:
        raise EndpointError(f"{url} leads elsewhere ({status}), and is not followed there")
    if status != 200:
        raise EndpointError(f"{url} answers {status}")
    try:
        answer: Any = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise EndpointError(f"{url} answers with something else than a chat completion") from None
    if not answer.choices:
        raise EndpointError(f"{url} answers with no choice")
    return answer.choices[0].message.content or ""
