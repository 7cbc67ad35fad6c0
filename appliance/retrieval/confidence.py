"""Confidence: how likely it is, 0 to 1, that a hit is what was asked for, and whether anything was found.

The ranking orders the messages of one memory. Its score can't be compared between queries: the best message for
nonsense has a score too. The evidence for the best hits is therefore judged by itself, in figures that do not depend on
the other messages, by a logistic regression of questions that a memory answers and questions that it does not
(``tests/eval/confidence.py`` fits it). The other hits follow the best one as the ranking says, which was fitted as the
log-odds of the candidates of one query (``tests/eval/fit.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from appliance.errors import ModelUnavailable
from appliance.languages import LANGUAGES
from appliance.retrieval.adjacent import AdjacentMessages, load_adjacent
from appliance.retrieval.candidates import LEG_POOL_SIZE, Candidates, Column, Rows
from appliance.retrieval.diversify import DiverseSelection
from appliance.retrieval.features import asks_for_time_alone
from appliance.retrieval.ranking import Ranking
from appliance.retrieval.repetition import asks
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.retrieval.time_ranges import definite, within
from appliance.store import chunks, lexical, literals, messages
from appliance.store.index import sparse
from appliance.store.scripts import fold_digits
from appliance.types.search import UNLIKELY_SCORE

MIN_CONFIDENCE = UNLIKELY_SCORE
"""The confidence of the best hit from which on a search has found something. It is low: hits for nothing do less harm
than an answer that is not shown."""

MIN_CONTEXT_CONFIDENCE = 0.16
"""The confidence of the best hit from which on a context has memories: more than ``KEYWORD_CONFIDENCE``, because one
word in common is worth showing to a person, while an assistant takes what it is given for what is known. Measured by
``tests/eval/floors.py``."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the cosines of a model mean.

    Attributes:
        weights: The weights of the evidence: see ``gather_evidence``.
        unrelated_mean: The mean cosine of a question and an unrelated passage.
        unrelated_spread: How fast the best of many such cosines grows: see ``unrelated_cosine``.
    """

    weights: Mapping[str, float]
    unrelated_mean: float
    unrelated_spread: float


CALIBRATIONS: Mapping[str, Calibration] = {
    "all-minilm-l6-v2-int8": Calibration(
        {
            "dense": 3.3,
            "own_words": 3.0,
            "near_words": 2.35,
            "alone": 15.3,
            "by_others": -3.0,
            "length": -0.1,
            "bias": -3.5,
        },
        unrelated_mean=0.05,
        unrelated_spread=0.085,
    ),
    "minilm-l6-dialogue-int8": Calibration(
        {
            "dense": 3.8,
            "own_words": 2.4,
            "near_words": 2.8,
            "alone": 16.2,
            "by_others": -3.0,
            "length": -0.25,
            "bias": -3.1,
        },
        unrelated_mean=0.13,
        unrelated_spread=0.08,
    ),
}
"""By the name of the model. With another one, whatever has the best cosine counts as found. Fitted freely,
``by_others`` comes to -11, because in chats of two only the one who is named has the answer. In a group people speak of
each other, so it is set to -3."""

BY_WORDS: Mapping[str, float] = {"own_words": 5.1, "near_words": 4.0, "by_others": -3.0, "length": 2.15, "bias": -8.2}
"""The weights where there are no cosines, or none that can be compared."""

UNKNOWN_WORDS = "unknown_words"
"""The feature of a query in words that the model does not know: the share of them that each candidate has, less 1."""

ALL_WORDS = 0.95
"""The most confidence in a message that has all such words: its meaning has no say."""

MISSING_PHRASE_LOGIT = -3.0
"""What it counts that no message has what the query wants letter by letter: what stands in quotation marks, or a name
of code. A phrase of frequent words alone is not looked up: with all its words in one message, it is still found."""

MISSING_TIME_LOGIT = -1.5
"""What it counts that no message is from the times that the query names: people also name the day of an event of which
they spoke on another one. If the query asks for times alone, and no message has its words ("the weekend") either,
nothing is found."""

MAX_KEYWORDS = 3
"""How many words are looked up as keywords, if they ask no question: a message with one of them is worth showing."""

KEYWORD_CONFIDENCE = 0.15
"""The least confidence in a message with one of the keywords of a query."""

CERTAIN = 0.99
"""The confidence in a message that has the quoted words, or is from the time that alone is asked for."""

FILE_CONFIDENCE = 0.7
"""The least confidence in a message about a file that the query names. It says less than the name itself in the
message: a turn may have touched many files."""

JUDGED_HITS = 5
"""How many of the best hits are read for evidence."""

WORD_JUDGED_HITS = 60
"""How many of the best hits without a cosine are judged by their own words, as many as a page shows."""

READ_CHARACTERS = 4_000
"""How much of a hit is read for the words of the query by their stems. The rest is only searched for the words as they
are written; of its neighbours, as much counts as in the second stage."""

MIN_RARITY = 0.05
"""The rarity of the most frequent words: a query of such words alone is found where they are."""

MAX_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class Confidence:
    """How much each candidate is what was asked for, 0 to 1, (candidates,), and whether the best one is a match, for a
    person who looks at it and for an assistant that relies on it."""

    scores: Column
    found: bool
    supports_context: bool


def judge(
    resources: SearchResources,
    parsed: ParsedQuery,
    candidates: Candidates,
    ranking: Ranking,
    selection: DiverseSelection,
) -> Confidence:
    """Judge the hits of a search."""
    rows = _answers(parsed, candidates, ranking, selection)
    if not len(rows):
        return Confidence(np.zeros(len(candidates)), found=False, supports_context=False)
    best = rows[0]
    # Messages that still wait for the index may be all that there is, and have none.
    has_cosines = "dense" in candidates.scores and not np.isnan(candidates.scores["dense"]).all()
    calibration = CALIBRATIONS.get(resources.model) if has_cosines else None
    evidence = gather_evidence(resources, parsed, candidates, ranking, rows)
    weights = calibration.weights if calibration is not None else BY_WORDS
    if UNKNOWN_WORDS in ranking.values:
        shares = 1.0 + ranking.values[UNKNOWN_WORDS]
        evidence = {**evidence, "own_words": float(shares[rows].max()), "near_words": float(shares[best])}
        weights = BY_WORDS
    logit = _weigh(evidence, weights)
    if UNKNOWN_WORDS in ranking.values:
        logit = min(logit, _log_odds(ALL_WORDS))
    if ranking.values["quoted"][best] or ranking.values["period"][best]:
        logit = max(logit, _log_odds(CERTAIN))
    elif ranking.values["file"][best]:
        logit = max(logit, _log_odds(FILE_CONFIDENCE))
    else:
        if evidence["own_words"] and _has_keywords(parsed):
            logit = max(logit, _log_odds(KEYWORD_CONFIDENCE))
        logit += _missing_logit(resources, parsed, candidates, ranking, rows)
    logits = np.clip(logit + ranking.scores - ranking.scores[best], -MAX_LOGIT, max(logit, -MAX_LOGIT))
    if UNKNOWN_WORDS not in ranking.values:
        behind = np.array(selection.rows[1:WORD_JUDGED_HITS], np.intp)
        logits = _bounded_by_words(resources, parsed, candidates, ranking, behind[behind != best], logits)
    scores = 1 / (1 + np.exp(-logits))
    is_uncalibrated = has_cosines and calibration is None
    return Confidence(
        scores,
        found=is_uncalibrated or bool(scores[best] >= MIN_CONFIDENCE),
        supports_context=is_uncalibrated or bool(scores[best] >= MIN_CONTEXT_CONFIDENCE),
    )


def _bounded_by_words(
    resources: SearchResources,
    parsed: ParsedQuery,
    candidates: Candidates,
    ranking: Ranking,
    rows: Rows,
    logits: Column,
) -> Column:
    """The log-odds, where hits behind the best that have no cosine count as no more than their own words allow.

    The differences of their points were fitted where meaning has a part. Without it they are too small: what only
    stands next to a message with the words would be nearly as likely as that message.
    """
    values = ranking.values
    certain = (values["quoted"] > 0) | (values["period"] > 0) | (values["file"] > 0)
    dense = candidates.scores.get("dense")
    judged = rows[~certain[rows] & (np.isnan(dense[rows]) if dense is not None else True)]
    if not len(judged):
        return logits
    keys = candidates.messages[judged].tolist()
    adjacent = (ranking.adjacent and ranking.adjacent.select(keys)) or load_adjacent(resources.db, keys)
    own, near = _coverage(resources, parsed, adjacent, ())
    length = log1p(len(parsed.words))
    bound = [
        _weigh({"own_words": a, "near_words": b, "by_others": 0.0, "length": length}, BY_WORDS)
        for a, b in zip(own, near, strict=True)
    ]
    bounded = logits.copy()
    bounded[judged] = np.minimum(logits[judged], bound)
    return bounded


def _log_odds(confidence: float) -> float:
    return log(confidence / (1 - confidence))


def _missing_logit(
    resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, ranking: Ranking, rows: Rows
) -> float:
    """What it counts that no message has what the query wants letter by letter, or is from a time that it names."""
    logit = 0.0
    text = parsed.query.text
    times = _named_times(parsed)
    if "quoted" in parsed.query.legs and not candidates.quote_matches:
        wants_verbatim = lexical.phrases(text) or any(one.is_certain for one in literals.find_literals(text, times))
        logit += MISSING_PHRASE_LOGIT if wants_verbatim else 0.0
    is_time_alone = asks_for_time_alone(parsed, candidates)
    # The messages of a month that may be of any year are not all candidates.
    certain = definite(parsed.times)
    wanted = within(certain, candidates.times)
    if is_time_alone and parsed.words_beside_times:
        wanted = wanted * ranking.values["author"]
    if (certain or (parsed.impossible_dates and not parsed.times)) and not wanted.any():
        is_mentioned = not is_time_alone or _mention_time(resources, candidates.messages[rows].tolist(), times)
        logit += MISSING_TIME_LOGIT if is_mentioned else -2 * MAX_LOGIT
    return logit


def _named_times(parsed: ParsedQuery) -> Sequence[str]:
    """The words that name times, those of impossible dates too."""
    return [*(time_range.words for time_range in parsed.times), *parsed.impossible_dates]


def _mention_time(resources: SearchResources, keys: Sequence[int], times: Sequence[str]) -> bool:
    """Whether a message has the words that name a time."""
    texts = messages.texts(resources.db, keys).values()
    return any(lexical.has_as_words(text, words) for text in texts for words in times)


def _has_keywords(parsed: ParsedQuery) -> bool:
    """Whether a query is a few words to look up, and not a question."""
    return 0 < len(content_words(parsed)) <= MAX_KEYWORDS and not asks(parsed.query.text)


def _answers(parsed: ParsedQuery, candidates: Candidates, ranking: Ranking, selection: DiverseSelection) -> Rows:
    """The best hits that are no echo, and those behind them that repeat the question: somebody may look for it."""
    rows: Rows = np.array(selection.rows[: 2 * JUDGED_HITS], np.intp)
    rows = rows[~_echoes(parsed, candidates, ranking)[rows]]
    repeats = ranking.values["asked"][rows] < 0 if "asked" in ranking.values else np.zeros(len(rows), bool)
    return np.concatenate([rows[~repeats][:JUDGED_HITS], rows[repeats]])


def _echoes(parsed: ParsedQuery, candidates: Candidates, ranking: Ranking) -> NDArray[np.bool_]:
    """Which candidates only repeat the question, in the session that asks it."""
    if "asked" not in ranking.values:
        return np.zeros(len(candidates), bool)
    current: NDArray[np.bool_] = candidates.sessions == (parsed.query.current_session or 0)
    return current & (ranking.values["asked"] < 0)


def gather_evidence(
    resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, ranking: Ranking, rows: Rows
) -> Mapping[str, float]:
    """What speaks for the hits ``rows``, best first:

    dense       the best cosine of any candidate but an echo of the question, above ``unrelated_cosine``
    own_words   the share of the query's words, weighted by rarity, that a hit has; that of the best of them
    near_words  the same of the first hit together with its neighbours
    by_others   the share of the hits that others wrote than the person whom the query names; 0 if it names none
    alone       dense, as far as near_words is missing: an answer in other words is judged by its meaning
    length      log(1 + words)
    """
    keys = candidates.messages[rows].tolist()
    adjacent = (ranking.adjacent and ranking.adjacent.select(keys)) or load_adjacent(resources.db, keys)
    own, near = _coverage(resources, parsed, adjacent, _title_terms(resources, candidates, rows))
    named = ranking.values["author"]
    dense, calibration = 0.0, CALIBRATIONS.get(resources.model)
    if "dense" in candidates.scores and calibration is not None:
        cosines = candidates.scores["dense"][~_echoes(parsed, candidates, ranking)]
        dense = float(np.nan_to_num(cosines).max(initial=0.0)) - unrelated_cosine(
            calibration, _searched(resources, cosines)
        )
    return {
        "dense": dense,
        "own_words": float(own.max()),
        "near_words": float(near[0]),
        "alone": dense * (1.0 - float(near[0])),
        "by_others": float(1.0 - named[rows].mean()) if named.any() else 0.0,
        "length": log1p(len(parsed.words)),
    }


def unrelated_cosine(calibration: Calibration, count: int) -> float:
    """The best cosine that a query has with so many chunks that have nothing to do with it: the expected maximum of as
    many normal values (Cramér 1946, section 28.6), fitted to LoCoMo's and BEAM's questions asked of other conversations
    (with ``minilm-l6-dialogue-int8`` 0.22 for 2 chunks, 0.34 for 32, 0.43 for 1,000)."""
    return calibration.unrelated_mean + calibration.unrelated_spread * sqrt(2 * log(max(count, 2)))


def _searched(resources: SearchResources, cosines: Column) -> int:
    """How many chunks the dense leg compared: all of a small scope become candidates, and of a large one a part."""
    scored = int((~np.isnan(cosines)).sum())
    return scored if scored < LEG_POOL_SIZE else max(scored, chunks.count_up_to_last(resources.db))


def _weigh(evidence: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The log-odds of the evidence."""
    return sum(weight * evidence.get(name, 1.0) for name, weight in weights.items())


