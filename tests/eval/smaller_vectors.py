"""What smaller vectors cost in recall: fewer dimensions, and bytes in place of float16.

    PYTHONPATH=.:models python -m tests.eval.smaller_vectors [locomo|beam] [--search] [--chunk-tokens N]

Prints recall of the dense leg alone, exactly (the best chunk of each message), with the interval of the difference to
the shipped vectors in 95 of 100 resamplings of the questions; with --search that of the whole search too, through the
public API. Each text is embedded once for all variants.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from appliance.bench import recall
from appliance.bench.datasets import BenchmarkCorpus
from appliance.ingest.chunk import Chunker, chunk_tokens
from appliance.store.chunks import ChunkableMessage
from appliance.store.passages import passage
from appliance.store.vectors import quantize
from appliance_models import EmbeddedQuery, OnnxEmbedder, ShortenedEmbedder, load
from tests.eval.runner import SETS

Vectors = NDArray[np.float32]

VARIANTS = (
    (0, "float16"), (256, "float16"), (128, "float16"), (64, "float16"), (0, "int8"), (256, "int8"), (128, "int8")
)  # fmt: skip
SEARCHED = ((0, "float16"), (256, "float16"), (128, "float16"), (0, "int8"))
DEPTHS = (5, 10)
RESAMPLINGS = 2000
OVERLAP = 0.15


class CachingEmbedder(OnnxEmbedder):
    """The shipped model, which embeds each text once."""

    def __init__(self, model: OnnxEmbedder) -> None:
        super().__init__(model.folder)
        self._passages: dict[str, tuple[Vectors, NDArray[np.int8]]] = {}
        self._queries: dict[str, EmbeddedQuery] = {}

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[NDArray[np.int8]]]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._passages]
        self._passages.update(
            zip(missing, zip(*super().embed_passages_with_tokens(missing), strict=True), strict=True) if missing else ()
        )
        found = [self._passages[text] for text in texts]
        return np.stack([vector for vector, _ in found]), [tokens for _, tokens in found]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages_with_tokens(texts)[0]

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        if text not in self._queries:
            self._queries[text] = super().embed_query_with_tokens(text)
        return self._queries[text]


def stored(vectors: Vectors, dimensions: int, dtype: str) -> Vectors:
    """Vectors as a ledger of a variant gives them back."""
    kept = cut(vectors, dimensions)
    if dtype == "int8":
        steps, scales = quantize(kept)
        return steps.astype(np.float32) * scales[:, np.newaxis]
    return kept.astype(np.float16).astype(np.float32)


def cut(vectors: Vectors, dimensions: int) -> Vectors:
    if not dimensions:
        return vectors
    kept = vectors[:, :dimensions]
    shortened: Vectors = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    return shortened


def dense_recall(
    conversation: BenchmarkCorpus, model: CachingEmbedder, tokens: int
) -> Iterator[tuple[tuple[int, str], list[list[float]]]]:
    """For each variant, the recall at each depth of each question of a conversation."""
    chunker = Chunker(model.count_tokens, chunk_tokens(tokens, model.max_tokens, model.max_positions), OVERLAP)
    messages = [
        ChunkableMessage(number, record.get("author"), record["content"], True, 0)
        for number, record in enumerate(conversation.records)
    ]
    owners, texts = [], []
    for message, spans in zip(messages, chunker.split(messages), strict=True):
        owners += [message.id] * len(spans)
        texts += [passage(message.author, message.text[span.start : span.end]) for span in spans]
    vectors = model.embed_passages(texts)
    questions = [question for question in conversation.questions if question.relevant]
    queries = np.stack([model.embed_query(question.text) for question in questions])
    ids = [record["message_id"] for record in conversation.records]
    for variant in VARIANTS:
        scores = cut(queries, variant[0]) @ stored(vectors, *variant).T
        best = np.full((len(questions), len(messages)), -np.inf, np.float32)
        np.maximum.at(best.T, np.array(owners), scores.T)
        order = np.argsort(-best, axis=1)[:, : max(DEPTHS)]
        yield (
            variant,
            [
                [
                    len(question.relevant & {ids[row] for row in ranked[:depth]}) / len(question.relevant)
                    for depth in DEPTHS
                ]
                for question, ranked in zip(questions, order, strict=True)
            ],
        )


def searched_recall(
    conversations: Sequence[BenchmarkCorpus], model: CachingEmbedder, dimensions: int, dtype: str
) -> list[Mapping[str, float]]:
    """The measures of each question by the whole search."""
    embedder = ShortenedEmbedder(model, dimensions) if dimensions else model
    with mock.patch.dict(os.environ, {"APPLIANCE_INDEX_LEDGER": dtype}):
        outcome = recall.run(conversations, ["evidence"], embedder=embedder)
    return [row.figures for row in outcome.rows["evidence"]]


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Where the mean lies in 95 of 100 resamplings."""
    random = np.random.default_rng(0)
    means = [random.choice(differences, len(differences)).mean() for _ in range(RESAMPLINGS)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=tuple(SETS), nargs="?", default="locomo")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--chunk-tokens", type=int, default=0)
    options = parser.parse_args()
    shipped = load()
    assert isinstance(shipped, OnnxEmbedder)
    model, conversations = CachingEmbedder(shipped), list(SETS[options.set]())
    rows: dict[tuple[int, str], list[list[float]]] = {variant: [] for variant in VARIANTS}
    for conversation in conversations:
        for variant, found in dense_recall(conversation, model, options.chunk_tokens):
            rows[variant] += found
    base = np.array(rows[VARIANTS[0]])
    for (dimensions, dtype), values in rows.items():
        found_recall = np.array(values)
        low, high = interval((found_recall - base)[:, -1])
        figures = "  ".join(f"recall@{d} {v:.3f}" for d, v in zip(DEPTHS, found_recall.mean(axis=0), strict=True))
        print(f"dense   {dimensions or 384:4} {dtype:8} {figures}  ({low:+.3f} to {high:+.3f})", flush=True)
    if options.search:
        os.environ["APPLIANCE_CHUNK_TOKENS"] = str(options.chunk_tokens)
        whole = None
        for dimensions, dtype in SEARCHED:
            measured = searched_recall(conversations, model, dimensions, dtype)
            figures = "  ".join(
                f"{name} {np.mean([row[name] for row in measured]):.3f}" for name in ("recall@5", "recall@10", "mrr")
            )
            tens = np.array([row["recall@10"] for row in measured])
            whole = tens if whole is None else whole
            low, high = interval(tens - whole)
            print(f"search  {dimensions or 384:4} {dtype:8} {figures}  ({low:+.3f} to {high:+.3f})", flush=True)


if __name__ == "__main__":
    main()
