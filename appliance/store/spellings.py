"""Spellings of the same words: "Königstraße" is also written "Königstrasse", "Koenigstrasse" and "Konigstrasse".

The full text leaves out accents, and a search finds other spellings by meaning. What is to be forgotten is found by its
letters, whichever of these spellings either side has. Plain letters never stand for two: "dos" is not found in "does".
What the full text does not have, such as an author, is asked for the same words in the same way: "Anna" is not in
"Annabelle", and "Box 15" not in "Box 150".
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from appliance.store.lexical import fold, phrase_expression
from appliance.store.scripts import searchable

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""What makes words of texts, as in the full text."""

_MARKS = "[\u0300-\u036f]*"
_UMLAUTS = {"a\u0308": "ae", "o\u0308": "oe", "u\u0308": "ue"}
_DIGRAPH = re.compile("ae|oe|ue")
_SHARP = "ß"


def matcher(phrase: str) -> Callable[[str], bool]:
    """Return whether a text has a phrase in any spelling, without case."""
    found = re.compile(_pattern(_decompose(phrase))).search
    return lambda text: found(_decompose(text)) is not None


@contextmanager
def word_matcher(phrase: str) -> Iterator[Callable[[str], bool]]:
    """Return whether a text has a phrase in any spelling, without case, as words: what the full text finds in messages,
    also in scripts without spaces. What has no words, such as an emoji, is found by its letters alone."""
    has_letters = matcher(phrase)
    expression = " OR ".join(filter(None, map(phrase_expression, spellings(phrase))))
    if not expression:
        yield has_letters
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, tokenize='{TOKENIZER}')")

        def has_words(text: str) -> bool:
            if not has_letters(text):
                return False
            db.execute("INSERT OR REPLACE INTO words (rowid, text) VALUES (1, ?)", (_storable(text),))
            return db.execute("SELECT 1 FROM words WHERE words MATCH ?", (expression,)).fetchone() is not None

        yield has_words


def _storable(text: str) -> str:
    """A text as the full text has it, without halves of characters, which SQLite does not take."""
    return searchable(text.encode("utf-8", "replace").decode())


def spellings(phrase: str) -> list[str]:
    """Return a phrase as the full text may have it, itself first. The full text leaves out accents and keeps "ß"."""
    sharp = [phrase, phrase.replace(_SHARP, "ss"), re.sub("ss", _SHARP, phrase, flags=re.IGNORECASE)]
    found: dict[str, None] = {}
    for spelled in sharp:
        plain = unicodedata.normalize("NFD", spelled.casefold() if _SHARP not in spelled else spelled.lower())
        digraphs = plain
        for umlaut, digraph in _UMLAUTS.items():
            digraphs = digraphs.replace(umlaut, digraph)
        umlauts = _DIGRAPH.sub(lambda match: match[0][0], plain)
        found |= dict.fromkeys((spelled, unicodedata.normalize("NFC", digraphs), unicodedata.normalize("NFC", umlauts)))
    return list(found)


def _decompose(text: str) -> str:
    return unicodedata.normalize("NFD", fold(text))  # which makes "ss" of "ß"


def _pattern(decomposed: str) -> str:
    parts: list[str] = []
    place = 0
    while place < len(decomposed):
        pair = decomposed[place : place + 2]
        letter = re.escape(decomposed[place])
        if pair in _UMLAUTS:
            parts.append(f"(?:{letter}{_MARKS}|{_UMLAUTS[pair]})")
            place += 2
        elif _DIGRAPH.fullmatch(pair):
            parts.append(f"(?:{letter}{_MARKS}e{_MARKS}|{letter}\u0308)")
            place += 2
        else:
            if not unicodedata.combining(decomposed[place]):
                parts.append(f"{letter}{_MARKS}")
            place += 1
    return "".join(parts)
