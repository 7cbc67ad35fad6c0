"""Connects summaries with the stores, the models, the settings and the local language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from appliance.engine.index_service import IndexService
from appliance.engine.working_memory import sentence_vectors
from appliance.errors import EndpointError, IndexUnavailable
from appliance.memory.abstractive import InvalidSummary, write_notes
from appliance.memory.compaction import RunningSummaryWriter
from appliance.memory.extractive import SummaryDraft
from appliance.memory.notes import cited_ids
from appliance.memory.summaries import SummariesContext, SummaryService
from appliance.retrieval import summary_search
from appliance.runtime.llm import LlmEndpoint
from appliance.runtime.workers import ShouldContinue
from appliance.settings import Settings
from appliance.store import generations, messages
from appliance.store.database import Database
from appliance.types import Event, Filters, Message, SummaryHit


def running_summary_writer(database: Database, model: LlmEndpoint | None) -> RunningSummaryWriter | None:
    """Writes running summaries with the model. Where it fails, the summary stays extractive."""
    if model is None:
        return None

    def write(prior: str, turns: Sequence[Message]) -> str | None:
        try:
            keys = filter(None, map(messages.message_key, cited_ids(prior)))
            earlier = [messages.to_message(row) for row in messages.get(database.read(), keys).values()]
            return write_notes(model, prior, turns, turns, SummaryDraft("", (), {}), earlier).text
        except (EndpointError, InvalidSummary):
            return None

    return RunningSummaryWriter(model.name, write)


def summary_service(
    database: Database,
    index_service: IndexService,
    settings: Settings,
    publish: Callable[[Event], None],
    model: LlmEndpoint | None,
) -> SummaryService:
    """The summary service of an open home, which uses a language model if there is one."""

    def vectors(keys: Sequence[int]) -> NDArray[np.float32] | None:
        with suppress(IndexUnavailable), index_service.serving.lease() as stores:
            return None if stores is None else generations.message_vectors(database.read(), stores, keys)
        return None

    def index_pending(should_continue: ShouldContinue) -> None:
        with suppress(IndexUnavailable):  # what waits is indexed when the server is back
            index_service.drain_while(should_continue)

    def find(text: str, filters: Filters, limit: int) -> list[SummaryHit]:
        with index_service.search_resources(dense=True) as resources:
            try:
                return [] if resources is None else summary_search.search(resources, text, filters, limit)
            except IndexUnavailable:
                return []  # as when it can't be opened: summaries are found by the index alone

    context = SummariesContext(
        database=database,
        owner=settings.user,
        name=settings.name,
        message_interval=settings.summaries.every,
        idle_seconds=settings.summaries.silent,
        current_generation=index_service.serving.chunking_target,
        index_pending=index_pending,
        embed=sentence_vectors,
        message_vectors=vectors,
        writer=model,
        find=find,
        publish=publish,
    )
    return SummaryService(context)
