"""The stores that are compared, each in the way that its own documentation shows for this use.

None of their libraries is imported before a store is built or opened, because each is in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.peers.corpus import DIMENSION, NEAREST, Payload

Search = Callable[[NDArray[np.float32], str | None], list[int]]
"""Returns the ids of the points nearest to a query, of all users or of one."""

_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store, and what closes it."""

    search: Search
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Store:
    """A kind of store. ``build`` stores points with the ids 1, 2, … in an empty folder and closes it; ``open`` opens
    it. ``requirements`` are what pip installs for it: nothing for what the product brings."""

    version: Callable[[], str]
    build: Callable[[Path, NDArray[np.float32], Sequence[Payload]], None]
    open: Callable[[Path], Opened]
    requirements: tuple[str, ...] = ()
    note: str = ""


def _batches(count: int, size: int = _BATCH) -> Iterator[range]:
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def _version(name: str) -> Callable[[], str]:
    def find() -> str:
        from importlib.metadata import version

        return version(name)

    return find


# --- the product's index ----------------------------------------------------------------------------------


def _build_product(folder: Path, vectors: NDArray[np.float32], payload: Sequence[Payload]) -> None:
    from appliance.store.index.edge import open_edge
    from appliance.store.index.protocol import IndexPoint, PointFields

    index = open_edge(folder / "index", DIMENSION)
    for number, rows in enumerate(_batches(len(vectors)), start=1):
        fields = (
            PointFields(
                one.user, "", (), one.session, "user" if one.role == "user" else "assistant", "native", True, one.at
            )
            for one in payload[rows.start : rows.stop]
        )
        index.upsert(
            [
                IndexPoint(row + 1, np.asarray(vectors[row]), own="", window="", fields=one)
                for row, one in zip(rows, fields, strict=True)
            ]
        )
        if number % 10 == 0:
            index.flush()
            index.optimize()
    index.optimize()
    index.close()


def _open_product(folder: Path) -> Opened:
    from appliance.store.index.edge import open_edge
    from appliance.store.index.protocol import LegQuery
    from appliance.types import Filters, Scope

    index = open_edge(folder / "index", DIMENSION)

    def search(query: NDArray[np.float32], user: str | None) -> list[int]:
        filters = None if user is None else Filters(Scope(user))
        return [point.id for point in index.search([LegQuery("dense", vector=query)], filters, NEAREST)[0]]

    return Opened(search, index.close)


# --- qdrant-client, local mode ----------------------------------------------------------------------------


def _build_qdrant(folder: Path, vectors: NDArray[np.float32], payload: Sequence[Payload]) -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))
    client.create_collection(
        "points", vectors_config=models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    )
    for rows in _batches(len(vectors)):
        client.upsert(
            "points",
            [
                models.PointStruct(id=row + 1, vector=vectors[row].tolist(), payload=asdict(payload[row]))
                for row in rows
            ],
        )
    client.close()


def _open_qdrant(folder: Path) -> Opened:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))

    def search(query: NDArray[np.float32], user: str | None) -> list[int]:
        narrowed = None
        if user is not None:
            condition = models.FieldCondition(key="user", match=models.MatchValue(value=user))
            narrowed = models.Filter(must=[condition])
        found = client.query_points(
            "points", query=query.tolist(), query_filter=narrowed, limit=NEAREST, with_payload=False
        )
        return [int(point.id) for point in found.points]

    return Opened(search, client.close)


# --- Chroma -----------------------------------------------------------------------------------------------


def _chroma(folder: Path) -> Any:
    import chromadb

    return chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))


