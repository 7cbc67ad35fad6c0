"""A large home: how fast it opens, how fast it answers, what it weighs; beside it qdrant-client's local mode.

    python -m tests.bench.scale --chunks 100000 [--home DIR] [--texts FILE] [--peer-points 20000]

Two homes of so many chunks are built through the real pipeline: ``alone`` belongs to one user, ``shared`` to
twenty. The model is a stand-in and the queries' vectors are computed beforehand: embedding is not what is
measured here. Each measurement runs in a fresh process. ``--home DIR`` keeps the homes there and uses them
again; ``--peer-points 100000`` measures the peer at full size (minutes, and gigabytes of memory).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appliance import Appliance
from appliance.retrieval import candidates, late_interaction, legs, pipeline, ranking
from appliance.store import check, chunks, generations, lexical, messages, neighbours, variants
from appliance.store.index.edge import EdgeIndex
from appliance.timestamps import to_microseconds
from tests.bench import material, measure

MODULE = "tests.bench.scale"
ALONE = "me"
USERS = tuple(f"user{number:02}" for number in range(material.USERS))
SEARCHES = 200
WARM_UP = 5
YARDSTICK_CALLS = 50
PEER_POINTS = 20_000
POOL = candidates.LEG_POOL_SIZE

TARGETS = {"open_s": 1.0, "search_p95_ms": 30.0, "one_user_p95_ms": 15.0, "rss_anon_mb": 400.0}

LEGS = (
    (EdgeIndex, "search"),
    (EdgeIndex, "score"),
    (pipeline, "parse_query"),
    (pipeline, "find_candidates"),
    (legs, "_propose_narrowed"),
    (legs, "from_index"),
    (chunks, "load_columns"),
    (chunks, "count_pending"),
    (pipeline, "rank"),
    (lexical, "sessions_by_title"),
    (lexical, "session_titles"),
    (ranking, "first_stage_features"),
    (ranking, "second_stage_features"),
    (late_interaction, "match_tokens"),
    (late_interaction, "match_pieces"),
    (late_interaction, "idf_mass"),
    (neighbours, "adjacent_keys"),
    (messages, "excerpts"),
    (chunks, "chunks_of"),
    (variants, "group_heads"),
    (pipeline, "diversify"),
    (pipeline, "build_hits"),
    (messages, "get"),
)
CHECKS = (
    (check, "check_database"),
    (check, "check_full_text"),
    (check, "check_coverage"),
    (check, "check_ledger"),
    (check, "check_index"),
)


def run(folder: Path, texts: Path | None, count: int, peer_points: int) -> measure.Document:
    """Build what is missing in ``folder``, then measure each thing in a process of its own."""
    machine = measure.machine()
    built = {
        "alone": build(folder / "alone", texts, count, [ALONE]),
        "shared": build(folder / "shared", texts, count, USERS),
    }
    given = ["--texts", str(texts)] if texts else []

    def measured(what: str, home: str, *more: str) -> measure.Document:
        measure.say(f"measuring {what} ({home})")
        return measure.in_fresh_process(
            MODULE, "--measure", what, "--home", str(folder / home), "--chunks", str(count), *given, *more
        )

    document: measure.Document = {
        "benchmark": "scale",
        "machine": machine,
        "texts": material.texts(texts)[1],
        "chunks": count,
        "built": built,
        "targets": TARGETS,
        "open": measured("open", "alone"),
        "open_again": measured("open", "alone"),
        "search": measured("search", "alone", "--user", ALONE),
        "search_one_of_twenty": measured("search", "shared", "--user", USERS[0]),
        "search_with_a_guest": _with_a_guest(folder, measured),
        "verify": measured("verify", "alone"),
        "disk_bytes": {home: measure.disk_bytes(folder / home) for home in ("alone", "shared")},
    }
    if peer_points:
        store = folder / f"peer-{peer_points}"
        document["qdrant_client_local"] = {
            "note": "dense leg alone, its own filter, the 200 best with payload: no text, no second leg, no ranking",
            "points": peer_points,
            "built": measured("peer-build", "shared", "--peer", str(store), "--peer-points", str(peer_points)),
            "search": measured("peer", "shared", "--peer", str(store), "--peer-points", str(peer_points)),
        }
    return document


def _with_a_guest(folder: Path, measured: Callable[..., measure.Document]) -> measure.Document:
    """The large user's searches once somebody else has a message in the same home: then word statistics
    have to be counted over the user's own."""
    guest = folder / "guest"
    shutil.rmtree(guest, ignore_errors=True)
    shutil.copytree(folder / "alone", guest)
    try:
        with Appliance.open(guest, embedder=material.ProjectionEmbedder(), worker=False) as memory:
            memory.sessions.create(title="A word", user_id="guest").add("user", "Only passing by.")
            memory.embed_pending()
        return measured("search", "guest", "--user", ALONE)
    finally:
        shutil.rmtree(guest)


