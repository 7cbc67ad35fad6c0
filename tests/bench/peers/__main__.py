"""The product's index beside qdrant-client's local mode, Chroma, sqlite-vec and LanceDB, in one run.

    python -m tests.bench.peers --points 100000 [--folder DIR] [--only NAME ...]

All store the same 384-dimensional vectors with the same payload: user, session, role, time. Each store is built in a
fresh process, and opened and searched in another one. A peer is installed by pip into a virtual environment of its
own below the folder, which ``--folder`` keeps for the next run. A search asks for the ten nearest; a filtered one for
those of one user of twenty. Recall counts how many of the ten found are among the ten nearest, by exact scores.
``build_cpu_a_second`` is the rate by processor time, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.bench import measure
from tests.bench.peers import corpus
from tests.bench.peers.stores import STORES

WORKER = "tests.bench.peers.worker"
SEARCHES = 200


def run(folder: Path, points: int, names: list[str], searches: int = SEARCHES) -> measure.Document:
    """Write the corpus, then build and search each store."""
    machine = measure.machine()
    measure.say(f"corpus: {points} points")
    scan = corpus.write(folder / f"corpus-{points}", points, searches)
    found: dict[str, measure.Document] = {}
    for name in names:
        try:
            found[name] = _measured(folder, folder / f"corpus-{points}", name)
        except subprocess.CalledProcessError as error:
            found[name] = {"error": f"it ended with {error.returncode}: {(error.stderr or '')[-500:]}"}
        measure.say(f"{name}: {json.dumps(found[name])}")
    return {
        "benchmark": "peers",
        "machine": machine,
        "points": points,
        "dimension": corpus.DIMENSION,
        "searches": searches,
        "numpy_float32_scan_ms": scan,
        "stores": found,
    }


def _measured(folder: Path, made: Path, name: str) -> measure.Document:
    python = interpreter(folder / "venvs", name)
    store = folder / "stores" / name
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir(parents=True)

    def worker(phase: str) -> measure.Document:
        measure.say(f"{name}: {phase}")
        command = [python, "-m", WORKER, phase, name, str(made), str(store)]
        # A peer of ours needs no telemetry, and no setting from outside.
        done = subprocess.run(
            command,
            cwd=measure.ROOT,
            env=measure.environment() | {"ANONYMIZED_TELEMETRY": "False", "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            check=True,
        )
        document: measure.Document = json.loads(done.stdout)
        return document

    built = worker("build")
    disk = measure.disk_bytes(store)
    return {**built, "disk_mb": round(disk / 1e6, 1), **worker("search")}


def interpreter(folder: Path, name: str) -> str:
    """The Python that runs a store: for a peer that of a virtual environment, which is made if it is not there."""
    requirements = STORES[name].requirements
    if not requirements:
        return sys.executable
    home = folder / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = home / "ready.json"
    if not ready.exists() or json.loads(ready.read_text()) != list(requirements):
        measure.say(f"{name}: installing {' '.join(requirements)}")
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-qq", *requirements], check=True, stdout=sys.stderr, timeout=900
        )
        ready.write_text(json.dumps(list(requirements)))
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the environments and the stores here")
    parser.add_argument("--only", nargs="+", choices=tuple(STORES), default=list(STORES), help="these stores only")
    options = parser.parse_args()
    if options.folder is not None:
        measure.show(run(options.folder, options.points, options.only))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure.show(run(Path(folder), options.points, options.only))


if __name__ == "__main__":
    main()
