"""What the logs of coding agents have in common: a JSON object a line, in a file that grows while it is read.

A last line that is cut off shows that the session was still being written: the next reading has it whole.
Elsewhere a damaged line costs only itself. A message's parts (text, reasoning, calls, results and files) stand in
``content`` or ``parts``, as a string, one block or a list, in the makers' different spellings.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, decode_object, first_text, wrong_type
from appliance.formats.salvage import is_whole, salvage
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Metadata, Record, Role, SessionRecord

# Two streams of a log repeat each other within a few records.
_ECHO_WINDOW = 24
_REMINDER = re.compile(r"\n*<system-reminder>.*?</system-reminder>\n*", re.DOTALL)
_RECORD_LIST_KEYS = ("messages", "loglines", "history")
_ID = re.compile(r"[^\s\[\]{}<>]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_FILE_KEYS = ("file_path", "notebook_path", "filePath", "absolute_path", "path", "TargetFile", "AbsolutePath")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)

READ_WITH = "read with its "
"""How the note begins on a file whose words are read with another one."""

_REASONING = frozenset({"thinking", "reasoning", "think", "thought"})
_CALLS = frozenset({"tool_use", "toolCall", "tool_call", "tool-call", "function_call", "functionCall", "function"})
_RESULTS = frozenset(
    {"tool_result", "toolResult", "tool-result", "function_call_output", "functionResponse", "function_response"}
)
_FILES = frozenset({"image", "image_url", "input_image", "file", "document", "audio", "video_url", "audio_url"})
# Marks of a program within a message, which say nothing.
SILENT = frozenset(
    {"redacted_thinking", "finish", "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}
)
_ARGUMENT_KEYS = ("input", "arguments", "args", "parameters", "arguments_json")
_NAMES = ("filename", "file_name", "name", "displayName", "title", "fileUri")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An object of a log, and its place."""

    data: dict[str, Any]
    where: str


def entries(document: Document) -> Iterator[LogEntry | InputProblem]:
    """The objects of a log, one a line. A list of them, or one object over many lines, is read as well."""
    previous: tuple[int, bytes] | None = None
    is_first = True
    encoding: texts.Encoding | None = None
    for line in json_stream.lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        if previous is not None:
            if is_first and _is_no_line(previous[1]):
                yield from _whole(document)
                return
            is_first = False
            encoding = encoding or _encoding(document, previous[1])
            yield from _entry(*previous, encoding or "utf-8")
        previous = line
    if previous is None:
        return
    if is_first and _is_one_object(previous[1]):
        yield from _whole(document)
        return
    yield from _entry(*previous, encoding or _encoding(document, previous[1]) or "utf-8")


def later_entries(document: Document, lines_before: int) -> Iterator[LogEntry | InputProblem]:
    """The objects of a part of a log, one a line, in UTF-8; ``lines_before`` is the number of lines before it."""
    for line in json_stream.lines(document):
        if isinstance(line, InputProblem):
            yield line
        else:
            yield from _entry(lines_before + line[0], line[1], "utf-8")


def records(
    items: Iterable[LogEntry | InputProblem],
    sessions: Iterable[LogSession],
    parse: Callable[[dict[str, Any], str], Iterator[Record]],
) -> Iterator[Record]:
    """The records that ``parse`` makes of each object of a log and its place, and a note if no session has begun."""
    is_explained = False
    for item in items:
        for record in [item] if isinstance(item, InputProblem) else parse(item.data, item.where):
            is_explained |= isinstance(record, InputProblem) and record.message.startswith(READ_WITH)
            yield record
    if not is_explained and not any(session.has_begun for session in sessions):
        yield no_messages()


def cut_off(line: int) -> InputProblem:
    """The note on a last line without its end."""
    return InputProblem(f"line {line}", "the last line is cut off: the session was still being written", harmless=True)


def no_messages() -> InputProblem:
    """The note on a file without messages."""
    return InputProblem("", "the file holds no messages", harmless=True)


def first_objects(head: DocumentHead) -> list[dict[str, Any]]:
    """The objects at the beginning of a document, one a line, as far as the head shows them."""
    values = json_stream.preview(head.text)
    values = tuple(item for value in values for item in (value if isinstance(value, list) else [value]))
    return [item for item in values if isinstance(item, dict)]


def own_id(value: Any) -> str | None:
    """An id, if it can be one: text with blanks or brackets in it is a placeholder."""
    identity = as_id(value)
    return identity if identity is not None and _ID.fullmatch(identity) else None


def first_own_id(fields: Mapping[str, Any], *keys: str) -> str | None:
    """The first id under ``keys``."""
    return next((identity for key in keys if (identity := own_id(fields.get(key)))), None)


