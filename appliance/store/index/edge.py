"""The embedded index: qdrant-edge, flat and exact, in one folder.

Every search scans the 4-bit codes of the points that pass the filter and rescores three times as many
candidates as are wanted with the stored vectors; no graph is ever built. ``shard`` keeps it on disk.

New points are written to a segment that is held in memory and is built up again, point by point, at each
open. ``settle`` turns it into one that is only mapped: see there for what that costs and gives.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import qdrant_edge as q
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreError
from appliance.store.index import sparse
from appliance.store.index.base import Leg, LegQuery, Point, Scored
from appliance.store.index.checks import (
    check_dimension,
    check_filters,
    check_ids,
    check_limit,
    check_points,
    check_queries,
    check_scope,
)
from appliance.store.index.narrow import (
    Between,
    Condition,
    Equal,
    OneOf,
    conditions,
    corpus,
    payload,
)
from appliance.store.index.shard import REINDEX, open_shard, translated
from appliance.types import LEVELS, Filters, Scope

# A search waits for the batch under way (250 points of 384 dimensions: about 0.1 s), and a log record is held
# in memory several times over while it is written.
_POINTS_A_BATCH = 250
_FLOATS_A_BATCH = 250_000
_IDS_A_BATCH = 10_000
_VECTORS_A_BATCH = 1_000

_RESCORED = q.SearchParams(quantization=q.QuantizationSearchParams(rescore=True, oversampling=3.0))
_EXACT = q.SearchParams(exact=True, quantization=q.QuantizationSearchParams(ignore=True))

_T = TypeVar("_T")


def open_edge(folder: Path, dimension: int, *, prewarm: bool = True) -> EdgeIndex:
    """Open the index in ``folder``, or create it there (then ``is_fresh`` is True: it lacks every point).

    Raises HomeLocked when another process has it, StoreVersion when another version, schema or dimension
    made it, StoreCorrupt when it can't be read; the last two are cured by ``discard`` and a rebuild.
    """
    check_dimension(dimension)
    shard, is_fresh = open_shard(folder, dimension, prewarm=prewarm)
    try:
        return EdgeIndex(shard, dimension, is_fresh=is_fresh)
    except StoreError as error:
        with suppress(StoreError), translated("close"):
            shard.close()
        raise StoreCorrupt(str(error), where=str(folder), hint=REINDEX) from error


class EdgeIndex:
    """The embedded engine behind the ``Index`` protocol. Safe to call from several threads.

    ``is_fresh`` is True when the index has just been created, ``opened_with`` are the points it had. The engine
    keeps the interpreter lock while it searches (in threads of its own), so ours take turns anyhow; our lock keeps
    updates and searches apart.
    """

    def __init__(self, shard: q.EdgeShard, dimension: int, *, is_fresh: bool) -> None:
        self.dimension = dimension
        self.is_fresh = is_fresh
        self._shard: q.EdgeShard | None = shard
        self._lock = threading.Lock()
        self._scopes = self._find_scopes()
        self.opened_with = self.count()
        summaries = self._count([OneOf("level", LEVELS)])
        self._has_summaries = summaries > 0
        talk = self._count([OneOf("talk", tuple(self._scopes))])
        self._is_all_talk = self.opened_with - summaries == talk

    def upsert(self, points: Sequence[Point]) -> None:
        check_points(points, self.dimension)
        for batch in _batches(points, max(1, min(_POINTS_A_BATCH, _FLOATS_A_BATCH // self.dimension))):
            operation = q.UpdateOperation.upsert_points([_point(point) for point in batch])
            with self._engine("add points") as shard:
                self._note(batch)
                shard.update(operation)

    def delete(self, ids: Sequence[int]) -> None:
        check_ids(ids)
        for batch in _batches(ids, _IDS_A_BATCH):
            operation = q.UpdateOperation.delete_points(list(batch))
            with self._engine("delete points") as shard:
                shard.update(operation)

    def flush(self) -> None:
        with self._engine("flush") as shard:
            shard.flush()

    def settle(self) -> bool:
        """Give new points their final form on disk and drop what was deleted; True if there was any to do.

        Only segments of more than 10,000 points, or with a fifth deleted, are touched; otherwise the call
        costs nothing. Settled, 100,000 points open in 0.1 s with 20 MB of memory instead of 1 s with 210 MB.
        But the engine keeps the interpreter lock meanwhile: about 1.5 s for 7,000 points, 10 s for 100,000.
        So call it often while much is added, and at rest: never while somebody waits for an answer.
        """
        with self._engine("settle") as shard:
            changed = shard.optimize()
            shard.flush()
        return changed

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[Scored]]:
        check_queries(queries, self.dimension)
        check_limit(limit)
        if filters is not None:
            check_filters(filters)
        with self._engine("search") as shard:
            wanted = conditions(filters)
            statistics = self._statistics(None if filters is None else filters.scope)
            requests = [
                _request(query, self._narrowed(wanted, query.leg), limit, _RESCORED, statistics)
                for query in queries
            ]
            answers = _answers(shard, requests)
        return [_ranked(answer) for answer in answers]

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        check_queries(queries, self.dimension)
        for some in ids:
            check_ids(some)
        if scope is not None:
            check_scope(scope)
        with self._engine("search") as shard:
            statistics = self._statistics(scope)
            requests = [
                _request(query, q.Filter(must=[q.HasIdCondition(set(some))]), len(some), _EXACT, statistics)
                if some
                else None
                for query, some in zip(queries, ids, strict=True)
            ]
            answers = _answers(shard, requests)
        return [dict(_pairs(answer)) for answer in answers]

    def count(self, filters: Filters | None = None) -> int:
        if filters is not None:
            check_filters(filters)
        return self._count(conditions(filters))

    def ids(self) -> Iterator[int]:
        offset: q.PointId | None = None
        while True:
            page = q.ScrollRequest(offset=offset, limit=_IDS_A_BATCH, with_payload=False, with_vector=False)
            with self._engine("list its points") as shard:
                records, offset = shard.scroll(page)
            yield from (_int_id(record.id) for record in records)
            if offset is None:
                return

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        wanted = list(ids)
        check_ids(wanted)
        found: dict[int, NDArray[np.float32]] = {}
        for batch in _batches(wanted, _VECTORS_A_BATCH):
            with self._engine("read vectors") as shard:
                records = shard.retrieve(list(batch), False, ["dense"])
            for record in records:
                if isinstance(record.vector, dict) and "dense" in record.vector:
                    found[_int_id(record.id)] = np.asarray(record.vector["dense"], dtype=np.float32)
        return found

    def close(self) -> None:
        """Flush and let go of the folder; a second call does nothing."""
        with self._lock:
            shard, self._shard = self._shard, None
            if shard is not None:
                with translated("close"):
                    shard.flush()
                    shard.close()

    def _statistics(self, scope: Scope | None) -> q.SearchParams | None:
        """Whose texts the inverse document frequency is counted over; None for everybody's, which is the
        same and three times as fast while the index holds one user's only."""
        narrowed = None if scope is None else self._narrowed(corpus(scope), "own")
        return None if narrowed is None else q.SearchParams(idf=q.IdfParams(corpus=narrowed))

    def _narrowed(self, wanted: Sequence[Condition], leg: Leg) -> q.Filter | None:
        """A filter of the conditions that not every point of a leg passes: without one, a flat scan of 100,000
        points takes two thirds of the time."""
        return _filter([one for one in wanted if not self._is_passed_by_all(one, leg)])

    def _is_passed_by_all(self, condition: Condition, leg: Leg) -> bool:
        match condition:
            case Equal("scope", whose):
                return self._scopes <= {whose}
            case Equal("talk", whose):
                return self._is_talk_of(leg) and self._scopes <= {whose}
            case OneOf("scope", several):
                return self._scopes <= set(several)
            case OneOf("talk", several):
                return self._is_talk_of(leg) and self._scopes <= set(several)
        return False

    def _is_talk_of(self, leg: Leg) -> bool:
        """Whether all points of a leg are talk. Of the legs of words, own and window are those of messages alone."""
        return self._is_all_talk and (leg in ("own", "window") or not self._has_summaries)

    def _find_scopes(self) -> set[str]:
        """Scopes that have points, a session's own among them: all if there is at most one, else two."""
        with self._engine("list its users") as shard:
            return {str(hit.value) for hit in shard.facet(q.FacetRequest("scope", limit=2, exact=True)).hits}

    def _count(self, wanted: Sequence[Condition]) -> int:
        with self._engine("count") as shard:
            return shard.count(q.CountRequest(exact=True, filter=_filter(wanted)))

    def _note(self, added: Sequence[Point]) -> None:
        if len(self._scopes) < 2:
            self._scopes |= {str(payload(point.fields)["scope"]) for point in added}
        messages = [point.fields.talk for point in added if point.fields.level is None]
        self._has_summaries = self._has_summaries or len(messages) < len(added)
        self._is_all_talk = self._is_all_talk and all(messages)

    @contextmanager
    def _engine(self, what: str) -> Iterator[q.EdgeShard]:
        with self._lock, translated(what):
            if self._shard is None:
                raise StoreError(f"the index is closed, it can't {what}")
            yield self._shard


