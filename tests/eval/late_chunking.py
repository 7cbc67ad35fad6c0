"""Late chunking against plain chunking on BEAM's long answers; prints JSON.

    PYTHONPATH=.:models python -m tests.eval.late_chunking [--chats N] [--from M] [--sizes 256 128 64]

Plain: each chunk of a message is embedded alone. Late (Günther et al. 2024, arXiv 2409.04701): the model reads as
much of a message at once as it can, in windows that overlap by half, and a chunk gets the mean of its tokens'
vectors. The first size is what ships; chunks have the same borders both ways. Each question is ranked by

everything   the cosine of each message's best chunk, over all messages of the chat
people       the same over what the person said, for questions that cite it
long         the same over answers of more than one shipped chunk, for questions that cite one
search       the whole search of the program, given these vectors
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import mean, message_measures
from appliance.bench.recall import write_jsonl
from appliance.ingest.chunk import Chunker
from appliance.settings import ChunkSettings
from appliance.store.chunks import ChunkableMessage
from appliance.store.passages import ChunkSpan, passage
from appliance_models import OnnxEmbedder, SpannedText
from tests.eval.datasets import beam

SIZES = (256, 128, 64)
"""The most pieces a chunk has. Half a window holds any of them, so that some window has it whole."""

RESAMPLES = 2_000

Vectors = NDArray[np.float32]
Row = dict[str, float]
Spans = Sequence[Sequence[ChunkSpan]]


@dataclass
class Figures:
    """What one variant did: its chunks, and a row for each question by how it was ranked."""

    chunks: int = 0
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def note(self, view: str, ranked: Sequence[str], evidence: frozenset[str]) -> None:
        if evidence:
            self.rows.setdefault(view, []).append(message_measures(ranked, evidence))


class Given:
    """A model whose passages are embedded already; any other text it embeds itself."""

    def __init__(self, model: OnnxEmbedder, size: int, vectors: Mapping[str, Vectors]) -> None:
        self.name = self.identity = "given"
        self.dimension = model.dimension
        self.max_tokens = size
        self.embed_query = model.embed_query
        self.count_tokens = model.count_tokens
        self._vectors = vectors

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def run(conversations: Iterable[BenchmarkCorpus], model: OnnxEmbedder, sizes: Sequence[int]) -> dict[str, Any]:
    found = {(how, size): Figures() for size in sizes for how in ("plain", "late")}
    seconds = dict.fromkeys([*(f"plain, {size}" for size in sizes), "late, all sizes together"], 0.0)
    for chat in conversations:
        said = [
            ChunkableMessage(number, record.get("author"), record["content"], True, number)
            for number, record in enumerate(chat.records)
        ]
        spans = {size: Chunker(model.count_tokens, size, ChunkSettings().overlap).split(said) for size in sizes}
        vectors: dict[tuple[str, int], Vectors] = {}
        for size in sizes:
            began = time.perf_counter()
            vectors["plain", size] = model.embed_passages(passages(said, spans[size]))
            seconds[f"plain, {size}"] += time.perf_counter() - began
        began = time.perf_counter()
        for size, late in late_all(model, said, spans).items():
            # A message of one chunk is read as it ships: only long ones differ.
            single = np.repeat([len(own) == 1 for own in spans[size]], [len(own) for own in spans[size]])
            vectors["late", size] = np.where(single[:, None], vectors["plain", size], late)
        seconds["late, all sizes together"] += time.perf_counter() - began
        for (how, size), figures in found.items():
            _rank(chat, model, said, spans[size], size, vectors[how, size], spans[sizes[0]], figures)
    first = found["plain", sizes[0]]
    return {
        "questions": {view: len(rows) for view, rows in first.rows.items()},
        "embedding s": {what: round(took, 1) for what, took in seconds.items()},
        "variants": [
            {"how": how, "pieces": size, "chunks": figures.chunks}
            | {
                view: _told(rows, first.rows[view], found["plain", size].rows[view])
                for view, rows in figures.rows.items()
            }
            for (how, size), figures in found.items()
        ],
    }


def passages(said: Sequence[ChunkableMessage], spans: Spans) -> list[str]:
    return [
        passage(message.author, message.text[span.start : span.end])
        for message, own in zip(said, spans, strict=True)
        for span in own
    ]


def late_all(model: OnnxEmbedder, said: Sequence[ChunkableMessage], spans: Mapping[int, Spans]) -> dict[int, Vectors]:
    """The late vectors of all chunks of each size, from one reading of each message, as a memory makes them."""
    texts = [
        SpannedText(message.text, [(span.start, span.end) for own in spans.values() for span in own[number]])
        for number, message in enumerate(said)
    ]
    vectors = model.embed_spans(texts)
    sizes = np.concatenate(
        [np.repeat(size, len(own[number])) for number in range(len(said)) for size, own in spans.items()]
    )
    return {size: vectors[sizes == size] for size in spans}


def _rank(
    chat: BenchmarkCorpus,
    model: OnnxEmbedder,
    said: Sequence[ChunkableMessage],
    spans: Spans,
    size: int,
    vectors: Vectors,
    shipped: Spans,
    figures: Figures,
) -> None:
    names = [record["message_id"] for record in chat.records]
    people = {record["message_id"] for record in chat.records if record["role"] == "user"}
    long = {name for name, own in zip(names, shipped, strict=True) if len(own) > 1} - people
    owners = np.repeat(np.arange(len(said)), [len(own) for own in spans])
    figures.chunks += len(vectors)
    for question in chat.questions:
        best = np.full(len(said), -np.inf)
        np.maximum.at(best, owners, vectors @ model.embed_query(question.text))
        ranked = [names[place] for place in np.argsort(-best, kind="stable")]
        figures.note("everything", ranked, question.relevant)
        for view, group in (("people", people), ("long", long)):
            figures.note(view, [name for name in ranked if name in group], question.relevant & group)
    given = Given(model, size, dict(zip(passages(said, spans), vectors, strict=True)))
    with tempfile.TemporaryDirectory() as folder, Appliance.open(Path(folder) / "home", embedder=given) as memory:
        memory.ingest(write_jsonl(chat, Path(folder))[0])
        for question in chat.questions:
            hits = memory.search(question.text, limit=20)
            figures.note("search", [hit.external_id for hit in hits], question.relevant)


def _told(rows: Sequence[Row], shipped: Sequence[Row], plain: Sequence[Row]) -> dict[str, Any]:
    told: dict[str, Any] = {key: value for key, value in mean(rows).items() if key in ("recall@10", "mrr")}
    if rows is not shipped:
        told["beyond shipped, 95 %"] = _interval(rows, shipped)
    if rows is not plain and plain is not shipped:
        told["beyond plain, 95 %"] = _interval(rows, plain)
    return told


def _interval(these: Sequence[Row], those: Sequence[Row]) -> list[float]:
    """Where the mean difference in recall@10 lies in 95 of 100 resamplings of the questions."""
    differences = np.array([one["recall@10"] - other["recall@10"] for one, other in zip(these, those, strict=True)])
    drawn = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    return [round(float(bound), 3) for bound in np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, metavar="N", help="only N chats")
    parser.add_argument("--from", type=int, default=0, metavar="M", dest="skipped", help="leave out the first M")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES)
    given = parser.parse_args()
    chats = islice(beam(), given.skipped, given.skipped + given.chats if given.chats else None)
    default = appliance_models.load()
    assert isinstance(default, OnnxEmbedder)
    print(json.dumps(run(chats, default, given.sizes), indent=1))
