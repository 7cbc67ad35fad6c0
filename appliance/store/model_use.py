"""The generations of a home and their models, read without opening the memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from appliance.lazy_dataclasses import dataclass
from appliance.paths import Home
from appliance.store import chunks, generation_states, generations
from appliance.store.database import as_store_errors
from appliance.store.generation_states import Generation

_MODELS_SQL = "SELECT model, state FROM generation WHERE state <> 'discarded' ORDER BY state = 'active', id"


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    """A generation with the number of messages that have chunks in it, and the bytes of its files on the disk."""

    generation: Generation
    messages: int
    disk_bytes: int


def generations_of(home: Home) -> list[StoredGeneration]:
    """All generations of a home by their number; none in a home without a database, or with one of a version that kept
    none.

    Raises:
        StoreError: The database can't be read.
    """
    with _reading(home) as database:
        if database is None or "complete_at" not in {
            row[1] for row in database.execute("PRAGMA table_info(generation)")
        }:
            return []
        messages = chunks.message_counts(database)
        return [
            StoredGeneration(one, messages.get(one.id, 0), generations.disk_bytes(home, one.id))
            for one in generation_states.stored(database)
        ]


def models_of_generations(home: Home) -> dict[str, str]:
    """The models of all generations of a home, serving, being built or kept, each with its state
    ("active" if it has several); none in a home without a database.

    Raises:
        StoreError: The database can't be read.
    """
    with _reading(home) as database:
        return {} if database is None else dict(database.execute(_MODELS_SQL).fetchall())


@contextmanager
def _reading(home: Home) -> Iterator[sqlite3.Connection | None]:
    """The database of a home; None if there is none, or it knows no generations."""
    if not home.database.exists():
        yield None
        return
    uri = f"{home.database.as_uri()}?mode=ro"
    with as_store_errors(home.database), closing(sqlite3.connect(uri, uri=True)) as database:
        has_any = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'generation'").fetchone()
        yield database if has_any else None
