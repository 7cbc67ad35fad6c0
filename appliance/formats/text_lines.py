"""Text files line by line, in any encoding: what the formats of plain text share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from appliance.formats import json_stream
from appliance.formats import text as texts
from appliance.formats.base import Document
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem

CP1252_NOTE = InputProblem("", "read as Windows-1252, because the file is not UTF-8", harmless=True)


def collect_lines(
    document: Document, encoding: texts.Encoding, problems: list[InputProblem], *, with_returns: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines, numbered from 1, without their ends; blank ones too. ``with_returns`` keeps a carriage return at the
    end of a line. Problems are appended to ``problems``."""
    for line in json_stream.lines(document, blank=True):
        if isinstance(line, InputProblem):
            problems.append(line)
            continue
        number, data = line
        text, is_readable = texts.decoded(data, encoding)
        if not is_readable:
            problems.append(_undecodable(number))
        yield number, text[:-2] if text.endswith("\r\n") and not with_returns else text.removesuffix("\n")


def text_lines(document: Document) -> Iterator[tuple[int, str] | InputProblem]:
    """The lines, numbered from 1, without their ends and lone surrogates; blank ones too.

    Lines end at line feeds only, and lose a carriage return at their end."""
    try:
        encoding = texts.encoding_of(document)
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {json_stream.error_text(error)}")
        return
    if encoding == "cp1252":
        yield CP1252_NOTE
    for line in json_stream.lines(document, blank=True):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, data = line
        text, is_readable = texts.decoded(data, encoding)
        if not is_readable:
            yield _undecodable(number)
        text = text.removesuffix("\n").removesuffix("\r")
        yield number, texts.without_surrogates(text)


def _undecodable(number: int) -> InputProblem:
    return InputProblem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD")


@dataclass(slots=True)
class TextEntry:
    """A message of a text file: where its first line is, what that says, and the lines of its text. ``author`` is None
    for a notice of the app."""

    number: int
    author: str | None
    sent: datetime | None
    lines: list[str]

    @property
    def text(self) -> str:
        """The lines without blank ones at the end, which belong to the file."""
        lines = list(self.lines)
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        return "\n".join(lines)


def csv_rows(document: Document) -> Iterator[tuple[int, list[str]] | InputProblem]:
    """The rows of a table with commas, each with the number of its first line; the header too. A field may hold commas,
    quotation marks (doubled) and several lines, if it stands in quotation marks."""
    fields: list[str] = []
    # The pieces of a field in quotation marks that is not closed yet.
    pieces: list[str] | None = None
    first = 1
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line
        if pieces is None:
            text = text.removeprefix("\ufeff")
            if not text.strip():
                continue
            first, fields = number, []
        else:
            pieces.append("\n")
        at = 0
        while True:
            if pieces is None and text.startswith('"', at):
                pieces, at = [], at + 1
            if pieces is None:
                end = text.find(",", at)
                fields.append(text[at : end if end >= 0 else len(text)])
            else:
                mark = text.find('"', at)
                if mark < 0:
                    pieces.append(text[at:])
                    break
                if text[mark + 1 : mark + 2] not in ("", ","):
                    # A doubled mark is one; a single one within a field is text.
                    pieces.append(text[at : mark + 1])
                    at = mark + (2 if text[mark + 1] == '"' else 1)
                    continue
                fields.append("".join((*pieces, text[at:mark])))
                pieces, end = None, mark + 1 if mark + 1 < len(text) else -1
            if end < 0:
                yield first, fields
                break
            at = end + 1
    if pieces is not None:
        yield InputProblem(f"line {first}", "the file ends within a field in quotation marks; its text was imported")
        yield first, [*fields, "".join(pieces)]
