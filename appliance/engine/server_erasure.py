"""Erasure from a Qdrant server: what the database no longer has is deleted there point by point, and the proof is a
look at the ids of all points. Nothing is uploaded again but the points whose texts have changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from appliance.errors import IndexUnavailable
from appliance.ingest import archiver
from appliance.lazy_dataclasses import dataclass
from appliance.paths import Home
from appliance.store import generations, point_ids, server_collections
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index.protocol import VectorIndex

if TYPE_CHECKING:
    from appliance.engine.index_service import IndexService

NOT_ERASED_YET = "Points on the server are not erased yet; this is finished by itself when it answers again."

_IDS_A_DELETION = 5_000


@dataclass(frozen=True, slots=True)
class ErasedPoints:
    """What an erasure has seen on servers: how many ``points`` it looked at in how many ``collections``, and how many
    collections it has dropped as a whole."""

    collections: int = 0
    points: int = 0
    dropped: int = 0


def erase_local_traces(home: Home, database: Database, generation: Generation) -> None:
    """Remove an embedded index that is left from before, and write the archive index anew. Needs no server; called
    where the stores are closed."""
    generations.remove_index(home, generation.id)
    reason = IndexUnavailable("The index is not needed here.")
    stores = generations.open_without_index(home, database, generation, reason, read_only=False)
    try:
        archiver.erase_traces(database, stores)
    finally:
        stores.close()


def has_points(database: Database) -> bool:
    """Whether this home has a collection on any server."""
    return bool(server_collections.held(database.read()))


def erase_points(database: Database, index_service: IndexService) -> ErasedPoints:
    """Delete every point on servers that belongs to no chunk, and check that none is left. Collections other than the
    serving one are dropped: they can be made again.

    Raises:
        IndexUnavailable: A server is away, or points are left. It can be repeated.
    """
    serving = index_service.serving
    generation, dropped, serving_name = serving.current(), 0, ""
    if generation is not None:
        serving_name = server_collections.name_of(database.read(), serving.location.settings.prefix, generation.id)
    with index_service.kept_closed():
        for row in server_collections.held(database.read()):
            if (row.name, row.server) != (serving_name, serving.location.server):
                server_collections.drop(database, serving.location.nodes_of(row.server), row)
                dropped += 1
    if not serving.location.server:
        return ErasedPoints(dropped=dropped)
    index_service.drain()  # points whose neighbours were erased are put again without their words
    with index_service.exclusive(), serving.lease() as stores:
        if stores is None:
            return ErasedPoints(dropped=dropped)
        points = _erase_surplus(database.read(), stores.generation.id, stores.index)
    return ErasedPoints(1, points, dropped)


def _erase_surplus(db: sqlite3.Connection, generation: int, index: VectorIndex) -> int:
    """Delete the points that the index is not to have; returns how many points there are, which were all looked at."""
    while orphans := list(islice(point_ids.surplus(db, generation, index.ids()), _IDS_A_DELETION)):
        index.delete(orphans)
        if index.vectors(orphans[:1]):
            raise IndexUnavailable("The server still has points that were deleted.")
    looked_at = 0

    def counted() -> Iterator[int]:
        nonlocal looked_at
        for id in index.ids():
            looked_at += 1
            yield id

    if left := sum(1 for _ in point_ids.surplus(db, generation, counted())):
        raise IndexUnavailable(f"The server still has {left} points that were deleted.")
    return looked_at
