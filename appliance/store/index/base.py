"""The seam between the engine and Qdrant: one small protocol, two real implementations.

``edge`` is the embedded engine (qdrant-edge-py), ``remote`` a Qdrant server or cluster through
qdrant-client. Both hold the same points: ids, three vectors and filter fields, never text.

    dense     the chunk's embedding (cosine)
    own       BM25 sparse vector of the chunk's text            } inverse document frequency is
    window    BM25 sparse vector of the message with neighbours } applied by the index at query time,
    gist      BM25 sparse vector of a summary's piece           } over the same user's texts

A message's chunk has own and window, a summary's piece has gist in their place: how rare a word is among messages
does not depend on what was summarised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.types import Filters, Level, Role, Scope

Leg = Literal["dense", "own", "window", "gist"]
LEGS: tuple[Leg, ...] = ("dense", "own", "window", "gist")

Kind = Role | Literal["summary"]
"""What a point is of: a message of some role, or a summary."""

# Grows whenever a point would be written otherwise (fields, vectors, the way texts are encoded), so that an
# index made before is rebuilt instead of being searched wrongly.
SCHEMA = 3


@dataclass(frozen=True, slots=True)
class Fields:
    """A point's filter fields. ``talk`` is True for what a person or an assistant said in the open;
    ``at`` is microseconds since 1970, None where the source gave no time. ``withheld`` keeps it to its session: it
    is found only by questions that have it in their ``own``. ``level`` is a summary's, and None for a message."""

    user_id: str
    namespace: str
    agents: tuple[str, ...]
    session: int
    role: Kind
    source: str
    talk: bool
    at: int | None
    withheld: bool = False
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One chunk, or one piece of a summary. ``id`` is its key (> 0); ``vector`` has shape (dimension,), float32,
    finite, of unit length; ``own``, ``window`` and ``gist`` are texts, turned into sparse vectors by the index."""

    id: int
    vector: NDArray[np.float32]
    own: str
    window: str
    fields: Fields
    gist: str = ""


class Scored(NamedTuple):
    """A point's raw score in one leg: cosine for dense, BM25 for the others."""

    id: int
    score: float


@dataclass(frozen=True, slots=True)
class LegQuery:
    """What one leg looks for: a vector for dense, a text for the others."""

    leg: Leg
    vector: NDArray[np.float32] | None = None
    text: str | None = None


class Index(Protocol):
    """What the engine needs of a vector index. Errors of the engine beneath come out as StoreError.

    ``is_fresh`` is True when opening has created the index, so that it lacks every point.
    """

    is_fresh: bool

    def upsert(self, points: Sequence[Point]) -> None:
        """Add or replace points. Every input is checked before the call reaches the engine, because
        a refused update may still be replayed from its log."""

    def delete(self, ids: Sequence[int]) -> None:
        """Remove points; ids that are not there are no error."""

    def flush(self) -> None:
        """Return once all earlier updates would survive a power cut."""

    def settle(self) -> bool:
        """Do the engine's housekeeping, at rest; True if there was any."""

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[Scored]]:
        """The best ``limit`` points of each query, best first; zero scores of sparse legs are left out.

        ``filters=None`` searches everybody's points, of every kind. A text without a word (punctuation,
        emoji) finds nothing.
        """

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        """The exact scores of points in each query, ``ids`` naming those of each; a point that shares no term
        is absent.

        ``scope`` says whose texts tell how rare a word is, as the filters do in ``search``: one user's
        name or topic is rare only among strangers. None takes everybody's, the deleted included until the
        engine has settled. It narrows nothing.
        """

    def count(self, filters: Filters | None = None) -> int:
        """How many points pass the filters."""

    def ids(self) -> Iterator[int]:
        """All point ids, ascending, in bounded memory."""

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """The stored dense vectors of the given points (those that exist)."""

    def close(self) -> None:
        """Let go of the index; a second call does nothing, any other call afterwards raises StoreError."""
