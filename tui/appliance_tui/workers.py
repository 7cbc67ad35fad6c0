"""Calls to the memory on threads, never on the screen's own, and the messages that the threads post."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.message import Message

from appliance.errors import ApplianceError, DaemonGone
from appliance_tui.widgets.display_text import one_line

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.screen import Screen

    from appliance.client import Appliance

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, object]]
MemoryOpener = Callable[[], "Appliance"]

MAX_CONCURRENT_CALLS = 4
"""Calls to the memory at once: a search, the calls that follow it, and two slow ones."""

RECONNECT_INTERVAL_SECONDS = 0.5
"""Seconds between two attempts to reach the daemon again."""


class MemoryChanged(Message, bubble=False):
    """Something changed in the memory; ``kind`` and ``detail`` are the event's. Repeated kinds become one message."""

    def __init__(self, kind: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.detail = detail or {}

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, MemoryChanged) and message.kind == self.kind


class ImportProgressed(Message, bubble=False):
    """An import has advanced or ended; ``ApplianceApp.import_queue`` holds its state."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ImportProgressed)


def error_text(error: ApplianceError) -> str:
    """An error with its hint, on one line."""
    return one_line(f"{error} {error.hint}" if error.hint else str(error))


@contextmanager
def show_errors(show: Callable[[str], object]) -> Iterator[None]:
    """Pass the text of an error of the memory to ``show`` and go on after the block."""
    try:
        yield
    except ApplianceError as error:
        show(error_text(error))


SLOW_SECONDS = 0.4
"""Seconds after which a screen says what it waits for; until then the answer would only flicker."""


@contextmanager
def say_if_slow(node: DOMNode, say: Callable[[], object]) -> Iterator[None]:
    """Call ``say`` if the block takes long."""
    timer = node.set_timer(SLOW_SECONDS, say)
    try:
        yield
    finally:
        timer.stop()


class MemoryWorker:
    """An open memory behind a pool of threads.

    A query that fails because the daemon is gone waits until the daemon is back and runs again. A command is not
    repeated: only the person knows whether it should be.

    Args:
        open: opens the memory, at the first call, on a thread of the pool.
        on_lost, on_reconnected: called when the daemon disappears and returns, on the thread that notices.
    """

    def __init__(self, open: MemoryOpener, on_lost: Callable[[], None], on_reconnected: Callable[[], None]) -> None:
        self._open = open
        self._on_lost = on_lost
        self._on_reconnected = on_reconnected
        self._memory: Appliance | None = None
        self._exit_stack = ExitStack()
        self._open_lock = threading.Lock()
        self._reconnect_lock = threading.Lock()
        self._closed = threading.Event()
        self._executor = ThreadPoolExecutor(MAX_CONCURRENT_CALLS, thread_name_prefix="appliance-screen")

    async def run_query(self, query: Callable[[Appliance], T]) -> T:
        """Run a function that only reads, again after the daemon has returned.

        Raises:
            ApplianceError: as the memory says.
        """
        return await self._submit(lambda: self._run_with_retry(query))

    async def run_command(self, command: Callable[[Appliance], T]) -> T:
        """Run a function that changes something, once.

        Raises:
            ApplianceError: as the memory says; DaemonGone where it is unknown whether the change was made.
        """
        return await self._submit(lambda: command(self.memory()))

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._closed.is_set():
            raise asyncio.CancelledError
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    @property
    def is_open(self) -> bool:
        return self._memory is not None

    def memory(self) -> Appliance:
        """The memory itself, opened at the first call. Not for the screen's thread."""
        with self._open_lock:
            if self._memory is None:
                self._memory = self._open()
                self._exit_stack.enter_context(self._memory.interactive_use())
            return self._memory

    def close(self) -> None:
        """Close the memory after the calls that are running."""
        self._closed.set()
        self._executor.shutdown(cancel_futures=True)
        self._exit_stack.close()
        if self._memory is not None:
            self._memory.close()

    def _run_with_retry(self, query: Callable[[Appliance], T]) -> T:
        memory = self.memory()
        while True:
            try:
                return query(memory)
            except DaemonGone:
                if self._closed.is_set():
                    raise
                self._wait_for_daemon(memory)

    def _wait_for_daemon(self, memory: Appliance) -> None:
        """Return when the daemon answers again; the first thread to notice reports both changes."""
        first = self._reconnect_lock.acquire(blocking=False)
        if first:
            self._on_lost()
        try:
            while not self._closed.wait(RECONNECT_INTERVAL_SECONDS):
                try:
                    memory.overview.folders()
                    return
                except DaemonGone:
                    continue
        finally:
            if first:
                self._reconnect_lock.release()
                if not self._closed.is_set():
                    self._on_reconnected()


def begin(node: DOMNode, work: Work, group: str = "default", *, exclusive: bool = False) -> None:
    """Start a coroutine function as a worker of a widget, a screen or the app.

    Args:
        work: called when its turn comes, so that work cancelled before it starts leaves no coroutine behind.
        exclusive: cancel the other workers of the ``group`` first.
    """
    node.run_worker(cast("Any", work), group=group, exclusive=exclusive)


class SerialWorker:
    """Queries of a screen, one at a time: the memory can't cancel one, and two would slow each other down."""

    def __init__(self, screen: Screen[Any], memory_worker: MemoryWorker) -> None:
        self._screen = screen
        self._memory_worker = memory_worker
        self._lock = asyncio.Lock()

    async def run_query(self, query: Callable[[Appliance], T]) -> T:
        """Run a function that only reads.

        Raises:
            ApplianceError: as the memory says.
            CancelledError: the screen was closed before the answer came.
        """
        async with self._lock:
            task = asyncio.ensure_future(self._memory_worker.run_query(query))
            try:
                answer = await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.wait([task])
                raise
        if not (self._screen.is_attached and self._screen.children):
            raise asyncio.CancelledError
        return answer


class CoalescingRefresh:
    """Calls ``refresh`` now, and once more if it was requested again meanwhile: a flood of changes becomes a few calls,
    the last one after the last change."""

    def __init__(self, node: DOMNode, refresh: Work) -> None:
        self._node = node
        self._refresh = refresh
        self._requested = self._running = False

    def __call__(self) -> None:
        self._requested = True
        if not self._running:
            self._running = True
            begin(self._node, self._run, "refresh")

    async def _run(self) -> None:
        try:
            while self._requested:
                self._requested = False
                await self._refresh()
        finally:
            self._running = False
