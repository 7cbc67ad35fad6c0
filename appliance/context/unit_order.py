"""In which order the units of a text are kept when it is shortened for a query.

First come the units with the query's rare words, one for each word: the row of the city, the function of that name.
Then comes the error of a stack trace with its place, then what stands around the first units, then the other units with
such words, and at last the rest by their weights.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from appliance.context.content import DEFINITION_WEIGHT, ContentUnit
from appliance.context.stack_traces import FRAME_WEIGHTS
from appliance.store.lexical import stem
from appliance.store.scripts import split_unspaced

MAX_RARE_UNITS, MAX_RARE_SHARE = 3, 0.02
"""A word is rare in a text if no more of its units, or no larger share of them, have it."""

MIN_WORD_VALUE = 0.1
"""What a unit gains by a word that all units have; by one that no other has, it gains 1."""

STEM_SHARE = 0.5
"""What a word counts that a unit has only by its stem, where another has it as it is written."""

NEAR_LINES = 3
"""How many lines of code before and after one with a rare word come before the rest, where no definition is around."""

MAX_FRAME_UNITS = 40
"""How many units around one with a rare word come before the rest."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class UnitOrder:
    """The order in which units are tried, by their numbers, and how many of them come first for their rare words."""

    numbers: Sequence[int]
    rare: int


def order_units(units: Sequence[ContentUnit], words: Sequence[str], max_characters: int) -> UnitOrder:
    """Order the units of a text for a query.

    Args:
        units: The units.
        words: The words of the query, as ``lexical.query_words`` returns them.
        max_characters: A longer unit can't fit, and is not read for the words.
    """
    values, rare_words = _word_values([unit.text for unit in units], words, max_characters)
    scores = [unit.weight + sum(found.values()) for unit, found in zip(units, values, strict=True)]
    by_score = sorted(range(len(units)), key=lambda i: (-scores[i], i))
    with_rare = [i for i in by_score if values[i].keys() & rare_words]
    first = list(_covering(with_rare, values, rare_words))
    around = [one for i in first for one in _frame(units, i, scores)]
    errors = [i for i in by_score if units[i].weight >= FRAME_WEIGHTS[0]]
    numbers = list(dict.fromkeys([*first, *errors, *around, *with_rare, *by_score]))
    return UnitOrder(numbers, len(first))


def _word_values(
    texts: Sequence[str], words: Sequence[str], max_characters: int
) -> tuple[list[dict[str, float]], set[str]]:
    """What each text gains by each of the words, and which of the words are rare among them."""
    exact: list[set[str]] = []
    by_stem: list[set[str]] = []
    stems = {word: stem(word) for word in words if not _is_name(word)}
    for text in texts:
        has, has_stem = _words_in(text, words, stems) if len(text) <= max_characters else (set(), set())
        exact.append(has)
        by_stem.append(has_stem)
    values: list[dict[str, float]] = [{} for _ in texts]
    rare_words: set[str] = set()
    for word in words:
        in_words = [i for i, has in enumerate(exact) if word in has]
        in_stems = [i for i, has in enumerate(by_stem) if word in has and word not in exact[i]]
        telling = in_words or in_stems
        if not telling:
            continue
        if len(telling) <= max(MAX_RARE_UNITS, MAX_RARE_SHARE * len(texts)):
            rare_words.add(word)
        value = max(MIN_WORD_VALUE, 1 - log(len(telling)) / log(len(texts) + 1))
        for i in telling:
            values[i][word] = value
        if in_words:
            for i in in_stems:
                values[i][word] = STEM_SHARE * MIN_WORD_VALUE
    return values, rare_words


def _words_in(text: str, words: Sequence[str], stems: dict[str, str]) -> tuple[set[str], set[str]]:
    """Those of the words that a text has as they are written, and those that it has by their stem."""
    folded = text.casefold() if text.isascii() else split_unspaced(unicodedata.normalize("NFKC", text)).casefold()
    likely = [word for word in words if stems.get(word, word) in folded]
    if not likely:
        return set(), set()
    found = set(_WORD.findall(folded))
    found_stems = set(map(stem, found))
    return {word for word in likely if word in found}, {word for word in likely if stems.get(word) in found_stems}


def _is_name(word: str) -> bool:
    """Whether a word is a name or a number that another word with the same beginning is not."""
    return not word.isalpha()


def _covering(numbers: Sequence[int], values: Sequence[dict[str, float]], wanted: set[str]) -> Iterator[int]:
    """Units that have all of the rare words, each the one that adds most."""
    missing = set(wanted)
    left = list(numbers)
    while missing and left:
        gains = {i: sum(value for word, value in values[i].items() if word in missing) for i in left}
        best = max(left, key=lambda i: gains[i])
        if not gains[best]:
            return
        yield best
        missing -= values[best].keys()
        left.remove(best)


def _frame(units: Sequence[ContentUnit], i: int, scores: Sequence[float]) -> list[int]:
    """What stands around a unit: the other sentences of its line, the lines of its function or under its item.

    Those with more words of the query come first, then the nearest.
    """
    unit = units[i]
    if unit.kind == "prose":
        around = _line_of(units, i)
    elif unit.kind == "code":
        body = _body_of(units, i)
        owners = [one for one in unit.needs if units[one].weight == DEFINITION_WEIGHT]
        inside = [one for owner in owners[:1] for one in _body_of(units, owner)]
        beside = [one for one in range(i - NEAR_LINES, i + NEAR_LINES + 1) if 0 <= one < len(units)]
        around = body or inside or [one for one in beside if units[one].kind == "code"]
    elif unit.kind == "list":
        around = _under_item(units, i)
    else:
        around = []
    nearest = sorted((one for one in around if one != i), key=lambda one: abs(one - i))[:MAX_FRAME_UNITS]
    return sorted(nearest, key=lambda one: (-scores[one], abs(one - i)))


def _under_item(units: Sequence[ContentUnit], i: int) -> list[int]:
    """The indented lines behind an item of a list."""
    last = i
    while last + 1 < len(units) and last - i < MAX_FRAME_UNITS and _is_indented(units[last + 1]):
        last += 1
    return list(range(i, last + 1))


def _is_indented(unit: ContentUnit) -> bool:
    return unit.kind in ("code", "prose") and unit.text[:1].isspace()


def _line_of(units: Sequence[ContentUnit], i: int) -> list[int]:
    """The sentences of the line with a sentence."""
    first, last = i, i
    while first and i - first < MAX_FRAME_UNITS and _continues(units[first - 1]):
        first -= 1
    while last + 1 < len(units) and last - i < MAX_FRAME_UNITS and _continues(units[last]):
        last += 1
    return list(range(first, last + 1))


def _continues(unit: ContentUnit) -> bool:
    """Whether the line of a sentence goes on behind it."""
    return unit.kind == "prose" and "\n" not in unit.text


def _body_of(units: Sequence[ContentUnit], owner: int) -> list[int]:
    """The lines of a definition, with those of the definitions in it; none for a line that defines nothing."""
    body: list[int] = []
    if units[owner].weight != DEFINITION_WEIGHT:
        return body
    inside = {owner}
    for one in range(owner + 1, len(units)):
        if not inside.intersection(units[one].needs):
            break
        inside.add(one)
        body.append(one)
        if len(body) > 2 * MAX_FRAME_UNITS:
            break
    return body
