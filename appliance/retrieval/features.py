"""Features: named numbers about a candidate, each about 0 to 1, from what the legs and the database know.

The first stage, for every candidate:

dense            cosine of the query and the message's best chunk
own              BM25 of the message's own words           } for each word of the query, s / (s + 2): BM25 has no
window           BM25 of the message with its neighbours   } upper end, and long queries would score higher
author           1 if the query names the author, by whatever name the person goes
user_authored    the better of dense and own, if a person wrote it: what is asked for later was mostly stated by the
                 person, not answered by the assistant. It is 0 where nothing else speaks for the message.
quoted           1 if it contains what stands in quotation marks in the query, or else most of its literals: names of
                 code, beginnings of hashes, numbers, emoji
file             1 if it is about a file that the query names, without naming it: its turn touched the file, or it
                 carries it. If the query asks what was changed, 1.5 if its turn changed it, and else 0.5
time             how close it is to a time that the query names: 1 within it, then falling
period           1 within a time of the query, if it names nothing else but authors, who must have written it ("what did
                 Ben say in August 2022"); less in the earlier years of a day without a year
title            similarity of its session's title and the query, as sets of words
recent           recency: half after a week; 0 for all where no time is known
here             1 if it belongs to the session that asks

The second stage (``second_stage``), for the best candidates only:

neighbour_dense  the best cosine of a direct neighbour, an assistant's too: an answer stands next to its question
phrase           the share of the query's pairs of adjacent words that the message has adjacent too

And where people talk with each other, without an assistant:

token_match      how well each token of the query is matched by some token of the message, in its context } relative to
token_match_near the same, by a token of the message or its neighbours                                    } the best of
max_sim          how well each word is matched by a word of either, where token vectors are missing       } these: <= 0
idf_mass         how much it says: the logarithm of its distinct words, weighted by rarity                }
session          the best cosine in the message's session                                                 }
dated            the query asks for a time, and the message mentions times
replies          BM25 of the message before it, if that one ends with a question mark
named            window, if the query names the author
session_mass     the share of the likelihood that the other candidates of its session have so far
asks_back        1 if the message is a question
first_named      1 if the query names its author before others
amount           1 if it has a number, and the query asks for one

Where an assistant talks:

recalled         1 for the assistant's messages, if the query asks what it said

For the profiles that ask for them, also of the best:

kind             1 for a decision, a commitment, a preference or an instruction; 0.5 for another statement
entities         the share of the query's names and numbers that it contains
feedback         1 if it was judged helpful, -1 if wrong; between them if outdated or used (``store.feedback``). Above
                 0 it counts by the square of the better of dense and own, relative to the best

rerank_floor     keeps the candidates that the second stage did not see below those that it saw
asked            puts what only repeats the question behind the best others (``repetition``)
rerank           a cross-encoder's score of the query and the best chunk, where one is set up (``rerank``)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from appliance.retrieval.candidates import Candidates, Column, Rows
from appliance.retrieval.resources import ParsedQuery
from appliance.retrieval.time_ranges import closeness, period_match
from appliance.store.lexical import stem, title_similarity
from appliance.timestamps import to_microseconds

BM25_HALF_SATURATION = 2.0
"""The BM25 score per query word that becomes 0.5."""

FILE_EDITED, FILE_TOUCHED = 1.5, 0.5
"""What counts, where the query asks for changes of a file, that the turn of a message changed it, and that it only
touched it: a changed one comes before what has the name letter by letter."""

_WORD = re.compile(r"\w+")

RECENCY_HALF_LIFE_MICROSECONDS = 7 * 86_400e6
"""Microseconds after which a message is half as recent: a week."""

Features = dict[str, Column]
"""A column for each feature, with a value for each candidate."""


def first_stage_features(parsed: ParsedQuery, candidates: Candidates, titles: Mapping[int, str]) -> Features:
    """The features of the first ranking; ``titles`` are the titles of the candidates' sessions."""
    words = set(parsed.words)
    authors = candidates.author_names
    author_named = {author: names_author(words, author) for author in set(authors)}
    dense = _leg_scores(candidates, "dense")
    own = saturate_bm25(_leg_scores(candidates, "own"), len(words))
    is_user = np.array([role == "user" for role in candidates.roles], bool)
    named = np.array([author_named[author] for author in authors], np.float64)
    return {
        "dense": dense,
        "own": own,
        "window": saturate_bm25(_leg_scores(candidates, "window"), len(words)),
        "author": named,
        "quoted": np.isin(candidates.messages, sorted(candidates.quote_matches)).astype(np.float64),
        "file": _about_files(parsed, candidates),
        "user_authored": np.where(is_user, np.maximum(np.maximum(dense, own), 0.0), 0.0),
        "time": closeness(parsed.times, candidates.times),
        "period": _in_period(parsed, candidates, named),
        "title": _title_similarity(words, candidates, titles),
        "recent": recency(candidates.times, to_microseconds(parsed.query.now)),
        "here": (candidates.sessions == (parsed.query.current_session or 0)).astype(np.float64),
    }


