"""Similarity and rarity of words, from a small table over the pieces of the shipped tokenizer.

For each of the 30,522 word pieces the table holds a vector: the shipped model's output for the piece alone, in its 64
strongest directions, a byte each (``packaging/model_pack/build_lexicon.py`` makes it). Comparing the words of a
question with those of a message one by one (late interaction: MaxSim, Khattab and Zaharia 2020) costs a multiplication
of two small matrices, and no vectors are stored with the messages. Ranking is the same under any embedding model.
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

from appliance_models.token_vectors import FIRST_WORD_ID, rarity
from appliance_models.wordpieces import encode_ids, load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLE_FILE = Path(__file__).parent / "packs" / "lexicon" / "pieces.npy"
TOKENIZER_FILE = Path(__file__).parent / "packs" / "all-minilm-l6-v2-int8" / "tokenizer.json"

MAX_CACHED_WORDS = 100_000
MAX_WORD_CHARACTERS = 48
"""A longer run without a space is a link or a key, of which only the start is used."""

BATCH_SIZE = 2_000
"""Texts whose pieces are looked up together; their rows take about ten megabytes."""

FREQUENCY_RANK_OFFSET = 10
"""Added to the ranks of words, so that the first does not outweigh all others."""


class Lexicon:
    """Vectors and rarities of word pieces. Thread-safe."""

    def __init__(self, tokenizer: Tokenizer, vectors: NDArray[np.int8]) -> None:
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._piece_cache: dict[str, tuple[int, ...]] = {}
        self._lock = threading.Lock()
        self._rarity = rarity(range(len(vectors)), len(vectors))

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text's pieces, in order, without special tokens."""
        words = [[word[:MAX_WORD_CHARACTERS] for word in text.split()] for text in texts]
        with self._lock:
            self._cache_words(set(chain.from_iterable(words)))
            return [list(chain.from_iterable(map(self._piece_cache.__getitem__, own))) for own in words]

    def rarity(self, pieces: Sequence[int]) -> NDArray[np.float32]:
        """How rare each piece is in English, from 0 ("the", and any sign) to 1."""
        return self._rarity.take(pieces)

    def similarities(self, rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float32]:
        """The cosine of each piece of ``rows`` and each of ``columns``, (len(rows), len(columns))."""
        distinct, positions = np.unique(np.asarray(columns, np.int64), return_inverse=True)
        cosines: NDArray[np.float32] = self._unit_vectors(np.asarray(rows, np.int64)) @ self._unit_vectors(distinct).T
        return cosines.take(positions, axis=1)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of unit length for each text, (len(texts), 64): the mean of its pieces weighted by rarity, less what
        all texts have in common (SIF without its fitting: Arora, Liang and Ma 2017). A text without words is all zeros.
        A thousand sentences take about ten milliseconds; the model itself does not run."""
        pieces = self.pieces(texts)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        flat = np.fromiter(chain.from_iterable(pieces), np.int64, int(lengths.sum()))
        rows = np.zeros((len(pieces), self._vectors.shape[1]), np.float32)
        filled = np.flatnonzero(lengths)
        if len(filled):
            starts = np.cumsum(lengths) - lengths
            for first in range(0, len(filled), BATCH_SIZE):
                batch = filled[first : first + BATCH_SIZE]
                begin, end = starts[batch[0]], starts[batch[-1]] + lengths[batch[-1]]
                part = flat[begin:end]
                weighted = (self._unit_vectors(part) - self._common_vector) * self._rarity.take(part)[:, None]
                rows[batch] = np.add.reduceat(weighted, starts[batch] - begin, axis=0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.maximum(norms, 1e-6)
        return rows

    @cached_property
    def _common_vector(self) -> NDArray[np.float32]:
        """The mean of all pieces weighted by frequency, which falls with the rank (Zipf)."""
        ranks = np.maximum(np.arange(len(self._vectors)) - FIRST_WORD_ID, 0)
        frequencies = self._rarity / (ranks + FREQUENCY_RANK_OFFSET).astype(np.float32)
        mean: NDArray[np.float32] = frequencies @ self._unit_vectors(np.arange(len(self._vectors))) / frequencies.sum()
        return mean

    def _unit_vectors(self, pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = self._vectors[pieces].astype(np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return rows

    def _cache_words(self, words: set[str]) -> None:
        """Cache the pieces of words. Pieces never cross white space."""
        if len(self._piece_cache) > MAX_CACHED_WORDS:
            self._piece_cache = {}
        # A difference of the set and the keys would go through the whole cache; this one goes through the words.
        missing = sorted(words.difference(self._piece_cache))
        ids = encode_ids(self._tokenizer, missing)
        self._piece_cache.update((word, tuple(pieces[1:-1])) for word, pieces in zip(missing, ids, strict=True))


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The shipped lexicon. Loading it takes about 50 ms.

    Raises:
        ModelCorrupt: its tokenizer can't be read.
    """
    return Lexicon(load_tokenizer(TOKENIZER_FILE), np.load(TABLE_FILE, mmap_mode="r"))
