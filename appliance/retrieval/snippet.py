"""The snippet of a hit: the part of the message that matches the query best, cut at words, for a line on a screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from appliance.store.lexical import stem
from appliance.store.scripts import UNSPACED, fold_letter_pairs

SNIPPET_CHARACTERS = 220

MAX_COUNTED_PLACES = 20
"""How often a word is counted in a text to find the rarest."""

SCAN_CHARACTERS = 20_000
"""Characters that are searched at once. Of a message of megabytes, the first such part with a match is used."""

_WORD = re.compile(r"\w+")
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")


def snippet(text: str, words: Sequence[str], span: tuple[int, int] | None, length: int = SNIPPET_CHARACTERS) -> str:
    """Cut up to about ``length`` characters from a text, as one line, with an ellipsis where something is left out.

    Args:
        text: The message.
        words: The words of the query. They are compared by stem, so that "allergic" finds "allergies".
        span: The part of the text to cut from; None for all of it. If it lacks a word of the query that the text has as
            it is written, the part around that word is shown.
        length: The length aimed at.
    """
    start, stop = span or (0, len(text))
    if len(text) <= SCAN_CHARACTERS and len(whole := " ".join(text.split())) <= length:
        return whole
    if (place := _place_outside(text, words, start, stop)) is not None:
        start, stop = max(0, place - length), min(len(text), place + length)
        begin = max(start, place - length // 2)
    else:
        places = _stem_offsets(text, start, stop, {stem(word) for word in words})
        lead = length // 5
        begin = max(start, _densest_offset(places, length - lead) - lead) if places else start
    if begin > 0:
        begin = next((i + 1 for i in range(begin, min(begin + 40, stop)) if text[i].isspace()), begin)
    end = min(len(text), begin + length)
    if end < len(text):
        end = next((i for i in range(end, max(begin, end - 40), -1) if text[i].isspace()), end)
    cut = " ".join(text[begin:end].split())
    return ("… " if begin > 0 else "") + cut + (" …" if end < len(text) else "")


def _place_outside(text: str, words: Sequence[str], start: int, stop: int) -> int | None:
    """Where the text has the rarest of the words that its part from ``start`` to ``stop`` has not; None if there is
    none. Words of a script without spaces are found anywhere, others whole."""
    rarest: tuple[int, int] | None = None
    part = text[start:stop]
    for word in words:
        pattern = re.compile(
            re.escape(word) if _IS_UNSPACED.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE
        )
        if pattern.search(part) is None:
            places = [found.start() for found in islice(pattern.finditer(text), MAX_COUNTED_PLACES)]
            if places and (rarest is None or len(places) < rarest[0]):
                rarest = len(places), places[0]
    return None if rarest is None else rarest[1]


def _stem_offsets(text: str, start: int, stop: int, stems: AbstractSet[str]) -> list[tuple[int, str]]:
    """Where words with these stems begin, and their stems, in the first part of the text that has any."""
    for begin in range(start, stop, SCAN_CHARACTERS):
        # Some characters more, because a word may lie across the end of a part.
        end = min(stop, begin + SCAN_CHARACTERS + SNIPPET_CHARACTERS)
        folded = fold_letter_pairs(text[begin:end].casefold())
        if any(one in folded for one in stems):
            words = ((m.start(), stem(m.group())) for m in _WORD.finditer(text, begin, end))
            found = [(place, one) for place, one in words if one in stems]
            if found:
                return found
    return []


def _densest_offset(places: Sequence[tuple[int, str]], length: int) -> int:
    """The offset that most different stems follow within ``length``, and of equal ones most stems."""
    best, most = places[0][0], (0, 0)
    inside: Counter[str] = Counter()
    last = 0
    for place, one in places:
        while last < len(places) and places[last][0] < place + length:
            inside[places[last][1]] += 1
            last += 1
        if (count := (len(inside), inside.total())) > most:
            best, most = place, count
        inside[one] -= 1
        if not inside[one]:
            del inside[one]
    return best
