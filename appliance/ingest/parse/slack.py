"""Slack: a folder for each channel, and in it a file for each day, a list of messages.

A document is one day; its session is the channel, so that the days of a channel come together. Who is
who and which channel it is stands in ``users.json``, ``channels.json`` and the like above it. A
message's time in Slack's spelling ("1681413829.513479") is its id within the channel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.people import Ids, made_id, sent_at
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_TS = re.compile(r"\d{9,11}\.\d{3,6}", re.ASCII)
_FIRST_KEYS = (("client_msg_id", "type"), ("user", "type"), ("type", "subtype"), ("subtype", "type"))
_USERS = ("users.json", "org_users.json")
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")

# What is said although it has a subtype; every other subtype that is named like an event is one.
_EVENT = re.compile(
    r"(?:channel|group|pinned|unpinned|reminder|sh_room|huddle|joiner|app_conversation|conversation|ekm|mpdm)_.+"
    r"|bot_(?:add|remove|enable|disable)|tombstone"
)
_MARKUP = re.compile(r"<([@#!]|[a-zA-Z][a-zA-Z0-9+.-]*:)([^<>|]*)(?:\|([^<>]*))?>|&(lt|gt|amp);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}
_MENTIONED = re.compile(r"<@([A-Z0-9]+)[|>]")
_SHARED_ID = re.compile(r"[CDG][A-Z0-9]{7,}")


def matches(head: Head) -> float:
    """How surely this is a day of a channel: a list of messages that have a ``ts``."""
    if not head.text.lstrip("\ufeff \t\r\n").startswith("["):
        return 0.0
    records = [record for record in jsonstream.preview(head.text) if isinstance(record, dict)]
    found = sum(_is_message(record) for record in records)
    # The last one may be cut off at the end of what was looked at.
    return 0.95 if found and found >= (len(records) - 1) // 2 else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages of one day, in the order of the file."""
    names = document.around.once(("slack users", _place(document)), lambda: _users(document))
    rooms = document.around.once(("slack channels", _place(document)), lambda: _rooms(document, names))
    day = _Day(_profiles(document) | names, {room.id: room.title for room in rooms.values() if room.title})
    room: _Room | None = None
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
            continue
        where, data = f"line {value.line}", value.data
        if not isinstance(data, dict):
            yield Problem(where, f"not a message but a {type(data).__name__}; passed over")
        elif not is_whole(data):
            yield Problem(where, "the message is damaged or cut off; passed over")
        elif data.get("type", "message") != "message":
            day.passed[f"type {str(data['type'])[:40]}"] += 1
        elif not data:
            day.passed["no content"] += 1
        else:
            if room is None:
                room = _room_of(document, rooms, data)
                yield SessionRecord(room.id, room.title, room.created)
            yield from _message(room.id, data, day, where)
    for what, count in sorted(day.passed.items()):
        yield Problem("", f"{count} records of {what} hold no words; passed over", harmless=True)


@dataclass(frozen=True, slots=True)
class _Room:
    """A channel, group or direct conversation."""

    id: str
    title: str | None
    created: datetime | None = None


@dataclass(slots=True)
class _Day:
    """What the messages of a file share: names by user id, titles by channel id, and what was seen."""

    names: dict[str, str]
    titles: dict[str, str]
    ids: Ids = field(default_factory=Ids)
    passed: Counter[str] = field(default_factory=Counter)


def _is_message(record: dict[str, Any]) -> bool:
    ts = record.get("ts")
    return record.get("type") == "message" and isinstance(ts, str) and _TS.fullmatch(ts) is not None


