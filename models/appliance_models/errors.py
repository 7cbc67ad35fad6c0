"""The error tree of the embedding layer.

    ModelError
    ├── ModelMissing   a pack, or a file of one, is not where it was looked for
    ├── ModelCorrupt   a file is there, and is not what its manifest says, or can't be read as what it should be
    ├── UnknownModel   no pack and no runtime answers to that name
    └── TextTooLong    a text has more tokens than the model has positions for

Every message says which file or text, where it was looked for, and what to do next.
"""

from __future__ import annotations


class ModelError(Exception):
    """Anything that goes wrong between a model's name and its vectors."""


class ModelMissing(ModelError):
    """A pack or one of its files is absent."""


class ModelCorrupt(ModelError):
    """A file differs from its manifest, or is not readable as what it claims to be."""


class UnknownModel(ModelError):
    """A name that no pack and no runtime answers to."""


class TextTooLong(ModelError):
    """A text does not fit the model. It is never cut: the caller splits it.

    `index` is the text's place in the call, `tokens` what it has and `limit` what the model reads
    (both with special tokens).
    """

    def __init__(self, index: int, tokens: int, limit: int, model: str) -> None:
        self.index = index
        self.tokens = tokens
        self.limit = limit
        super().__init__(
            f"text {index} has {tokens} tokens and {model} reads at most {limit}: "
            "nothing is cut off here, split the text first (count_tokens gives exact counts)"
        )
