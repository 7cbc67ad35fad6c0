"""Chunks everything stored for a new generation: for another model, or for new vectors. Chunks again what was chunked
under other settings.

A module of its own, because the index service calls ``rechunk.messages`` and ``rechunk.summaries``; ``chunk`` knows no
database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from appliance.ingest.chunk import Chunker
from appliance.lazy_dataclasses import dataclass
from appliance.store import chunk_spans, chunks, summary_chunks
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.passages import ChunkSpan


def messages(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every message that has no chunks in a generation."""
    _chunk_all(database, generation, chunker, chunks.messages_without_chunks, chunks.insert)


def summaries(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every summary that has no chunks in a generation."""
    _chunk_all(database, generation, chunker, summary_chunks.summaries_without_chunks, summary_chunks.insert)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of a page of messages those that would be split otherwise now, each with its spans; ``after`` is the page's last
    key, None at the end."""

    messages: list[tuple[ChunkableMessage, list[ChunkSpan]]]
    after: int | None


def difference(db: sqlite3.Connection, generation: int, chunker: Chunker, after: int) -> Difference:
    """Compare the next messages' chunks in a generation with how they would be split now."""
    page = chunk_spans.messages_with_spans(db, generation, after)
    spans = chunker.split([message for message, _ in page])
    differing = [(message, new) for (message, old), new in zip(page, spans, strict=True) if new != old]
    return Difference(differing, page[-1][0].id if page else None)


def split_again(database: Database, generation: int, chunker: Chunker) -> int:
    """Chunk every message again that would be split otherwise now. Returns how many there were."""
    done, after = 0, 0
    while True:
        with database.write() as tx:
            found = difference(tx, generation, chunker, after)
            if found.messages:
                chunk_spans.delete(tx, generation, [message.id for message, _ in found.messages])
                chunks.insert(tx, generation, found.messages)
        done += len(found.messages)
        if found.after is None:
            return done
        after = found.after


def _chunk_all(
    database: Database,
    generation: int,
    chunker: Chunker,
    without_chunks: Callable[[sqlite3.Connection, int, int], list[ChunkableMessage]],
    insert: Callable[..., object],
) -> None:
    after = 0
    while True:
        # Read and written in one transaction: a text could change in between.
        with database.write() as tx:
            page = without_chunks(tx, generation, after)
            if not page:
                return
            insert(tx, generation, [*zip(page, chunker.split(page), strict=True)])
        after = page[-1].id
