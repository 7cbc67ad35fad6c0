"""Messages that were chunked under other settings than those of now: counted for a status, and chunked again.

Which settings the messages of a generation were chunked under stands in the database, so that nothing has to be looked
at as long as they are the present ones.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from appliance.engine.embedding_api import is_api_model
from appliance.engine.model_cache import ModelCache
from appliance.engine.serving_generation import ServingGeneration
from appliance.errors import ModelUnavailable, OutOfMemory
from appliance.ingest import rechunk
from appliance.store import generation_states
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.types import ChunkedOtherwise


class ChunkChanges:
    """Looks for messages that would be split otherwise now. Safe to use from several threads."""

    def __init__(self, database: Database, models: ModelCache, serving: ServingGeneration) -> None:
        self._database = database
        self._models = models
        self._serving = serving
        self._lock = threading.Lock()
        self._generation = self._after = self._found = 0
        self._is_complete = False

    def count(self, seconds: float | None = None) -> ChunkedOtherwise | None:
        """How many messages would be split otherwise now; None if there can be none, or it can't be told without the
        model. With ``seconds``, go on for about so long where the last call ended.

        Raises:
            StoreCorrupt: The database is damaged.
        """
        found = self._serving.current()
        if found is None or not self._has_other_settings(found):
            return None
        with suppress(ModelUnavailable, OutOfMemory), self._lock:
            chunker = self._serving.chunker(self._models.for_generation(found))
            if self._generation != found.id or seconds is None:
                self._generation, self._after, self._found, self._is_complete = found.id, 0, 0, False
            deadline = None if seconds is None else time.monotonic() + seconds
            while not self._is_complete and (deadline is None or time.monotonic() < deadline):
                page = rechunk.difference(self._database.read(), found.id, chunker, self._after)
                self._found += len(page.messages)
                self._is_complete, self._after = page.after is None, page.after or self._after
            if not self._found and self._is_complete:
                return None
            command = "reindex --vectors" if is_api_model(found.model) else "reindex"
            return ChunkedOtherwise(self._found, self._is_complete, f"appliance {command}")
        return None

    def apply(self, generation: Generation) -> int:
        """Chunk the messages again that would be split otherwise now; not for a model behind an API, to which that
        sends texts. Returns how many there were."""
        if is_api_model(generation.model) or not self._has_other_settings(generation):
            return 0
        chunker = self._serving.chunker(self._models.for_generation(generation))
        done = rechunk.split_again(self._database, generation.id, chunker)
        with self._database.write() as tx:
            generation_states.set_chunkings(tx, generation.id, {self._serving.chunking})
        with self._lock:
            self._generation = 0
        return done

    def _has_other_settings(self, generation: Generation) -> bool:
        return bool(generation_states.chunkings(self._database.read(), generation.id) - {self._serving.chunking})
