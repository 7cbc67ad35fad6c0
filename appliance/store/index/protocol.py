"""The protocol of a vector index, with two implementations.

``edge`` is the embedded engine (qdrant-edge-py), ``remote`` a Qdrant server or cluster through qdrant-client. Both
store the same points: ids, vectors and filter fields, never text.

    dense     the embedding of the chunk (cosine)
    own       BM25 sparse vector of the chunk's text            } the index applies the inverse
    window    BM25 sparse vector of the message with neighbours } document frequency at query time,
    summary   BM25 sparse vector of a summary's chunk           } over the texts of the same user

A message's chunk has ``own`` and ``window``, a summary's chunk has ``summary`` instead, so that the frequency of a word
among messages does not depend on the summaries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass
from appliance.types import Filters, Level, Role, Scope

Leg = Literal["dense", "own", "window", "summary"]
LEGS: tuple[Leg, ...] = ("dense", "own", "window", "summary")

PointKind = Role | Literal["summary"]
"""What a point belongs to: a message of some role, or a summary."""

SCHEMA_VERSION = 5
"""Raised whenever points are written differently (fields, vectors, encoding of texts), so that an older index is
rebuilt instead of searched wrongly."""


@dataclass(frozen=True, slots=True)
class PointFields:
    """The filter fields of a point. ``conversational`` is True for what a search without roles finds: conversational
    messages, and pages of documents. ``at`` is in microseconds since 1970, None where the source gave no time, and
    ``author`` None where it named none. Only searches with its session among the exempt parts find a ``withheld``
    point. ``level`` is that of a summary, None for a message."""

    user_id: str
    namespace: str
    agents: tuple[str, ...]
    session: int
    role: PointKind
    source: str
    conversational: bool
    at: int | None
    withheld: bool = False
    level: Level | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """One chunk of a message or a summary. ``id`` is positive; ``vector`` has shape (dimension,), float32, finite and
    of unit length; the index turns the texts ``own``, ``window`` and ``summary`` into sparse vectors."""

    id: int
    vector: NDArray[np.float32]
    own: str
    window: str
    fields: PointFields
    summary: str = ""


class ScoredPoint(NamedTuple):
    """The raw score of a point in one leg: cosine for dense, BM25 for the others."""

    id: int
    score: float


@dataclass(frozen=True, slots=True)
class LegQuery:
    """The query of one leg: a vector for dense, a text for the others. ``weights`` are factors of the text's terms, by
    which the inverse document frequencies of the index are multiplied; 1 for those that it does not name."""

    leg: Leg
    vector: NDArray[np.float32] | None = None
    text: str | None = None
    weights: Mapping[int, float] | None = None


class VectorIndex(Protocol):
    """The operations of a vector index. Errors of the underlying engine are raised as StoreError.

    ``is_fresh`` is True if opening has created the index, so that it has no points.
    """

    is_fresh: bool

    def require_ready(self) -> None:
        """Check that updates would reach the index, before work is spent on making them.

        Raises:
            IndexUnavailable: They would not: the server is away, or another copy of this memory has taken over.
        """

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        """Add or replace points. All input is checked before it reaches the engine, because the engine may replay a
        refused update from its log.

        Raises:
            UsageError: A point is invalid.
        """

    def delete(self, ids: Sequence[int]) -> None:
        """Remove points; ids that do not exist are no error."""

    def flush(self) -> None:
        """Return once all earlier updates would survive a power cut."""

    def optimize(self) -> bool:
        """Do the engine's housekeeping while nothing else runs; returns whether there was any."""

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        """Return the best ``limit`` points of each query, best first, without zero scores of sparse legs.

        ``filters=None`` searches the points of all users and kinds. A text without words (punctuation, emoji) finds
        nothing.
        """

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        """Return the exact scores of given points in each query, without points that share no term with it.

        Args:
            queries: The queries.
            ids: The points to score, for each query.
            scope: Whose texts the inverse document frequency is computed over, as for the filters of ``search``: a
                name or a topic of a user is rare only among others' texts. None means those of all users, including
                deleted texts until the engine is optimized. The scope does not filter.
        """

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        """Return the inverse document frequency of each term of a lexical query that occurs, by the term's number.
        ``scope`` is as in ``score``."""

    def count(self, filters: Filters | None = None) -> int:
        """Return the number of points that pass the filters."""

    def ids(self) -> Iterator[int]:
        """Yield all point ids, ascending, in bounded memory."""

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Return the stored dense vectors of points by id, as far as they exist."""

    def close(self) -> None:
        """Close the index; a second call does nothing, any other later call raises StoreError."""
