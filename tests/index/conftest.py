from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from index_points import DIMENSION

from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import VectorIndex
from appliance.store.index.remote import connect, open_remote

# The in-memory client says that it has neither payload indexes nor search settings; its answers are what we
# are after.
IN_MEMORY = ("ignore:Payload indexes have no effect:UserWarning", "ignore:Local mode performs exact:UserWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for ignored in IN_MEMORY:
                item.add_marker(pytest.mark.filterwarnings(ignored))


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[VectorIndex]:
    index = open_edge(tmp_path / "index", DIMENSION)
    yield index
    index.close()


@pytest.fixture
def memory() -> Iterator[VectorIndex]:
    from qdrant_client import QdrantClient

    index = open_remote(QdrantClient(":memory:"), "recall", DIMENSION)
    yield index
    index.close()


@pytest.fixture
def server() -> Iterator[VectorIndex]:
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("QDRANT_URL names no server")
    name = f"test-{uuid4()}"
    index = open_remote(url, name, DIMENSION)
    yield index
    index.close()
    client = connect(url)
    client.delete_collection(name)
    client.close()


@pytest.fixture(params=["edge", "memory", "server"])
def index(request: pytest.FixtureRequest) -> VectorIndex:
    found: VectorIndex = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def ids_of() -> Callable[..., list[list[int]]]:
    """The ids that each query finds."""

    def search(index: VectorIndex, *queries: object, filters: object = None, limit: int = 10) -> list[list[int]]:
        return [[scored.id for scored in leg] for leg in index.search(queries, filters, limit)]  # type: ignore[arg-type]

    return search
