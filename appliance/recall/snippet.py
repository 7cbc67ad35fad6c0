"""The part of a message that answers a query best, cut at words, for a line on a screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from appliance.store.lexical import stem

LENGTH = 220

READ = 20_000
"""Characters that are looked through at once: of a message of megabytes, the first such stretch that has a word."""

_WORD = re.compile(r"\w+")


def snippet(text: str, words: Sequence[str], span: tuple[int, int] | None, length: int = LENGTH) -> str:
    """Up to about ``length`` characters of ``text``, on one line, within ``span`` where it is given; an
    ellipsis shows where something was left out. ``words`` are compared by their first letters, so that
    "allergic" finds "allergies"."""
    start, stop = span or (0, len(text))
    if len(text) <= READ and len(whole := " ".join(text.split())) <= length:
        return whole
    places = _places(text, start, stop, {stem(word) for word in words})
    begin = _densest(places, length) if places else start
    begin = max(start, begin - length // 5) if places else start
    if begin > 0:
        begin = next((i + 1 for i in range(begin, min(begin + 40, stop)) if text[i].isspace()), begin)
    end = min(len(text), begin + length)
    if end < len(text):
        end = next((i for i in range(end, max(begin, end - 40), -1) if text[i].isspace()), end)
    cut = " ".join(text[begin:end].split())
    return ("… " if begin > 0 else "") + cut + (" …" if end < len(text) else "")


def _places(text: str, start: int, stop: int, stems: AbstractSet[str]) -> list[int]:
    """Where words with these stems begin, in the first stretch that has any."""
    for begin in range(start, stop, READ):
        # Some characters more: a word may lie across the end.
        end = min(stop, begin + READ + LENGTH)
        folded = text[begin:end].casefold()
        if any(one in folded for one in stems):
            found = [m.start() for m in _WORD.finditer(text, begin, end) if stem(m.group()) in stems]
            if found:
                return found
    return []


def _densest(places: list[int], length: int) -> int:
    """The place from which most of the others lie within ``length``."""
    best, count, last = places[0], 0, 0
    for i, place in enumerate(places):
        while last < len(places) and places[last] < place + length:
            last += 1
        if last - i > count:
            best, count = place, last - i
    return best
