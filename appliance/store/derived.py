"""The derived stores of one generation, opened together: its vector ledger and its index.

Both can be thrown away. An index that is damaged or of another version is replaced by an empty one, and
every chunk is queued to be put again from the ledger: nothing needs to be embedded twice.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.paths import Home, make_private
from appliance.store import chunks, pieces
from appliance.store.chunks import Generation
from appliance.store.database import Database
from appliance.store.index import edge, shard
from appliance.store.index.base import Index
from appliance.store.sql import LISTED, listed
from appliance.store.vectors import Ledger

_GENERATION = re.compile(r"g(\d+)(?:\.ledger)?")


@dataclass(frozen=True, slots=True)
class Derived:
    """One generation's ledger and index. ``note`` says why the index is being made again, if it is."""

    generation: Generation
    ledger: Ledger
    index: Index
    note: str = ""
    folder: Path | None = None

    def make_private(self) -> None:
        """Close the index's files to everybody else. Qdrant makes them by the process's umask, which is the
        host program's to set; until then the home folder itself keeps others out."""
        if self.folder is not None:
            make_private(self.folder)

    def close(self) -> None:
        self.index.close()
        self.ledger.close()
        self.make_private()


def ledger_path(home: Home, generation: int) -> Path:
    return home.vectors / f"g{generation}.ledger"


def index_path(home: Home, generation: int) -> Path:
    return home.index / f"g{generation}"


def open_derived(
    home: Home, database: Database, generation: Generation, *, url: str = "", collection: str = ""
) -> Derived:
    """Open a generation's ledger and index, the index on the Qdrant server at ``url`` if one is given.

    Raises:
        StoreCorrupt: the ledger is damaged (the index never raises: it is made again).
    """
    ledger = Ledger(
        ledger_path(home, generation.id),
        generation.identity,
        generation.dimension,
        chunks.rows(database.read(), generation.id),
    )
    try:
        note, folder = "", None
        if url:
            index = _open_remote(url, f"{collection}-g{generation.id}", generation.dimension)
        else:
            folder = index_path(home, generation.id)
            index, note = _open_edge(folder, generation.dimension, _points(database, generation))
        if index.is_fresh:
            with database.write() as tx:
                chunks.requeue_all(tx, generation.id)
    except BaseException:
        ledger.close()
        raise
    found = Derived(generation, ledger, index, note, folder)
    found.make_private()
    return found


def _open_edge(folder: Path, dimension: int, points: int) -> tuple[Index, str]:
    """The index in ``folder``, or an empty one in its place when it is damaged or has fewer than ``points``."""
    try:
        index = edge.open_edge(folder, dimension)
        if index.is_fresh or index.opened_with >= points:
            return index, ""
        reason = f"{points - index.opened_with} of {points} points are missing"
        index.close()
    except (StoreCorrupt, StoreVersion) as error:
        reason = str(error)
    shard.discard(folder)
    return edge.open_edge(folder, dimension), f"the index is made again from the vectors ({reason})"


def _points(database: Database, generation: Generation) -> int:
    """How many points the index has at least: every chunk, and every piece of a summary, that is not in the
    outbox."""
    db = database.read()
    made = chunks.count(db, generation.id) + pieces.count(db, generation.id)
    return made - chunks.pending(db, generation.id) - pieces.pending(db, generation.id)


def _open_remote(url: str, collection: str, dimension: int) -> Index:
    from appliance.store.index.remote import open_remote

    return open_remote(url, collection, dimension)


def message_vectors(
    db: sqlite3.Connection, derived: Derived, keys: Sequence[int]
) -> NDArray[np.float32] | None:
    """The vectors of messages, (messages, dimension), of one in several chunks their mean; None where any has none."""
    rows: dict[int, list[int]] = {}
    for message, row in db.execute(
        "SELECT c.message_id, e.row FROM chunk c"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        f" WHERE c.generation = ? AND c.message_id IN {LISTED}",
        (derived.generation.id, listed(keys)),
    ).fetchall():
        rows.setdefault(message, []).append(row)
    if len(rows) < len(set(keys)):
        return None
    wanted = [rows[key] for key in keys]
    vectors = derived.ledger.read([row for some in wanted for row in some])
    starts = np.cumsum([0, *(len(some) for some in wanted[:-1])])
    sums: NDArray[np.float32] = np.add.reduceat(vectors, starts, axis=0)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    return sums


def remove(home: Home, generation: int) -> None:
    """Remove a generation's files. They must be closed."""
    remove_index(home, generation)
    with contextlib.suppress(FileNotFoundError):
        ledger_path(home, generation).unlink()


def expunge(home: Home, database: Database, generation: Generation) -> int:
    """Erase from a generation's ledger, which must be closed, what the truth no longer has; how many vectors."""
    db, path = database.read(), ledger_path(home, generation.id)
    if not path.exists():
        return 0
    ledger = Ledger(path, generation.identity, generation.dimension, chunks.rows(db, generation.id))
    try:
        return ledger.erase(chunks.ledger_rows(db, generation.id))
    finally:
        ledger.close()


def remove_strays(home: Home, database: Database) -> None:
    """Remove the files of generations that are no more: what a rebuild that was killed at its end left."""
    # The files first: a generation is known before it has any, and one may begin between the two looks.
    found = [*home.vectors.iterdir(), *home.index.iterdir()]
    known = chunks.generations(database.read())
    for path in found:
        named = _GENERATION.fullmatch(path.name)
        if named and int(named[1]) not in known:
            remove(home, int(named[1]))


def remove_index(home: Home, generation: int) -> None:
    """Remove a generation's index, which must be closed: it is made again when it is next opened."""
    shard.discard(index_path(home, generation))
