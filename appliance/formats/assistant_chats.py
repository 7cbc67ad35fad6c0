"""What the parsers of chats with assistants have in common: conversations in a list or a wrapper around it, tool
calls as text, times, and ids that must be unique."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Any

from appliance.formats import json_fields, json_stream
from appliance.formats.base import Document
from appliance.formats.json_fields import as_dict, as_list, as_text, decode_object, wrong_type
from appliance.formats.json_fields import as_json as as_json
from appliance.formats.json_fields import entries as entries
from appliance.formats.json_fields import parse_time as parse_time
from appliance.formats.json_scanner import KeyPairs
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

WRAPPER = "conversations"
"""The key of the list of conversations, where an export has an object around it."""

ConversationParser = Callable[[dict[str, Any], int], Iterator[Record]]

_EXCERPT_CHARACTERS = 60
_ID_LENGTH = 20


def conversations(
    document: Document, first_keys: KeyPairs, messages_key: str, parse: ConversationParser
) -> Iterator[Record]:
    """The records that ``parse`` makes of each conversation of an export, and of its number from 1.

    Args:
        first_keys: pairs of keys that a conversation begins with, as in ``json_stream.records``.
        messages_key: the key under which a conversation has its messages.
    """
    for value in json_stream.records(document, first_keys, within=WRAPPER):
        if isinstance(value, InputProblem):
            yield value
        else:
            yield from unwrapped(value, messages_key, parse)


def unwrapped(value: json_stream.JsonRecord, messages_key: str, parse: ConversationParser) -> Iterator[Record]:
    """As ``conversations``, for one record: a conversation, or an object with a list of them that the stream could
    not enter."""
    wrapped = value.data.get(WRAPPER) if isinstance(value.data, dict) and messages_key not in value.data else None
    numbered = enumerate(wrapped, 1) if isinstance(wrapped, list) else [(value.number, value.data)]
    for number, data in numbered:
        if isinstance(data, dict):
            yield from parse(data, number)
        else:
            yield wrong_type(f"conversation {number}", "conversation", data)


def objects(document: Document, first_keys: KeyPairs, what: str) -> Iterator[tuple[str, dict[str, Any]] | InputProblem]:
    """The objects of a file that usually has one, each with its place: ``what`` and its number."""
    for value in json_stream.records(document, first_keys):
        if isinstance(value, InputProblem):
            yield value
        elif isinstance(value.data, dict):
            yield f"{what} {value.number}", value.data
        else:
            yield wrong_type("", what, value.data)


def call_text(name: str, arguments: Any) -> str:
    """A tool call as text; its arguments are often JSON within a string."""
    return json_fields.call_text(name, decode_object(arguments) if arguments != "" else None)


def paths_in(arguments: Any, keys: tuple[str, ...]) -> list[str]:
    """The files that a tool call names under one of ``keys``."""
    paths = [as_text(as_dict(decode_object(arguments)).get(key)) for key in keys]
    return list(dict.fromkeys(path for path in paths if path))


def words_of(content: Any) -> str:
    """The text of a string, or of a list of strings and of blocks with ``text``."""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else as_text(as_dict(part).get("text")) for part in as_list(content)]
    return "\n\n".join(part for part in parts if part.strip())


@dataclass(slots=True)
class AssistantMessageIds:
    """The ids of a session's messages so far."""

    used: set[str] = field(default_factory=set)

    def claim(self, identity: str | None, where: str) -> tuple[str | None, list[InputProblem]]:
        """The id if it is new; none and a note if another message of the session has it."""
        if identity is None:
            return None, []
        if identity not in self.used:
            self.used.add(identity)
            return identity, []
        note = f"the id {identity[:_EXCERPT_CHARACTERS]} occurs twice; the second message gets another"
        return None, [InputProblem(where, note, harmless=True)]


def with_made_ids(records: Iterable[Record]) -> Iterator[Record]:
    """The records, with ids for messages that have none: a digest of their content, and a count of equal messages in
    the session.

    For formats whose sessions are known by ids: two sessions stay two even if they begin with the same five
    messages (a system prompt, a greeting)."""
    seen: Counter[str] = Counter()
    for record in records:
        if isinstance(record, SessionRecord):
            seen.clear()
        elif isinstance(record, MessageRecord) and record.external_id is None:
            when = record.sent_at.isoformat() if record.sent_at else ""
            content = "\0".join((when, record.role, record.author or "", record.text))
            digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH]
            seen[digest] += 1
            record = replace(record, external_id=f"{digest}-{seen[digest]}")
        yield record


def made_id(prefix: str, *parts: object) -> str:
    """A session's id, made of what doesn't change when the session goes on or is renamed."""
    joined = "\0".join(str(part) for part in parts)
    return f"{prefix}-{hashlib.sha256(joined.encode('utf-8', 'replace')).hexdigest()[:24]}"


def file_title(name: str, ending: str) -> str | None:
    """A file's own name without its ending (a pattern), as a title."""
    stem = re.sub(ending + "$", "", name.replace("\\", "/").rpartition("/")[2], flags=re.IGNORECASE)
    return stem.strip() or None