def build(home: Path, texts: Path | None, count: int, users: Sequence[str]) -> measure.Document:
    """A home of ``count`` chunks through the real pipeline, unless it is there already."""
    done = home.parent / f"{home.name}.jsonl"
    if home.exists() and done.exists():
        return {"reused": True}
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    measure.say(f"building {home.name}: {count} chunks")
    began = time.perf_counter()
    spent = made = 0.0
    with Appliance.open(home, embedder=material.ProjectionEmbedder(), worker=False) as memory:
        with tempfile.TemporaryDirectory() as folder:
            for user, records in material.chats(material.texts(texts)[0], count, users).items():
                file = material.write_jsonl(Path(folder) / f"{user}.jsonl", records)
                report = memory.ingest(file, user_id=user, wait=False)
                assert report.complete, report
                spent, made = spent + report.seconds, made + report.chunks
        embed = measure.seconds(memory.embed_pending)
    done.write_text("")
    return {
        "reused": False,
        "seconds": round(time.perf_counter() - began, 1),
        "chunks": int(made),
        "stored_a_second": round(made / spent, 1),
        "put_a_second": round(made / embed, 1),
    }


# --- each in a process of its own ---------------------------------------------------------------------


def measure_open(home: Path, queries: Sequence[str]) -> measure.Document:
    """From nothing to the first answer."""
    embedder = material.ProjectionEmbedder()
    embedder.learn(queries)
    watch = measure.Stopwatch()
    with watch.watching((generations, "open_stores")):
        began = time.perf_counter()
        memory = Appliance.open(home, create=False, embedder=embedder, worker=False)
        opened = time.perf_counter()
        memory.search(queries[0])
        first = time.perf_counter()
        memory.search(queries[1])
        second = time.perf_counter()
    stores = watch.spent["generations.open_stores"]
    anonymous = measure.rss_anon_mb()
    memory.close()
    return {
        "open_s": round(opened - began + stores, 3),
        "appliance_open_s": round(opened - began, 3),
        "stores_s": round(stores, 3),
        "first_search_s": round(first - opened - stores, 3),
        "second_search_s": round(second - first, 3),
        "rss_anon_mb": anonymous,
    }


def measure_search(home: Path, queries: Sequence[str], user: str) -> measure.Document:
    """Searches of one user's memory, with their query vectors at hand."""
    embedder = material.ProjectionEmbedder()
    embedder.learn(queries)
    with Appliance.open(home, create=False, embedder=embedder, worker=False) as memory:
        for query in queries[:WARM_UP]:
            memory.search(query, user_id=user)
        found: dict[str, Any] = {}
        chunks_there = memory.status()["counts"]["chunks"]
        for mode in ("hybrid", "dense", "lexical"):
            taken, worked = [], []
            for query in queries:
                began, began_work = time.perf_counter(), time.process_time()
                memory.search(query, user_id=user, mode=mode)
                taken.append(time.perf_counter() - began)
                worked.append(time.process_time() - began_work)
            found[f"{mode}_ms"] = measure.percentiles(taken)
            found[f"{mode}_cpu_ms"] = measure.percentiles(worked)
        found["rss_anon_mb"] = measure.rss_anon_mb()
        found["yardstick"] = _yardstick(memory, queries[:YARDSTICK_CALLS], user, embedder, chunks_there)
        watch = measure.Stopwatch()
        with watch.watching(*LEGS):
            began = time.perf_counter()
            hits = [len(memory.search(query, user_id=user)) for query in queries]
            total = time.perf_counter() - began
        found["hits_a_search"] = sum(hits) / len(hits)
        found["where"] = {
            label: {"ms_a_search": round(1000 * part["seconds"] / len(queries), 3), "share": part["share"]}
            for label, part in watch.share_of(total).items()
        }
    return found


def _yardstick(
    memory: Appliance, queries: Sequence[str], user: str, embedder: material.ProjectionEmbedder, count: int
) -> measure.Document:
    """Searches in turns with numpy's exact scan over as many vectors, which tells how busy the machine is."""
    matrix = np.random.default_rng(5).standard_normal((count, embedder.dimension), dtype=np.float32)
    best = min(POOL, count)
    searches, scans = [], []
    for query in queries:
        vector = embedder.embed_query(query)
        searches.append(measure.seconds(lambda query=query: memory.search(query, user_id=user)))  # type: ignore[misc]
        scans.append(measure.seconds(lambda vector=vector: np.argpartition(matrix @ vector, -best)[-best:]))  # type: ignore[misc]
    return {
        "numpy_scan_ms": measure.percentiles(scans),
        "search_ms": measure.percentiles(searches),
        "scans_a_search": measure.ratio(searches, scans),
    }


def measure_verify(home: Path) -> measure.Document:
    """Everything checked against everything."""
    watch = measure.Stopwatch()
    with (
        Appliance.open(home, create=False, embedder=material.ProjectionEmbedder(), worker=False) as memory,
        watch.watching(*CHECKS),
    ):
        began = time.perf_counter()
        findings = memory.verify()
        taken = time.perf_counter() - began
    assert not findings.problems, findings.problems[:5]
    return {
        "seconds": round(taken, 2),
        "checked": findings.checked,
        "where": watch.share_of(taken),
        "rss_anon_mb": measure.rss_anon_mb(),
    }


