"""Gemini: "My Activity" of Gemini Apps from Google Takeout, as JSON or as an HTML page.

A page can be a hundred megabytes on one line: it is split into cells while it is read. A row is a prompt with its
answer. Rows that link to conversations belong to those, other rows to a session a day. A row that is no prompt (a
used feature, feedback) has role ``system``. Rows of other products are skipped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime
from html import unescape
from itertools import chain, islice, pairwise
from typing import Any

from appliance.formats import gemini_words as words
from appliance.formats import json_fields, json_stream, markup, unknown_text
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, object_problem, unreadable_time, with_attachments
from appliance.formats.records import counted
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_PRODUCT = re.compile(r"\b(?:Gemini|Bard)\b", re.IGNORECASE)
_NAME = re.compile(r"gemini|bard", re.IGNORECASE)
_ROW_KEYS = frozenset({"header", "title", "time"})
_SIDE_KEYS = frozenset({"products", "titleUrl", "activityControls", "safeHtmlItem", "subtitles", "details"})
_PAGE = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
# The style sheet of the page alone can be longer than what detection sees.
_STYLES = re.compile(r"material-design-lite|\.mdl-")
# How many rows show the verbs of the account's language.
_ROWS_READ_AHEAD = 60
_UNDATED = "undated"
_FIRST_KEYS = (("header", "title"), ("header", "titleUrl"))
_CELL = re.compile(r"<div\b[^>]{0,300}\bouter-cell\b")

_CELL_BYTES = re.compile(_CELL.pattern.encode("ascii"))
_END = re.compile(rb"</(?:html|body)\s*>", re.IGNORECASE)
_LONGEST_START = 512
_DAMAGED_ROW = "the row is damaged or cut off; skipped"
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
class _ActivityRow:
    """One activity: its product, what the person did, and the answer.

    ``labels`` name the product, ``conversations`` are the ids that the row links to. ``files`` belong to
    the title, ``images`` to the answer. ``time_text`` is the time as the export spells it.
    """

    where: str
    labels: tuple[str, ...]
    title: str
    answer: str = ""
    time: datetime | None = None
    time_text: str = ""
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()


def matches(head: DocumentHead) -> float:
    """How surely this is activity of Gemini: other products' files look the same."""
    named = bool(_NAME.search(head.name))
    if _PAGE.match(head.text.removeprefix("\ufeff")):
        cell = _CELL.search(head.text)
        if cell is None:
            return (0.85 if named else 0.5) if head.truncated and _STYLES.search(head.text) else 0.0
        return 0.95 if _PRODUCT.search(head.text, cell.start()) else 0.6 if named else 0.3
    best = 0.0
    for record in json_stream.preview(head.text):
        if (
            isinstance(record, dict)
            and _ROW_KEYS & record.keys()
            and _SIDE_KEYS & record.keys()
            and len((_ROW_KEYS | _SIDE_KEYS) & record.keys()) > 2
        ):
            labels = [as_text(label) for label in (record.get("header"), *as_list(record.get("products")))]
            is_sure = _is_gemini(labels) and record.keys() >= _ROW_KEYS
            best = max(best, 0.95 if is_sure else 0.8 if _is_gemini(labels) else 0.6 if named else 0.3)
    return best


@dataclass(slots=True)
class _SessionGroups:
    """The sessions so far, and digests of their rows by session and id."""

    sessions: set[str] = field(default_factory=set)
    digests: dict[tuple[str, str], str] = field(default_factory=dict)


