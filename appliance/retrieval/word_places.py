"""Where the words of a query stand in a text, compared by stem, without an index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from appliance.store.lexical import fold_marks, stem
from appliance.store.scripts import UNSPACED, fold_letter_pairs

MAX_PLACES = 200
"""How many places in a text are found, so that a message of megabytes costs no more than a short one."""

_WORD = re.compile(rf"(?:(?![{UNSPACED}_])[\w\u0300-\u036f])+")  # with marks that are not composed
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")


def word_places(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each place of a text with one of the words, in order and without overlaps.

    Args:
        text: The text.
        words: Casefolded words, as ``lexical.query_words`` returns them. Those of a script without spaces are pairs of
            characters, which are found anywhere; the others are words with the same stem.
    """
    runs = [word for word in words if _IS_UNSPACED.search(word)]
    stems = {_folded_stem(word) for word in words if word not in runs}
    if text.isascii():  # most messages have none of the words
        folded = text.casefold()
        if not any(part in folded for part in stems):
            return []
    found = list(islice(_words_with(text, stems), MAX_PLACES)) if stems else []
    if runs:
        # Pairs overlap, which only a pattern that takes no characters finds.
        pattern = re.compile(f"(?=({'|'.join(map(re.escape, runs))}))", re.IGNORECASE)
        found += (match.span(1) for match in islice(pattern.finditer(text), MAX_PLACES))
    return _merged(sorted(found))


def _words_with(text: str, stems: set[str]) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _WORD.finditer(text) if _folded_stem(match.group()) in stems)


def _folded_stem(word: str) -> str:
    """The stem as the full text compares words: without case and accents."""
    return stem(word.casefold() if word.isascii() else fold_letter_pairs(fold_marks(word)))


def _merged(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
