"""A message as the rules see it: in lower case, without what its writer did not say of themselves, cut into sentences.

Everything here keeps offsets: what is left out is put in place of by ``GAP`` characters, so that a place in the
prepared text is the same place in the message. All patterns run in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

GAP = "\x00"
"""Stands for a character that is not the writer's own word: code, a quotation, what was forwarded."""

LONGEST_SENTENCE = 1_500
"""Characters. What runs on longer is pasted, or made to make us slow."""

QUOTED_NAME = 2
"""Words. What is quoted and no longer is a name ('call me "Ace"'), not what somebody said."""

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
    " nachtrag übrigens info regel wichtig kontext ich nota por cierto contexto importante actualización yo"
    " the thing is one more thing another thing just so you know first second third so".split()
)
_SENTENCE_WORDS = frozenset(
    "i ich my me mi is are am bin it soy es one this that here please mich wir we".split()
)
"""What a speaker's name has none of: a line that begins with such words is a sentence with a colon."""
_SENTENCE = re.compile(r"[.!?…]+(?=[\s\x00\"'”“»)\]*_]|$)|[\n;]+|[¡¿]")
_MONTHLIKE = re.compile(r"\s(?:jan|feb|mär|mar|apr|mai|jun|jul|aug|sep|okt|oct|nov|dez)", re.IGNORECASE)
_ABBREVIATED = frozenset(
    "dr mr mrs ms st prof e.g i.e z.b d.h p.ej sr sra vs approx ca bzw usw no nr".split()
)
_INNER_CAPITAL = re.compile(
    r"(?<![.!?:\n\x00-])(?<![.!?:\n\x00-][ \"'])(?<!^)[ '(\"](?!I\b)[^\W\d_a-zß-öø-ÿ]"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence: from ``start`` up to ``end``, without what ends it. ``asks`` tells of a question mark."""

    start: int
    end: int
    asks: bool


def lowered(text: str) -> str:
    """The text in lower case with plain apostrophes, character for character."""
    low = text.lower()
    if len(low) != len(text):  # a few letters become two
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low.replace("’", "'").replace("´", "'") if not low.isascii() else low


def is_casual(text: str) -> bool:
    """Whether the writer does without capitals, so that a name may have none."""
    return _INNER_CAPITAL.search(text) is None


def masked(low: str) -> str:
    """The lowered text with gaps for code, quotations, other people's lines, and all below a forwarded mail's head."""
    low = _without_fences(low)
    if "`" in low:
        low = _CODE.sub(_unless_a_name, low)
    low = _QUOTED.sub(_unless_a_name, low)
    low = _OTHERS_LINE.sub(_gap, low)
    if found := _FORWARDED.search(low):
        low = low[: found.start()] + _gaps(low[found.start() :])
    if ":" in low or ">" in low:
        low = _without_script(low)
    return low


def sentences(low: str) -> Iterator[Passage]:
    """The sentences of a prepared text; one that is too long is left out."""
    start = 0
    for end in _SENTENCE.finditer(low):
        if end.group() == "." and _goes_on(low, start, end.start(), end.end()):
            continue
        if start < end.start() <= start + LONGEST_SENTENCE:
            yield Passage(start, end.start(), "?" in end.group())
        start = end.end()
    if start < len(low) <= start + LONGEST_SENTENCE:
        yield Passage(start, len(low), False)


def _goes_on(low: str, start: int, dot: int, after: int) -> bool:
    """Whether a full stop belongs to a word: "Dr.", "J.", "3. Mai"."""
    word = low[max(start, dot - 12) : dot].rsplit(None, 1)
    last = word[-1] if word else ""
    if last.isdigit() and len(last) <= 2:
        return _MONTHLIKE.match(low, after) is not None
    return last.strip("(") in _ABBREVIATED or (len(last) == 1 and last.isalpha() and last != "i")


def _gaps(text: str) -> str:
    """Gaps of the same length, with the lines kept."""
    return "\n".join(GAP * len(line) for line in text.split("\n"))


def _gap(match: re.Match[str]) -> str:
    return _gaps(match.group())


def _unless_a_name(match: re.Match[str]) -> str:
    inner = next((group for group in match.groups() if group is not None), "")
    if len(inner.split()) <= QUOTED_NAME and len(inner) <= 40:
        return f" {match.group()[1:-1]} "
    return _gap(match)


def _without_fences(low: str) -> str:
    if "```" not in low and "~~~" not in low:
        return low
    pieces, at = [], 0
    opened: tuple[int, str] | None = None
    for fence in _FENCE.finditer(low):
        if opened is None:
            pieces.append(low[at : fence.start()])
            opened, at = (fence.start(), fence[1]), fence.start()
        elif fence[1].startswith(opened[1]):
            pieces.append(_gaps(low[at : fence.end()]))
            opened, at = None, fence.end()
    rest = low[at:]
    pieces.append(_gaps(rest) if opened is not None else rest)
    return "".join(pieces)


def _without_script(low: str) -> str:
    """Without lines that are given to a speaker ("Ana: I live in Rome")."""

    def spoken(match: re.Match[str]) -> str:
        label = (match[1] or match[2] or "").strip()
        if (
            label in _OWN_LABELS
            or not _SENTENCE_WORDS.isdisjoint(label.split())
            or (len(label.split()) > 3 and match[1] is None)
        ):
            return match.group()
        return _gap(match)

    return _LABEL.sub(spoken, low)
