"""What logs of coding agents have in common: a JSON object a line, in a file that grows while it is read.

The last line may be cut off: then the session was still being written, and no more is lost than what
comes again. Elsewhere a damaged line costs only itself.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_id, as_list, as_text
from appliance.ingest.parse.salvage import is_whole, salvage
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Metadata, Problem, Record, Role, SessionRecord

_LOOKED_AT = 40
# Two streams tell the same within a few pieces of each other.
_NEIGHBOURS = 24
_REMINDER = re.compile(r"\n*<system-reminder>.*?</system-reminder>\n*", re.DOTALL)
_HOLD_RECORDS = ("messages", "loglines", "history")
_ID = re.compile(r"[^\s\[\]{}<>]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_FILE_KEYS = ("file_path", "notebook_path", "filePath", "absolute_path", "path", "TargetFile", "AbsolutePath")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a log, and its place."""

    data: dict[str, Any]
    where: str


def entries(document: Document) -> Iterator[Entry | Problem]:
    """The objects of a log, a line each; also of a list of them, or of one object over many lines."""
    last: tuple[int, bytes] | None = None
    first = True
    encoding: texts.Encoding | None = None
    for line in jsonstream.lines(document):
        if isinstance(line, Problem):
            yield line
            continue
        if last is not None:
            if first and _is_no_line(last[1]):
                yield from _whole(document)
                return
            first = False
            encoding = encoding or _encoding(document, last[1])
            yield from _entry(*last, encoding or "utf-8")
        last = line
    if last is None:
        return
    if first and _is_one_object(last[1]):
        yield from _whole(document)
        return
    yield from _entry(*last, encoding or _encoding(document, last[1]) or "utf-8")


def first_objects(head: Head, limit: int = _LOOKED_AT) -> list[dict[str, Any]]:
    """The objects at the beginning of a document, a line each, as far as it shows them."""
    text = head.text.removeprefix("\ufeff").lstrip()
    if not text.startswith(("{", "[")):
        return []
    lines = text.split("\n", limit)[:limit]
    found = jsonstream.glued(lines[0])[0]
    if not found:
        # A list, an object over many lines, or a first line that is broken or longer than the head.
        found = [salvage(text)]
    found = [item for value in found for item in (value if isinstance(value, list) else [value])]
    for line in lines[1:]:
        # Objects within objects are indented, or close in another line.
        if line.startswith("{"):
            found += jsonstream.glued(line)[0]
    return [item for item in found if isinstance(item, dict)]


def own_id(value: Any) -> str | None:
    """An id, if it can be one: text with blanks or brackets in it is a placeholder."""
    given = as_id(value)
    return given if given is not None and _ID.fullmatch(given) else None


def id_in_name(document: Document) -> str | None:
    """The uuid in a file's name, which stays when the file is moved."""
    found = _UUID.findall(document.name.rpartition("/")[2])
    return found[-1] if found else None


def made_id(maker: str, *parts: Any) -> str:
    """An id out of what a session begins with, for sessions that name none."""
    joined = "\x1f".join(str(part) for part in parts)
    return f"{maker}-" + blake2b(joined.encode("utf-8", "replace"), digest_size=12).hexdigest()


def sent_at(value: Any, where: str) -> tuple[datetime | None, Problem | None]:
    """A time; logs of agents are in UTC also where the zone was cut off."""
    time = read_time(value, UTC)
    if time is None and value not in (None, ""):
        return None, Problem(where, f"the time {str(value)[:60]!r} can't be read; left open", harmless=True)
    return time, None


def call_text(name: str, given: Any) -> str:
    """A tool call as text: the tool's name, then a line for each argument."""
    lines = [name] if name else []
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            parsed = None
        given = parsed if isinstance(parsed, dict) else given
    if isinstance(given, dict):
        lines += [f"{key}: {v if isinstance(v, str) else as_json(v)}" for key, v in given.items()]
    elif given is not None:
        lines.append(given if isinstance(given, str) else as_json(given))
    return "\n".join(lines)


def call_metadata(name: str, given: Any) -> dict[str, Any]:
    """What the metadata of a call say: the tool, and the files that it touches."""
    metadata = tool_metadata("call", name)
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            parsed = None
        given = parsed if isinstance(parsed, dict) else {"input": given}
    files: list[str] = []
    if isinstance(given, dict):
        files = [path for key in _FILE_KEYS if (path := as_text(given.get(key)))]
        for value in given.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, str) and "*** " in part:
                    files += _PATCHED.findall(part)
    if files:
        metadata["files"] = list(dict.fromkeys(files))
    return metadata


def tool_metadata(kind: str, name: str = "") -> dict[str, Any]:
    """The metadata of a message of role tool."""
    return {"tools": [{"kind": kind} | ({"name": name} if name else {})]}


