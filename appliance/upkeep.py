"""What goes on behind a person's back: background threads, the work they do, and the events that tell of it.

A task does a bounded piece of what is due and says how much that was; ``work_off`` runs tasks in their order
until none has anything left. Nothing here makes an ``add`` wait, and a question goes first: see ``Gate``.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress

from appliance.errors import StoreError
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


PATIENCE = 0.1
"""Seconds that work waits for questions altogether before it takes a turn beside them: most are answered in it."""

TURN = 0.012
"""Seconds of such a turn: with questions all the time, a tenth of the time is still the work's."""

AFTERWARDS = 0.003
"""Seconds after an answer in which work keeps still: it has yet to be written out and sent, on other threads."""

LULL = 2.0
"""Seconds without a question after which work goes on in larger steps, since nobody seems to ask."""


FAREWELL = 10.0
"""Seconds that questions under way have to end when the memory is closed."""


AT_ONCE = 2
"""Questions that are answered at a time; the others wait their turn. Most of one needs the interpreter's lock: the more
want it, the more of their time goes into handing it on. In five rounds of a study with eight who ask, two at a time got
37 to 45 answers a second, eight 32 to 40."""


class Seats:
    """So many at a time, in the order in which they came. A semaphore goes to whoever asks again first: beside eight
    who ask without a pause, one who asks now and then waited for seconds."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Within, a seat is taken."""
        turn = self._turn()
        if turn is not None:
            try:
                turn.acquire()
            except BaseException:  # an interrupt: the seat may have come meanwhile
                self._leave(turn)
                raise
        try:
            yield
        finally:
            self._pass_on()

    def _turn(self) -> threading.Lock | None:
        """A lock that is released when it is one's turn; None if it is now."""
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
            return turn

    def _leave(self, turn: threading.Lock) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


class Gate:
    """Questions first: they raise the gate while they run, and whatever can wait asks it between two small steps.

    Two cores and one interpreter lock are all there is: a thread that works besides costs a question up to a switch
    interval each time that it lets go of the lock, which it does at every row of SQLite's. Waiting is bounded, so that
    work goes on however much is asked.
    """

    def __init__(self) -> None:
        self._asking = 0
        self._awaiting = 0
        self._attending = 0
        self._closed = False
        self._ended = -math.inf
        self._none = threading.Condition()
        self._seats = Seats(AT_ONCE)
        self._turns = threading.local()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A question is answered within.

        Raises:
            StoreError: the memory is being closed.
        """
        inner: int = getattr(self._turns, "asking", 0)
        with self._none:
            if self._closed and not inner:
                raise StoreError("the memory is closed", hint="open it again")
            self._asking += 1
        self._turns.asking = inner + 1
        seat = nullcontext() if inner else self._seats.taken()
        try:
            with seat:
                yield
        finally:
            self._turns.asking = inner
            with self._none:
                self._asking -= 1
                self._ended = time.monotonic()
                if not self._asking:
                    self._none.notify_all()

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Within, a question is on its way: what can wait makes way already while it is read and handed on."""
        with self._none:
            self._asking += 1
        try:
            yield
        finally:
            with self._none:
                self._asking -= 1
                if not self._asking:
                    self._none.notify_all()

    @contextmanager
    def attending(self) -> Iterator[None]:
        """Within, somebody looks at a screen in this process, whose frames must not wait: work goes on, in small steps
        only."""
        with self._none:
            self._attending += 1
        try:
            yield
        finally:
            with self._none:
                self._attending -= 1

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Within, a question waits for work to end: nobody makes way."""
        with self._none:
            self._awaiting += 1
            self._none.notify_all()
        try:
            yield
        finally:
            with self._none:
                self._awaiting -= 1

    def close(self) -> None:
        """Let nobody ask any more, and return when those who do have their answers, or after ``FAREWELL``."""
        with self._none:
            self._closed = True
            self._none.wait_for(lambda: not self._asking, FAREWELL)

    def is_calm(self) -> bool:
        """Whether nobody asks, or has asked just now, or looks on."""
        return not self._asking and not self._attending and time.monotonic() - self._ended > LULL

    def make_way(self) -> None:
        """Wait while questions run, ``PATIENCE`` at most between two turns of this thread."""
        began = time.monotonic()
        if self._awaiting or (not self._asking and began - self._ended > AFTERWARDS):
            return
        mine = self._turns
        if began < getattr(mine, "until", 0.0):
            return
        waited: float = getattr(mine, "waited", 0.0)
        with self._none:
            self._none.wait_for(lambda: self._awaiting or not self._asking, PATIENCE - waited)
        now = time.monotonic()
        if not self._asking and now - self._ended < AFTERWARDS:
            time.sleep(AFTERWARDS)
            now = time.monotonic()
        waited += now - began
        if waited >= PATIENCE:
            waited, mine.until = 0.0, now + TURN
        mine.waited = waited


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Within, other work is done on a thread of its own, and ended at the end: for two things that both wait, for the
    disk or without the interpreter's lock."""
    other = threading.Thread(target=work, name="appliance-meanwhile", daemon=True)
    other.start()
    try:
        yield
    finally:
        other.join()


LOOK_AGAIN = 60.0
"""Seconds after which a background looks by itself for what has come due: a conversation that fell silent."""


FIRST_LOOK = 1.0
"""Seconds after which it looks for the first time: whoever opens a memory has something to ask of it, and most have
their answer by then. What is done sooner is what somebody has given it to do."""


