"""Drains the outbox: gives every waiting chunk its vector and its point, first those of messages, then of summaries.

A batch takes chunks from the outbox, highest priority first; embeds the texts that have no vector yet; appends the
vectors to the ledger; puts the points; and, once ledger and index have reached the disk, removes the chunks from the
outbox, in the transaction that also links the messages with their variants. An interrupted batch is repeated with the
same result. While queries run, batches and the steps within them are small, and each step yields to queries first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.ingest import near_duplicates
from appliance.runtime.metrics import Metrics
from appliance.store import chunks, summary_chunks, visibility
from appliance.store.chunks import OutboxItem, PendingChunk
from appliance.store.database import Database
from appliance.store.index.protocol import IndexPoint, PointFields, VectorIndex
from appliance.store.summary_chunks import PendingSummaryChunk
from appliance.store.vectors import VectorLedger, round_to_stored

BATCH_CHUNKS = 1024
"""Chunks in a batch: few enough that stopping loses only seconds of work, enough that flushing costs nothing."""

BATCH_CHUNKS_DURING_QUERIES = 512
"""The same while queries run. A flush takes about 50 ms, in which nothing else runs in this process, however little
there is to flush: with a batch of 64 chunks a second, one query in ten had to wait for a flush."""

EMBED_STEP_TEXTS, EMBED_STEP_TEXTS_DURING_QUERIES = 64, 2
"""Texts embedded in one step, which takes about 0.2 s or 6 ms on two cores."""

UPSERT_STEP_POINTS, UPSERT_STEP_POINTS_DURING_QUERIES = 250, 16
"""Points put in one step, which takes about 60 ms or 4 ms, during which no search can read the index."""

MAX_DROPS_PER_BATCH = 10_000

EmbedPassages = Callable[[Sequence[str]], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class Throttle:
    """How the indexer yields. ``is_idle`` returns whether no query runs, so that steps may be large;
    ``yield_to_queries`` waits while queries run; ``is_awaited`` returns whether a caller waits for the batch to end,
    which is then cut short."""

    is_idle: Callable[[], bool] = lambda: True
    yield_to_queries: Callable[[], None] = lambda: None
    is_awaited: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class IndexingContext:
    """The resources of the indexer: the stores of one generation and its model."""

    database: Database
    generation: int
    ledger: VectorLedger
    index: VectorIndex
    embed: EmbedPassages
    throttle: Throttle = field(default_factory=Throttle)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True, slots=True)
class IndexedBatch:
    """How many chunks of messages or of summaries a batch has indexed."""

    chunks: int = 0
    summary_chunks: int = 0

    def __bool__(self) -> bool:
        return self.chunks + self.summary_chunks > 0


def index_batch(context: IndexingContext, up_to_ticket: int = chunks.MAX_TICKET) -> IndexedBatch:
    """Remove the points of deleted chunks, and put the next chunks of those queued up to a ticket: those of summaries
    once no others wait."""
    drop_points(context)
    limit = BATCH_CHUNKS if context.throttle.is_idle() else BATCH_CHUNKS_DURING_QUERIES
    if count := put_chunks(context, limit, up_to_ticket):
        return IndexedBatch(chunks=count)
    return IndexedBatch(summary_chunks=_put_summary_chunks(context, limit, up_to_ticket))


def put_chunks(context: IndexingContext, limit: int, up_to_ticket: int = chunks.MAX_TICKET) -> int:
    """Put up to ``limit`` chunks of messages, and link the messages with their variants; returns their number."""
    pending: Sequence[PendingChunk] = chunks.next_puts(
        context.database.read(), context.generation, limit, up_to_ticket=up_to_ticket
    )
    if not pending:
        return 0
    rows, vectors = _vectors(context, pending)
    pending = [chunk for chunk in pending if chunk.digest in vectors]
    _put(context, [point(chunk, vectors[chunk.digest]) for chunk in pending if not chunk.archived])
    keys = [chunk.chunk for chunk in pending]
    signatures = near_duplicates.signatures(context.database.read(), keys)
    comparison = near_duplicates.ComparisonVectors(context.generation, vectors, context.ledger.read)
    with context.database.write() as tx:
        chunks.acknowledge(tx, context.generation, put=pending, rows=rows)
        near_duplicates.link(tx, keys, signatures, comparison)
    context.ledger.acknowledge(context.ledger.rows + len(rows))
    return len(pending)


def _put_summary_chunks(context: IndexingContext, limit: int, up_to_ticket: int) -> int:
    """Put up to ``limit`` chunks of summaries; returns their number."""
    pending: Sequence[PendingSummaryChunk]
    pending = summary_chunks.next_puts(context.database.read(), context.generation, limit, up_to_ticket)
    if not pending:
        return 0
    rows, vectors = _vectors(context, pending)
    pending = [chunk for chunk in pending if chunk.digest in vectors]
    _put(context, [_summary_point(chunk, vectors[chunk.digest]) for chunk in pending])
    with context.database.write() as tx:
        chunks.acknowledge(tx, context.generation, put=pending, rows=rows)
    context.ledger.acknowledge(context.ledger.rows + len(rows))
    return len(pending)


def _put(context: IndexingContext, points: Sequence[IndexPoint]) -> None:
    for step in _steps(context, points, UPSERT_STEP_POINTS, UPSERT_STEP_POINTS_DURING_QUERIES):
        context.index.upsert(step)
    context.throttle.yield_to_queries()
    context.index.flush()


def _vectors(
    context: IndexingContext, pending: Sequence[OutboxItem]
) -> tuple[dict[bytes, int], dict[bytes, NDArray[np.float32]]]:
    """The new ledger rows and all vectors, by digest; computes vectors that are missing or damaged in the ledger, only
    some of them if a caller waits for the batch."""
    rows = {item.digest: item.row for item in pending if item.row is not None}
    damaged = context.ledger.damaged_rows(rows.values())
    stored_rows = {digest: row for digest, row in rows.items() if row not in damaged}
    vectors = dict(zip(stored_rows, context.ledger.read(list(stored_rows.values())), strict=True))
    missing = {item.digest: item.passage for item in pending if item.digest not in stored_rows}
    computed: dict[bytes, NDArray[np.float32]] = {}
    for step in _steps(context, list(missing), EMBED_STEP_TEXTS, EMBED_STEP_TEXTS_DURING_QUERIES):
        with context.metrics.time_embedding(len(step)):
            computed.update(zip(step, context.embed([missing[digest] for digest in step]), strict=True))
        if context.throttle.is_awaited():
            break
    for digest in rows.keys() & computed.keys():
        context.ledger.rewrite(rows[digest], digest, computed[digest])
        vectors[digest] = round_to_stored(computed[digest])
    done = [digest for digest in missing if digest in computed and digest not in rows]
    if not done:
        return {}, vectors
    fresh = np.stack([computed[digest] for digest in done])
    first = context.ledger.append(done, fresh)
    vectors.update(zip(done, round_to_stored(fresh), strict=True))
    return {digest: first + i for i, digest in enumerate(done)}, vectors


_T = TypeVar("_T")


def _steps(context: IndexingContext, values: Sequence[_T], idle_size: int, busy_size: int) -> Iterator[Sequence[_T]]:
    """Yields the values in steps, each after yielding to queries; smaller ones while queries run."""
    at = 0
    while at < len(values):
        context.throttle.yield_to_queries()
        size = idle_size if context.throttle.is_idle() else busy_size
        yield values[at : at + size]
        at += size


def drop_points(context: IndexingContext) -> None:
    """Remove the points of deleted chunks from the index."""
    while dropped := chunks.next_drops(context.database.read(), context.generation, MAX_DROPS_PER_BATCH):
        context.throttle.yield_to_queries()
        context.index.delete([chunk for _, chunk in dropped])
        context.index.flush()
        with context.database.write() as tx:
            chunks.acknowledge(tx, context.generation, dropped=dropped)


def point(chunk: PendingChunk, vector: NDArray[np.float32]) -> IndexPoint:
    """Return the point of a message's chunk."""
    conversational = bool(chunk.conversational)
    withheld = visibility.is_withheld(chunk.storage_scope, conversational)
    fields = PointFields(
        chunk.user_id, chunk.namespace, tuple(msgspec.json.decode(chunk.agents)), chunk.session, chunk.role,
        chunk.source, conversational, chunk.at, withheld, author=chunk.author,
    )  # fmt: skip
    return IndexPoint(chunk.chunk, vector, own=chunk.text, window=f"{chunk.text} {chunk.neighbours}", fields=fields)


def _summary_point(chunk: PendingSummaryChunk, vector: NDArray[np.float32]) -> IndexPoint:
    fields = PointFields(
        chunk.user_id, chunk.namespace, tuple(msgspec.json.decode(chunk.agents)), chunk.session, "summary",
        chunk.source, conversational=False, at=chunk.at, withheld=chunk.storage_scope == "none", level=chunk.level,
    )  # fmt: skip
    return IndexPoint(chunk.point, vector, own="", window="", fields=fields, summary=chunk.text)
