"""A large ChatGPT export: how fast it is stored without embedding, and how much memory that takes.

    python -m tests.bench.large [--megabytes 200]

Targets: 20 MB a second, and under 400 MB of anonymous memory for an export of a gigabyte. Parsing alone is
measured beside it. The memory is the most that was seen in a process of its own, looked at every 20 ms.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import appliance_models
from appliance import Appliance
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import MessageRecord
from tests.bench import material, measure

MODULE = "tests.bench.large"
TARGET_MB_A_SECOND = 20.0
TARGET_ANON_MB = 400.0
LOOK_EVERY = 0.02


def run(megabytes: float) -> measure.Document:
    with tempfile.TemporaryDirectory() as folder:
        path = material.write_chatgpt(Path(folder) / "conversations.json", material.texts()[0], megabytes)
        stored = measure.in_fresh_process(MODULE, "--measure", str(path))
        return {
            "benchmark": "large",
            "machine": measure.machine(),
            "megabytes": round(path.stat().st_size / 1e6, 1),
            **stored,
            "targets": {"mb_a_second": TARGET_MB_A_SECOND, "rss_anon_mb": TARGET_ANON_MB},
        }


def measured(path: Path) -> measure.Document:
    size = path.stat().st_size / 1e6
    began = time.perf_counter()
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    messages = sum(isinstance(record, MessageRecord) for record in found.parser.parse(found.document))
    parsed = time.perf_counter() - began
    home = path.parent / "home"
    with Appliance.open(home, worker=False, embedder=appliance_models.load()) as memory, Highest() as highest:
        report = memory.ingest(path, wait=False)
        assert report.complete and report.total("new") == messages
    return {
        "messages": messages,
        "chunks": report.chunks,
        "parse_mb_a_second": round(size / parsed, 1),
        "seconds": round(report.seconds, 1),
        "mb_a_second": round(size / report.seconds, 1),
        "messages_a_second": round(messages / report.seconds),
        "rss_anon_mb": highest.megabytes,
        "disk_bytes": measure.disk_bytes(home),
    }


class Highest:
    """The most anonymous memory that this process has while it is within."""

    megabytes = 0.0

    def __enter__(self) -> Highest:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(LOOK_EVERY):
            self.megabytes = max(self.megabytes, measure.rss_anon_mb() or 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200.0)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    measure.show(run(options.megabytes) if options.measure is None else measured(options.measure))


if __name__ == "__main__":
    main()
