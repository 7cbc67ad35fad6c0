"""What all benchmarks share: timing, figures, this process's memory, the machine, and a fresh process."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
PATHS = (ROOT, ROOT / "models", ROOT / "tui")

Document = dict[str, Any]


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rounds(works: Mapping[str, Callable[[], object]], count: int) -> dict[str, list[float]]:
    """Seconds of each work in each of ``count`` rounds. All take part in every round, so that what else the
    machine does falls on all of them."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(count):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return taken


def ratio(slow: Sequence[float], fast: Sequence[float]) -> Document:
    """How many times as fast the second is: the median of the rounds' own ratios, and their range."""
    each = [a / b for a, b in zip(slow, fast, strict=True)]
    return {"median": round(median(each), 3), "min": round(min(each), 3), "max": round(max(each), 3)}


def percentiles(durations: Sequence[float]) -> Document:
    """Milliseconds at the middle, at 95 of 100, and the extremes, of durations in seconds."""
    ordered = sorted(durations)
    last = len(ordered) - 1
    return {
        "p50": round(1000 * ordered[round(0.5 * last)], 2),
        "p95": round(1000 * ordered[round(0.95 * last)], 2),
        "min": round(1000 * ordered[0], 2),
        "max": round(1000 * ordered[-1], 2),
        "calls": len(ordered),
    }


def seconds_of(durations: Sequence[float]) -> Document:
    """The middle and the range of durations in seconds."""
    ordered = sorted(durations)
    return {"median": round(median(ordered), 2), "min": round(ordered[0], 2), "max": round(ordered[-1], 2)}


def rss_anon_mb(process: int | str = "self") -> float | None:
    """The anonymous memory (what no file backs) of this or another process, in MB; None where the system does not
    tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), None)
    return None if kilobytes is None else round(kilobytes / 1024, 1)


def disk_bytes(folder: Path) -> int:
    """What the files under a folder occupy. The index reserves more than it has written: blocks count."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def machine() -> Document:
    """What the figures were measured on, as far as the system tells."""
    flags = _cpuinfo("flags").split()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _cpuinfo("model name"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vector_units": [unit for unit in ("avx", "avx2", "avx512f", "avx_vnni", "avx512_vnni") if unit in flags],
        "load_before": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
    }


def _cpuinfo(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def environment() -> dict[str, str]:
    """The environment for a fresh process that finds this project, and no settings from outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
    found = [str(path) for path in PATHS] + ([kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else [])
    return kept | {"PYTHONPATH": os.pathsep.join(found)}


def in_fresh_process(module: str, *arguments: str) -> Document:
    """The JSON document that ``python -m module`` prints; its narration goes to our own stderr."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    found: Document = json.loads(done.stdout)
    return found


class Stopwatch:
    """Time spent within functions while they are watched, each with its calls. What a watched function
    spends in another watched one counts in both. ``clock`` is wall time unless another is given."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.spent: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    @contextmanager
    def watching(self, *functions: tuple[object, str]) -> Iterator[None]:
        """Watch functions, each given as its module or class and its name there."""
        saved = [(owner, name, getattr(owner, name)) for owner, name in functions]
        for owner, name, function in saved:
            setattr(owner, name, self._watched(_label(owner, name), function))
        try:
            yield
        finally:
            for owner, name, function in saved:
                setattr(owner, name, function)

    def _watched(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        self.spent.setdefault(label, 0.0)
        self.calls.setdefault(label, 0)

        def watched(*args: Any, **named: Any) -> Any:
            began = self.clock()
            try:
                return function(*args, **named)
            finally:
                self.spent[label] += self.clock() - began
                self.calls[label] += 1

        return watched

    def share_of(self, total: float) -> Document:
        """Seconds, calls and share of a total, the longest first."""
        ordered = sorted(self.spent.items(), key=lambda item: -item[1])
        return {
            label: {"seconds": round(spent, 4), "calls": self.calls[label], "share": round(spent / total, 3)}
            for label, spent in ordered
        }


def _label(owner: object, name: str) -> str:
    return f"{getattr(owner, '__name__', owner).rpartition('.')[2]}.{name}"  # type: ignore[attr-defined]


def say(words: str) -> None:
    """Narration: standard output is for the document alone."""
    print(words, file=sys.stderr, flush=True)


def show(document: Document) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


def memory_mb(process: int) -> dict[str, float]:
    """The resident memory of a process, in MB."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line
    )
    return {name: round(int(fields[name].split()[0]) / 1024, 1) for name in ("VmRSS", "RssAnon", "RssFile")}


def worked(process: int) -> float:
    """Seconds of processor time that a process has used."""
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def idle(process: int, seconds: float) -> Document:
    """What a process takes of the processor, in percent of a core, and of memory, with nothing asked of it."""
    before, began = worked(process), time.perf_counter()
    time.sleep(seconds)
    share = (worked(process) - before) / (time.perf_counter() - began)
    return {"cpu_percent": round(100 * share, 2), "resident_mb": memory_mb(process)}
