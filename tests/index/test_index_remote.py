"""What is a server's alone: how it is reached, whose its collections are, and how its failures come out."""

from __future__ import annotations

import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from index_points import DIMENSION, point, random_filters, random_point, unit

from appliance.errors import ConfigError, IndexUnavailable, StoreError
from appliance.store.index import collections, nodes, remote
from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import LegQuery
from appliance.store.index.remote import RemoteIndex, create_remote
from appliance.store.index.server import CollectionLayout, ServerOptions
from tests import qdrant_server
from tests.qdrant_server import QdrantServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

IDENTITY = CollectionIdentity("recall-h1-g1", "h1", "a model", DIMENSION)
KEY = "s3cret-k3y"


@pytest.fixture
def cluster() -> Iterator[QdrantServer]:
    with qdrant_server.serving(nodes=3) as running:
        yield running


def reached(server: QdrantServer, **options: Any) -> ServerNodes:
    return ServerNodes(ServerOptions(tuple(node.url for node in server.nodes), **options))


def test_a_key_is_sent_and_a_wrong_one_is_an_error_that_does_not_show_it() -> None:
    with qdrant_server.serving(api_key=KEY) as running:
        create_remote(reached(running, api_key=KEY), IDENTITY, "t").upsert([point(1)])
        assert {request.key for request in running.log} == {KEY}
        for wrong in ("", "another key"):
            with pytest.raises(IndexUnavailable, match="refuses the key") as refused:
                collections.state(reached(running, api_key=wrong), IDENTITY.name)
            assert "APPLIANCE_INDEX_API_KEY" in (refused.value.hint or "")
            assert "another key" not in str(refused.value)
    assert KEY not in repr(ServerOptions(("http://x",), KEY))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    found = folder / "certificate.pem", folder / "key.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
        f" -addext subjectAltName=IP:127.0.0.1 -out {found[0]} -keyout {found[1]}"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl makes no certificate here")
    return found


def test_a_server_with_a_certificate_of_ones_own_is_trusted_if_its_file_is_named(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ssl.SSLContext, "load_verify_locations")  # the suite's, which loads no certificates
    with qdrant_server.serving(certificate=certificate) as running:
        assert running.url.startswith("https://")
        with pytest.raises(IndexUnavailable, match="certificate"):
            collections.state(reached(running), IDENTITY.name)
        assert collections.state(reached(running, ca_file=str(certificate[0])), IDENTITY.name) is None
        with pytest.raises(ConfigError, match="can't be read"):
            collections.state(reached(running, ca_file="/no/such/file"), IDENTITY.name)


def test_a_key_without_encryption_is_exposed_beyond_this_machine_only() -> None:
    def is_exposed(url: str, key: str = KEY) -> bool:
        return ServerOptions((url,), key).is_key_exposed

    assert is_exposed("http://10.0.0.7:6333") and is_exposed("http://qdrant.example")
    assert not is_exposed("https://qdrant.example") and not is_exposed("http://qdrant.example", "")
    assert not is_exposed("http://127.0.0.1:6333") and not is_exposed("http://localhost:6333")


def test_another_node_answers_for_one_that_has_stopped(cluster: QdrantServer) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    index.upsert([point(id) for id in range(1, 6)])
    for away in range(2):
        cluster.nodes[away].is_away = True
        assert index.count() == 5
        assert {found.id for found in index.search([LegQuery("dense", vector=unit(3))], None, 2)[0]} > {3}
    index.delete([1])
    assert cluster.log[-1].node == 2 and index.count() == 4


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_node_that_is_out_of_order_is_passed_by(cluster: QdrantServer, status: int) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    cluster.nodes[0].fault = lambda request: status
    index.upsert([point(1)])
    assert index.count() == 1