def _about_files(parsed: ParsedQuery, candidates: Candidates) -> Column:
    """Which candidates are about a file that the query names without naming it. If the query asks for changes, those
    whose turn changed it come first, whether they name it or not."""
    about = np.isin(candidates.messages, sorted(parsed.file_matches - candidates.quote_matches)).astype(np.float64)
    if not parsed.file_edits:
        return about
    edited = np.isin(candidates.messages, sorted(parsed.file_edits))
    return np.where(edited, FILE_EDITED, FILE_TOUCHED * about)


def _in_period(parsed: ParsedQuery, candidates: Candidates, named: Column) -> Column:
    """Which candidates were sent at a time of the query, by the authors it names, if it asks for nothing else."""
    if not asks_for_time_alone(parsed, candidates):
        return np.zeros(len(candidates))
    in_period = period_match(parsed.times, candidates.times)
    return in_period * named if parsed.words_beside_times else in_period


def asks_for_time_alone(parsed: ParsedQuery, candidates: Candidates) -> bool:
    """Whether a query names a time, and beside it nothing but authors."""
    authors = set(candidates.author_names)
    return bool(parsed.times or parsed.impossible_dates) and all(
        any(names_author({word}, author) for author in authors) for word in parsed.words_beside_times
    )


def names_author(query_words: set[str], author: str | None) -> bool:
    """Whether the query names an author, by any part of the name with three letters or more."""
    parts = _WORD.findall(author.casefold()) if author else []
    return any(len(part) > 2 and part in query_words for part in parts)


def recency(times: Column, now: int) -> Column:
    """Halves with each week of a message's age. A message of unknown time gets the mean of the others."""
    ages = np.maximum(now - times, 0.0)
    column = np.asarray(0.5 ** (ages / RECENCY_HALF_LIFE_MICROSECONDS))
    known = ~np.isnan(column)
    column[~known] = column[known].mean() if known.any() else 0.0
    return column


def _title_similarity(words: Collection[str], candidates: Candidates, titles: Mapping[int, str]) -> Column:
    stems = {stem(word) for word in words}
    share = {session: title_similarity(stems, title) for session, title in titles.items()}
    return np.array([share.get(session, 0.0) for session in candidates.sessions.tolist()])


def _leg_scores(candidates: Candidates, leg: str) -> Column:
    """A leg's scores, 0 if it has none."""
    scores = candidates.scores.get(leg)
    return np.zeros(len(candidates)) if scores is None else np.nan_to_num(scores)


def saturate_bm25(bm25: Column, words: int) -> Column:
    """BM25 per query word as s / (s + 2), because BM25 itself has no upper bound."""
    per_word = bm25 / max(words, 1)
    return per_word / (per_word + BM25_HALF_SATURATION)


def scatter(column: Column, rows: Rows, count: int) -> Column:
    """A column of ``count`` candidates with values for some ``rows``, and 0 for the others."""
    scattered = np.zeros(count)
    scattered[rows] = column
    return scattered