def _build_chroma(folder: Path, vectors: NDArray[np.float32], payload: Sequence[Payload]) -> None:
    points = _chroma(folder).create_collection("points", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    for rows in _batches(len(vectors)):
        points.add(
            ids=[str(row + 1) for row in rows],
            embeddings=vectors[rows.start : rows.stop],
            metadatas=[asdict(one) for one in payload[rows.start : rows.stop]],
        )


def _open_chroma(folder: Path) -> Opened:
    points = _chroma(folder).get_collection("points", embedding_function=None)

    def search(query: NDArray[np.float32], user: str | None) -> list[int]:
        where = None if user is None else {"user": user}
        found = points.query(query_embeddings=[query], where=where, n_results=NEAREST, include=[])
        return [int(id) for id in found["ids"][0]]

    return Opened(search, lambda: None)


# --- sqlite-vec -------------------------------------------------------------------------------------------


def _sqlite(folder: Path) -> Any:
    import apsw  # many builds of Python's own sqlite3 load no extensions
    import sqlite_vec

    connection = apsw.Connection(str(folder / "points.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    return connection


def _build_sqlite(folder: Path, vectors: NDArray[np.float32], payload: Sequence[Payload]) -> None:
    connection = _sqlite(folder)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE VIRTUAL TABLE points USING vec0(id INTEGER PRIMARY KEY, user TEXT PARTITION KEY,"
        f" embedding FLOAT[{DIMENSION}] distance_metric=cosine, session INTEGER, role TEXT, at INTEGER)"
    )
    for rows in _batches(len(vectors)):
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO points (id, user, embedding, session, role, at) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (row + 1, one.user, vectors[row].tobytes(), one.session, one.role, one.at)
                for row, one in ((row, payload[row]) for row in rows)
            ],
        )
        connection.execute("COMMIT")
    connection.close()


def _open_sqlite(folder: Path) -> Opened:
    connection = _sqlite(folder)

    def search(query: NDArray[np.float32], user: str | None) -> list[int]:
        narrowed, values = ("", ()) if user is None else (" AND user = ?", (user,))
        rows = connection.execute(
            f"SELECT id FROM points WHERE embedding MATCH ? AND k = ?{narrowed}", (query.tobytes(), NEAREST, *values)
        )
        return [id for (id,) in rows]

    return Opened(search, connection.close)


# --- LanceDB ----------------------------------------------------------------------------------------------


def _build_lance(folder: Path, vectors: NDArray[np.float32], payload: Sequence[Payload]) -> None:
    import lancedb
    import pyarrow

    vector = pyarrow.list_(pyarrow.float32(), DIMENSION)

    def columns() -> Iterator[Any]:
        for rows in _batches(len(vectors), 10 * _BATCH):
            part = payload[rows.start : rows.stop]
            flat = pyarrow.array(np.ascontiguousarray(vectors[rows.start : rows.stop]).reshape(-1))
            fields: Mapping[str, Any] = {
                "id": pyarrow.array([row + 1 for row in rows], pyarrow.int64()),
                "vector": pyarrow.FixedSizeListArray.from_arrays(flat, type=vector),
                "user": [one.user for one in part],
                "session": pyarrow.array([one.session for one in part], pyarrow.int64()),
                "role": [one.role for one in part],
                "at": pyarrow.array([one.at for one in part], pyarrow.int64()),
            }
            yield pyarrow.RecordBatch.from_pydict(dict(fields))

    batches = columns()
    first = next(batches)
    table = lancedb.connect(folder).create_table("points", pyarrow.Table.from_batches([first]))
    for batch in batches:
        table.add(pyarrow.Table.from_batches([batch]))
    table.create_scalar_index("user", index_type="BITMAP")
    table.optimize()


def _open_lance(folder: Path) -> Opened:
    import lancedb

    table = lancedb.connect(folder).open_table("points")

    def search(query: NDArray[np.float32], user: str | None) -> list[int]:
        request = table.search(query).distance_type("cosine").select(["id"]).limit(NEAREST)
        if user is not None:
            request = request.where(f"user = '{user}'", prefilter=True)
        found: list[int] = request.to_arrow()["id"].to_pylist()
        return found

    return Opened(search, lambda: None)


STORES: Mapping[str, Store] = {
    "appliance": Store(
        _version("qdrant-edge-py"), _build_product, _open_product, note="flat, 4-bit codes, rescored; half floats"
    ),
    "qdrant-client local": Store(
        _version("qdrant-client"), _build_qdrant, _open_qdrant, ("numpy", "qdrant-client"), "flat, in memory"
    ),
    "chromadb": Store(
        _version("chromadb"), _build_chroma, _open_chroma, ("numpy", "chromadb"), "HNSW with its defaults: approximate"
    ),
    "sqlite-vec": Store(
        _version("sqlite-vec"), _build_sqlite, _open_sqlite, ("numpy", "apsw", "sqlite-vec"), "flat, a partition a user"
    ),
    "lancedb": Store(
        _version("lancedb"), _build_lance, _open_lance, ("numpy", "lancedb"), "flat, with a bitmap index of the users"
    ),
}
