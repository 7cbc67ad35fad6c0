"""The session service on a database in memory: private sessions, of which nothing reaches the disk."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.engine.working_memory import working_memory
from appliance.ingest import pipeline
from appliance.ingest.chunk import Chunker
from appliance.memory.sessions import BeforeStoreHook, SessionContext, SessionService
from appliance.settings import Settings
from appliance.store import sessions
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import InMemoryDatabase
from appliance.store.passages import ChunkSpan
from appliance.types import MessageRecord, Scope, SessionInfo

NO_GENERATION = 0
"""A generation that no set of vectors has: private messages are never embedded."""


class _NoChunks(Chunker):
    """Splits every message into no chunks."""

    def __init__(self) -> None:
        """There is no model to split for."""

    def split(self, messages: Sequence[ChunkableMessage]) -> list[list[ChunkSpan]]:
        return [[] for _ in messages]


def private_session_service(settings: Settings) -> SessionService:
    """A session service that keeps everything in memory. The caller makes one request at a time."""
    database = InMemoryDatabase()
    memory = working_memory(database, settings, lambda event: None)

    def store_message(record: MessageRecord, info: SessionInfo, before: BeforeStoreHook) -> int:
        context = pipeline.IngestContext(
            database=database, target=lambda: (NO_GENERATION, _NoChunks()), scope=Scope(info.user_id, info.namespace)
        )
        return pipeline.add(record, sessions.key(info), context, before)

    return SessionService(
        SessionContext(
            database=database,
            owner=settings.user,
            ttl=0,
            store_message=store_message,
            wake_workers=lambda: None,
            working_memory=memory,
        )
    )
