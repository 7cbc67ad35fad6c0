"""The memory as the screen asks it: on threads, one after the other or side by side, never on the screen's own.

A daemon that goes away takes nothing along: what was asked waits until it is back, and is asked again. What changes
something is not: then only the person knows whether to do it once more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from appliance.server.client import Appliance

T = TypeVar("T")

THREADS = 4
"""Questions that are under way at once: a search, what goes with it, and two that take long."""

LOOK_AGAIN = 0.5
"""Seconds between two looks whether a daemon is back."""

Open = Callable[[], "Appliance"]


class Link:
    """An open memory behind threads. ``lost`` is called when the daemon went away, ``back`` when it has returned, both
    on the thread that noticed."""

    def __init__(self, open: Open, lost: Callable[[], None], back: Callable[[], None]) -> None:
        self._open = open
        self._lost = lost
        self._back = back
        self._memory: Appliance | None = None
        self._attended = ExitStack()
        self._opening = threading.Lock()
        self._gone = threading.Lock()
        self._ended = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="appliance-screen")

    async def ask(self, question: Callable[[Appliance], T]) -> T:
        """What the memory answers. A question only reads: it is asked again when the daemon is back.

        Raises:
            ApplianceError: as the memory says.
        """
        return await self._run(lambda: self._asked(question))

    async def do(self, work: Callable[[Appliance], T]) -> T:
        """The same for what changes something: it is asked for once.

        Raises:
            ApplianceError: as the memory says; DaemonGone where nobody knows whether it was done.
        """
        return await self._run(lambda: work(self.memory()))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._ended.is_set():
            raise asyncio.CancelledError
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @property
    def is_open(self) -> bool:
        """Whether there is a memory to ask."""
        return self._memory is not None

    def memory(self) -> Appliance:
        """The memory itself, opened at the first call, for a thread of one's own."""
        with self._opening:
            if self._memory is None:
                self._memory = self._open()
                self._attended.enter_context(self._memory.attending())
            return self._memory

    def close(self) -> None:
        """Let go of the memory once what is under way has its answer."""
        self._ended.set()
        self._threads.shutdown(cancel_futures=True)
        self._attended.close()
        if self._memory is not None:
            self._memory.close()

    def _asked(self, question: Callable[[Appliance], T]) -> T:
        from appliance.errors import DaemonGone

        memory = self.memory()
        while True:
            try:
                return question(memory)
            except DaemonGone:
                if self._ended.is_set():
                    raise
                self._wait(memory)

    def _wait(self, memory: Appliance) -> None:
        """Return when the daemon answers again; the first to notice says so."""
        from appliance.errors import DaemonGone

        first = self._gone.acquire(blocking=False)
        if first:
            self._lost()
        try:
            while not self._ended.wait(LOOK_AGAIN):
                try:
                    memory.browsing.folders()
                    return
                except DaemonGone:
                    continue
        finally:
            if first:
                self._gone.release()
                if not self._ended.is_set():
                    self._back()
