"""The error tree of the embedding layer.

    ModelError
    ├── ModelMissing   a pack, or a file of a pack, does not exist
    ├── ModelCorrupt   a file differs from its manifest, or can't be read
    ├── UnknownModel   no pack and no runtime has a model of that name
    └── TextTooLong    a text has more tokens than the model has positions

Every message names the file or text, where it was searched, and what to do next.
"""

from __future__ import annotations


class ModelError(Exception):
    """Base of the errors of this layer."""


class ModelMissing(ModelError):
    """A pack or one of its files does not exist."""


class ModelCorrupt(ModelError):
    """A file differs from its manifest, or can't be read."""


class UnknownModel(ModelError):
    """No pack and no runtime has a model of that name."""


class TextTooLong(ModelError):
    """A text is longer than the model can read. Texts are never cut: the caller splits them.

    `index` is the text's index in the call. `tokens` and `limit` count special tokens.
    """

    def __init__(self, index: int, tokens: int, limit: int, model: str) -> None:
        self.index = index
        self.tokens = tokens
        self.limit = limit
        super().__init__(
            f"Text {index} has {tokens} tokens and {model} reads at most {limit}. "
            "Split the text first (count_tokens gives exact counts)."
        )
