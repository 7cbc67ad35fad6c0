"""Moves messages into the archive, and keeps the archive index up to date with the database.

A step is one transaction: the chunks of its messages are appended to the archive index, which is flushed; then their
texts become frames, and they leave the full text and the index. If it is interrupted, the archive index has a few rows
too many, which the database does not count as archived, and nothing else has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from appliance.ingest import indexer
from appliance.lazy_dataclasses import dataclass
from appliance.store import archive, archive_policy, chunks
from appliance.store.archive import Dictionary
from appliance.store.archive_policy import ArchivePolicy
from appliance.store.database import Database
from appliance.store.generations import DerivedStores
from appliance.store.index.archive_index import ArchiveIndex
from appliance.store.index.archive_segments import ArchivedPoint
from appliance.store.sql import pages
from appliance.store.vectors import VectorLedger

MAX_DEAD_SHARE = 0.25
"""The archive index is written anew when more than this share of its rows belong to no archived message."""


@dataclass(frozen=True, slots=True)
class ArchivingContext:
    """The stores of the serving generation."""

    database: Database
    generation: int
    ledger: VectorLedger
    index: ArchiveIndex

    @classmethod
    def of(cls, database: Database, stores: DerivedStores) -> ArchivingContext:
        return cls(database, stores.generation.id, stores.ledger, stores.archive)


def archive_messages(context: ArchivingContext, keys: Sequence[int], policy: ArchivePolicy, at: int) -> int:
    """Archive those of the messages that the policy still allows; returns their number.

    Args:
        context: The stores.
        keys: The messages that were chosen at the time ``at``, in microseconds since 1970. One that is recalled later
            comes back.
        policy: The policy, asked once more: a message may have been pinned or recalled meanwhile.
        at: See ``keys``.
    """
    with context.database.write() as tx:
        allowed = archive_policy.still_candidates(tx, policy, at, keys)
        moved = archive.archivable(tx, allowed)
        context.index.append(_points(context, tx, moved))
        archive.archive(tx, moved, archive.current_dictionary(tx), at)
    return len(moved)


def ensure_dictionary(database: Database, policy: ArchivePolicy, at: int) -> Dictionary | None:
    """Train a dictionary on the messages to be archived, if there is none yet. Within one transaction, so that no text
    is deleted between its reading and the storing of the dictionary."""
    with database.write() as tx:
        samples = (
            [] if archive.current_dictionary(tx) else archive_policy.sample_texts(tx, policy, at, archive.MAX_SAMPLES)
        )
        return archive.add_dictionary(tx, samples) if samples else archive.current_dictionary(tx)


def refresh_index(context: ArchivingContext) -> int:
    """Write the next page of rows that became stale, because neighbours or filter fields of their messages changed;
    returns the number of messages."""
    with context.database.write() as tx:
        stale = archive.stale(tx)
        context.index.append(_points(context, tx, stale))
        archive.mark_fresh(tx, stale)
    return len(stale)


def complete_index(context: ArchivingContext) -> int:
    """Add the archived chunks that the archive index lacks, because it was damaged or the generation is new; returns
    the number of messages."""
    lacking = missing_messages(context)
    for page in pages(lacking):
        with context.database.write() as tx:
            context.index.append(_points(context, tx, sorted(archive.archived(tx, page))))
    return len(lacking)


def missing_messages(context: ArchivingContext) -> list[int]:
    """The archived messages with a chunk that the archive index lacks."""
    present = set(context.index.ids().tolist())
    found = chunks.archived_chunks(context.database.read(), context.generation)
    return sorted({message for chunk, message in found.items() if chunk not in present})


def purge_index(context: ArchivingContext) -> None:
    """Write the archive index anew without the rows of messages that came back or were deleted, if there are many."""
    written = context.index.written_rows
    if written and 1 - chunks.count_archived(context.database.read(), context.generation) / written > MAX_DEAD_SHARE:
        _retain_archived(context)


def _retain_archived(context: ArchivingContext) -> None:
    """Write the archive index anew if it has anything but the rows of archived messages."""
    with context.database.write() as tx:  # nothing is archived meanwhile
        archived = np.fromiter(chunks.archived_chunks(tx, context.generation), np.int64)
        has_others = int(np.isin(context.index.ids(), archived).sum()) < context.index.written_rows
        if has_others or context.index.has_torn_end:
            context.index.retain(lambda ids: np.isin(ids, archived))


def erase_traces(database: Database, stores: DerivedStores | None) -> None:
    """Write the archive index anew so that it has exactly what is archived, as it is now."""
    if stores is None:
        return
    context = ArchivingContext.of(database, stores)
    while refresh_index(context):
        pass
    _retain_archived(context)


def rebuild_index(database: Database, stores: DerivedStores | None) -> None:
    """Make the archive index anew from the database and the ledger."""
    if stores is not None:
        stores.archive.discard()
        complete_index(ArchivingContext.of(database, stores))


def _points(context: ArchivingContext, tx: sqlite3.Connection, messages: Sequence[int]) -> list[ArchivedPoint]:
    """The points of messages, without those that have no vector yet."""
    found = chunks.with_point_fields(tx, context.generation, messages)
    rows = [(chunk, chunk.row) for chunk in found if chunk.row is not None]
    vectors = context.ledger.read([row for _, row in rows])
    return [
        ArchivedPoint(indexer.point(chunk, vector), row) for (chunk, row), vector in zip(rows, vectors, strict=True)
    ]
