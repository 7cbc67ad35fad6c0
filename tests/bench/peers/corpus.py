"""The corpus of the comparison, in files that each store's process reads: vectors, payload, queries, exact answers.

``write`` needs the product's own environment; ``read`` only numpy.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.bench import measure

DIMENSION = 384
USERS = 20
NEAREST = 10
_BLOCK = 4_096


@dataclass(frozen=True, slots=True)
class Payload:
    """What is stored with a point."""

    user: str
    session: int
    role: str
    at: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """``vectors`` (points, dimension) and ``queries`` (queries, dimension) are float32 of unit length. A query's filter
    is ``users``. ``nearest`` and ``nearest_of_user`` are the exact scores that a found point must reach."""

    vectors: NDArray[np.float32]
    payload: Sequence[Payload]
    queries: NDArray[np.float32]
    users: Sequence[str]
    nearest: NDArray[np.float32]
    nearest_of_user: NDArray[np.float32]


def write(folder: Path, count: int, searches: int) -> measure.Document:
    """Write the corpus of ``count`` chat messages; returns the times of numpy's exact scan."""
    from tests.bench import material

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = material.texts()[0]
    embedder = material.ProjectionEmbedder(DIMENSION)
    users = [f"user{number:02}" for number in range(USERS)]
    records = [record for records in material.chats(texts, count, users).values() for record in records]
    vectors = np.concatenate(
        [
            embedder.embed_passages([record["content"] for record in records[start : start + _BLOCK]])
            for start in range(0, count, _BLOCK)
        ]
    )
    # Every twentieth point belongs to the same user, whoever said it.
    payload = [
        {"user": users[row % USERS], "session": row // 50, "role": record["role"], "at": 1_700_000_000 + 60 * row}
        for row, record in enumerate(records)
    ]
    asked = material.questions(texts, searches)
    queries = embedder.embed_passages(asked)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "queries.npy", queries)
    (folder / "payload.json").write_text(json.dumps(payload))
    nearest, of_user, taken = [], [], []
    for number, query in enumerate(queries):
        began = time.perf_counter()
        scores = vectors @ query
        best = np.partition(scores, -NEAREST)[-NEAREST]
        taken.append(time.perf_counter() - began)
        nearest.append(best)
        of_user.append(np.partition(scores[number % USERS :: USERS], -NEAREST)[-NEAREST])
    np.save(folder / "nearest.npy", np.array(nearest, np.float32))
    np.save(folder / "nearest_of_user.npy", np.array(of_user, np.float32))
    return measure.percentiles(taken)


def read(folder: Path) -> Corpus:
    """Return the corpus in a folder; its vectors stay in their file until they are read."""
    queries = np.load(folder / "queries.npy")
    return Corpus(
        np.load(folder / "vectors.npy", mmap_mode="r"),
        [Payload(**one) for one in json.loads((folder / "payload.json").read_text())],
        queries,
        [f"user{number % USERS:02}" for number in range(len(queries))],
        np.load(folder / "nearest.npy"),
        np.load(folder / "nearest_of_user.npy"),
    )