def id_in_name(document: Document) -> str | None:
    """The UUID in a file's name, which stays when the file is moved."""
    uuids = _UUID.findall(document.name.rpartition("/")[2])
    return uuids[-1] if uuids else None


def made_id(maker: str, *parts: Any) -> str:
    """An id made of a session's beginning, for sessions that name none."""
    joined = "\x1f".join(str(part) for part in parts)
    return f"{maker}-" + blake2b(joined.encode("utf-8", "replace"), digest_size=12).hexdigest()


def call_text(name: str, arguments: Any) -> str:
    """A tool call as text: the tool's name, then a line for each argument."""
    return json_fields.call_text(name, decode_object(arguments))


def call_metadata(name: str, arguments: Any) -> dict[str, Any]:
    """The metadata of a call: the tool, and the files that it touches."""
    metadata = json_fields.tool_metadata("call", name)
    arguments = decode_object(arguments)
    if isinstance(arguments, str):
        arguments = {"input": arguments}
    files: list[str] = []
    if isinstance(arguments, dict):
        files = [path for key in _FILE_KEYS if (path := as_text(arguments.get(key)))]
        for value in arguments.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, str) and "*** " in part:
                    files += _PATCHED.findall(part)
    if files:
        metadata["files"] = list(dict.fromkeys(files))
    return metadata


def words_of(content: Any) -> str:
    """The text of a string, of a block, or of a list of them, blocks on lines of their own."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        keys = ("text", "content", "output", "result")
        return next((text for key in keys if (text := words_of(content.get(key)))), "")
    return "\n".join(words for item in as_list(content) if (words := words_of(item)))


@dataclass(slots=True)
class LogSession:
    """A session of a log: its ids are unique, and the session comes before its messages."""

    session: SessionRecord
    has_begun: bool = False
    ids: dict[str, int] = field(default_factory=dict)

    def emit(
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
        """A message, unless one with this id and this text came before. Blank text is no message."""
        if not text.strip():
            return
        signature = hash((role, text))
        if identity is not None and identity in self.ids:
            if self.ids[identity] == signature:
                return
            yield InputProblem(where, f"the id {identity} occurs twice; the second message gets none", harmless=True)
            identity = None
        if identity is not None:
            self.ids[identity] = signature
        if not self.has_begun:
            self.has_begun = True
            if self.session.created_at is None and sent is not None:
                self.session = replace(self.session, created_at=sent)
            yield self.session
        yield MessageRecord(
            self.session.external_id, role, text, identity, author, sent, reply_to, metadata or {}, where
        )


@dataclass(slots=True)
class EchoFilter:
    """The latest texts of a log's streams: the same text in several streams is one message."""

    # Speaker, hash of the text, and the streams that have it.
    recent: deque[tuple[str, int, set[str]]] = field(default_factory=lambda: deque(maxlen=_ECHO_WINDOW))

    def is_echo(self, stream: str, speaker: str, text: str) -> bool:
        """Whether another stream has just had this text. The text is remembered for this stream."""
        text_hash = hash_words(text)
        for known_speaker, known_hash, streams in self.recent:
            if known_speaker == speaker and known_hash == text_hash and stream not in streams:
                streams.add(stream)
                return True
        self.recent.append((speaker, text_hash, {stream}))
        return False


def hash_words(text: str) -> int:
    """A hash of a text that doesn't depend on how its parts were joined."""
    return hash("".join(text.split()))


def split_reminders(text: str) -> tuple[str, list[str]]:
    """The person's words, and the reminders that the program put between them."""
    reminders = [reminder.strip("\n") for reminder in _REMINDER.findall(text)]
    return (_REMINDER.sub("", text), reminders) if reminders else (text, [])


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One part of a message. ``arguments`` are those of a call; ``call_id`` joins a call to its result. ``is_unknown``
    says that the part has an unknown shape, of which every string is kept."""

    kind: Literal["words", "reasoning", "call", "result", "file"]
    text: str
    name: str = ""
    call_id: str | None = None
    arguments: Any = None
    is_unknown: bool = False


def unknown_notes(blocks: Iterable[ContentBlock], where: str) -> Iterator[InputProblem]:
    """The notes on parts of a message in an unknown shape."""
    return (unknown_text.kept(where, block.name) for block in blocks if block.is_unknown)


def blocks_of(content: Any) -> Iterator[ContentBlock]:
    """The parts of ``content`` in their order; parts of unknown types without any string are left out."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield ContentBlock("words", item)
        elif isinstance(item, dict) and (block := _block(item)) is not None:
            yield block


