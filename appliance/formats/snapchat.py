"""Snapchat: ``chat_history.json`` of "My Data", with the saved messages of each conversation.

Newer files have a list for each person or group; older ones have lists of what was received and sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text, made_id, sent_at, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import best_score, counted, metadata_of
from appliance.formats.timestamps import is_newest_first, read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_KEYS = frozenset({"Media Type", "IsSender", "Created(microseconds)", "Conversation Title", "IsSaved", "Media IDs"})
_NAMES = frozenset({"From", "To", "Created", "Content", "Text"})
_FIRST_KEYS = (("From", "Media Type"), ("From", "Created"), ("To", "Media Type"))
_TEXT = "TEXT"
_OWN_NAME = "Me"


def matches(head: DocumentHead) -> float:
    """The confidence that this is such a file: lists of messages in its form under names of people."""
    return best_score(head, _score)


def _score(data: dict[str, Any]) -> float:
    messages = [as_dict(one) for rows in data.values() if isinstance(rows, list) for one in rows]
    return 0.95 if any(_KEYS & one.keys() and len(_NAMES & one.keys()) > 1 for one in messages) else 0.0


@dataclass(slots=True)
class _History:
    me: str
    begun: set[str] = field(default_factory=set)
    participants: Participants = field(default_factory=Participants)
    skipped: int = 0


def parse(document: Document) -> Iterator[Record]:
    """The conversations in the order of the file, each from its oldest message on."""
    history = _History(document.context.me or _OWN_NAME)
    for part in json_stream.parts(document, frozenset(), _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield part
        elif len(part.path) == 2 and isinstance(part.path[1], str):
            yield from _conversation(part.path[1], as_list(part.data), history)
        else:
            yield json_fields.wrong_type(f"line {part.line}", "history", part.data)
    if history.skipped:
        yield InputProblem("", f"skipped {counted(history.skipped, 'message')} without text (snaps)", harmless=True)


def _conversation(key: str, rows: list[Any], history: _History) -> Iterator[Record]:
    messages = [(number, as_dict(row)) for number, row in enumerate(rows, 1)]
    if is_newest_first(read_time(row.get("Created")) for _, row in messages):
        messages.reverse()
    for number, row in messages:
        where = f"{key[:40]}, message {number}"
        if not row:
            yield json_fields.wrong_type(where, "message", rows[number - 1])
            continue
        is_own = row.get("IsSender") is True or ("To" in row and "From" not in row)
        kind = as_text(row.get("Media Type"))
        words = first_text(row, "Content", "Text")
        files = [{"name": kind.lower() or "media"}] if not words and kind not in ("", _TEXT) else []
        if not words and not files and (words := unknown_text.text_under_text_keys(row)):
            yield unknown_text.kept(where)
        text = with_attachments(words, files)
        if not text.strip():
            history.skipped += 1
            continue
        sent, note = sent_at(row.get("Created(microseconds)") or row.get("Created"), where)
        if note:
            yield note
        # In older files, the key is that of a list, and the other person stands in each message.
        other = key if " History" not in key else first_text(row, "From", "To")
        session = made_id("snapchat", other)
        if session not in history.begun:
            history.begun.add(session)
            yield SessionRecord(session, as_text(row.get("Conversation Title")) or other or None, sent)
        account = as_text(row.get("From"))
        author = history.me if is_own else account or other or None
        yield from history.participants.note(
            session, author, ("handle", account or (None if is_own else other)), me=is_own
        )
        metadata = metadata_of(attachments=files)
        yield MessageRecord(session, "user", text, None, author, sent, None, metadata, where)
