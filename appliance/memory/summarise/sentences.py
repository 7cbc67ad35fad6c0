"""The sentences of a message, each with its place: what a summary can quote.

Code, tables, links by themselves, headings and what is quoted from others are no sentences. A line of a list is one,
without its bullet. All patterns are linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 400
"""Characters; what runs on without a full stop is cut at a comma or a space, so that one message cannot fill a
summary with a single sentence."""

MOST = 400
"""Sentences of one message that are looked at, half of them at its end: a pasted book has more."""

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_LEAD = re.compile(r"\s*(?:(?:[-*+•‣–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+)?(?:\[[ xX]\]\s+)?")
_NO_SENTENCE = re.compile(
    r"\s*(?:#{1,6}\s|>|\||[-=*_~+]{3,}\s*$"  # heading, quotation, table, rule
    r"|\[(?:image|attachment|file|photo|video|audio|sticker)\b"
    r"|<\/?[a-zA-Z!][^>\n]*>\s*$"
    r"|(?:\$|>>>|\.\.\.)\s|(?:at\s+\S+\(|File \"|Traceback )"
    r"|\S+\s*$(?<![.!?…。！？\"'”])(?<=[/\\_=]))"
)
_CODE = re.compile(
    r"[;{}]\s*$|^\s*(?:import|from|def|class|return|const|var|function)\b.*[(){}=:;\"']\s*$|^\s*//|=>|\w\(\)"
)
_TABLE = re.compile(r"[^|\n]*\|[^|\n]*\|")
_LINK = re.compile(r"(?:https?://|www\.)\S+|!?\[[^\]\n]{0,200}\]\([^)\n]{0,500}\)")
_END = re.compile(r"[.!?…]+[\"'»”’)\]*_]*(?=\s|$)|[。！？]+[」』”）]*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-zÄÖÜ]|e\.g|i\.e|etc|vs|approx|ca|mr|mrs|ms|dr|prof|st|no|nr|z\.\s?b|d\.\s?h|u\.\s?a|bzw|usw|evtl|ggf|inkl"
    r"|sr|sra|srta|ud|uds|pág|p\.\s?ej|ej|jan|feb|aug|sept|oct|nov|dec)|(?<![\d.,:])\d{1,2})\.$",
    re.IGNORECASE,
)
_NEXT_GOES_ON = re.compile(
    r"\s*(?:[a-zäöüß\d(]|(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b)"
)
_INITIAL = re.compile(
    r"\b(?:[A-Za-zÄÖÜ]|[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Pp]rof|[Ss]r|[Ss]ra|[Ss]t|e\.g|i\.e|z\.\s?B|d\.\s?h)\.$"
)
_CUT = re.compile(r"[,;:–—]\s|\s")
_WORD = re.compile(r"\w")
_LOOK_BACK = 12
_WRAPPED = 60
"""From so many characters on, a line that ends without a stop and is followed by a small letter goes on there."""


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence by its place in the message's text. ``first`` is the message's first, ``asks`` ends in a question
    mark."""

    start: int
    end: int
    first: bool
    asks: bool


def spans(text: str, first: int = MOST // 2, last: int = MOST // 2) -> tuple[Span, ...]:
    """The sentences of a text in order, none overlapping another: of a longer one the ``first`` and the ``last``."""
    blocks = list(_blocks(text))
    found: list[tuple[int, int]] = []
    used = 0
    while used < len(blocks) and len(found) < first + last:
        found += _cut(text, *blocks[used])
        used += 1
    if used < len(blocks) or len(found) > first + last:
        ending: list[tuple[int, int]] = []
        for block in reversed(blocks):
            if len(ending) >= last:
                break
            ending = [*_cut(text, *block), *ending]
        found = found[:first]
        found += [one for one in ending[-last:] if one[0] >= found[-1][1]]
    return tuple(Span(a, b, i == 0, _asks(text, a, b)) for i, (a, b) in enumerate(found))


def _asks(text: str, start: int, end: int) -> bool:
    return text[max(start, end - 8) : end].rstrip("\"'»”’)]*_ 」』）").endswith(("?", "？", "؟"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of running text: lines, or several where one is only wrapped."""
    fence = ""
    open_at: tuple[int, int] | None = None
    for line in _LINE.finditer(text):
        start, end = line.span()
        if start == end:
            break
        words = line.group()
        mark = _FENCE.match(words)
        if mark and (not fence or words.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            mark_only = True
        else:
            mark_only = False
        if fence or mark_only or _is_no_sentence(words):
            if open_at:
                yield open_at
            open_at = None
            continue
        lead = _LEAD.match(words)
        begin = start + (lead.end() if lead else 0)
        stop = start + len(words.rstrip())
        listed = lead is not None and lead.group().strip() != ""
        if open_at and not listed and _goes_on(text, open_at, begin, start):
            open_at = (open_at[0], stop)
            continue
        if open_at:
            yield open_at
        open_at = (begin, stop) if begin < stop else None
    if open_at:
        yield open_at


def _goes_on(text: str, before: tuple[int, int], begin: int, line_start: int) -> bool:
    return (
        line_start - before[0] >= _WRAPPED
        and text[before[1] - 1] not in ".!?…:;。！？"
        and text[begin : begin + 1].islower()
    )


def _is_no_sentence(line: str) -> bool:
    if not line.strip() or _NO_SENTENCE.match(line) or _TABLE.match(line):
        return True
    if _CODE.search(line[:LONGEST]):
        return True
    without = _LINK.sub("", line) if "http" in line or "](" in line or "www." in line else line
    return not _WORD.search(without)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if (
            stop < end
            and match.group()[0] == "."
            and _is_abbreviated(text, begin, match.start() + 1, stop, end)
        ):
            continue
        yield from _bounded(text, begin, stop)
        begin = stop
    yield from _bounded(text, begin, end)


def _is_abbreviated(text: str, begin: int, dot: int, stop: int, end: int) -> bool:
    before = text[max(begin, dot - _LOOK_BACK) : dot]
    if _INITIAL.search(before) and not before.endswith(" I."):
        return True
    return bool(_ABBREVIATION.search(before)) and bool(_NEXT_GOES_ON.match(text, stop, end))


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretch without white space around it, in pieces of at most LONGEST characters."""
    while end - start > LONGEST:
        limit = start + LONGEST
        cuts = [m.end() for m in _CUT.finditer(text, start + LONGEST // 2, limit)]
        commas = [cut for cut in cuts if text[cut - 2] in ",;:–—"]
        stop = commas[-1] if commas else cuts[-1] if cuts else limit
        yield from _trimmed(text, start, stop)
        start = stop
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end and _WORD.search(text, start, end):
        yield start, end
