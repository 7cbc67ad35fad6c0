"""What a sentence is by its words: a decision, a promise, something left open, a problem, its end, a conclusion.

The words are in ``languages``. What is asked, supposed, denied or said in quotation marks is no decision, no promise
and no solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal

from appliance.memory.summarise.languages import LANGUAGES, Language

Cue = Literal["decided", "promised", "open", "wonders", "problem", "solved", "concluded"]
CUES: tuple[Cue, ...] = ("decided", "promised", "open", "wonders", "problem", "solved", "concluded")

LONGEST = 400
"""Characters of a sentence that are looked at."""

CLAUSE = 60
"""Characters before a cue in which a word can take it back or make it a thought."""

GREETS = 7
"""Words up to which a sentence that begins with a greeting is one."""

KNOWN_BY = 400
"""Words of a text by which its language is known."""

ALSO = 0.4
"""A language is looked for beside another if it has so large a share of the other's small words."""

_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{1,300}[\"”“»]|`[^`\n]{1,300}`")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "´": "'"})
_BREAK = re.compile(
    r"[.;:!?]\s|, (?:but|so|and|then|aber|also|und|pero|así que|y) |\b(?:but|aber|sondern|pero|sino) ",
    re.IGNORECASE,
)
_COMMA = re.compile(r", ")
_LEADS = " \t*_#->\"'“„«(¡¿[]:"
_WORD = re.compile(r"\w+(?:'\w+)?")

_OF_THEMSELVES = frozenset(("open", "wonders", "problem", "concluded"))
"""Cues that no word before them takes back."""
_IN_QUESTIONS = frozenset(("problem", "open"))


_OPEN_ENDED = frozenset(("promised", "idle", "fills"))
"""Entries of the tables that go on behind what they match."""


@cache
def _pattern(name: str, *spoken: Language) -> re.Pattern[str]:
    """The entries of a table, of one language or several. Made when first needed: all take a tenth of a second."""
    entries = "|".join(f"(?:{entry})" for one in spoken for entry in getattr(one, name))
    after = "" if name in _OPEN_ENDED else r"(?!\w)"
    return re.compile(rf"(?<!\w)(?:{entries}){after}", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, with "I'm" as one."""
    return _WORD.findall(text.translate(_APOSTROPHES).lower())


def languages(words: Iterable[str]) -> tuple[Language, ...]:
    """The languages that words are of, by the small ones among them; all where none shows."""
    words = list(words)[:KNOWN_BY]
    counts = [sum(word in one.small for word in words) for one in LANGUAGES]
    most = max(counts)
    if not most:
        return LANGUAGES
    return tuple(one for one, count in zip(LANGUAGES, counts, strict=True) if count >= ALSO * most)


@lru_cache(maxsize=16_384)
def cues(
    sentence: str, spoken: tuple[Language, ...] = LANGUAGES, kinds: tuple[Cue, ...] = CUES
) -> frozenset[Cue]:
    """Which of ``kinds`` a sentence is, in the languages that it may be of."""
    plain = _plain(sentence)
    asked = plain.rstrip(" \"'”»)*_").endswith(("?", "？"))
    found = {
        cue
        for cue in kinds
        if (not asked or cue in _IN_QUESTIONS) and any(_holds(cue, plain, one) for one in spoken)
    }
    if "open" in found:
        found -= {"decided", "promised", "solved"}
    if "solved" in found:
        found.discard("problem")
    return frozenset(found)


def _holds(cue: Cue, words: str, language: Language) -> bool:
    for match in _pattern(cue, language).finditer(words):
        if cue in _OF_THEMSELVES:
            return True
        if cue == "promised" and _pattern("idle", language).match(words, match.end()):
            continue
        clause = _after_last(_BREAK, words[max(0, match.start() - CLAUSE) : match.start()])
        if _pattern("supposed", language).search(clause):
            continue
        if not _pattern("denied", language).search(_after_last(_COMMA, clause) + match.group()):
            return True
    return False


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    breaks = [match.end() for match in pattern.finditer(text)]
    return text[breaks[-1] :] if breaks else text


def answers_nothing(text: str) -> bool:
    """Whether a reply begins by saying that it knows no answer."""
    return _pattern("unknown", *LANGUAGES).search(_plain(text[:CLAUSE])) is not None


def offers(sentence: str) -> bool:
    """Whether a question only offers more help, as assistants end their answers."""
    return _pattern("offers", *LANGUAGES).search(_plain(sentence)) is not None


@lru_cache(maxsize=16_384)
def says_nothing(sentence: str) -> bool:
    """Whether a sentence greets, thanks, agrees or fills: it would tell a reader nothing."""
    words = _plain(sentence).lstrip(_LEADS)
    if _pattern("fills", *LANGUAGES).match(words):
        return True
    return _pattern("greets", *LANGUAGES).match(words) is not None and len(words.split()) <= GREETS


def _plain(sentence: str) -> str:
    return _QUOTED.sub(" … ", sentence[:LONGEST].translate(_APOSTROPHES))
