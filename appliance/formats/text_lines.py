"""Text files line by line, in any encoding: what the formats of plain text share."""

from __future__ import annotations

from collections.abc import Iterator

from appliance.formats import json_stream
from appliance.formats import text as texts
from appliance.formats.base import Document
from appliance.types import InputProblem

CP1252_NOTE = InputProblem("", "read as Windows-1252, because the file is not UTF-8", harmless=True)


def collect_lines(
    document: Document, encoding: texts.Encoding, problems: list[InputProblem]
) -> Iterator[tuple[int, str]]:
    """The lines, numbered from 1, without their ends; blank ones too. Problems are appended to ``problems``."""
    for line in json_stream.lines(document, blank=True):
        if isinstance(line, InputProblem):
            problems.append(line)
            continue
        number, data = line
        text, is_readable = texts.decoded(data, encoding)
        if not is_readable:
            problems.append(_undecodable(number))
        yield number, text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


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
