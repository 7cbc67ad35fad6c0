"""Cues in the words of queries and messages: times, statements, names and numbers. A language without cue words yields
no cues."""

from __future__ import annotations

import re
from itertools import pairwise

from appliance.languages import LANGUAGES
from appliance.languages.language import calendar_names
from appliance.store.lexical import STEM_CHARACTERS
from appliance.store.scripts import is_question, split_unspaced


def _of_any_language(*cues: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(filter(None, cues))})\b", re.IGNORECASE)


_ASKS_WHEN = _of_any_language(*(one.asks_when for one in LANGUAGES))
_TIME_WORDS = _of_any_language(
    *(f"{one.dated}|{'|'.join(calendar_names(one.temporal))}" for one in LANGUAGES if one.dated), r"\d+"
)
_SMALL_TIME_WORDS = re.compile(_TIME_WORDS.pattern)
"""The same for a text in small letters: to try each word in both cases takes twice as long."""
_MOST_TIME_WORDS = 3
_ASKS_HOW_MUCH = _of_any_language(*(one.asks_how_much for one in LANGUAGES))
_AMOUNT = re.compile(rf"\b(?:\d|(?:{'|'.join(filter(None, (one.amounts for one in LANGUAGES)))})\b)", re.IGNORECASE)
_ASKS_ASSISTANT = _of_any_language(*(one.asks_assistant for one in LANGUAGES))
_ASKS_FOR_CHANGE = _of_any_language(*(one.asks_for_change for one in LANGUAGES))
_LASTS = _of_any_language(*(one.lasting for one in LANGUAGES))
_STATEMENT = 0.5
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_LEAST_WORDS = 4
"""A sentence with fewer words is more often a greeting, an agreement or thanks than a statement."""
_WORD = re.compile(r"\w+")
_ENTITY = re.compile(r"(?<![.!?]\s)(?<!^)\b(?:[A-ZÀ-ÖØ-Þ]\w+|\w*\d\w*)\b|^\d\w*\b")


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.search(question) is not None


def asks_for_change(question: str) -> bool:
    """Whether a question asks for what was changed in something."""
    return _ASKS_FOR_CHANGE.search(question) is not None


def temporal_density(text: str) -> float:
    """How much a text mentions times, 0 to 1; three such words reach 1."""
    found = 0
    # Beyond ASCII, small letters are no one-to-one matter ("İ").
    for _ in _SMALL_TIME_WORDS.finditer(text.lower()) if text.isascii() else _TIME_WORDS.finditer(text):
        found += 1
        if found == _MOST_TIME_WORDS:
            break
    return found / _MOST_TIME_WORDS


def asks_how_much(question: str) -> bool:
    """Whether a question asks for a number."""
    return _ASKS_HOW_MUCH.search(question) is not None


def has_amount(text: str) -> bool:
    """Whether a text has a number, in digits or words."""
    return _AMOUNT.search(text) is not None


def asks_what_assistant_said(question: str) -> bool:
    """Whether a question asks for what the assistant itself said before."""
    return _ASKS_ASSISTANT.search(question) is not None


def asks_at_once(text: str) -> bool:
    """Whether the first line of a message is a question."""
    return is_question(text.lstrip().partition("\n")[0])


def words(text: str) -> list[str]:
    """The words of a text in order, without case."""
    return _WORD.findall(text.casefold())


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of consecutive words of a text, by stem."""
    beginnings = [word[:STEM_CHARACTERS] for word in _WORD.findall(split_unspaced(text).casefold())]
    return frozenset(pairwise(beginnings))


def count_pairs(pairs: frozenset[tuple[str, str]], text: str) -> int:
    """How many of these pairs of stems a text has."""
    if text.isascii():  # then its words stand in it as they are: most texts need not be split
        folded = text.lower()
        if not any(first in folded and second in folded for first, second in pairs):
            return 0
    return len(pairs & word_pairs(text))


def usefulness(text: str) -> float:
    """How useful a message is later: 1 for a decision, a commitment, a preference or an instruction, 0.5 for another
    statement, 0 for a question, a greeting, an agreement or thanks."""
    if _LASTS.search(text):
        return 1.0
    sentences = (match.group().rstrip() for match in _SENTENCE.finditer(text))
    states = any(not is_question(one) and len(one.split()) >= _LEAST_WORDS for one in sentences)
    return _STATEMENT if states else 0.0


def entities(text: str) -> frozenset[str]:
    """The names and numbers in a text: capitalised words within a sentence, and words with a digit."""
    return frozenset(match.group().casefold() for match in _ENTITY.finditer(text))


def overlap(wanted: frozenset[str], text: str) -> float:
    """The share of the wanted words that a text contains as whole words; 0 if none is wanted."""
    return len(wanted & {word.casefold() for word in _WORD.findall(text)}) / len(wanted) if wanted else 0.0
