"""Nothing wrong reaches an engine: it would keep it in its log and might apply it at the next open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from index_points import DIMENSION, point, unit

from appliance.errors import UsageError
from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import LegQuery, VectorIndex
from appliance.types import Filters, Scope

GOOD: Any = point(2, "cat")


def with_vector(vector: Any) -> Any:
    return replace(GOOD, vector=vector)


def changed(position: int, value: float) -> Any:
    vector = unit(2).copy()
    vector[position] = value
    return with_vector(vector)


BAD_POINTS: dict[str, Any] = {
    "id zero": replace(GOOD, id=0),
    "id negative": replace(GOOD, id=-1),
    "id too large": replace(GOOD, id=2**63),
    "id a bool": replace(GOOD, id=True),
    "id a text": replace(GOOD, id="7"),
    "id twice": point(1),
    "vector short": with_vector(unit(2)[:-1]),
    "vector long": with_vector(np.ones(DIMENSION + 1, np.float32)),
    "vector of rows": with_vector(np.ones((1, DIMENSION), np.float32)),
    "vector of nothing": with_vector(np.zeros(DIMENSION, np.float32)),
    "vector next to nothing": with_vector(np.full(DIMENSION, 1e-20, np.float32)),
    "vector of integers": with_vector(np.ones(DIMENSION, np.int32)),
    "vector a list": with_vector([1.0] * DIMENSION),
    "vector with NaN": changed(3, np.nan),
    "vector with infinity": changed(0, np.inf),
    "vector with both": with_vector(np.array([np.inf, -np.inf] * (DIMENSION // 2), np.float32)),
    "vector far too large": changed(5, 3e38),
    "own not text": replace(GOOD, own=b"cat"),
    "window missing": replace(GOOD, window=None),
    "user not text": point(2, user_id=None),
    "user not Unicode": point(2, user_id="\ud83d"),
    "namespace not text": point(2, namespace=1),
    "agent not text": point(2, agents=(None,)),
    "source not text": point(2, source=None),
    "session a text": point(2, session="1"),
    "session a bool": point(2, session=True),
    "session too large": point(2, session=2**63),
    "role unknown": point(2, role="owner"),
    "talk a number": point(2, conversational=1),
    "withheld a number": point(2, withheld=0),
    "time with a fraction": point(2, at=1.5),
    "time too large": point(2, at=2**64),
}


def test_a_bad_point_is_refused_with_its_whole_batch(tmp_path: Path) -> None:
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(1, "dog"), replace(GOOD, own="fish")])
    for bad in BAD_POINTS.values():
        with pytest.raises(UsageError):
            index.upsert([point(1, "overwritten"), bad])
    index.close()
    index = open_edge(tmp_path / "index", DIMENSION)
    assert list(index.ids()) == [1, 2]
    queries = [LegQuery("own", text=text) for text in ("dog", "fish", "overwritten", "cat")]
    assert [[s.id for s in leg] for leg in index.search(queries, None, 5)] == [[1], [2], [], []]
    index.close()


@pytest.mark.parametrize("kind", ["edge", "memory"])
def test_bad_questions_are_refused(kind: str, request: pytest.FixtureRequest) -> None:
    index: VectorIndex = request.getfixturevalue(kind)
    good = [LegQuery("own", text="cat")]
    ana = Scope("ana")
    bad_queries: list[Any] = [
        LegQuery("title", text="cat"),  # type: ignore[arg-type]
        LegQuery("dense", text="cat"),
        LegQuery("own", vector=unit(1)),
        LegQuery("dense", vector=unit(1)[1:]),
        LegQuery("dense", vector=np.zeros(DIMENSION, np.float32)),
        LegQuery("window", text=7),  # type: ignore[arg-type]
    ]
    for query in bad_queries:
        with pytest.raises(UsageError):
            index.search([query], None, 5)
        with pytest.raises(UsageError):
            index.score([query], [[1]], None)
    bad_limits: list[Any] = [0, -1, True, 2.0]
    for limit in bad_limits:
        with pytest.raises(UsageError):
            index.search(good, None, limit)
    bad_filters: list[Any] = [
        Filters(Scope(None)),  # type: ignore[arg-type]
        Filters(Scope("\udc00")),
        Filters(Scope("ana", agent_id=3)),  # type: ignore[arg-type]
        Filters(ana, session="x"),  # type: ignore[arg-type]
        Filters(ana, roles=("boss",)),  # type: ignore[arg-type]
        Filters(ana, sources=(None,)),  # type: ignore[arg-type]
        Filters(ana, since=1.5),  # type: ignore[arg-type]
        Filters(ana, until=2**70),
    ]
    for filters in bad_filters:
        with pytest.raises(UsageError):
            index.search(good, filters, 5)
        with pytest.raises(UsageError):
            index.count(filters)
    bad_ids: list[Any] = [0, -4, 2**63, "1", None, True]
    for id in bad_ids:
        with pytest.raises(UsageError):
            index.delete([1, id])
        with pytest.raises(UsageError):
            index.vectors([id])
        with pytest.raises(UsageError):
            index.score(good, [[1, id]], None)
    with pytest.raises(UsageError):
        index.score(good, [[1]], Scope(5))  # type: ignore[arg-type]


@pytest.mark.parametrize("dimension", [0, -1, 70_000, True, 3.0])
def test_bad_dimensions_are_refused_before_a_folder_is_made(tmp_path: Path, dimension: Any) -> None:
    with pytest.raises(UsageError):
        open_edge(tmp_path / "index", dimension)
    assert not (tmp_path / "index").exists()
