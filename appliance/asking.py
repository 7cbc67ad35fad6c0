"""Joins facts with the local language model: a little at a time, and never in anybody's way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from appliance.errors import EndpointError
from appliance.llm import Endpoint
from appliance.memory.facts import Facts
from appliance.upkeep import GoesOn

PAGES_AT_ONCE = 8
"""Questions in a row: some seconds each on a laptop. A history of years is read by and by, the newest first."""

REST = 60.0
"""Seconds until the next questions in a row."""


class Asking:
    """Has the model read for facts what only the rules have read."""

    def __init__(
        self, facts: Facts, model: Endpoint | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` counts seconds."""
        self._facts = facts
        self._model = model
        self._clock = clock
        self._left = PAGES_AT_ONCE
        self._rests_until = float("-inf")

    def tend(self, goes_on: GoesOn) -> int:
        """Let the model read some messages; how many it was. Nothing where it does not answer: it is asked for the
        same again later. A task of the background."""
        if self._model is None or self._clock() < self._rests_until:
            return 0
        try:
            read = self._facts.ask_model(self._model.complete, self._model.name, goes_on)
        except EndpointError:
            return 0  # the endpoint keeps why, and is left alone for a while
        self._left -= 1 if read else 0
        if not self._left:
            self._left, self._rests_until = PAGES_AT_ONCE, self._clock() + REST
        return read

    def give_up(self) -> None:
        """Wait for no answer any more."""
        if self._model is not None:
            self._model.give_up()

    def state(self) -> Mapping[str, int | str | None]:
        """How many messages are ``due`` to be read by the rules, the ``model`` that reads too, None without one, and in
        ``trouble`` why its endpoint gave no answer the last time."""
        model = self._model
        return {
            "due": self._facts.pending(),
            "model": model.name if model else None,
            "trouble": model.trouble if model else None,
        }