def test_after_a_failure_nothing_is_tried_for_some_seconds(
    cluster: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    cluster.stop()
    for _ in range(5):
        with pytest.raises(IndexUnavailable, match="does not answer") as failed:
            index.count()
    assert failed.value.hint
    cluster.start()
    asked = len(cluster.log)
    with pytest.raises(IndexUnavailable):
        index.count()
    assert len(cluster.log) == asked
    now = time.monotonic()
    monkeypatch.setattr(nodes.time, "monotonic", lambda: now + nodes.RETRY_SECONDS + 1)
    assert index.count() == 0


def test_a_server_that_does_not_answer_in_time_is_away() -> None:
    with qdrant_server.serving() as running:
        index = create_remote(reached(running, timeout=0.2), IDENTITY, "t")
        running.nodes[0].delay = 0.6
        began = time.monotonic()
        with pytest.raises(IndexUnavailable, match="no answer in time"):
            index.count()
        assert time.monotonic() - began < 0.5


def test_that_nobody_listens_is_known_without_loading_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setattr(nodes, "_connect", lambda *_: pytest.fail("it was loaded"))
    with pytest.raises(IndexUnavailable, match="Connection refused"):
        collections.state(ServerNodes(ServerOptions((url,))), IDENTITY.name)


def test_a_refused_request_is_a_store_error_and_no_reason_to_leave_the_server_alone(cluster: QdrantServer) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    cluster.nodes[0].fault = lambda request: 400 if "count" in request.what else None
    with pytest.raises(StoreError, match="can't count") as refused:
        index.count()
    assert not isinstance(refused.value, IndexUnavailable)
    index.upsert([point(1)])
    assert {request.node for request in cluster.log} == {0}


def test_a_missing_collection_says_how_it_is_made_again(cluster: QdrantServer) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    cluster.store.delete_collection(IDENTITY.name)
    with pytest.raises(IndexUnavailable, match="missing") as failed:
        index.search([LegQuery("dense", vector=unit(3))], None, 2)
    assert "reindex" in (failed.value.hint or "")


def test_updates_and_later_searches_notice_that_another_copy_has_taken_over(
    cluster: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = create_remote(reached(cluster), IDENTITY, "mine")
    index.upsert([point(1)])
    collections.renew_token(reached(cluster), IDENTITY.name, "theirs")
    for update in (lambda: index.upsert([point(2)]), lambda: index.delete([1]), index.require_ready):
        with pytest.raises(IndexUnavailable, match="taken over") as refused:
            update()
        assert "index claim" in (refused.value.hint or "")
    assert cluster.ids(IDENTITY.name) == {1}
    monkeypatch.setattr(remote, "_OWNER_CHECK_SECONDS", 0.0)
    with pytest.raises(IndexUnavailable, match="taken over"):
        index.search([LegQuery("dense", vector=unit(3))], None, 2)


def test_a_node_that_does_not_know_the_new_token_yet_is_no_other_owner(cluster: QdrantServer) -> None:
    create_remote(reached(cluster), IDENTITY, "former")
    found = collections.state(reached(cluster), IDENTITY.name)
    assert found is not None
    index = remote.open_remote(reached(cluster), IDENTITY, "new", found)
    index.upsert([point(1)])
    collections.renew_token(reached(cluster), IDENTITY.name, "new")
    index.upsert([point(2)])
    assert index.count() == 2


def test_many_points_are_sent_in_several_requests_of_which_some_are_in_flight(cluster: QdrantServer) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    cluster.nodes[0].delay = 0.02
    began = time.monotonic()
    index.upsert([point(id) for id in range(1, 2049)])
    assert index.count() == 2048
    assert len(cluster.asked("PUT /collections/{}/points")) == 8
    assert time.monotonic() - began < 30
    index.close()
    with pytest.raises(StoreError, match="closed"):
        index.count()


def test_a_failed_request_of_several_is_an_error(cluster: QdrantServer) -> None:
    index = create_remote(reached(cluster), IDENTITY, "t")
    for node in cluster.nodes:
        node.fault = lambda request: 500 if len(cluster.asked("PUT /collections/{}/points")) >= 3 else None
    with pytest.raises(IndexUnavailable):
        index.upsert([point(id) for id in range(1, 2049)])


# --- the layout of a collection ----------------------------------------------------------------------


def created(server: QdrantServer, layout: CollectionLayout) -> tuple[RemoteIndex, dict[str, Any]]:
    index = create_remote(reached(server, layout=layout), IDENTITY, "t")
    return index, server.asked("PUT /collections/{}")[-1].body


def test_a_collection_is_laid_out_as_the_settings_say(cluster: QdrantServer) -> None:
    _, body = created(cluster, CollectionLayout(shards=6, replicas=2, write_consistency=2))
    assert (body["shard_number"], body["replication_factor"], body["write_consistency_factor"]) == (6, 2, 2)
    dense = body["vectors"]["dense"]
    assert dense["on_disk"] and dense["hnsw_config"] == {"m": 0}
    assert dense["quantization_config"] == {"turbo": {"bits": "bits4", "always_ram": True}}
    assert len(cluster.asked("PUT /collections/{}/index")) == 9


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (CollectionLayout(quantization="scalar"), {"scalar": {"type": "int8", "always_ram": True}}),
        (CollectionLayout(quantization="binary", on_disk=False), {"binary": {}}),
        (CollectionLayout(quantization="none"), None),
    ],
)
def test_vectors_are_quantised_as_the_settings_say(
    cluster: QdrantServer, layout: CollectionLayout, expected: object
) -> None:
    _, body = created(cluster, layout)
    assert body["vectors"]["dense"].get("quantization_config") == expected


