"""Matrix: the JSON that Element exports of a room, an object with its events.

Edits take the place of the messages that they change, and reactions become metadata of theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
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
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_OPENED = frozenset({("messages",)})
_FIRST_KEYS = (("type", "sender"), ("type", "room_id"), ("content", "origin_server_ts"))
_ROOM_KEYS = frozenset({"room_name", "room_creator", "exported_by", "export_date"})
_EVENT_KEYS = frozenset({"origin_server_ts", "event_id", "sender", "room_id"})
_TALK = frozenset({"m.room.message", "m.sticker", "m.poll.start", "org.matrix.msc3381.poll.start"})
_FILES = frozenset({"m.image", "m.file", "m.audio", "m.video"})
_SENT_AGAIN = frozenset({"m.reaction", "m.room.redaction"})
_REPLACED = "m.replace"


def matches(head: DocumentHead) -> float:
    """The confidence that this is the export of a room."""
    return best_score(head, _score)


def _score(data: dict[str, Any]) -> float:
    events = [as_dict(one) for one in as_list(data.get("messages"))]
    has_events = any(as_text(one.get("type")).startswith("m.") and _EVENT_KEYS & one.keys() for one in events)
    has_events = has_events or any(len(_EVENT_KEYS & one.keys()) > 2 and "content" in one for one in events)
    if has_events:
        return 0.95
    return 0.9 if len(_ROOM_KEYS & data.keys()) > 1 and "messages" in data else 0.0


@dataclass(slots=True)
class _Room:
    """What the file says besides messages: the room, names by account, last versions, and reactions by event."""

    head: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    reactions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    identity: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)


def parse(document: Document) -> Iterator[Record]:
    """The room's messages in file order; the file is read twice."""
    room = _survey(document)
    session: str | None = None
    participants, ids = Participants(), PeopleMessageIds()
    own = as_text(room.head.get("exported_by")).partition(" ")[0]
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield part
            continue
        if part.shape != ("messages", "*"):
            continue
        where, event = f"line {part.line}", part.data
        if problem := json_fields.object_problem(event, where, "event"):
            yield problem
            continue
        kind, content = as_text(event.get("type")), as_dict(event.get("content"))
        if kind in _SENT_AGAIN or _target(content, _REPLACED):
            continue
        event_id = as_id(event.get("event_id"))
        version = room.versions.get(event_id or "")
        text, files = _text(kind, version or content, event, room)
        if not text and kind in ("", "m.room.message") and (text := unknown_text.text_under_text_keys(event)):
            yield unknown_text.kept(where)
        if not text.strip():
            room.skipped[kind or "no type"] += 1
            continue
        sent, note = sent_at(event.get("origin_server_ts"), where)
        if note:
            yield note
        if session is None:
            title = as_text(room.head.get("room_name")) or None
            session = room.identity or made_id("matrix", title, event_id, event.get("origin_server_ts"))
            yield SessionRecord(session, title, sent)
        sender = as_text(event.get("sender"))
        author = room.names.get(sender) or sender or None
        identity, is_copy, id_note = ids.claim(event_id, text, sender)
        if id_note:
            yield InputProblem(where, id_note, harmless=True)
        if is_copy:
            continue
        reply_to = as_id(as_dict(as_dict(content.get("m.relates_to")).get("m.in_reply_to")).get("event_id"))
        metadata = metadata_of(
            attachments=files, reactions=room.reactions.get(event_id or ""), edited=version is not None
        )
        yield from participants.note(session, author, ("handle", sender), me=bool(own) and own in (sender, author))
        role: Role = "user" if kind in _TALK or not kind else "system"
        yield MessageRecord(session, role, text, identity, author, sent, reply_to, metadata, where)
    for kind, count in sorted(room.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'event')} without text ({kind})", harmless=True)


def _survey(document: Document) -> _Room:
    room = _Room()
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            continue
        if part.shape != ("messages", "*"):
            if len(part.path) == 2 and isinstance(part.path[1], str):
                room.head[part.path[1]] = part.data
            continue
        event = as_dict(part.data)
        kind, content, sender = as_text(event.get("type")), as_dict(event.get("content")), as_text(event.get("sender"))
        room.identity = room.identity or as_id(event.get("room_id"))
        if kind == "m.room.member" and (name := as_text(content.get("displayname"))):
            room.names.setdefault(as_text(event.get("state_key")) or sender, name)
        if target := _target(content, _REPLACED):
            room.versions[target] = as_dict(content.get("m.new_content")) or content
        elif kind == "m.reaction" and (target := _target(content, "m.annotation")):
            emoji = as_text(as_dict(content.get("m.relates_to")).get("key"))
            room.reactions.setdefault(target, []).append({"emoji": emoji, "by": room.names.get(sender) or sender})
    return room


def _target(content: dict[str, Any], relation: str) -> str:
    related = as_dict(content.get("m.relates_to"))
    return as_text(related.get("event_id")) if related.get("rel_type") == relation else ""


def _text(kind: str, content: dict[str, Any], event: dict[str, Any], room: _Room) -> tuple[str, list[dict[str, str]]]:
    """The text of an event and its files."""
    body = as_text(content.get("body"))
    if kind in _TALK or not kind:
        if as_text(content.get("msgtype")) in _FILES:
            name = first_text(content, "filename", "body")
            files = [{"name": name}] if name else []
            return with_attachments(body if body != name else "", files), files
        poll = as_dict(content.get("m.poll") or content.get("org.matrix.msc3381.poll.start"))
        if question := _poll_text(as_dict(poll.get("question"))):
            answers = [_poll_text(as_dict(one)) for one in as_list(poll.get("answers"))]
            return "\n".join([question, *(f"- {answer}" for answer in answers if answer)]), []
        return _without_fallback(body, content), []
    if kind == "m.room.member":
        who = as_text(content.get("displayname")) or as_text(event.get("state_key"))
        return f"{as_text(content.get('membership'))}: {who}" if content.get("membership") else "", []
    return first_text(content, "name", "topic", "body"), []


def _poll_text(data: dict[str, Any]) -> str:
    found = first_text(data, "body", "org.matrix.msc1767.text")
    texts = [as_text(as_dict(one).get("body")) for one in as_list(data.get("m.text"))]
    return found or next((text for text in texts if text), "")


def _without_fallback(body: str, content: dict[str, Any]) -> str:
    """A reply without the lines that quote the message before it, for programs that know no replies."""
    if "m.in_reply_to" not in as_dict(content.get("m.relates_to")) or not body.startswith("> <"):
        return body
    quoted, blank, own = body.partition("\n\n")
    return own if blank and all(line.startswith(">") for line in quoted.split("\n")) else body