def _message(session: str, data: dict[str, Any], day: _Day, where: str) -> Iterator[Record]:
    ts = as_id(data.get("ts"))
    subtype = as_text(data.get("subtype"))
    text = _words(as_text(data.get("text")), day)
    shown = [_shown(as_dict(entry), day) for entry in as_list(data.get("attachments"))]
    if not text:
        # Blocks repeat the text, and bots often say everything in what they attach.
        text = _block_text(data.get("blocks"), day) or "\n\n".join(said for _, said, _ in shown if said)
        shown = []
    files = [
        file for entry in as_list(data.get("files")) or [data.get("file")] if (file := _file(as_dict(entry)))
    ]
    files += [{"name": name, "text": said} for name, said, preview in shown if said and not preview]
    text = with_attachments(text, files)
    if not text.strip():
        day.passed[f"subtype {subtype}" if subtype else "a message without text"] += 1
        return
    identity, again, note = day.ids.claim(ts, text, as_text(data.get("user")), subtype)
    if note:
        yield Problem(where, note, harmless=True)
    if again:
        return
    time, unread = sent_at(ts, where, UTC)
    if unread:
        yield unread
    event = _EVENT.fullmatch(subtype) is not None
    parent = as_id(data.get("thread_ts"))
    yield MessageRecord(
        session,
        "system" if event else "user",
        text,
        identity,
        _author(data, day),
        time,
        parent if parent != ts else None,
        _metadata(data, files, day),
        where,
    )


def _metadata(data: dict[str, Any], files: list[dict[str, str]], day: _Day) -> dict[str, Any]:
    metadata: dict[str, Any] = {"attachments": files} if files else {}
    reactions = [
        {"emoji": as_text(reaction.get("name")), "by": day.names.get(user, user)}
        for reaction in map(as_dict, as_list(data.get("reactions")))
        for user in as_list(reaction.get("users"))
        if isinstance(user, str) and as_text(reaction.get("name"))
    ]
    if reactions:
        metadata["reactions"] = reactions
    if data.get("edited"):
        metadata["edited"] = True
    if data.get("subtype") == "tombstone":
        metadata["deleted"] = True
    return metadata


def _author(data: dict[str, Any], day: _Day) -> str | None:
    """Who it was: by the table of users, else as the record itself describes them."""
    user = as_text(data.get("user")) or as_text(as_dict(data.get("comment")).get("user"))
    if not user and data.get("subtype") == "file_comment":
        found = _MENTIONED.match(as_text(data.get("text")))
        user = found[1] if found else ""
    return (
        as_text(data.get("username"))
        or day.names.get(user)
        or as_text(as_dict(data.get("bot_profile")).get("name"))
        or user
        or as_text(data.get("bot_id"))
        or None
    )


def _name(profile: dict[str, Any], user: dict[str, Any]) -> str:
    return (
        as_text(profile.get("display_name"))
        or as_text(profile.get("real_name"))
        or as_text(user.get("real_name"))
        or as_text(user.get("name"))
    )


def _file(data: dict[str, Any]) -> dict[str, str] | None:
    """A file by its name; what was pasted as a snippet or a post stands in the export itself."""
    name = as_text(data.get("name")) or as_text(data.get("title")) or as_text(data.get("id"))
    text = as_text(data.get("plain_text")) or as_text(data.get("preview"))
    if not name:
        return None
    return {"name": name, "text": text} if text else {"name": name}


def _shown(data: dict[str, Any], day: _Day) -> tuple[str, str, bool]:
    """What an attachment is called, what it says, and whether it is but the preview of a link."""
    title = _words(as_text(data.get("title")), day)
    parts = [_words(as_text(data.get("pretext")), day), title, _words(as_text(data.get("text")), day)]
    for entry in as_list(data.get("fields")):
        line = [_words(as_text(as_dict(entry).get(key)), day) for key in ("title", "value")]
        parts.append(": ".join(part for part in line if part))
    said = "\n".join(part for part in parts if part)
    said = said or _block_text(data.get("blocks"), day) or _words(as_text(data.get("fallback")), day)
    name = as_text(data.get("author_name")) or title or as_text(data.get("service_name")) or "attachment"
    shared = bool(data.get("is_msg_unfurl") or data.get("is_share"))
    link = bool(data.get("from_url") or data.get("original_url"))
    return name, said, link and not shared


def _words(text: str, day: _Day) -> str:
    """A text as people saw it: names instead of ids, links as they were labelled, no entities."""
    return _MARKUP.sub(lambda found: _plain(found, day), text) if "<" in text or "&" in text else text


def _plain(found: re.Match[str], day: _Day) -> str:
    kind, target, label, entity = found.groups()
    if entity:
        return _ENTITIES[entity]
    label = _words(label, day) if label else ""
    if kind == "@":
        return "@" + (day.names.get(target) or label.removeprefix("@") or target)
    if kind == "#":
        return "#" + (label or day.titles.get(target) or target)
    if kind == "!":
        return label or "@" + target.partition("^")[0]
    url = _words(kind + target, day)
    if not label or url.partition(":")[2].lstrip("/") == label or url == label:
        return label or url
    return f"{label} ({url})"


