"""Shortens texts to a token budget by selecting whole sentences, and avoids counting texts that can't fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from appliance.store.lexical import stem
from appliance.types import UNVERIFIED

CountTokens = Callable[[str], int]

MIN_SHORTENED_TOKENS = 24
"""A memory is not shortened to fewer tokens, because they would say nothing."""

MAX_CHARACTERS_PER_TOKEN = 128
"""No token of the published encodings is longer, so a text with more characters per token of the budget can't fit and
need not be counted."""

MAX_MISSES = 100
"""After so many sentences that don't fit, the rest of a very long text is not tried."""

ELISION = "[…] "

_PIECE = re.compile(rf"(?m:^){UNVERIFIED}:[^\n]*\s*" r"|[^\n.!?。！？]*(?:[.!?。！？]+[\"'»”)\]]*|\n|$)\s*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SentenceExtract:
    """The selected sentences of a text, and their number of tokens."""

    text: str
    tokens: int


def fits(text: str, max_tokens: int, count: CountTokens) -> bool:
    """Whether a text has at most ``max_tokens`` tokens."""
    return len(text) <= MAX_CHARACTERS_PER_TOKEN * max_tokens and count(text) <= max_tokens


def shorten(text: str, words: Sequence[str], max_tokens: int, count: CountTokens) -> SentenceExtract | None:
    """Select the sentences of a text that share most words with ``words``, within ``max_tokens`` tokens.

    Sentences stay whole and in their order; "[…]" stands for those left out. None if nothing useful fits.
    A note that is marked as uncertain stays whole, because its mark holds for the whole line.
    """
    if max_tokens < MIN_SHORTENED_TOKENS:
        return None
    sentences = [m.group() for m in _PIECE.finditer(text) if m.group().strip()]
    stems = {stem(word) for word in words}
    overlap = [_overlap(sentence, stems, max_tokens) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda i: (-overlap[i], i))
    kept: set[int] = set()
    spent = misses = 0
    for i in order:
        if max_tokens - spent <= 2 or misses == MAX_MISSES:
            break
        if not fits(sentences[i], max_tokens - spent - 2, count):
            misses += 1
            continue
        kept.add(i)
        spent += count(sentences[i]) + 2
    if not kept:
        return None
    short = _join(sentences, kept)
    while (tokens := count(short)) > max_tokens:
        kept.discard(min(kept, key=lambda i: overlap[i]))
        if not kept:
            return None
        short = _join(sentences, kept)
    return SentenceExtract(short, tokens)


def _overlap(sentence: str, stems: AbstractSet[str], max_tokens: int) -> int:
    """How many of the stems a sentence has; 0 for a sentence that can't fit."""
    if len(sentence) > MAX_CHARACTERS_PER_TOKEN * max_tokens:
        return 0
    folded = sentence.casefold()
    if not any(one in folded for one in stems):
        return 0
    return len({stem(word) for word in _WORD.findall(sentence)} & stems)


def _join(sentences: Sequence[str], kept: set[int]) -> str:
    parts: list[str] = []
    for i, sentence in enumerate(sentences):
        if i in kept:
            parts.append(sentence)
        elif not parts or parts[-1] != ELISION:
            parts.append(ELISION)
    return "".join(parts).strip()
