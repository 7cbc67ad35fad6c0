"""The index on a Qdrant server or cluster, through qdrant-client, for memories that outgrow one folder.

One collection has the same points, vectors and filters as the embedded index. ``nodes`` sends each request to a node
that answers, ``collections`` makes and recognises collections. qdrant-client is imported only when an index is opened:
the import takes two seconds, that of the embedded engine 0.02.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from appliance.errors import IndexUnavailable, StoreError
from appliance.store.index import collections, conditions, sparse, validation
from appliance.store.index.collections import CLAIM_HINT, CollectionIdentity, CollectionState
from appliance.store.index.conditions import (
    AnyOfCondition,
    Condition,
    EitherCondition,
    EqualCondition,
    IdsCondition,
    MissingCondition,
    RangeCondition,
)
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import IndexPoint, LegQuery, ScoredPoint
from appliance.types import Filters, Scope

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

# A request of 256 points is about 2 MB of JSON, far below a server's usual limit of 32 MB.
_POINTS_A_REQUEST = 256
_IDS_A_REQUEST = 5_000
_VECTORS_A_REQUEST = 500

_REQUESTS_IN_FLIGHT = 4
"""How many updates are sent before the first one is acknowledged: a server applies them while the next is encoded."""

_OWNER_CHECK_SECONDS = 10.0
"""How long a search trusts that no other copy of this memory has taken the collection over. Updates always look."""

_T = TypeVar("_T")


def open_remote(nodes: ServerNodes, identity: CollectionIdentity, token: str, found: CollectionState) -> RemoteIndex:
    """The index in a collection whose owner has been checked, and that has all payload indexes afterwards."""
    shard_keys = int(found.metadata.get("shard_keys", 0))
    if not found.metadata.get("complete"):
        collections.complete(nodes, identity.name, shard_keys)
    former = str(found.metadata.get("token", token))
    return RemoteIndex(nodes, identity, token, former_token=former, shard_keys=shard_keys, opened_with=found.points)


def create_remote(nodes: ServerNodes, identity: CollectionIdentity, token: str) -> RemoteIndex:
    """Create a collection, and return the index in it (``is_fresh`` is True)."""
    layout = nodes.options.layout
    collections.create(nodes, identity, token, layout)
    return RemoteIndex(nodes, identity, token, shard_keys=layout.shards if layout.by_user else 0, is_fresh=True)


class RemoteIndex:
    """A collection on a server as a ``VectorIndex``. Safe to use from several threads; it does not close the nodes.

    The server acknowledges an update when it has applied it, and is responsible for its durability, so ``flush`` has
    nothing to do.
    """

    def __init__(
        self,
        nodes: ServerNodes,
        identity: CollectionIdentity,
        token: str,
        *,
        former_token: str | None = None,
        shard_keys: int = 0,
        is_fresh: bool = False,
        opened_with: int = 0,
    ) -> None:
        """
        Args:
            nodes: The nodes of the server.
            identity: What the collection is.
            token: By which this copy of the home is its owner.
            former_token: The one that opening has renewed. A node of a cluster may know the new one some milliseconds
                later; who takes the collection over has neither.
            shard_keys: The number of shards that the points are divided into by user; 0 if they are not.
            is_fresh: Whether the collection has just been created.
            opened_with: About how many points it has.
        """
        validation.check_dimension(identity.dimension)
        self.dimension = identity.dimension
        self.is_fresh = is_fresh
        self.opened_with = opened_with
        self._nodes = nodes
        self._collection = identity.name
        self._home = identity.home
        self._tokens = (token, former_token or token)
        self._shard_keys = shard_keys
        self._is_closed = False
        self._owner_checked_at = time.monotonic()
        self._uploads: ThreadPoolExecutor | None = None
        self._uploads_lock = threading.Lock()

    def require_ready(self) -> None:
        self._call("add points", self._check_owner)

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        validation.check_points(points, self.dimension)
        self._call("add points", self._check_owner)
        batches = [batch for group in self._by_shard(points) for batch in _batches(group, _POINTS_A_REQUEST)]
        if len(batches) == 1:
            self._put(batches[0])
            return
        for _ in self._upload_pool().map(self._put, batches):  # raises what the first failed one raised
            pass

    def delete(self, ids: Sequence[int]) -> None:
        validation.check_ids(ids)
        self._call("delete points", self._check_owner)
        for batch in _batches(ids, _IDS_A_REQUEST):
            self._call("delete points", partial(self._delete, list(batch)))

    def flush(self) -> None:
        self._require_open("flush")

    def optimize(self) -> bool:
        """Do nothing: a server optimizes its segments by itself."""
        return False

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        validation.check_search(queries, self.dimension, filters, limit)
        narrowed = _filter(conditions.filter_conditions(filters))
        scope = None if filters is None else filters.scope
        requests = [_request(query, narrowed, limit, scope, exact=False) for query in queries]
        return self._query(requests, scope)

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
        return [{point.id: point.score for point in points} for points in self._query(requests, scope)]

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
        answers = iter(self._query(requests, scope))
        found = {}
        for (term, _), scores, plain_scores in zip(terms, answers, answers, strict=True):
            if scores and plain_scores:
                found[term] = scores[0].score / plain_scores[0].score * math.log(2)
        return found

    def count(self, filters: Filters | None = None) -> int:
        validation.check_filters(filters)
        narrowed = _filter(conditions.filter_conditions(filters))
        return self._call("count", lambda client: client.count(self._collection, narrowed, exact=True).count)

    def ids(self) -> Iterator[int]:
        offset: Any = None
        while True:
            records, offset = self._call("list its points", partial(self._scroll, offset))
            yield from (int(record.id) for record in records)
            if offset is None:
                return

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        requested = list(ids)
        validation.check_ids(requested)
        found: dict[int, NDArray[np.float32]] = {}
        for batch in _batches(requested, _VECTORS_A_REQUEST):
            records = self._call("read vectors", partial(self._retrieve, list(batch)))
            for record in records:
                if isinstance(record.vector, dict) and "dense" in record.vector:
                    found[int(record.id)] = np.asarray(record.vector["dense"], dtype=np.float32)
        return found

    def close(self) -> None:
        self._is_closed = True
        with self._uploads_lock:
            uploads, self._uploads = self._uploads, None
        if uploads is not None:
            uploads.shutdown()

    def _put(self, points: Sequence[IndexPoint]) -> None:
        shard = self._shard(points[0].fields.user_id)
        batch = [_point(point) for point in points]
        self._call(
            "add points", lambda client: client.upsert(self._collection, batch, wait=True, shard_key_selector=shard)
        )

    def _delete(self, ids: list[Any], client: QdrantClient) -> None:
        client.delete(self._collection, ids, wait=True)

    def _scroll(self, offset: Any, client: QdrantClient) -> tuple[list[models.Record], Any]:
        return client.scroll(self._collection, limit=_IDS_A_REQUEST, offset=offset, with_payload=False)

    def _retrieve(self, ids: list[int], client: QdrantClient) -> list[models.Record]:
        return client.retrieve(self._collection, ids, with_payload=False, with_vectors=["dense"])

    def _by_shard(self, points: Sequence[IndexPoint]) -> list[Sequence[IndexPoint]]:
        """The points in groups of one shard each."""
        if not self._shard_keys:
            return [points] if points else []
        groups: dict[str | None, list[IndexPoint]] = {}
        for point in points:
            groups.setdefault(self._shard(point.fields.user_id), []).append(point)
        return list(groups.values())

    def _shard(self, user: str | None) -> str | None:
        """The shard that has the points of a user; None for all shards."""
        if not self._shard_keys or user is None:
            return None
        digest = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return collections.shard_key(int.from_bytes(digest) % self._shard_keys)

    def _upload_pool(self) -> ThreadPoolExecutor:
        with self._uploads_lock:
            if self._uploads is None:
                self._uploads = ThreadPoolExecutor(_REQUESTS_IN_FLIGHT, thread_name_prefix="appliance-upload")
            return self._uploads

    def _query(self, requests: Sequence[models.QueryRequest | None], scope: Scope | None) -> list[list[ScoredPoint]]:
        """The results of all legs from one round trip. None is a request without a term, which finds nothing."""
        shard = self._shard(None if scope is None else scope.user_id)
        present = [request for request in requests if request is not None]
        if not present:
            return [[] for _ in requests]
        if shard is not None:
            present = [request.model_copy(update={"shard_key": shard}) for request in present]
        if time.monotonic() > self._owner_checked_at + _OWNER_CHECK_SECONDS:
            self._call("search", self._check_owner)
        answers = iter(self._call("search", lambda client: client.query_batch_points(self._collection, present)))
        return [[] if request is None else _ranked(next(answers).points) for request in requests]

    def _check_owner(self, client: QdrantClient) -> None:
        """Check that no other copy of this memory has taken the collection over."""
        metadata = client.get_collection(self._collection).config.metadata or {}
        if metadata.get("home") != self._home or metadata.get("token") not in self._tokens:
            raise IndexUnavailable(
                f"Another copy of this memory has taken over the collection {self._collection} on the server.",
                hint=CLAIM_HINT,
            )
        self._owner_checked_at = time.monotonic()

    def _call(self, what: str, operation: Callable[[QdrantClient], _T]) -> _T:
        self._require_open(what)
        return self._nodes.call(what, operation)

    def _require_open(self, what: str) -> None:
        if self._is_closed:
            raise StoreError(f"The index is closed and can't {what}.")


# --- between our values and the client's -----------------------------------------------------------


def _batches(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


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

    def to_condition(condition: Condition) -> models.Condition:
        match condition:
            case IdsCondition(ids):
                return models.HasIdCondition(has_id=[*ids] or [0])  # no point has the id 0
            case EqualCondition(field, value):
                return models.FieldCondition(key=field, match=models.MatchValue(value=value))
            case AnyOfCondition(field, values):
                return models.FieldCondition(key=field, match=models.MatchAny(any=[*values]))
            case RangeCondition(field, since, until):
                return models.FieldCondition(key=field, range=models.Range(gte=since, lt=until))
            case MissingCondition(field):
                return models.IsEmptyCondition(is_empty=models.PayloadField(key=field))
            case EitherCondition(options):
                return models.Filter(should=[to_filter(option) for option in options])

    def to_filter(conditions: Sequence[Condition]) -> models.Filter:
        return models.Filter(must=[to_condition(condition) for condition in conditions])

    return to_filter(required) if required else None


def _ranked(points: Iterable[models.ScoredPoint]) -> list[ScoredPoint]:
    found = [ScoredPoint(int(point.id), point.score) for point in points]
    return sorted(found, key=lambda scored: (-scored.score, scored.id))
