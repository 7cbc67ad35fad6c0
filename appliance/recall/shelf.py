"""What a search is given: the stores and models that it looks through, and what is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.store.index.base import Index, LegQuery

EmbedQuery = Callable[[str], "NDArray[np.float32]"]


class Lexicon(Protocol):
    """Words in pieces by number; ``appliance_models.Lexicon`` is one."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]]: ...

    def rarity(self, pieces: Sequence[int]) -> NDArray[np.float32]: ...

    def alike(self, some: Sequence[int], others: Sequence[int]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a search looks through. ``embed`` is None when no model could be loaded, ``index`` too when the
    vectors are damaged; ``lacks`` says why."""

    db: sqlite3.Connection
    index: Index | None
    generation: int
    embed: EmbedQuery | None
    lexicon: Callable[[], Lexicon]
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: as it was put, its telling words, and what each leg of the index is asked."""

    text: str
    words: Sequence[str]
    legs: Sequence[LegQuery]
