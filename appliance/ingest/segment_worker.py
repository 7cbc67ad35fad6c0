"""One segment of an index, built in a process of its own: ``python -m appliance.ingest.segment_worker PLAN``.

PLAN is a ``SegmentPlan`` as JSON. The process reads the messages' chunks from the database and their vectors from the
ledger, and writes the segment's folder and, beside it, the keys of its chunks (``KEYS_SUFFIX``). It prints the number
of its points so far, a line each time, and ends when its standard input does.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from appliance.ingest.indexer import point
from appliance.store import chunks
from appliance.store.database import Database
from appliance.store.index.bulk import BATCH_POINTS, write_segment
from appliance.store.index.protocol import IndexPoint
from appliance.store.vectors import VectorLedger

KEYS_SUFFIX = ".npy"


class SegmentPlan(msgspec.Struct, frozen=True):
    """What a segment is built from. ``messages`` names a file of messages' keys, of which those from ``start`` to
    ``stop`` belong to the segment; ``ledger_rows`` is how many rows of the ledger count."""

    database: str
    generation: int
    ledger: str
    ledger_rows: int
    identity: str
    dimension: int
    messages: str
    start: int
    stop: int
    folder: str


def build(plan: SegmentPlan) -> int:
    """Build the segment of a plan; returns the number of its points. Chunks without a sound vector are left out."""
    database = Database(Path(plan.database))
    ledger = VectorLedger(Path(plan.ledger), plan.identity, plan.dimension, plan.ledger_rows, read_only=True)
    keys = np.load(plan.messages, mmap_mode="r")[plan.start : plan.stop]
    built: list[int] = []
    try:
        folder = Path(plan.folder)
        count = write_segment(folder, plan.dimension, _batches(database, ledger, plan.generation, keys.tolist(), built))
        np.save(folder.with_name(folder.name + KEYS_SUFFIX), np.array(built, np.int64))
        return count
    finally:
        ledger.close()
        database.close()


def _batches(
    database: Database, ledger: VectorLedger, generation: int, messages: Sequence[int], built: list[int]
) -> Iterator[list[IndexPoint]]:
    """The points of messages; notes the keys of their chunks in ``built``."""
    for start in range(0, len(messages), BATCH_POINTS):
        found = chunks.with_point_fields(database.read(), generation, messages[start : start + BATCH_POINTS])
        rows = {chunk.chunk: chunk.row for chunk in found if chunk.row is not None and not chunk.archived}
        damaged = ledger.damaged_rows(rows.values())
        present = [chunk for chunk in found if rows.get(chunk.chunk) not in (None, *damaged)]
        vectors = ledger.read([rows[chunk.chunk] for chunk in present])
        yield [point(chunk, vector) for chunk, vector in zip(present, vectors, strict=True)]
        built += [chunk.chunk for chunk in present]
        print(len(built), flush=True)


def end_with_the_parent() -> None:
    """End this process when its parent does, even if that is killed: then its end of our standard input is closed."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    gc.disable()  # of millions of small objects without cycles, it would look at all again and again
    build(msgspec.json.decode(sys.argv[1], type=SegmentPlan))


if __name__ == "__main__":
    main()
