"""Spelling: a word of a query that no message has is searched for as the messages spell it.

Only a word that is unknown to the memory and to the model is taken for a slip, and none where a query has quotation
marks. The memory's vocabulary is that of the caller's scope: a correction shows no word of another user.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace

from appliance.errors import ModelUnavailable, StoreCorrupt
from appliance.languages import LANGUAGES
from appliance.languages.temporal import TIME_NAMES
from appliance.retrieval import archive_search, time_ranges
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.store import lexical, vocabulary
from appliance.store.index.protocol import LegQuery
from appliance.types import Filters

MIN_LETTERS = 5
"""Shorter words have too many neighbours: "Haus" is no slip for "Maus"."""

MAX_LETTERS = 30
"""Longer words are not written by hand."""

MAX_CORRECTIONS = 3
"""A query in a language that the memory does not have is not corrected word by word."""

_WORD = re.compile(r"\w+")
_COMMON_WORDS = TIME_NAMES.union(*(one.function_words | one.talk_words for one in LANGUAGES))
"""Words that every memory in their language has ("nicht" is no slip for "night"), and the names of times."""


def correct_spelling(resources: SearchResources, search_query: SearchQuery, notes: list[str]) -> SearchQuery:
    """Return the query as the messages spell its words. ``notes`` gets a sentence on each correction."""
    words = [
        word
        for word in lexical.query_words(search_query.text)
        if MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isalpha() and word.casefold() not in _COMMON_WORDS
    ]
    if not words or lexical.phrases(search_query.text):
        return search_query
    try:
        missing = vocabulary.missing_words(resources.db, words, search_query.filters, search_query.text)
        corrections = _corrections(resources, search_query, missing) if missing else {}
    except (StoreCorrupt, ModelUnavailable):  # the query is searched for as it is, and the search says what is wrong
        return search_query
    return _corrected(search_query, corrections, notes) if corrections else search_query


def _corrections(resources: SearchResources, search_query: SearchQuery, missing: list[str]) -> dict[str, str]:
    timed = " ".join(one.words for one in time_ranges.find_time_ranges(search_query.text, search_query.now)).casefold()
    unknown = [
        word
        for word in missing
        if word not in timed
        and not _is_word_of_model(resources, word)
        and not _is_archived(resources, word, search_query)
    ]
    if len(unknown) > MAX_CORRECTIONS:
        return {}
    db, filters = resources.db, search_query.filters
    similar = {word: vocabulary.similar_word(db, word, filters) for word in unknown}
    return {
        word: other
        for word, other in similar.items()
        if other is not None
        and not _means_another(resources, word, other)
        and not vocabulary.is_in_names(db, word, filters)
    }


def _means_another(resources: SearchResources, word: str, similar: str) -> bool:
    """Whether a word is more likely a slip for one that no message has: "recieved" means "received", not "relieved". A
    letter that is missing is as likely as two in the wrong order, and another letter is less likely."""
    transposed = vocabulary.transpositions(word)
    has_another_letter = len(similar) == len(word) and similar not in transposed
    return has_another_letter and any(_is_word_of_model(resources, form) for form in transposed)


def _is_word_of_model(resources: SearchResources, word: str) -> bool:
    """Whether the model knows a word as a whole: then people use it, and it is no slip."""
    (pieces,) = resources.lexicon().pieces([word])
    return len(pieces) == 1 and pieces[0] != 0


def _is_archived(resources: SearchResources, word: str, search_query: SearchQuery) -> bool:
    index = archive_search.with_archive(resources).index
    if resources.archive is None or index is None:
        return False
    (found,) = index.search([LegQuery("own", text=word)], Filters(search_query.filters.scope), 1)
    return bool(found)


def _corrected(search_query: SearchQuery, corrections: Mapping[str, str], notes: list[str]) -> SearchQuery:
    written: dict[str, str] = {}

    def correct(found: re.Match[str]) -> str:
        word = unicodedata.normalize("NFKC", found.group()).casefold()
        if word not in corrections:
            return found.group()
        written.setdefault(word, found.group())
        return corrections[word]

    text = _WORD.sub(correct, search_query.text)
    notes.extend(f"No message has {one!r}; searched for {corrections[word]!r} too." for word, one in written.items())
    return replace(search_query, text=text)
