"""Repetitions of the question: messages that only ask what the query asks come after those that may answer it.

An assistant searches with what its person has just said, and that message is stored already: nothing is more similar to
the query, and nothing answers it less. It stays among the hits, because a person may look for the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from appliance.languages import LANGUAGES
from appliance.languages.courtesies import is_courtesy
from appliance.retrieval.adjacent import EXCERPT_CHARACTERS
from appliance.retrieval.candidates import Candidates, Rows
from appliance.retrieval.ranking import FLOOR_MARGIN, Ranking
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.store import lexical, messages
from appliance.store.messages import MessageExcerpt
from appliance.store.scripts import is_question

HITS_BEFORE_REPETITION = 5
"""How many other hits come before a repetition of the question. It is still on the first page."""

EXAMINED_ROWS = 40
"""How many of the best candidates are examined. A repetition is one of the very best."""

MAX_QUERY_CHARACTERS = 2_000
"""Longer queries are pasted texts, and no questions."""

_WORD = re.compile(r"\w+")
_ASKS = re.compile(rf"[\W_]*(?:{'|'.join(one.interrogatives for one in LANGUAGES)})\b[^.!。！]*$", re.IGNORECASE)


def put_behind_answers(
    resources: SearchResources, search_query: SearchQuery, candidates: Candidates, ranking: Ranking
) -> Ranking:
    """Add the feature ``asked`` to a ranking if a good candidate repeats the question: an offset, 0 or less, that puts
    it behind the best others. A query with quotation marks looks for the words themselves, and a greeting has no
    answer: both are left alone.

    Args:
        resources: What the search reads from.
        search_query: The query as it was asked, with its slips.
        candidates: The candidates.
        ranking: Their ranking.
    """
    text = search_query.text
    if len(text) > MAX_QUERY_CHARACTERS or lexical.phrases(text) or not _words(text) or is_courtesy(text):
        return ranking
    best = ranking.order[:EXAMINED_ROWS]
    repeating = _repeating(resources, search_query, candidates, ranking, best)
    others = ranking.order[~np.isin(ranking.order, repeating)][:HITS_BEFORE_REPETITION]
    if not len(repeating) or not len(others):
        return ranking
    bound = float(ranking.scores[others[-1]]) - FLOOR_MARGIN
    asked = np.zeros(len(candidates))
    asked[repeating] = np.minimum(bound - ranking.scores[repeating], 0.0)
    return ranking.with_feature("asked", asked, 1.0, candidates.messages)


def _repeating(
    resources: SearchResources, search_query: SearchQuery, candidates: Candidates, ranking: Ranking, rows: Rows
) -> Rows:
    """The rows that ask with the words of the query and no others. In the session that asks, that is also the message
    with the very text of the query: "tell me about the otters"."""
    text, current = search_query.text, search_query.current_session
    words, folded = _words(text), lexical.fold(text)
    keys = candidates.messages[rows].tolist()
    characters = 2 * len(text) + 1
    found = _excerpts(resources, ranking, keys, characters)

    def repeats(one: MessageExcerpt) -> bool:
        beginning = one.excerpt[:characters]
        if one.session == current and lexical.fold(beginning) == folded:
            return True
        return asks(beginning) and _words(beginning) == words

    return rows[[key in found and repeats(found[key]) for key in keys]]


def _excerpts(
    resources: SearchResources, ranking: Ranking, keys: Sequence[int], characters: int
) -> Mapping[int, MessageExcerpt]:
    """At least the first ``characters`` of messages: what the second stage has read, or else from the database."""
    known = ranking.adjacent
    if known is not None and characters <= EXCERPT_CHARACTERS and set(keys) <= set(known.keys):
        return known.excerpts
    return messages.excerpts(resources.db, keys, characters)


def asks(text: str) -> bool:
    """Whether a text is a question, by its end or its first words."""
    return is_question(text) or _ASKS.match(text) is not None


def _words(text: str) -> list[str]:
    return _WORD.findall(lexical.fold(text))
