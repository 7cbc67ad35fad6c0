"""Whether searches are answered now, found out by searching.

The question needs no token, so asking often must cost no more than asking once: one search runs at a time, and its
answer counts for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from appliance.engine.embedding_api import is_api_model
from appliance.server.access.grants import Service

PATIENCE_SECONDS = 1.0
"""Seconds that a search may take. It goes on afterwards, so that it is found out when searches are answered again."""

KEPT_SECONDS = 2.0
"""Seconds for which the outcome of a search counts."""


def search_once(service: Service) -> None:
    """Search as anybody would; by words alone where a query would be sent to an API.

    Raises:
        Exception: Searches can't be answered.
    """
    by_words = is_api_model(service.engine.model_name)
    service.memory.search("the memory answers", limit=1, mode="lexical" if by_words else "hybrid")


class Readiness:
    """Searches when it is asked. Safe to use from several threads."""

    def __init__(self, search: Callable[[], object]) -> None:
        """
        Args:
            search: A search; it raises if it can't be answered.
        """
        self._search = search
        self._lock = threading.Lock()
        self._running: Future[bool] | None = None
        self._latest: tuple[float, bool] | None = None

    def is_ready(self) -> bool:
        """Whether a search is answered within ``PATIENCE_SECONDS``, or was within the last ``KEPT_SECONDS``."""
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
            return False

    def _run(self, outcome: Future[bool]) -> None:
        try:
            self._search()
            answered = True
        except Exception:  # the reason is in /health and the log, which need access
            answered = False
        with self._lock:
            self._running, self._latest = None, (time.monotonic(), answered)
        outcome.set_result(answered)
