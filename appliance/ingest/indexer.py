"""Drains the outbox: gives every waiting chunk its vector and its point, first those of messages, then of summaries.

A batch takes chunks from the outbox, highest priority first; splits those that are too long, which a large import has
stored as whole messages; embeds the texts that have no vector yet; appends the vectors to the ledger; puts the points;
and, once ledger and index have reached the disk, removes the chunks from the outbox, in the transaction that also links
the messages with their variants. An interrupted batch is repeated with the same result. While queries run, batches and
the steps within them are small, and each step yields to queries first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.errors import EmbeddingApiError
from appliance.ingest import near_duplicates
from appliance.ingest.chunk import Chunker
from appliance.runtime.metrics import Metrics
from appliance.store import chunks, outbox, summary_chunks, token_places, visibility
from appliance.store.chunks import ChunkableMessage, OutboxItem, PendingChunk
from appliance.store.database import Database
from appliance.store.index.protocol import IndexPoint, PointFields, VectorIndex
from appliance.store.passages import Passage, SplitMessage
from appliance.store.summary_chunks import PendingSummaryChunk
from appliance.store.token_vectors import TokenLedger, TokenPlace, Tokens
from appliance.store.vectors import VectorLedger

BATCH_CHUNKS = 1024
"""Chunks in a batch: few enough that stopping loses only seconds of work, enough that flushing costs nothing."""

BATCH_EMBEDDED_CHUNKS = 4096
"""Chunks in a batch that have their vectors already, as while an index is rebuilt: it takes a second."""

BATCH_CHUNKS_DURING_QUERIES = 512
"""The same while queries run. A flush takes about 50 ms, in which nothing else runs in this process, however little
there is to flush: with a batch of 64 chunks a second, one query in ten had to wait for a flush."""

EMBEDDED_MESSAGES = 250
"""Messages whose chunks have vectors, and are put in one batch while an embedding API does not answer."""

API_CALLS_PER_BATCH = 4
"""Calls of an embedding API in a batch."""

EMBED_STEP_TEXTS, EMBED_STEP_TEXTS_DURING_QUERIES = 64, 2
"""Texts embedded in one step, which takes about 0.2 s or 6 ms on two cores."""

SPLIT_STEP_MESSAGES, SPLIT_STEP_MESSAGES_DURING_QUERIES = 256, 8
"""Messages split in one step, which takes some 40 ms or 1 ms."""

UPSERT_STEP_POINTS, UPSERT_STEP_POINTS_DURING_QUERIES = 250, 16
"""Points put in one step, which takes about 60 ms or 4 ms, during which no search can read the index."""

OPTIMIZE_AFTER_POINTS = 10_000
"""New points after which the index is optimized. Unoptimized points are held in memory; to optimize so many takes one
to three seconds, in which nothing else runs in this process."""

MAX_DROPS_PER_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class EmbeddedPassages:
    """The vectors of passages in order, (vectors, dimension): one of a text, and of a message one for each chunk; and
    the token vectors of each, None if the model gives none."""

    vectors: NDArray[np.float32]
    tokens: Sequence[Tokens] | None = None


EmbedPassages = Callable[[Sequence[Passage]], EmbeddedPassages]


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
    """The resources of the indexer: the stores of one generation and its model. ``tokens`` is None if no token vectors
    are kept. If ``embed`` asks an API, ``texts_a_call`` is how many texts it takes at once, and ``texts_a_request`` how
    many of them are one request; else they are 0."""

    database: Database
    generation: int
    ledger: VectorLedger
    index: VectorIndex
    embed: EmbedPassages
    tokens: TokenLedger | None = None
    throttle: Throttle = field(default_factory=Throttle)
    metrics: Metrics = field(default_factory=Metrics)
    texts_a_call: int = 0
    texts_a_request: int = 0
    has_point: Callable[[int, int], bool] = lambda ticket, chunk: False
    """Whether the index has the point of a queued chunk, by its ticket and key, already as it should be."""
    max_batch_chunks: int = 0
    """The most chunks of a batch; 0 for as many as are usual."""
    embed_step: int = EMBED_STEP_TEXTS
    """Texts embedded in one step while no query runs."""
    chunker: Chunker | None = None
    """Splits messages that were stored as one chunk; None in a generation that has none of them."""

    @property
    def batch_chunks(self) -> int:
        """The most chunks of a batch. What an API has embedded is paid for, so few are lost with an interrupted
        batch."""
        if self.texts_a_call:
            return API_CALLS_PER_BATCH * self.texts_a_call
        chunks = BATCH_CHUNKS if self.throttle.is_idle() else BATCH_CHUNKS_DURING_QUERIES
        return min(chunks, self.max_batch_chunks or chunks)


@dataclass(frozen=True, slots=True)
class _BatchVectors:
    """The vectors of a batch by digest, and where the new ones are in the ledgers."""

    vectors: Mapping[bytes, NDArray[np.float32]]
    rows: Mapping[bytes, int]
    places: Mapping[bytes, TokenPlace]


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
    limit = context.batch_chunks
    if count := put_chunks(context, limit, up_to_ticket):
        return IndexedBatch(chunks=count)
    return IndexedBatch(summary_chunks=_put_summary_chunks(context, limit, up_to_ticket))


def put_embedded(context: IndexingContext, up_to_ticket: int = chunks.MAX_TICKET) -> int:
    """Put the chunks that have a vector already, while the others have to wait; returns their number."""
    put, db = 0, context.database.read()
    if not chunks.count_ledger_rows(db, context.generation):
        return put  # it need not be looked for in a large outbox
    with suppress(EmbeddingApiError):  # a vector is damaged
        while found := outbox.messages_with_vectors(db, context.generation, EMBEDDED_MESSAGES, up_to_ticket):
            put += put_chunks(context, BATCH_CHUNKS, up_to_ticket, found)
        while count := _put_summary_chunks(context, BATCH_CHUNKS, up_to_ticket, only_embedded=True):
            put += count
    return put


def put_chunks(
    context: IndexingContext, limit: int, up_to_ticket: int = chunks.MAX_TICKET, messages: Collection[int] | None = None
) -> int:
    """Put up to ``limit`` chunks of messages, and link the messages with their variants; returns their number. Only
    chunks of ``messages``, if it is not None."""
    fitting: set[int] = set()
    while True:
        pending = _next_puts(context, limit, up_to_ticket, messages)
        if not _split_long(context, pending, fitting):
            break
    if not pending:
        return 0
    context.index.require_ready()
    batch = _vectors(context, pending)
    pending = [chunk for chunk in pending if chunk.digest in batch.vectors]
    new = [chunk for chunk in pending if not chunk.archived and not context.has_point(chunk.ticket, chunk.chunk)]
    _put(context, [point(chunk, batch.vectors[chunk.digest]) for chunk in new])
    keys = [chunk.chunk for chunk in pending]
    signatures = near_duplicates.signatures(context.database.read(), keys)
    comparison = near_duplicates.ComparisonVectors(context.generation, batch.vectors, context.ledger.read)
    with _acknowledged(context, pending, batch) as tx:
        near_duplicates.link(tx, keys, signatures, comparison)
    return len(pending)


def _split_long(context: IndexingContext, pending: Sequence[PendingChunk], fitting: set[int]) -> bool:
    """Split those chunks that are too long for the model: messages that were stored as a whole. Returns whether there
    were any. ``fitting`` collects the chunks that were examined and are short enough."""
    if context.chunker is None:
        return False
    whole = [chunk for chunk in pending if chunk.is_whole and chunk.row is None and chunk.chunk not in fitting]
    any_split = False
    for step in _steps(context, whole, SPLIT_STEP_MESSAGES, SPLIT_STEP_MESSAGES_DURING_QUERIES):
        texts = [ChunkableMessage(chunk.message, chunk.author, chunk.text, True, 0) for chunk in step]
        spans_by_chunk = [*zip(step, context.chunker.split(texts), strict=True)]
        fitting.update(chunk.chunk for chunk, spans in spans_by_chunk if len(spans) < 2)
        if too_long := [(chunk, spans) for chunk, spans in spans_by_chunk if len(spans) > 1]:
            with context.database.write() as tx:
                outbox.split(tx, context.generation, too_long)
            any_split = True
    return any_split


def _next_puts(
    context: IndexingContext, limit: int, up_to_ticket: int, messages: Collection[int] | None
) -> Sequence[PendingChunk]:
    """The next ``limit`` chunks; more if none of those has to be embedded and there is time. Only chunks of
    ``messages``, if it is not None."""
    db = context.database.read()
    found = chunks.next_puts(db, context.generation, limit, messages, up_to_ticket)
    if messages is not None:
        return found
    if limit == BATCH_CHUNKS == len(found) and all(chunk.row is not None for chunk in found):
        more = chunks.next_puts(db, context.generation, BATCH_EMBEDDED_CHUNKS, up_to_ticket=up_to_ticket)
        return list(takewhile(lambda chunk: chunk.row is not None, more)) or found
    return found


def _put_summary_chunks(context: IndexingContext, limit: int, up_to_ticket: int, *, only_embedded: bool = False) -> int:
    """Put up to ``limit`` chunks of summaries; returns their number."""
    pending: Sequence[PendingSummaryChunk]
    pending = summary_chunks.next_puts(
        context.database.read(), context.generation, limit, up_to_ticket, only_embedded=only_embedded
    )
    if not pending:
        return 0
    context.index.require_ready()
    batch = _vectors(replace(context, tokens=None), pending)  # only messages are compared token by token
    pending = [chunk for chunk in pending if chunk.digest in batch.vectors]
    _put(context, [summary_point(chunk, batch.vectors[chunk.digest]) for chunk in pending])
    with _acknowledged(context, pending, batch):
        pass
    return len(pending)


@contextmanager
def _acknowledged(
    context: IndexingContext, put: Sequence[OutboxItem], batch: _BatchVectors
) -> Iterator[sqlite3.Connection]:
    """A transaction that notes what has reached the disk."""
    with context.database.write() as tx:
        chunks.acknowledge(tx, context.generation, put=put, rows=batch.rows)
        yield tx
        if context.tokens is not None and batch.places:
            token_places.add(tx, context.generation, batch.places, context.tokens.end_with(batch.places.values()))
    context.ledger.acknowledge(context.ledger.rows + len(batch.rows))
    if context.tokens is not None:
        context.tokens.acknowledge(batch.places.values())


def _put(context: IndexingContext, points: Sequence[IndexPoint]) -> None:
    if not points:
        return
    for step in _steps(context, points, UPSERT_STEP_POINTS, UPSERT_STEP_POINTS_DURING_QUERIES):
        context.index.upsert(step)
    context.throttle.yield_to_queries()
    context.index.flush()


def _vectors(context: IndexingContext, pending: Sequence[OutboxItem]) -> _BatchVectors:
    """The vectors of a batch; computes those that are missing or damaged in the ledger, only some of them if a caller
    waits for the batch, or an API does not answer any more."""
    rows = {item.digest: item.row for item in pending if item.row is not None}
    damaged = context.ledger.damaged_rows(rows.values())
    damaged_digests = {digest for digest, row in rows.items() if row in damaged}
    stored_rows = {digest: row for digest, row in rows.items() if row not in damaged}
    vectors = dict(zip(stored_rows, context.ledger.read(list(stored_rows.values())), strict=True))
    inputs = embedding_inputs(pending, stored_rows.keys())
    computed: dict[bytes, NDArray[np.float32]] = {}
    tokens: dict[bytes, Tokens] = {}
    for step in _embedding_steps(context, inputs):
        digests = [digest for one in step for digest in one.digests]
        try:
            with context.metrics.time_embedding(len(digests)):
                embedded = context.embed([one.passage for one in step])
        except EmbeddingApiError:
            if not vectors and not computed:
                raise
            break  # what there is gets its points now
        computed.update(zip(digests, embedded.vectors, strict=True))
        tokens.update(zip(digests, embedded.tokens or (), strict=False))
        if context.throttle.is_awaited():
            break
    for digest in damaged_digests & computed.keys():
        context.ledger.rewrite(rows[digest], digest, computed[digest])
        vectors[digest] = context.ledger.round(computed[digest])
    present = rows.keys() | _embedded_digests(inputs)
    done = [digest for digest in computed if digest not in present]
    if not done:
        return _BatchVectors(vectors, {}, {})
    fresh = np.stack([computed[digest] for digest in done])
    first = context.ledger.append(done, fresh)
    vectors.update(zip(done, context.ledger.round(fresh), strict=True))
    places = append_tokens(context, {digest: tokens[digest] for digest in done if digest in tokens})
    return _BatchVectors(vectors, {digest: first + i for i, digest in enumerate(done)}, places)


@dataclass(frozen=True, slots=True)
class EmbeddingInput:
    """What the model reads at once, with the digests of the vectors that it gives."""

    passage: Passage
    digests: Sequence[bytes]


class _EmbeddableChunk(Protocol):
    """A chunk whose vector is computed from a passage."""

    @property
    def digest(self) -> bytes: ...

    @property
    def passage(self) -> Passage: ...


def embedding_inputs(chunks: Iterable[_EmbeddableChunk], present: Collection[bytes]) -> list[EmbeddingInput]:
    """What the model reads for those chunks whose digests are not ``present``, each passage once. A section of a
    message gives the vectors of all of its chunks."""
    inputs: list[EmbeddingInput] = []
    seen = set(present)
    for chunk in chunks:
        if chunk.digest not in seen:
            passage = chunk.passage
            digests = passage.digests if isinstance(passage, SplitMessage) else (chunk.digest,)
            inputs.append(EmbeddingInput(passage, digests))
            seen.update(inputs[-1].digests)
    return inputs


def _embedded_digests(inputs: Iterable[EmbeddingInput]) -> set[bytes]:
    """The digests of what is read again for the sake of other chunks of its section, and has its vector."""
    messages = [one.passage for one in inputs if isinstance(one.passage, SplitMessage)]
    return {
        digest
        for message in messages
        for digest, is_embedded in zip(message.digests, message.are_embedded, strict=True)
        if is_embedded
    }


def _embedding_steps(context: IndexingContext, inputs: Sequence[EmbeddingInput]) -> Iterator[Sequence[EmbeddingInput]]:
    """Yields what is read in steps of some vectors, each after yielding to queries. A section is never divided; to an
    API it is a request of its own, and counts as a full one: if a step fails, all its requests are sent again."""
    idle_size, busy_size = (context.embed_step, EMBED_STEP_TEXTS_DURING_QUERIES)
    if context.texts_a_call:
        idle_size = busy_size = context.texts_a_call
    at = 0
    while at < len(inputs):
        context.throttle.yield_to_queries()
        size = idle_size if context.throttle.is_idle() else busy_size
        end, vectors = at + 1, _weight(context, inputs[at])
        while end < len(inputs) and vectors + _weight(context, inputs[end]) <= size:
            vectors += _weight(context, inputs[end])
            end += 1
        yield inputs[at:end]
        at = end


def _weight(context: IndexingContext, embedding_input: EmbeddingInput) -> int:
    least = context.texts_a_request if isinstance(embedding_input.passage, SplitMessage) else 1
    return max(len(embedding_input.digests), least)


def append_tokens(context: IndexingContext, tokens: Mapping[bytes, Tokens]) -> dict[bytes, TokenPlace]:
    """Write token vectors after the acknowledged ones, if any are kept; returns where each text's are."""
    if context.tokens is None or not tokens:
        return {}
    return dict(zip(tokens, context.tokens.append(list(tokens), list(tokens.values())), strict=True))


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
        chunk.source, conversational or bool(chunk.is_page), chunk.at, withheld, author=chunk.author,
    )  # fmt: skip
    return IndexPoint(chunk.chunk, vector, own=chunk.text, window=f"{chunk.text} {chunk.neighbours}", fields=fields)


def summary_point(chunk: PendingSummaryChunk, vector: NDArray[np.float32]) -> IndexPoint:
    """Return the point of a summary's chunk."""
    fields = PointFields(
        chunk.user_id, chunk.namespace, tuple(msgspec.json.decode(chunk.agents)), chunk.session, "summary",
        chunk.source, conversational=False, at=chunk.at, withheld=chunk.storage_scope == "none", level=chunk.level,
    )  # fmt: skip
    return IndexPoint(chunk.point, vector, own="", window="", fields=fields, summary=chunk.text)
