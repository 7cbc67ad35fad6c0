"""How long a fresh process takes: help, version, figures, and a search in a small home.

    python -m tests.bench.startup [--runs 10]

Wall time and processor time of ``python -m appliance …``, in turns with ``python -c pass``, which is what Python itself
takes. ``--help`` and ``version`` have a target of 0.3 s.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from appliance import Appliance
from tests.bench import material, measure

TARGET = 0.3
MESSAGES = 100


def run(runs: int, warm_ups: int = 1) -> measure.Document:
    """Every command in every round, after those that warm the disk's cache."""
    machine = measure.machine()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        file = material.write_jsonl(Path(folder) / "chat.jsonl", material.short_messages(material.texts()[0], MESSAGES))
        with Appliance.open(home) as memory:
            memory.ingest(file)
        commands = {
            "python": ["-c", "pass"],
            "help": ["-m", "appliance", "--help"],
            "version": ["-m", "appliance", "version"],
            "stats": ["-m", "appliance", "stats", "--home", str(home)],
            "search": ["-m", "appliance", "search", "the weekend", "--home", str(home), "--json"],
            "search_lexical": ["-m", "appliance", "search", "the weekend", "--mode", "lexical", "--home", str(home)],
        }
        processor: dict[str, list[float]] = {name: [] for name in commands}
        works = {name: partial(_process, command, processor[name]) for name, command in commands.items()}
        measure.rounds(works, warm_ups)
        taken = measure.rounds(works, runs)
    return {
        "benchmark": "startup",
        "machine": machine,
        "messages": MESSAGES,
        "runs": runs,
        "target_s": {"help": TARGET, "version": TARGET},
        "seconds": {
            name: {"min": round(min(each), 3), "median": round(median(each), 3)} for name, each in taken.items()
        },
        "processor_s": {name: round(median(each[warm_ups:]), 3) for name, each in processor.items()},
    }


def _process(command: list[str], processor: list[float]) -> None:
    """Run a command, and note the seconds of the processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command], cwd=measure.ROOT, env=measure.environment(), stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    measure.show(run(parser.parse_args().runs))


if __name__ == "__main__":
    main()
