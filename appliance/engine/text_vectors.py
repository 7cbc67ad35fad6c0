"""Vectors of texts that are not stored, by the model of the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import appliance_models
from appliance.engine.embedding_api import is_remote
from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from appliance.engine.engine import Engine

SLICE_TEXTS = 16
"""Texts that are embedded before queries of the memory run."""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """Vectors of unit length, (texts, dimension), in the order of the texts, and how many tokens the model read."""

    model: str
    vectors: NDArray[np.float32]
    tokens: int


def text_model(engine: Engine) -> str:
    """The name of the model that the memory is embedded with."""
    serving = engine._index_service.serving.current()
    return engine.model_name if serving is None else serving.model


def embed_texts(engine: Engine, texts: Sequence[str], *, as_queries: bool = False) -> TextVectors:
    """The vectors of texts: of passages to be found, or of questions.

    Raises:
        UsageError: A text is longer than the model can read, or the model is asked over the network.
        ModelUnavailable: The model can't be loaded or run.
    """
    models, name = engine._index_service.models, text_model(engine)
    model = models.load(name)
    if is_remote(model):
        raise UsageError(f"The model {name} is asked over the network; this server passes no texts on to it.")
    vectors: list[NDArray[np.float32]] = []
    for start in range(0, len(texts), SLICE_TEXTS):
        engine.admission.yield_to_queries()
        some = texts[start : start + SLICE_TEXTS]
        if as_queries:
            vectors += [models.embed_query(model, text).vector for text in some]
            continue
        try:
            vectors += list(model.embed_passages(some))
        except appliance_models.TextTooLong as error:
            raise UsageError(
                f"Text {start + error.index} has {error.tokens:,} tokens; {name} reads at most {error.limit:,}.",
                hint="Split it, and embed its parts.",
            ) from error
    return TextVectors(name, np.asarray(vectors, np.float32), sum(model.count_tokens(texts)))


def decode_tokens(model: str, tokens: Sequence[int]) -> str:
    """The text of tokens in the encoding of an OpenAI model; that of most, if the model is unknown.

    Raises:
        UsageError: The encoding has no such token.
    """
    try:
        return appliance_models.encoding_for(model).decode(tokens)
    except (KeyError, OverflowError) as error:
        raise UsageError("The input has tokens that its encoding does not have.", hint="Send texts.") from error
