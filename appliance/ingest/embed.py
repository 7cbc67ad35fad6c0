"""The second speed of an ingest: every waiting chunk gets its vector and its point, and every summary after them.

A round takes some hundred chunks off the outbox, most pressing first; embeds the texts that have no vector
yet; appends those to the ledger; puts the points; and only when ledger and index have reached the disk
does the outbox let go, in the transaction that also links the messages with their copies. A round that is
interrupted is done again, and comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.ingest import copies
from appliance.store import chunks, pieces, visible
from appliance.store.chunks import Queued, Waiting
from appliance.store.database import Database
from appliance.store.index.base import Fields, Index, Point
from appliance.store.vectors import Ledger, as_stored

ROUND = 1024
"""Chunks a round: few enough that a stop costs seconds of work, enough that flushing costs nothing."""

DROPS_A_ROUND = 10_000

SETTLE_AFTER = 10_000
"""Chunks between two housekeepings of the index: unsettled points sit in memory, settling them takes one to
three seconds for so many."""

EmbedPassages = Callable[[Sequence[str]], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class Bench:
    """What the work is done with: one generation's stores and its model."""

    database: Database
    generation: int
    ledger: Ledger
    index: Index
    embed: EmbedPassages


def drain(bench: Bench, *, goes_on: Callable[[], bool], progress: Callable[[int], None]) -> int:
    """Work the outbox off until it is empty or ``goes_on`` says no; how many chunks were put.

    ``progress`` is told of each round's count, of summaries' rounds 0.
    """
    done = unsettled = 0
    drop_points(bench)
    while goes_on():
        count, gists = one_round(bench), 0
        if not count:
            gists = one_round_of_summaries(bench)
            if not gists:
                break
        done += count
        unsettled += count + gists
        progress(count)
        if unsettled >= SETTLE_AFTER:
            bench.index.settle()
            unsettled = 0
    bench.index.settle()
    return done


def one_round(bench: Bench) -> int:
    """Put the next chunks; how many."""
    waiting = chunks.next_puts(bench.database.read(), bench.generation, ROUND)
    if not waiting:
        return 0
    rows, vectors = _vectors(bench, waiting)
    bench.index.upsert([_point(w, vectors[w.digest]) for w in waiting])
    bench.index.flush()
    keys = [w.chunk for w in waiting]
    prints = copies.prints(bench.database.read(), keys)
    with bench.database.write() as tx:
        chunks.settle(tx, bench.generation, put=waiting, rows=rows)
        copies.link(tx, keys, prints, copies.Vectors(bench.generation, vectors, bench.ledger.read))
    bench.ledger.acknowledge(bench.ledger.rows + len(rows))
    return len(waiting)


def one_round_of_summaries(bench: Bench) -> int:
    """Put the next pieces of summaries; how many."""
    waiting = pieces.next_puts(bench.database.read(), bench.generation, ROUND)
    if not waiting:
        return 0
    rows, vectors = _vectors(bench, waiting)
    bench.index.upsert([_gist(w, vectors[w.digest]) for w in waiting])
    bench.index.flush()
    with bench.database.write() as tx:
        chunks.settle(tx, bench.generation, put=waiting, rows=rows)
    bench.ledger.acknowledge(bench.ledger.rows + len(rows))
    return len(waiting)


def _vectors(
    bench: Bench, waiting: Sequence[Queued]
) -> tuple[dict[bytes, int], dict[bytes, NDArray[np.float32]]]:
    """The new ledger rows by digest, and every vector by digest; what is not in the ledger is computed."""
    there = {w.digest: w.row for w in waiting if w.row is not None}
    vectors = dict(zip(there, bench.ledger.read(list(there.values())), strict=True))
    missing = {w.digest: w.passage for w in waiting if w.row is None}
    if not missing:
        return {}, vectors
    computed = bench.embed(list(missing.values()))
    first = bench.ledger.append(list(missing), computed)
    vectors.update(zip(missing, as_stored(computed), strict=True))
    return {digest: first + i for i, digest in enumerate(missing)}, vectors


def drop_points(bench: Bench) -> None:
    """Remove the points of chunks that are no more."""
    while dropped := chunks.next_drops(bench.database.read(), bench.generation, DROPS_A_ROUND):
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
