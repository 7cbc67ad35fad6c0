"""What the owner of a home and its reader processes write to each other: frames, each a pickled value behind its
length.

Both ends are processes of this program on pipes of their own, so that no frame comes from elsewhere.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from appliance.errors import ApplianceError
from appliance.retrieval.resources import Page, SearchQuery
from appliance.runtime.metrics import Stage
from appliance.store.index.protocol import ScoredPoint
from appliance.types import Hits

_LENGTH_BYTES = 4

CallName = Literal[
    "search", "score", "inverse_document_frequencies", "count",
    "search_archive", "score_archive", "archive_statistics",
    "embed", "read_tokens",
]  # fmt: skip
"""What a reader asks the owner for: operations of the index and of the archive index, the vectors of a query, token
vectors."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A search that a reader carries out. ``is_embedding``, ``has_tokens`` and ``archived``, the number of archived
    points or None, say what the owner can be asked for; the other values are those of ``SearchResources``."""

    query: SearchQuery
    page: Page
    generation: int
    is_embedding: bool
    has_tokens: bool
    archived: int | None
    unavailable_reason: str
    recent_vectors: Mapping[int, NDArray[np.float32]]
    model: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """What a reader needs of the owner. The owner answers with a ``CallResult``."""

    name: CallName
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call, or its error."""

    value: Any = None
    error: ApplianceError | None = None


@dataclass(frozen=True, slots=True)
class ReadyFrame:
    """The reader has opened the database, and waits for searches. ``version`` is that of its program, which may have
    been updated since the owner started."""

    version: str


@dataclass(frozen=True, slots=True)
class HitsFrame:
    """The hits of a search, and the seconds that its stages took."""

    hits: Hits
    stages: Sequence[tuple[Stage, float]]


@dataclass(frozen=True, slots=True)
class NotFound:
    """The reader could not carry out the search; ``reason`` says why, without words of a text."""

    reason: str


PackedPoints = Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]
"""Scored points of each query as columns, which take a tenth of the time to be written and read."""

PackedTokens = tuple[list[int], list[int], NDArray[np.int8] | None]
"""Token vectors: the messages, how many each has, and all of them one after the other."""


def pack_points(found: Sequence[Sequence[ScoredPoint]]) -> PackedPoints:
    return [
        (np.array([point.id for point in leg], np.int64), np.array([point.score for point in leg], np.float64))
        for leg in found
    ]


def unpack_points(packed: PackedPoints) -> list[list[ScoredPoint]]:
    return [list(map(ScoredPoint, ids.tolist(), scores.tolist())) for ids, scores in packed]


def pack_tokens(found: Mapping[int, NDArray[np.int8]]) -> PackedTokens:
    return [*found], [len(one) for one in found.values()], np.concatenate([*found.values()]) if found else None


def unpack_tokens(packed: PackedTokens) -> dict[int, NDArray[np.int8]]:
    keys, lengths, flat = packed
    return {} if flat is None else dict(zip(keys, np.split(flat, np.cumsum(lengths)[:-1]), strict=True))


def write(stream: BinaryIO, frame: object) -> None:
    """Write a frame and flush it."""
    data = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    stream.flush()


def read(stream: BinaryIO) -> object | None:
    """Return the next frame; None if the stream ends before its end, or it is none that this program knows."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    data = stream.read(size := int.from_bytes(length, "big"))
    try:
        found: object = pickle.loads(data) if len(data) == size else None
    except Exception:  # whatever a class of another version raises
        return None
    return found
