"""Signal: the files of signal-export (``data.json``, a message per line, and a text file beside it), and text files
of other programs in the same two forms.

The files contain no ids, so a chat's id is its folder's name, else a hash of its first message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from appliance.formats import json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import (
    as_dict,
    as_list,
    as_text,
    first_text,
    object_problem,
    unreadable_time,
    with_attachments,
)
from appliance.formats.people_chats import Participants
from appliance.formats.records import metadata_of
from appliance.formats.text_lines import text_lines
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

# A message a line, or a list of them; a header of the text form begins with a bracket as well.
_JSON = re.compile(r"\{|\[\s*(?:\{|$)")
_FIRST_KEYS = (("date", "sender"),)
_SIDE_KEYS = ("quote", "sticker", "reactions", "attachments")

# "[2024-03-15, 09:30] Ana: text", with seconds and without the comma in newer exports.
_BRACKET = re.compile(
    r"\[(?P<day>\d{4}-\d{2}-\d{2}),? (?P<time>\d{2}:\d{2}(?::\d{2})?)\] (?P<name>[^\n:]{1,80}):(?: (?P<text>.*))?",
    re.ASCII | re.DOTALL,
)
# "Ana (2024-03-15 09:30:00 UTC): text"
_PAREN = re.compile(
    r"(?P<name>[^\n\[\](){}*#|<>:]{1,80}) \((?P<day>\d{4}-\d{2}-\d{2}),? (?P<time>\d{2}:\d{2}(?::\d{2})?)"
    r"(?P<zone> (?:UTC|GMT)| ?Z)?\):(?: (?P<text>.*))?",
    re.ASCII | re.DOTALL,
)
# The program ends texts with a Markdown line break, for its own pages.
_LINE_END = "  "
_REACTED = re.compile(r"\n\(- (?P<all>[^\n]*) -\)[ ]*$")
_FILE = re.compile(r"!?\[(?P<name>[^\]\n]*)\]\(\./media/[^)\n]*\)(?:  )?")
_DELETED_TEXT = "(This message was deleted)"
_NO_SENDER = "No-Sender"
_PROGRAM_FILES = re.compile(r"(?:^|/)(?P<chat>[^/]+)/(?:data\.json|chat\.md|index\.md)$")
_GENERIC_FOLDERS = frozenset({"signal", "export", "exports", "output", "chats", "tmp", "."})


def matches(head: DocumentHead) -> float:
    """The confidence that this is a file of the program: the keys of a message, or its lines."""
    if _JSON.match(head.text.lstrip("\ufeff \t\r\n")):
        for record in json_stream.preview(head.text):
            if not isinstance(record, dict) or len({"date", "sender", "body"} & record.keys()) < 2:
                return 0.0
            if not {"date", "sender", "body"} <= record.keys():
                return 0.8 if sum(key in record for key in _SIDE_KEYS) > 2 else 0.0
            return 0.95 if sum(key in record for key in _SIDE_KEYS) >= 2 else 0.6
    lines = [line for line in head.text.lstrip("\ufeff").split("\n")[:400] if line.strip()]
    first = lines[0] if lines else ""
    style = next((style for style in (_BRACKET, _PAREN) if style.match(first)), None)
    if style is None:
        return 0.0
    is_named = bool(_PROGRAM_FILES.search(head.name)) or "signal" in head.name.lower()
    if style is _PAREN:
        return 0.9 if is_named else 0.75
    # With seconds or without a comma, this may be another program's log.
    found = [match for line in lines if (match := style.match(line))]
    is_plain = all("," in match[0][:12] and len(match["time"]) == 5 for match in found)
    return 0.97 if is_named else 0.75 if is_plain else 0.4


def parse(document: Document) -> Iterator[Record]:
    is_text_file = _PROGRAM_FILES.search(document.name) and not document.name.endswith(".json")
    if is_text_file and not document.explicit and document.context.find("data.json") is not None:
        yield InputProblem("", "skipped; the same chat is imported from data.json", harmless=True)
        return
    first = next((line for line in json_stream.lines(document) if not isinstance(line, InputProblem)), None)
    is_json = first is not None and _JSON.match(first[1].decode("utf-8", "replace").lstrip()) is not None
    yield from _json(document) if is_json else _text(document)


def _session(document: Document, first: str, created: datetime | None) -> SessionRecord:
    """The chat's session; its name is that of its folder, if the file has one of the program's names."""
    match = _PROGRAM_FILES.search(document.name.replace("\\", "/"))
    name = match["chat"] if match and match["chat"].lower() not in _GENERIC_FOLDERS else None
    identity = name or hashlib.sha256(first.encode("utf-8", "replace")).hexdigest()[:24]
    return SessionRecord(f"signal:{identity}", name, created)


_OWN_NAME = "Me"


def _json(document: Document) -> Iterator[Record]:
    session: SessionRecord | None = None
    participants = Participants()
    for value in json_stream.records(document, _FIRST_KEYS):
        if isinstance(value, InputProblem):
            yield value
            continue
        where, data = f"line {value.line}", value.data
        if problem := object_problem(data, where, "message"):
            yield problem
            continue
        sent = read_time(data.get("date"))
        if sent is None:
            yield unreadable_time(where, data.get("date"))
        if session is None:
            first = "\x1f".join((str(data.get("date")), as_text(data.get("sender")), as_text(data.get("body"))))
            session = _session(document, first, sent)
            yield session
        if not any(data.get(key) for key in ("attachments", "sticker")) and not isinstance(data.get("body"), str):
            text = unknown_text.text_under_text_keys(data)
            yield from [unknown_text.kept(where)] if text else ()
            data = data | {"body": text}
        record = _message(session.external_id, data, sent, where, document.context.me)
        if isinstance(record, MessageRecord) and data.get("sender") == _OWN_NAME:
            yield from participants.note(session.external_id, record.author, ("handle", _OWN_NAME), me=True)
        yield record


def _message(
    session: str, data: dict[str, Any], sent: datetime | None, where: str, me: str | None
) -> MessageRecord | InputProblem:
    text = as_text(data.get("body")).removesuffix(_LINE_END)
    sticker = data.get("sticker")
    if emoji := as_text(sticker) or as_text(as_dict(sticker).get("emoji")):
        text = f"{text}\n{emoji}" if text else emoji
    files = [
        {"name": name}
        for entry in map(as_dict, as_list(data.get("attachments")))
        if (name := first_text(entry, "name", "path"))
    ]
    text = with_attachments(text, files)
    is_deleted = data.get("deleted") is True
    if not text.strip():
        if not is_deleted:
            return InputProblem(where, "the message is empty; skipped", harmless=True)
        text = _DELETED_TEXT
    metadata = metadata_of(
        attachments=files,
        reactions=[reaction for entry in as_list(data.get("reactions")) if (reaction := _reaction(entry, me))],
        quote=as_text(data.get("quote")).strip("\n").removeprefix("> ").replace("\n> ", "\n"),
        deleted=is_deleted,
    )
    role: Role = "system" if data.get("call") is True else "user"
    author = _author(as_text(data.get("sender")), me)
    return MessageRecord(session, role, text, author=author, sent_at=sent, metadata=metadata, where=where)


def _reaction(entry: Any, me: str | None) -> dict[str, str] | None:
    """A reaction: an object with ``name`` and ``emoji``, or a list of the two."""
    values = entry if isinstance(entry, list) and len(entry) == 2 else map(as_dict(entry).get, ("name", "emoji"))
    name, emoji = map(as_text, values)
    return {"emoji": emoji, "by": _author(name, me) or ""} if emoji else None


def _author(name: str, me: str | None) -> str | None:
    if name == _NO_SENDER:
        return None
    return (me or name) if name == _OWN_NAME else (name or None)


@dataclass(frozen=True, slots=True)
class _SignalEntry:
    """The header and the lines of a message; ``head`` is None for text before the first header."""

    number: int
    head: re.Match[str] | None
    lines: list[str] = field(default_factory=list)


def _text(document: Document) -> Iterator[Record]:
    session: SessionRecord | None = None
    participants = Participants()
    for entry in _entries(document):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        sent = _sent(entry.head) if entry.head else None
        if session is None:
            session = _session(document, entry.head[0] if entry.head else "\n".join(entry.lines), sent)
            yield session
        record = _markdown_message(session.external_id, entry, sent, document.context.me)
        if entry.head is not None and entry.head["name"] == _OWN_NAME:
            yield from participants.note(session.external_id, record.author, ("handle", _OWN_NAME), me=True)
        yield record


def _entries(document: Document) -> Iterator[_SignalEntry | InputProblem]:
    """The file split at its headers, which have the style of the first one."""
    style: re.Pattern[str] | None = None
    entry: _SignalEntry | None = None
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line
        head = None
        for pattern in (style,) if style else (_BRACKET, _PAREN):
            if (head := pattern.fullmatch(text)) and _sent(head) is not None:
                style = pattern
                break
            head = None
        if head is not None:
            if entry is not None:
                yield _trim_entry(entry)
            entry = _SignalEntry(number, head, [head["text"] or ""])
        elif entry is not None:
            entry.lines.append(text)
        elif text.strip("\ufeff \t"):
            entry = _SignalEntry(number, None, [text])
    if entry is not None:
        yield _trim_entry(entry)


def _trim_entry(entry: _SignalEntry) -> _SignalEntry:
    """An entry without trailing blank lines, which separate messages."""
    while len(entry.lines) > 1 and not entry.lines[-1].strip():
        entry.lines.pop()
    return entry


def _markdown_message(session: str, entry: _SignalEntry, sent: datetime | None, me: str | None) -> MessageRecord:
    where = f"line {entry.number}"
    text = "\n".join(entry.lines)
    if entry.head is None:
        return MessageRecord(session, "system", text, where=where)
    metadata: dict[str, Any] = {}
    if match := _REACTED.search(text):
        pairs = [pair.rpartition(": ") for pair in match["all"].split(", ")]
        if all(name and emoji for name, _, emoji in pairs):
            metadata["reactions"] = [{"emoji": emoji, "by": _author(name, me) or ""} for name, _, emoji in pairs]
            text = text[: match.start()]
    if files := [{"name": file["name"]} for file in _FILE.finditer(text) if file["name"]]:
        metadata["attachments"] = files
        rest = _FILE.sub("", text)
        text = rest if rest.strip() else with_attachments("", files)
    if text == _DELETED_TEXT:
        metadata["deleted"] = True
    author = _author(entry.head["name"], me)
    text = text.removesuffix(_LINE_END)
    return MessageRecord(session, "user", text, author=author, sent_at=sent, metadata=metadata, where=where)


def _sent(head: re.Match[str]) -> datetime | None:
    try:
        time = datetime.fromisoformat(f"{head['day']}T{head['time']}")
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if head.groupdict().get("zone") else time
