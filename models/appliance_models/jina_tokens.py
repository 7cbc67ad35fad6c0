"""Estimates how many tokens the Jina API counts in a text, without asking it.

The API counts with the tokenizer of XLM-RoBERTa, whose 250,000 pieces are not shipped. The estimate adds up runs of
like characters, with few characters a piece, so that it is more often too high than too low:

    lower-case Latin letters      4 a token    English has about 5, names and rare words fewer
    capitals, digits              2 a token
    other alphabets               3 a token
    Thai, Lao, Khmer, Burmese     2 a token
    Chinese, Japanese, Korean     1 a token
    any other sign                1 a token

The API can count more in a pathological text, random letters for instance, but no more than ``MAX_UNDERCOUNT`` times
the estimate: a piece has at least one character, and a word at most one piece without any. Who needs exactness compares
with what the API has counted (``TokenAccount``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

SPECIAL_TOKENS = 2
"""The API adds one at each end of a text."""

MAX_UNDERCOUNT = 5
"""How many times the estimate a text may have: four letters as a piece each, and the piece of the space before them."""

MAX_CACHED_WORDS = 200_000
MAX_CACHED_CHARACTERS = 48
"""A longer word is a link or a key, which hardly occurs twice, or a line in a script without spaces."""

FIRST_WITHOUT_SPACES = "\u0e00"
"""From here on, scripts write no spaces between words (or are signs)."""

_LATIN = "a-zß-öø-ÿ\u0100-\u024f\u1e00-\u1eff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_RUN = re.compile(
    r"(?P<one>[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<two>[A-ZÀ-ÖØ-Þ]+(?![" + _LATIN + r"])|[0-9]+|[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]+)"
    r"|(?P<four>[A-ZÀ-ÖØ-Þ]?[" + _LATIN + r"]+)"
    r"|(?P<three>(?:[^\W\d_A-Za-z]|[" + _MARKS + r"])+)"
)
_CHARACTERS = {"one": 1, "two": 2, "three": 3, "four": 4}
"""Characters a token in the groups of ``_RUN``."""

_known_words: dict[str, int] = {}


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """About how many tokens the API counts in each text, special tokens included."""
    return [SPECIAL_TOKENS + sum(map(_word_tokens, text.split())) for text in texts]


def _word_tokens(word: str) -> int:
    known = _known_words.get(word)
    if known is None:
        known = _count(word if word.isascii() else unicodedata.normalize("NFKC", word))
        if len(word) <= MAX_CACHED_CHARACTERS:
            if len(_known_words) >= MAX_CACHED_WORDS:
                _known_words.clear()
            _known_words[word] = known
    return known


def _count(word: str) -> int:
    tokens = covered = 0
    for run in _RUN.finditer(word):
        length = run.end() - run.start()
        tokens += -(-length // _CHARACTERS[run.lastgroup or "one"])
        covered += length
    # The space before a word is part of its first piece where that begins with ASCII or a letter of an alphabet; before
    # other signs it may be a piece of its own.
    first = word[0]
    own_space = first >= FIRST_WITHOUT_SPACES or not (first.isascii() or first.isalpha())
    return tokens + len(word) - covered + own_space


def halves(text: str) -> tuple[str, str]:
    """A text of at least two characters in two parts about equally long, cut before a word if there is one near the
    middle."""
    middle = len(text) // 2
    space = text.rfind(" ", middle // 2, middle + 1)
    cut = space + 1 if 0 < space + 1 < len(text) else middle
    return text[:cut], text[cut:]


def windows(text: str, limit: int) -> list[str]:
    """Consecutive parts of a text, all of it, of at most ``limit`` tokens each by the estimate, as far as a part of one
    character allows that."""
    pending, done = [text], []
    while pending:
        part = pending.pop()
        if len(part) > 1 and estimate_tokens([part])[0] > limit:
            first, second = halves(part)
            pending += [second, first]
        else:
            done.append(part)
    return done
