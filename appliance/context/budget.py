"""Making a text smaller: the sentences that matter, whole, and a bound on what is worth counting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from appliance.store.lexical import stem

CountTokens = Callable[[str], int]

SHORTEST = 24
"""Fewer tokens than this say nothing: a shortened memory is not made smaller."""

LONGEST_TOKEN = 128
"""No token of the published tables has more characters: a text of more than so many a token can't fit, and need not
be counted to know it."""

MISSES = 100
"""Sentences that don't fit any more, after which no further one is tried: the rest of a very long text."""

LEFT_OUT = "[…] "

_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+[\"'»”)\]]*|\n|$)\s*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Shortened:
    """The sentences of a text that were kept, and what they cost."""

    text: str
    tokens: int


def fits(text: str, room: int, count: CountTokens) -> bool:
    """Whether a text has at most ``room`` tokens."""
    return len(text) <= LONGEST_TOKEN * room and count(text) <= room


def shorten(text: str, words: Sequence[str], room: int, count: CountTokens) -> Shortened | None:
    """The sentences of a text that share most with ``words``, in their own order, within ``room`` tokens.

    Every sentence is the text's own, whole; left-out ones are shown as "[…]". None when nothing useful fits.
    """
    if room < SHORTEST:
        return None
    sentences = [m.group() for m in _SENTENCE.finditer(text) if m.group().strip()]
    stems = {stem(word) for word in words}
    overlap = [_shared(sentence, stems, room) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda i: (-overlap[i], i))
    kept: set[int] = set()
    spent = misses = 0
    for i in order:
        if room - spent <= 2 or misses == MISSES:
            break
        if not fits(sentences[i], room - spent - 2, count):
            misses += 1
            continue
        kept.add(i)
        spent += count(sentences[i]) + 2
    if not kept:
        return None
    short = _joined(sentences, kept)
    while (tokens := count(short)) > room:
        kept.discard(min(kept, key=lambda i: overlap[i]))
        if not kept:
            return None
        short = _joined(sentences, kept)
    return Shortened(short, tokens)


def _shared(sentence: str, stems: AbstractSet[str], room: int) -> int:
    """How many of the stems a sentence has; of one that can't fit in ``room`` nobody needs to know."""
    if len(sentence) > LONGEST_TOKEN * room:
        return 0
    folded = sentence.casefold()
    if not any(one in folded for one in stems):
        return 0
    return len({stem(word) for word in _WORD.findall(sentence)} & stems)


def _joined(sentences: Sequence[str], kept: set[int]) -> str:
    parts: list[str] = []
    for i, sentence in enumerate(sentences):
        if i in kept:
            parts.append(sentence)
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "".join(parts).strip()
