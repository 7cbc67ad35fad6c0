"""What is a server's alone: its collection is checked, and its failures come out as ours."""

from __future__ import annotations

import pytest
from index_points import DIMENSION, point

from appliance.errors import StoreError, StoreVersion
from appliance.store.index.remote import open_remote


def test_a_collection_is_opened_again_if_it_fits() -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    open_remote(client, "recall", DIMENSION).upsert([point(1)])
    again = open_remote(client, "recall", DIMENSION)
    assert (again.is_fresh, again.count()) == (False, 1)
    with pytest.raises(StoreVersion, match="dimension"):
        open_remote(client, "recall", DIMENSION + 1)
    client.create_collection("other", models.VectorParams(size=DIMENSION, distance=models.Distance.DOT))
    with pytest.raises(StoreVersion) as refused:
        open_remote(client, "other", DIMENSION)
    assert "reindex" in (refused.value.hint or "")
    client.close()


def test_a_servers_failure_is_a_store_error() -> None:
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    index = open_remote(client, "recall", DIMENSION)
    client.delete_collection("recall")
    with pytest.raises(StoreError, match="server") as failed:
        index.count()
    assert failed.value.hint
    index.close()
