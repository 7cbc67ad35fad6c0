"""Parts a text into units by the kind of its content, so that a shorter text keeps what matters of each kind.

A unit is a sentence of prose (or a part of one that is very long), a whole line of code, of a log, a table, a list or
quoted mail, or a frame of a stack trace: nothing is ever cut inside a path, a number or a name. A unit has a weight
beside its words in common with the query, and may need other units: a row its header, a line of code its fences and its
function, a quoted line the line that says who wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from appliance.context.stack_traces import ERROR_WEIGHT, OUTER_ERROR_WEIGHT, read_trace
from appliance.languages.sentence_ends import is_inner_stop
from appliance.types import UNVERIFIED

ContentKind = Literal["prose", "list", "table", "code", "log", "trace", "quote"]

MIN_LOG_LINES = 3
"""So many lines in a row that begin with a time or a level are a log."""

MAX_ATTRIBUTION_CHARACTERS = 300
"""A longer line is no attribution, and is not searched for one."""

MAX_LIST_ITEM_CHARACTERS = 200
"""A longer item of a list is parted into its sentences."""

MAX_CODE_LINE_CHARACTERS = 300
"""A longer line is no definition, and no row of a table with commas."""

MIN_DELIMITED_ROWS = 4
"""So many lines in a row with as many commas or semicolons are a table: fewer may be sentences."""

MAX_SENTENCE_CHARACTERS, PART_CHARACTERS = 600, 160
"""A longer sentence is parted, and how long its parts are at least."""

QUOTE_WEIGHT = -0.5
"""A quoted line comes behind the author's own words that share as many words with the query."""

TABLE_LANGUAGES = ("csv", "tsv")
"""The languages of fenced blocks that are tables."""

DEFINITION_WEIGHT, FAILED_WEIGHT, WARNING_WEIGHT = 0.5, 3.0, 1.0
"""The weights of a definition in code, and of a log's errors and warnings. A sentence with as many words of the query
as the number says stands as high."""

_LINE = re.compile(r"[^\n]*\n(?:[^\S\n]*\n)*|[^\n]+\Z")
"""A line with the blank lines behind it."""

