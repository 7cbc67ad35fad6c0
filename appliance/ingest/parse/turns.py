"""What parsers of assistants' conversations say alike: conversations in a list or around one, tool calls as
text, times, ids that must be unique."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document
from appliance.ingest.parse.fields import as_dict, as_list, as_text
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, SessionRecord

WRAPPER = "conversations"
"""What the list of conversations is called where an export has an object around it."""

_SHOWN = 60
_ID_LENGTH = 20


def conversations(
    document: Document, first_keys: Sequence[tuple[str, str]], holds: str
) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """The conversations of an export, numbered from 1. ``holds`` is the key that one has its messages under."""
    for value in jsonstream.records(document, first_keys, within=WRAPPER):
        if isinstance(value, Problem):
            yield value
        else:
            yield from unwrapped(value, holds)


def unwrapped(value: jsonstream.Value, holds: str) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """The conversations in a record: itself, or a list of them that could not be entered."""
    wrapped = value.data.get(WRAPPER) if isinstance(value.data, dict) and holds not in value.data else None
    found = enumerate(wrapped, 1) if isinstance(wrapped, list) else [(value.number, value.data)]
    for number, data in found:
        if isinstance(data, dict):
            yield number, data
        else:
            yield Problem(
                f"conversation {number}", f"not a conversation but a {type(data).__name__}; passed over"
            )


def objects(
    document: Document, first_keys: Sequence[tuple[str, str]], what: str
) -> Iterator[tuple[str, dict[str, Any]] | Problem]:
    """The objects of a file that usually has one, each with its name: ``what`` and its number."""
    for value in jsonstream.records(document, first_keys):
        if isinstance(value, Problem):
            yield value
        elif isinstance(value.data, dict):
            yield f"{what} {value.number}", value.data
        else:
            yield Problem("", f"not a {what} but a {type(value.data).__name__}; passed over")


def call_text(name: str, given: Any) -> str:
    """A tool call: its name, then what it was given, a line for each key."""
    lines = [name] if name else []
    given = _arguments(given)
    if isinstance(given, dict):
        lines += [
            f"{key}: {value if isinstance(value, str) else as_json(value)}" for key, value in given.items()
        ]
    elif given not in (None, ""):
        lines.append(given if isinstance(given, str) else as_json(given))
    return "\n".join(lines)


def paths_in(given: Any, keys: tuple[str, ...]) -> list[str]:
    """The files that a tool call names under one of ``keys``."""
    found = [as_text(as_dict(_arguments(given)).get(key)) for key in keys]
    return list(dict.fromkeys(path for path in found if path))


def _arguments(given: Any) -> Any:
    """What a call was given; often JSON within a text."""
    if isinstance(given, str):
        try:
            decoded = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return decoded if isinstance(decoded, dict) else given
    return given


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def words_of(content: Any) -> str:
    """The words of a content that is a text, or a list of texts and of blocks with ``text``."""
    if isinstance(content, str):
        return content
    parts = [
        part if isinstance(part, str) else as_text(as_dict(part).get("text")) for part in as_list(content)
    ]
    return "\n\n".join(part for part in parts if part.strip())


def moment(value: Any, where: str) -> tuple[datetime | None, list[Problem]]:
    """A time, in UTC where the text has no zone, or a note that it can't be read."""
    given = as_dict(value).get("$date", value)
    given = as_dict(given).get("$numberLong", given)
    time = read_time(given, UTC)
    if time is None and value not in (None, ""):
        told = Problem(where, f"the time {str(value)[:_SHOWN]!r} can't be read; left open", harmless=True)
        return None, [told]
    return time, []


def entries(values: list[Any], where: str, what: str) -> Iterator[tuple[int, str, dict[str, Any]] | Problem]:
    """The whole objects of a list, numbered, each with its place; a Problem for whatever else is there."""
    for number, value in enumerate(values, 1):
        place = f"{where}, {what} {number}"
        if value is None:
            continue
        if not isinstance(value, dict):
            yield Problem(place, f"not an object but a {type(value).__name__}; passed over")
        elif not is_whole(value):
            yield Problem(place, f"the {what} is damaged or cut off; passed over")
        else:
            yield number, place, value


@dataclass(slots=True)
class Ids:
    """The ids that a session's messages have so far."""

    used: set[str] = field(default_factory=set)

    def taken(self, identity: str | None, where: str) -> tuple[str | None, list[Problem]]:
        """The id if it is new; none and a note if another message of the session has it."""
        if identity is None:
            return None, []
        if identity in self.used:
            told = f"the id {identity[:_SHOWN]} is there twice; the second one gets another"
            return None, [Problem(where, told, harmless=True)]
        self.used.add(identity)
        return identity, []


def named(records: Iterable[Record]) -> Iterator[Record]:
    """The records with ids for messages that have none, out of what they say and the how-manieth of their
    like they are in their session.

    For formats whose sessions are known by ids: two that begin with the same five messages (a system prompt,
    a greeting) are two all the same."""
    seen: Counter[str] = Counter()
    for record in records:
        if isinstance(record, SessionRecord):
            seen.clear()
        elif isinstance(record, MessageRecord) and record.external_id is None:
            when = record.sent_at.isoformat() if record.sent_at else ""
            content = "\0".join((when, record.role, record.author or "", record.text))
            seen[content := hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH]] += 1
            record = replace(record, external_id=f"{content}-{seen[content]}")
        yield record


def made_id(prefix: str, *parts: object) -> str:
    """A session's id out of what doesn't change when it goes on or is renamed."""
    whole = "\0".join(str(part) for part in parts)
    return f"{prefix}-{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()[:24]}"


def file_title(name: str, ending: str) -> str | None:
    """A file's own name without its ending (a pattern), as a title."""
    stem = re.sub(ending + "$", "", name.replace("\\", "/").rpartition("/")[2], flags=re.IGNORECASE)
    return stem.strip() or None
