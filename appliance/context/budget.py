"""Shortens texts to a token budget by selecting units of their content, and avoids counting texts that can't fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from appliance.context.content import ContentUnit, content_units
from appliance.context.stack_traces import OUTER_ERROR_WEIGHT
from appliance.context.unit_order import order_units

CountTokens = Callable[[str], int]

MIN_SHORTENED_TOKENS = 24
"""A memory is not shortened to fewer tokens, because they would say nothing."""

MAX_CHARACTERS_PER_TOKEN = 128
"""No token of the published encodings is longer, so a text with more characters per token of the budget can't fit and
need not be counted."""

MAX_MISSES = 100
"""After so many sentences that don't fit, the rest of a very long text is not tried."""

ELISION, LINE_ELISION = "[…] ", "[…]\n"
"""Stand for sentences and for lines that are left out."""

_CLAUSE_END = re.compile(r"[,;:)\]}]\s+")


@dataclass(frozen=True, slots=True)
class TextExtract:
    """The selected units of a text, and their number of tokens."""

    text: str
    tokens: int


def fits(text: str, max_tokens: int, count: CountTokens) -> bool:
    """Whether a text has at most ``max_tokens`` tokens."""
    return len(text) <= MAX_CHARACTERS_PER_TOKEN * max_tokens and count(text) <= max_tokens


def shorten(text: str, words: Sequence[str], max_tokens: int, count: CountTokens) -> TextExtract | None:
    """Select the units of a text that say most and share most words with ``words``, within ``max_tokens`` tokens.

    Units with rare words of the query come first (``unit_order.order_units``). Units (``content.content_units``) stay
    whole and in their order; "[…]" stands for those left out. Only an error of a stack trace is cut, between its
    clauses, if it can't fit. None if nothing useful fits.
    """
    if max_tokens < MIN_SHORTENED_TOKENS:
        return None
    units = content_units(text)
    order = order_units(units, words, MAX_CHARACTERS_PER_TOKEN * max_tokens)
    elision_tokens = count(ELISION)
    kept: set[int] = set()
    spent, misses = elision_tokens, 0
    for place, i in enumerate(order.numbers):
        if max_tokens - spent <= 2 or misses == MAX_MISSES:
            break
        if i in kept:  # another unit needs it
            continue
        added = _with_needed(units, i, kept)
        cost = _cost(units, added, kept, max_tokens - spent, count)
        if cost is None and place < order.rare:
            # The sum is an estimate, because tokens reach across the ends of units: what was asked for by name is
            # counted exactly, and stands without what it needs rather than not at all.
            if fits(joined := _join(units, {*kept, *added}), max_tokens, count):
                cost = count(joined) - spent
            elif len(added) > 1:
                added = [i]
                cost = _cost(units, added, kept, max_tokens - spent, count)
        if cost is None:
            misses += 1
            continue
        kept.update(added)
        spent += cost
    last_places = {i: place for place, i in enumerate(order.numbers)}
    while kept:
        short = _join(units, kept)
        if (tokens := count(short)) <= max_tokens:
            return TextExtract(short, tokens)
        needed = {one for i in kept for one in units[i].needs}
        kept.discard(max(kept - needed, key=last_places.__getitem__))
    return None


def _cost(
    units: list[ContentUnit], added: Sequence[int], kept: AbstractSet[int], max_tokens: int, count: CountTokens
) -> int | None:
    """The tokens that units add, with the marks for what is left out around them; None if they don't fit.

    An error that is too large is shortened in ``units``.
    """
    cost = 0
    for one in added:
        unit = units[one]
        if unit.weight >= OUTER_ERROR_WEIGHT and not fits(unit.text, max_tokens, count):
            units[one] = unit = _shortened_error(unit, max_tokens // 2, count)
        if not fits(unit.text, max_tokens - cost, count):
            return None
        cost += count(unit.text)
    cost += count(ELISION) * _added_gaps(kept, added, len(units))
    return cost if cost <= max_tokens else None


def _with_needed(units: Sequence[ContentUnit], i: int, kept: AbstractSet[int]) -> list[int]:
    """A unit with those that it needs and that are not kept yet."""
    added = [i]
    for one in added:
        added += [other for other in units[one].needs if other not in kept and other not in added]
    return added


def _added_gaps(kept: AbstractSet[int], added: Sequence[int], total: int) -> int:
    """How many more runs of units are left out once ``added`` is kept; negative if fewer are."""
    gaps = 0
    present: set[int] = set()
    for one in added:
        before = one > 0 and one - 1 not in kept and one - 1 not in present
        after = one + 1 < total and one + 1 not in kept and one + 1 not in present
        gaps += before + after - 1
        present.add(one)
    return gaps


def _shortened_error(unit: ContentUnit, max_tokens: int, count: CountTokens) -> ContentUnit:
    """The first clauses of an error that is too large, in half of the tokens: its frames have the others.

    The same unit if not even one clause fits.
    """
    best = unit
    for end in _CLAUSE_END.finditer(unit.text, 0, MAX_CHARACTERS_PER_TOKEN * max_tokens):
        beginning = unit.text[: end.end()].rstrip() + " " + LINE_ELISION
        if not fits(beginning, max_tokens, count):
            break
        best = replace(unit, text=beginning)
    return best


def _join(units: Sequence[ContentUnit], kept: AbstractSet[int]) -> str:
    """The text of the kept units, with a mark for each run of those left out."""
    parts: list[str] = []
    gap = False
    for i, unit in enumerate(units):
        if i not in kept:
            if not gap:
                parts.append(LINE_ELISION if unit.is_line else ELISION)
            gap = True
            continue
        if gap and unit.is_line:
            parts[-1] = LINE_ELISION
        gap = False
        parts.append(unit.text)
    return "".join(parts).strip()
