"""Names and numbers in a sentence. The rules are simple, and prefer no name to a wrong one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from appliance.languages import ENGLISH, GERMAN
from appliance.languages.language import calendar_names

_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?: (?:[^\W\d_a-zß-öø-ÿ][\w'’-]*|\d{1,4}(?:\.\d+)*))*")
_NUMBER = re.compile(
    r"(?<![\w.,/:-])(?:[$€£¥] ?\d[\d.,]*\d|[$€£¥] ?\d|\d[\d.,]*\d? ?(?:%|€|\$|£|(?:km|kg|GB|MB|TB|ms|USD|EUR)(?!\w))"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d ?(?:am|pm|Uhr|h)\b|v?\d+\.\d+(?:\.\d+)*|(?!(?:19|20)\d\d\b)\d{3,})(?![\w-])"
)
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}|\d")
_GENITIVE = re.compile(r"['’]s$")
_COMMON = frozenset(
    "I I'm I'll I've I'd OK TODO FIXME FAQ LOL OMG PS BTW FYI ASAP NOT AND THE A No Yes"
    " Mom Dad God Sir Note Step Hey Hi AM PM KB MB GB TB EUR USD".split()
) | frozenset(name.capitalize() for name in calendar_names(ENGLISH.temporal))

_FUNCTION_WORDS = (ENGLISH.function_words | ENGLISH.filler_words) - {"will"}
"""No names, also with a capital: "(if it rains) We stay". Will is a name more often than a verb with a capital."""

_GERMAN_FUNCTION_WORDS = GERMAN.function_words | GERMAN.filler_words


def names(sentence: str, *, nouns_capitalized: bool = False) -> Iterator[str]:
    """Yield names and numbers in their order.

    A word with a capital is a name where it does not begin the sentence. Where every noun has a capital, a name is a
    run of two words, or a word with a capital or a digit inside. A number has a unit, a currency, a point or three
    digits."""
    for match in _NAME.finditer(sentence):
        name = _GENITIVE.sub("", match.group().strip("'’-"))
        if _is_name(name, nouns_capitalized=nouns_capitalized) and not _begins_sentence(sentence, match.start()):
            yield name
    if any(map(str.isdigit, sentence)):
        yield from (match.group().rstrip(".,") for match in _NUMBER.finditer(sentence))


def _begins_sentence(text: str, start: int) -> bool:
    """Whether a place is the first word of its sentence, of a quotation, or after a colon or an emoji."""
    before = text[:start].rstrip(" \"'“„«(*_[¡¿\n")
    return not before or before[-1] in ".!?:…-–—" or unicodedata.category(before[-1]) == "So"


def _is_name(name: str, *, nouns_capitalized: bool) -> bool:
    words = name.split()
    if len(name) < 2 or all(word in _COMMON for word in words):
        return False
    known = _FUNCTION_WORDS | _GERMAN_FUNCTION_WORDS if nouns_capitalized else _FUNCTION_WORDS
    if all(word == word.capitalize() and word.lower() in known for word in words):
        return False
    return not nouns_capitalized or len(words) > 1 or _INNER.search(name) is not None
