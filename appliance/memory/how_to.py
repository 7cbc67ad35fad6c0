"""Whether and where a text asks how something is done, shows an error, or says that something worked or failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from appliance.languages import LANGUAGES, Language
from appliance.lazy_dataclasses import dataclass

# Characters at the beginning of a message that are searched for a question, an error or an outcome. Pasted text usually
# follows them.
SCAN_CHARACTERS = 1_500
# A longer message does not just say how it went: it tells a story or asks the next question.
MAX_OUTCOME_CHARACTERS = 500

MAX_RESULT_CHARACTERS = 160

_SIGNS = tuple(sign for language in LANGUAGES for sign in language.procedures.signs.split("|"))


@lru_cache(maxsize=16)
def _cues(kind: str, *languages: Language) -> re.Pattern[str]:
    """The alternatives of some languages, or of all languages; compiled when first needed."""
    cues = [cue for language in languages or LANGUAGES for cue in getattr(language.procedures, kind)]
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

# A line of an error as programs print it.
ERROR_LINE = re.compile(
    r"^[^\n]{0,200}?(?:Traceback \(most recent|\b\w*(?:Error|Exception)\b\s?[:(]|\b(?:error|fatal|failed"
    r"|fehler)\s?(?:\[[^\]\n]{1,20}\]|\(\w{1,20}\)|code \d+)?:|\bnpm ERR!|command not found|No such file or directory"
    r"|Permission denied|Segmentation fault|Connection refused|exit(?:ed with)? (?:code|status):? [1-9]|\bE\d{3,5}\b"
    r"|0x[0-9A-Fa-f]{8})[^\n]{0,300}",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class HowToSpan:
    """A part of a text, in characters."""

    start: int
    end: int


def sentences(text: str) -> Iterator[HowToSpan]:
    """Yield the sentences at the beginning of a text, without the white space around them."""
    for match in _SENTENCE.finditer(text, 0, SCAN_CHARACTERS):
        if match.group().strip():
            yield _trimmed(match)


def _trimmed(match: re.Match[str]) -> HowToSpan:
    words = match.group()
    return HowToSpan(match.end() - len(words.lstrip()), match.start() + len(words.rstrip()))


def is_how_to(query: str) -> bool:
    """Whether a query asks how something is done (English, German, Spanish).

    >>> is_how_to("How do I reset the router?"), is_how_to("How do you feel?")
    (True, False)
    """
    return find_how_to(query) is not None


def find_how_to(text: str) -> HowToSpan | None:
    """Return the first sentence that asks how something is done; None where none does."""
    for sentence in sentences(text):
        words = _mask_quotes(text[sentence.start : sentence.end])
        if _HOW_TO_FIRST.match(words) or (_cues("asks").search(words) and not _cues("asks_not").search(words)):
            return sentence
    return None


def find_need(text: str) -> HowToSpan | None:
    """Return the first sentence that names a problem or something to be done, or asks for help with it."""
    for sentence in sentences(text):
        if _cues("needs").search(_mask_quotes(text[sentence.start : sentence.end])):
            return sentence
    return None


def find_error(text: str) -> HowToSpan | None:
    """Return the first line that is an error as programs print it."""
    match = ERROR_LINE.search(text, 0, SCAN_CHARACTERS)
    return _trimmed(match) if match else None


def find_success(text: str) -> HowToSpan | None:
    """Return the sentence that says that a proposal worked.

    Returns None where the message does not say so, where it only thanks, wishes or asks, and where anything in it
    says that something failed or that something else helped."""
    if len(text) > MAX_OUTCOME_CHARACTERS or not any(map(text.lower().__contains__, _SIGNS)):
        return None
    # Three dots end no sentence: "that worked ... not".
    text = _mask_quotes(_DOTS.sub(lambda dots: " " * len(dots.group()), text))
    for language in LANGUAGES:  # separately: "no" does not express doubt in every language
        sentence = _find_success(text, language)
        if sentence is not None:
            return None if reports_failure(text) or _cues("otherwise").search(text) else sentence
    return None


def find_result(text: str) -> HowToSpan | None:
    """Return the sentence that tells in ordinary words that something is now as it should be ("It's gone!").

    It says so only right after steps, and counts less than ``find_success``: the message is short, asks nothing, and
    nothing in it doubts, wishes, or says that something failed or that something else helped."""
    text = _mask_quotes(_DOTS.sub(lambda dots: " " * len(dots.group()), text))
    if len(text) > MAX_RESULT_CHARACTERS or "?" in text or reports_failure(text) or _cues("otherwise").search(text):
        return None
    for language in LANGUAGES:
        found = _cues("results", language).search(text)
        if found is None or re.search(rf"\b(?:{language.procedures.passing})\b", text, re.IGNORECASE):
            continue
        sentence = next((one for one in sentences(text) if one.start <= found.end() - 1 < one.end), None)
        if sentence is not None and not _cues("perhaps", language).search(text, sentence.start, sentence.end):
            return sentence
    return None


def _find_success(text: str, language: Language) -> HowToSpan | None:
    prefix, suffix = _context_patterns(language)
    opening = prefix.match(text)
    for sentence in sentences(text):
        if opening is None or sentence.start > opening.end():
            return None  # the message says something else first
        words = text[sentence.start : sentence.end]
        success = _cues("worked", language).search(words)
        if success is None or words.endswith(("?", "？")) or _cues("perhaps", language).search(words):
            continue
        if prefix.fullmatch(text, 0, sentence.start + success.start()) and suffix.fullmatch(words, success.end()):
            return sentence
    return None


@lru_cache(maxsize=8)
def _context_patterns(language: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may stand before the word that it worked, and what may follow in the same sentence."""
    before = re.compile(rf"\W*(?>(?:(?:{'|'.join(language.procedures.before)})(?!\w)\W*)*)", re.IGNORECASE)
    fillers = "|".join((*language.procedures.goes_on, *language.procedures.before))
    follows = re.compile(rf"(?>(?:[^\w.!]*(?:{fillers})(?!\w))*)\W*", re.IGNORECASE)
    return before, follows


def reports_failure(text: str) -> bool:
    """Whether a message says that something does not work."""
    return _cues("failed").search(_mask_quotes(text[:SCAN_CHARACTERS])) is not None


def _mask_quotes(text: str) -> str:
    """The text with quotations blanked, and with one kind of apostrophe."""
    return _QUOTED.sub(lambda quoted: " " * len(quoted.group()), text.replace("’", "'"))
