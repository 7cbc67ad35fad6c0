"""A Jina embedder on a time that passes only when it waits, and what it counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from appliance_models.errors import ApiError
from appliance_models.jina import JinaEmbedder, JinaOptions
from appliance_models.jina_limits import Timing
from tests.jina_server import KEY

WORDS = "the cellar key hangs behind the clock"


class Clock:
    """A time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        return Timing(lambda: self.now, self.sleep, lambda: 0.5)


class Account:
    """Counts in memory."""

    def __init__(self, cap: int = 10**9) -> None:
        self.cap, self.tokens, self.settled = cap, 0, 0

    def reserve(self, tokens: int) -> None:
        if self.tokens + tokens > self.cap:
            raise ApiError("The cap is reached.")
        self.tokens += tokens

    def settle(self, reserved: int, counted: int | None) -> None:
        self.settled += 1
        if counted is not None:
            self.tokens += counted - reserved


class Observer:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def answered(self, seconds: float, tokens: int) -> None:
        self.seen.append("answered")

    def failed(self) -> None:
        self.seen.append("failed")

    def retried(self) -> None:
        self.seen.append("retried")


class Asked:
    """An embedder with what it needs, over a clock of its own."""

    def __init__(self, url: str, cap: int = 10**9, **options: Any) -> None:
        self.clock, self.account, self.observer = Clock(), Account(cap), Observer()
        given = {"dimension": 32, "query_timeout": 5.0, **options}
        self.embedder = JinaEmbedder(
            JinaOptions("jina-embeddings-v3", url, **given),
            self.account,
            self.observer,
            self.clock.timing(),
            lambda: KEY,
        )


@contextmanager
def asking(url: str, **options: Any) -> Iterator[Asked]:
    asked = Asked(url, **options)
    try:
        yield asked
    finally:
        asked.embedder.close()
