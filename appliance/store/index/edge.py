"""The embedded index: qdrant-edge, flat and exact, in one folder (see ``shard``).

Every search scans the 4-bit codes of the points that pass the filter, and rescores three times as many candidates as it
returns with the stored vectors; no graph is ever built.

New points enter a segment in memory that is built again, point by point, at each open. ``optimize`` turns it into a
memory-mapped one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import starmap
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import qdrant_edge as q
from numpy.typing import NDArray

from appliance.errors import DiskFull, OutOfMemory, StoreCorrupt, StoreError
from appliance.runtime.address_space import available_bytes, require_memory
from appliance.store.index import conditions, marker, preallocation, sparse, validation
from appliance.store.index.conditions import (
    AnyOfCondition,
    Condition,
    EitherCondition,
    EqualCondition,
    IdsCondition,
    MissingCondition,
    RangeCondition,
)
from appliance.store.index.marker import REINDEX_HINT, IndexContents
from appliance.store.index.protocol import IndexPoint, Leg, LegQuery, ScoredPoint
from appliance.store.index.shard import OpenedShard, close_shard, open_shard, translate_errors
from appliance.store.room import file_errors, free_bytes
from appliance.types import LEVELS, Filters, Scope

# A search waits for the running batch (250 points of 384 dimensions: about 0.1 s), and a log record is several times in
# memory while it is written.
_POINTS_A_BATCH = 250
_FLOATS_A_BATCH = 250_000
_IDS_A_BATCH = 10_000
_VECTORS_A_BATCH = 1_000
# Allocating takes some milliseconds, however much it is: a person's messages come one by one.
_LOG_BYTES_AT_ONCE = 1_000_000
# The same while large batches follow one another, where the disk has room for so much.
_UPDATES_AT_ONCE = 8
_MAX_COUNTS = 100
# Address space: a batch, its log record several times, and a file of 32 MB that is begun; a segment that is optimized.
_UPDATING_MEMORY_BYTES = 100_000_000
_OPTIMIZING_MEMORY_BYTES = 1_000_000_000

_RESCORED_PARAMS = q.SearchParams(quantization=q.QuantizationSearchParams(rescore=True, oversampling=3.0))
_EXACT_PARAMS = q.SearchParams(exact=True, quantization=q.QuantizationSearchParams(ignore=True))

# No point has the id 0, so that this is a corpus without texts.
_NO_STATISTICS = q.SearchParams(idf=q.IdfParams(corpus=q.Filter(must=[q.HasIdCondition({0})])))

_T = TypeVar("_T")

_ID_AND_SCORE: Callable[[q.ScoredPoint], tuple[int, float]] = attrgetter("id", "score")


def open_edge(folder: Path, dimension: int, *, prewarm: bool = True, threads: int = 0) -> EdgeIndex:
    """Open the index in ``folder``, or create it (then ``is_fresh`` is True). It searches on so many threads; 0 for one
    a processor.

    Raises:
        HomeLocked: Another process has it open.
        StoreVersion: Another version, schema or dimension made it; ``discard`` it and rebuild.
        StoreCorrupt: It can't be read; ``discard`` it and rebuild.
        DiskFull, OutOfMemory: There is too little room or memory to open it.
    """
    validation.check_dimension(dimension)
    opened = open_shard(folder, dimension, prewarm=prewarm, threads=threads)
    try:
        return EdgeIndex(opened, folder, dimension)
    except StoreError as error:
        with suppress(StoreError), translate_errors("close", folder):
            opened.engine.close()
        if isinstance(error, DiskFull | OutOfMemory):
            raise
        raise StoreCorrupt(str(error), where=str(folder), hint=REINDEX_HINT) from error


class EdgeIndex:
    """The embedded engine as a ``VectorIndex``; safe to call from several threads.

    ``is_fresh`` is True if the index has just been created; ``opened_with`` is its number of points when it was opened.
    The engine keeps the interpreter lock while it searches (in threads of its own), so searches take turns anyhow; the
    lock of this class separates updates from searches.
    """

    def __init__(self, opened: OpenedShard, folder: Path, dimension: int) -> None:
        self.folder = folder
        self.dimension = dimension
        self.is_fresh = opened.is_fresh
        self._shard: q.EdgeShard | None = opened.engine
        self._lock = threading.Lock()
        self._trims = opened.trims  # until the first change
        self._allocated_log_bytes = 0
        self._counts: dict[Filters | None, int] = {}  # until the next update: counting 20,000 of 100,000 takes 5 ms
        contents = opened.contents
        self._is_in_marker = contents is not None
        with self._engine("count") as engine:
            if contents is None or contents.engine_points != engine.info().points_count:
                contents = _look_through(engine)
        self._contents: IndexContents | None = contents
        """What it holds, until the next update."""
        self.opened_with = contents.points
        self._counts[None] = contents.points
        self._scopes = set(contents.scopes)
        self._has_summaries = contents.has_summaries
        self._is_all_conversational = contents.is_all_conversational

    def require_ready(self) -> None:
        """An embedded index is always within reach."""

    def upsert(self, points: Sequence[IndexPoint]) -> None:
        validation.check_points(points, self.dimension)
        for batch in _batches(points, max(1, min(_POINTS_A_BATCH, _FLOATS_A_BATCH // self.dimension))):
            operation = q.UpdateOperation.upsert_points([engine_point(point) for point in batch])
            characters = sum(len(point.own) + len(point.window) + len(point.summary) for point in batch)
            with self._engine("add points") as shard:
                self._take_room(preallocation.upsert_log_bytes(len(batch), self.dimension, characters))
                self._track_points(batch)
                self._forget_counts()
                shard.update(operation)

    def delete(self, ids: Sequence[int]) -> None:
        validation.check_ids(ids)
        for batch in _batches(ids, _IDS_A_BATCH):
            operation = q.UpdateOperation.delete_points(list(batch))
            with self._engine("delete points") as shard:
                self._take_room(preallocation.deletion_log_bytes(len(batch)))
                self._forget_counts()
                shard.update(operation)

    def flush(self) -> None:
        with self._engine("flush") as shard:
            shard.flush()

    def optimize(self) -> bool:
        """Give new points their final form on disk and remove deleted ones; returns whether there was anything to do.

        Touches only segments of more than 10,000 points, or with a fifth deleted; otherwise the call costs nothing.
        After it, 100,000 points open in 0.1 s with 20 MB of memory instead of 1 s with 210 MB. But the engine keeps the
        interpreter lock meanwhile: about 1.5 s for 7,000 points, 10 s for 100,000. So call it often while many points
        are added, and never while a query is waiting. Where the disk has no room for a second copy of the index, or
        the process too little memory, the call does nothing.
        """
        with self._engine("be optimized") as shard:
            available = available_bytes()
            if available is not None and available < _OPTIMIZING_MEMORY_BYTES:
                return False
            if free_bytes(self.folder) < preallocation.optimizing_bytes(self.folder):
                return False
            self._allocated_log_bytes = 0  # the segments are others afterwards
            self._trims = None
            changed = shard.optimize()
            shard.flush()
        return changed

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        validation.check_search(queries, self.dimension, filters, limit)
        with self._engine("search") as shard:
            required = conditions.filter_conditions(filters)
            statistics = self._statistics(None if filters is None else filters.scope)
            requests = [
                _request(query, self._filter_for_leg(required, query.leg), limit, _RESCORED_PARAMS, statistics)
                for query in queries
            ]
            answers = _run_requests(shard, requests)
        return [_ranked(answer) for answer in answers]

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        validation.check_scoring(queries, self.dimension, ids, scope)
        with self._engine("search") as shard:
            statistics = self._statistics(scope)
            requests = [
                _request(query, q.Filter(must=[q.HasIdCondition(set(scored))]), len(scored), _EXACT_PARAMS, statistics)
                if scored
                else None
                for query, scored in zip(queries, ids, strict=True)
            ]
            answers = _run_requests(shard, requests)
        return [dict(_scored_ids(answer)) for answer in answers]

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        """See ``VectorIndex``. The engine does not tell them: they follow from the best score of each term alone, and
        from the same score over a corpus without texts, where each has the frequency ln 2."""
        assert query.text is not None
        terms = sparse.single_terms(sparse.encode_query(query.text))
        with self._engine("search") as shard:
            statistics = self._statistics(scope)
            requests = [
                q.QueryRequest(limit=1, query=q.Query.Nearest(alone, using=query.leg), params=params)
                for _, alone in terms
                for params in (statistics, _NO_STATISTICS)
            ]
            answers = iter(_run_requests(shard, requests))
        found = {}
        for (term, _), scores, plain_scores in zip(terms, answers, answers, strict=True):
            if scores and plain_scores:
                found[term] = scores[0].score / plain_scores[0].score * math.log(2)
        return found

    def count(self, filters: Filters | None = None) -> int:
        validation.check_filters(filters)
        with self._engine("count") as shard:
            if filters not in self._counts:
                if len(self._counts) >= _MAX_COUNTS:
                    self._counts.clear()
                self._counts[filters] = _count(shard, conditions.filter_conditions(filters))
            return self._counts[filters]

    def segment_count(self) -> int:
        """The number of segments."""
        with self._engine("count") as shard:
            return shard.info().segments_count

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
        requested = list(ids)
        validation.check_ids(requested)
        found: dict[int, NDArray[np.float32]] = {}
        for batch in _batches(requested, _VECTORS_A_BATCH):
            with self._engine("read vectors") as shard:
                records = shard.retrieve(list(batch), False, ["dense"])
            for record in records:
                if isinstance(record.vector, dict) and "dense" in record.vector:
                    found[_int_id(record.id)] = np.asarray(record.vector["dense"], dtype=np.float32)
        return found

    def close(self) -> None:
        """Flush and close the index; a second call does nothing."""
        with self._lock:
            shard, self._shard = self._shard, None
            if shard is not None:
                with translate_errors("count", self.folder):
                    contents = self._contents or _look_through(shard)
                close_shard(shard, self.folder, self.dimension, contents, self._trims)

    def _statistics(self, scope: Scope | None) -> q.SearchParams | None:
        """The texts over which the inverse document frequency is computed; None for all texts, which is the same and
        three times as fast while the index has the points of one user only."""
        narrowed = None if scope is None else self._filter_for_leg(conditions.statistics_conditions(scope), "own")
        return None if narrowed is None else q.SearchParams(idf=q.IdfParams(corpus=narrowed))

    def _filter_for_leg(self, required: Sequence[Condition], leg: Leg) -> q.Filter | None:
        """A filter of only those conditions that some points of the leg fail: without any condition, a flat scan of
        100,000 points takes two thirds of the time."""
        return _filter([condition for condition in required if not self._is_passed_by_all(condition, leg)])

    def _is_passed_by_all(self, condition: Condition, leg: Leg) -> bool:
        match condition:
            case EqualCondition("scope" | "talk" as field, scope):
                scopes = {scope}
            case AnyOfCondition("scope" | "talk" as field, several):
                scopes = set(several)
            case _:
                return False
        return self._scopes <= scopes and (field == "scope" or self._is_leg_conversational(leg))

    def _is_leg_conversational(self, leg: Leg) -> bool:
        """Whether all points of a leg are conversational messages; only messages have the legs own and window."""
        return self._is_all_conversational and (leg in ("own", "window") or not self._has_summaries)

    def _forget_counts(self) -> None:
        """Called before each update; before the first, the counts of the marker go."""
        self._counts.clear()
        self._contents = self._trims = None
        if self._is_in_marker:
            with file_errors(self.folder, "updated"):
                marker.forget_contents(self.folder, self.dimension)
            self._is_in_marker = False

    def _track_points(self, added: Sequence[IndexPoint]) -> None:
        if len(self._scopes) < 2:
            self._scopes |= {str(conditions.payload(point.fields)["scope"]) for point in added}
        messages = [point.fields.conversational for point in added if point.fields.level is None]
        self._has_summaries = self._has_summaries or len(messages) < len(added)
        self._is_all_conversational = self._is_all_conversational and all(messages)

    def _take_room(self, log_growth: int) -> None:
        """Allocate what an update may write; small updates share what one of them has allocated."""
        require_memory(_UPDATING_MEMORY_BYTES, "add to the index")
        if log_growth > self._allocated_log_bytes:
            self._allocated_log_bytes = 0
            allocated = max(log_growth, _LOG_BYTES_AT_ONCE)
            if log_growth * 2 > _LOG_BYTES_AT_ONCE and free_bytes(self.folder) > _UPDATES_AT_ONCE * 10 * log_growth:
                allocated = _UPDATES_AT_ONCE * log_growth
            preallocation.preallocate(self.folder, allocated, "add to the index")
            self._allocated_log_bytes = allocated
        self._allocated_log_bytes -= log_growth

    @contextmanager
    def _engine(self, what: str) -> Iterator[q.EdgeShard]:
        with self._lock, translate_errors(what, self.folder):
            if self._shard is None:
                raise StoreError(f"The index is closed and can't {what}.")
            yield self._shard


# --- between our values and the engine's -----------------------------------------------------------


def engine_point(point: IndexPoint) -> q.Point:
    """A point as the engine takes it; it must have been checked."""
    vectors: dict[str, Any] = {
        "dense": point.vector.tolist(),
        **sparse.encode_document_fields(point.own, point.window, point.summary),
    }
    return q.Point(point.id, vectors, conditions.payload(point.fields))


def _request(
    query: LegQuery, narrowed: q.Filter | None, limit: int, dense: q.SearchParams, statistics: q.SearchParams | None
) -> q.QueryRequest | None:
    if query.leg == "dense":
        assert query.vector is not None
        nearest = q.Query.Nearest(query.vector.tolist(), using="dense")
        return q.QueryRequest(limit=limit, query=nearest, filter=narrowed, params=dense)
    assert query.text is not None
    terms = sparse.encode_query(query.text)
    if not terms.indices:
        return None
    nearest = q.Query.Nearest(sparse.weighted(terms, query.weights), using=query.leg)
    return q.QueryRequest(limit=limit, query=nearest, filter=narrowed, params=statistics)


def _run_requests(shard: q.EdgeShard, requests: Sequence[q.QueryRequest | None]) -> list[list[q.ScoredPoint]]:
    """The results of requests, from one pass over the segments. None is a request that finds nothing: without a term,
    or without a point to score."""
    present = [request for request in requests if request is not None]
    found = iter(shard.query_batch(q.QueryBatchRequest(present)) if present else ())
    return [[] if request is None else next(found) for request in requests]


def _look_through(shard: q.EdgeShard) -> IndexContents:
    """What a shard holds; its scopes include those of withheld points."""
    scopes = frozenset(str(hit.value) for hit in shard.facet(q.FacetRequest("scope", limit=2, exact=True)).hits)
    points = _count(shard, [])
    summaries = _count(shard, [AnyOfCondition("level", LEVELS)])
    conversational = _count(shard, [AnyOfCondition("talk", tuple(scopes))])
    return IndexContents(points, shard.info().points_count, scopes, summaries > 0, points - summaries == conversational)


def _count(shard: q.EdgeShard, required: Sequence[Condition]) -> int:
    return shard.count(q.CountRequest(exact=True, filter=_filter(required)))


def _filter(required: Sequence[Condition]) -> q.Filter | None:
    return q.Filter(must=[_condition(condition) for condition in required]) if required else None


def _condition(condition: Condition) -> q.FieldCondition | q.HasIdCondition | q.IsEmptyCondition | q.Filter:
    match condition:
        case IdsCondition(ids):
            return q.HasIdCondition({*ids} or {0})  # no point has the id 0
        case EqualCondition(field, value):
            return q.FieldCondition(field, match=q.MatchValue(value))
        case AnyOfCondition(field, values):
            return q.FieldCondition(field, match=q.MatchAny([*values]))
        case RangeCondition(field, since, until):
            return q.FieldCondition(field, range=q.RangeFloat(gte=since, lt=until))
        case MissingCondition(field):
            return q.IsEmptyCondition(field)
        case EitherCondition(options):
            return q.Filter(should=[q.Filter(must=[_condition(one) for one in option]) for option in options])


def _ranked(points: Sequence[q.ScoredPoint]) -> list[ScoredPoint]:
    """Best first; equal scores by id, because their order in the engine is undefined."""
    ordered = sorted(_scored_ids(points))
    ordered.sort(key=itemgetter(1), reverse=True)  # keeps the order of equals
    return list(starmap(ScoredPoint, ordered))


def _scored_ids(points: Sequence[q.ScoredPoint]) -> list[tuple[int, float]]:
    # All ids are integers; checking each of several hundred would take as long as the rest of this function.
    return list(map(_ID_AND_SCORE, points))


def _int_id(id: q.PointId) -> int:
    assert isinstance(id, int)
    return id


def _batches(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[start : start + size] for start in range(0, len(values), size))
