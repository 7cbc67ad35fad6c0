"""The rows of a Google activity export, from its JSON or from its page.

A page can be a hundred megabytes on one line: it is cut at its cells while it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any

from appliance.ingest.parse import gemini_words as words
from appliance.ingest.parse import jsonstream, markup
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document
from appliance.ingest.parse.fields import as_dict, as_list, as_text
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import read_time
from appliance.types import Problem

FIRST_KEYS = (("header", "title"), ("header", "titleUrl"))
CELL = re.compile(r"<div\b[^>]{0,300}\bouter-cell\b")

_CELL = re.compile(CELL.pattern.encode("ascii"))
_END = re.compile(rb"</(?:html|body)\s*>", re.IGNORECASE)
_LONGEST_START = 512
# No answer is this long; a page without cells must not fill the memory.
_MAX_CELL_BYTES = 64 << 20
_HEADER = re.compile(r"<div\b[^>]*\bheader-cell\b[^>]*>")
_CONTENT = re.compile(r"<div\b[^>]*\bcontent-cell\b[^>]*>")
_DIV = re.compile(r"<(/?)div\b", re.IGNORECASE)
_BOLD = re.compile(r"<b>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BLOCK = re.compile(r"<(?:p|div|ul|ol|h[1-6]|pre|table|blockquote|hr|img|code-block)\b", re.IGNORECASE)
_LINK = re.compile(r"<a\b[^>]*\bhref\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^>]*\bsrc\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_FILE_LINE = re.compile(r"\s*(?:-|–|•)(?:\s|&nbsp;|&emsp;)*<a\b", re.IGNORECASE)
_CONVERSATION = re.compile(r"gemini\.google\.com/(?:u/\d+/)?(?:app|gem/[^/?#\s\"']+)/(?:c_)?([0-9A-Za-z_-]+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One activity: what was done in which product, and what came back.

    ``labels`` name the product, ``conversations`` are the ids that the row links to; ``files`` came with
    the title, ``images`` with the answer. ``stated`` is the time as the export spells it.
    """

    where: str
    labels: tuple[str, ...]
    title: str
    answer: str = ""
    time: datetime | None = None
    stated: str = ""
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()


def rows(document: Document) -> Iterator[Row | Problem]:
    """The rows of either form, in the order of the file."""
    try:
        with texts.utf8(document) as (stream, _):
            begins = stream.read(_LONGEST_START).lstrip()[:1]
    except texts.READ_ERRORS:
        begins = b""
    yield from _page(document) if begins == b"<" else _records(document)


# --- JSON -----------------------------------------------------------------------------------------


