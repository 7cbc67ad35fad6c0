"""Queries in words that the embedding model does not know: other scripts, other languages, made-up words.

The model was trained on English. It cuts other words into pieces that say little, so that its cosines for them are
those of chance. Such a query is judged by its words: a message without any of them comes behind those that have some,
and is not likely what was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from appliance.errors import ModelUnavailable
from appliance.languages.language import word_set
from appliance.retrieval.adjacent import EXCERPT_CHARACTERS, load_adjacent
from appliance.retrieval.candidates import Candidates, Column
from appliance.retrieval.confidence import CALIBRATIONS, UNKNOWN_WORDS, content_words
from appliance.retrieval.legs import LEXICAL_LEGS
from appliance.retrieval.ranking import Ranking
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.retrieval.time_ranges import within
from appliance.store import lexical, messages
from appliance.store.scripts import fold_letter_pairs

MIN_UNKNOWN_PIECES = 3
"""The model knows most English words as one or two pieces; "Fahrrad" has three, "Mietvertrag" four."""

MIN_UNKNOWN_SHARE = 0.5
"""A query is judged by its words if the model does not know more than this share of them."""

EXAMINED_ROWS = 60
"""How many of the best candidates are read for the words. Those behind them count as without any."""

NEIGHBOUR_SHARE = 0.5
"""What a word in the message before or after counts, against one in the message itself."""

WITHOUT_WORDS_LOGIT = -8.0
"""What it counts that a message has none of the words, in log-odds: beside a best hit of 0.95, such a hit has 0.01."""

MIN_PART_CHARACTERS = 4
"""A word of so many letters also counts as a part of another one ("Fahrrad" in "Fahrradschlüssel")."""

_QUESTION_WORDS = word_set(
    "كم ما ماذا متى اين أين من هل كيف لماذا هو هي في على عن",
    "где сколько что кто когда как какой какая какие почему у в на и мой моя мне меня",
    "où quand combien qui quoi comment pourquoi quel quelle est le la les un une de du des mon ma mes",
    "onde quando quanto quem como qual o os as um uma meu minha é está",
    "dove quando quanto chi che come perché qual il lo gli un una mio mia è",
    "waar wanneer hoeveel wie wat hoe waarom het een mijn is",
    "nerede ne zaman kaç kim nasıl neden gdzie kiedy ile kto co jak",
)
"""Words that ask, and others that name nothing, in languages that have no module of their own."""

_HIRAGANA = re.compile("[\u3041-\u309f]+")
_WORD = re.compile(r"\w+")


def put_by_words(resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, ranking: Ranking) -> Ranking:
    """Add the feature ``unknown_words`` to the ranking if the model does not know the query's words: for each candidate
    the share of the words that it has, less 1. Quoted words and a time that the query names count as all of them."""
    has_cosines = "dense" in candidates.scores and resources.model in CALIBRATIONS
    if not has_cosines or not LEXICAL_LEGS & parsed.query.legs or not len(candidates):
        return ranking
    words = _telling(content_words(parsed))
    if not words or not _are_unknown(resources, words):
        return ranking
    rows = ranking.order[:EXAMINED_ROWS]
    column = np.full(len(candidates), -1.0)
    column[rows] = _shares(resources, candidates, rows.tolist(), words) - 1.0
    certain = (ranking.values["quoted"] > 0) | (within(parsed.times, candidates.times) > 0)
    column[certain] = 0.0
    return ranking.with_feature(UNKNOWN_WORDS, column, -WITHOUT_WORDS_LOGIT, candidates.messages)


def _telling(words: Sequence[str]) -> list[str]:
    """The words that name something, if there are any: pairs of Hiragana are mostly endings and particles."""
    naming = [word for word in words if word not in _QUESTION_WORDS and not _HIRAGANA.fullmatch(word)]
    return [_fold(word) for word in naming or words]


def _are_unknown(resources: SearchResources, words: Sequence[str]) -> bool:
    try:
        pieces = resources.lexicon().pieces(list(words))
    except ModelUnavailable:
        return False
    unknown = [
        len(numbers) >= MIN_UNKNOWN_PIECES or 0 in numbers or not _is_latin(word)
        for word, numbers in zip(words, pieces, strict=True)
    ]
    return sum(unknown) > MIN_UNKNOWN_SHARE * len(words)


def _is_latin(word: str) -> bool:
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in word if letter.isalpha())


def _shares(resources: SearchResources, candidates: Candidates, rows: Sequence[int], words: Sequence[str]) -> Column:
    """The share of the words that each of these candidates has, with its author's name, its neighbours and the title
    of its session."""
    keys = candidates.messages[rows].tolist()
    adjacent = load_adjacent(resources.db, keys)
    found = {key: _found(words, _fold(f"{one.author or ''} {one.excerpt}")) for key, one in adjacent.excerpts.items()}
    for key, text in messages.texts(resources.db, keys).items():
        if len(text) > EXCERPT_CHARACTERS and key in found:
            found[key] |= _found_whole(words, _fold(text))
    sessions = candidates.sessions[rows].tolist()
    titles = {key: _found(words, _fold(title)) for key, title in lexical.session_titles(resources.db, sessions).items()}
    shares = []
    for key, before, after, session in zip(adjacent.keys, adjacent.before, adjacent.after, sessions, strict=True):
        own = found.get(key, set())
        beside = (found.get(side, set()) for side in (before, after) if side is not None)
        near = set().union(own, titles.get(session, set()), *beside)
        shares.append((len(own) + NEIGHBOUR_SHARE * (len(near) - len(own))) / len(words))
    return np.array(shares)


def _found(words: Sequence[str], text: str) -> set[str]:
    whole = set(_WORD.findall(text))
    stems = {lexical.stem(word) for word in whole}
    return {
        word
        for word in words
        if word in whole
        or (not word.isascii() and not _is_latin(word) and word in text)
        or (len(word) >= MIN_PART_CHARACTERS and (word in text or (word.isalpha() and lexical.stem(word) in stems)))
    }


def _found_whole(words: Sequence[str], text: str) -> set[str]:
    """The words that a long text has as they are: of a page, some word begins like nearly every other one."""
    whole = set(_WORD.findall(text))
    return {word for word in words if word in whole or (not _is_latin(word) and word in text)}


def _fold(text: str) -> str:
    """Without case and accents, which people leave out, and with two letters for those that stand for two."""
    return fold_letter_pairs(lexical.fold_marks(text))
