"""A transport that answers from a table: the fake for tests of what stands above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from appliance.errors import StoreError, UsageError
from appliance.requests import Request
from appliance.types import OnProgress

R = TypeVar("R")


class MemoryTransport:
    """Answers each request with what ``answers`` holds for its class: a value, or a function of the request.

    ``sent`` lists the requests in the order in which they came.
    """

    def __init__(self, answers: Mapping[type[Request[Any]], Any]) -> None:
        self._answers = answers
        self.sent: list[Request[Any]] = []
        self.closed = False

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Answer a request, as ``Transport.send``."""
        if self.closed:
            raise StoreError("The memory is closed.", hint="Open it again.")
        self.sent.append(request)
        try:
            answer = self._answers[type(request)]
        except KeyError:
            raise UsageError(f"This memory has no answer to {type(request).__name__}.") from None
        result: R = answer(request) if callable(answer) else answer
        return result

    def close(self) -> None:
        self.closed = True
