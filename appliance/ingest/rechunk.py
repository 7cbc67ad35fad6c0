"""Chunks everything stored for a new generation: for another model, or for new vectors.

A module of its own, because the index service calls ``rechunk.messages`` and ``rechunk.summaries``; ``chunk`` knows no
database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from appliance.ingest.chunk import Chunker
from appliance.store import chunks, summary_chunks
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database


def messages(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every message that has no chunks in a generation."""
    _chunk_all(database, generation, chunker, chunks.messages_without_chunks, chunks.insert)


def summaries(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every summary that has no chunks in a generation."""
    _chunk_all(database, generation, chunker, summary_chunks.summaries_without_chunks, summary_chunks.insert)


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
