"""Signal: what signal-export writes (``data.json``, a message a line, and the text beside it), and other
programs' text files of the same two forms.

The files name nobody's ids: the chat is known by its folder's name, else by its first message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.textlines import text_lines
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

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
# What the program writes behind a text and means for its own pages.
_LINE_END = "  "
_REACTED = re.compile(r"\n\(- (?P<all>[^\n]*) -\)[ ]*$")
_FILE = re.compile(r"!?\[(?P<name>[^\]\n]*)\]\(\./media/[^)\n]*\)(?:  )?")
_GONE = "(This message was deleted)"
_NOBODY = "No-Sender"
_PROGRAM_FILES = re.compile(r"(?:^|/)(?P<chat>[^/]+)/(?:data\.json|chat\.md|index\.md)$")
_FOLDERS_OF_NO_CHAT = frozenset({"signal", "export", "exports", "output", "chats", "tmp", "."})


def matches(head: Head) -> float:
    """How surely this is one of the program's files: a message's keys, or its lines."""
    if head.text.lstrip("\ufeff \t\r\n").startswith("{"):
        for record in jsonstream.preview(head.text):
            if isinstance(record, dict) and {"date", "sender", "body"} <= record.keys():
                sides = sum(key in record for key in _SIDE_KEYS)
                return 0.95 if sides >= 2 else 0.6
            return 0.0
    lines = [line for line in head.text.lstrip("\ufeff").split("\n")[:400] if line.strip()]
    first = lines[0] if lines else ""
    style = next((style for style in (_BRACKET, _PAREN) if style.match(first)), None)
    if style is None:
        return 0.0
    named = bool(_PROGRAM_FILES.search(head.name)) or "signal" in head.name.lower()
    found = [match for line in lines if (match := style.match(line))]
    if style is _PAREN:
        return 0.9 if named else 0.75
    # With seconds, and without a comma, other programs' logs look like this, too.
    plain = sum("," in match[0][:12] and len(match["time"]) == 5 for match in found) == len(found)
    return 0.97 if named else 0.75 if plain else 0.4


def parse(document: Document) -> Iterator[Record]:
    """The chat's messages in the order of the file."""
    with_json = _PROGRAM_FILES.search(document.name) and not document.name.endswith(".json")
    if with_json and not document.explicit and document.around.find("data.json") is not None:
        yield Problem("", "the same chat is in data.json beside it; passed over", harmless=True)
        return
    first = next((line for line in jsonstream.lines(document) if not isinstance(line, Problem)), None)
    yield from _json(document) if first and first[1].lstrip().startswith(b"{") else _text(document)


def _chat(path: str) -> str | None:
    """The chat's name: its folder's, where the file has the name that the program gives."""
    found = _PROGRAM_FILES.search(path.replace("\\", "/"))
    return found["chat"] if found and found["chat"].lower() not in _FOLDERS_OF_NO_CHAT else None


def _session(document: Document, first: str, created: datetime | None) -> SessionRecord:
    name = _chat(document.name)
    identity = name or hashlib.sha256(first.encode("utf-8", "replace")).hexdigest()[:24]
    return SessionRecord(f"signal:{identity}", name, created)


# --- data.json ----------------------------------------------------------------------------------------


def _json(document: Document) -> Iterator[Record]:
    session: SessionRecord | None = None
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
            continue
        where = f"line {value.line}"
        data = value.data
        if not isinstance(data, dict):
            yield Problem(where, f"not an object but a {type(data).__name__}; passed over")
            continue
        if not is_whole(data):
            yield Problem(where, "the message is damaged or cut off; passed over")
            continue
        sent = read_time(data.get("date"))
        if sent is None:
            given = data.get("date")
            yield Problem(where, f"the time {str(given)[:60]!r} can't be read; left open", harmless=True)
        if session is None:
            first = "\x1f".join(
                (str(data.get("date")), as_text(data.get("sender")), as_text(data.get("body")))
            )
            session = _session(document, first, sent)
            yield session
        record = _message(session.external_id, data, sent, where, document.around.me)
        if record is None:
            yield Problem(where, "the message is empty; passed over", harmless=True)
        else:
            yield record


