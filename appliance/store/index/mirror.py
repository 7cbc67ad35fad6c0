"""An index that is being moved: updates go to the serving index and to the target, searches only to the first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreError
from appliance.store.index.protocol import IndexPoint, LegQuery, ScoredPoint, VectorIndex
from appliance.types import Filters, Scope


class MirrorTarget:
    """The index that a move fills. Once an update of it has failed it gets no more, because it is incomplete."""

    def __init__(self, index: VectorIndex) -> None:
        self.index = index
        self.failure: StoreError | None = None

    def update(self, operation: Callable[[VectorIndex], object]) -> None:
        if self.failure is None:
            try:
                operation(self.index)
            except StoreError as error:  # only the move fails; the serving index has the update
                self.failure = error


class MirrorIndex:
    """A serving index whose updates a target gets too. Closing it leaves the target open."""

    def __init__(self, serving: VectorIndex, target: MirrorTarget) -> None:
        self.serving = serving
        self.is_fresh = serving.is_fresh
        self._target = target

    def require_ready(self) -> None:
        self.serving.require_ready()

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        self.serving.upsert(points)
        self._target.update(lambda index: index.upsert(points))

    def delete(self, ids: Sequence[int]) -> None:
        self.serving.delete(ids)
        self._target.update(lambda index: index.delete(ids))

    def flush(self) -> None:
        self.serving.flush()
        self._target.update(lambda index: index.flush())

    def optimize(self) -> bool:
        return self.serving.optimize()

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        return self.serving.search(queries, filters, limit)

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        return self.serving.score(queries, ids, scope)

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        return self.serving.inverse_document_frequencies(query, scope)

    def count(self, filters: Filters | None = None) -> int:
        return self.serving.count(filters)

    def ids(self) -> Iterator[int]:
        return self.serving.ids()

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        return self.serving.vectors(ids)

    def close(self) -> None:
        self.serving.close()
