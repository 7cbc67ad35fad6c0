"""How fast a file gets in: all the way to its vectors, and up to where its words are found.

    python -m tests.bench.ingest [--texts FILE] [--messages 1000] [--short 20000] [--rounds 5]

``end_to_end``: ``memory.ingest(file)`` into a new home, against the model alone on the very same passages,
in turns; ``ratio`` is how much of the model's own rate is left (target 0.85).
``short``: ``memory.ingest(file, wait=False)`` of one-sentence messages (target 3,000 a second), then the same
file again, and where the time goes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance import Appliance
from appliance.ingest import chunk, dedup, indexer, near_duplicates, pipeline
from appliance.store import chunks, lexical, messages, neighbours
from appliance.store.generations import DerivedStores
from appliance.store.index.edge import EdgeIndex
from appliance.store.vectors import VectorLedger
from appliance_models import Embedder
from tests.bench import material, measure

TARGET_SHARE = 0.85
TARGET_SHORT = 3_000

BOTH = ((pipeline, "store"), (indexer, "index_batch"))
FIRST_SPEED = (
    (pipeline, "store"),
    (chunk.Chunker, "split"),
    (dedup, "compare_with_store"),
    (messages, "insert"),
    (neighbours, "affected_neighbours"),
    (lexical, "remove_from_index"),
    (lexical, "add_texts"),
    (chunks, "insert"),
    (chunks, "requeue"),
)
SECOND_SPEED = (
    (chunks, "next_puts"),
    (chunks, "acknowledge"),
    (chunks, "count_pending"),
    (near_duplicates, "signatures"),
    (near_duplicates, "link"),
    (EdgeIndex, "upsert"),
    (EdgeIndex, "flush"),
    (EdgeIndex, "optimize"),
    (VectorLedger, "append"),
    (DerivedStores, "make_private"),
)


class Recording:
    """An embedder that keeps the passages it was given, and lets the stopwatch see its work."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.identity = inner.identity
        self.dimension = inner.dimension
        self.max_tokens = inner.max_tokens
        self.passages: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passages += texts
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner.embed_query(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)


def run(texts: Path | None, message_count: int, short_count: int, count: int, embedder: Embedder) -> measure.Document:
    """Everything, with one loaded model."""
    found, origin = material.texts(texts)
    with tempfile.TemporaryDirectory() as folder:
        return {
            "benchmark": "ingest",
            "machine": measure.machine(),
            "texts": origin,
            "model": embedder.name,
            "end_to_end": end_to_end(found[:message_count], Path(folder), count, embedder),
            "short": short(found, short_count, Path(folder), count, embedder),
        }


def end_to_end(found: Sequence[str], folder: Path, count: int, embedder: Embedder) -> measure.Document:
    """``ingest(wait=True)`` against the model alone, in turns."""
    embedder.embed_query("the model is loaded before anything is timed")
    file = material.write_jsonl(folder / "chat.jsonl", as_sessions(found))
    with Appliance.open(folder / "first", worker=False, embedder=embedder) as memory:
        memory.ingest(material.write_jsonl(folder / "few.jsonl", as_sessions(found[:5])))
    passages: list[str] = []
    watch = measure.Stopwatch()
    whole, model, whole_cpu, model_cpu = [], [], [], []
    for number in range(count):
        recording = Recording(embedder)
        with (
            Appliance.open(folder / f"whole-{number}", worker=False, embedder=recording) as memory,
            watch.watching((Recording, "embed_passages"), *BOTH, *FIRST_SPEED[1:], *SECOND_SPEED),
        ):
            began = time.process_time()
            report = memory.ingest(file)
            whole_cpu.append(time.process_time() - began)
        assert report.complete and not report.pending and report.chunks == report.embedded
        whole.append(report.seconds)
        passages = recording.passages
        began = time.process_time()
        model.append(measure.seconds(lambda texts=passages: embedder.embed_passages(texts)))  # type: ignore[misc]
        model_cpu.append(time.process_time() - began)
    return {
        "messages": len(found),
        "chunks": report.chunks,
        "passages": len(passages),
        "characters_a_passage": round(sum(map(len, passages)) / len(passages), 1),
        "ingest_chunks_a_second": round(report.chunks / median(whole), 1),
        "model_passages_a_second": round(len(passages) / median(model), 1),
        # Equal texts share one vector: both sides did the same embedding, so seconds are what compares.
        "ratio": measure.ratio(model, whole),
        # Processor time does not see what other programs take, nor the waiting for the disk.
        "cpu_ratio": measure.ratio(model_cpu, whole_cpu),
        "target_ratio": TARGET_SHARE,
        "where": watch.share_of(sum(whole)),
    }


def short(found: Sequence[str], count: int, folder: Path, rounds: int, embedder: Embedder) -> measure.Document:
    """``ingest(wait=False)`` of short messages, and of the same file again."""
    file = material.write_jsonl(folder / "short.jsonl", material.short_messages(found, count))
    first, again = [], []
    watch = measure.Stopwatch()
    for number in range(rounds):
        with Appliance.open(folder / f"short-{number}", worker=False, embedder=embedder) as memory:
            embedder.count_tokens(["the tokenizer is loaded before anything is timed"])
            report = memory.ingest(file, wait=False)
            assert report.complete and report.total("new") == count
            assert memory.search("ferry", mode="lexical").mode == "lexical"
            first.append(report.seconds)
            report = memory.ingest(file, wait=False)
            assert report.total("new") == 0 and report.total("duplicates") == count
            again.append(report.seconds)
    # Watching costs time, so it has a run of its own.
    with Appliance.open(folder / "watched", worker=False, embedder=embedder) as memory, watch.watching(*FIRST_SPEED):
        watched = memory.ingest(file, wait=False).seconds
    return {
        "messages": count,
        "messages_a_second": round(count / median(first), 1),
        "target_messages_a_second": TARGET_SHORT,
        "again_messages_a_second": round(count / median(again), 1),
        "seconds": [round(taken, 2) for taken in first],
        "where": watch.share_of(watched),
    }


def as_sessions(found: Sequence[str]) -> list[dict[str, str]]:
    """The texts as they are, in sessions of some length, said by two people in turn."""
    return [
        {
            "session_id": f"session-{number // material.SESSION_MESSAGES}",
            "message_id": f"message-{number}",
            "role": "user",
            "author": ("Ana", "Ben")[number % 2],
            "timestamp": f"2024-03-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "content": text,
        }
        for number, text in enumerate(found)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    parser.add_argument("--messages", type=int, default=1_000, help="to ingest end to end")
    parser.add_argument("--short", type=int, default=20_000, help="short messages to ingest without waiting")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    measure.show(run(options.texts, options.messages, options.short, options.rounds, appliance_models.load()))


if __name__ == "__main__":
    main()
