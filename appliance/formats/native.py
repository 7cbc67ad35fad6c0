"""Native JSONL: one message per line, the project's own interchange format. A line of an export with the key
``record`` says what else a memory holds (``store.state``).

``session_id``, ``role`` and ``content`` are required; a line without them is skipped. Keys that the format doesn't
define are kept in the metadata under their own names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.formats import json_stream
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_id, json_type, role_table, wrong_type
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import LOCAL, InputProblem, MessageRecord, Record, Role, Scope, SessionRecord, StateRecord

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
# Other programs' words for the same roles; the parser accepts them with a note.
_OTHER_ROLES = role_table(user="human person", assistant="ai bot model gpt", system="developer", tool="function")
_REQUIRED = ("session_id", "role", "content")
_KNOWN_KEYS = frozenset((*_REQUIRED, "message_id", "author", "timestamp", "reply_to", "session_title", "metadata"))
_OPTIONAL_KEYS = (("message_id", (str, int)), ("reply_to", (str, int)), ("author", (str,)), ("session_title", (str,)))
_STATE_KINDS = (
    "session",
    "branch",
    "revision",
    "feedback",
    "participant",
    "contact",
    "person",
    "block",
    "decision",
    "rejection",
    "fact",
    "forgotten",
)
_MAX_DETECTION_LINES = 20


def matches(head: DocumentHead) -> float:
    """The confidence that these are lines with the three required keys, or records of an export."""
    good = seen = 0
    lines = head.text.removeprefix("\ufeff").split("\n")
    for line in lines[: -1 if head.truncated and len(lines) > 1 else None][:_MAX_DETECTION_LINES]:
        if line.strip():
            seen += 1
            good += any(_has_required_keys(value) for value in json_stream.preview(line))
    if not good and any(_has_required_keys(value) for value in json_stream.preview(head.text)):
        return 0.9
    return 0.5 + 0.45 * good / seen if good else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages line by line, each session before its first message."""
    seen: set[str] = set()
    roles: set[str] = set()
    encoding: texts.Encoding | None = None
    first = True
    for line in json_stream.lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, data = line
        where = f"line {number}"
        if first and data.lstrip().startswith(b"["):
            yield from _list(document, seen, roles)
            return
        first = False
        if encoding is None and not data.isascii() and not json_stream.is_utf8(data):
            encoding = texts.encoding_of(document)
        value, problems = json_stream.decode(data, where, encoding or "utf-8")
        yield from problems
        if value is json_stream.DAMAGED:
            yield from _parse_glued_line(data, where, encoding or "utf-8", seen, roles)
        else:
            yield from _message(value, where, seen, roles)


class Follower:
    """See ``base.LogFollower``."""

    def __init__(self, document: Document) -> None:
        self._seen: set[str] = set()
        self._roles: set[str] = set()

    def survey(self, data: dict[str, Any]) -> None:
        """Every line stands for itself."""

    def agrees(self) -> bool:
        return True

    def records(self, data: dict[str, Any], where: str) -> Iterator[Record]:
        return _message(data, where, self._seen, self._roles)


def _list(document: Document, seen: set[str], roles: set[str]) -> Iterator[Record]:
    """The messages of a JSON array of the same objects."""
    for value in json_stream.records(document, (("session_id", "role"), ("session_id", "message_id"))):
        if isinstance(value, InputProblem):
            yield value
        else:
            yield from _message(value.data, f"line {value.line}, message {value.number}", seen, roles)


def _parse_glued_line(
    data: bytes, where: str, encoding: texts.Encoding, seen: set[str], roles: set[str]
) -> Iterator[Record]:
    """A line that is not one JSON value: perhaps several values without the line ends between them."""
    values, rest = json_stream.split_values(texts.decoded(data, encoding)[0])
    for value in values:
        yield from _message(value, where, seen, roles)
    if rest:
        yield InputProblem(where, f"not JSON: {rest}")


