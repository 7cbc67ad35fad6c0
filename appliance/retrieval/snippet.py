"""The snippet of a hit: the part of the message that matches the query best, cut at words, for a line on a screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from appliance.store.lexical import stem

SNIPPET_CHARACTERS = 220

SCAN_CHARACTERS = 20_000
"""Characters that are searched at once. Of a message of megabytes, the first such part with a match is used."""

_WORD = re.compile(r"\w+")


def snippet(text: str, words: Sequence[str], span: tuple[int, int] | None, length: int = SNIPPET_CHARACTERS) -> str:
    """Cut up to about ``length`` characters from a text, as one line, with an ellipsis where something is left out.

    Args:
        text: The message.
        words: The words of the query. They are compared by stem, so that "allergic" finds "allergies".
        span: The part of the text to cut from; None for all of it.
        length: The length aimed at.
    """
    start, stop = span or (0, len(text))
    if len(text) <= SCAN_CHARACTERS and len(whole := " ".join(text.split())) <= length:
        return whole
    places = _stem_offsets(text, start, stop, {stem(word) for word in words})
    begin = _densest_offset(places, length) if places else start
    begin = max(start, begin - length // 5) if places else start
    if begin > 0:
        begin = next((i + 1 for i in range(begin, min(begin + 40, stop)) if text[i].isspace()), begin)
    end = min(len(text), begin + length)
    if end < len(text):
        end = next((i for i in range(end, max(begin, end - 40), -1) if text[i].isspace()), end)
    cut = " ".join(text[begin:end].split())
    return ("… " if begin > 0 else "") + cut + (" …" if end < len(text) else "")


def _stem_offsets(text: str, start: int, stop: int, stems: AbstractSet[str]) -> list[int]:
    """Where words with these stems begin, in the first part of the text that has any."""
    for begin in range(start, stop, SCAN_CHARACTERS):
        # Some characters more, because a word may lie across the end of a part.
        end = min(stop, begin + SCAN_CHARACTERS + SNIPPET_CHARACTERS)
        folded = text[begin:end].casefold()
        if any(one in folded for one in stems):
            found = [m.start() for m in _WORD.finditer(text, begin, end) if stem(m.group()) in stems]
            if found:
                return found
    return []


def _densest_offset(places: list[int], length: int) -> int:
    """The offset that most other offsets follow within ``length``."""
    best, count, last = places[0], 0, 0
    for i, place in enumerate(places):
        while last < len(places) and places[last] < place + length:
            last += 1
        if last - i > count:
            best, count = place, last - i
    return best
