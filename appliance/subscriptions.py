"""What a client hears while it happens: the events of a memory, and the reports of a watcher."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import requests as r
from appliance.errors import ApplianceError
from appliance.types import Event, FileReport, Stream, WatchEvent

if TYPE_CHECKING:
    from appliance.transports.base import Transport

EVENTS_RETRY = 1.0
"""Seconds between two tries to listen again after a daemon has ended."""

EVENTS_FAREWELL = 1.0
"""Seconds that a closing memory waits for each listener to hear the rest."""

SIGNAL_CHECK_SECONDS = 1.0
"""Seconds after which a waiting watcher lets signal handlers run. Python runs them on the main thread only, and the
system may deliver a signal to another thread, which does not wake that one."""


class Events:
    """What happens in a memory. Safe to use from several threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._subscriptions: set[_Subscription] = set()

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call ``listener`` with each event from now on, in order, on a thread of its own.

        What a listener raises is dropped: the listening goes on, and so does the memory's work. If a daemon restarts,
        the listening goes on with the new one. A listener that is too slow misses the oldest events; an event of the
        kind "missed" says how many.

        Returns:
            A function that ends the listening, once the listener has heard everything up to now.
        """
        subscription = _Subscription(self._transport, listener)
        with self._lock:
            self._subscriptions.add(subscription)

        def end() -> None:
            with self._lock:
                self._subscriptions.discard(subscription)
            subscription.end()

        return end

    def close(self) -> None:
        """End all listening."""
        with self._lock:
            subscriptions, self._subscriptions = self._subscriptions, set()
        for subscription in subscriptions:
            subscription.end(EVENTS_FAREWELL)


class _Subscription:
    """A listener, the stream that it hears, and the thread on which it is called."""

    def __init__(self, transport: Transport, listener: Callable[[Event], None]) -> None:
        self._transport = transport
        self._listener = listener
        self._ended = threading.Event()
        self._stream = transport.send(r.EventsRequest())
        self._thread = threading.Thread(target=self._read, name="appliance-events", daemon=True)
        self._thread.start()

    def end(self, timeout: float | None = None) -> None:
        self._ended.set()
        self._stream.close()
        if threading.current_thread() is not self._thread:  # a listener may end itself
            self._thread.join(timeout)

    def _read(self) -> None:
        while True:  # also when it has ended already: what came before is heard
            with suppress(ApplianceError):
                for event in self._stream:
                    with suppress(Exception):
                        self._listener(event)
            while not self._ended.wait(EVENTS_RETRY):
                try:
                    self._stream = self._transport.send(r.EventsRequest())
                except ApplianceError:
                    continue
                break
            if self._ended.is_set():
                self._stream.close()
                return


class Watcher:
    """Reads watched folders. ``stop`` is called from any thread, and from a signal handler.

    A thread of its own waits for the stream, and ``run`` waits for a queue only: a signal handler that interrupted
    ``run`` while it read the stream would wait forever for the locks that ``run`` holds.

    Attributes:
        folders: The folders that are watched.
    """

    def __init__(
        self,
        transport: Transport,
        request: r.WatchRequest,
        on_read: Callable[[FileReport], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._transport = transport
        self._request = request
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._stopping = False
        self._current = _WatchRun()
        self.folders = [Path(folder) for folder in transport.send(r.ListWatchedFoldersRequest(request.folders))]

    def run(self, *, once: bool = False) -> None:
        """Watch until stopped; ``once`` reads what is there and ends."""
        self._current = current = _WatchRun()
        if self._stopping:
            return
        request = replace(self._request, once=once)
        current.begin(lambda: self._transport.send(request))
        try:
            # What was read before ``stop`` is reported still.
            while (event := current.next_event()) is not None:
                if isinstance(event, BaseException):
                    raise event
                if event.report is not None:
                    self._on_read(event.report)
                else:
                    self._on_trouble(event.trouble)
        finally:
            current.end()

    def stop(self) -> None:
        """Let ``run`` end after the file that it is reading."""
        self._stopping = True
        self._current.events.put(None)


class _WatchRun:
    """One run of a watcher: its stream, the thread that reads the stream, and the queue of what was read."""

    def __init__(self) -> None:
        # The one queue that a signal handler may put to while it interrupts ``get``. None is the end.
        self.events: queue.SimpleQueue[WatchEvent | BaseException | None] = queue.SimpleQueue()
        self._stream: Stream[WatchEvent] | None = None
        self._ended = False

    def next_event(self) -> WatchEvent | BaseException | None:
        """Wait for the next event; None is the end."""
        while True:
            with suppress(queue.Empty):
                return self.events.get(timeout=SIGNAL_CHECK_SECONDS)

    def begin(self, open: Callable[[], Stream[WatchEvent]]) -> None:
        threading.Thread(target=self._read, args=(open,), name="appliance-watcher", daemon=True).start()

    def end(self) -> None:
        """End the stream, if there is one. A thread that waits for the home's next owner is left to close its own."""
        self._ended = True
        if self._stream is not None:
            self._stream.close()

    def _read(self, open: Callable[[], Stream[WatchEvent]]) -> None:
        try:
            self._stream = open()
            with closing(self._stream) as stream:
                if not self._ended:
                    for event in stream:
                        self.events.put(event)
        except BaseException as error:
            self.events.put(error)
        else:
            self.events.put(None)
