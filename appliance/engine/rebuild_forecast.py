"""What a change of the vectors would send to an embedding API, before it is begun."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from appliance import requests as r
from appliance.engine.embedding_api import is_remote
from appliance.engine.generation_changes import made_by
from appliance.engine.passage_vectors import is_late, spanned_text
from appliance.ingest.chunk import Chunker
from appliance.paths import Home
from appliance.settings import Settings
from appliance.store import chunks, generation_states, generations, outbox, summary_chunks
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.passages import ChunkSpan, Passage, SplitMessage, chunk_digests, passage, sections
from appliance.store.token_account import FileTokenAccount
from appliance.types import ReindexForecast

if TYPE_CHECKING:
    from appliance.engine.index_service import IndexService
    from appliance_models.registry import RemoteEmbedder

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
    return _forecast(database, filled, model, serving.chunker(model), settings, models.token_account)


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
    database: Database,
    generation: int,
    model: RemoteEmbedder,
    chunker: Chunker,
    settings: Settings,
    account: FileTokenAccount,
) -> ReindexForecast:
    """What is sent to embed everything stored that a generation lacks, equal texts once."""
    db = database.read()
    seen = outbox.embedded_digests(db, generation)
    is_complete, texts, estimated = not seen, 0, 0
    for page in _pages(database, generation, model, chunker):
        new = {digest: read for digest, read in page.items() if digest not in seen}
        for read in new.values():
            # A section is sent as a whole for any of its chunks.
            seen.update(read.digests if isinstance(read, SplitMessage) else ())
        seen |= new.keys()
        texts, estimated = texts + len(new), estimated + _count_tokens(model, [*new.values()])
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


def _count_tokens(model: RemoteEmbedder, reads: Sequence[Passage]) -> int:
    """The estimated tokens that are sent for passages, each section once."""
    tokens = sum(model.count_tokens([read for read in reads if isinstance(read, str)]))
    sections = {read.digests: read for read in reads if isinstance(read, SplitMessage)}
    if sections:
        texts = [spanned_text(section.author, section.text, section.spans) for section in sections.values()]
        tokens += sum(cast("Any", model).count_span_tokens(texts))
    return tokens


def _pages(
    database: Database, generation: int, model: RemoteEmbedder, chunker: Chunker
) -> Iterator[dict[bytes, Passage]]:
    """What is read, by the digests: of all chunks without vectors, and of messages and summaries without chunks."""
    page: dict[bytes, Passage] = {}
    for digest, read in outbox.texts_without_vectors(database.read(), generation):
        page[digest] = read
        if len(page) == PAGE_TEXTS:
            yield page
            page = {}
    yield page
    for without_chunks in (chunks.messages_without_chunks, summary_chunks.summaries_without_chunks):
        late, after = is_late(model) and without_chunks is chunks.messages_without_chunks, 0
        while found := without_chunks(database.read(), generation, after):
            page = {}
            for message, spans in zip(found, chunker.split(found), strict=True):
                page |= _reads(message, spans, late=late)
            yield page
            after = found[-1].id


def _reads(message: ChunkableMessage, spans: Sequence[ChunkSpan], *, late: bool) -> dict[bytes, Passage]:
    """What is read of a message without chunks, by the digests of the chunks that it would have."""
    author, text = message.author, message.text
    digests = chunk_digests(author, text, spans, is_late=late)
    if not late or len(spans) < 2:
        own = [passage(author, text[span.start : span.end]) for span in spans]
        return dict(zip(digests, own, strict=True))
    reads: dict[bytes, Passage] = {}
    for part, keys in zip(sections(spans), sections(digests), strict=True):
        reads |= dict.fromkeys(keys, SplitMessage(author, text, tuple(part), tuple(keys), (False,) * len(keys)))
    return reads
