"""Admission control: queries run first, and background work yields to them."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from appliance.errors import StoreError

MAX_YIELD_SECONDS = 0.1
"""Seconds that work yields in total before it takes a time slice during queries; most queries end within it."""

WORK_SLICE_SECONDS = 0.012
"""Seconds of such a time slice: under constant queries, background work still gets a tenth of the time."""

POST_QUERY_PAUSE_SECONDS = 0.003
"""Seconds that work pauses after a query, while other threads serialise and send the answer."""

IDLE_AFTER_SECONDS = 2.0
"""Seconds without a query after which work goes on in larger steps."""

CLOSE_TIMEOUT_SECONDS = 10.0
"""Seconds that running queries have to end when the memory is closed."""

MAX_CONCURRENT_QUERIES = 2
"""Queries that run at a time, and one more for each reader process but the first; the others wait. Most of a query
needs the interpreter's lock, and the more threads want the lock, the more time goes into passing it on. In five rounds
of a study with eight clients, two at a time got 37 to 45 answers a second, eight at a time 32 to 40."""


class FairSemaphore:
    """A semaphore that serves its waiters in order of arrival. With ``threading.Semaphore``, an occasional client
    waited for seconds beside eight that asked without a pause."""

    def __init__(self, count: int) -> None:
        self._available = count
        self._waiters: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    def resize(self, more: int) -> None:
        """Serve so many more at a time."""
        for _ in range(more):
            self._release()

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Hold a slot within the context."""
        ticket = self._enqueue()
        if ticket is not None:
            try:
                ticket.acquire()
            except BaseException:  # an interrupt: the slot may have been granted meanwhile
                self._abandon(ticket)
                raise
        try:
            yield
        finally:
            self._release()

    def _enqueue(self) -> threading.Lock | None:
        """A lock that is released when a slot is granted; None if it is granted at once."""
        with self._lock:
            if self._available:
                self._available -= 1
                return None
            ticket = threading.Lock()
            ticket.acquire()
            self._waiters.append(ticket)
            return ticket

    def _abandon(self, ticket: threading.Lock) -> None:
        with self._lock:
            if ticket in self._waiters:
                self._waiters.remove(ticket)
                return
        self._release()

    def _release(self) -> None:
        with self._lock:
            if self._waiters:
                self._waiters.popleft().release()
            else:
                self._available += 1


class AdmissionControl:
    """Lets queries run first: background work calls ``yield_to_queries`` between its small steps.

    A working thread costs a query up to a switch interval each time the query releases the interpreter's lock, which it
    does at every row of SQLite. Yielding is bounded, so that work goes on under constant queries.
    """

    def __init__(self) -> None:
        self._running_queries = 0
        self._yield_suspensions = 0
        self._interactive_uses = 0
        self._closed = False
        self._last_query_ended_at = -math.inf
        self._no_queries = threading.Condition()
        self._query_slots = FairSemaphore(MAX_CONCURRENT_QUERIES)
        self._query_slot_count = MAX_CONCURRENT_QUERIES
        self._thread_state = threading.local()

    def allow_queries(self, count: int) -> None:
        """Let ``count`` queries run at a time, because other processes carry them out; never fewer than before."""
        more = max(0, count - self._query_slot_count)
        self._query_slot_count += more
        self._query_slots.resize(more)

    @contextmanager
    def running_query(self) -> Iterator[None]:
        """Run a query within the context, once a slot is free.

        Raises:
            StoreError: The memory is being closed.
        """
        depth: int = getattr(self._thread_state, "asking", 0)
        with self._no_queries:
            if self._closed and not depth:
                raise StoreError("The memory is closed.", hint="Open it again.")
            self._running_queries += 1
        self._thread_state.asking = depth + 1
        slot = nullcontext() if depth else self._query_slots.acquired()
        try:
            with slot:
                yield
        finally:
            self._thread_state.asking = depth
            with self._no_queries:
                self._running_queries -= 1
                self._last_query_ended_at = time.monotonic()
                if not self._running_queries:
                    self._no_queries.notify_all()

    @contextmanager
    def expecting_query(self) -> Iterator[None]:
        """Announce a query: work yields already while the request is read and passed on."""
        with self._no_queries:
            self._running_queries += 1
        try:
            yield
        finally:
            with self._no_queries:
                self._running_queries -= 1
                if not self._running_queries:
                    self._no_queries.notify_all()

    @contextmanager
    def interactive_use(self) -> Iterator[None]:
        """Limit work to small steps within the context, because a screen in this process must stay responsive."""
        with self._no_queries:
            self._interactive_uses += 1
        try:
            yield
        finally:
            with self._no_queries:
                self._interactive_uses -= 1

    @contextmanager
    def suspend_yielding(self) -> Iterator[None]:
        """Keep work from yielding within the context, because a query waits for it to end."""
        with self._no_queries:
            self._yield_suspensions += 1
            self._no_queries.notify_all()
        try:
            yield
        finally:
            with self._no_queries:
                self._yield_suspensions -= 1

    def close(self) -> None:
        """Refuse new queries, and wait for the running ones to end, at most ``CLOSE_TIMEOUT_SECONDS``."""
        with self._no_queries:
            self._closed = True
            self._no_queries.wait_for(lambda: not self._running_queries, CLOSE_TIMEOUT_SECONDS)

    def is_idle(self) -> bool:
        """Whether no query runs or ran just now, and no screen is open."""
        return (
            not self._running_queries
            and not self._interactive_uses
            and time.monotonic() - self._last_query_ended_at > IDLE_AFTER_SECONDS
        )

    def yield_to_queries(self) -> None:
        """Wait while queries run, at most ``MAX_YIELD_SECONDS`` between two time slices of this thread."""
        began = time.monotonic()
        if self._yield_suspensions or (
            not self._running_queries and began - self._last_query_ended_at > POST_QUERY_PAUSE_SECONDS
        ):
            return
        thread_state = self._thread_state
        if began < getattr(thread_state, "until", 0.0):
            return
        waited: float = getattr(thread_state, "waited", 0.0)
        with self._no_queries:
            self._no_queries.wait_for(
                lambda: self._yield_suspensions or not self._running_queries, MAX_YIELD_SECONDS - waited
            )
        now = time.monotonic()
        if not self._running_queries and now - self._last_query_ended_at < POST_QUERY_PAUSE_SECONDS:
            time.sleep(POST_QUERY_PAUSE_SECONDS)
            now = time.monotonic()
        waited += now - began
        if waited >= MAX_YIELD_SECONDS:
            waited, thread_state.until = 0.0, now + WORK_SLICE_SECONDS
        thread_state.waited = waited