def _message(value: Any, where: str, seen: set[str], roles: set[str]) -> Iterator[Record]:
    if not isinstance(value, dict):
        yield wrong_type(where, "object", value)
        return
    if not is_whole(value):
        # The damage has been reported already.
        return
    if _is_state(value):
        yield _state(value, where)
        return
    session, role, text = value.get("session_id"), value.get("role"), value.get("content")
    if type(session) is not str or type(role) is not str or type(text) is not str or not session:
        yield InputProblem(where, _missing(value))
        return
    known = _ROLES.get(role)
    if known is None:
        known = _ROLES.get(role.strip().lower()) or _OTHER_ROLES.get(role.strip().lower())
        if known is None:
            yield InputProblem(where, f"role is {role!r}, not user, assistant, system or tool; skipped")
            return
        if role not in roles:
            roles.add(role)
            yield InputProblem(where, f"role {role!r} is imported as {known!r}, here and below", harmless=True)
    metadata, notes = _metadata(value, where)
    yield from notes
    timestamp = value.get("timestamp")
    sent = read_time(timestamp)
    if sent is None and timestamp is not None:
        yield InputProblem(where, f"timestamp {str(timestamp)[:60]!r} can't be read; ignored", harmless=True)
    title = value.get("session_title")
    origin, scope = export_origin(metadata)
    origin = None if origin == "native" else origin
    # The format has no time of a session: it begins with its first message.
    title = title if type(title) is str and title else None
    header = SessionRecord(session, title, sent, format=origin, scope=scope, dates_messages=False)
    if header.key not in seen:
        seen.add(header.key)
        yield header
    author = value.get("author")
    author = author if type(author) is str and author else None
    identity, reply_to = as_id(value.get("message_id")), as_id(value.get("reply_to"))
    yield MessageRecord(header.key, known, text, identity, author, sent, reply_to, metadata, where)


def _metadata(value: dict[str, Any], where: str) -> tuple[dict[str, Any], list[InputProblem]]:
    """``metadata`` with every key that the format doesn't define, and every defined one of a wrong type."""
    notes: list[InputProblem] = []
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        if metadata is not None:
            notes.append(InputProblem(where, "metadata is not an object; kept under its own name", harmless=True))
        metadata = {} if metadata is None else {"metadata": metadata}
    if not value.keys() <= _KNOWN_KEYS:
        for key in value.keys() - _KNOWN_KEYS:
            metadata.setdefault(key, value[key])
    for key, types in _OPTIONAL_KEYS:
        if (field := value.get(key)) is not None and (not isinstance(field, types) or isinstance(field, bool)):
            notes.append(InputProblem(where, f"{key} is {json_type(field)}; kept in the metadata", harmless=True))
            metadata.setdefault(key, field)
    return metadata, notes


def export_origin(metadata: dict[str, Any]) -> tuple[str | None, Scope | None]:
    """The format and owner of a message in an export of this program, removed from its metadata. None where it names
    no known format."""
    from appliance.formats import formats

    source = metadata.get("source")
    if not isinstance(source, str) or (source not in formats() and source != LOCAL):
        return None, None
    del metadata["source"]
    scope = None
    user, namespace = metadata.get("user_id"), metadata.get("namespace", "")
    if isinstance(user, str) and isinstance(namespace, str):
        metadata.pop("namespace", None)
        scope = Scope(metadata.pop("user_id"), namespace)
    return source, scope


def _is_state(value: dict[str, Any]) -> bool:
    """Whether a line of an export of this program is no message, but says what else the memory holds."""
    return value.get("record") in _STATE_KINDS and "content" not in value


def _state(value: dict[str, Any], where: str) -> StateRecord:
    user, namespace = value.get("user_id"), value.get("namespace", "")
    scope = Scope(user, namespace) if isinstance(user, str) and isinstance(namespace, str) else None
    return StateRecord(value, scope, where)


def _missing(value: dict[str, Any]) -> str:
    """What is wrong with the required keys."""
    reasons: list[str] = []
    for key in _REQUIRED:
        if key not in value:
            reasons.append(f"{key} is missing")
        elif not isinstance(value[key], str):
            reasons.append(f"{key} is {json_type(value[key])}, not a string")
        elif not value[key] and key == "session_id":
            reasons.append(f"{key} is empty")
    return "; ".join(reasons)


def _has_required_keys(value: Any) -> bool:
    """Whether this is a message or a record of an export. Content in parts is another program's."""
    if not isinstance(value, dict):
        return False
    has_keys = all(key in value for key in _REQUIRED) and not isinstance(value["content"], list | dict)
    return has_keys or _is_state(value)
