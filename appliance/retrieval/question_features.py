"""Features of what a question asks for, and of where the candidates stand before them.

They mean something where people talk with each other, and are 0 elsewhere; only ``recalled`` is about assistants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appliance.retrieval import cues
from appliance.retrieval.adjacent import AdjacentMessages
from appliance.retrieval.candidates import Candidates, Column, Rows, called
from appliance.retrieval.features import Features, names_author, scatter
from appliance.retrieval.resources import ParsedQuery


def question_features(
    parsed: ParsedQuery, candidates: Candidates, adjacent: AdjacentMessages, best: Rows, scores: Column
) -> Features:
    """Compute the features of the ``best`` candidates, whose neighbours are ``adjacent``; all others have 0.

    Args:
        parsed: The query.
        candidates: The candidates.
        adjacent: The best candidates with their neighbours.
        best: Their rows.
        scores: The scores of the best candidates without these features.
    """
    question, between_people = parsed.query.text, adjacent.between_people
    excerpts = adjacent.own_excerpts
    texts = ["" if one is None else one.excerpt for one in excerpts]
    aliases = candidates.aliases
    authors = [None if one is None else called(one.author, one.session, aliases) for one in excerpts]
    from_assistant = np.array([one is not None and one.role == "assistant" for one in excerpts], np.float64)
    columns = {
        "session_mass": between_people * _session_mass(candidates.sessions[best], scores),
        "asks_back": between_people * [cues.asks_at_once(text) for text in texts],
        "first_named": between_people * _is_first_named(question, authors),
        "amount": between_people * [cues.has_amount(text) for text in texts]
        if cues.asks_how_much(question)
        else np.zeros(len(best)),
        "recalled": from_assistant * cues.asks_what_assistant_said(question),
    }
    return {name: scatter(column, best, len(candidates)) for name, column in columns.items()}


def _session_mass(sessions: NDArray[np.int64], scores: Column) -> Column:
    """The share of the likelihood (the softmax of the scores) that the other candidates of each session have."""
    likely = np.exp(scores - scores.max(initial=0.0))
    likely /= max(float(likely.sum()), 1e-9)
    _, places = np.unique(sessions, return_inverse=True)
    mass: Column = np.bincount(places, likely)[places] - likely
    return mass


def _is_first_named(question: str, authors: list[str | None]) -> Column:
    """Which messages are by the author whom the question names first."""
    places = {author: _place_of_name(question, author) for author in set(authors)}
    named = {author: place for author, place in places.items() if place is not None}
    first = min(named, key=lambda author: named[author], default=None)
    return np.array([author is not None and author == first for author in authors], np.float64)


def _place_of_name(question: str, author: str | None) -> int | None:
    """The place of the first word of a question that is a part of an author's name."""
    words = cues.words(question)
    return next((place for place, word in enumerate(words) if names_author({word}, author)), None)
