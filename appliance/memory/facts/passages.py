"""A message as the rules see it: in lower case, without what its writer did not say of themselves, split into
sentences.

Every function keeps offsets. A gap (``GAP`` characters) of the same length replaces what is left out, so that a place
in the prepared text is the same place in the message. All patterns run in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from appliance.languages.sentence_ends import is_inner_stop

GAP = "\x00"  # replaces a character that is not the writer's own word: code, a quotation, a forwarded text
MAX_SENTENCE_CHARACTERS = 1_500  # a longer sentence was pasted, or written to make the rules slow
MAX_QUOTED_NAME_WORDS = 2  # a quotation of so few words is a name ('call me "Ace"'), not what somebody said

_FENCE = re.compile(r"(?:^|\n)[ \t]{0,3}(`{3,}|~{3,})[^\n]*(?:\n|$)")
_CODE = re.compile(r"`([^`\n]{1,300})`")
_QUOTED = re.compile(
    r"[\"“”„»«]([^\"“”„»«\n]{1,600})[\"“”“»«]"
    r"|(?<!\w)['‘‚](?=[^\s'])((?:[^'’‘\n]|(?<=\w)['’](?=\w)){2,300})(?:['’]|‘)(?!\w)"
)
_OTHERS_LINE = re.compile(r"^[ \t]{0,3}(?:>|\|).*$", re.MULTILINE)
_FORWARDED = re.compile(
    r"^[ \t]{0,3}(?:-{2,}[^\n]{0,40}(?:forwarded|original|weitergeleitet|ursprüngliche|reenviado|original)[^\n]{0,40}"
    r"|(?:from|subject|von|betreff|de|asunto)[ \t]?:[ \t]?\S"
    r"|(?:on|am|el)\b[^\n]{5,120}(?:wrote|schrieb|escribió)[^\n]{0,40}:"
    r"|(?:dear|sehr geehrte[r]?|estimad[oa]s?|querid[oa]s?)\b[^\n]{0,60}[,:]?[ \t]*$)",
    re.MULTILINE,
)
_LABEL = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+)?(?:\[[^\]\n]{1,40}\][ \t]*|\d{1,2}:\d\d(?::\d\d)?[ \t]+)?"
    r"(?:<([^>\n]{1,30})>|([^\W\d_][\w .'-]{0,30}?)[ \t]?(?:\([^)\n]{0,20}\))?:(?=\s))[^\n]*",
    re.MULTILINE,
)
_OWN_LABELS = frozenset(
    "note notes ps p.s edit update fyi btw hi hello hey context background me also about about me reminder info"
    " important correction preference preferences instruction instructions rule rules question hinweis notiz"
    " corrected corrects korrektur korrigiert"
    " corrección corregido nachtrag übrigens info regel wichtig kontext ich nota por cierto contexto"
    " importante actualización yo"
    " the thing is one more thing another thing just so you know first second third so".split()
)
# Words that no speaker's name contains: a line that begins with one is a sentence with a colon.
_SENTENCE_WORDS = frozenset("i ich my me mi is are am bin it soy es one this that here please mich wir we".split())
_SENTENCE = re.compile(r"[.!?…]+(?=[\s\x00\"'”“»)\]*_]|$)|[\n;]+|[¡¿]")
_DAY_OF_MONTH = re.compile(r"(?<!\d)\d{1,2}\Z")
_MONTHLIKE = re.compile(r"\s(?:jan|feb|mär|mar|apr|mai|jun|jul|aug|sep|okt|oct|nov|dez)", re.IGNORECASE)
_INNER_CAPITAL = re.compile(r"(?<![.!?:\n\x00-])(?<![.!?:\n\x00-][ \"'])(?<!^)[ '(\"](?!I\b)[^\W\d_a-zß-öø-ÿ]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, without the mark that ends it."""

    start: int
    end: int
    is_question: bool


def to_lower(text: str) -> str:
    """Return the text in lower case with plain apostrophes, character for character."""
    low = text.lower()
    if len(low) != len(text):  # a few letters become two in lower case
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low.replace("’", "'").replace("´", "'") if not low.isascii() else low


def is_uncapitalized(text: str) -> bool:
    """Whether the writer uses no capitals, so that a name may have none."""
    return _INNER_CAPITAL.search(text) is None


def mask_foreign_text(low: str) -> str:
    """Return the lowered text with gaps for code, quotations, other speakers' lines, and all that follows the head of a
    forwarded mail."""
    low = _blank_fences(low)
    if "`" in low:
        low = _CODE.sub(_blank_unless_name, low)
    low = _QUOTED.sub(_blank_unless_name, low)
    low = _OTHERS_LINE.sub(_blank_match, low)
    if found := _FORWARDED.search(low):
        low = low[: found.start()] + _blank(low[found.start() :])
    if ":" in low or ">" in low:
        low = _blank_speaker_lines(low)
    return low


def split_sentences(low: str, text: str) -> Iterator[Passage]:
    """Yield the sentences of a prepared text; a sentence that is too long is left out. ``text`` has the capitals."""
    start = 0
    for end in _SENTENCE.finditer(low):
        if end.group() == "." and _goes_on(low, text, end.start()):
            continue
        if start < end.start() <= start + MAX_SENTENCE_CHARACTERS:
            yield Passage(start, end.start(), "?" in end.group())
        start = end.end()
    if start < len(low) <= start + MAX_SENTENCE_CHARACTERS:
        yield Passage(start, len(low), False)


def _goes_on(low: str, text: str, dot: int) -> bool:
    if text[dot - 1 : dot].isdigit():  # an age or a year ends a sentence, even where the next one has no capital
        return _DAY_OF_MONTH.search(low, max(0, dot - 3), dot) is not None and bool(_MONTHLIKE.match(low, dot + 1))
    return is_inner_stop(text, dot)


def _blank(text: str) -> str:
    """Gaps of the same length, with the line breaks kept."""
    return "\n".join(GAP * len(line) for line in text.split("\n"))


def _blank_match(match: re.Match[str]) -> str:
    return _blank(match.group())


def _blank_unless_name(match: re.Match[str]) -> str:
    inner = next((group for group in match.groups() if group is not None), "")
    if len(inner.split()) <= MAX_QUOTED_NAME_WORDS and len(inner) <= 40:
        return f" {match.group()[1:-1]} "
    return _blank_match(match)


def _blank_fences(low: str) -> str:
    if "```" not in low and "~~~" not in low:
        return low
    parts, at = [], 0
    opening: str | None = None
    for fence in _FENCE.finditer(low):
        if opening is None:
            parts.append(low[at : fence.start()])
            opening, at = fence[1], fence.start()
        elif fence[1].startswith(opening):
            parts.append(_blank(low[at : fence.end()]))
            opening, at = None, fence.end()
    return "".join([*parts, low[at:] if opening is None else _blank(low[at:])])


def _blank_speaker_lines(low: str) -> str:
    """Blank the lines that are attributed to a speaker ("Ana: I live in Rome")."""

    def blank_speaker(match: re.Match[str]) -> str:
        label = (match[1] or match[2] or "").strip()
        if (
            label in _OWN_LABELS
            or not _SENTENCE_WORDS.isdisjoint(label.split())
            or (len(label.split()) > 3 and match[1] is None)
        ):
            return match.group()
        return _blank_match(match)

    return _LABEL.sub(blank_speaker, low)
