"""Shorter vectors of one model: the first numbers of each, of unit length again.

Models that were trained for it keep most of what they tell in their first numbers (Matryoshka representation learning:
Kusupati et al. 2022); others lose more the fewer are kept. Token vectors are the model's own and stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from appliance_models.errors import ModelError
from appliance_models.registry import Embedder, UnloadableEmbedder, no_such_dimensions
from appliance_models.spans import SpannedText
from appliance_models.token_vectors import EmbeddedQuery, TokenEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ShortenedEmbedder:
    """The first numbers of another embedder's vectors; see `TokenEmbedder`."""

    def __init__(self, embedder: Embedder, dimensions: int) -> None:
        """Raises ModelError if the embedder's vectors are shorter than that."""
        if dimensions > embedder.dimension:
            name = f"{embedder.name}/{dimensions}"
            raise ModelError(no_such_dimensions(name, embedder.name, 1, embedder.dimension))
        self._embedder = embedder
        self.dimension = dimensions
        self.name = f"{embedder.name}/{dimensions}"
        self.max_tokens = embedder.max_tokens
        self.max_positions = int(getattr(embedder, "max_positions", embedder.max_tokens))

    @property
    def identity(self) -> str:
        return f"{self._embedder.identity}/{self.dimension}"

    @property
    def token_dimension(self) -> int:
        return int(getattr(self._embedder, "token_dimension", 0))

    @property
    def token_identity(self) -> str:
        return self._with_tokens.token_identity

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._shortened(self._embedder.embed_passages(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._shortened(self._embedder.embed_query(text))

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        vectors, tokens = self._with_tokens.embed_passages_with_tokens(texts)
        return self._shortened(vectors), tokens

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        query = self._with_tokens.embed_query_with_tokens(text)
        return replace(query, vector=self._shortened(query.vector))

    @property
    def late_chunking(self) -> bool:
        return bool(getattr(self._embedder, "late_chunking", False))

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        return self._shortened(cast("Any", self._embedder).embed_spans(texts))

    def embed_spans_with_tokens(
        self, texts: Sequence[SpannedText]
    ) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        vectors, tokens = cast("Any", self._embedder).embed_spans_with_tokens(texts)
        return self._shortened(vectors), tokens

    def unload(self) -> None:
        """See `OnnxEmbedder`."""
        if isinstance(self._embedder, UnloadableEmbedder):
            self._embedder.unload()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    @property
    def _with_tokens(self) -> TokenEmbedder:
        return cast("TokenEmbedder", self._embedder)

    def _shortened(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        kept = vectors[..., : self.dimension]
        lengths = np.linalg.norm(kept, axis=-1, keepdims=True)
        shortened: NDArray[np.float32] = (kept / np.maximum(lengths, 1e-12)).astype(np.float32)
        return shortened
