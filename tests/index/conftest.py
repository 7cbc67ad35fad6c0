from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from index_points import DIMENSION

from appliance.store.index import collections
from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.edge import open_edge
from appliance.store.index.nodes import ServerNodes, in_memory
from appliance.store.index.protocol import VectorIndex
from appliance.store.index.remote import create_remote
from appliance.store.index.server import ServerOptions
from tests import qdrant_server

# The in-memory client says that it has neither payload indexes nor search settings; its answers are what we
# are after.
IN_MEMORY = ("ignore:Payload indexes have no effect:UserWarning", "ignore:Local mode performs exact:UserWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path.parent) == here:
            for ignored in IN_MEMORY:
                item.add_marker(pytest.mark.filterwarnings(ignored))


@pytest.fixture(scope="module", autouse=True)
def _every_field_index(every_field_index: None) -> None:
    """The indexes under test are those that a home has."""


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[VectorIndex]:
    index = open_edge(tmp_path / "index", DIMENSION)
    yield index
    index.close()


@pytest.fixture
def memory() -> Iterator[VectorIndex]:
    from qdrant_client import QdrantClient

    yield from made_on(in_memory(QdrantClient(":memory:")))


@pytest.fixture
def server(socket_enabled: None) -> Iterator[VectorIndex]:
    with qdrant_server.serving(nodes=2, api_key="a key") as running:
        yield from made_on(ServerNodes(ServerOptions(tuple(node.url for node in running.nodes), "a key")))


@pytest.fixture
def real(socket_enabled: None) -> Iterator[VectorIndex]:
    """A server or cluster of your own: QDRANT_URL or QDRANT_URLS, with commas between its nodes, and QDRANT_API_KEY."""
    urls = os.environ.get("QDRANT_URLS") or os.environ.get("QDRANT_URL")
    if not urls:
        pytest.skip("QDRANT_URL names no server")
    yield from made_on(ServerNodes(ServerOptions(tuple(urls.split(",")), os.environ.get("QDRANT_API_KEY", ""))))


def made_on(nodes: ServerNodes) -> Iterator[VectorIndex]:
    """A new index on a server, which goes afterwards."""
    name = f"test-{uuid4()}"
    index = create_remote(nodes, CollectionIdentity(name, "a home", "a model", DIMENSION), "a token")
    yield index
    index.close()
    collections.drop(nodes, name)
    nodes.close()


@pytest.fixture(params=["edge", "memory", "server", "real"])
def index(request: pytest.FixtureRequest) -> VectorIndex:
    found: VectorIndex = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def ids_of() -> Callable[..., list[list[int]]]:
    """The ids that each query finds."""

    def search(index: VectorIndex, *queries: object, filters: object = None, limit: int = 10) -> list[list[int]]:
        return [[scored.id for scored in leg] for leg in index.search(queries, filters, limit)]  # type: ignore[arg-type]

    return search