def test_a_graph_is_built_from_a_number_of_points_on(cluster: QdrantServer) -> None:
    _, body = created(cluster, CollectionLayout(graph_from=1_000_000))
    assert body["vectors"]["dense"]["hnsw_config"]["m"] == 16
    assert body["optimizers_config"] == {"indexing_threshold": 1_000_000 * DIMENSION * 2 // 1024}


def test_all_points_of_a_user_are_in_one_shard_which_alone_is_searched(cluster: QdrantServer) -> None:
    import random

    index, body = created(cluster, CollectionLayout(shards=4, by_user=True))
    assert body["sharding_method"] == "custom" and body["shard_number"] == 1
    assert cluster.shard_keys[IDENTITY.name] == [f"users-{number}" for number in range(4)]
    index.upsert([random_point(id, random.Random(id)) for id in range(1, 60)])
    shards: dict[str, set[str]] = {}
    for request in cluster.asked("PUT /collections/{}/points"):
        users = {one["payload"]["scope"] for one in request.body["points"]}
        shards.setdefault(request.body["shard_key"], set()).update(users)
    filters = random_filters(random.Random(1))
    index.search([LegQuery("dense", vector=unit(1))], filters, 5)
    (searched,) = cluster.asked("POST /collections/{}/points/query/batch")[-1].body["searches"]
    assert searched["shard_key"] in {f"users-{number}" for number in range(4)}
    # The same after the settings have changed: a collection keeps its layout.
    found = collections.state(reached(cluster), IDENTITY.name)
    assert found is not None
    again = remote.open_remote(reached(cluster, layout=CollectionLayout(shards=9)), IDENTITY, "t", found)
    again.search([LegQuery("dense", vector=unit(1))], filters, 5)
    (later,) = cluster.asked("POST /collections/{}/points/query/batch")[-1].body["searches"]
    assert later["shard_key"] == searched["shard_key"]
    again.search([LegQuery("dense", vector=unit(1))], None, 5)
    (everyone,) = cluster.asked("POST /collections/{}/points/query/batch")[-1].body["searches"]
    assert everyone.get("shard_key") is None
    assert again.count() == 59


def test_an_interrupted_creation_is_completed(cluster: QdrantServer) -> None:
    cluster.nodes[0].fault = lambda request: 400 if request.what.endswith("/index") else None
    with pytest.raises(StoreError):
        create_remote(reached(cluster), IDENTITY, "t")
    cluster.nodes[0].fault = lambda request: None
    found = collections.state(reached(cluster), IDENTITY.name)
    assert found is not None and not found.metadata.get("complete")
    remote.open_remote(reached(cluster), IDENTITY, "t", found)
    assert cluster.metadata(IDENTITY.name)["complete"] and len(cluster.asked("PUT /collections/{}/index")) == 10
