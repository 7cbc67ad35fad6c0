"""Google Chat from Takeout: ``Groups/<id>/messages.json``, one file a conversation.

``group_info.json`` in the same folder has the conversation's name and members, and a ``user_info.json`` in
``Users/`` says whose export it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.gemini_words import read_date
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, entries, first_text, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import is_newest_first, read_time
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_FIRST_KEYS = (("creator", "created_date"), ("messages", "creator"))
_GROUP = re.compile(r"(?:^|/)((?:DM|Space) [^/]+)/messages\.json$", re.IGNORECASE)


def matches(head: DocumentHead) -> float:
    """How surely these are messages of a Google Chat conversation."""
    best = 0.0
    for record in json_stream.preview(head.text):
        for message in as_list(as_dict(record).get("messages")):
            keys = as_dict(message).keys()
            if {"creator", "topic_id"} <= keys or {"creator", "created_date"} <= keys:
                best = max(best, 0.95)
            elif {"message_state", "topic_id"} & keys and "message_id" in keys:
                best = max(best, 0.9)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The messages of the file."""
    for value in json_stream.records(document, _FIRST_KEYS):
        if isinstance(value, InputProblem):
            yield value
        else:
            yield from _conversation(value.data, document)


def _conversation(data: Any, document: Document) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield json_fields.wrong_type("", "conversation", data)
        return
    messages = data.get("messages")
    if not isinstance(messages, list):
        yield InputProblem("", "has no list of messages; skipped", harmless=is_whole(data))
        return
    group = json_stream.first_object(document.context.find("group_info.json"))
    session = _session_id(messages, document.name)
    yield SessionRecord(session, _title(group, document), None)
    people = (*map(as_dict, as_list(group.get("members"))), *map(_creator, messages))
    names = {email: as_text(person.get("name")) for person in people if (email := as_text(person.get("email")))}
    known_ids = {identity for message in messages if (identity := as_id(as_dict(message).get("message_id")))}
    used: set[str] = set()
    skipped: Counter[str] = Counter()
    participants, own = Participants(), {as_text(_own_account(document).get("email"))} - {""}
    numbered = list(entries(messages, "", "message"))
    if is_newest_first(_time(as_dict(message).get("created_date")) for message in messages):
        numbered.reverse()
    for entry in numbered:
        if isinstance(entry, InputProblem):
            yield entry
        else:
            for record in _message(session, entry[2], names, known_ids, used, skipped, entry[1]):
                if isinstance(record, MessageRecord):
                    email, name = (as_text(_creator(entry[2]).get(key)) for key in ("email", "name"))
                    yield from participants.note(
                        session, record.author, ("address", email), ("name", name), me=email in own
                    )
                yield record
    for kind, count in sorted(skipped.items()):
        yield InputProblem("", f"skipped {counted(count, kind)} without text", harmless=True)


def _message(
    session: str,
    message: dict[str, Any],
    names: dict[str, str],
    known_ids: set[str],
    used: set[str],
    skipped: Counter[str],
    where: str,
) -> Iterator[Record]:
    identity = as_id(message.get("message_id"))
    if identity is not None and identity in used:
        yield InputProblem(where, f"the id {identity} occurs twice; the second message gets none", harmless=True)
        identity = None
    attachments = _attachments(message)
    words = as_text(message.get("text")) or _linked_text(message)
    if not words and not attachments and (words := unknown_text.text_under_text_keys(message)):
        yield unknown_text.kept(where)
    text = with_attachments(words, attachments)
    metadata: dict[str, Any] = {}
    if message.get("message_state") == "DELETED" or message.get("deleted_date"):
        metadata["deleted"] = True
    if not text.strip():
        skipped["deleted message" if metadata else "message"] += 1
        return
    earlier = [as_dict(version) for version in as_list(message.get("previous_message_versions"))]
    if earlier or message.get("updated_date"):
        metadata["edited"] = True
    if attachments:
        metadata["attachments"] = attachments
    if reactions := _reactions(message, names):
        metadata["reactions"] = reactions
    # Only the first version of an edited message may still have the time when it was written.
    dates = [date for version in (message, *earlier) if (date := version.get("created_date"))]
    sent = next((time for date in dates if (time := _time(date)) is not None), None)
    if sent is None and dates:
        yield json_fields.unreadable_time(where, dates[0])
    author = first_text(_creator(message), "name", "email") or None
    reply_to = _reply_target(message, identity, known_ids)
    if identity is not None:
        used.add(identity)
    yield MessageRecord(session, "user", text, identity, author, sent, reply_to, metadata, where)


