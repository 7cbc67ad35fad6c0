"""What goes on behind a person's back: background threads, the work they do, and the events that tell of it.

A task does a bounded piece of what is due and says how much that was; ``work_off`` runs tasks in their order
until none has anything left. Nothing here makes an ``add`` wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from appliance.types import Event

GoesOn = Callable[[], bool]
"""Says whether to go on; asked between two pieces of work."""

Task = Callable[[GoesOn], int]
"""Does what is due and says how much it was; 0 when nothing is."""


def work_off(tasks: Sequence[Task], goes_on: GoesOn) -> int:
    """Run the tasks in order, again and again, until a whole turn finds nothing due; how much it was."""
    done = 0
    while goes_on():
        found = sum(task(goes_on) for task in tasks if goes_on())
        if not found:
            break
        done += found
    return done


LOOK_AGAIN = 60.0
"""Seconds after which a background looks by itself for what has come due: a conversation that fell silent."""


class Worker:
    """A background thread that works whenever it is woken. It starts at the first ``wake``."""

    def __init__(self, name: str, work: Callable[[GoesOn], object], again: float | None = None) -> None:
        """``work`` is given a function that says whether to go on. After ``again`` seconds without being woken it
        works by itself, for what comes due as time passes."""
        self._name = name
        self._work = work
        self._again = again
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: Exception | None = None
        """Why the last run ended early, if it did; the next wake tries again."""

    def wake(self) -> None:
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def halt(self) -> None:
        """Begin no other piece of work."""
        self._stopping.set()
        self._wanted.set()

    def stop(self) -> None:
        """Return once the present piece of work is done."""
        self.halt()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.wait(self._again)
            self._wanted.clear()
            if self._stopping.is_set():
                return
            try:
                self._work(lambda: not self._stopping.is_set())
                self.trouble = None
            except Exception as error:  # kept for status: a thread has nobody else to tell
                self.trouble = error


class Background:
    """The two threads of an open home: one embeds what waits, the other does all that is due besides. Without
    ``threads`` nothing goes on by itself, and ``work_off`` is for the caller to call."""

    def __init__(
        self, embed: Callable[[GoesOn], object], waits: Callable[[], bool], *, threads: bool
    ) -> None:
        """``embed`` embeds what waits until it is told not to go on, ``waits`` says whether anything does. The other's
        ``tasks`` are given later."""
        self._waits = waits
        self.tasks: Sequence[Task] = ()
        self._embedding = Worker("appliance-embed", embed) if threads else None
        self._tending = (
            Worker("appliance-upkeep", lambda on: work_off(self.tasks, on), LOOK_AGAIN) if threads else None
        )

    @property
    def trouble(self) -> Exception | None:
        """Why embedding ended early the last time, if it did."""
        return self._embedding.trouble if self._embedding is not None else None

    def wake(self) -> None:
        """Something may be due."""
        if self._embedding is not None and self._waits():
            self._embedding.wake()
        if self._tending is not None and self.tasks:
            self._tending.wake()

    def stop(self, give_up: Callable[[], None] = lambda: None) -> None:
        """Return once both have ended what they are at; ``give_up`` ends what need not be waited for."""
        workers = [worker for worker in (self._tending, self._embedding) if worker is not None]
        for worker in workers:
            worker.halt()
        give_up()
        for worker in workers:
            worker.stop()


class Events:
    """Tells whoever listens what has happened. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[Event], None]] = {}

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call ``listener`` for each event, on the thread that it happens on; the answer ends it."""
        key = object()
        with self._lock:
            self._listeners[key] = listener

        def end() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return end

    def tell(self, event: Event) -> None:
        """Tell all who listen now."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener(event)
