"""What a sentence is by its words: a decision, a promise, something left open, a problem, its solution, a
conclusion.

``appliance.languages`` holds the words. A question, a supposition, a negation or a quotation is no decision, no
promise and no solution."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from appliance.languages import LANGUAGES, Language
from appliance.store.lexical import stem

Cue = Literal["decided", "promised", "open", "wonders", "problem", "solved", "concluded"]
CUES: tuple[Cue, ...] = ("decided", "promised", "open", "wonders", "problem", "solved", "concluded")

MAX_SENTENCE_CHARACTERS = 400  # of a sentence that are searched
CLAUSE_CHARACTERS = 60  # before a cue, in which a word can negate it or make it a supposition
MAX_GREETING_WORDS = 7  # a longer sentence that begins with a greeting is not just one
LANGUAGE_SAMPLE_WORDS = 400  # words of a text by which its language is detected
MIN_LANGUAGE_SHARE = 0.4  # a further language counts with this share of the function words of the most frequent one

_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{1,300}[\"”“»]|`[^`\n]{1,300}`")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "´": "'"})
_LANGUAGE_WORDS = [language.function_words | language.filler_words for language in LANGUAGES]
_BREAK = re.compile(
    r"[.;:!?]\s|, (?:but|so|and|then|aber|also|und|pero|así que|y) |\b(?:but|aber|sondern|pero|sino) ", re.IGNORECASE
)
_COMMA = re.compile(r", ")
_LEADING_MARKS = " \t*_#->\"'“„«(¡¿[]:"
_WORD = re.compile(r"\w+(?:'\w+)?")

_UNCONDITIONAL_CUES = frozenset(("open", "wonders", "problem", "concluded"))  # no word before them negates them
_QUESTION_CUES = frozenset(("problem", "open"))


_OPEN_ENDED = frozenset(("promised", "idle", "fills"))  # Tables whose entries continue after what they match.


@cache
def _pattern(name: str, *candidate_languages: Language) -> re.Pattern[str]:
    """The entries of a table, of one language or several. They are compiled when first needed, because all of them
    together take a tenth of a second."""
    entries = "|".join(f"(?:{entry})" for language in candidate_languages for entry in getattr(language.summary, name))
    after = "" if name in _OPEN_ENDED else r"(?!\w)"
    return re.compile(rf"(?<!\w)(?:{entries}){after}", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; "I'm" is one word."""
    return _WORD.findall(text.translate(_APOSTROPHES).lower())


def detect_languages(words: Iterable[str]) -> tuple[Language, ...]:
    """Return the languages of some words by the function words among them; all languages where there is none."""
    sample = list(islice(words, LANGUAGE_SAMPLE_WORDS))
    counts = [sum(word in known for word in sample) for known in _LANGUAGE_WORDS]
    least = MIN_LANGUAGE_SHARE * max(counts)
    return tuple(language for language, count in zip(LANGUAGES, counts, strict=True) if count >= least)


@lru_cache(maxsize=16_384)
def cues(
    sentence: str, candidate_languages: tuple[Language, ...] = LANGUAGES, kinds: tuple[Cue, ...] = CUES
) -> frozenset[Cue]:
    """Return which of ``kinds`` a sentence is, in the languages that it may be written in."""
    plain = _mask_quotes(sentence)
    is_question = plain.rstrip(" \"'”»)*_").endswith(("?", "？"))
    found = {
        cue
        for cue in kinds
        if (not is_question or cue in _QUESTION_CUES)
        and any(_has_cue(cue, plain, language) for language in candidate_languages)
    }
    if "open" in found:
        found -= {"decided", "promised", "solved"}
    if "solved" in found:
        found.discard("problem")
    return frozenset(found)


def _has_cue(cue: Cue, words: str, language: Language) -> bool:
    for match in _pattern(cue, language).finditer(words):
        if cue in _UNCONDITIONAL_CUES:
            return True
        if cue == "promised" and _pattern("idle", language).match(words, match.end()):
            continue
        clause = _after_last(_BREAK, words[max(0, match.start() - CLAUSE_CHARACTERS) : match.start()])
        if _pattern("supposed", language).search(clause):
            continue
        if not _pattern("denied", language).search(_after_last(_COMMA, clause) + match.group()):
            return True
    return False


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    breaks = [match.end() for match in pattern.finditer(text)]
    return text[breaks[-1] :] if breaks else text


def settles(sentence: str, cue: Cue, open_item: str) -> bool:
    """Whether a decision or a solution is about an item that was left open: they share two content words, or the only
    one of the item. Words of the cues themselves ("decide") are not counted."""
    settled, marks = _content_stems(sentence), _content_stems(_first_match(cue, sentence))
    topic = _content_stems(open_item) - _content_stems(_first_match("open", open_item)) - marks
    return bool(topic) and len(topic & settled) >= min(2, len(topic))


def _first_match(cue: Cue, sentence: str) -> str:
    found = _pattern(cue, *LANGUAGES).search(sentence.translate(_APOSTROPHES))
    return found.group() if found else ""


def _content_stems(text: str) -> frozenset[str]:
    """The stems of the content words of a text; numbers count, single letters do not."""
    words = words_of(text)
    languages = detect_languages(words)
    return frozenset(
        stem(word)
        for word in words
        if (len(word) > 1 or word.isdigit())
        and not any(word in language.function_words | language.filler_words for language in languages)
    )


def is_non_answer(text: str) -> bool:
    """Whether a reply begins by saying that it has no answer."""
    return _pattern("unknown", *LANGUAGES).search(_mask_quotes(text[:CLAUSE_CHARACTERS])) is not None


def is_offer(sentence: str) -> bool:
    """Whether a question only offers more help, as assistants end their answers."""
    return _pattern("offers", *LANGUAGES).search(_mask_quotes(sentence)) is not None


@lru_cache(maxsize=16_384)
def is_filler(sentence: str) -> bool:
    """Whether a sentence greets, thanks, agrees or fills, and tells a reader nothing."""
    words = _mask_quotes(sentence).lstrip(_LEADING_MARKS)
    if _pattern("fills", *LANGUAGES).match(words):
        return True
    return _pattern("greets", *LANGUAGES).match(words) is not None and len(words.split()) <= MAX_GREETING_WORDS


def _mask_quotes(sentence: str) -> str:
    return _QUOTED.sub(" … ", sentence[:MAX_SENTENCE_CHARACTERS].translate(_APOSTROPHES))
