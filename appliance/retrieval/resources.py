"""The inputs of a search: its stores and models, and the query."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.retrieval.time_ranges import TimeRange
from appliance.retrieval.weights import ScoringProfile
from appliance.runtime.metrics import StageTimer, no_timer
from appliance.store.index.archive_index import ArchiveIndex
from appliance.store.index.protocol import LegQuery, VectorIndex
from appliance.types import Filters, HitOrder, Mode


class EmbeddedQuery(Protocol):
    """The vectors of a query; ``appliance_models.EmbeddedQuery`` implements it."""

    @property
    def vector(self) -> NDArray[np.float32]:
        """The query's vector, (dimension,)."""

    @property
    def tokens(self) -> NDArray[np.float32]:
        """Its token vectors, (tokens, token dimension); without rows if the model gives none."""

    @property
    def rarity(self) -> NDArray[np.float32]:
        """How rare each token is, 0 to 1, (tokens,)."""


EmbedQuery = Callable[[str], EmbeddedQuery]

ReadTokens = Callable[[Collection[int]], Mapping[int, "NDArray[np.int8]"]]
"""The token vectors of messages, (tokens, token dimension) each, of length 127; without messages that have none."""


class WordpieceLexicon(Protocol):
    """Splits texts into numbered word pieces and compares them; ``appliance_models.WordpieceLexicon`` implements it."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]]: ...

    def rarity(self, pieces: Sequence[int]) -> NDArray[np.float32]: ...

    def similarities(self, rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float32]: ...


class PassageScorer(Protocol):
    """Scores passages against a query; ``appliance_models.CrossEncoder`` implements it."""

    @property
    def name(self) -> str: ...

    @property
    def threads(self) -> int: ...

    def accepts_query(self, query: str) -> bool: ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]: ...


AsksAll = Literal["never", "if none is good", "if others are better"]
"""When a question for somebody's words searches the messages of all, too: never, if nothing of theirs matches well, or
as well if somebody else wrote what matches better."""


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    """How the best candidates are reranked.

    Attributes:
        scorer: The cross-encoder; None if its model could not be loaded.
        top: How many of the best candidates it reads.
        budget_ms: Its time limit in milliseconds.
        unavailable_reason: Why ``scorer`` is None.
    """

    scorer: PassageScorer | None
    top: int
    budget_ms: float
    unavailable_reason: str = ""


@dataclass(frozen=True, slots=True)
class SearchResources:
    """What a search reads from.

    Attributes:
        db: A connection for reading.
        index: The vector index; None if the vectors are damaged.
        generation: The serving generation.
        embed: Embeds a query; None if no model could be loaded.
        lexicon: Loads the lexicon of late interaction.
        unavailable_reason: Why ``embed`` or ``index`` is None.
        reranker: The reranker; None if none is configured.
        time_stage: Times the stages of a search.
        recent_vectors: The vectors, (chunks, dimension), of recent messages that still wait for the index.
        archive: The archive index; None if nothing is archived.
        read_tokens: Reads the token vectors of messages; None if none are kept.
        model: The name of the model that made the vectors.
        notes: Notes for the hits of every search.
    """

    db: sqlite3.Connection
    index: VectorIndex | None
    generation: int
    embed: EmbedQuery | None
    lexicon: Callable[[], WordpieceLexicon]
    unavailable_reason: str = ""
    reranker: RerankerSettings | None = None
    time_stage: StageTimer = no_timer
    recent_vectors: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)
    archive: ArchiveIndex | None = None
    read_tokens: ReadTokens | None = None
    model: str = ""
    notes: tuple[str, ...] = ()

    def without_index(self, reason: str) -> SearchResources:
        """What is left when the index turns out to be away: the full text."""
        return SearchResources(self.db, None, self.generation, None, self.lexicon, reason, self.reranker)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a caller asks for, checked and resolved.

    Attributes:
        text: The query.
        filters: What it may find.
        profile: The scoring profile.
        legs: The legs that may propose and score.
        mode: The mode of the request.
        now: When the query is asked, with its time zone.
        current_session: The key of the session that asks, if any.
        per_session: The most hits of one session; None for no limit.
        archived: Whether it also searches the archive: always, never, or if the hot messages have nothing good.
        notes: What is to be said about the request, such as a filter that nothing passes.
        asks_all: When the messages of all are searched, too, where it finds only those by the people for whose words
            the question asks.
        folds: Whether variants of a better hit by the same author are folded under it.
        lists_all: Whether all messages that pass the filters are hits, the newest first, whatever the text says.
    """

    text: str
    filters: Filters
    profile: ScoringProfile
    legs: frozenset[str]
    mode: Mode
    now: datetime
    current_session: int | None = None
    per_session: int | None = None
    archived: Literal["always", "never", "if needed"] = "never"
    notes: tuple[str, ...] = ()
    asks_all: AsksAll = "never"
    folds: bool = True
    lists_all: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Which hits of a search a caller wants, as the arguments of ``SearchRequest`` say, and with how many turns around
    each."""

    limit: int
    offset: int = 0
    sort: HitOrder = "score"
    count: bool = False
    neighbours: int = 0
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A search query with its content words, the time ranges that it names, the queries of the index's legs, what it
    names beside the times (nothing in "what happened in August 2022"), its vectors, if the dense leg runs, the dates in
    it that no calendar has, and the messages about the files that it names."""

    query: SearchQuery
    words: Sequence[str]
    times: Sequence[TimeRange]
    leg_queries: Sequence[LegQuery]
    words_beside_times: Set[str] = frozenset()
    embedded: EmbeddedQuery | None = None
    impossible_dates: Sequence[str] = ()
    file_matches: frozenset[int] = frozenset()
    file_edits: frozenset[int] = frozenset()