def parse(document: Document) -> Iterator[Record]:
    """Prompts and answers in the order of the file, each session before its first row."""
    stream = _rows(document)
    ahead = list(islice(stream, _ROWS_READ_AHEAD))
    ours = [row for row in ahead if isinstance(row, _ActivityRow) and _is_ours(row)]
    learned = words.verbs_of(row.title for row in ours if row.answer or row.images)
    bare = not learned and not any(words.is_known(row.title) for row in ours)
    others: Counter[str] = Counter()
    groups = _SessionGroups()
    for row in chain(ahead, stream):
        if isinstance(row, InputProblem):
            yield row
        elif not _is_ours(row):
            others[row.labels[0] if row.labels and row.labels[0] else "unnamed"] += 1
        else:
            yield from _row(row, learned, bare, groups)
    for product, count in sorted(others.items()):
        yield InputProblem("", f"skipped {counted(count, 'row')} of another product ({product[:60]})", harmless=True)


def _is_gemini(labels: list[str] | tuple[str, ...]) -> bool:
    return any(_PRODUCT.search(label) for label in labels)


def _is_ours(row: _ActivityRow) -> bool:
    return _is_gemini(row.labels) or (bool(row.conversations) and not any(row.labels))


def _row(row: _ActivityRow, learned: frozenset[str], bare: bool, groups: _SessionGroups) -> Iterator[Record]:
    """The messages of a row. In a ``bare`` export, titles are prompts without a verb."""
    if row.time is None and row.time_text:
        yield unreadable_time(row.where, row.time_text)
    elif row.time is None:
        yield InputProblem(row.where, "the row has no time", harmless=True)
    prompt = words.without_verb(row.title, learned)
    if prompt is None and bare and (row.answer or row.images or row.files or row.conversations):
        prompt = row.title
    files = [{"name": name} for name in row.files]
    images = [{"name": name} for name in row.images]
    role: Role = "system" if prompt is None else "user"
    text = with_attachments(row.title if prompt is None else prompt, files)
    answer = with_attachments(row.answer, images)
    if not text.strip() and not answer.strip():
        yield InputProblem(row.where, "the row is empty; skipped", harmless=True)
        return
    digest = hashlib.sha256("\0".join((row.title, row.answer)).encode("utf-8", "replace")).hexdigest()[:32]
    for session, title in _sessions(row):
        identity, is_copy = _own_id(groups.digests, session, _moment(row), digest)
        if is_copy:
            yield InputProblem(row.where, "the row occurs twice; skipped", harmless=True)
            continue
        if session not in groups.sessions:
            groups.sessions.add(session)
            yield SessionRecord(session, title)
        if text.strip():
            metadata = {"attachments": files} if files else {}
            yield MessageRecord(session, role, text, identity, None, row.time, None, metadata, row.where)
        if answer.strip():
            own = f"{identity}-answer" if identity else None
            prompt_id = identity if text.strip() else None
            metadata = {"attachments": images} if images else {}
            yield MessageRecord(session, "assistant", answer, own, None, row.time, prompt_id, metadata, row.where)


def _own_id(
    digests: dict[tuple[str, str], str], session: str, moment: str | None, digest: str
) -> tuple[str | None, bool]:
    """A row's id in a session, and whether the session has the same row already."""
    if moment is None:
        return None, False
    for identity in (moment, f"{moment}-{digest[:8]}"):
        known = digests.get((session, identity))
        if known is None or known == digest:
            digests[session, identity] = digest
            return identity, known is not None
    return None, False


def _moment(row: _ActivityRow) -> str | None:
    """A row's id: its time to the second, which the JSON and the page have in common."""
    if row.time is None:
        return None
    return row.time.replace(microsecond=0, tzinfo=None).isoformat() + ("Z" if row.time.tzinfo else "")


def _sessions(row: _ActivityRow) -> list[tuple[str, str | None]]:
    """The ids and titles of a row's sessions: its conversations, else its day.

    A row before a fork is part of several conversations, and none of them is whole without it."""
    if row.conversations:
        return [(f"gemini:{conversation}", None) for conversation in row.conversations]
    if row.time is None:
        return [(f"gemini:{_UNDATED}", f"Gemini, {_UNDATED}")]
    time = row.time.astimezone(UTC) if row.time.tzinfo else row.time
    day = time.date().isoformat()
    return [(f"gemini:{day}", f"Gemini, {day}")]


