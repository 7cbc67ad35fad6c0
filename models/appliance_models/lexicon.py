"""Which words are alike, and how telling each is: a small table over the pieces of the shipped tokenizer.

For each of the 30,522 word pieces it has a vector: what the shipped model says of the piece alone, in its 64
strongest directions, a byte each (``packaging/model_pack/build_lexicon.py`` makes it). Comparing the words of a
question with those of a message one by one (late interaction: MaxSim, Khattab and Zaharia 2020) then costs a
multiplication of two small matrices, and no vectors need to be stored with the messages.

It has nothing to do with the model that embeds: ranking is the same under any.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appliance_models.pieces import encode_ids, load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLE = Path(__file__).parent / "packs" / "lexicon" / "pieces.npy"
TOKENIZER = Path(__file__).parent / "packs" / "all-minilm-l6-v2-int8" / "tokenizer.json"

WORDS_HELD = 100_000
LONGEST_WORD = 48
"""A longer run without a space is a link or a key: it counts by its first characters."""

FIRST_WORD = 1_996
"""The vocabulary has special pieces, signs and letters first, and then words from frequent to rare; this is
its first word, "the"."""

AT_ONCE = 2_000
"""Texts whose pieces are looked up together: their rows take some ten megabytes."""

COMMON_FROM = 10
"""Rank that the most frequent words count as, so that the first does not stand for all."""


class Lexicon:
    """Word pieces by number. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, vectors: NDArray[np.int8]) -> None:
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._words: dict[str, tuple[int, ...]] = {}
        self._lock = threading.Lock()
        ranks = np.maximum(np.arange(len(vectors)) - FIRST_WORD, 0)
        self._rarity: NDArray[np.float32] = (np.log1p(ranks) / np.log(len(vectors) - FIRST_WORD)).astype(
            np.float32
        )

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text, in order, without special ones."""
        words = [[word[:LONGEST_WORD] for word in text.split()] for text in texts]
        with self._lock:
            self._learn(set(chain.from_iterable(words)))
            return [list(chain.from_iterable(map(self._words.__getitem__, own))) for own in words]

    def rarity(self, pieces: Sequence[int]) -> NDArray[np.float32]:
        """How rare each piece is in English, from 0 ("the", and any sign) to 1."""
        return self._rarity.take(pieces)

    def alike(self, some: Sequence[int], others: Sequence[int]) -> NDArray[np.float32]:
        """The cosine of each of ``some`` and each of the ``others``, (len(some), len(others))."""
        distinct, place = np.unique(np.asarray(others, np.int64), return_inverse=True)
        cosines: NDArray[np.float32] = self._unit(np.asarray(some, np.int64)) @ self._unit(distinct).T
        return cosines.take(place, axis=1)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """What each text says, (len(texts), 64), of length one: the mean of its pieces by how rare each is, less what
        all texts have in common (SIF without its fitting: Arora, Liang and Ma 2017). A text without words is all
        zeros. A thousand sentences take some ten milliseconds; nothing else of the model runs."""
        pieces = self.pieces(texts)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        flat = np.fromiter(chain.from_iterable(pieces), np.int64, int(lengths.sum()))
        rows = np.zeros((len(pieces), self._vectors.shape[1]), np.float32)
        filled = np.flatnonzero(lengths)
        if len(filled):
            starts = np.cumsum(lengths) - lengths
            for first in range(0, len(filled), AT_ONCE):
                own = filled[first : first + AT_ONCE]
                begin, end = starts[own[0]], starts[own[-1]] + lengths[own[-1]]
                part = flat[begin:end]
                weighed = (self._unit(part) - self._common) * self._rarity.take(part)[:, None]
                rows[own] = np.add.reduceat(weighed, starts[own] - begin, axis=0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.maximum(norms, 1e-6)
        return rows

    @cached_property
    def _common(self) -> NDArray[np.float32]:
        """What pieces have in common as they occur: their mean by frequency, which falls with the rank (Zipf)."""
        ranks = np.maximum(np.arange(len(self._vectors)) - FIRST_WORD, 0)
        often = self._rarity / (ranks + COMMON_FROM).astype(np.float32)
        mean: NDArray[np.float32] = often @ self._unit(np.arange(len(self._vectors))) / often.sum()
        return mean

    def _unit(self, pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = self._vectors[pieces].astype(np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return rows

    def _learn(self, words: set[str]) -> None:
        """Hold the pieces of these words. Pieces never cross white space."""
        if len(self._words) > WORDS_HELD:
            self._words = {}
        missing = sorted(words - self._words.keys())
        ids = encode_ids(self._tokenizer, missing)
        self._words.update((word, tuple(own[1:-1])) for word, own in zip(missing, ids, strict=True))


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The shipped one. Reading it takes about 50 ms.

    Raises:
        ModelCorrupt: its tokenizer can't be read.
    """
    return Lexicon(load_tokenizer(TOKENIZER), np.load(TABLE, mmap_mode="r"))
