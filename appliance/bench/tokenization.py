"""The words of a text for known-item questions: their offsets, and their normalized forms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from appliance.languages import STOP_WORDS
from appliance.store.scripts import UNSPACED

_WORD = re.compile(f"[{UNSPACED}]|(?:(?![{UNSPACED}])\\w)+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


class TextToken(NamedTuple):
    """A word with its offsets and its normalized form."""

    start: int
    end: int
    normalized: str


def tokenize(text: str) -> list[TextToken]:
    """The words of a text with their offsets; in scripts without spaces each character is a word."""
    return [
        TextToken(found.start(), found.end(), found.group().casefold()) for found in _word_pattern(text).finditer(text)
    ]


def normalized_words(text: str) -> list[str]:
    """The normalized words of a text, which is faster than ``tokenize``."""
    return [word.casefold() for word in _word_pattern(text).findall(text)]


def _word_pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


def content_words(plain: Iterable[str]) -> set[str]:
    """The words that are not stop words."""
    return set(plain) - STOP_WORDS


def normalize_text(text: str) -> str:
    """Normalize case and white space, in which copies of a text may differ."""
    return " ".join(text.casefold().split())
