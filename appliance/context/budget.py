"""Making a text smaller: the sentences that matter, whole, and a bound on what is worth counting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.store.lexical import stem

CountTokens = Callable[[str], int]

SHORTEST = 24
"""Fewer tokens than this say nothing: a shortened memory is not made smaller."""

LONGEST_TOKEN = 128
"""No token of the published tables has more characters: a text of more than so many a token can't fit, and need not
be counted to know it."""

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
    overlap = [len({stem(w) for w in _WORD.findall(s)} & stems) for s in sentences]
    order = sorted(range(len(sentences)), key=lambda i: (-overlap[i], i))
    kept: set[int] = set()
    spent = 0
    for i in order:
        if room - spent <= 2:
            break
        if not fits(sentences[i], room - spent - 2, count):
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


def _joined(sentences: Sequence[str], kept: set[int]) -> str:
    parts: list[str] = []
    for i, sentence in enumerate(sentences):
        if i in kept:
            parts.append(sentence)
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "".join(parts).strip()
