"""The second speed of an ingest: every waiting chunk gets its vector and its point, and every summary after them.

A round takes some hundred chunks off the outbox, most pressing first; embeds the texts that have no vector
yet; appends those to the ledger; puts the points; and only when ledger and index have reached the disk
does the outbox let go, in the transaction that also links the messages with their copies. A round that is
interrupted is done again, and comes to the same. While somebody asks, rounds and the steps within are small, and
each step makes way first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.ingest import copies
from appliance.measures import Measures
from appliance.store import chunks, pieces, visible
from appliance.store.chunks import Queued, Waiting
from appliance.store.database import Database
from appliance.store.index.base import Fields, Index, Point
from appliance.store.vectors import Ledger, as_stored

ROUND = 1024
"""Chunks a round: few enough that a stop costs seconds of work, enough that flushing costs nothing."""

ROUND_BESIDE_QUESTIONS = 512
"""The same while somebody asks. A flush takes some 50 ms in which nothing else goes on in this process, however little
there is to flush: with a round of 64 chunks a second, one question in ten met one."""

TEXTS, TEXTS_BESIDE_QUESTIONS = 64, 2
"""Texts that are embedded in one step: some 0.2 s, and 6 ms, on two cores."""

POINTS, POINTS_BESIDE_QUESTIONS = 250, 16
"""Points that are put in one step: some 60 ms, and 4 ms, in which no search can look into the index."""

DROPS_A_ROUND = 10_000

EmbedPassages = Callable[[Sequence[str]], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How the work gives way. ``is_calm`` says whether nobody asks, so that steps may be large; ``make_way`` waits
    while somebody does; ``is_awaited`` says that somebody waits for the round to end, which then is cut short."""

    is_calm: Callable[[], bool] = lambda: True
    make_way: Callable[[], None] = lambda: None
    is_awaited: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Bench:
    """What the work is done with: one generation's stores and its model."""

    database: Database
    generation: int
    ledger: Ledger
    index: Index
    embed: EmbedPassages
    pace: Pace = field(default_factory=Pace)
    measures: Measures = field(default_factory=Measures)


@dataclass(frozen=True, slots=True)
class Round:
    """What a round has put: chunks, or pieces of summaries."""

    chunks: int = 0
    gists: int = 0

    def __bool__(self) -> bool:
        return self.chunks + self.gists > 0


def one_round(bench: Bench) -> Round:
    """Take out what is gone, and put the next chunks; of summaries, once no chunk waits."""
    drop_points(bench)
    limit = ROUND if bench.pace.is_calm() else ROUND_BESIDE_QUESTIONS
    if count := put_chunks(bench, limit):
        return Round(chunks=count)
    return Round(gists=_put_gists(bench, limit))


def put_chunks(bench: Bench, limit: int) -> int:
    """Put the next chunks; how many."""
    waiting: Sequence[Waiting] = chunks.next_puts(bench.database.read(), bench.generation, limit)
    if not waiting:
        return 0
    rows, vectors = _vectors(bench, waiting)
    waiting = [w for w in waiting if w.digest in vectors]
    _put(bench, [_point(w, vectors[w.digest]) for w in waiting])
    keys = [w.chunk for w in waiting]
    prints = copies.prints(bench.database.read(), keys)
    with bench.database.write() as tx:
        chunks.settle(tx, bench.generation, put=waiting, rows=rows)
        copies.link(tx, keys, prints, copies.Vectors(bench.generation, vectors, bench.ledger.read))
    bench.ledger.acknowledge(bench.ledger.rows + len(rows))
    return len(waiting)


def _put_gists(bench: Bench, limit: int) -> int:
    """Put the next pieces of summaries; how many."""
    waiting: Sequence[pieces.Waiting] = pieces.next_puts(bench.database.read(), bench.generation, limit)
    if not waiting:
        return 0
    rows, vectors = _vectors(bench, waiting)
    waiting = [w for w in waiting if w.digest in vectors]
    _put(bench, [_gist(w, vectors[w.digest]) for w in waiting])
    with bench.database.write() as tx:
        chunks.settle(tx, bench.generation, put=waiting, rows=rows)
    bench.ledger.acknowledge(bench.ledger.rows + len(rows))
    return len(waiting)


def _put(bench: Bench, points: Sequence[Point]) -> None:
    for some in _steps(bench, points, POINTS, POINTS_BESIDE_QUESTIONS):
        bench.index.upsert(some)
    bench.pace.make_way()
    bench.index.flush()


def _vectors(
    bench: Bench, waiting: Sequence[Queued]
) -> tuple[dict[bytes, int], dict[bytes, NDArray[np.float32]]]:
    """The new ledger rows by digest, and every vector by digest; what is not in the ledger is computed. A round that
    somebody waits for lacks those that were not computed yet."""
    there = {w.digest: w.row for w in waiting if w.row is not None}
    vectors = dict(zip(there, bench.ledger.read(list(there.values())), strict=True))
    missing = {w.digest: w.passage for w in waiting if w.row is None}
    computed: dict[bytes, NDArray[np.float32]] = {}
    for some in _steps(bench, list(missing), TEXTS, TEXTS_BESIDE_QUESTIONS):
        with bench.measures.embedding_of(len(some)):
            computed.update(zip(some, bench.embed([missing[digest] for digest in some]), strict=True))
        if bench.pace.is_awaited():
            break
    done = [digest for digest in missing if digest in computed]
    if not done:
        return {}, vectors
    fresh = np.stack([computed[digest] for digest in done])
    first = bench.ledger.append(done, fresh)
    vectors.update(zip(done, as_stored(fresh), strict=True))
    return {digest: first + i for i, digest in enumerate(done)}, vectors


_T = TypeVar("_T")


def _steps(bench: Bench, values: Sequence[_T], calm: int, beside: int) -> Iterator[Sequence[_T]]:
    """The values in steps of a size that suits the moment, each after making way."""
    at = 0
    while at < len(values):
        bench.pace.make_way()
        size = calm if bench.pace.is_calm() else beside
        yield values[at : at + size]
        at += size


def drop_points(bench: Bench) -> None:
    """Remove the points of chunks that are no more."""
    while dropped := chunks.next_drops(bench.database.read(), bench.generation, DROPS_A_ROUND):
        bench.pace.make_way()
        bench.index.delete([chunk for _, chunk in dropped])
        bench.index.flush()
        with bench.database.write() as tx:
            chunks.settle(tx, bench.generation, dropped=dropped)


def _point(waiting: Waiting, vector: NDArray[np.float32]) -> Point:
    return Point(
        id=waiting.chunk,
        vector=vector,
        own=waiting.text,
        window=f"{waiting.text} {waiting.neighbours}",
        fields=Fields(
            user_id=waiting.user_id,
            namespace=waiting.namespace,
            agents=tuple(msgspec.json.decode(waiting.agents)),
            session=waiting.session,
            role=waiting.role,
            source=waiting.source,
            talk=bool(waiting.talk),
            at=waiting.at,
            withheld=visible.withheld(waiting.storage_scope, bool(waiting.talk)),
        ),
    )


def _gist(waiting: pieces.Waiting, vector: NDArray[np.float32]) -> Point:
    return Point(
        id=waiting.point,
        vector=vector,
        own="",
        window="",
        gist=waiting.text,
        fields=Fields(
            user_id=waiting.user_id,
            namespace=waiting.namespace,
            agents=tuple(msgspec.json.decode(waiting.agents)),
            session=waiting.session,
            role="summary",
            source=waiting.source,
            talk=False,
            at=waiting.at,
            level=waiting.level,
            withheld=waiting.storage_scope == "none",
        ),
    )
