"""The index of a home whose Qdrant server is away: every operation says so. Ledgers and archive work without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from appliance.errors import IndexUnavailable
from appliance.store.index.protocol import IndexPoint, LegQuery, ScoredPoint
from appliance.types import Filters, Scope


class AwayIndex:
    """A ``VectorIndex`` that raises ``reason`` whatever it is asked for."""

    is_fresh = False

    def __init__(self, reason: IndexUnavailable) -> None:
        self._reason = reason

    def _refuse(self) -> NoReturn:
        raise self._reason

    def require_ready(self) -> None:
        self._refuse()

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        self._refuse()

    def delete(self, ids: Sequence[int]) -> None:
        self._refuse()

    def flush(self) -> None:
        self._refuse()

    def optimize(self) -> bool:
        return False

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        self._refuse()

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        self._refuse()

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        self._refuse()

    def count(self, filters: Filters | None = None) -> int:
        self._refuse()

    def ids(self) -> Iterator[int]:
        self._refuse()

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        self._refuse()

    def close(self) -> None:
        """There is nothing to close."""
