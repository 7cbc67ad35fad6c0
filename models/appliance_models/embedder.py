"""What the rest of the program may ask of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors. Safe to share among threads. Touches no network, ever.

    A text's vector depends on the text alone: not on what else is in the same call, nor on its order.
    """

    @property
    def name(self) -> str:
        """The name it was loaded by, for people."""

    @property
    def identity(self) -> str:
        """Changes whenever the same text would get another vector: stamp stored vectors with it."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens a text should have at most to be read well, special tokens included: what to chunk to.

        Longer texts are still read whole up to the model's positions, and refused beyond them.
        """

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts to be found, (len(texts), dimension), in the order given.

        Nothing is truncated: raises TextTooLong for a text of more tokens than the model has positions.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, (dimension,).

        Takes any length: a long text is read in several windows whose vectors are averaged by tokens.
        """

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as `embed_passages` reads it: special tokens and prefix included, nothing cut."""
