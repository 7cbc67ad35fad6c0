"""Whether a full stop ends a sentence, or belongs to an abbreviation, an initial or the day of a date.

Sentences are split in several places, each for its own kind of text; all of them ask here about a full stop."""

from __future__ import annotations

import re

from appliance.languages import GERMAN, LANGUAGES, STOP_WORDS

LOOKBACK_CHARACTERS = 12  # the longest abbreviation, with what stands before it
_TITLES_ELSEWHERE = "mme|mmes|mlle|mgr|dott|sig|dhr|mevr"  # of people whom these languages name as well
_NAME_PARTS = "st|ste|sta|sto|skt|mt|ft|pt"  # of saints and places, but also of streets, feet and tons
_MONTHS = "|".join(name for names in GERMAN.temporal.months for name in names.split("|"))

_TITLE = re.compile(
    rf"(?<!\w)(?:{'|'.join(language.titles for language in LANGUAGES)}|{_TITLES_ELSEWHERE})\Z", re.IGNORECASE
)
_NAME_PART = re.compile(rf"(?<!\w)(?:{_NAME_PARTS})\Z", re.IGNORECASE)
_INITIAL = re.compile(r"(?<![\w'’])[^\W\d_]\Z")
_ABBREVIATION = re.compile(rf"(?<!\w)(?:{'|'.join(language.abbreviations for language in LANGUAGES)})\Z", re.IGNORECASE)
_DAY = re.compile(r"(?<![\d.,:])(?<!\w)\d{1,2}\Z")
_NEXT_WORD = re.compile(r"\s*[\"'„“”»«(]*(\w[\w'’]*)")
_MONTH = re.compile(rf"(?:{_MONTHS})\Z", re.IGNORECASE)


def is_inner_stop(text: str, at: int, end: int | None = None) -> bool:
    """Whether the full stop at a place goes on with its sentence.

    Args:
        text: The text, with its capitals; without them, more full stops go on.
        at: The place of the full stop.
        end: Where the text that counts ends.

    >>> [is_inner_stop(text, text.index(".")) for text in ("St. Gallen", "Main St. I like it.", "Rome. We went")]
    [True, False, False]
    """
    following = _NEXT_WORD.match(text, at + 1, len(text) if end is None else end)
    if following is None:
        return False
    before, word = text[max(0, at - LOOKBACK_CHARACTERS) : at], following[1]
    if _TITLE.search(before):
        return True
    goes_on = word[0].islower() or word[0].isdigit() or (len(word) == 1 and word != "I")
    if before[-1:].isdigit():
        return _DAY.search(before) is not None and (goes_on or _MONTH.match(word) is not None)
    if _NAME_PART.search(before) or (_INITIAL.search(before) and not before.endswith(" I")):
        return goes_on or word.lower() not in STOP_WORDS
    return goes_on and _ABBREVIATION.search(before) is not None
