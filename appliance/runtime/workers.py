"""Background workers: the threads of an open home, and the scheduler that wakes them when jobs are due."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from appliance.runtime.admission import AdmissionControl

ShouldContinue = Callable[[], bool]
"""Returns whether to go on; called between two steps of work."""

Job = Callable[[ShouldContinue], int]
"""Does what is due, and returns how much it was; 0 if nothing was."""


def run_jobs(jobs: Sequence[Job], should_continue: ShouldContinue) -> int:
    """Run the jobs in order, repeatedly, until a round finds nothing due. Returns how much was done."""
    done = 0
    while should_continue():
        found = sum(job(should_continue) for job in jobs if should_continue())
        if not found:
            break
        done += found
    return done


def within(seconds: float | None) -> ShouldContinue:
    """A ``ShouldContinue`` that holds for so many seconds from now; None for ever."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    return lambda: time.monotonic() < end


@contextmanager
def run_concurrently(work: Callable[[], object]) -> Iterator[None]:
    """Run ``work`` on another thread within the context, and wait for it at the end. Useful if both wait for the disk
    or release the interpreter's lock."""
    thread = threading.Thread(target=work, name="appliance-meanwhile", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


JOB_INTERVAL_SECONDS = 60.0
"""Seconds after which jobs run without being woken, for what comes due with time, such as a silent session."""

PAUSED_SECONDS = 15.0
"""Seconds after which a worker whose work waits for something else, such as mains power, looks for it again."""

RETRY_SECONDS = 60.0
"""Seconds after which a worker whose run an error has ended tries again by itself: a full disk may have room again."""

FIRST_RUN_DELAY_SECONDS = 1.0
"""Seconds until jobs run for the first time. A caller opens a memory to query it, and most queries end within it."""


class WakeableWorker:
    """A background thread that works whenever it is woken. It starts at ``begin``, or at the first ``wake``."""

    def __init__(
        self,
        name: str,
        work: Callable[[ShouldContinue], object],
        interval: float | None = None,
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            name: The name of the thread.
            work: Called with a ``ShouldContinue`` on each run.
            interval: Seconds without a wake after which it runs by itself; None for never.
            is_paused: Whether a part of the work waits; when that ends, the worker runs by itself.
        """
        self._name = name
        self._work = work
        self._interval = self._next_delay = interval
        self._is_paused = is_paused
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.last_error: Exception | None = None
        """The error that ended the last run, if any; the worker tries again."""

    def begin(self, delay: float) -> None:
        """Start, and run after so many seconds or when woken before."""
        self._next_delay = delay
        self._ensure_thread()

    def wake(self) -> None:
        self._woken.set()
        self._ensure_thread()

    def _ensure_thread(self) -> None:
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def request_stop(self) -> None:
        """Ask the worker to stop, without waiting."""
        self._stopping.set()
        self._woken.set()

    def stop(self) -> None:
        """Stop, and wait until the current step of work is done."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wait()
            self._next_delay = self._interval
            self._woken.clear()
            if self._stopping.is_set():
                return
            try:
                self._work(lambda: not self._stopping.is_set())
                self.last_error = None
            except Exception as error:  # kept for ``status``, because a thread has no caller
                self.last_error = error
                self._next_delay = RETRY_SECONDS

    def _wait(self) -> None:
        """Wait for a wake, for the interval, or for the end of a pause."""
        left = math.inf if self._next_delay is None else self._next_delay
        while self._is_paused() and left > PAUSED_SECONDS:
            if self._woken.wait(PAUSED_SECONDS) or not self._is_paused():
                return
            left -= PAUSED_SECONDS
        self._woken.wait(None if math.isinf(left) else left)


class Scheduler:
    """Runs the two threads of an open home: one embeds waiting chunks, the other runs the other jobs. Without
    ``threads`` nothing runs by itself; the caller calls ``run_jobs``."""

    def __init__(
        self,
        embed: Callable[[ShouldContinue], object],
        has_pending_chunks: Callable[[], bool],
        jobs: Callable[[], Sequence[Job]],
        admission: AdmissionControl,
        *,
        threads: bool,
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            embed: Embeds waiting chunks while it should continue.
            has_pending_chunks: Whether any chunk waits.
            jobs: Returns the other jobs. A job yields to queries whenever it checks whether to continue.
            admission: The admission control.
            threads: Whether to run threads.
            is_paused: Whether heavy work waits for mains power.
        """
        self._has_pending_chunks = has_pending_chunks
        self._jobs = jobs
        self._admission = admission
        self._embedding_worker: WakeableWorker | None = None
        self._job_worker: WakeableWorker | None = None
        if threads:
            self._embedding_worker = WakeableWorker("appliance-embed", embed, is_paused=is_paused)
            self._job_worker = WakeableWorker("appliance-upkeep", self._run_jobs, JOB_INTERVAL_SECONDS, is_paused)

    @property
    def embeds_unasked(self) -> bool:
        """Whether waiting chunks are embedded without a request."""
        return self._embedding_worker is not None

    @property
    def last_error(self) -> Exception | None:
        """The error that ended the last run of embedding, if any."""
        return self._embedding_worker.last_error if self._embedding_worker is not None else None

    def _run_jobs(self, should_continue: ShouldContinue) -> int:
        def yield_then_check() -> bool:
            self._admission.yield_to_queries()
            return should_continue()

        return run_jobs(self._jobs(), yield_then_check)

    def begin(self) -> None:
        """Embed what an earlier process left, and run the other jobs after a short delay."""
        if self._embedding_worker is not None and self._has_pending_chunks():
            self._embedding_worker.wake()
        if self._job_worker is not None:
            self._job_worker.begin(FIRST_RUN_DELAY_SECONDS)

    def wake(self) -> None:
        """Run the jobs, because something may be due."""
        if self._embedding_worker is not None and self._has_pending_chunks():
            self._embedding_worker.wake()
        if self._job_worker is not None:
            self._job_worker.wake()

    def stop(self, cancel: Callable[[], None] = lambda: None) -> None:
        """Stop both threads and wait for them; ``cancel`` ends what need not be waited for."""
        workers = [worker for worker in (self._job_worker, self._embedding_worker) if worker is not None]
        for worker in workers:
            worker.request_stop()
        cancel()
        for worker in workers:
            worker.stop()
