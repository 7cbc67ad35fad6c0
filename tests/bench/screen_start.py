"""How long the screen takes: until its first frame, and until a search as one types has its hits.

    python -m tests.bench.screen_start [--runs 5] [--home DIR --query WORDS] [--attached]

The real program in a terminal of its own: seconds from the start of the process until the line that invites to type is
drawn, and until the hits of a query that was typed at that moment stand there; by the clock, and the processor time of
all threads of the process, which other programs hardly change. In turns with ``python -c "import textual.app"``, which
is what the library itself takes. Without --home on a small home with the model that comes with the program; with
--attached a daemon owns the home.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from appliance import Appliance
from tests.bench import material, measure
from tests.bench.serving import daemon

TARGETS = {"first_frame": 0.5, "first_hits": 1.0}
MESSAGES = 1_000
SIZE = (40, 120)
LONGEST = 60.0
"""Seconds after which the program counts as stuck."""


def run(runs: int, home: str | None, query: str = "the weekend", attached: bool = False) -> measure.Document:
    """Every work in every round, after one that warms the disk's cache and leaves compiled modules."""
    machine = measure.machine()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        # Modules are compiled once in an installation; a checkout may be told to leave nothing behind.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        if home is None:
            home, query = _small(Path(folder))
        if attached:
            stack.enter_context(daemon(Path(home)))
        rounds = [_round(home, query) for _ in range(runs + 1)][1:]
    return {
        "benchmark": "screen_start",
        "machine": machine,
        "runs": runs,
        "attached": attached,
        "target_s": TARGETS,
        "seconds": {name: _range([one[name].seconds for one in rounds]) for name in rounds[0]},
        "processor_seconds": {name: _range([one[name].processor for one in rounds]) for name in rounds[0]},
    }


def _range(figures: list[float]) -> measure.Document:
    return {"min": round(min(figures), 3), "median": round(median(figures), 3), "max": round(max(figures), 3)}


def _small(folder: Path) -> tuple[str, str]:
    """A small home, and the words that its first message begins with: those have hits, whatever it is made of."""
    messages = material.short_messages(material.texts()[0], MESSAGES)
    file = material.write_jsonl(folder / "chat.jsonl", messages)
    with Appliance.open(folder / "home") as memory:
        memory.ingest(file)
        memory.run_pending_jobs()
    return str(folder / "home"), " ".join(messages[0]["content"].split()[:6])


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds since the start of a process, and the processor time that it has used by then."""

    seconds: float
    processor: float


def _round(home: str, query: str) -> dict[str, Moment]:
    library = _until([sys.executable, "-c", "import textual.app; input('here')"], [(b"here", b"\n")])[0]
    frame, hits = _until(
        [sys.executable, "-m", "appliance", "tui", "--home", home],
        [(b"Type to search", query.encode()), (b" hits", b"\x11")],
    )
    return {"library": library, "first_frame": frame, "first_hits": hits}


def _until(command: list[str], steps: list[tuple[bytes, bytes]]) -> list[Moment]:
    """Run a program in a terminal. Each step waits for what the program shows and then types something; the moments
    at which each was there."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        os.chdir(measure.ROOT)
        environment = measure.environment() | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execve(command[0], command, environment)
    taken = []
    try:
        for wanted, typed in steps:
            _read(terminal, lambda said, wanted=wanted: wanted in said)  # type: ignore[misc]
            taken.append(Moment(time.perf_counter() - began, time.clock_gettime(_processor_clock(pid))))
            os.write(terminal, typed)
        _read(terminal, lambda said: False)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return taken


def _processor_clock(pid: int) -> int:
    """The clock of another process's processor time, as ``clock_getcpuclockid`` makes it on Linux."""
    return (~pid << 3) | 2


def _read(terminal: int, enough: Callable[[bytes], bool]) -> None:
    """Read what a program shows until it is enough, or the program has ended."""
    said, until = b"", time.monotonic() + LONGEST
    while not enough(said):
        if not select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError(said[-2000:].decode("utf-8", "replace"))
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            return
        if not more:
            return
        said += more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--home")
    parser.add_argument("--query", default="the weekend", help="what is typed in the home given")
    parser.add_argument("--attached", action="store_true", help="on a daemon's memory")
    given = parser.parse_args()
    measure.show(run(given.runs, given.home, given.query, given.attached))


if __name__ == "__main__":
    main()
