"""Fields of decoded JSON: taken for what they should be and nothing else, and what parsers make of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import AttachedFile, InputProblem, Role

_EXCERPT_CHARACTERS = 60
_MEDIA_TYPE_CHARACTERS = 255  # RFC 6838 allows no more
_JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


def as_dict(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_id(value: Any) -> str | None:
    """An id as text: a string that isn't empty, or a whole number."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def first_text(fields: Mapping[str, Any], *keys: str) -> str:
    """The first string under ``keys`` that isn't empty; an empty one where there is none."""
    return next((text for key in keys if (text := as_text(fields.get(key)))), "")


def first_id(fields: Mapping[str, Any], *keys: str) -> str | None:
    """The first id under ``keys``."""
    return next((identity for key in keys if (identity := as_id(fields.get(key)))), None)


def as_json(value: Any) -> str:
    """A decoded value as JSON; empty where it can't be written."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def decode_object(value: Any) -> Any:
    """The object that a string spells as JSON; any other value as it is."""
    if isinstance(value, str):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, dict) else value
    return value


def parse_time(value: Any, where: str) -> tuple[datetime | None, list[InputProblem]]:
    """A time, in UTC where the text has no zone, and a note if it can't be read. Exports of MongoDB wrap times."""
    plain = as_dict(value).get("$date", value)
    time = read_time(as_dict(plain).get("$numberLong", plain), UTC)
    return time, [unreadable_time(where, value)] if time is None and value not in (None, "") else []


def sent_at(value: Any, where: str, zone: tzinfo | None = None) -> tuple[datetime | None, InputProblem | None]:
    """A time, and a note where the value can't be read as one. ``zone`` is that of texts without a zone."""
    time = read_time(value, zone)
    return time, unreadable_time(where, value) if time is None and value not in (None, "") else None


def unreadable_time(where: str, value: Any) -> InputProblem:
    """The note on a time that can't be read."""
    excerpt = str(value)[:_EXCERPT_CHARACTERS]
    return InputProblem(where, f"the time {excerpt!r} can't be read; left open", harmless=True)


def object_problem(value: Any, where: str, what: str) -> InputProblem | None:
    """The problem of a value that should be an object, a ``what``, and is skipped; None if it is an undamaged one."""
    if isinstance(value, dict):
        return None if is_whole(value) else InputProblem(where, f"the {what} is damaged or cut off; skipped")
    return wrong_type(where, what, value)


def wrong_type(where: str, what: str, value: Any) -> InputProblem:
    """The problem of a value that is no ``what`` and is skipped."""
    return InputProblem(where, f"not {'an' if what[0] in 'aeio' else 'a'} {what} but {json_type(value)}; skipped")


def json_type(value: Any) -> str:
    """The JSON type of a decoded value, with its article: "a list"."""
    return next((name for kind, name in _JSON_TYPES.items() if isinstance(value, kind)), "null")


def entries(values: Iterable[Any], where: str, what: str) -> Iterator[tuple[int, str, dict[str, Any]] | InputProblem]:
    """The undamaged objects among the values, numbered from 1, each with its place.

    A value of another type becomes a problem, except null. Problems among the values are passed through."""
    number = 0
    for value in values:
        if isinstance(value, InputProblem):
            yield value
            continue
        number += 1
        place = f"{where}, {what} {number}" if where else f"{what} {number}"
        if value is not None:
            yield object_problem(value, place, what) or (number, place, value)


def titled_place(number: int, title: str | None) -> str:
    """How problems name a conversation of a file."""
    return f"conversation {number} ({title})" if title else f"conversation {number}"


def role_table(**words: str) -> dict[str, Role]:
    """The role for each of a format's words for speakers; a role's words are separated by spaces."""
    roles: dict[Role, str] = {role: words.get(role, "") for role in ("user", "assistant", "system", "tool")}
    return {word: role for role, text in roles.items() for word in text.split()}


def tool_metadata(kind: str, name: str = "") -> dict[str, Any]:
    """The metadata of a message of role ``tool``. ``kind`` is "reasoning", "call" or "result"."""
    return {"tools": [{"kind": kind} | ({"name": name} if name else {})]}


def call_text(name: str, arguments: Any) -> str:
    """A tool call as text: the tool's name, then a line for each argument."""
    lines = [name] if name else []
    if isinstance(arguments, dict):
        lines += [f"{key}: {value if isinstance(value, str) else as_json(value)}" for key, value in arguments.items()]
    elif arguments is not None:
        lines.append(arguments if isinstance(arguments, str) else as_json(arguments))
    return "\n".join(lines)


def made_id(prefix: str, *parts: object) -> str:
    """A session's id, made of what doesn't change when the session goes on, is renamed or is exported again."""
    joined = "\x1f".join(str(part) for part in parts)
    return f"{prefix}-{hashlib.sha256(joined.encode('utf-8', 'replace')).hexdigest()[:24]}"


def attached_file(name: str, *, path: str = "", type: Any = None, size: Any = None) -> AttachedFile:
    """What an export says of an attached file: its path, its media type and its size in bytes, each where it is one."""
    is_size = isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 62
    is_type = isinstance(type, str) and "/" in type and len(type) <= _MEDIA_TYPE_CHARACTERS
    return AttachedFile(name, path or None, type.lower() if is_type else None, size if is_size else None)


def with_attachments(text: str, attachments: list[dict[str, str]]) -> str:
    """A message's text, followed by the text of its attachments, so that a search finds both.

    Attachments without text are named only where the message has no text of its own: elsewhere the
    metadata names them."""
    parts = [text] if text else []
    for attachment in attachments:
        if attachment.get("text") or not text:
            label = f"[attachment: {attachment['name']}]"
            parts.append(f"{label}\n{attachment['text']}" if attachment.get("text") else label)
    return "\n\n".join(parts)