class Worker:
    """A background thread that works whenever it is woken. It starts at ``begin``, or at the first ``wake``."""

    def __init__(self, name: str, work: Callable[[GoesOn], object], again: float | None = None) -> None:
        """``work`` is given a function that says whether to go on. After ``again`` seconds without being woken it
        works by itself, for what comes due as time passes."""
        self._name = name
        self._work = work
        self._again = self._wait = again
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.trouble: Exception | None = None
        """Why the last run ended early, if it did; the next wake tries again."""

    def begin(self, seconds: float) -> None:
        """Work for the first time after so many seconds, or when it is woken before."""
        self._wait = seconds
        self._start()

    def wake(self) -> None:
        self._wanted.set()
        self._start()

    def _start(self) -> None:
        with self._starting:
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
            self._wanted.wait(self._wait)
            self._wait = self._again
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
        self,
        embed: Callable[[GoesOn], object],
        waits: Callable[[], bool],
        tasks: Callable[[], Sequence[Task]],
        gate: Gate,
        *,
        threads: bool,
    ) -> None:
        """``embed`` embeds what waits until it is told not to go on, ``waits`` says whether anything does. ``tasks``
        gives what else there is to do; whenever a task asks whether to go on, it makes way at the ``gate``."""
        self._waits = waits
        self._tasks = tasks
        self._gate = gate
        self._embedding = Worker("appliance-embed", embed) if threads else None
        self._tending = Worker("appliance-upkeep", self._tend, LOOK_AGAIN) if threads else None

    @property
    def trouble(self) -> Exception | None:
        """Why embedding ended early the last time, if it did."""
        return self._embedding.trouble if self._embedding is not None else None

    def _tend(self, goes_on: GoesOn) -> int:
        def goes_on_politely() -> bool:
            self._gate.make_way()
            return goes_on()

        return work_off(self._tasks(), goes_on_politely)

    def begin(self) -> None:
        """Embed what an earlier process left, and do in a little while what has come due since."""
        if self._embedding is not None and self._waits():
            self._embedding.wake()
        if self._tending is not None:
            self._tending.begin(FIRST_LOOK)

    def wake(self) -> None:
        """Something may be due."""
        if self._embedding is not None and self._waits():
            self._embedding.wake()
        if self._tending is not None:
            self._tending.wake()

    def stop(self, give_up: Callable[[], None] = lambda: None) -> None:
        """Return once both have ended what they are at; ``give_up`` ends what need not be waited for."""
        workers = [worker for worker in (self._tending, self._embedding) if worker is not None]
        for worker in workers:
            worker.halt()
        give_up()
        for worker in workers:
            worker.stop()


KEPT_FOR_LISTENER = 1_000
"""Events that wait for a listener which is slow; of more, the oldest are dropped, and it is told how many."""

GOODBYE = 1.0
"""Seconds that a closing memory gives a listener for what it has not been told yet."""

Listener = Callable[[Event], None]


class Events:
    """Tells whoever listens what has happened. Safe to use from several threads.

    The kinds: ``ingested`` (about a file, or the session that something was said in), ``embedded``, ``summarised``,
    ``deleted`` and ``forgotten`` (about sessions), and ``missed`` to a listener that was too slow for some. Counts and
    ids, no words.

    Each listener has a thread of its own, which calls it with one event after the other, in their order and after what
    they tell of was committed. So it may take its time and raise what it likes (that ends nothing, and is told to
    nobody): what happens in the memory goes on meanwhile. A listener that shares anything with other threads has to
    look after that itself.
    """

    def __init__(self, count: Listener = lambda event: None) -> None:
        """``count`` is told at once, on the thread that the event happens on: it must neither wait nor raise."""
        self._count = count
        self._lock = threading.Lock()
        self._listeners: dict[object, _Listening] = {}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` for each event from now on; the answer ends it, once it was told what has happened so
        far."""
        key, listening = object(), _Listening(listener)
        with self._lock:
            self._listeners[key] = listening

        def end() -> None:
            with self._lock:
                self._listeners.pop(key, None)
            listening.end()

        return end

    def tell(self, event: Event) -> None:
        """Tell all who listen now."""
        self._count(event)
        with self._lock:
            listeners = list(self._listeners.values())
        for listening in listeners:
            listening.put(event)

    def settle(self) -> None:
        """Return when all who listen were told what has happened so far."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listening in listeners:
            listening.settle()

    def close(self) -> None:
        """Let all who listen go, once they were told the rest; a slow one is left behind."""
        with self._lock:
            listeners = list(self._listeners.values())
            self._listeners.clear()
        for listening in listeners:
            listening.end(GOODBYE)


class _Listening:
    """A listener with the events that wait for it, and the thread that tells it."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: deque[Event] = deque()
        self._missed = 0
        self._telling = False
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="appliance-events", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        with self._changed:
            if self._ended:
                return
            if len(self._waiting) == KEPT_FOR_LISTENER:
                self._waiting.popleft()
                self._missed += 1
            self._waiting.append(event)
            self._changed.notify_all()

    def settle(self) -> None:
        if threading.current_thread() is not self._thread:
            with self._changed:
                self._changed.wait_for(lambda: not self._waiting and not self._telling)

    def end(self, seconds: float | None = None) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:  # a listener may end itself
            self._thread.join(seconds)

    def _run(self) -> None:
        while (event := self._next()) is not None:
            with suppress(Exception):
                self._listener(event)

    def _next(self) -> Event | None:
        with self._changed:
            self._telling = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            self._telling = True
            if self._missed:
                missed, self._missed = self._missed, 0
                return Event("missed", "", {"events": missed})
            return self._waiting.popleft()
