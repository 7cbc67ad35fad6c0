"""Leaves placeholders of the apps ("image omitted") out of a search, unless it asks for their very words.

They say nothing, and their short texts are near to many queries by meaning. They stay stored, and are found by their
words, and by ``has``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from appliance.retrieval.candidates import Candidates
from appliance.retrieval.confidence import content_words
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.store import lexical, messages
from appliance.types import placeholders

LOOKUP_ROWS = 500
"""How many messages are looked up at once."""


def without_placeholders(resources: SearchResources, parsed: ParsedQuery, candidates: Candidates) -> Candidates:
    """The candidates without placeholders that the query does not ask for."""
    if parsed.query.filters.has:
        return candidates
    # A chunk that ends further on is of a longer text.
    short = candidates.messages[candidates.spans[:, 1] <= placeholders.MAX_CHARACTERS].tolist()
    unwanted = set(_unwanted(resources.db, parsed, short)) - candidates.quote_matches
    if not unwanted:
        return candidates
    return candidates.select(np.flatnonzero(~np.isin(candidates.messages, sorted(unwanted))))


def drop_placeholders(db: sqlite3.Connection, parsed: ParsedQuery, keys: Iterable[int]) -> Iterator[int]:
    """Yield the messages of a listing that the words of the query led to, without placeholders."""
    if parsed.query.filters.has or not placeholders.may_be_meant(parsed.words):
        yield from keys
        return
    remaining = iter(keys)
    while page := list(islice(remaining, LOOKUP_ROWS)):
        unwanted = set(_unwanted(db, parsed, page))
        yield from (key for key in page if key not in unwanted)


def _unwanted(db: sqlite3.Connection, parsed: ParsedQuery, keys: Sequence[int]) -> Iterator[int]:
    content = content_words(parsed)
    for key, one in messages.excerpts(db, keys, placeholders.MAX_CHARACTERS + 1).items():
        if placeholders.placeholder_kind(one.excerpt) is not None:
            folded = lexical.fold(one.excerpt)
            if not content or not all(lexical.fold(word) in folded for word in content):
                yield key