def build_peer(home: Path, store: Path, count: int) -> measure.Document:
    """qdrant-client's local mode with the same vectors and payload, unless it is there already."""
    if store.exists():
        return {"reused": True}
    from qdrant_client import QdrantClient, models

    embedder = material.ProjectionEmbedder()
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of more than 20,000 points: that is what is measured
        client = QdrantClient(path=str(store))
        client.create_collection(
            "chunks", vectors_config=models.VectorParams(size=embedder.dimension, distance=models.Distance.COSINE)
        )
        with Appliance.open(home, create=False, embedder=embedder, worker=False) as memory:
            page: list[tuple[int, str, dict[str, Any]]] = []
            for number, line in enumerate(memory.export()):
                if number == count:
                    break
                page.append((number, line["content"], _payload(line)))
                if len(page) == 1_000:
                    _upload(client, embedder, page)
                    page = []
            if page:
                _upload(client, embedder, page)
        client.close()
    return {"reused": False, "seconds": round(time.perf_counter() - began, 1)}


def _payload(line: dict[str, Any]) -> dict[str, Any]:
    from datetime import datetime

    return {
        "user_id": line["metadata"].get("user_id", USERS[0]),
        "namespace": "",
        "agent_id": "",
        "session": int(line["session_id"].rpartition("-")[2]),
        "role": line["role"],
        "source": "native",
        "talk": 1,
        "at": to_microseconds(datetime.fromisoformat(line["timestamp"])),
    }


def _upload(
    client: Any, embedder: material.ProjectionEmbedder, page: Sequence[tuple[int, str, dict[str, Any]]]
) -> None:
    from qdrant_client import models

    vectors = embedder.embed_passages([text for _, text, _ in page])
    points = [
        models.PointStruct(id=key, vector=vector.tolist(), payload=payload)
        for (key, _, payload), vector in zip(page, vectors, strict=True)
    ]
    client.upsert("chunks", points)


def measure_peer(store: Path, queries: Sequence[str]) -> measure.Document:
    """Its load, its searches over all and over one user's, its memory."""
    from qdrant_client import QdrantClient, models

    embedder = material.ProjectionEmbedder()
    vectors = [vector.tolist() for vector in embedder.embed_passages(queries)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        client = QdrantClient(path=str(store))
        loaded = time.perf_counter() - began
        count = client.count("chunks").count

        def search(vector: list[float], **fields: str | int) -> object:
            conditions = [
                models.FieldCondition(key=key, match=models.MatchValue(value=value))
                for key, value in {"talk": 1, **fields}.items()
            ]
            narrowed = models.Filter(must=list(conditions))
            return client.query_points("chunks", query=vector, query_filter=narrowed, limit=POOL)

        search(vectors[0])
        plain = [
            measure.seconds(lambda vector=vector: client.query_points("chunks", query=vector, limit=POOL))  # type: ignore[misc]
            for vector in vectors
        ]
        few = vectors[: max(1, len(vectors) // 10)]
        talk = [measure.seconds(lambda vector=vector: search(vector)) for vector in few]  # type: ignore[misc]
        filtered = [
            measure.seconds(lambda vector=vector: search(vector, user_id=USERS[0]))  # type: ignore[misc]
            for vector in few
        ]
        anonymous = measure.rss_anon_mb()
        client.close()
    return {
        "points": count,
        "load_s": round(loaded, 2),
        "dense_ms": measure.percentiles(plain),
        "dense_talk_only_ms": measure.percentiles(talk),
        "dense_one_user_ms": measure.percentiles(filtered),
        "rss_anon_mb": anonymous,
        "disk_bytes": measure.disk_bytes(store),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--home", type=Path, help="keep the homes in this folder, and use what is there")
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    parser.add_argument("--peer-points", type=int, default=PEER_POINTS, help="for qdrant-client; 0 leaves it out")
    # What the fresh processes are told.
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--user", default=ALONE, help=argparse.SUPPRESS)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is None:
        if options.home is not None:
            measure.show(run(options.home, options.texts, options.chunks, options.peer_points))
        else:
            with tempfile.TemporaryDirectory() as folder:
                measure.show(run(Path(folder), options.texts, options.chunks, options.peer_points))
        return
    queries = material.questions(material.texts(options.texts)[0], SEARCHES, options.texts)
    match options.measure:
        case "open":
            measure.show(measure_open(options.home, queries))
        case "search":
            measure.show(measure_search(options.home, queries, options.user))
        case "verify":
            measure.show(measure_verify(options.home))
        case "peer-build":
            measure.show(build_peer(options.home, options.peer, options.peer_points))
        case "peer":
            measure.show(measure_peer(options.peer, queries))


if __name__ == "__main__":
    main()
