"""Whether searches are answered now, found out by searching.

The question needs no token, so asking often must cost no more than asking once: one search runs at a time, and its
answer counts for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Literal

from appliance.engine.embedding_api import is_api_model
from appliance.retrieval.legs import WORDS_ONLY
from appliance.server.access.grants import Service

PATIENCE_SECONDS = 1.0
"""Seconds that a search may take. It goes on afterwards, so that it is found out when searches are answered again."""

KEPT_SECONDS = 2.0
"""Seconds for which the outcome of a search counts."""


Ready = Literal["ok", "words only"]
"""How searches are answered: by words only where the model can't be used."""


def search_once(service: Service) -> Ready:
    """Search as anybody would; by words alone where a query would be sent to an API.

    Raises:
        Exception: Searches can't be answered.
    """
    by_words = is_api_model(service.engine.model_name)
    hits = service.memory.search("the memory answers", limit=1, mode="lexical" if by_words else "hybrid")
    return "words only" if any(note.startswith(WORDS_ONLY) for note in hits.notes) else "ok"


class Readiness:
    """Searches when it is asked. Safe to use from several threads."""

    def __init__(self, search: Callable[[], Ready]) -> None:
        """
        Args:
            search: A search; it raises if it can't be answered.
        """
        self._search = search
        self._lock = threading.Lock()
        self._running: Future[Ready | None] | None = None
        self._latest: tuple[float, Ready | None] | None = None

    def ask(self) -> Ready | None:
        """How a search is answered within ``PATIENCE_SECONDS``, or was within the last ``KEPT_SECONDS``; None if it is
        not."""
        with self._lock:
            if self._running is None:
                if self._latest is not None and time.monotonic() - self._latest[0] < KEPT_SECONDS:
                    return self._latest[1]
                self._running = Future()
                threading.Thread(
                    target=self._run, args=(self._running,), name="appliance-readiness", daemon=True
                ).start()
            running = self._running
        try:
            return running.result(PATIENCE_SECONDS)
        except TimeoutError:
            return None

    def _run(self, outcome: Future[Ready | None]) -> None:
        answered: Ready | None = None
        with suppress(Exception):  # the reason is in /health and the log, which need access
            answered = self._search()
        with self._lock:
            self._running, self._latest = None, (time.monotonic(), answered)
        outcome.set_result(answered)
