"""What a sentence is by its words: a decision, a promise, something left open, a problem, its end, a conclusion.

The words are in ``languages``. What is asked, supposed, denied or said in quotation marks is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from appliance.memory.summarise.languages import LANGUAGES, Language

Cue = Literal["decided", "promised", "open", "problem", "solved", "concluded"]
CUES: tuple[Cue, ...] = ("decided", "promised", "open", "problem", "solved", "concluded")

LONGEST = 400
"""Characters of a sentence that are looked at."""

CLAUSE = 60
"""Characters before a cue in which a word can take it back or make it a thought."""

GREETS = 7
"""Words up to which a sentence that begins with a greeting is one."""

_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{1,300}[\"”“»]|`[^`\n]{1,300}`")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "´": "'"})
_BREAK = re.compile(
    r"[.;:!?]\s|, (?:but|so|and|then|aber|also|und|pero|así que|y) |\b(?:but|aber|sondern|pero|sino) ",
    re.IGNORECASE,
)
_LEADS = " \t*_#->\"'“„«(¡¿[]:🎉👍"
_TURNED = frozenset(("open", "problem", "concluded"))
"""Cues that say something of themselves: what stands before does not take them back."""


def _any(entries: tuple[str, ...]) -> str:
    return "|".join(f"(?:{entry})" for entry in entries)


def _of_all(part: Callable[[Language], tuple[str, ...]], after: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{_any(tuple(e for one in LANGUAGES for e in part(one)))}){after}", re.IGNORECASE
    )


def _in_each(part: Callable[[Language], tuple[str, ...]], after: str = r"(?!\w)") -> list[re.Pattern[str]]:
    return [re.compile(rf"(?<!\w)(?:{_any(part(one))}){after}", re.IGNORECASE) for one in LANGUAGES]


def _part(name: str) -> Callable[[Language], tuple[str, ...]]:
    def entries(language: Language) -> tuple[str, ...]:
        found: tuple[str, ...] = getattr(language, name)
        return found

    return entries


_CUES = {cue: _in_each(_part(cue), "" if cue == "promised" else r"(?!\w)") for cue in CUES}
_DENIED = _in_each(_part("denied"))
_SUPPOSED = _in_each(_part("supposed"))
_IDLE = _in_each(_part("idle"))
_UNKNOWN = _of_all(_part("unknown"))
_OFFERS = _of_all(_part("offers"))
_GREETS = _of_all(_part("greets"))
_FILLS = _of_all(_part("fills"), "")


@lru_cache(maxsize=16_384)
def cues(sentence: str) -> frozenset[Cue]:
    """What a sentence is. A question is none but a problem."""
    words = _plain(sentence)
    asked = words.rstrip(" \"'”»)*_").endswith(("?", "？"))
    found: set[Cue] = set()
    for cue in CUES:
        if asked and cue not in ("problem", "open"):
            continue
        if any(_holds(cue, words, number) for number in range(len(LANGUAGES))):
            found.add(cue)
    if "open" in found:
        found -= {"decided", "solved"}
    if "solved" in found:
        found.discard("problem")
    return frozenset(found)


def _holds(cue: Cue, words: str, language: int) -> bool:
    for match in _CUES[cue][language].finditer(words):
        if cue == "promised" and _IDLE[language].match(words, match.end()):
            continue
        if cue in _TURNED:
            return True
        clause = _clause(words, match.start())
        if _SUPPOSED[language].search(clause) or _DENIED[language].search(clause + match.group()):
            continue
        return True
    return False


def _clause(words: str, end: int) -> str:
    before = words[max(0, end - CLAUSE) : end]
    breaks = [match.end() for match in _BREAK.finditer(before)]
    return before[breaks[-1] :] if breaks else before


def answers_nothing(text: str) -> bool:
    """Whether a reply begins by saying that it knows no answer."""
    return _UNKNOWN.search(_plain(text[:LONGEST])[: CLAUSE * 2]) is not None


def offers(sentence: str) -> bool:
    """Whether a question only offers more help, as assistants end their answers."""
    return _OFFERS.search(_plain(sentence)) is not None


@lru_cache(maxsize=16_384)
def says_nothing(sentence: str) -> bool:
    """Whether a sentence greets, thanks, agrees or fills: it would tell a reader nothing."""
    words = _plain(sentence).lstrip(_LEADS)
    if _FILLS.match(words):
        return True
    return _GREETS.match(words) is not None and len(words.split()) <= GREETS


def _plain(sentence: str) -> str:
    return _QUOTED.sub(" … ", sentence[:LONGEST].translate(_APOSTROPHES))
