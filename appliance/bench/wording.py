"""The words of a text as questions are made of them: where they stand, and as they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from appliance.store.scripts import UNSPACED
from appliance.store.stopwords import STOP_WORDS

_WORD = re.compile(f"[{UNSPACED}]|(?:(?![{UNSPACED}])\\w)+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


class Word(NamedTuple):
    """A word with its offsets, and as it is compared."""

    start: int
    end: int
    plain: str


def words(text: str) -> list[Word]:
    """The words of a text where they stand; in scripts without spaces each letter is one."""
    return [
        Word(found.start(), found.end(), found.group().casefold()) for found in _pattern(text).finditer(text)
    ]


def plain_words(text: str) -> list[str]:
    """The same as they are compared, for whoever goes through everything."""
    return [word.casefold() for word in _pattern(text).findall(text)]


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


def telling(plain: Iterable[str]) -> set[str]:
    """Those words that say something about a text."""
    return set(plain) - STOP_WORDS


def folded(text: str) -> str:
    """The text but for case and white space: what makes a copy of it."""
    return " ".join(text.casefold().split())
