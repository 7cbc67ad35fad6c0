"""Native JSONL: one message a line, the project's interchange format in and out.

``session_id``, ``role`` and ``content`` are required; a line without them costs only itself. Keys that
the format doesn't know are kept in the metadata under their own names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_id
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import read_time
from appliance.types import LOCAL, MessageRecord, Problem, Record, Role, Scope, SessionRecord

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
# Other programs' words for the same four; taken, and said so once.
_OTHER_ROLES: dict[str, Role] = {
    "human": "user",
    "person": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "developer": "system",
    "function": "tool",
}
_REQUIRED = ("session_id", "role", "content")
_KNOWN = frozenset((*_REQUIRED, "message_id", "author", "timestamp", "reply_to", "session_title", "metadata"))
_LINES_LOOKED_AT = 20


def matches(head: Head) -> float:
    """How surely these are lines with the three required keys."""
    good = seen = 0
    lines = head.text.removeprefix("\ufeff").split("\n")
    for line in lines[: -1 if head.truncated and len(lines) > 1 else None][:_LINES_LOOKED_AT]:
        if line.strip():
            seen += 1
            good += any(_has_required(value) for value in jsonstream.preview(line))
    if not good and any(_has_required(value) for value in jsonstream.preview(head.text)):
        return 0.9
    return 0.5 + 0.45 * good / seen if good else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages, line by line, and a session where its id is first seen."""
    seen: set[str] = set()
    roles: set[str] = set()
    encoding: texts.Encoding | None = None
    first = True
    for line in jsonstream.lines(document):
        if isinstance(line, Problem):
            yield line
            continue
        number, data = line
        where = f"line {number}"
        if first and data.lstrip().startswith(b"["):
            yield from _list(document, seen, roles)
            return
        first = False
        if encoding is None and not data.isascii() and not jsonstream.is_utf8(data):
            encoding = texts.encoding_of(document)
        value, problems = jsonstream.decode(data, where, encoding or "utf-8")
        yield from problems
        if value is jsonstream.DAMAGED:
            yield from _glued(data, where, encoding or "utf-8", seen, roles)
        else:
            yield from _message(value, where, seen, roles)


def _list(document: Document, seen: set[str], roles: set[str]) -> Iterator[Record]:
    """The same objects as one JSON array."""
    for value in jsonstream.records(document, (("session_id", "role"), ("session_id", "message_id"))):
        if isinstance(value, Problem):
            yield value
        else:
            yield from _message(value.data, f"line {value.line}, message {value.number}", seen, roles)


def _glued(
    data: bytes, where: str, encoding: texts.Encoding, seen: set[str], roles: set[str]
) -> Iterator[Record]:
    """A line that is not one JSON value: perhaps several that lost the line end between them."""
    values, rest = jsonstream.glued(texts.decoded(data, encoding)[0])
    for value in values:
        yield from _message(value, where, seen, roles)
    if rest:
        yield Problem(where, f"not JSON: {rest}")


def _message(value: Any, where: str, seen: set[str], roles: set[str]) -> Iterator[Record]:
    if not isinstance(value, dict):
        yield Problem(where, f"not an object but a {type(value).__name__}; passed over")
        return
    if not is_whole(value):
        # Its damage is reported already, and half a message is none.
        return
    session, role, text = value.get("session_id"), value.get("role"), value.get("content")
    if type(session) is not str or type(role) is not str or type(text) is not str or not session:
        yield Problem(where, _missing(value))
        return
    known = _ROLES.get(role)
    if known is None:
        known = _ROLES.get(role.strip().lower()) or _OTHER_ROLES.get(role.strip().lower())
        if known is None:
            yield Problem(where, f"role is {role!r}, not user, assistant, system or tool; passed over")
            return
        if role not in roles:
            roles.add(role)
            yield Problem(where, f"role {role!r} is read as {known!r}, here and below", harmless=True)
    metadata, notes = _metadata(value, where)
    yield from notes
    given = value.get("timestamp")
    sent = None if given is None else read_time(given)
    if sent is None and given is not None:
        yield Problem(where, f"timestamp {str(given)[:60]!r} can't be read; left open", harmless=True)
    title = value.get("session_title")
    origin, scope = _left_from(metadata)
    header = SessionRecord(
        session, title if type(title) is str and title else None, sent, format=origin, scope=scope
    )
    if header.key not in seen:
        seen.add(header.key)
        yield header
    author = value.get("author")
    yield MessageRecord(
        header.key,
        known,
        text,
        as_id(value.get("message_id")),
        author if type(author) is str and author else None,
        sent,
        as_id(value.get("reply_to")),
        metadata,
        where,
    )


def _metadata(value: dict[str, Any], where: str) -> tuple[dict[str, Any], list[Problem]]:
    """``metadata`` as it is, and with it every key that the format doesn't know."""
    given = value.get("metadata")
    notes: list[Problem] = []
    metadata: dict[str, Any]
    if isinstance(given, dict):
        metadata = given
    else:
        metadata = {}
        if given is not None:
            notes.append(
                Problem(where, "metadata is not an object; kept as it is under its name", harmless=True)
            )
            metadata["metadata"] = given
    if not value.keys() <= _KNOWN:
        for key in value.keys() - _KNOWN:
            metadata.setdefault(key, value[key])
    for key, fits in (
        ("message_id", _is_id),
        ("reply_to", _is_id),
        ("author", _is_text),
        ("session_title", _is_text),
    ):
        if (other := value.get(key)) is not None and not fits(other):
            notes.append(
                Problem(where, f"{key} is a {type(other).__name__}; kept in the metadata", harmless=True)
            )
            metadata.setdefault(key, other)
    return metadata, notes


def _left_from(metadata: dict[str, Any]) -> tuple[str | None, Scope | None]:
    """The format and the owner that an exported message says it left, taken out of its metadata."""
    from appliance.ingest.parse import formats

    source = metadata.get("source")
    if not isinstance(source, str) or (source not in formats() and source != LOCAL):
        return None, None
    del metadata["source"]
    scope = None
    user, namespace = metadata.get("user_id"), metadata.get("namespace", "")
    if isinstance(user, str) and isinstance(namespace, str):
        metadata.pop("namespace", None)
        scope = Scope(metadata.pop("user_id"), namespace)
    return None if source == "native" else source, scope


def _missing(value: dict[str, Any]) -> str:
    wrong: list[str] = []
    for key in _REQUIRED:
        given = value.get(key)
        if key not in value:
            wrong.append(f"{key} is missing")
        elif not isinstance(given, str):
            wrong.append(f"{key} is a {type(given).__name__}, not a string")
        elif not given and key == "session_id":
            wrong.append(f"{key} is empty")
    return "; ".join(wrong)


def _has_required(value: Any) -> bool:
    return isinstance(value, dict) and all(key in value for key in _REQUIRED)


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