def _block_text(blocks: Any, day: _Day) -> str:
    """The words of blocks, in their order."""
    texts = [_element_text(block, day, 0) for block in as_list(blocks)]
    return "\n".join(text for text in texts if text)


def _element_text(element: Any, day: _Day, depth: int) -> str:
    data = as_dict(element)
    kind = as_text(data.get("type"))
    if depth > 20:
        return ""
    if kind == "user":
        return "@" + (day.names.get(as_text(data.get("user_id"))) or as_text(data.get("user_id")))
    if kind == "channel":
        return "#" + (day.titles.get(as_text(data.get("channel_id"))) or as_text(data.get("channel_id")))
    if kind == "broadcast":
        return "@" + as_text(data.get("range"))
    if kind == "emoji":
        return f":{as_text(data.get('name'))}:"
    if kind == "link":
        label, url = as_text(data.get("text")), as_text(data.get("url"))
        return f"{label} ({url})" if label and label != url else url
    text = data.get("text")
    if isinstance(text, dict):
        text = text.get("text")
    if isinstance(text, str) and text:
        return text if kind == "text" else _words(text, day)
    inner = as_list(data.get("elements")) or as_list(data.get("fields"))
    glue = "" if kind in ("rich_text_section", "rich_text_preformatted", "rich_text_quote") else "\n"
    return glue.join(said for part in inner if (said := _element_text(part, day, depth + 1)))


# --- what lies above the channels ---------------------------------------------------------------------


def _place(document: Document) -> str:
    """The folder that the channels' folders are in: one zip may hold several workspaces."""
    return "/".join(document.name.split("/")[:-2])


def _above(document: Document, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The entries of the lists that lie beside the channels' folders."""
    for name in names:
        found = document.around.find(f"../{name}")
        if found is None:
            continue
        for value in jsonstream.records(found):
            # What is wrong with them costs a name, and no message.
            if not isinstance(value, Problem) and isinstance(value.data, dict):
                yield value.data


def _profiles(document: Document) -> dict[str, str]:
    """The names that a day's messages carry themselves: guests of other workspaces are in no table."""
    names: dict[str, str] = {}
    for value in jsonstream.records(document, _FIRST_KEYS):
        data = {} if isinstance(value, Problem) else as_dict(value.data)
        profile, user = as_dict(data.get("user_profile")), as_text(data.get("user"))
        if user and user not in names and (name := _name(profile, profile)):
            names[user] = name
    return names


def _users(document: Document) -> dict[str, str]:
    names: dict[str, str] = {}
    for user in _above(document, _USERS):
        identity, name = as_text(user.get("id")), _name(as_dict(user.get("profile")), user)
        if identity and name:
            names.setdefault(identity, name)
    return names


def _rooms(document: Document, names: dict[str, str]) -> dict[str, _Room]:
    """The channels by the names of their folders: a channel's name, a direct conversation's id."""
    rooms: dict[str, _Room] = {}
    for channel in _above(document, _CHANNELS):
        identity, name = as_text(channel.get("id")), as_text(channel.get("name"))
        if not identity:
            continue
        members = [names.get(user, user) for user in as_list(channel.get("members")) if isinstance(user, str)]
        title = name if name and not name.startswith("mpdm-") else ", ".join(members) or name or None
        created, _ = sent_at(channel.get("created"), "")
        room = _Room(identity, title, created)
        rooms.setdefault(identity, room)
        if name:
            rooms.setdefault(name, room)
    return rooms


def _room_of(document: Document, rooms: dict[str, _Room], first: dict[str, Any]) -> _Room:
    """The channel of a file: as the export lists it, else by its folder, else by its first message."""
    parts = document.name.split("/")
    folder = parts[-2] if len(parts) > 1 else ""
    if folder in rooms:
        return rooms[folder]
    stated = as_text(first.get("channel"))
    if _SHARED_ID.fullmatch(stated):
        return _Room(stated, folder or None)
    if folder:
        return _Room(f"slack:{folder}", folder)
    return _Room(made_id("slack", first.get("ts")), None)
