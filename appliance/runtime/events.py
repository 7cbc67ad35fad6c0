"""The event bus: notifies subscribers of what happens in a memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Self

from appliance.types import Event

MAX_QUEUED_EVENTS = 1_000
"""Events that wait for a slow subscriber. Beyond it the oldest are dropped, and the subscriber learns how many."""


class Subscription:
    """A stream of the events since it was created, in order. After ``close`` the reader still gets the queued ones."""

    def __init__(self, forget: Callable[[Subscription], None]) -> None:
        self._forget = forget
        self._queued: deque[Event] = deque()
        self._missed = 0
        self._closed = False
        self._is_asked = False
        self._changed = threading.Condition()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        with self._changed:
            self._is_asked = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._queued or self._closed)
            self._is_asked = False
            if not self._queued:
                raise StopIteration
            if self._missed:
                missed, self._missed = self._missed, 0
                return Event("missed", "", {"events": missed})
            return self._queued.popleft()

    def put(self, event: Event) -> None:
        """Queue an event without waiting."""
        with self._changed:
            if self._closed:
                return
            if len(self._queued) == MAX_QUEUED_EVENTS:
                self._queued.popleft()
                self._missed += 1
            self._queued.append(event)
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until the reader has read all queued events and waits for more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._is_asked and not self._queued))

    def close(self) -> None:
        """Accept no further events."""
        self._forget(self)
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class EventBus:
    """Delivers events to subscribers. Safe to use from several threads.

    The kinds: ``ingested`` (about a file, or the session that a message was added to), ``embedded``, ``summarised``,
    ``pinned`` (about a message or a session), ``deleted`` and ``forgotten`` (about sessions), and ``missed`` to a
    subscriber that was too slow for some. Events hold counts and ids, no words. They are published after the commit of
    what they report.
    """

    def __init__(self, count: Callable[[Event], None] = lambda event: None) -> None:
        """
        Args:
            count: Called with each event on the thread that publishes it. It must neither wait nor raise.
        """
        self._count = count
        self._lock = threading.Lock()
        self._subscriptions: list[Subscription] = []

    def subscribe(self) -> Subscription:
        """A stream of the events from now on."""
        subscription = Subscription(self._forget)
        with self._lock:
            self._subscriptions.append(subscription)
        return subscription

    def publish(self, event: Event) -> None:
        """Deliver an event to all subscribers."""
        self._count(event)
        with self._lock:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.put(event)

    def flush(self) -> None:
        """Wait until all subscribers have read all events so far."""
        with self._lock:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.flush()

    def close(self) -> None:
        """Close all subscriptions; their readers still get the queued events."""
        with self._lock:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.close()

    def _forget(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
