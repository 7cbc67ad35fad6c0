"""The index on a Qdrant server or cluster, through qdrant-client, for memories that outgrow one folder.

One collection has the same points, vectors and filters as the embedded index. qdrant-client is imported only when an
index is opened: the import takes two seconds, that of the embedded engine 0.02.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appliance.errors import ApplianceError, StoreError, StoreVersion
from appliance.store.index import conditions, sparse, validation
from appliance.store.index.conditions import AnyOfCondition, Condition, EqualCondition, RangeCondition
from appliance.store.index.protocol import SCHEMA_VERSION, IndexPoint, LegQuery, ScoredPoint
from appliance.types import Filters, Scope

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

# A request of 256 points is about 2 MB of JSON, far below a server's usual limit of 32 MB.
_POINTS_A_REQUEST = 256
_IDS_A_REQUEST = 5_000
_VECTORS_A_REQUEST = 500


def connect(url: str, api_key: str | None = None, *, timeout: int = 30) -> QdrantClient:
    """Return a client for the server at ``url``, which waits ``timeout`` seconds for each response."""
    from qdrant_client import QdrantClient

    with _translate_errors("be reached"):
        return QdrantClient(url=url, api_key=api_key, timeout=timeout)


def open_remote(server: str | QdrantClient, collection: str, dimension: int) -> RemoteIndex:
    """Open the index in ``collection``, or create it (then ``is_fresh`` is True).

    Args:
        server: A URL, or a client from ``connect``, which the index closes.
        collection: The name of the collection.
        dimension: The dimension of the vectors.

    Raises:
        StoreVersion: The collection was made for another dimension or schema.
        StoreError: The server can't be reached.
    """
    validation.check_dimension(dimension)
    client = connect(server) if isinstance(server, str) else server
    with _translate_errors("be opened"):
        is_fresh = not client.collection_exists(collection)
        if is_fresh:
            _create(client, collection, dimension)
        else:
            _check_collection(client, collection, dimension)
    return RemoteIndex(client, collection, dimension, is_fresh=is_fresh)


class RemoteIndex:
    """A collection on a server as a ``VectorIndex``.

    The server acknowledges an update when it has applied it, and is responsible for its durability, so ``flush`` has
    nothing to do.
    """

    def __init__(self, client: QdrantClient, collection: str, dimension: int, *, is_fresh: bool) -> None:
        self.dimension = dimension
        self.is_fresh = is_fresh
        self._client: QdrantClient | None = client
        self._collection = collection

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        validation.check_points(points, self.dimension)
        for start in range(0, len(points), _POINTS_A_REQUEST):
            batch = [_point(point) for point in points[start : start + _POINTS_A_REQUEST]]
            with self._server("add points") as client:
                client.upsert(self._collection, batch, wait=True)

    def delete(self, ids: Sequence[int]) -> None:
        validation.check_ids(ids)
        for start in range(0, len(ids), _IDS_A_REQUEST):
            with self._server("delete points") as client:
                client.delete(self._collection, list(ids[start : start + _IDS_A_REQUEST]), wait=True)

    def flush(self) -> None:
        with self._server("flush"):
            pass

    def optimize(self) -> bool:
        """Do nothing: a server optimizes its segments by itself."""
        return False

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        validation.check_search(queries, self.dimension, filters, limit)
        narrowed = _filter(conditions.filter_conditions(filters))
        scope = None if filters is None else filters.scope
        return self._query([_request(query, narrowed, limit, scope, exact=False) for query in queries])

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        from qdrant_client import models

        validation.check_scoring(queries, self.dimension, ids, scope)
        narrowed = [models.Filter(must=[models.HasIdCondition(has_id=sorted(set(scored)))]) for scored in ids]
        requests = [
            _request(query, among, len(scored), scope, exact=True) if scored else None
            for query, among, scored in zip(queries, narrowed, ids, strict=True)
        ]
        return [{point.id: point.score for point in points} for points in self._query(requests)]

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        """See ``VectorIndex``; found out as in ``edge``."""
        from qdrant_client import models

        assert query.text is not None
        terms = sparse.single_terms(sparse.encode_query(query.text))
        counted = None if scope is None else _filter(conditions.statistics_conditions(scope))
        no_texts = models.Filter(must=[models.HasIdCondition(has_id=[0])])
        requests = [
            models.QueryRequest(
                query=_sparse(alone),
                using=query.leg,
                limit=1,
                params=None if corpus is None else models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus)),
                with_payload=False,
            )
            for _, alone in terms
            for corpus in (counted, no_texts)
        ]
        answers = iter(self._query(requests))
        found = {}
        for (term, _), scores, plain_scores in zip(terms, answers, answers, strict=True):
            if scores and plain_scores:
                found[term] = scores[0].score / plain_scores[0].score * math.log(2)
        return found

    def count(self, filters: Filters | None = None) -> int:
        validation.check_filters(filters)
        with self._server("count") as client:
            return client.count(self._collection, _filter(conditions.filter_conditions(filters)), exact=True).count

    def ids(self) -> Iterator[int]:
        offset: Any = None
        while True:
            with self._server("list its points") as client:
                records, offset = client.scroll(
                    self._collection, limit=_IDS_A_REQUEST, offset=offset, with_payload=False
                )
            yield from (int(record.id) for record in records)
            if offset is None:
                return

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        requested = list(ids)
        validation.check_ids(requested)
        found: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(requested), _VECTORS_A_REQUEST):
            batch = requested[start : start + _VECTORS_A_REQUEST]
            with self._server("read vectors") as client:
                records = client.retrieve(self._collection, batch, with_payload=False, with_vectors=["dense"])
            for record in records:
                if isinstance(record.vector, dict) and "dense" in record.vector:
                    found[int(record.id)] = np.asarray(record.vector["dense"], dtype=np.float32)
        return found

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with _translate_errors("close"):
                client.close()

    def _query(self, requests: Sequence[models.QueryRequest | None]) -> list[list[ScoredPoint]]:
        """The results of all legs from one round trip. None is a request without a term, which finds nothing."""
        present = [request for request in requests if request is not None]
        if not present:
            return [[] for _ in requests]
        with self._server("search") as client:
            answers = iter(client.query_batch_points(self._collection, present))
        return [[] if request is None else _ranked(next(answers).points) for request in requests]

    @contextmanager
    def _server(self, what: str) -> Iterator[QdrantClient]:
        with _translate_errors(what):
            if self._client is None:
                raise StoreError(f"The index is closed and can't {what}.")
            yield self._client


# --- creating --------------------------------------------------------------------------------------


def _create(client: QdrantClient, collection: str, dimension: int) -> None:
    from qdrant_client import models

    client.create_collection(
        collection,
        vectors_config={
            "dense": models.VectorParams(
                size=dimension,
                distance=models.Distance.COSINE,
                datatype=models.Datatype.FLOAT16,
                on_disk=True,
                # m=0: no graph, as in the embedded index; filtered searches stay exact.
                hnsw_config=models.HnswConfigDiff(m=0),
                quantization_config=models.TurboQuantization(
                    turbo=models.TurboQuantQuantizationConfig(bits=models.TurboQuantBitSize.BITS4)
                ),
            )
        },
        sparse_vectors_config={
            leg: models.SparseVectorParams(modifier=models.Modifier.IDF, index=models.SparseIndexParams(on_disk=True))
            for leg in sparse.LEGS
        },
        on_disk_payload=True,
        metadata={"schema": SCHEMA_VERSION},
    )
    keyword, integer = models.KeywordIndexParams, models.IntegerIndexParams
    schemas: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
        **{
            name: keyword(type=models.KeywordIndexType.KEYWORD, is_tenant=name == "scope" or None)
            for name in ("scope", "talk", "agent_id", "role", "level", "source", "author")
        },
        "session": integer(type=models.IntegerIndexType.INTEGER, lookup=True, range=False),
        "at": integer(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
    }
    for name, schema in schemas.items():
        client.create_payload_index(collection, name, field_schema=schema, wait=True)


def _check_collection(client: QdrantClient, collection: str, dimension: int) -> None:
    config = client.get_collection(collection).config
    vectors = config.params.vectors
    dense = vectors.get("dense") if isinstance(vectors, dict) else None
    found = {"dimension": None if dense is None else dense.size, "schema": (config.metadata or {}).get("schema")}
    for name, expected in {"dimension": dimension, "schema": SCHEMA_VERSION}.items():
        if found[name] != expected:
            raise StoreVersion(
                f"The collection was made with {name} {found[name]}, but this memory uses {name} {expected}.",
                where=collection,
                hint="Name another collection in the settings, or delete this one and run 'appliance reindex'.",
            )


# --- between our values and the client's -----------------------------------------------------------


@contextmanager
def _translate_errors(what: str) -> Iterator[None]:
    try:
        yield
    except ApplianceError:
        raise
    except Exception as error:
        hint = "Check that the server at 'index.url' is running."
        raise StoreError(f"The index on the server can't {what}: {error}.", hint=hint) from error


def _sparse(vector: Any) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _point(point: IndexPoint) -> models.PointStruct:
    from qdrant_client import models

    vectors: dict[str, Any] = {"dense": point.vector.tolist()}
    texts = sparse.encode_document_fields(point.own, point.window, point.summary)
    vectors |= {leg: _sparse(vector) for leg, vector in texts.items()}
    return models.PointStruct(id=point.id, vector=vectors, payload=conditions.payload(point.fields))


def _request(
    query: LegQuery, narrowed: models.Filter | None, limit: int, scope: Scope | None, *, exact: bool
) -> models.QueryRequest | None:
    from qdrant_client import models

    params: models.SearchParams | None
    if query.leg == "dense":
        assert query.vector is not None
        vector: Any = query.vector.tolist()
        params = models.SearchParams(
            exact=exact, quantization=models.QuantizationSearchParams(ignore=exact, rescore=True, oversampling=3.0)
        )
    else:
        assert query.text is not None
        terms = sparse.encode_query(query.text)
        if not terms.indices:
            return None
        vector = _sparse(sparse.weighted(terms, query.weights))
        counted = None if scope is None else _filter(conditions.statistics_conditions(scope))
        params = None if counted is None else models.SearchParams(idf=models.IdfCorpusParams(corpus=counted))
    return models.QueryRequest(
        query=vector, using=query.leg, filter=narrowed, limit=limit, params=params, with_payload=False
    )


def _filter(required: Sequence[Condition]) -> models.Filter | None:
    from qdrant_client import models

    def to_field_condition(condition: Condition) -> models.FieldCondition:
        match condition:
            case EqualCondition(field, value):
                return models.FieldCondition(key=field, match=models.MatchValue(value=value))
            case AnyOfCondition(field, values):
                return models.FieldCondition(key=field, match=models.MatchAny(any=[*values]))
            case RangeCondition(field, since, until):
                return models.FieldCondition(key=field, range=models.Range(gte=since, lt=until))

    return models.Filter(must=[to_field_condition(condition) for condition in required]) if required else None


def _ranked(points: Iterable[models.ScoredPoint]) -> list[ScoredPoint]:
    found = [ScoredPoint(int(point.id), point.score) for point in points]
    return sorted(found, key=lambda scored: (-scored.score, scored.id))
