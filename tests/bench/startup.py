"""How long a fresh process takes: help, version, and a search in a small home.

    python -m tests.bench.startup [--runs 10]

Wall time of ``python -m appliance …``, in turns with ``python -c pass``, which is what Python itself takes.
``--help`` and ``version`` have a target of 0.3 s.
"""

from __future__ import annotations

import argparse
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
            "search": ["-m", "appliance", "search", "the weekend", "--home", str(home), "--json"],
            "search_lexical": ["-m", "appliance", "search", "the weekend", "--mode", "lexical", "--home", str(home)],
        }
        works = {name: partial(_process, command) for name, command in commands.items()}
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
    }


def _process(command: list[str]) -> None:
    subprocess.run(
        [sys.executable, *command], cwd=measure.ROOT, env=measure.environment(), stdout=subprocess.DEVNULL, check=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    measure.show(run(parser.parse_args().runs))


if __name__ == "__main__":
    main()