def words_of(content: Any) -> str:
    """The text of a string, of a block, or of a list of them, blocks on lines of their own."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return next(
            (t for key in ("text", "content", "output", "result") if (t := words_of(content.get(key)))), ""
        )
    return "\n".join(words for item in as_list(content) if (words := words_of(item)))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class Said:
    """What one session has said so far: ids are given once, and a session comes before its messages."""

    session: SessionRecord
    begun: bool = False
    ids: dict[str, int] | None = None

    def say(
        self,
        role: Role,
        text: str,
        identity: str | None,
        sent: datetime | None,
        where: str,
        *,
        author: str | None = None,
        reply_to: str | None = None,
        metadata: Metadata | None = None,
    ) -> Iterator[Record]:
        """A message, unless the same id has said the same before. Text without words is no message."""
        if not text.strip():
            return
        if self.ids is None:
            self.ids = {}
        print_ = hash((role, text))
        if identity is not None and identity in self.ids:
            if self.ids[identity] == print_:
                return
            yield Problem(where, f"the id {identity} is there twice; the second one has none", harmless=True)
            identity = None
        if identity is not None:
            self.ids[identity] = print_
        if not self.begun:
            self.begun = True
            if self.session.created_at is None and sent is not None:
                self.session = replace(self.session, created_at=sent)
            yield self.session
        yield MessageRecord(
            self.session.external_id, role, text, identity, author, sent, reply_to, metadata or {}, where
        )


@dataclass(slots=True)
class _Told:
    """A piece that was told, and the streams that have told it."""

    speaker: str
    wording: int
    streams: set[str]


@dataclass(slots=True)
class Echoes:
    """What the streams of a log have told lately: the same words in each of them are one message."""

    recent: deque[_Told] = field(default_factory=lambda: deque(maxlen=_NEIGHBOURS))

    def told(self, stream: str, speaker: str, text: str) -> bool:
        """Whether another stream has told this a moment ago; notes that this one has."""
        mark = wording(text)
        for piece in self.recent:
            if piece.speaker == speaker and piece.wording == mark and stream not in piece.streams:
                piece.streams.add(stream)
                return True
        self.recent.append(_Told(speaker, mark, {stream}))
        return False


def wording(text: str) -> int:
    """What stays of a text however its parts were put together."""
    return hash("".join(text.split()))


def without_reminders(text: str) -> tuple[str, list[str]]:
    """The person's words, and what the program put between them."""
    found = [reminder.strip("\n") for reminder in _REMINDER.findall(text)]
    return (_REMINDER.sub("", text), found) if found else (text, [])


def _is_no_line(line: bytes) -> bool:
    """Whether a file's first line shows that its records are not a line each."""
    start = line.lstrip()
    if start.startswith(b"["):
        return True
    if not start.startswith(b"{") or jsonstream.decode(line, "")[0] is not jsonstream.DAMAGED:
        return False
    return not jsonstream.glued(texts.decoded(line, "utf-8")[0])[0]


def _is_one_object(line: bytes) -> bool:
    """Whether the only line of a file is more than a record: a list, or a session that was cut off."""
    if line.lstrip().startswith(b"["):
        return True
    if jsonstream.decode(line, "")[0] is not jsonstream.DAMAGED:
        return False
    value = salvage(texts.decoded(line, "utf-8")[0])
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _HOLD_RECORDS)


def _whole(document: Document) -> Iterator[Entry | Problem]:
    for value in jsonstream.records(document):
        if isinstance(value, Problem):
            yield value
        elif isinstance(value.data, dict):
            yield Entry(value.data, f"line {value.line}, record {value.number}")
        else:
            yield _strange(f"line {value.line}, record {value.number}", value.data)


def _entry(number: int, data: bytes, encoding: texts.Encoding) -> Iterator[Entry | Problem]:
    where = f"line {number}"
    value, problems = jsonstream.decode(data, where, encoding)
    if value is not jsonstream.DAMAGED:
        yield from problems
        yield _taken(value, where)
        return
    values, rest = jsonstream.glued(texts.decoded(data, encoding)[0])
    for value in values:
        yield _taken(value, where)
    if not rest:
        return
    if not data.endswith(b"\n"):
        yield Problem(where, "the last line is cut off: the session was still being written", harmless=True)
    else:
        yield from problems
        yield Problem(where, f"not JSON: {rest}")


def _taken(value: Any, where: str) -> Entry | Problem:
    if isinstance(value, dict):
        return Entry(value, where) if is_whole(value) else Problem(where, "nested too deep; passed over")
    return _strange(where, value)


def _strange(where: str, value: Any) -> Problem:
    return Problem(where, f"not an object but a {type(value).__name__}; passed over")


def _encoding(document: Document, line: bytes) -> texts.Encoding | None:
    """The file's encoding, once a line shows that it may not be UTF-8."""
    if line.isascii() or jsonstream.is_utf8(line):
        return None
    return texts.encoding_of(document)
