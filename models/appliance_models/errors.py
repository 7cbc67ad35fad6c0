"""The error tree of the embedding layer.

    ModelError
    ├── ModelMissing   a pack, or a file of a pack, does not exist
    ├── ModelCorrupt   a file differs from its manifest, or can't be read
    ├── UnknownModel   no pack and no runtime has a model of that name
    ├── TextTooLong    a text has more tokens than the model has positions
    └── ApiError       an embedding API refuses a request, or may not be asked
        └── ApiUnavailable  it can't be reached or is overloaded, and may answer later

Every message names the file or text, where it was searched, and what to do next.
"""

from __future__ import annotations


class ModelError(Exception):
    """Base of the errors of this layer. ``is_shipped``: it is a file that came with the program."""

    def __init__(self, message: str, *, is_shipped: bool = False) -> None:
        super().__init__(message)
        self.is_shipped = is_shipped


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


class ApiError(ModelError):
    """An embedding API refuses a request, answers with something else than vectors, or may not be asked: there is no
    key, or the tokens are spent. ``hint`` says what to do. No word of a text, and nothing of a key, is in either."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ApiUnavailable(ApiError):
    """An embedding API can't be reached, is overloaded, or did not answer in time. It may answer later: in
    ``retry_after`` seconds, if it said so."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after
