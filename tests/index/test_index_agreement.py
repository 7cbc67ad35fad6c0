"""The embedded engine against the client's in-memory mode, and both against the filters' own words."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from index_points import DIMENSION, passes, random_filters, random_point, text, unit

from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.edge import open_edge
from appliance.store.index.nodes import in_memory
from appliance.store.index.protocol import LegQuery, ScoredPoint, VectorIndex
from appliance.store.index.remote import create_remote

POINTS = 300
LIMIT = 15
# Half floats keep eleven bits of each of the dense vector's numbers.
DENSE = 2e-3
SPARSE = 1e-4


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VectorIndex, VectorIndex]]:
    from qdrant_client import QdrantClient

    chance = random.Random(7)
    points = [random_point(id, chance) for id in range(1, POINTS + 1)]
    edge = open_edge(tmp_path_factory.mktemp("agreement") / "index", DIMENSION)
    identity = CollectionIdentity("recall", "a home", "a model", DIMENSION)
    memory = create_remote(in_memory(QdrantClient(":memory:")), identity, "a token")
    for index in (edge, memory):
        index.upsert(points)
        # Half of them once more as other points, so that what was replaced or deleted is in play too.
        again = random.Random(8)
        index.upsert([random_point(id, again) for id in range(1, POINTS // 2)])
        index.delete(range(5, POINTS, 7))
        index.flush()
    yield edge, memory
    edge.close()
    memory.close()


def queries(chance: random.Random) -> list[LegQuery]:
    return [
        LegQuery("dense", vector=unit(chance.randint(10_000, 20_000))),
        LegQuery("own", text=text(chance, 5)),
        LegQuery("window", text=text(chance, 5)),
    ]


def assert_same(one: list[ScoredPoint], other: list[ScoredPoint], tolerance: float, limit: int) -> None:
    """The same scores place by place; the same ids but for those too close to the last to tell apart."""
    assert [s.score for s in one] == pytest.approx([s.score for s in other], abs=tolerance)
    if not one:
        return
    edge = min(one[-1].score, other[-1].score) + 2 * tolerance if len(one) == limit else float("-inf")
    first, second = {s.id for s in one}, {s.id for s in other}
    assert {s.id for s in one if s.score > edge} <= second
    assert {s.id for s in other if s.score > edge} <= first


tried = pytest.mark.parametrize("trials", [40, pytest.param(400, marks=pytest.mark.slow)])


@tried
def test_the_same_points_are_found_with_the_same_scores(both: tuple[VectorIndex, VectorIndex], trials: int) -> None:
    edge, memory = both
    chance = random.Random(1)
    found = 0
    for _ in range(trials):
        filters = random_filters(chance) if chance.random() < 0.9 else None
        # Statistics over everybody's points count deleted ones until the engine settles; a scope's never do.
        asked = queries(chance)[: 1 if filters is None else 3]
        for query, one, other in zip(
            asked, edge.search(asked, filters, LIMIT), memory.search(asked, filters, LIMIT), strict=True
        ):
            assert_same(one, other, DENSE if query.leg == "dense" else SPARSE, LIMIT)
            found += len(one)
    assert found > trials


@tried
def test_filters_pass_what_they_promise(both: tuple[VectorIndex, VectorIndex], trials: int) -> None:
    chance = random.Random(7)
    points = {id: random_point(id, chance) for id in range(1, POINTS + 1)}
    again = random.Random(8)
    points |= {id: random_point(id, again) for id in range(1, POINTS // 2)}
    for id in range(5, POINTS, 7):
        del points[id]
    query = [LegQuery("dense", vector=unit(1))]
    for trial in range(trials):
        filters = random_filters(random.Random(trial))
        expected = {id for id, point in points.items() if passes(point, filters)}
        assert {s.id for s in both[0].search(query, filters, POINTS)[0]} == expected, filters
        assert [index.count(filters) for index in both] == [len(expected)] * 2


def test_exact_scores_agree(both: tuple[VectorIndex, VectorIndex]) -> None:
    edge, memory = both
    chance = random.Random(3)
    for _ in range(50):
        scope = random_filters(chance).scope if chance.random() < 0.8 else None
        asked = queries(chance)[: 1 if scope is None else 3]
        ids = [chance.sample(range(1, POINTS + 50), chance.choice((0, 60))) for _ in asked]
        for query, one, other in zip(
            asked, edge.score(asked, ids, scope), memory.score(asked, ids, scope), strict=True
        ):
            assert one.keys() == other.keys()
            tolerance = DENSE if query.leg == "dense" else SPARSE
            assert [one[id] for id in sorted(one)] == pytest.approx([other[id] for id in sorted(one)], abs=tolerance)
