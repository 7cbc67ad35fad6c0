"""Text files line by line, in whatever encoding they are: what the formats of plain logs share."""

from __future__ import annotations

from collections.abc import Iterator

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document
from appliance.types import Problem


def text_lines(document: Document) -> Iterator[tuple[int, str] | Problem]:
    """The lines of a document, numbered from 1, without their ends; blank ones, too.

    Lines end at line feeds only (and lose a carriage return before it). What can't be read is named.
    """
    try:
        encoding = texts.encoding_of(document)
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {jsonstream.explained(error)}")
        return
    if encoding == "cp1252":
        yield Problem("", "read as Windows-1252, as the file is not UTF-8", harmless=True)
    for line in jsonstream.lines(document, blank=True):
        if isinstance(line, Problem):
            yield line
            continue
        number, data = line
        text, readable = texts.decoded(data, encoding)
        if not readable:
            yield Problem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD")
        text = text.removesuffix("\n").removesuffix("\r")
        yield number, texts.without_surrogates(text) if texts.has_surrogates(text) else text
