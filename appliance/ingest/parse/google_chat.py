"""Google Chat as Takeout gives it: ``Groups/<id>/messages.json``, one file a conversation.

Beside it lies ``group_info.json`` with the conversation's name and members, and in ``Users/`` a
``user_info.json`` that says whose export it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream, pieces
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.gemini_words import read_date
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import newest_first, read_time
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_FIRST_KEYS = (("creator", "created_date"), ("messages", "creator"))
_GROUP = re.compile(r"(?:^|/)((?:DM|Space) [^/]+)/messages\.json$", re.IGNORECASE)


def matches(head: Head) -> float:
    """How surely these are messages of a Google Chat conversation."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        for message in as_list(as_dict(record).get("messages")):
            keys = as_dict(message).keys()
            if {"creator", "topic_id"} <= keys or {"creator", "created_date"} <= keys:
                best = max(best, 0.95)
            elif {"message_state", "topic_id"} & keys and "message_id" in keys:
                best = max(best, 0.9)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The messages of the file."""
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
        else:
            yield from _conversation(value.data, document)


def _conversation(data: Any, document: Document) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield Problem("", f"not a conversation but a {type(data).__name__}; passed over")
        return
    messages = data.get("messages")
    if not isinstance(messages, list):
        yield Problem("", "has no messages (no list of them); passed over", harmless=is_whole(data))
        return
    group = _beside(document, "group_info.json")
    session = _session_id(messages, document.name)
    yield SessionRecord(session, _title(group, document), None)
    names = {
        email: as_text(known.get("name"))
        for known in (*map(as_dict, as_list(group.get("members"))), *(_creator(m) for m in messages))
        if (email := as_text(known.get("email")))
    }
    there = {identity for message in messages if (identity := as_id(as_dict(message).get("message_id")))}
    used: set[str] = set()
    passed: Counter[str] = Counter()
    numbered = list(enumerate(messages, 1))
    if newest_first(_time(as_dict(message).get("created_date")) for message in messages):
        numbered.reverse()
    for number, message in numbered:
        where = f"message {number}"
        if not isinstance(message, dict):
            if message is not None:
                yield Problem(where, f"not an object but a {type(message).__name__}; passed over")
        elif not is_whole(message):
            yield Problem(where, "the message is damaged or cut off; passed over")
        else:
            yield from _message(session, message, names, there, used, passed, where)
    for kind, count in sorted(passed.items()):
        yield Problem("", f"{count} {kind}; passed over", harmless=True)


def _message(
    session: str,
    message: dict[str, Any],
    names: dict[str, str],
    there: set[str],
    used: set[str],
    passed: Counter[str],
    where: str,
) -> Iterator[Record]:
    identity = as_id(message.get("message_id"))
    if identity is not None and identity in used:
        yield Problem(where, f"the id {identity} is there twice; the second one has none", harmless=True)
        identity = None
    attachments = _attachments(message)
    words = as_text(message.get("text"))
    text = with_attachments(words or _linked(message), attachments)
    metadata: dict[str, Any] = {}
    if message.get("message_state") == "DELETED" or message.get("deleted_date"):
        metadata["deleted"] = True
    if not text.strip():
        passed["deleted messages have no text" if metadata else "messages have no text"] += 1
        return
    creator = _creator(message)
    earlier = [as_dict(version) for version in as_list(message.get("previous_message_versions"))]
    if earlier or message.get("updated_date"):
        metadata["edited"] = True
    if attachments:
        metadata["attachments"] = attachments
    if reactions := _reactions(message, names):
        metadata["reactions"] = reactions
    # Of an edited message only its first version may still say when it was written.
    dates = [date for version in (message, *earlier) if (date := version.get("created_date"))]
    sent = next((time for date in dates if (time := _time(date)) is not None), None)
    if sent is None and dates:
        yield pieces.unreadable(where, dates[0])
    author = as_text(creator.get("name")) or as_text(creator.get("email")) or None
    reply_to = _answered(message, identity, there)
    if identity is not None:
        used.add(identity)
    yield MessageRecord(session, "user", text, identity, author, sent, reply_to, metadata, where)


def _creator(message: Any) -> dict[str, Any]:
    return as_dict(as_dict(message).get("creator"))


def _answered(message: dict[str, Any], identity: str | None, there: set[str]) -> str | None:
    """The message that is quoted, else the first one of the thread, if that is there."""
    quoted = as_id(as_dict(message.get("quoted_message_metadata")).get("message_id"))
    if quoted is not None:
        return quoted
    group, _, rest = (identity or "").partition("/")
    topic, _, own = rest.partition("/")
    first = f"{group}/{topic}/{topic}"
    return first if own and own != topic and first in there else None


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    files = [as_dict(entry) for entry in as_list(message.get("attached_files"))]
    names = [as_text(file.get("original_name")) or as_text(file.get("export_name")) for file in files]
    shared = [as_dict(as_dict(entry).get("drive_metadata")) for entry in as_list(message.get("annotations"))]
    names += [as_text(drive.get("title")) for drive in shared]
    return [{"name": name} for name in names if name]


def _linked(message: dict[str, Any]) -> str:
    """What a message without words points to: a call, a video, a picture, a page."""
    for entry in as_list(message.get("annotations")):
        given = as_dict(entry)
        call = as_dict(as_dict(given.get("video_call_metadata")).get("meeting_space"))
        page = as_dict(given.get("url_metadata"))
        address = as_dict(page.get("url")).get("private_do_not_access_or_else_safe_url_wrapped_value")
        picture = as_dict(given.get("gsuite_integration_metadata"))
        task = as_dict(as_dict(picture.get("tasks_data")).get("task_properties"))
        for value in (call.get("meeting_url"), address, page.get("title"), task.get("title")):
            if text := as_text(value):
                return text
    return ""


def _reactions(message: dict[str, Any], names: dict[str, str]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for entry in as_list(message.get("reactions")):
        given = as_dict(entry)
        emoji = as_dict(given.get("emoji"))
        custom = as_dict(emoji.get("custom_emoji"))
        shown = as_text(emoji.get("unicode")) or as_text(custom.get("shortcode"))
        for email in as_list(given.get("reactor_emails")):
            if shown and isinstance(email, str):
                found.append({"emoji": shown, "by": names.get(email) or email})
    return found


# --- what lies around it ----------------------------------------------------------------------------


def _session_id(messages: list[Any], name: str) -> str:
    """The conversation's id: the first part of its messages' ids, else the name of its folder."""
    for message in messages:
        group, _, rest = (as_id(as_dict(message).get("message_id")) or "").partition("/")
        if group and rest:
            return group
    if found := _GROUP.search(name):
        return found[1]
    first = next((m for m in messages if isinstance(m, dict)), {})
    return pieces.made_id("google-chat", first.get("created_date"), _creator(first).get("email"))


def _title(group: dict[str, Any], document: Document) -> str | None:
    """The conversation's name, else the names of those that the person talks with."""
    if name := as_text(group.get("name")):
        return name
    person = document.around.once("google_chat", lambda: _beside(document, "../../Users/*/user_info.json"))
    user = as_dict(person.get("user"))
    own = {as_text(user.get("email")), as_text(user.get("name"))} - {""}
    folder = document.name.rpartition("/")[0].rpartition("/")[2]
    for entry in map(as_dict, as_list(person.get("membership_info"))):
        if as_text(entry.get("group_id")) == folder and (name := as_text(entry.get("group_name"))):
            return name
    members = [as_dict(member) for member in as_list(group.get("members"))]
    others = [m for m in members if not own & {as_text(m.get("email")), as_text(m.get("name"))}]
    names = [name for member in others or members if (name := as_text(member.get("name")))]
    return ", ".join(names) or None


def _beside(document: Document, path: str) -> dict[str, Any]:
    """The object in a file beside the document; empty if there is none that can be read."""
    found = document.around.find(path)
    if found is None:
        return {}
    values = [v.data for v in jsonstream.records(found) if isinstance(v, jsonstream.Value)]
    return as_dict(values[0]) if values else {}


def _time(value: Any) -> datetime | None:
    """A time as Takeout spells it: "Monday, March 3, 2025 at 9:15:30 AM UTC", always in UTC."""
    time = read_time(value, UTC)
    if time is None and isinstance(value, str):
        time = read_date(value)
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
