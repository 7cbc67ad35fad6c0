"""Chunks for a new generation, of all that is stored: for a move to another model, or to new vectors."""

from __future__ import annotations

from appliance.ingest.chunk import Chunker
from appliance.store import chunks, pieces
from appliance.store.database import Database


def messages(database: Database, generation: int, chunker: Chunker) -> None:
    """Chunk every message that has no chunks in a generation."""
    after = 0
    while True:
        # Read and written in one transaction: a message could get another text in between.
        with database.write() as tx:
            page = chunks.without_chunks(tx, generation, after)
            if not page:
                return
            chunks.put(tx, generation, [*zip(page, chunker.split(page), strict=True)])
        after = page[-1].id


def summaries(database: Database, generation: int, chunker: Chunker) -> None:
    """Cut every summary into pieces of a generation that lack them."""
    after = 0
    while True:
        with database.write() as tx:
            page = pieces.without_pieces(tx, generation, after)
            if not page:
                return
            pieces.put(tx, generation, [*zip(page, chunker.split(page), strict=True)])
        after = page[-1].id