def _records(document: Document) -> Iterator[Row | Problem]:
    for value in jsonstream.records(document, FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
            continue
        where = f"row {value.number}"
        if not isinstance(value.data, dict):
            yield Problem(where, f"not an object but a {type(value.data).__name__}; passed over")
        elif not is_whole(value.data):
            yield Problem(where, "the row is damaged or cut off; passed over")
        else:
            yield from _record(value.data, where)


def _record(data: dict[str, Any], where: str) -> Iterator[Row | Problem]:
    title = data.get("title")
    if title is not None and not isinstance(title, str):
        yield Problem(where, f"the title is a {type(title).__name__}, not a text; left out")
    given = data.get("safeHtmlItem")
    if given is not None and not isinstance(given, list | str | dict):
        yield Problem(where, f"safeHtmlItem is a {type(given).__name__}, not a list; left out")
    answers = [
        item if isinstance(item, str) else as_text(as_dict(item).get("html"))
        for item in (given if isinstance(given, list) else [given])
    ]
    images = _unique(name for answer in answers for name in _image_names(answer))
    files = [_file_name(as_text(as_dict(sub).get("url"))) for sub in as_list(data.get("subtitles"))]
    files += [as_text(name) for name in (*as_list(data.get("attachedFiles")), data.get("imageFile"))]
    links = [as_text(data.get("titleUrl"))]
    links += [as_text(as_dict(detail).get("url")) for detail in as_list(data.get("details"))]
    stated = data.get("time")
    yield Row(
        where,
        tuple(as_text(label) for label in (data.get("header"), *as_list(data.get("products")))),
        as_text(title),
        "\n\n".join(text for answer in answers if (text := markup.text_of(answer))),
        read_time(stated, UTC),
        "" if stated is None else str(stated),
        tuple(name for name in _unique(files) if name not in images),
        tuple(images),
        tuple(_conversations(links)),
    )


# --- the page -------------------------------------------------------------------------------------


def _page(document: Document) -> Iterator[Row | Problem]:
    encoding: texts.Encoding | None = None
    for number, piece in enumerate(_cells(document), 1):
        if isinstance(piece, Problem):
            yield piece
            continue
        where = f"row {number}"
        if encoding is None and not jsonstream.is_utf8(piece):
            encoding = texts.encoding_of(document)
        html, readable = texts.decoded(piece, encoding or "utf-8")
        if not readable:
            yield Problem(where, "bytes that are not UTF-8 were replaced by U+FFFD")
        yield from _cell(html, where)


def _cells(document: Document) -> Iterator[bytes | Problem]:
    """The page cut where cells begin; what stands before the first one is no cell."""
    try:
        with texts.utf8(document) as (stream, raw):
            held = b""
            begun = False
            looked = 0
            while chunk := stream.read(texts.CHUNK):
                held += chunk
                while found := _CELL.search(held, looked):
                    if begun:
                        yield held[: found.start()]
                    begun = True
                    held = held[found.start() :]
                    looked = 1
                if not begun:
                    held = held[-_LONGEST_START:]
                elif len(held) > _MAX_CELL_BYTES:
                    yield Problem("", "a row is too long to be a message and was left out")
                    begun, held = False, held[-_LONGEST_START:]
                looked = max(1 if begun else 0, len(held) - _LONGEST_START)
            if begun:
                yield held
            if begun and raw.failure is None and not _END.search(held):
                yield Problem("", "the page is cut off; rows may be missing")
            if raw.failure is not None:
                yield Problem("", f"reading stopped: {jsonstream.explained(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {jsonstream.explained(error)}")


def _cell(html: str, where: str) -> Iterator[Row | Problem]:
    header = _HEADER.search(html)
    contents = list(_CONTENT.finditer(html))
    if not contents:
        yield Problem(where, "the row is damaged or cut off; passed over")
        return
    label = markup.text_of(html[header.end() : contents[0].start()]) if header else ""
    rest = [html[one.end() : other] for one, other in _stretches(contents, len(html))]
    main, whole = _inside(rest[0])
    whole = whole or len(rest) > 1
    caption = " ".join(_inside(part)[0] for part in rest[1:])
    links = unescape(caption)
    # Products stand first; what comes after the next heading may name others.
    products = markup.text_of("".join(_BOLD.split(caption)[:2]))
    title, files, stated, answer = _told(main)
    if not whole:
        if not stated:
            yield Problem(where, "the row is damaged or cut off; passed over")
            return
        yield Problem(where, "the answer is damaged or cut off; left out")
        answer = ""
    yield Row(
        where,
        (label, products),
        title,
        markup.text_of(answer),
        words.read_date(stated),
        stated,
        tuple(files),
        tuple(_unique(_image_names(answer))),
        tuple(_conversations([links])),
    )


def _stretches(found: list[re.Match[str]], end: int) -> Iterator[tuple[re.Match[str], int]]:
    for n, one in enumerate(found):
        yield one, found[n + 1].start() if n + 1 < len(found) else end


def _inside(html: str) -> tuple[str, bool]:
    """What is inside of a div that was opened before ``html``, and whether its end was there."""
    depth = 1
    for tag in _DIV.finditer(html):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return html[: tag.start()], True
    return html, False


def _told(html: str) -> tuple[str, list[str], str, str]:
    """The title, its files, the date as it is spelled, and the HTML of the answer.

    The date is the last line before the answer's first block that is nothing but a date: what comes
    before it is the person's, and may hold dates as well."""
    block = _BLOCK.search(html)
    head = html[: block.start()] if block else html
    pieces: list[tuple[int, str]] = []
    at = 0
    for found in _BREAK.finditer(head):
        pieces.append((found.end(), head[at : found.start()]))
        at = found.end()
    pieces.append((len(head), head[at:]))
    lines = [markup.text_of(piece) for _, piece in pieces]
    dated = next((n for n in range(len(lines) - 1, 0, -1) if words.is_date(lines[n])), None)
    before = len(lines) if dated is None else dated
    listed = [n for n in range(1, before) if _FILE_LINE.match(pieces[n][1])]
    files = [
        name
        for n in listed
        if (link := _LINK.search(pieces[n][1])) and (name := _file_name(unescape(link[1])) or lines[n])
    ]
    # The line before the files counts them.
    last = max(1, listed[0] - 1) if listed else before
    title = "\n".join(lines[:last])
    if dated is None:
        return title, _unique(files), "", html[len(head) :]
    return title, _unique(files), lines[dated], html[pieces[dated][0] :]


# --- both -----------------------------------------------------------------------------------------


def _image_names(html: str) -> Iterator[str]:
    for source in _IMAGE.findall(html):
        if name := _file_name(unescape(source)):
            yield name


def _file_name(url: str) -> str:
    """A file that lies beside the export; what is elsewhere is a link, not a file."""
    return "" if re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE) else url.rpartition("/")[2]


def _conversations(links: list[str]) -> list[str]:
    return _unique(found for link in links for found in _CONVERSATION.findall(link))


def _unique(values: Iterator[str] | list[str]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))
