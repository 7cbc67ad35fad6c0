"""The memory of an MCP server on stdio: opened at the first call, closed when idle.

A client starts its servers with itself and keeps them for hours. A server that owned the home all that time would lock
out every other program, so it owns the home only during calls and for a minute after.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from appliance.errors import HomeLocked, StoreError

if TYPE_CHECKING:
    from appliance.client import Appliance

IDLE_TIMEOUT_SECONDS = 60.0
"""Seconds without a call after which the memory is closed; the calls of one conversation find it open."""

LOCK_TIMEOUT_SECONDS = 3.0
"""Seconds to wait for a home that another process owns; a command takes less."""

LOCK_RETRY_SECONDS = 0.1
"""Seconds between two tries."""


class MemoryLease:
    """Provides a memory to calls in any number of threads."""

    def __init__(
        self,
        home: str | None,
        purpose: str,
        *,
        idle_timeout: float = IDLE_TIMEOUT_SECONDS,
        lock_timeout: float = LOCK_TIMEOUT_SECONDS,
    ) -> None:
        self._home = home
        self._purpose = purpose
        self._idle_timeout = idle_timeout
        self._lock_timeout = lock_timeout
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._memory: Appliance | None = None
        self._lease_count = 0
        self._is_stale = False
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def lease(self) -> Iterator[Appliance]:
        """The memory, for one call.

        Raises:
            HomeLocked: Another process owns the home.
            HomeError, StoreError, ConfigError: The memory can't be opened.
        """
        memory = self._acquire()
        failed = False
        try:
            yield memory
        except StoreError:
            # The daemon has ended, or a file has changed: the next call opens the memory again.
            failed = True
            raise
        finally:
            self._release(failed)

    def preload(self) -> None:
        """Import the program in the background, without touching the home."""
        threading.Thread(target=_import_modules, name="load", daemon=True).start()

    def close(self) -> None:
        """Close the memory. No call may be using it."""
        self._closed.set()
        with self._lock:
            self._stop_timer()
            self._close_memory()

    def _acquire(self) -> Appliance:
        with self._lock:
            self._stop_timer()
            if self._memory is None:
                self._memory = self._open()
            self._lease_count += 1
            return self._memory

    def _release(self, failed: bool) -> None:
        with self._lock:
            self._lease_count -= 1
            self._is_stale = self._is_stale or failed
            if self._lease_count:
                return
            if self._is_stale:
                self._close_memory()
            elif not self._closed.is_set():
                self._timer = threading.Timer(self._idle_timeout, self._on_idle)
                self._timer.daemon = True
                self._timer.start()

    def _on_idle(self) -> None:
        with self._lock:
            if not self._lease_count:
                self._close_memory()

    def _close_memory(self) -> None:
        if self._memory is not None:
            memory, self._memory, self._is_stale = self._memory, None, False
            memory.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _open(self) -> Appliance:
        from appliance.client import Appliance

        deadline = time.monotonic() + self._lock_timeout
        while True:
            try:
                return Appliance.open(self._home, purpose=self._purpose).masked()
            except HomeLocked:
                if time.monotonic() >= deadline or self._closed.wait(LOCK_RETRY_SECONDS):
                    raise


def _import_modules() -> None:
    pass
