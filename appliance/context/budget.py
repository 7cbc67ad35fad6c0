"""Filling a token budget: what goes in whole, what is shortened, what is named only, what stays out.

The cost of an item is counted on the very text that it adds to the prompt. Tokens of a whole can differ
by a few from the sum of its parts, so the finished prompt is counted again, and gives items back until
it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.store.lexical import stem

CountTokens = Callable[[str], int]

SHORTEST = 24
"""Fewer tokens than this say nothing: a shortened memory is not made smaller."""

_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+[\"'»”)\]]*|\n|$)\s*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Shortened:
    """The sentences of a text that were kept, and what they cost."""

    text: str
    tokens: int


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
        cost = count(sentences[i]) + 2
        if spent + cost <= room:
            kept.add(i)
            spent += cost
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
        elif not parts or parts[-1] != "[…] ":
            parts.append("[…] ")
    return "".join(parts).strip()