# --- rows -------------------------------------------------------------------------------------------


def _rows(document: Document) -> Iterator[_ActivityRow | InputProblem]:
    """The rows of either form, in the order of the file."""
    try:
        with texts.utf8(document) as (stream, _):
            first = stream.read(_LONGEST_START).lstrip()[:1]
    except texts.READ_ERRORS:
        first = b""
    yield from _page(document) if first == b"<" else _records(document)


def _records(document: Document) -> Iterator[_ActivityRow | InputProblem]:
    for value in json_stream.records(document, _FIRST_KEYS):
        if isinstance(value, InputProblem):
            yield value
            continue
        where = f"row {value.number}"
        problem = object_problem(value.data, where, "row")
        yield from [problem] if problem else _record(value.data, where)


def _record(data: dict[str, Any], where: str) -> Iterator[_ActivityRow | InputProblem]:
    title = data.get("title")
    if not isinstance(title, str) and (title is not None or data.keys() & set(unknown_text.TEXT_KEYS)):
        if title := unknown_text.text_of(title) or unknown_text.text_under_text_keys(data):
            yield unknown_text.kept(where, "title")
        else:
            yield unknown_text.lost(where, "title")
    items = data.get("safeHtmlItem")
    if items is not None and not isinstance(items, list | str | dict):
        yield InputProblem(where, f"safeHtmlItem is {json_fields.json_type(items)}, not a list; left out")
    items = items if isinstance(items, list) else [items]
    answers: list[str] = []
    for item in items:
        answer = item if isinstance(item, str) else as_text(as_dict(item).get("html"))
        if not answer and (answer := unknown_text.text_of(item)):
            yield unknown_text.kept(where, "safeHtmlItem")
        answers.append(answer)
    images = _unique(name for answer in answers for name in _image_names(answer))
    files = [_file_name(as_text(as_dict(sub).get("url"))) for sub in as_list(data.get("subtitles"))]
    files += [as_text(name) for name in (*as_list(data.get("attachedFiles")), data.get("imageFile"))]
    links = [as_text(data.get("titleUrl"))]
    links += [as_text(as_dict(detail).get("url")) for detail in as_list(data.get("details"))]
    time_text = data.get("time")
    products = tuple(as_text(label) for label in (data.get("header"), *as_list(data.get("products"))))
    answer = "\n\n".join(text for html in answers if (text := markup.text_of(html)))
    yield _ActivityRow(
        where, products, as_text(title), answer, read_time(time_text, UTC), "" if time_text is None else str(time_text),
        tuple(name for name in _unique(files) if name not in images), tuple(images), tuple(_conversations(links)),
    )  # fmt: skip


# --- the page -------------------------------------------------------------------------------------


def _page(document: Document) -> Iterator[_ActivityRow | InputProblem]:
    encoding: texts.Encoding | None = None
    for number, cell in enumerate(_cells(document), 1):
        if isinstance(cell, InputProblem):
            yield cell
            continue
        where = f"row {number}"
        if encoding is None and not json_stream.is_utf8(cell):
            encoding = texts.encoding_of(document)
        html, readable = texts.decoded(cell, encoding or "utf-8")
        if not readable:
            yield InputProblem(where, "bytes that are not UTF-8 were replaced by U+FFFD")
        yield from _cell(html, where)


def _cells(document: Document) -> Iterator[bytes | InputProblem]:
    """The page, split where cells begin; the text before the first one is no cell."""
    try:
        with texts.utf8(document) as (stream, raw):
            buffer = b""
            begun = False
            searched = 0
            while chunk := stream.read(texts.CHUNK_BYTES):
                buffer += chunk
                while match := _CELL_BYTES.search(buffer, searched):
                    if begun:
                        yield buffer[: match.start()]
                    begun = True
                    buffer = buffer[match.start() :]
                    searched = 1
                if not begun:
                    buffer = buffer[-_LONGEST_START:]
                elif len(buffer) > _MAX_CELL_BYTES:
                    yield InputProblem("", "a row is too long to be a message and was left out")
                    begun, buffer = False, buffer[-_LONGEST_START:]
                searched = max(1 if begun else 0, len(buffer) - _LONGEST_START)
            if begun:
                yield buffer
            if begun and raw.failure is None and not _END.search(buffer):
                yield InputProblem("", "the page is cut off; rows may be missing")
            if raw.failure is not None:
                yield InputProblem("", f"reading stopped: {json_stream.error_text(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {json_stream.error_text(error)}")


