"""Token vectors: a small vector for each token of a text, in its context, to compare question and text word by word.

As in ColBERT (Khattab and Zaharia 2020), but of the same pass that embeds the text: the model's last hidden states, in
the directions that its pack's ``token_projection.npy`` keeps, of unit length and a byte a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from appliance_models.errors import ModelCorrupt
from appliance_models.manifest import TOKEN_PROJECTION_FILE
from appliance_models.registry import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

SINGLE_THREAD_PRODUCTS = 524_288
"""Up to so many multiplications, OpenBLAS works in the calling thread. It divides 1.5 million, a text of 126 tokens,
among threads that wait for one another actively: 2 to 10 ms of processor time instead of 0.2."""

SCALE = 127
"""What a token vector of unit length is multiplied by before it is rounded to bytes."""

FIRST_WORD_ID = 1_996
"""The first word of BERT's vocabulary, "the". Special pieces, signs and letters precede it; words go from frequent to
rare."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """A query's vector, (dimension,); its token vectors, (tokens, token dimension), of unit length; and how rare each
    token is in English, from 0 ("the", and any sign) to 1."""

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32]
    rarity: NDArray[np.float32]


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives token vectors."""

    @property
    def token_dimension(self) -> int:
        """Numbers in a token vector; 0 if the model gives none."""

    @property
    def token_identity(self) -> str:
        """Changes whenever the same text would get other token vectors."""

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        """The vectors as ``embed_passages`` gives them, and for each text its token vectors, (tokens, token dimension),
        without the special tokens.

        Raises:
            TextTooLong: a text has more tokens than the model has positions.
        """

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        """The vector as ``embed_query`` gives it, and the token vectors of the text."""


class TokenProjection:
    """The directions of a model's hidden states that token vectors keep."""

    def __init__(self, directions: NDArray[np.float32], offset: NDArray[np.float32]) -> None:
        """``directions``: (hidden size, token dimension); ``offset``: (token dimension,), taken off what they give."""
        self._directions = directions
        self._offset = offset
        self.dimension: int = directions.shape[1]

    def project(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """The token vectors of hidden states, (tokens, token dimension), of unit length."""
        projected = _product(hidden, self._directions)
        projected -= self._offset
        projected /= np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-12)
        return projected


def _product(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of two matrices, computed in the calling thread: row by row the same as ``left @ right``."""
    product = np.empty((len(left), right.shape[1]), np.float32)
    blocks = -(-len(left) * right.size // SINGLE_THREAD_PRODUCTS)
    step = max(1, -(-len(left) // max(1, blocks)))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=product[start : start + step])
    return product


def to_bytes(tokens: NDArray[np.float32]) -> NDArray[np.int8]:
    """Token vectors of unit length as bytes."""
    return np.rint(tokens * SCALE).astype(np.int8)


def rarity(ids: Sequence[int], vocabulary: int) -> NDArray[np.float32]:
    """How rare each piece of a vocabulary in BERT's order is in English, from 0 ("the", and any sign) to 1."""
    ranks = np.maximum(np.asarray(ids) - FIRST_WORD_ID, 0)
    shares: NDArray[np.float32] = (np.log1p(ranks) / np.log(vocabulary - FIRST_WORD_ID)).astype(np.float32)
    return shares


def load_projection(folder: Path, hidden_size: int) -> TokenProjection | None:
    """The projection of the pack in ``folder``; None if it has none. Raises ModelCorrupt."""
    path = folder / TOKEN_PROJECTION_FILE
    if not path.exists():
        return None
    try:
        rows = np.load(path)
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"{path} can't be read ({error}). Restore it, or import the model again.") from error
    if rows.ndim != 2 or rows.shape[0] != hidden_size + 1 or rows.dtype != np.float32:
        raise ModelCorrupt(f"{path} is not of this model: {rows.shape} {rows.dtype}. Import the model again.")
    return TokenProjection(rows[:-1], rows[-1])
