"""Pages of the web, and files of plain text (txt, md, csv)."""

from __future__ import annotations

import io
from collections.abc import Iterator

from appliance.formats import markup
from appliance.formats import text as texts
from appliance.formats.base import Document
from appliance.formats.documents.passages import numbered_lines, numbered_parts
from appliance.types.documents import PageText


def read(data: bytes) -> Iterator[PageText]:
    """Yield a text in parts that are named by their lines."""
    return numbered_lines(_decoded(data))


def read_html(data: bytes) -> Iterator[PageText]:
    """Yield what a person saw of a page, in parts of a page's length."""
    return numbered_parts(markup.text_of(_decoded(data)))


def _decoded(data: bytes) -> str:
    document = Document("", len(data), lambda: io.BytesIO(data))
    with texts.utf8(document) as (stream, _):
        text, _ = texts.decoded(stream.read(), texts.encoding_of(document))
    return text.replace("\r\n", "\n").replace("\r", "\n")