def _cell(html: str, where: str) -> Iterator[_ActivityRow | InputProblem]:
    header = _HEADER.search(html)
    contents = list(_CONTENT.finditer(html))
    if not contents:
        yield InputProblem(where, _DAMAGED_ROW)
        return
    label = markup.text_of(html[header.end() : contents[0].start()]) if header else ""
    ends = [*(content.start() for content in contents[1:]), len(html)]
    parts = [html[content.end() : end] for content, end in zip(contents, ends, strict=True)]
    main, is_complete = _inner_html(parts[0])
    caption = " ".join(_inner_html(part)[0] for part in parts[1:])
    # Products come first; text after the next heading may name other products.
    products = markup.text_of("".join(_BOLD.split(caption)[:2]))
    title, files, time_text, answer = _split_cell(main)
    if not is_complete and len(parts) == 1:
        if not time_text:
            yield InputProblem(where, _DAMAGED_ROW)
            return
        yield InputProblem(where, "the answer is damaged or cut off; left out")
        answer = ""
    images, conversations = _unique(_image_names(answer)), _conversations([unescape(caption)])
    yield _ActivityRow(
        where, (label, products), title, markup.text_of(answer), words.read_date(time_text), time_text, tuple(files),
        tuple(images), tuple(conversations),
    )  # fmt: skip


def _inner_html(html: str) -> tuple[str, bool]:
    """The content of a div that was opened before ``html``, and whether the div ends there."""
    depth = 1
    for tag in _DIV.finditer(html):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return html[: tag.start()], True
    return html, False


def _split_cell(html: str) -> tuple[str, list[str], str, str]:
    """The title, its files, the date as it is spelled, and the HTML of the answer.

    The date is the last line before the answer's first block that is nothing but a date: the lines before it
    are the person's, and may hold dates as well."""
    block = _BLOCK.search(html)
    head = html[: block.start()] if block else html
    breaks = [(0, 0), *(match.span() for match in _BREAK.finditer(head)), (len(head), len(head))]
    # The end of each line with its break, and the line's HTML.
    pieces = [(end, head[previous:start]) for (_, previous), (start, end) in pairwise(breaks)]
    lines = [markup.text_of(piece) for _, piece in pieces]
    dated = next((n for n in range(len(lines) - 1, 0, -1) if words.is_date(lines[n])), None)
    before = len(lines) if dated is None else dated
    listed = [n for n in range(1, before) if _FILE_LINE.match(pieces[n][1])]
    links = [(n, link) for n in listed if (link := _LINK.search(pieces[n][1]))]
    files = _unique(_file_name(unescape(link[1])) or lines[n] for n, link in links)
    # The line before the files counts them.
    last = max(1, listed[0] - 1) if listed else before
    title = "\n".join(lines[:last])
    if dated is None:
        return title, files, "", html[len(head) :]
    return title, files, lines[dated], html[pieces[dated][0] :]


def _image_names(html: str) -> Iterator[str]:
    return (name for source in _IMAGE.findall(html) if (name := _file_name(unescape(source))))


def _file_name(url: str) -> str:
    """The name of a file in the export; a file elsewhere is a link, not a file."""
    return "" if re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE) else url.rpartition("/")[2]


def _conversations(links: list[str]) -> list[str]:
    return _unique(identity for link in links for identity in _CONVERSATION.findall(link))


def _unique(values: Iterator[str] | list[str]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))
