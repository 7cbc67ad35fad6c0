"""Which points an index is to have, against those that it has. Both sides are read in the order of their ids, so that
comparing a hundred million takes no memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from appliance.store.chunks import SUMMARY_POINTS


def expected(db: sqlite3.Connection, generation: int, *, waiting: bool = True, after: int = 0) -> Iterator[int]:
    """Yield the ids of the points that a generation's index has or is to have, ascending, from above ``after``: those
    of chunks of messages that are not archived, and of summaries. ``waiting=False`` leaves out those that still have to
    be put."""
    queued = "AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.chunk_id = p.id AND o.work = 'put')"
    rows = db.execute(
        "SELECT id FROM (SELECT c.id FROM chunk c WHERE c.generation = ?1"
        " AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = c.message_id)"
        f" UNION ALL SELECT s.id + {SUMMARY_POINTS} FROM summary_chunk s WHERE s.generation = ?1) p"
        f" WHERE id > ?2 {'' if waiting else queued} ORDER BY id",
        (generation, after),
    )
    return (key for (key,) in rows)


def surplus(db: sqlite3.Connection, generation: int, present: Iterable[int]) -> Iterator[int]:
    """Yield the points, of those that are present (ascending), that the index is not to have."""
    wanted = expected(db, generation)
    next_wanted = next(wanted, None)
    for id in present:
        while next_wanted is not None and next_wanted < id:
            next_wanted = next(wanted, None)
        if next_wanted != id:
            yield id


def missing(db: sqlite3.Connection, generation: int, present: Iterable[int]) -> Iterator[int]:
    """Yield the points that the index should have by now and that are not among those present (ascending)."""
    found = iter(present)
    next_found = next(found, None)
    for id in expected(db, generation, waiting=False):
        while next_found is not None and next_found < id:
            next_found = next(found, None)
        if next_found != id:
            yield id
