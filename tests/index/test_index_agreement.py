"""The embedded engine against the client's in-memory mode, and both against the filters' own words; and that mode
behind a server on loopback, which gets the same over the wire."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from index_points import DIMENSION, passes, random_filters, random_point, text, unit

from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.edge import open_edge
from appliance.store.index.nodes import ServerNodes, in_memory
from appliance.store.index.protocol import LegQuery, ScoredPoint, VectorIndex
from appliance.store.index.remote import create_remote
from appliance.store.index.server import ServerOptions
from tests import qdrant_server

POINTS = 300
LIMIT = 15
# Half floats keep eleven bits of each of the dense vector's numbers.
DENSE = 2e-3
SPARSE = 1e-4


IDENTITY = CollectionIdentity("recall", "a home", "a model", DIMENSION)


def filled(index: VectorIndex) -> VectorIndex:
    chance = random.Random(7)
    index.upsert([random_point(id, chance) for id in range(1, POINTS + 1)])
    # Half of them once more as other points, so that what was replaced or deleted is in play too.
    again = random.Random(8)
    index.upsert([random_point(id, again) for id in range(1, POINTS // 2)])
    index.delete(range(5, POINTS, 7))
    index.flush()
    return index


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VectorIndex, VectorIndex]]:
    from qdrant_client import QdrantClient

    edge = filled(open_edge(tmp_path_factory.mktemp("agreement") / "index", DIMENSION))
    memory = filled(create_remote(in_memory(QdrantClient(":memory:")), IDENTITY, "a token"))
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


tried = pytest.mark.parametrize(
    "trials", [40, pytest.param(200, marks=pytest.mark.slow), pytest.param(2_000, marks=pytest.mark.campaign)]
)


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


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_server_answers_as_the_mode_behind_it(both: tuple[VectorIndex, VectorIndex]) -> None:
    memory = both[1]
    with qdrant_server.serving(nodes=2, api_key="a key") as running:
        options = ServerOptions(tuple(node.url for node in running.nodes), "a key")
        server = filled(create_remote(ServerNodes(options), IDENTITY, "a token"))
        assert list(server.ids()) == list(memory.ids())
        chance = random.Random(4)
        for _ in range(20):
            filters = random_filters(chance) if chance.random() < 0.9 else None
            scope = None if filters is None else filters.scope
            asked = queries(chance)
            ids = [chance.sample(range(1, POINTS + 50), 30) for _ in asked]
            for query, one, other in zip(
                asked, server.search(asked, filters, LIMIT), memory.search(asked, filters, LIMIT), strict=True
            ):
                assert_same(one, other, 1e-5 if query.leg == "dense" else SPARSE, LIMIT)
            scores = zip(server.score(asked, ids, scope), memory.score(asked, ids, scope), strict=True)
            assert all(one == pytest.approx(other, abs=1e-5) for one, other in scores)
            frequencies = [index.inverse_document_frequencies(asked[1], scope) for index in (server, memory)]
            assert frequencies[0] == pytest.approx(frequencies[1])
            assert server.count(filters) == memory.count(filters)
        some = list(memory.ids())[:20]
        expected, found = memory.vectors(some), server.vectors(some)
        assert expected.keys() == found.keys()
        for id, vector in expected.items():
            np.testing.assert_allclose(found[id], vector, atol=1e-6)


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
