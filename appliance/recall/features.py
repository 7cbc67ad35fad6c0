"""Named features of a candidate, each about 0 to 1, computed from what the legs and the truth know.

dense    cosine of the question and the message's best chunk
own      BM25 of the message's own words          } a word of the question, s / (s + 2): BM25 has no
window   BM25 of the message with its neighbours  } upper end, and long questions would score higher
author   1 if the question names who said it
told     the better of dense and own, if a person said it: what is asked for later was mostly told by
         the person, not answered by the assistant; it is 0 where nothing else speaks for the message
quoted   1 if it holds what stands in quotation marks in the question
time     how close it was said to a time that the question names: 1 within it, then falling
title    how alike its session's title is to the question, as sets of words
recent   how recent it is: half after a week; 0 for all where no time is known
here     1 if it was said in the session that asks

The best are then looked at closely (``closer.py``):

beside   the best cosine of a direct neighbour, an assistant's too: an answer stands next to its question
phrase   the share of the question's pairs of words in a row that the message has in a row too

And where people talk with each other, no assistant:

late     how well each word of the question is met by some word of the message or its neighbours } below the best
amount   how much it says: the logarithm of its distinct words, the rarer the more               } of these, so
session  the best cosine in the message's session                                                } 0 or less
dated    a time is asked for, and the message speaks of times
replies  BM25 of the message before, if that ends with a question mark
named    window, if the question names who said it

For the profiles that ask for it, also of the best:

kind     1 for a decision, a commitment, a preference or an instruction, 0.5 for what states something else
entities the share of the question's names and numbers that it holds

behind   keeps what was not looked at closely behind what was

rerank   what a cross-encoder says of the question and the best chunk, where one is set up (``rerank.py``)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from appliance.moments import microseconds
from appliance.recall.candidates import Candidates, Column
from appliance.recall.shelf import Asked
from appliance.recall.times import closeness
from appliance.store.lexical import stem
from appliance.store.titles import alike

HALF_BM25 = 2.0
"""The BM25 score a word of the question that counts half."""

_WORD = re.compile(r"\w+")

HALF_LIFE = 7 * 86_400e6
"""Microseconds after which a message is half as recent: a week."""

Features = dict[str, Column]
"""A column for each feature, with a value for each candidate."""


def features(asked: Asked, candidates: Candidates, titles: Mapping[int, str]) -> Features:
    """The features of the first ranking; ``titles`` are those of the candidates' sessions."""
    words = set(asked.words)
    named = {author: names(words, author) for author in set(candidates.authors)}
    dense = _known(candidates, "dense")
    own = saturated(_known(candidates, "own"), len(words))
    person = np.array([role == "user" for role in candidates.roles], bool)
    return {
        "dense": dense,
        "own": own,
        "window": saturated(_known(candidates, "window"), len(words)),
        "author": np.array([named[author] for author in candidates.authors], np.float64),
        "quoted": np.isin(candidates.messages, sorted(candidates.quoted)).astype(np.float64),
        "told": np.where(person, np.maximum(np.maximum(dense, own), 0.0), 0.0),
        "time": closeness(asked.times, candidates.times),
        "title": _titled(words, candidates, titles),
        "recent": recent(candidates.times, microseconds(asked.wish.now)),
        "here": (candidates.sessions == (asked.wish.here or 0)).astype(np.float64),
    }


def names(asked: set[str], author: str | None) -> bool:
    """Whether the question's words name an author, by any part of the name of three letters or more."""
    parts = _WORD.findall(author.casefold()) if author else []
    return any(len(part) > 2 and part in asked for part in parts)


def recent(times: Column, now: int) -> Column:
    """Half for each week that a message is old. One whose time is not known counts as the others do on average."""
    ages = np.maximum(now - times, 0.0)
    column = np.asarray(0.5 ** (ages / HALF_LIFE))
    known = ~np.isnan(column)
    column[~known] = column[known].mean() if known.any() else 0.0
    return column


def _titled(words: Collection[str], candidates: Candidates, titles: Mapping[int, str]) -> Column:
    stems = {stem(word) for word in words}
    share = {session: alike(stems, title) for session, title in titles.items()}
    return np.array([share.get(session, 0.0) for session in candidates.sessions.tolist()])


def _known(candidates: Candidates, leg: str) -> Column:
    """A leg's scores, 0 where it has none."""
    scores = candidates.scores.get(leg)
    return np.zeros(len(candidates)) if scores is None else np.nan_to_num(scores)


def saturated(bm25: Column, words: int) -> Column:
    """BM25 for each word of the question, s / (s + 2): BM25 itself has no upper end."""
    a_word = bm25 / max(words, 1)
    return a_word / (a_word + HALF_BM25)
