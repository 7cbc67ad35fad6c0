"""An event loop on a thread of its own: its requests can be waited for by several threads, and cancelled by another.

A request that blocks in a library, such as the look-up of a name without a network, can't be cancelled. It runs on a
thread that neither the loop nor the end of the process waits for.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from appliance_models.errors import ApiUnavailable

T = TypeVar("T")

CLOSE_SECONDS = 2.0
"""How long closing waits for the loop to end."""

CLOSING_MESSAGE = "The memory is being closed."


class _Loop(asyncio.SelectorEventLoop):
    """Looks names up on threads that can be left behind."""

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        return await on_thread(lambda: socket.getaddrinfo(host, port, family, type, proto, flags))


async def on_thread(work: Callable[[], T]) -> T:
    """The result of ``work``, run on a thread that is left behind if the caller is cancelled."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def give(set_result: Callable[[Any], None], value: Any) -> None:
        if not found.done():
            set_result(value)

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(give, found.set_exception, error)
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(give, found.set_result, result)

    threading.Thread(target=run, name="appliance-jina-call", daemon=True).start()
    return await found


class LoopThread:
    """Runs coroutines for other threads. It starts with the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: _Loop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[concurrent.futures.Future[Any]] = set()
        self._is_cancelled = False

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a coroutine, which is cancelled if the waiting is interrupted.

        Raises:
            ApiUnavailable: ``cancel_all`` was called.
        """
        with self._lock:
            if self._is_cancelled:
                raise ApiUnavailable(CLOSING_MESSAGE)
            future = asyncio.run_coroutine_threadsafe(work(), self._started())
            self._running.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ApiUnavailable(CLOSING_MESSAGE) from None
        finally:
            future.cancel()
            with self._lock:
                self._running.discard(future)

    def cancel_all(self) -> None:
        """Cancel what runs, and refuse what comes, because the memory is being closed."""
        with self._lock:
            self._is_cancelled = True
            for future in self._running:
                future.cancel()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel everything, run ``last`` on the loop and end it."""
        self.cancel_all()
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return

        async def end() -> None:
            try:
                rest = asyncio.all_tasks() - {asyncio.current_task()}
                for task in rest:
                    task.cancel()
                await asyncio.gather(*rest, return_exceptions=True)
                await last()
            finally:
                loop.stop()

        asyncio.run_coroutine_threadsafe(end(), loop)
        thread.join(CLOSE_SECONDS)

    def _started(self) -> _Loop:
        if self._loop is None:
            self._loop = loop = _Loop()
            self._thread = threading.Thread(target=_run, args=(loop,), name="appliance-jina", daemon=True)
            self._thread.start()
        return self._loop


def _run(loop: _Loop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()
