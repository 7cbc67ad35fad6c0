"""Chunks everything stored for a new generation: for another model, or for new vectors.

A module of its own, because the index service calls ``rechunk.messages`` and ``rechunk.summaries``; ``chunk`` knows no
database.
"""

from __future__ import annotations

from appliance.ingest.chunk import Chunker
from appliance.store import chunks, summary_chunks
from appliance.store.database import Database


def messages(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every message that has no chunks in a generation."""
    after = 0
    while True:
        # Read and written in one transaction: a message could change in between.
        with database.write() as tx:
            page = chunks.messages_without_chunks(tx, generation, after)
            if not page:
                return
            chunks.insert(tx, generation, [*zip(page, chunker.split(page), strict=True)])
        after = page[-1].id


def summaries(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every summary that has no chunks in a generation."""
    after = 0
    while True:
        with database.write() as tx:
            page = summary_chunks.summaries_without_chunks(tx, generation, after)
            if not page:
                return
            summary_chunks.insert(tx, generation, [*zip(page, chunker.split(page), strict=True)])
        after = page[-1].id