def _creator(message: Any) -> dict[str, Any]:
    return as_dict(as_dict(message).get("creator"))


def _reply_target(message: dict[str, Any], identity: str | None, known_ids: set[str]) -> str | None:
    """The quoted message, else the first message of the thread if the export has it."""
    quoted = as_id(as_dict(message.get("quoted_message_metadata")).get("message_id"))
    if quoted is not None:
        return quoted
    group, _, rest = (identity or "").partition("/")
    topic, _, own = rest.partition("/")
    first = f"{group}/{topic}/{topic}"
    return first if own and own != topic and first in known_ids else None


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    files = [as_dict(entry) for entry in as_list(message.get("attached_files"))]
    names = [first_text(file, "original_name", "export_name") for file in files]
    shared = [as_dict(as_dict(entry).get("drive_metadata")) for entry in as_list(message.get("annotations"))]
    names += [as_text(drive.get("title")) for drive in shared]
    return [{"name": name} for name in names if name]


def _linked_text(message: dict[str, Any]) -> str:
    """The address or title of what a message without text points to: a call, a video, a picture, a page, a task."""
    for entry in map(as_dict, as_list(message.get("annotations"))):
        call = as_dict(as_dict(entry.get("video_call_metadata")).get("meeting_space"))
        page = as_dict(entry.get("url_metadata"))
        address = as_dict(page.get("url")).get("private_do_not_access_or_else_safe_url_wrapped_value")
        tasks = as_dict(as_dict(entry.get("gsuite_integration_metadata")).get("tasks_data"))
        task = as_dict(tasks.get("task_properties"))
        for value in (call.get("meeting_url"), address, page.get("title"), task.get("title")):
            if text := as_text(value):
                return text
    return ""


def _reactions(message: dict[str, Any], names: dict[str, str]) -> list[dict[str, str]]:
    reactions: list[dict[str, str]] = []
    for entry in map(as_dict, as_list(message.get("reactions"))):
        emoji = as_dict(entry.get("emoji"))
        shown = as_text(emoji.get("unicode")) or as_text(as_dict(emoji.get("custom_emoji")).get("shortcode"))
        emails = [email for email in as_list(entry.get("reactor_emails")) if shown and isinstance(email, str)]
        reactions += [{"emoji": shown, "by": names.get(email) or email} for email in emails]
    return reactions


def _session_id(messages: list[Any], name: str) -> str:
    """The conversation's id: the first part of its messages' ids, else the name of its folder."""
    for message in messages:
        group, _, rest = (as_id(as_dict(message).get("message_id")) or "").partition("/")
        if group and rest:
            return group
    if folder := _GROUP.search(name):
        return folder[1]
    first = next((m for m in messages if isinstance(m, dict)), {})
    return json_fields.made_id("google-chat", first.get("created_date"), _creator(first).get("email"))


def _user_info(document: Document) -> dict[str, Any]:
    find = document.context.find
    return document.context.get_or_create(
        "google_chat", lambda: json_stream.first_object(find("../../Users/*/user_info.json"))
    )


def _own_account(document: Document) -> dict[str, Any]:
    """The account whose export it is."""
    return as_dict(_user_info(document).get("user"))


def _title(group: dict[str, Any], document: Document) -> str | None:
    """The conversation's name, else the names of its other members."""
    if name := as_text(group.get("name")):
        return name
    person, user = _user_info(document), _own_account(document)
    own = {as_text(user.get("email")), as_text(user.get("name"))} - {""}
    folder = document.name.rpartition("/")[0].rpartition("/")[2]
    for entry in map(as_dict, as_list(person.get("membership_info"))):
        if as_text(entry.get("group_id")) == folder and (name := as_text(entry.get("group_name"))):
            return name
    members = [as_dict(member) for member in as_list(group.get("members"))]
    others = [m for m in members if not own & {as_text(m.get("email")), as_text(m.get("name"))}]
    names = [name for member in others or members if (name := as_text(member.get("name")))]
    return ", ".join(names) or None


def _time(value: Any) -> datetime | None:
    """A time as Takeout spells it: "Monday, March 3, 2025 at 9:15:30 AM UTC", always in UTC."""
    time = read_time(value, UTC)
    time = read_date(value) if time is None and isinstance(value, str) else time
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
