"""The vectors of passages: of texts, and of messages whose chunks a model with late chunking reads together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import appliance_models
from appliance.ingest.indexer import EmbeddedPassages
from appliance.store.passages import LATE_FORMAT, PASSAGE_FORMAT, ChunkSpan, Passage, SplitMessage, lead

if TYPE_CHECKING:
    from appliance_models import Embedder, SpannedText, TokenEmbedder


def is_late(model: Embedder) -> bool:
    """Whether a model reads the chunks of a message together; a caller's own model may not say."""
    return bool(getattr(model, "late_chunking", False))


def passage_format(model: Embedder) -> str:
    """Names what the model reads for a chunk; a part of the identity of its vectors."""
    return f"{PASSAGE_FORMAT} {LATE_FORMAT}" if is_late(model) else PASSAGE_FORMAT


def token_dimension(model: Embedder) -> int:
    """Numbers in the model's token vectors; 0 if it gives none, as models of a caller's own may."""
    return int(getattr(model, "token_dimension", 0))


def spanned_text(author: str | None, text: str, spans: Sequence[ChunkSpan]) -> SpannedText:
    """What a model with late chunking gets for a message of several chunks."""
    return appliance_models.SpannedText(text, [(span.start, span.end) for span in spans], lead(author))


def embed_passages(model: Embedder, passages: Sequence[Passage]) -> EmbeddedPassages:
    """The vectors of passages in order, with their token vectors if the model gives any."""
    plain = _embed_texts(model, [read for read in passages if isinstance(read, str)])
    split = _embed_split(model, [read for read in passages if isinstance(read, SplitMessage)])
    return _in_order(passages, plain, split)


def _embed_texts(model: Embedder, texts: Sequence[str]) -> EmbeddedPassages:
    if token_dimension(model):
        return EmbeddedPassages(*cast("TokenEmbedder", model).embed_passages_with_tokens(texts))
    return EmbeddedPassages(model.embed_passages(texts))


def _embed_split(model: Embedder, messages: Sequence[SplitMessage]) -> EmbeddedPassages:
    """The vectors of the chunks of messages that are read as a whole."""
    texts, reader = (
        [spanned_text(message.author, message.text, message.spans) for message in messages],
        cast("Any", model),
    )
    if not texts:
        return EmbeddedPassages(np.empty((0, model.dimension), np.float32), [] if token_dimension(model) else None)
    if token_dimension(model):
        return EmbeddedPassages(*reader.embed_spans_with_tokens(texts))
    return EmbeddedPassages(reader.embed_spans(texts))


def _in_order(passages: Sequence[Passage], plain: EmbeddedPassages, split: EmbeddedPassages) -> EmbeddedPassages:
    """The vectors of passages in their order, from those of texts and those of messages that are read as a whole."""
    if not len(split.vectors):
        return plain
    places: list[int] = []
    texts, chunks = 0, len(plain.vectors)
    for read in passages:
        if isinstance(read, str):
            places.append(texts)
            texts += 1
        else:
            places += range(chunks, chunks + len(read.spans))
            chunks += len(read.spans)
    vectors = np.concatenate([plain.vectors, split.vectors])[places]
    if plain.tokens is None or split.tokens is None:
        return EmbeddedPassages(vectors)
    tokens = [*plain.tokens, *split.tokens]
    return EmbeddedPassages(vectors, [tokens[place] for place in places])