_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]+[\"'»”)\]]*(?=\s)\s*|[。！？]+[\"'»”)\]]*\s*")
_BREAK = re.compile(r"""\s+|(?<=[>},;])(?=[<{\["])""")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_MODIFIER = "export|default|public|private|protected|internal|static|async|abstract|final|override|pub"
_DEFINITION = re.compile(
    rf"\s*(?:(?:{_MODIFIER})\s+)*(?:"
    r"(?:def|class|function|func|fn|impl|struct|interface|enum|trait|type|module)\b"
    r"|(?:const|let|var)\s+\w+\s*=\s*(?:async\b\s*)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)"
    r"|(?!(?:if|else|for|while|switch|catch|return|do|try|with|using)\b)[\w<>\[\].*&:]+(?:\s+[\w<>\[\].*&:]+)*\s*"
    r"\([^()]*\)[\w\s:<>,]*\{\s*$)"
)
_CLOSING = re.compile(r"\s*(?:[)}\]]+[;,]?|end)\s*$")
_TOP_LEVEL = re.compile(r"[@})\]]|end\b|(?:import|from|package|use|using|#include)\b|//|/\*|#\s*\w")
"""What stands unindented between definitions in code without fences."""
_LOG_LINE = re.compile(
    r"\s*\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b)"
)
_FAILED = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|SEVERE|PANIC)\b|\blevel=(?:error|fatal)\b")
_WARNING = re.compile(r"\bWARN(?:ING)?\b|\blevel=warn")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+\S")
_LIST_MARK = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+")
_QUOTED = re.compile(r"\s*>")
_ATTRIBUTION = re.compile(
    r"\s*(?:On\b.*\bwrote|Am\b.*\bschrieb\b.*|El\b.*\bescribi[óo]|Le\b.*a écrit)\s*:\s*$"
    r"|\s*-{3,}\s*(?:Original Message|Forwarded message|Ursprüngliche Nachricht|Mensaje original)\s*-{3,}\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ContentUnit:
    """A part of a text that stands whole or not at all.

    Attributes:
        text: Its text, with the white space behind it.
        kind: The kind of content that it is from.
        weight: How much it says beside the words that it shares with a query; 1 is as much as one such word.
        needs: The numbers of units without which it is not understood.
    """

    text: str
    kind: ContentKind
    weight: float = 0.0
    needs: tuple[int, ...] = ()

    @property
    def is_line(self) -> bool:
        """Whether it stands on lines of its own."""
        return self.kind != "prose"


def content_units(text: str) -> list[ContentUnit]:
    """The units of a text, in their order. Together they are the text, without blank lines before it."""
    return _one_root_error(_units(_lines(text), 0))


def _lines(text: str) -> list[str]:
    return [line for found in _LINE.finditer(text) if (line := found.group()).strip()]


def _units(lines: Sequence[str], offset: int, in_code: bool = False) -> list[ContentUnit]:
    """The units of lines. ``offset`` is the number of the first among all of the text."""
    units: list[ContentUnit] = []
    at = plain = 0

    def end_plain(end: int) -> None:
        nonlocal plain
        rest = lines[plain:end]
        units.extend(_code(rest, offset + len(units)) if in_code else _prose(rest))

    while at < len(lines):
        section = _section(lines, at, in_code)
        if section is None:
            at += 1
            continue
        end_plain(at)
        end, kind = section
        first = offset + len(units)
        part = lines[at:end]
        if kind == "trace":
            _, parts = read_trace(lines, at) or (end, [])
            units += [ContentUnit(one.text, "trace", one.weight) for one in parts]
        elif kind == "code":
            units += _fenced(part, first) if _FENCE.match(part[0]) else _code(part, first)
        elif kind == "log":
            units += _log(part)
        elif kind == "table":
            units += _table(part, first)
        else:
            units += _quoted(part, first)
        at = plain = end
    end_plain(at)
    return units


def _section(lines: Sequence[str], at: int, in_code: bool) -> tuple[int, ContentKind] | None:
    """The end and the kind of a section that begins with the line ``at``; None for prose, lists and lines of code."""
    line = lines[at]
    if (trace := read_trace(lines, at)) is not None:
        return trace[0], "trace"
    if _LOG_LINE.match(line) and sum(map(bool, map(_LOG_LINE.match, lines[at : at + MIN_LOG_LINES]))) == MIN_LOG_LINES:
        return _log_end(lines, at), "log"
    if in_code:
        return None
    if fence := _FENCE.match(line):
        mark = fence.group(1)
        closing = (i for i in range(at + 1, len(lines)) if _closes(lines[i], mark))
        return next(closing, len(lines) - 1) + 1, "code"
    if "|" in line and at + 1 < len(lines) and _is_table_rule(lines[at + 1]):
        return _run_end(lines, at, lambda one: "|" in one), "table"
    if "\t" in line.strip() and at + 1 < len(lines) and _columns(line, "\t") == _columns(lines[at + 1], "\t"):
        return _run_end(lines, at, lambda one: _columns(one, "\t") == _columns(line, "\t")), "table"
    if (mark := next((mark for mark in ";," if _is_delimited(lines, at, mark)), None)) is not None:
        return _run_end(lines, at, lambda one: _columns(one, mark) == _columns(line, mark)), "table"
    if _begins_code(lines, at):
        return _run_end(lines, at, _is_code_beside_definitions), "code"
    if _QUOTED.match(line) or (
        _is_attribution(line) and at + 1 < len(lines) and (_QUOTED.match(lines[at + 1]) or "---" in line)
    ):
        to_the_end = "---" in line and not _QUOTED.match(line)
        return len(lines) if to_the_end else _run_end(lines, at, _QUOTED.match), "quote"
    return None


def _run_end(lines: Sequence[str], at: int, belongs: Callable[[str], object]) -> int:
    """The index behind the lines after ``at`` that belong to it."""
    end = at + 1
    while end < len(lines) and belongs(lines[end]):
        end += 1
    return end


def _log_end(lines: Sequence[str], at: int) -> int:
    """A log goes on with indented lines; a stack trace in it is a section of its own."""
    end = at + 1
    while end < len(lines) and (_LOG_LINE.match(lines[end]) or lines[end][:1].isspace()):
        if read_trace(lines, end) is not None:
            break
        end += 1
    return end


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return stripped.startswith(mark) and not stripped.strip(mark[0])


def _is_attribution(line: str) -> bool:
    """Whether a line says whose words are quoted behind it."""
    return len(line) <= MAX_ATTRIBUTION_CHARACTERS and _ATTRIBUTION.match(line) is not None


def _is_table_rule(line: str) -> bool:
    """Whether a line parts the header of a Markdown table from its rows."""
    return "|" in line and "-" in line and not line.strip("|:- \t\r\n")


def _columns(line: str, mark: str) -> int:
    return line.strip().count(mark)


def _is_delimited(lines: Sequence[str], at: int, mark: str) -> bool:
    """Whether a table with commas or semicolons begins here: rows that are no sentences, with as many columns."""
    columns = _columns(lines[at], mark)
    rows = lines[at : at + MIN_DELIMITED_ROWS]
    return (
        bool(columns)
        and len(rows) == MIN_DELIMITED_ROWS
        and all(
            len(row) <= MAX_CODE_LINE_CHARACTERS
            and not _LIST_ITEM.match(row)
            and _columns(row, mark) == columns
            and not row.rstrip().endswith((mark, ".", "!", "?", ":", "{"))
            for row in rows
        )
    )


def _is_definition(line: str) -> bool:
    return len(line) <= MAX_CODE_LINE_CHARACTERS and _DEFINITION.match(line) is not None


def _begins_code(lines: Sequence[str], at: int) -> bool:
    """Whether code without fences begins here: a definition with an indented line behind it."""
    line = lines[at]
    return (
        line.rstrip().endswith(("{", ":", "(", ")"))
        and at + 1 < len(lines)
        and _indent(lines[at + 1]) > _indent(line)
        and _is_definition(line)
    )


def _is_code_beside_definitions(line: str) -> bool:
    return line[:1].isspace() or _TOP_LEVEL.match(line) is not None or _is_definition(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _prose(lines: Iterable[str]) -> list[ContentUnit]:
    """Sentences, items of lists, and indented lines as a whole."""
    units: list[ContentUnit] = []
    for line in lines:
        if mark := _LIST_MARK.match(line) if _LIST_ITEM.match(line) else None:
            if len(line) <= MAX_LIST_ITEM_CHARACTERS:
                units.append(ContentUnit(line, "list"))
            else:
                first, *rest = _sentences(line[mark.end() :])
                units.append(ContentUnit(mark.group() + first, "list"))
                units += [ContentUnit(sentence, "prose") for sentence in rest]
        elif _INDENTED.match(line):
            units.append(ContentUnit(line, "code"))
        elif line.startswith(f"{UNVERIFIED}:"):
            # Its mark holds for the whole line.
            units.append(ContentUnit(line, "prose"))
        else:
            units += [ContentUnit(sentence, "prose") for sentence in _sentences(line)]
    return units


def _sentences(line: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for found in _SENTENCE_END.finditer(line):
        if found.group().rstrip() == "." and is_inner_stop(line, found.start()):
            continue
        sentences.append(line[start : found.end()])
        start = found.end()
    if start < len(line):
        sentences.append(line[start:])
    return [part for sentence in sentences for part in _parts(sentence)]


def _parts(sentence: str) -> list[str]:
    """A sentence, or the parts of one that is too long to be kept whole: speech without punctuation, a page in a line.
    They end between two words or values."""
    if len(sentence) <= MAX_SENTENCE_CHARACTERS:
        return [sentence]
    parts: list[str] = []
    start = 0
    for found in _BREAK.finditer(sentence):
        if found.end() - start >= PART_CHARACTERS:
            parts.append(sentence[start : found.end()])
            start = found.end()
    return [*parts, sentence[start:]] if start < len(sentence) else parts


def _fenced(lines: Sequence[str], first: int) -> list[ContentUnit]:
    """A fenced block: what stands of it stands between its fences."""
    mark = _FENCE.match(lines[0])
    closed = len(lines) > 1 and mark is not None and _closes(lines[-1], mark.group(1))
    body = lines[1:-1] if closed else lines[1:]
    is_table = body and lines[0].strip().lower().endswith(TABLE_LANGUAGES)
    inner = _table(body, first + 1) if is_table else _units(body, first + 1, in_code=True)
    fences = (first, first + 1 + len(inner)) if closed else (first,)
    units = [ContentUnit(lines[0], "code", QUOTE_WEIGHT)]
    units += [replace(unit, needs=(*unit.needs, *fences)) for unit in inner]
    return [*units, ContentUnit(lines[-1], "code", QUOTE_WEIGHT, (first,))] if closed else units


def _code(lines: Sequence[str], first: int) -> list[ContentUnit]:
    """Lines of code, each with the definitions that it is a part of."""
    units: list[ContentUnit] = []
    open_definitions: list[tuple[int, int]] = []  # indentation, number
    for line in lines:
        indent, closed = _indent(line), None
        while open_definitions and open_definitions[-1][0] >= indent:
            closed = open_definitions.pop()
        if closed is not None and closed[0] == indent and _CLOSING.match(line):
            needs: tuple[int, ...] = (closed[1],)
        else:
            needs = (open_definitions[-1][1],) if open_definitions else ()
        definition = _is_definition(line)
        if definition:
            open_definitions.append((indent, first + len(units)))
        units.append(ContentUnit(line, "code", DEFINITION_WEIGHT if definition else 0.0, needs))
    return units


def _log(lines: Sequence[str]) -> list[ContentUnit]:
    """Lines of a log with the indented lines behind them: errors and warnings first, then the last lines."""
    entries: list[str] = []
    for line in lines:
        if _LOG_LINE.match(line) or not entries:
            entries.append(line)
        else:
            entries[-1] += line
    return [ContentUnit(entry, "log", _log_weight(entry) + nth / len(entries) / 2) for nth, entry in enumerate(entries)]


def _log_weight(entry: str) -> float:
    if _FAILED.search(entry):
        return FAILED_WEIGHT
    return WARNING_WEIGHT if _WARNING.search(entry) else 0.0


def _table(lines: Sequence[str], first: int) -> list[ContentUnit]:
    """Rows, each with the header."""
    head = 2 if len(lines) > 1 and _is_table_rule(lines[1]) else 1
    rows = [ContentUnit(row, "table", needs=(first,)) for row in lines[head:]]
    return [ContentUnit("".join(lines[:head]), "table"), *rows]


def _quoted(lines: Sequence[str], first: int) -> list[ContentUnit]:
    """Quoted lines, each with the line that says whose words they are."""
    attributed = not _QUOTED.match(lines[0])
    needs = (first,) if attributed else ()
    return [ContentUnit(line, "quote", QUOTE_WEIGHT, needs if nth else ()) for nth, line in enumerate(lines)]


def _one_root_error(units: Sequence[ContentUnit]) -> list[ContentUnit]:
    """Of several stack traces the last has the error that matters most, and equal errors count once."""
    seen: set[str] = set()
    weighed = list(units)
    for number in range(len(units) - 1, -1, -1):
        unit = units[number]
        if unit.kind != "trace" or unit.weight < OUTER_ERROR_WEIGHT:
            continue
        text = unit.text.strip()
        weight = 0.0 if text in seen else OUTER_ERROR_WEIGHT if seen else ERROR_WEIGHT
        weighed[number] = replace(unit, weight=weight)
        seen.add(text)
    return weighed
