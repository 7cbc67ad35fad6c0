"""The memory of a server that is started often and asked seldom: opened when it is first needed, let go when idle.

A client starts its servers with itself and keeps them for hours. One that held the home all the time would keep every
other program from it; so the home is owned only while somebody asks, and a minute after.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from appliance.errors import HomeLocked, StoreError

if TYPE_CHECKING:
    from appliance.engine import Engine

IDLE = 60.0
"""Seconds without a call after which the memory is closed: questions of one conversation find it open."""

PATIENCE = 3.0
"""Seconds to wait for a home that another process owns: a command takes less."""

AGAIN = 0.1
"""Seconds between two tries."""


class Opening:
    """Lends a memory to calls in any number of threads."""

    def __init__(
        self, home: str | None, purpose: str, *, idle: float = IDLE, patience: float = PATIENCE
    ) -> None:
        self._home = home
        self._purpose = purpose
        self._idle = idle
        self._patience = patience
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._memory: Engine | None = None
        self._users = 0
        self._stale = False
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def lease(self) -> Iterator[Engine]:
        """The memory, for one call.

        Raises:
            HomeLocked: another process has had it open all the time.
            HomeError, StoreError, ConfigError: it can't be opened.
        """
        memory = self._take()
        failed = False
        try:
            yield memory
        except StoreError:
            # A daemon that has ended, or a file that has changed under us: the next call opens anew.
            failed = True
            raise
        finally:
            self._give(failed)

    def warm(self) -> None:
        """Load the program's parts in the background, without touching the home."""
        threading.Thread(target=_load, name="load", daemon=True).start()

    def close(self) -> None:
        """Let go of the memory; nobody may hold it any more."""
        self._closed.set()
        with self._lock:
            self._stop_timer()
            self._let_go()

    def _take(self) -> Engine:
        with self._lock:
            self._stop_timer()
            if self._memory is None:
                self._memory = self._open()
            self._users += 1
            return self._memory

    def _give(self, failed: bool) -> None:
        with self._lock:
            self._users -= 1
            self._stale = self._stale or failed
            if self._users:
                return
            if self._stale:
                self._let_go()
            elif not self._closed.is_set():
                self._timer = threading.Timer(self._idle, self._idled)
                self._timer.daemon = True
                self._timer.start()

    def _idled(self) -> None:
        with self._lock:
            if not self._users:
                self._let_go()

    def _let_go(self) -> None:
        if self._memory is not None:
            memory, self._memory, self._stale = self._memory, None, False
            memory.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _open(self) -> Engine:
        from appliance.server.client import Appliance

        until = time.monotonic() + self._patience
        while True:
            try:
                return Appliance.open(self._home, purpose=self._purpose)
            except HomeLocked:
                if time.monotonic() >= until or self._closed.wait(AGAIN):
                    raise


def _load() -> None:
    import appliance.server.client  # noqa: F401
    from appliance.server import calls

    calls.load()