def _coverage(
    resources: SearchResources, parsed: ParsedQuery, adjacent: AdjacentMessages, title: Collection[int]
) -> tuple[Column, Column]:
    """The share of the query's words, weighted by rarity, that each message has, and that it, its neighbours or the
    title of the first one's session have. The words of an author's name count as the message's."""
    rarity = _rarity(resources, content_words(parsed))
    total = sum(rarity.values())
    texts = {key: one.excerpt for key, one in adjacent.excerpts.items()}
    for key, text in messages.texts(resources.db, adjacent.keys).items():
        texts[key] = text[:READ_CHARACTERS]
        if len(text) > READ_CHARACTERS:
            folded = text.casefold()
            texts[key] += " " + " ".join(word for word in parsed.words if word in folded)
    said = {key: rarity.keys() & _terms(adjacent.excerpts[key].author, text) for key, text in texts.items()}

    def share(keys: Sequence[int | None], others: Collection[int] = ()) -> float:
        found = set().union(rarity.keys() & others, *(said.get(key, ()) for key in keys if key is not None))
        return sum(rarity[term] for term in found) / total if total else 0.0

    places = list(zip(adjacent.keys, adjacent.before, adjacent.after, strict=True))
    own = np.array([share(place[:1]) for place in places])
    return own, np.array([share(place, () if row else title) for row, place in enumerate(places)])


