"""When the Jina API may be asked: the requests and tokens of a minute, the pauses between attempts, and a circuit
breaker for queries, so that a search does not wait for an API that has just failed."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from appliance_models.errors import ApiError, ApiUnavailable

MINUTE_SECONDS = 60.0

MAX_ATTEMPTS = 6
"""Attempts at one request. The pauses between them are 15 s together on average, 31 s at most."""

MAX_UNANSWERED_ATTEMPTS = 3
"""The same where nothing answers: without a network, who waits should soon know. The pauses are 1.5 s on average."""

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
"""The longest pause after the first attempt, doubled with each one."""

MAX_RETRY_AFTER_SECONDS = 120.0
"""A request waits no longer than this where the API says when to come back; what waits is then tried later."""

FIRST_OPEN_SECONDS, MAX_OPEN_SECONDS = 15.0, 300.0
"""Seconds in which no query is sent after one has failed, doubled with each failure."""


PASSAGES_OPEN_SECONDS = 30.0
"""Seconds in which no passages are sent after all attempts have failed: each background job would try again."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Where time and chance come from. ``clock`` counts seconds, ``sleep`` waits for some, ``share`` is random, from 0
    to 1."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    share: Callable[[], float] = random.random


class MinuteWindow:
    """Counts what was sent in the last sixty seconds. A limit of 0 is none."""

    def __init__(self, requests: int, tokens: int, clock: Callable[[], float]) -> None:
        self._max_requests = requests
        self._max_tokens = tokens
        self._clock = clock
        self._sent: deque[tuple[float, int]] = deque()
        self._tokens = 0

    def delay(self, tokens: int) -> float:
        """Seconds until a request of so many tokens may be sent. One that alone exceeds the limit may be sent once
        nothing else counts."""
        now = self._clock()
        while self._sent and self._sent[0][0] <= now - MINUTE_SECONDS:
            self._tokens -= self._sent.popleft()[1]
        requests_left = len(self._sent)
        tokens_left = self._tokens
        wait = 0.0
        for at, sent in self._sent:
            if self._fits(requests_left, tokens_left, tokens):
                break
            requests_left, tokens_left = requests_left - 1, tokens_left - sent
            wait = at + MINUTE_SECONDS - now
        return wait

    def _fits(self, requests_left: int, tokens_left: int, tokens: int) -> bool:
        return (not self._max_requests or requests_left < self._max_requests) and (
            not self._max_tokens or not tokens_left or tokens_left + tokens <= self._max_tokens
        )

    def add(self, tokens: int) -> None:
        """Count a request that is sent now."""
        self._sent.append((self._clock(), tokens))
        self._tokens += tokens


def pause(attempt: int, retry_after: float | None, share: float) -> float:
    """Seconds to wait after an attempt (0 for the first): as long as the API said, else a random share of a time that
    doubles ("full jitter", Brooker 2015), so that clients that failed together do not come back together."""
    longest = min(FIRST_PAUSE_SECONDS * 2.0**attempt, MAX_PAUSE_SECONDS)
    if retry_after is not None:
        return retry_after + share * FIRST_PAUSE_SECONDS
    return share * longest


def parse_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The seconds of a ``Retry-After`` header, which has seconds or a date; None if it has neither."""
    if value is None:
        return None
    try:
        return max(0.0, float(int(value.strip())))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


class CircuitBreaker:
    """Remembers that the API has failed, and for how long nothing is sent to it: for ``first`` seconds, then for twice
    as long with each failure, up to ``most``."""

    def __init__(self, clock: Callable[[], float], first: float, most: float) -> None:
        self._clock = clock
        self._first, self._most = first, most
        self._retry_at = float("-inf")
        self._seconds = 0.0
        self._error = ApiError("")

    def check(self) -> None:
        """Raises ApiUnavailable while it is open."""
        if self._clock() < self._retry_at:
            raise ApiUnavailable(str(self._error), self._error.hint)

    def open(self, error: ApiError) -> None:
        """Note a failure."""
        retry_after = getattr(error, "retry_after", None) or 0.0
        self._seconds = min(max(2 * self._seconds, self._first), self._most)
        self._retry_at = self._clock() + max(self._seconds, min(retry_after, MAX_OPEN_SECONDS))
        self._error = error

    def close(self) -> None:
        """Note an answer."""
        self._retry_at, self._seconds = float("-inf"), 0.0
