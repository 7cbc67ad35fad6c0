"""What runs where, up to a thousand million chunks and a hundred thousand users: memory, disk, shards, cost of a query.

    python -m tests.bench.capacity [--messages 4000] [--points 100000]

Bytes are measured on a home of so many messages, built here with a stand-in model of the shipped model's dimension;
the milliseconds of a flat search on an embedded index of so many points; the ratio of uploads on the tests' server.
What is computed from them beyond one machine rests on documented figures of Qdrant, which ``DOCUMENTED`` lists. Prints
the table of docs/scale.md, then one JSON document.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from appliance import Appliance
from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.edge import open_edge
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import IndexPoint, LegQuery, PointFields
from appliance.store.index.remote import create_remote
from appliance.store.index.server import ServerOptions
from appliance.types import Filters, Scope
from appliance_models import HashEmbedder
from tests import qdrant_server
from tests.bench import material, measure

DIMENSION = 384
USERS = 20
SEARCHES = 30
UPLOADED = 2_000

DOCUMENTED = {
    "overhead": (1.5, "memory = vectors * bytes * 1.5 (Qdrant, Capacity Planning)"),
    "turbo_bytes_a_dimension": (0.5, "4 bits a dimension, an eighth of float32 (Qdrant, Quantization)"),
}

POINTS_A_SHARD = 20_000_000
"""An assumption of ours, not a limit: such a shard has some 40 GB on disk, and is moved to another node in minutes."""

NODE_MEMORY_GB, NODE_LOAD = 64, 0.8
"""An assumption of ours: memory of a node, and how much of it the codes may take."""

SERVER_SECONDS = 0.2
"""How long the tests' server waits before it answers, in place of the work of a real one."""

LEVELS = ((100_000, 1), (1_000_000, 1), (10_000_000, 100), (100_000_000, 10_000), (1_000_000_000, 100_000))
"""Chunks, and the users who share them."""


def measured_home(messages: int) -> measure.Document:
    """Bytes a chunk of the database and of the ledgers."""
    texts = material.texts()[0]
    records = material.chats(texts, messages, ["me"])["me"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        path = material.write_jsonl(Path(folder) / "chats.jsonl", records)
        with Appliance.open(home, worker=False, embedder=HashEmbedder(dimension=DIMENSION)) as memory:
            memory.ingest(path)
            chunks = int(memory.status()["counts"]["chunks"])
        sizes = {"vectors": measure.disk_bytes(home / "vectors")}
        sizes["database"] = sum(part.stat().st_size for part in home.glob("recall.db*"))
    return {"chunks": chunks, **{f"{name}_bytes_a_chunk": round(size / chunks) for name, size in sizes.items()}}


def points(count: int) -> list[IndexPoint]:
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = material.texts()[0]
    return [
        IndexPoint(
            number + 1, vectors[number], texts[number % len(texts)], texts[number % len(texts)],
            PointFields(f"user{number % USERS}", "", (), number // 40, "user", "native", True, number),
        )
        for number in range(count)
    ]  # fmt: skip


def measured_search(count: int) -> measure.Document:
    """Milliseconds of the dense leg, flat and rescored, over all points and over those of one user of twenty; bytes on
    disk."""
    with tempfile.TemporaryDirectory() as folder:
        index = open_edge(Path(folder) / "index", DIMENSION)
        made = points(count)
        for start in range(0, count, 1000):
            index.upsert(made[start : start + 1000])
        index.optimize()
        query = [LegQuery("dense", vector=made[7].vector)]
        one = Filters(Scope("user7", ""))
        found = {
            name: measure.percentiles(
                [measure.seconds(lambda: index.search(query, filters, 100)) for _ in range(SEARCHES)]  # noqa: B023
            )["p50"]
            for name, filters in (("all_ms", None), ("one_user_ms", one))
        }
        index.close()
        size = measure.disk_bytes(Path(folder))
    per_point = {"ns_a_point": round(found["all_ms"] * 1e6 / count, 1), "index_bytes_a_point": round(size / count)}
    return {"points": count, **found, **per_point}


def measured_upload() -> measure.Document:
    """Points a second to the tests' server, one request at a time against several in flight. The server is Python in
    the same process, so that only the ratio says anything."""
    made = points(UPLOADED)
    rates = {}
    for name, batch in (("one_by_one", 256), ("in_flight", UPLOADED)):
        with qdrant_server.serving() as server:
            server.nodes[0].delay = SERVER_SECONDS
            nodes = ServerNodes(ServerOptions((server.url,)))
            index = create_remote(nodes, CollectionIdentity("capacity", "h", "m", DIMENSION), "t")
            began = time.perf_counter()
            for start in range(0, UPLOADED, batch):
                index.upsert(made[start : start + batch])
            rates[name] = UPLOADED / (time.perf_counter() - began)
            index.close()
            nodes.close()
    return {"in_flight_over_one_by_one": round(rates["in_flight"] / rates["one_by_one"], 2)}


def rows(home: measure.Document, search: measure.Document) -> list[list[str]]:
    """The table: measured bytes and nanoseconds, times documented factors."""
    overhead, code = DOCUMENTED["overhead"][0], DOCUMENTED["turbo_bytes_a_dimension"][0]
    found = []
    for chunks, users in LEVELS:
        disk = chunks * (home["database_bytes_a_chunk"] + home["vectors_bytes_a_chunk"]) / 1e9
        index = chunks * search["index_bytes_a_point"] / 1e9
        memory = chunks * DIMENSION * code * overhead / 1e9
        is_embedded = chunks <= 1_000_000
        replicas = 1 if chunks < 100_000_000 else 2
        shards = 1 if is_embedded else max(3, -(-chunks // POINTS_A_SHARD))
        nodes = 0 if is_embedded else max(3, math.ceil(memory * replicas / (NODE_MEMORY_GB * NODE_LOAD)))
        a_user = chunks / users
        found.append(
            [
                f"{chunks:,}", f"{users:,}", f"{disk:,.1f} GB", f"{index * replicas:,.1f} GB",
                f"{memory * replicas:,.1f} GB", "embedded" if is_embedded else f"{nodes} nodes",
                f"{shards} × {replicas}", f"{a_user * search['ns_a_point'] / 1e6:,.1f} ms",
                f"{chunks / shards * search['ns_a_point'] / 1e6:,.0f} ms",
            ]
        )  # fmt: skip
    return found


HEADS = (
    "chunks", "users", "home: database and vectors", "index on disk, all copies", "codes in memory, all copies",
    "where", "shards × copies", "scan of one user's points", "scan of a whole shard",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=4_000)
    parser.add_argument("--points", type=int, default=100_000)
    arguments = parser.parse_args()
    home, search = measured_home(arguments.messages), measured_search(arguments.points)
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for row in rows(home, search):
        print("| " + " | ".join(row) + " |")
    measure.show(
        {
            "benchmark": "capacity",
            "machine": measure.machine(),
            "measured": {"home": home, "search": search, "upload": measured_upload()},
            "assumed": {"points_a_shard": POINTS_A_SHARD, "node_memory_gb": NODE_MEMORY_GB, "node_load": NODE_LOAD},
            "documented": {name: {"value": value, "source": source} for name, (value, source) in DOCUMENTED.items()},
        }
    )


if __name__ == "__main__":
    main()