def _title_terms(resources: SearchResources, candidates: Candidates, rows: Rows) -> Collection[int]:
    """The terms of the title of the first hit's session, if a person or the source gave it one."""
    session = int(candidates.sessions[rows[0]])
    return _terms(None, lexical.session_titles(resources.db, [session]).get(session) or "")


def _terms(author: str | None, text: str) -> Collection[int]:
    """The terms of a message in the index, with those of its author's name."""
    return sparse.encode_document(fold_digits(f"{author or ''} {text}").replace("\0", " "), "own").indices


def content_words(parsed: ParsedQuery) -> Sequence[str]:
    """The words without the function words of their language and without those that name a time, if there are
    others."""
    language = max(LANGUAGES, key=lambda one: sum(word in one.function_words for word in parsed.words))
    timed = {word for words in _named_times(parsed) for word in lexical.query_words(words)}
    for left_out in (language.function_words | timed, language.function_words):
        if words := [word for word in parsed.words if word not in left_out]:
            return words
    return parsed.words


def _rarity(resources: SearchResources, words: Sequence[str]) -> Mapping[int, float]:
    """How rare each word is, as its rarest piece, 0 to 1, by its terms in the index."""
    try:
        lexicon = resources.lexicon()
        of_pieces = [lexicon.rarity(pieces) if pieces else np.ones(1) for pieces in lexicon.pieces(list(words))]
    except ModelUnavailable:  # a search by words works without any model
        of_pieces = [np.ones(1) for _ in words]
    found: dict[int, float] = {}
    for word, rarities in zip(words, of_pieces, strict=True):
        rarity = max(MIN_RARITY, float(rarities.max(initial=0.0)))
        for term in sparse.encode_query(fold_digits(word)).indices:
            found[term] = max(found.get(term, 0.0), rarity)
    return found