def _message(
    session: str, data: dict[str, Any], sent: datetime | None, where: str, me: str | None
) -> MessageRecord | None:
    author = _author(as_text(data.get("sender")), me)
    metadata: dict[str, Any] = {}
    text = as_text(data.get("body")).removesuffix(_LINE_END)
    sticker = data.get("sticker")
    if shown := as_text(sticker) or as_text(as_dict(sticker).get("emoji")):
        text = f"{text}\n{shown}" if text else shown
    attachments = [
        {"name": name}
        for entry in as_list(data.get("attachments"))
        if (name := as_text(as_dict(entry).get("name")) or as_text(as_dict(entry).get("path")))
    ]
    if attachments:
        metadata["attachments"] = attachments
    if reactions := [found for entry in as_list(data.get("reactions")) if (found := _reaction(entry, me))]:
        metadata["reactions"] = reactions
    if quote := as_text(data.get("quote")).strip("\n").removeprefix("> ").replace("\n> ", "\n"):
        metadata["quote"] = quote
    text = with_attachments(text, attachments)
    if data.get("deleted") is True:
        metadata["deleted"] = True
        text = text if text.strip() else _GONE
    if not text.strip():
        return None
    role: Role = "system" if data.get("call") is True else "user"
    return MessageRecord(session, role, text, author=author, sent_at=sent, metadata=metadata, where=where)


def _reaction(entry: Any, me: str | None) -> dict[str, str] | None:
    """Who reacted how: an object, or a list of the two."""
    if isinstance(entry, list) and len(entry) == 2:
        name, emoji = as_text(entry[0]), as_text(entry[1])
    else:
        name, emoji = as_text(as_dict(entry).get("name")), as_text(as_dict(entry).get("emoji"))
    return {"emoji": emoji, "by": _author(name, me) or ""} if emoji else None


def _author(name: str, me: str | None) -> str | None:
    if name == _NOBODY:
        return None
    return (me or name) if name == "Me" else (name or None)


# --- text ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message's first line, and the lines after it."""

    number: int
    head: re.Match[str] | None
    lines: list[str] = field(default_factory=list)


def _text(document: Document) -> Iterator[Record]:
    session: SessionRecord | None = None
    for entry in _entries(document):
        if isinstance(entry, Problem):
            yield entry
            continue
        sent = _sent(entry.head) if entry.head else None
        if session is None:
            session = _session(document, entry.head[0] if entry.head else "\n".join(entry.lines), sent)
            yield session
        yield _written(session.external_id, entry, sent, document.around.me)


def _entries(document: Document) -> Iterator[_Entry | Problem]:
    """The file cut at its headers, all of one style: that of the first."""
    style: re.Pattern[str] | None = None
    entry: _Entry | None = None
    for line in text_lines(document):
        if isinstance(line, Problem):
            yield line
            continue
        number, text = line
        head = None
        for known in (style,) if style else (_BRACKET, _PAREN):
            head = known.fullmatch(text)
            if head is not None and _sent(head) is not None:
                style = known
                break
            head = None
        if head is not None:
            if entry is not None:
                yield _ended(entry)
            entry = _Entry(number, head, [head["text"] or ""])
        elif entry is not None:
            entry.lines.append(text)
        elif text.strip("\ufeff \t"):
            entry = _Entry(number, None, [text])
    if entry is not None:
        yield _ended(entry)


def _ended(entry: _Entry) -> _Entry:
    """Blank lines between messages belong to the file."""
    while len(entry.lines) > 1 and not entry.lines[-1].strip():
        entry.lines.pop()
    return entry


def _written(session: str, entry: _Entry, sent: datetime | None, me: str | None) -> MessageRecord:
    where = f"line {entry.number}"
    text = "\n".join(entry.lines)
    if entry.head is None:
        return MessageRecord(session, "system", text, where=where)
    metadata: dict[str, Any] = {}
    if reacted := _REACTED.search(text):
        pairs = [pair.rpartition(": ") for pair in reacted["all"].split(", ")]
        if all(name and emoji for name, _, emoji in pairs):
            metadata["reactions"] = [
                {"emoji": emoji, "by": _author(name, me) or ""} for name, _, emoji in pairs
            ]
            text = text[: reacted.start()]
    if names := [found["name"] for found in _FILE.finditer(text) if found["name"]]:
        metadata["attachments"] = [{"name": name} for name in names]
        words = _FILE.sub("", text)
        text = words if words.strip() else with_attachments("", metadata["attachments"])
    if text == _GONE:
        metadata["deleted"] = True
    author = _author(entry.head["name"], me)
    text = text.removesuffix(_LINE_END)
    return MessageRecord(session, "user", text, author=author, sent_at=sent, metadata=metadata, where=where)


def _sent(head: re.Match[str]) -> datetime | None:
    zone = UTC if head.groupdict().get("zone") else None
    try:
        time = datetime.fromisoformat(f"{head['day']}T{head['time']}")
    except ValueError:
        return None
    return time.replace(tzinfo=zone) if zone else time
