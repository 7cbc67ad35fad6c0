"""Google Hangouts: ``Hangouts.json`` of Google's Takeout, of both generations.

Each conversation has its members and its events; the order of events is not that of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import (
    as_dict,
    as_id,
    as_list,
    as_text,
    first_text,
    made_id,
    sent_at,
    with_attachments,
)
from appliance.formats.people_chats import Participants, PeopleMessageIds
from appliance.formats.records import best_score, counted, metadata_of
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_OPENED = frozenset({("conversations",), ("conversation_state",)})
_FIRST_KEYS = (("conversation", "events"), ("conversation_id", "conversation_state"))


def matches(head: DocumentHead) -> float:
    """The confidence that this is the export: conversations with events, in either form."""
    return best_score(head, _score)


def _score(data: dict[str, Any]) -> float:
    rows = [as_dict(one) for key in ("conversations", "conversation_state") for one in as_list(data.get(key))]
    events = [as_dict(event) for row in rows for event in _events(row)]
    if any({"chat_message", "sender_id", "timestamp"} & event.keys() for event in events):
        return 0.95
    has_members = any(
        "participant_data" in _conversation_fields(row) or "self_conversation_state" in _conversation_fields(row)
        for row in rows
    )
    return 0.9 if has_members else 0.0


def _events(row: dict[str, Any]) -> list[Any]:
    return as_list(row.get("events")) or as_list(as_dict(row.get("conversation_state")).get("event"))


def _conversation_fields(row: dict[str, Any]) -> dict[str, Any]:
    """What the row says of the conversation."""
    outer = as_dict(row.get("conversation")) or as_dict(row.get("conversation_state"))
    return as_dict(outer.get("conversation")) or outer


@dataclass(slots=True)
class _HangoutsExport:
    participants: Participants = field(default_factory=Participants)
    skipped: Counter[str] = field(default_factory=Counter)


def parse(document: Document) -> Iterator[Record]:
    """The conversations in the order of the file, each by time."""
    export = _HangoutsExport()
    number = 0
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield part
        elif len(part.shape) == 2 and part.shape[1] == "*":
            number += 1
            where = f"conversation {number}"
            if problem := json_fields.object_problem(part.data, where, "conversation"):
                yield problem
            else:
                yield from _conversation(part.data, export, where)
    for kind, count in sorted(export.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'event')} without text ({kind})", harmless=True)


def _conversation(row: dict[str, Any], export: _HangoutsExport, where: str) -> Iterator[Record]:
    about = _conversation_fields(row)
    names = {
        identity: name
        for one in map(as_dict, as_list(about.get("participant_data")))
        if (identity := _person(one.get("id"))) and (name := as_text(one.get("fallback_name")))
    }
    own = _person(as_dict(as_dict(about.get("self_conversation_state")).get("self_read_state")).get("participant_id"))
    events = [(number, as_dict(event)) for number, event in enumerate(_events(row), 1)]
    events.sort(key=lambda one: int(stamp) if (stamp := as_text(one[1].get("timestamp"))).isdecimal() else 0)
    others = [name for identity, name in names.items() if identity != own]
    title = as_text(about.get("name")) or ", ".join(others) or None
    identity = as_text(
        as_dict(as_dict(row.get("conversation")).get("conversation_id") or row.get("conversation_id")).get("id")
    )
    first = events[0][1] if events else {}
    session = (
        identity or as_text(as_dict(about.get("id")).get("id")) or made_id("hangouts", title, first.get("timestamp"))
    )
    ids = PeopleMessageIds()
    begun = False
    for number, event in events:
        place = f"{where}, event {number}"
        sent, note = sent_at(event.get("timestamp"), place)
        kind, words, files, is_guess = _content(event)
        text = with_attachments(words, files)
        if not text.strip():
            export.skipped[kind] += 1
            continue
        if not begun:
            begun = True
            yield SessionRecord(session, title, sent)
        if note:
            yield note
        if is_guess:
            yield unknown_text.kept(place)
        sender = _person(event.get("sender_id"))
        message_id, is_copy, id_note = ids.claim(as_id(event.get("event_id")), text, sender or "")
        if id_note:
            yield InputProblem(place, id_note, harmless=True)
        if is_copy:
            continue
        author = names.get(sender or "") or sender
        yield from export.participants.note(
            session, author, ("id", sender), ("name", author), me=bool(own) and sender == own
        )
        role: Role = "user" if "chat_message" in event or is_guess else "system"
        metadata = metadata_of(attachments=files)
        yield MessageRecord(session, role, text, message_id, author, sent, None, metadata, place)


def _person(value: Any) -> str | None:
    return first_text(as_dict(value), "gaia_id", "chat_id") or None


def _content(event: dict[str, Any]) -> tuple[str, str, list[dict[str, str]], bool]:
    """The kind of an event, its text and files, and whether the text was found in an unknown place."""
    kind = first_text(event, "event_type") or "no type"
    content = as_dict(as_dict(event.get("chat_message")).get("message_content"))
    words = "".join("\n" if as_text(one.get("type")) == "LINE_BREAK" else as_text(one.get("text"))
                    for one in map(as_dict, as_list(content.get("segment"))))  # fmt: skip
    files = [{"name": name} for one in as_list(content.get("attachment")) if (name := _file_name(as_dict(one)))]
    if words or files or "chat_message" not in event:
        call = as_dict(event.get("hangout_event"))
        rename = as_text(as_dict(event.get("conversation_rename")).get("new_name"))
        change = as_text(as_dict(event.get("membership_change")).get("type"))
        notice = first_text(call, "event_type") or (f"renamed the conversation: {rename}" if rename else change)
        return (
            kind,
            words or ("" if files else notice.replace("_", " ").lower() if notice != rename else notice),
            files,
            False,
        )
    found = unknown_text.text_under_text_keys(event)
    return kind, found, [], bool(found)


def _file_name(attachment: dict[str, Any]) -> str:
    """The name of a picture, else the address of what is shared."""
    item = as_dict(attachment.get("embed_item"))
    for key, value in item.items():
        data = as_dict(value)
        if "plus_photo" in key.lower():
            address = first_text(data, "url", "original_content_url") or first_text(
                as_dict(data.get("thumbnail")), "image_url"
            )
            return address.partition("?")[0].rstrip("/").rpartition("/")[2] or "photo"
        if address := first_text(data, "url", "name"):
            return address
    return first_text(attachment, "id")
