"""A tiny deterministic embedder for tests: no model file, no library but numpy."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.errors import TextTooLong
from appliance_models.registry import LATE_SUFFIX
from appliance_models.spans import SpannedText

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOKEN = re.compile(r"\w+|[^\w\s]")

# A real tokenizer adds one at each end of a text.
SPECIAL_TOKENS = 2

# How much the rest of its text counts in the late vector of a span.
CONTEXT_WEIGHT = 0.5

# A common word is stronger evidence of similarity than a common trigram.
WORD_WEIGHT = 2.0

# Words whose hashes are kept: those of some small memories. A longer one does not come again.
CACHED_TOKENS = 10_000
LONGEST_CACHED_TOKEN = 40


class HashEmbedder:
    """Hashed words and character trigrams: texts that share words get similar vectors. See `Embedder`."""

    def __init__(
        self, dimension: int = 32, max_tokens: int = 256, max_positions: int = 512, *, late_chunking: bool = False
    ) -> None:
        """`max_tokens` and `max_positions` as in `Manifest`, `late_chunking` as in `LateChunkingEmbedder`."""
        self.late_chunking = late_chunking
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.max_positions = max_positions
        self.name = "hash" + (LATE_SUFFIX if late_chunking else "")
        self.identity = f"hash@{dimension}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dimension) float32, unit length. Raises TextTooLong."""
        for index, count in enumerate(self.count_tokens(texts)):
            if count > self.max_positions:
                raise TextTooLong(index, count, self.max_positions, self.name)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        """(spans, dimension) float32, unit length: each span's own vector and a part of its whole text's."""
        vectors = np.zeros((sum(len(text.spans) for text in texts), self.dimension), dtype=np.float32)
        row = 0
        for text in texts:
            whole = CONTEXT_WEIGHT * self.embed_query(text.lead + text.text)
            for start, end in text.spans:
                vectors[row] = self.embed_query(text.text[start:end]) + whole
                row += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """(dimension,) float32, unit length, for a text of any length."""
        sums = [0.0] * self.dimension
        for token in _TOKEN.findall(text.lower()):
            for code, weight in (_known_features if len(token) <= LONGEST_CACHED_TOKEN else _features)(token):
                sums[code % self.dimension] += weight
        vector = np.array(sums, dtype=np.float32)
        norm = float(np.linalg.norm(vector))
        if norm == 0.0:
            # An empty text still needs a direction: cosine with a zero vector is undefined.
            vector[0] = norm = 1.0
        return vector / np.float32(norm)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words and punctuation marks, plus special tokens."""
        return [len(_TOKEN.findall(text)) + SPECIAL_TOKENS for text in texts]


def _features(token: str) -> list[tuple[int, float]]:
    """The hashes of a word and of its trigrams, each with its weight, whose sign is a bit of the hash."""
    padded = f" {token} "
    trigrams = (padded[start : start + 3] for start in range(len(padded) - 2))
    found = []
    for feature, weight in ((token, WORD_WEIGHT), *((trigram, 1.0) for trigram in trigrams)):
        code = zlib.crc32(feature.encode("utf-8", "replace"))
        found.append((code, weight if code & 0x10000 else -weight))
    return found


_known_features = lru_cache(CACHED_TOKENS)(_features)