def call_of(item: dict[str, Any]) -> ContentBlock:
    """The call in an object that its place alone shows to be one."""
    inner = next((item[key] for key in ("functionCall", "function") if isinstance(item.get(key), dict)), item)
    name = as_text(inner.get("name")) or as_text(item.get("name")) or first_text(inner, "toolName", "tool_name")
    arguments = next((inner[key] for key in _ARGUMENT_KEYS if inner.get(key) is not None), None)
    text = call_text(name, arguments)
    return ContentBlock("call", text, name, _call_id(inner) or _call_id(item), arguments)


def result_of(item: dict[str, Any]) -> ContentBlock:
    """The result in an object that its place alone shows to be one."""
    inner = as_dict(item.get("functionResponse")) or item
    keys = ("response", "content", "output", "result")
    output = next((inner[key] for key in keys if inner.get(key) not in (None, "")), None)
    text = words_of(output)
    if not text and output not in (None, "", [], {}):
        text = json_fields.as_json(output)
    call_id = first_own_id(inner, "tool_use_id", "toolCallId", "tool_call_id") or _call_id(inner)
    name = first_text(inner, "name", "toolName", "tool_name")
    return ContentBlock("result", text or as_text(inner.get("text")), name, call_id)


def _block(item: dict[str, Any]) -> ContentBlock | None:
    kind = as_text(item.get("type"))
    if kind in _REASONING or item.get("thought") is True:
        keys = ("thinking", "text", "think", "content")
        reasoning = next((text for key in keys if (text := words_of(item.get(key)))), "")
        return ContentBlock("reasoning", reasoning or words_of(as_list(item.get("summary"))))
    if kind in _CALLS or isinstance(item.get("functionCall"), dict):
        return call_of(item)
    if kind in _RESULTS or isinstance(item.get("functionResponse"), dict):
        return result_of(item)
    data = as_dict(item.get("inlineData")) or as_dict(item.get("fileData"))
    if kind in _FILES or data:
        name = next((name for key in _NAMES if (name := as_text(data.get(key)) or as_text(item.get(key)))), "")
        return ContentBlock("file", "", name or kind or as_text(data.get("mimeType")) or "file")
    if text := as_text(item.get("text")):
        return ContentBlock("words", text)
    text = "" if kind in SILENT else unknown_text.text_of(item)
    return ContentBlock("words", text, kind, is_unknown=True) if text else None


def _call_id(item: dict[str, Any]) -> str | None:
    return first_own_id(item, "id", "toolCallId", "call_id", "callId")


def _is_no_line(line: bytes) -> bool:
    """Whether a file's first line shows that its records don't stand one a line."""
    start = line.lstrip()
    if start.startswith(b"["):
        return True
    if not start.startswith(b"{") or json_stream.decode(line, "")[0] is not json_stream.DAMAGED:
        return False
    return not json_stream.split_values(texts.decoded(line, "utf-8")[0])[0]


def _is_one_object(line: bytes) -> bool:
    """Whether the only line of a file is more than a record: a list, or a session that was cut off."""
    if line.lstrip().startswith(b"["):
        return True
    if json_stream.decode(line, "")[0] is not json_stream.DAMAGED:
        return False
    value = salvage(texts.decoded(line, "utf-8")[0])
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _RECORD_LIST_KEYS)


def _whole(document: Document) -> Iterator[LogEntry | InputProblem]:
    for value in json_stream.records(document):
        if isinstance(value, InputProblem):
            yield value
            continue
        where = f"line {value.line}, record {value.number}"
        yield (LogEntry(value.data, where) if isinstance(value.data, dict) else wrong_type(where, "record", value.data))


def _entry(number: int, data: bytes, encoding: texts.Encoding) -> Iterator[LogEntry | InputProblem]:
    where = f"line {number}"
    value, problems = json_stream.decode(data, where, encoding)
    if value is not json_stream.DAMAGED:
        yield from problems
        yield _entry_of(value, where)
        return
    values, error = json_stream.split_values(texts.decoded(data, encoding)[0])
    for value in values:
        yield _entry_of(value, where)
    if not error:
        return
    if not data.endswith(b"\n"):
        yield cut_off(number)
    else:
        yield from problems
        yield InputProblem(where, f"not JSON: {error}")


def _entry_of(value: Any, where: str) -> LogEntry | InputProblem:
    if isinstance(value, dict):
        return LogEntry(value, where) if is_whole(value) else InputProblem(where, "nested too deep; skipped")
    return wrong_type(where, "record", value)


def _encoding(document: Document, line: bytes) -> texts.Encoding | None:
    """The file's encoding, once a line shows that it may not be UTF-8."""
    return None if line.isascii() or json_stream.is_utf8(line) else texts.encoding_of(document)
