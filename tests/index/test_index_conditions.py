"""A table of filters, as people, tags and attachments make them, on every index: the embedded one, a server's, the
archive, and the two tiers together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from index_points import DIMENSION, HOUR, START, passes, random_filters, random_point, unit

from appliance.store.index.archive_index import ArchiveIndex
from appliance.store.index.archive_segments import ArchivedPoint
from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.edge import open_edge
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import IndexPoint, LegQuery
from appliance.store.index.remote import create_remote
from appliance.store.index.server import ServerOptions
from appliance.store.index.tiers import TieredIndex
from appliance.types import Filters, Scope, SessionPart
from tests import qdrant_server

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

POINTS = 300
ALL = Filters(Scope("ana", ""), roles=("user", "assistant", "tool", "system"))
IDENTITY = CollectionIdentity("recall", "a home", "a model", DIMENSION)

TABLE: Mapping[str, Filters] = {
    "one author": replace(ALL, authors=("Ana",)),
    "several authors": replace(ALL, authors=("Ana", "日本", "no one")),
    "an author in some sessions": replace(ALL, author_sessions=(("Ana", (1, 3)),)),
    "authors in different sessions": replace(ALL, author_sessions=(("Ana", (1, 3)), ("Ben", (2,)))),
    "an author in no session": replace(ALL, author_sessions=(("Ana", ()),)),
    "an author everywhere, another in a session": replace(ALL, authors=("Ben",), author_sessions=(("Ana", (2, 4)),)),
    "without an author": replace(ALL, unsigned=True),
    "me": replace(ALL, authors=("日本",), author_sessions=(("Ana", (5,)),), unsigned=True),
    "me in conversation": replace(ALL, roles=(), authors=("日本",), unsigned=True),
    "me from a role that has none": replace(ALL, roles=("tool",), unsigned=True),
    "me in a time": replace(ALL, unsigned=True, authors=("Ben",), since=START, until=START + 9 * HOUR),
    "some sessions": replace(ALL, sessions=(2, 4, 99)),
    "no session": replace(ALL, sessions=()),
    "a person in some sessions": replace(ALL, sessions=(1, 2), author_sessions=(("Ben", (2, 3)),), unsigned=True),
    "some ids": replace(ALL, chunks=tuple(range(10, 200, 3))),
    "few ids": replace(ALL, chunks=(18, 20, 22, 24, 26)),
    "no id": replace(ALL, chunks=()),
    "ids that nothing has": replace(ALL, chunks=(100_000, 100_001)),
    "ids of a person in sessions": replace(ALL, chunks=tuple(range(250)), authors=("Ana",), sessions=(1, 2, 3)),
    "what a session withholds": replace(ALL, unsigned=True, exempt_parts=(SessionPart(2), SessionPart(3))),
    "an agent's": replace(ALL, scope=Scope("ana", "", "coder"), author_sessions=(("Ana", (1, 2)),)),
    "another user's": replace(ALL, scope=Scope("nobody", ""), unsigned=True),
}


@pytest.fixture(scope="module")
def points() -> Mapping[int, IndexPoint]:
    chance = random.Random(11)
    made = {id: random_point(id, chance) for id in range(1, POINTS + 1)}
    # Half of them are of one scope, so that its filters find something.
    own = {
        id: replace(made[id], fields=replace(made[id].fields, user_id="ana", namespace=""))
        for id in range(2, POINTS, 2)
    }
    return made | own


@pytest.fixture(scope="module")
def indexes(
    tmp_path_factory: pytest.TempPathFactory, points: Mapping[int, IndexPoint]
) -> Iterator[Mapping[str, object]]:
    folder = tmp_path_factory.mktemp("conditions")
    vectors = np.stack([point.vector for point in points.values()])
    archive, cold = (ArchiveIndex(folder / name, DIMENSION, lambda rows: vectors[rows]) for name in ("all", "cold"))
    edge, hot = open_edge(folder / "edge", DIMENSION), open_edge(folder / "hot", DIMENSION)
    every = [ArchivedPoint(point, id - 1) for id, point in points.items()]
    for start in range(0, POINTS, 100):  # several segments
        archive.append(every[start : start + 100])
    cold.append([one for one in every if one.point.id % 3])
    edge.upsert(list(points.values()))
    hot.upsert([point for id, point in points.items() if not id % 3])
    with qdrant_server.serving() as running:
        server = create_remote(ServerNodes(ServerOptions((running.nodes[0].url,))), IDENTITY, "a token")
        server.upsert(list(points.values()))
        yield {"embedded": edge, "server": server, "archive": archive, "tiers": TieredIndex(hot, cold)}
        server.close()
    edge.close()
    hot.close()


def found(index: object, filters: Filters) -> set[int]:
    query = LegQuery("dense", vector=unit(1))
    if isinstance(index, ArchiveIndex):
        return {scored.id for scored in index.search(query, filters, POINTS, {})}
    if isinstance(index, TieredIndex):
        return {scored.id for scored in index.search([query], filters, POINTS)[0]}
    return {scored.id for scored in index.search([query], filters, POINTS)[0]}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TABLE)
def test_every_index_finds_what_a_filter_says(
    indexes: Mapping[str, object], points: Mapping[int, IndexPoint], name: str
) -> None:
    expected = {id for id, point in points.items() if passes(point, TABLE[name])}
    assert {kind: found(index, TABLE[name]) for kind, index in indexes.items()} == dict.fromkeys(indexes, expected)


def test_most_rows_of_the_table_find_something(points: Mapping[int, IndexPoint]) -> None:
    empty = {name for name, filters in TABLE.items() if not any(passes(point, filters) for point in points.values())}
    assert empty == {
        "an author in no session", "me from a role that has none", "no session", "no id", "ids that nothing has",
        "another user's",
    }  # fmt: skip


@pytest.mark.parametrize("trials", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_every_index_finds_what_any_filter_says(
    indexes: Mapping[str, object], points: Mapping[int, IndexPoint], trials: int
) -> None:
    for trial in range(trials):
        filters = random_filters(random.Random(1_000 + trial))
        expected = {id for id, point in points.items() if passes(point, filters)}
        answers = {kind: found(index, filters) for kind, index in indexes.items()}
        assert answers == dict.fromkeys(indexes, expected), filters
