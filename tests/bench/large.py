"""A large ChatGPT export: how fast it is stored without embedding, and how much memory that takes.

    python -m tests.bench.large [--megabytes 200] [--rounds 1]

``now`` is the way in as it is: the file is read in a process of its own, and long messages are split later. ``alone``
does everything in one process, splits at once and stores 1,000 messages a transaction, as a small import does; in turns
with the first. Wall time depends on what else the machine does; ``processor_seconds`` are those of the process that
stores and of the one that reads, of which the longer one bounds the speed of a quiet machine with two processors.
``indexing`` is what is left for later: splitting everything. Targets: 20 MB a second, and under 400 MB of anonymous
memory of both processes, looked at ten times a second. Parsing alone is measured beside it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import appliance_models
from appliance import Appliance
from appliance.ingest import batches, dedup, page_frames, page_reader, pipeline
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.store import chunks, digests, lexical, messages, secrets, sessions
from appliance.store.chunks import ChunkableMessage
from appliance.types import MessageRecord
from tests.bench import material, measure
from tests.engines import engine_of

MODULE = "tests.bench.large"
TARGET_MB_A_SECOND = 20.0
TARGET_ANON_MB = 400.0
LOOK_EVERY = 0.1
WAYS = ("now", "alone")

STAGES = (
    (page_frames, "decode"),
    (dedup, "compare_with_store"),
    (sessions, "upsert"),
    (messages, "insert"),
    (digests, "add"),
    (lexical, "add_texts"),
    (chunks, "insert"),
    (secrets, "replace_found"),
    (secrets, "replace_marks"),
    (pipeline, "store"),
)


def run(megabytes: float, rounds: int = 1) -> measure.Document:
    with tempfile.TemporaryDirectory() as folder:
        path = material.write_chatgpt(Path(folder) / "conversations.json", material.texts()[0], megabytes)
        found: dict[str, list[measure.Document]] = {way: [] for way in WAYS}
        for number in range(rounds):
            for way in WAYS:
                home = Path(folder) / f"{way}-{number}"
                found[way].append(measure.in_fresh_process(MODULE, "--measure", str(path), str(home), way))
        return {
            "benchmark": "large",
            "machine": measure.machine(),
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "parsing": measure.in_fresh_process(MODULE, "--parse", str(path)),
            **found,
            "times_as_fast": {
                "wall": ratio(found, lambda each: each["seconds"]),
                "processor": ratio(found, lambda each: max(each["processor_seconds"].values())),
            },
            "targets": {"mb_a_second": TARGET_MB_A_SECOND, "rss_anon_mb": TARGET_ANON_MB},
        }


def ratio(found: dict[str, list[measure.Document]], seconds: Callable[[measure.Document], float]) -> float:
    """How many times as long everything alone takes, by the medians."""
    return round(median(map(seconds, found["alone"])) / median(map(seconds, found["now"])), 2)


def parsed(path: Path) -> measure.Document:
    """Up to the records, in one process."""
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    began = time.process_time()
    count = characters = 0
    for record in found.parser.parse(found.document):
        if isinstance(record, MessageRecord):
            count, characters = count + 1, characters + len(record.text.encode())
    spent = time.process_time() - began
    size = path.stat().st_size
    return {
        "messages": count,
        "share_of_text": round(characters / size, 2),
        "mb_a_processor_second": round(size / 1e6 / spent, 1),
    }


def measured(path: Path, home: Path, way: str) -> measure.Document:
    size = path.stat().st_size / 1e6
    if way == "alone":
        page_reader.MIN_BYTES = pipeline.SPLIT_AT_ONCE_BYTES = sys.maxsize
        batches.BATCH_MESSAGES, batches.BATCH_CHARACTERS = 1_000, 4_000_000
    embedder = appliance_models.load()
    embedder.count_tokens(["the tokenizer is loaded before anything is timed"])
    watch = measure.Stopwatch(time.thread_time)
    with Appliance.open(home, worker=False, embedder=embedder) as memory:
        with Highest() as highest, watch.watching(*STAGES):
            before = time.process_time(), reading_seconds()
            report = memory.ingest(path, wait=False)
            stored, read = time.process_time() - before[0], reading_seconds() - before[1]
        assert report.complete
        split = splitting_seconds(memory) if way == "now" else 0.0
    return {
        "messages": report.total("new"),
        "seconds": round(report.seconds, 1),
        "mb_a_second": round(size / report.seconds, 1),
        "processor_seconds": {"storing": round(stored, 1), "reading": round(read, 1)},
        "mb_a_processor_second": round(size / max(stored, read), 1),
        "indexing": {"splitting_processor_seconds": round(split, 1)},
        "rss_anon_mb": highest.megabytes,
        "disk_bytes": measure.disk_bytes(home),
        "where": watch.share_of(stored),
    }


def reading_seconds() -> float:
    """The processor time of ended processes that this one has started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def splitting_seconds(memory: Appliance) -> float:
    """How long the indexer would take to split everything."""
    engine = engine_of(memory)
    _, chunker = engine._index_service.serving.chunking_target()
    after, spent = 0, 0.0
    while page := chunks.messages_without_chunks(engine._database.read(), 0, after):
        began = time.process_time()
        chunker.split([ChunkableMessage(each.id, each.author, each.text, True, 0) for each in page])
        spent, after = spent + time.process_time() - began, page[-1].id
    return spent


class Highest:
    """The most anonymous memory that this process and those that it starts have while it is within."""

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
            used = [measure.rss_anon_mb() or 0.0, *(measure.rss_anon_mb(child) or 0.0 for child in children())]
            self.megabytes = max(self.megabytes, round(sum(used), 1))


def children() -> Sequence[int]:
    """The processes that this one has started, as far as the system tells."""
    listed: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        try:
            listed += map(int, path.read_text().split())
        except OSError:  # a thread that has ended
            continue
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--parse", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        path, home, way = options.measure
        measure.show(measured(Path(path), Path(home), way))
    elif options.parse is not None:
        measure.show(parsed(options.parse))
    else:
        measure.show(run(options.megabytes, options.rounds))


if __name__ == "__main__":
    main()
