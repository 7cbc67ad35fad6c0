"""The sentences of a message, each with its place: what a summary can quote.

Code, tables, bare links, headings and quotations of others are no sentences. A line of a list is one, without its
bullet. All patterns run in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from appliance.languages.sentence_ends import is_inner_stop

# A longer sentence is cut at a comma or a space, so that one message cannot fill a summary with a single sentence.
MAX_SENTENCE_CHARACTERS = 400
MAX_SENTENCES = 400  # of one message, half of them from its end; a pasted book has more

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
_CUT = re.compile(r"[,;:–—]\s|\s")
_WORD = re.compile(r"\w")
# A line of so many characters that ends without a stop goes on in the next one, if that begins in lower case.
_MIN_WRAPPED_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """The place of a sentence in the message's text."""

    start: int
    end: int
    is_first: bool
    is_question: bool


def sentence_spans(
    text: str, first: int = MAX_SENTENCES // 2, last: int = MAX_SENTENCES // 2
) -> tuple[SentenceSpan, ...]:
    """Return the sentences of a text in order, without overlaps. Of a longer text, these are the ``first`` and the
    ``last``."""
    blocks = list(_text_blocks(text))
    found: list[tuple[int, int]] = []
    used = 0
    while used < len(blocks) and len(found) < first + last:
        found += _split_block(text, *blocks[used])
        used += 1
    if used < len(blocks) or len(found) > first + last:
        last_spans: list[tuple[int, int]] = []
        for block in reversed(blocks):
            if len(last_spans) >= last:
                break
            last_spans = [*_split_block(text, *block), *last_spans]
        found = found[:first]
        found += [span for span in last_spans[-last:] if span[0] >= found[-1][1]]
    return tuple(SentenceSpan(a, b, i == 0, _ends_with_question(text, a, b)) for i, (a, b) in enumerate(found))


def _ends_with_question(text: str, start: int, end: int) -> bool:
    return text[max(start, end - 8) : end].rstrip("\"'»”’)]*_ 」』）").endswith(("?", "？", "؟"))


def _text_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of running text: a line, or several lines that are one wrapped line."""
    fence = ""
    open_at: tuple[int, int] | None = None
    for line in _LINE.finditer(text):
        start, end = line.span()
        if start == end:
            break
        words = line.group()
        mark = _FENCE.match(words)
        is_fence = mark is not None and (not fence or words.strip().startswith(fence))
        if mark and is_fence:
            fence = "" if fence else mark[1]
        if fence or is_fence or _is_not_prose(words):
            if open_at:
                yield open_at
            open_at = None
            continue
        lead = _LEAD.match(words)
        begin = start + (lead.end() if lead else 0)
        stop = start + len(words.rstrip())
        listed = lead is not None and lead.group().strip() != ""
        if open_at and not listed and _continues_block(text, open_at, begin, start):
            open_at = (open_at[0], stop)
            continue
        if open_at:
            yield open_at
        open_at = (begin, stop) if begin < stop else None
    if open_at:
        yield open_at


def _continues_block(text: str, before: tuple[int, int], begin: int, line_start: int) -> bool:
    return (
        line_start - before[0] >= _MIN_WRAPPED_CHARACTERS
        and text[before[1] - 1] not in ".!?…:;。！？"
        and text[begin : begin + 1].islower()
    )


def _is_not_prose(line: str) -> bool:
    if not line.strip() or _NO_SENTENCE.match(line) or _TABLE.match(line):
        return True
    if _CODE.search(line[:MAX_SENTENCE_CHARACTERS]):
        return True
    return not _WORD.search(_LINK.sub("", line) if "http" in line or "](" in line or "www." in line else line)


def _split_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if stop < end and match.group() == "." and is_inner_stop(text, match.start(), end):
            continue
        yield from _split_long(text, begin, stop)
        begin = stop
    yield from _split_long(text, begin, end)


def _split_long(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretch without the white space around it, in parts of at most ``MAX_SENTENCE_CHARACTERS``."""
    while end - start > MAX_SENTENCE_CHARACTERS:
        limit = start + MAX_SENTENCE_CHARACTERS
        cuts = [m.end() for m in _CUT.finditer(text, start + MAX_SENTENCE_CHARACTERS // 2, limit)]
        commas = [cut for cut in cuts if text[cut - 2] in ",;:–—"]
        stop = commas[-1] if commas else cuts[-1] if cuts else limit
        yield from _trim_span(text, start, stop)
        start = stop
    yield from _trim_span(text, start, end)


def _trim_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end and _WORD.search(text, start, end):
        yield start, end
