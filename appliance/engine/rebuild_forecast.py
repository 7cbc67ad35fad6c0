"""What a change of the vectors would send to an embedding API, before it is begun."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from appliance import requests as r
from appliance.engine.embedding_api import is_remote
from appliance.engine.generation_changes import made_by
from appliance.ingest.chunk import Chunker
from appliance.paths import Home
from appliance.settings import Settings
from appliance.store import chunks, generation_states, generations, outbox, summary_chunks
from appliance.store.chunks import passage, text_digest
from appliance.store.database import Database
from appliance.store.token_account import FileTokenAccount
from appliance.types import ReindexForecast

if TYPE_CHECKING:
    from appliance.engine.index_service import IndexService

NO_GENERATION = 0
"""No generation has this key, so that every message lacks chunks of it."""

PAGE_TEXTS = 1_000
"""Texts whose tokens are counted in one step."""


def forecast_rebuild(
    home: Home, database: Database, index_service: IndexService, settings: Settings, request: r.ForecastReindexRequest
) -> ReindexForecast:
    """See ``ForecastReindexRequest``.

    Raises:
        ModelUnavailable: The model can't be loaded, or it is not known what was sent so far.
        UsageError, NotFound: There is no such generation to go back to.
    """
    models, serving = index_service.models, index_service.serving
    db, filled = database.read(), NO_GENERATION
    if request.rollback:
        generation = generations.find_kept(home, database, request.generation)
        model, filled = models.for_generation(generation), generation.id
    elif request.generation is not None:
        generation = generation_states.find(db, request.generation)
        model, filled = models.for_generation(generation), generation.id
    else:
        found = serving.current()
        present = found.model if found else models.name
        name = settings.model.full_name(request.model) if request.model else present
        model, unfinished = models.load(name), generation_states.building(db)
        if unfinished is not None and made_by(unfinished, name, model):
            filled = unfinished.id
    if not is_remote(model):
        return ReindexForecast(0, 0, 0, 0, 0.0, 0.0, "")
    return _forecast(database, filled, serving.chunker(model), settings, models.token_account)


def prepare_rebuild(
    home: Home, database: Database, index_service: IndexService, settings: Settings, request: r.ReindexRequest
) -> None:
    """Check before a rebuild that it would not send more tokens than may be sent, and let it ask the API at once.

    Raises:
        EmbeddingApiError: It would send more.
    """
    index_service.models.retry_requests()
    if settings.jina.token_cap and (request.model is not None or request.vectors or request.rollback):
        wanted = r.ForecastReindexRequest(request.model, rollback=request.rollback, generation=request.generation)
        found = forecast_rebuild(home, database, index_service, settings, wanted)
        if found.address:
            index_service.models.token_account.require(found.tokens)


def _forecast(
    database: Database, generation: int, chunker: Chunker, settings: Settings, account: FileTokenAccount
) -> ReindexForecast:
    """What is sent to embed everything stored that a generation lacks, equal texts once."""
    db = database.read()
    seen = outbox.embedded_digests(db, generation)
    is_complete, texts, estimated = not seen, 0, 0
    for page in _pages(database, generation, chunker):
        new = {digest: text for digest, text in page.items() if digest not in seen}
        seen |= new.keys()
        texts, estimated = texts + len(new), estimated + sum(chunker.count_tokens([*new.values()]))
    usage, jina = account.usage(), settings.jina
    tokens = round(estimated * usage.correction)
    return ReindexForecast(
        texts=texts,
        tokens=tokens,
        tokens_sent=usage.tokens,
        token_cap=jina.token_cap,
        price=tokens * jina.price_per_million / 1_000_000,
        minutes=tokens / jina.tokens_a_minute if jina.tokens_a_minute else 0.0,
        address=jina.url,
        all_messages=is_complete,
    )


def _pages(database: Database, generation: int, chunker: Chunker) -> Iterator[dict[bytes, str]]:
    """The texts by their digests: of all chunks without vectors, and of messages and summaries without chunks."""
    page: dict[bytes, str] = {}
    for digest, text in outbox.texts_without_vectors(database.read(), generation):
        page[digest] = text
        if len(page) == PAGE_TEXTS:
            yield page
            page = {}
    yield page
    for without_chunks in (chunks.messages_without_chunks, summary_chunks.summaries_without_chunks):
        after = 0
        while found := without_chunks(database.read(), generation, after):
            passages = [
                passage(message.author, message.text[span.start : span.end])
                for message, spans in zip(found, chunker.split(found), strict=True)
                for span in spans
            ]
            yield {text_digest(text): text for text in passages}
            after = found[-1].id
