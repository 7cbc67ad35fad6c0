"""Embedding without a request: what waits is embedded as it comes, and a backlog when there is mains power."""

from __future__ import annotations

from appliance.engine.index_service import MAX_CATCH_UP_CHUNKS, IndexService
from appliance.runtime.power import PowerGate
from appliance.runtime.workers import Job, ShouldContinue
from appliance.store import chunks
from appliance.store.database import Database


def background_embedding(database: Database, index_service: IndexService, power: PowerGate) -> Job:
    """What embeds waiting chunks for as long as it should continue. On a battery it leaves more chunks than a search
    embeds by itself to later: they are found by their words."""

    def is_backlog() -> bool:
        found = index_service.serving.current()
        most = MAX_CATCH_UP_CHUNKS + 1
        return found is not None and chunks.count_pending_up_to(database.read(), found.id, most) == most

    def embed(should_continue: ShouldContinue) -> int:
        return index_service.drain_while(
            lambda: should_continue() and not (power.is_paused and is_backlog()), require_all=True
        )

    return embed
