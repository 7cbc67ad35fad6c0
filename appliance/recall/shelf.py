"""What a search is given: the stores and models that it looks through, and what is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.measures import Timed, untimed
from appliance.recall.times import Stretch
from appliance.recall.weights import Profile
from appliance.store.index.base import Index, LegQuery
from appliance.types import Filters, Mode

EmbedQuery = Callable[[str], "NDArray[np.float32]"]


class Lexicon(Protocol):
    """Words in pieces by number; ``appliance_models.Lexicon`` is one."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]]: ...

    def rarity(self, pieces: Sequence[int]) -> NDArray[np.float32]: ...

    def alike(self, some: Sequence[int], others: Sequence[int]) -> NDArray[np.float32]: ...


class Scorer(Protocol):
    """Reads a question and passages together; ``appliance_models.CrossEncoder`` is one."""

    @property
    def name(self) -> str: ...

    @property
    def threads(self) -> int: ...

    def takes(self, query: str) -> bool: ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class Reranking:
    """How the best are read once more: the ``top`` of them, in ``budget_ms`` at most. ``scorer`` is None when
    its model could not be loaded; ``lacks`` says why."""

    scorer: Scorer | None
    top: int
    budget_ms: float
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a search looks through. ``embed`` is None when no model could be loaded, ``index`` too when the
    vectors are damaged; ``lacks`` says why. ``reranking`` is None unless it was asked for. ``timed`` times stages.
    ``fresh`` has the vectors, (chunks, dimension), of messages that were said just now and still wait for the index."""

    db: sqlite3.Connection
    index: Index | None
    generation: int
    embed: EmbedQuery | None
    lexicon: Callable[[], Lexicon]
    lacks: str = ""
    reranking: Reranking | None = None
    timed: Timed = untimed
    fresh: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for, and how. ``legs`` are those that may propose and score, ``now`` (aware of its zone)
    is when it is asked, ``here`` the session that it is asked in, if any; ``per_session`` is how many messages of
    one session may be shown, None for any number."""

    text: str
    filters: Filters
    profile: Profile
    legs: frozenset[str]
    mode: Mode
    now: datetime
    here: int | None = None
    per_session: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A wish as it was understood: its telling words, the times that it names, and what each leg of the index
    is asked."""

    wish: Wish
    words: Sequence[str]
    times: Sequence[Stretch]
    legs: Sequence[LegQuery]
