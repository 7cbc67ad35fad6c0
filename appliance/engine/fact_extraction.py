"""The background job that extracts facts with the local language model, in short bursts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from appliance import requests as r
from appliance.errors import EndpointError
from appliance.memory.facts import FactService
from appliance.runtime.llm import LlmEndpoint
from appliance.runtime.workers import ShouldContinue

CALLS_PER_BURST = 8
"""Calls of the model in one burst, each of some seconds on a laptop. A long history is read gradually, newest first."""

BURST_INTERVAL_SECONDS = 60.0
"""Seconds between two bursts."""


class FactExtractionJob:
    """Has the model read the messages that only the rules have read for facts."""

    def __init__(
        self, facts: FactService, model: LlmEndpoint | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` counts seconds."""
        self._facts = facts
        self._model = model
        self._clock = clock
        self._calls_left = CALLS_PER_BURST
        self._resume_at = float("-inf")

    def extract_pending(self, should_continue: ShouldContinue) -> int:
        """Let the model read some messages; a job of the scheduler.

        Returns:
            How many messages it read; 0 if it does not answer, in which case they are read later.
        """
        if self._model is None or self._clock() < self._resume_at:
            return 0
        try:
            read = self._facts.extract_with_model(self._model.complete, self._model.name, should_continue)
        except EndpointError:
            return 0  # the endpoint keeps the reason and backs off
        self._calls_left -= 1 if read else 0
        if not self._calls_left:
            self._calls_left, self._resume_at = CALLS_PER_BURST, self._clock() + BURST_INTERVAL_SECONDS
        return read

    def cancel(self) -> None:
        """Stop waiting for answers."""
        if self._model is not None:
            self._model.cancel_all()

    def state(self) -> Mapping[str, int | str | None]:
        """The state for ``status``: the messages ``due`` to be read by the rules, the ``model`` or None, and in
        ``trouble`` why its endpoint did not answer the last time."""
        model = self._model
        return {
            "due": self._facts.pending(r.PendingFactsRequest()),
            "model": model.name if model else None,
            "trouble": model.last_error if model else None,
        }
