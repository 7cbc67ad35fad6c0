"""Processes that do things with homes, and can be killed: ``process_server`` forks them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("process_server.py")


@dataclass(slots=True)
class Outcome:
    """What a process had acknowledged when it ended, whether it was killed before its end, and what it said on the
    standard error. ``code`` is its exit code, negative if a signal ended it."""

    acknowledged: list[list[Any]]
    code: int
    seconds: float
    errors: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Workers:
    """Forks a process for each thing to do, one at a time."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        self._server = subprocess.Popen(
            [sys.executable, str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Threads of a library that are there before the fork would be missing after it.
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")},
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "OPENBLAS_NUM_THREADS": "1",
            },
        )

    def run(
        self,
        function: str,
        *arguments: object,
        kill_after: float | None = None,
        kill_at: tuple[int, float] | None = None,
    ) -> Outcome:
        """Let a process call a function ("module.name"), and kill it: ``kill_after`` seconds after it has begun, or at
        a number of things that it has acknowledged and so many seconds later."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps([function, str(self._errors), arguments]) + "\n")
        self._server.stdin.flush()
        acknowledged: list[list[Any]] = []
        began = time.perf_counter()
        process = 0
        killer: threading.Timer | None = None
        for line in self._server.stdout:
            said = json.loads(line)
            if said[0] == "begun":
                began = time.perf_counter()
                process = said[1]
                if kill_after is not None:
                    killer = threading.Timer(kill_after, _kill, (process,))
                    killer.start()
            elif said[0] == "ended":
                if killer is not None:
                    killer.cancel()
                    killer.join()
                seconds = time.perf_counter() - began
                return Outcome(acknowledged, said[1], seconds, self._errors.read_text(errors="replace"))
            else:
                acknowledged.append(said)
                if kill_at is not None and len(acknowledged) == kill_at[0]:
                    time.sleep(kill_at[1])
                    _kill(process)
        raise AssertionError(f"the server of processes ended with {self._server.wait()}")

    def close(self) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@contextmanager
def workers(folder: Path) -> Iterator[Workers]:
    found = Workers(folder / "stderr")
    try:
        yield found
    finally:
        found.close()


@functools.cache
def shared_workers() -> Workers:
    """Those of all tests in this process, begun by the first that needs one: to load the program for each process would
    take most of the time of these tests."""
    folder = Path(tempfile.mkdtemp(prefix="workers"))
    found = Workers(folder / "stderr")
    atexit.register(_end, found, folder)
    return found


def _end(found: Workers, folder: Path) -> None:
    found.close()
    shutil.rmtree(folder, ignore_errors=True)
