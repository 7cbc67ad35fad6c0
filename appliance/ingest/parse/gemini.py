"""Gemini: "My Activity" of Gemini Apps out of Google Takeout, as JSON or as a page.

A row is a prompt with its answer. Rows that link to their conversations are kept in those, the others
by days. What is no prompt (a used feature, a feedback) has role ``system``; rows of other products are
passed over.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from itertools import chain, islice
from typing import Any

from appliance.ingest.parse import gemini_words as words
from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_list, as_text, with_attachments
from appliance.ingest.parse.gemini_rows import CELL, Row, rows
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_PRODUCT = re.compile(r"\b(?:Gemini|Bard)\b", re.IGNORECASE)
_NAME = re.compile(r"gemini|bard", re.IGNORECASE)
_ROW_KEYS = frozenset({"header", "title", "time"})
_SIDE_KEYS = frozenset({"products", "titleUrl", "activityControls", "safeHtmlItem", "subtitles", "details"})
_PAGE = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
# The style sheet of the page alone can be longer than what detection sees.
_STYLES = re.compile(r"material-design-lite|\.mdl-")
# How many rows are looked at for the verbs of the account's language.
_AHEAD = 60
_UNDATED = "undated"


def matches(head: Head) -> float:
    """How surely this is activity, and of Gemini: other products' files look the same."""
    named = bool(_NAME.search(head.name))
    if _PAGE.match(head.text.removeprefix("\ufeff")):
        cell = CELL.search(head.text)
        if cell is None:
            return (0.85 if named else 0.5) if head.truncated and _STYLES.search(head.text) else 0.0
        return 0.95 if _PRODUCT.search(head.text, cell.start()) else 0.6 if named else 0.3
    best = 0.0
    for record in jsonstream.preview(head.text):
        if isinstance(record, dict) and record.keys() >= _ROW_KEYS and _SIDE_KEYS & record.keys():
            labels = [as_text(label) for label in (record["header"], *as_list(record.get("products")))]
            best = max(best, 0.95 if _is_gemini(labels) else 0.6 if named else 0.3)
    return best


@dataclass(slots=True)
class _Grouping:
    """The sessions so far, and what the rows in them say, by session and id."""

    sessions: set[str] = field(default_factory=set)
    seen: dict[tuple[str, str], str] = field(default_factory=dict)


def parse(document: Document) -> Iterator[Record]:
    """Prompts and answers in the order of the file, and a session where its first row is."""
    stream = rows(document)
    ahead = list(islice(stream, _AHEAD))
    ours = [row for row in ahead if isinstance(row, Row) and _is_ours(row)]
    learned = words.verbs_of(row.title for row in ours if row.answer or row.images)
    bare = not learned and not any(words.is_known(row.title) for row in ours)
    others: Counter[str] = Counter()
    grouping = _Grouping()
    for row in chain(ahead, stream):
        if isinstance(row, Problem):
            yield row
        elif not _is_ours(row):
            others[row.labels[0] if row.labels and row.labels[0] else "no product"] += 1
        else:
            yield from _row(row, learned, bare, grouping)
    for product, count in sorted(others.items()):
        yield Problem("", f"{count} rows of {product[:60]} are not Gemini's; passed over", harmless=True)


def _is_gemini(labels: list[str] | tuple[str, ...]) -> bool:
    return any(_PRODUCT.search(label) for label in labels)


def _is_ours(row: Row) -> bool:
    return _is_gemini(row.labels) or (bool(row.conversations) and not any(row.labels))


def _row(row: Row, learned: frozenset[str], bare: bool, grouping: _Grouping) -> Iterator[Record]:
    if row.time is None and row.stated:
        yield Problem(row.where, f"the time {row.stated[:60]!r} can't be read; left open", harmless=True)
    elif row.time is None:
        yield Problem(row.where, "the row has no time", harmless=True)
    prompt = words.without_verb(row.title, learned)
    if prompt is None and bare and (row.answer or row.images or row.files or row.conversations):
        prompt = row.title
    files = [{"name": name} for name in row.files]
    images = [{"name": name} for name in row.images]
    said: Role = "system" if prompt is None else "user"
    first = with_attachments(row.title if prompt is None else prompt, files)
    answer = with_attachments(row.answer, images)
    if not first.strip() and not answer.strip():
        yield Problem(row.where, "the row is empty; passed over", harmless=True)
        return
    content = hashlib.sha256("\0".join((row.title, row.answer)).encode("utf-8", "replace")).hexdigest()[:32]
    for session, title in _sessions(row):
        identity, twice = _own_id(grouping.seen, session, _moment(row), content)
        if twice:
            yield Problem(row.where, "the row is there twice; passed over", harmless=True)
            continue
        if session not in grouping.sessions:
            grouping.sessions.add(session)
            yield SessionRecord(session, title)
        asked = identity if first.strip() else None
        if first.strip():
            yield MessageRecord(
                session, said, first, identity, None, row.time, None, _attached(files), row.where
            )
        if answer.strip():
            own = f"{identity}-answer" if identity else None
            yield MessageRecord(
                session, "assistant", answer, own, None, row.time, asked, _attached(images), row.where
            )


def _own_id(
    seen: dict[tuple[str, str], str], session: str, moment: str | None, content: str
) -> tuple[str | None, bool]:
    """A row's id in a session, and whether the same row was there before."""
    if moment is None:
        return None, False
    for identity in (moment, f"{moment}-{content[:8]}"):
        if (session, identity) not in seen:
            seen[session, identity] = content
            return identity, False
        if seen[session, identity] == content:
            return identity, True
    return None, False


def _attached(files: list[dict[str, str]]) -> dict[str, Any]:
    return {"attachments": files} if files else {}


def _moment(row: Row) -> str | None:
    """A row's id: its second, which the JSON and the page have in common."""
    if row.time is None:
        return None
    return row.time.replace(microsecond=0, tzinfo=None).isoformat() + ("Z" if row.time.tzinfo else "")


def _sessions(row: Row) -> list[tuple[str, str | None]]:
    """The ids and titles of a row's sessions: its conversations, else its day.

    A row before a fork is part of several conversations, and none of them is whole without it."""
    if row.conversations:
        return [(f"gemini:{conversation}", None) for conversation in row.conversations]
    if row.time is None:
        return [(f"gemini:{_UNDATED}", f"Gemini, {_UNDATED}")]
    time = row.time.astimezone(UTC) if row.time.tzinfo else row.time
    day = time.date().isoformat()
    return [(f"gemini:{day}", f"Gemini, {day}")]