# --- between our values and the engine's -----------------------------------------------------------


def _point(point: Point) -> q.Point:
    vectors: dict[str, Any] = {
        "dense": point.vector.tolist(),
        **sparse.documents(point.own, point.window, point.gist),
    }
    return q.Point(point.id, vectors, payload(point.fields))


def _request(
    query: LegQuery,
    narrowed: q.Filter | None,
    limit: int,
    dense: q.SearchParams,
    statistics: q.SearchParams | None,
) -> q.QueryRequest | None:
    if query.leg == "dense":
        assert query.vector is not None
        nearest = q.Query.Nearest(query.vector.tolist(), using="dense")
        return q.QueryRequest(limit=limit, query=nearest, filter=narrowed, params=dense)
    assert query.text is not None
    terms = sparse.query(query.text)
    if not terms.indices:
        return None
    nearest = q.Query.Nearest(terms, using=query.leg)
    return q.QueryRequest(limit=limit, query=nearest, filter=narrowed, params=statistics)


def _answers(shard: q.EdgeShard, requests: Sequence[q.QueryRequest | None]) -> list[list[q.ScoredPoint]]:
    """What each request finds, in one pass over the segments. None stands for what finds nothing: a query without
    a term, or of no point."""
    asked = [request for request in requests if request is not None]
    found = iter(shard.query_batch(q.QueryBatchRequest(asked)) if asked else ())
    return [[] if request is None else next(found) for request in requests]


def _filter(wanted: Sequence[Condition]) -> q.Filter | None:
    return q.Filter(must=[_condition(one) for one in wanted]) if wanted else None


def _condition(condition: Condition) -> q.FieldCondition:
    match condition:
        case Equal(field, value):
            return q.FieldCondition(field, match=q.MatchValue(value))
        case OneOf(field, values):
            return q.FieldCondition(field, match=q.MatchAny([*values]))
        case Between(field, since, until):
            return q.FieldCondition(field, range=q.RangeFloat(gte=since, lt=until))


def _ranked(points: Sequence[q.ScoredPoint]) -> list[Scored]:
    """Best first; equal scores by id, because the engine leaves their order open."""
    ordered = sorted([(-score, id) for id, score in _pairs(points)])
    return [Scored(id, -negated) for negated, id in ordered]


def _pairs(points: Sequence[q.ScoredPoint]) -> list[tuple[int, float]]:
    # Ids are ours, all integers: to ask each of some hundred takes as long as all else here.
    return [(point.id, point.score) for point in points]  # type: ignore[misc]


def _int_id(id: q.PointId) -> int:
    assert isinstance(id, int)
    return id


def _batches(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[start : start + size] for start in range(0, len(values), size))
