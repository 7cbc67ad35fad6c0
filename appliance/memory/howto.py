"""Whether a text asks how something is done, shows an error, or says that something worked or failed; and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from appliance.memory.howto_words import LANGUAGES, SIGNS, Language

LOOKED_AT = 1_500
"""Characters of a message in which its question, its error or its outcome is looked for: who has a book to paste says
what it is about before that."""

OUTCOME = 500
"""Characters of a longest message that says how it went; a longer one tells a story, or asks the next thing."""


@lru_cache(maxsize=16)
def _cues(kind: str, *languages: Language) -> re.Pattern[str]:
    """The alternatives of the given languages, of all without any; compiled when first needed."""
    cues = [cue for language in languages or LANGUAGES for cue in getattr(language, kind)]
    starts = [cue[1:] for cue in cues if cue.startswith("^")]
    within = [cue for cue in cues if not cue.startswith("^")]
    begin = "|".join(starts)
    return re.compile(
        (f"^\\W*(?:{begin})\\b|" if begin else "") + rf"(?<!\w)(?:{'|'.join(within)})(?!\w)", re.IGNORECASE
    )


_SENTENCE = re.compile(r"[^.!?;\n…。！？]+[.!?;…。！？]*")
_DOTS = re.compile(r"\.{2,}|…")
_QUOTED = re.compile('["“”„«»][^"“”„«»\n]{0,200}["“”„«»]')
_HOW_TO_FIRST = re.compile(
    r"^\W*(?:(?:ok|okay|hi|hey|hello|so|and|please|quick question|question)\W+){0,3}how to \w+", re.IGNORECASE
)

ERROR = re.compile(
    r"^[^\n]{0,200}?(?:Traceback \(most recent|\b\w*(?:Error|Exception)\b\s?[:(]|\b(?:error|fatal|failed"
    r"|fehler)\s?(?:\[[^\]\n]{1,20}\]|"
    r"\(\w{1,20}\)|code \d+)?:|\bnpm ERR!|command not found|No such file or directory|Permission denied"
    r"|Segmentation fault|Connection refused|exit(?:ed with)? (?:code|status):? [1-9]|\bE\d{3,5}\b"
    r"|0x[0-9A-Fa-f]{8})[^\n]{0,300}",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of an error as programs print it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch of a text, in characters."""

    start: int
    end: int


def sentences(text: str) -> Iterator[Found]:
    """The sentences of the beginning of a text, without the space around them."""
    for found in _SENTENCE.finditer(text, 0, LOOKED_AT):
        words = found.group()
        start = found.start() + len(words) - len(words.lstrip())
        end = found.end() - len(words) + len(words.rstrip())
        if end > start:
            yield Found(start, end)


def is_how_to(query: str) -> bool:
    """Whether somebody asks how something is done (English, German, Spanish).

    >>> is_how_to("How do I reset the router?"), is_how_to("How do you feel?")
    (True, False)
    """
    return how_to(query) is not None


def how_to(text: str) -> Found | None:
    """The first sentence that asks how something is done; None where none does."""
    for at in sentences(text):
        words = _plain(text[at.start : at.end])
        if _HOW_TO_FIRST.match(words) or (
            _cues("asks").search(words) and not _cues("asks_not").search(words)
        ):
            return at
    return None


def error(text: str) -> Found | None:
    """The first line that is an error as programs print it."""
    found = ERROR.search(text, 0, LOOKED_AT)
    if found is None:
        return None
    words = found.group()
    start = found.start() + len(words) - len(words.lstrip())
    return Found(start, found.end() - len(words) + len(words.rstrip()))


def worked(text: str) -> Found | None:
    """The sentence that says that what was proposed worked. None where it does not say so, where it only thanks, wishes
    or asks, and where anything in the message says that something failed or that something else helped."""
    if len(text) > OUTCOME or not any(map(text.lower().__contains__, SIGNS)):
        return None
    # Three dots end no sentence: "that worked ... not".
    text = _plain(_DOTS.sub(lambda dots: " " * len(dots.group()), text))
    for language in LANGUAGES:  # one by one: "no" is no word of doubt in each of them
        at = _worked(text, language)
        if at is not None:
            return None if failed(text) or _cues("otherwise").search(text) else at
    return None


def _worked(text: str, language: Language) -> Found | None:
    before, goes_on = _around(language)
    greeted = before.match(text)
    for at in sentences(text):
        if greeted is None or at.start > greeted.end():
            return None  # something else has been said by then
        words = text[at.start : at.end]
        said = _cues("worked", language).search(words)
        if said is None or words.endswith(("?", "？")) or _cues("perhaps", language).search(words):
            continue
        if before.fullmatch(text, 0, at.start + said.start()) and goes_on.fullmatch(words, said.end()):
            return at
    return None


@lru_cache(maxsize=8)
def _around(language: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may stand before that it worked, and what may follow in the same sentence."""
    before = re.compile(rf"\W*(?:(?:{'|'.join(language.before)})(?!\w)\W*)*+", re.IGNORECASE)
    fillers = "|".join((*language.goes_on, *language.before))
    follows = re.compile(rf"(?:[^\w.!]*(?:{fillers})(?!\w))*+\W*", re.IGNORECASE)
    return before, follows


def failed(text: str) -> bool:
    """Whether a message says that something does not work."""
    return _cues("failed").search(_plain(text[:LOOKED_AT])) is not None


def _plain(text: str) -> str:
    """The text with what others are quoted with blanked out, and one kind of apostrophe."""
    return _QUOTED.sub(lambda quoted: " " * len(quoted.group()), text.replace("’", "'"))
