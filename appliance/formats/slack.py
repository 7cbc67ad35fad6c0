"""Slack: a folder for each channel, with a file for each day, a list of messages.

A document is one day, and a session is a channel, which joins its days. ``users.json``, ``channels.json`` and the
like in the parent folder name users and channels. A message's id within its channel is its time in Slack's form
("1681413829.513479").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, with_attachments
from appliance.formats.people_chats import Participants, PeopleMessageIds
from appliance.formats.records import counted, metadata_of
from appliance.lazy_dataclasses import dataclass
from appliance.types import AttachedFile, IdentityKind, InputProblem, MessageRecord, Record, Role, SessionRecord

_TS = re.compile(r"\d{9,11}\.\d{3,6}", re.ASCII)
_FIRST_KEYS = (("client_msg_id", "type"), ("user", "type"), ("type", "subtype"), ("subtype", "type"))
_CHANNEL_KEYS = frozenset({"channel_id", "name", "thread_ts"})
_USERS = ("users.json", "org_users.json")
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")

# Subtypes of events; messages of people have other subtypes or none.
_EVENT = re.compile(
    r"(?:channel|group|pinned|unpinned|reminder|sh_room|huddle|joiner|app_conversation|conversation|ekm|mpdm)_.+"
    r"|bot_(?:add|remove|enable|disable)|tombstone"
)
_MARKUP = re.compile(r"<([@#!]|[a-zA-Z][a-zA-Z0-9+.-]*:)([^<>|]*)(?:\|([^<>]*))?>|&(lt|gt|amp);")
_TEXTS = frozenset({"text", "blocks", "attachments"})
_SENDERS = frozenset({"user", "bot_id", "user_profile", "client_msg_id", "username", "ts"})
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}
_MENTIONED = re.compile(r"<@([A-Z0-9]+)[|>]")
_SHARED_ID = re.compile(r"[CDG][A-Z0-9]{7,}")


def matches(head: DocumentHead) -> float:
    """The confidence that this is a day of a channel: a list of messages with a ``ts``."""
    records = [record for record in json_stream.preview(head.text) if isinstance(record, dict)]
    if not head.text.lstrip("\ufeff \t\r\n").startswith("["):
        # slackdump writes a channel as one object, and slackdump and the API write single messages.
        is_channel = len(records) == 1 and _CHANNEL_KEYS & records[0].keys() and "messages" in records[0]
        records = [r for r in as_list(records[0]["messages"]) if isinstance(r, dict)] if is_channel else records[:1]
    found = sum(
        record.get("type") == "message" and bool(_TS.fullmatch(as_text(record.get("ts")))) for record in records
    )
    # The last one may be cut off where the head of the document ends.
    if found and found >= (len(records) - 1) // 2:
        return 0.95
    # A damaged day may have lost its times.
    said = [r for r in records if r.get("type") == "message" and _TEXTS & r.keys() and _SENDERS & r.keys()]
    return 0.85 if said and len(said) >= (len(records) - 1) // 2 else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages of one day in file order."""
    # The folder of the channels' folders; one zip may contain several workspaces.
    root = "/".join(document.name.split("/")[:-2])
    names = document.context.get_or_create(("slack users", root), lambda: _users(document))
    channels = document.context.get_or_create(("slack channels", root), lambda: _read_channels(document, names))
    titles = {channel.id: channel.title for channel in channels.values() if channel.title}
    users = document.context.get_or_create(("slack accounts", root), lambda: _accounts(document))
    day = _SlackDay(_profiles(document) | names, titles, users)
    channel: _SlackChannel | None = None
    for value in json_stream.records(document, _FIRST_KEYS):
        if isinstance(value, InputProblem):
            yield value
            continue
        where, data = f"line {value.line}", value.data
        if isinstance(data, dict) and isinstance(data.get("messages"), list) and "ts" not in data:
            yield from _whole_channel(data, day, where)
            continue
        if problem := json_fields.object_problem(data, where, "message"):
            yield problem
        elif data.get("type", "message") != "message":
            day.skipped[f"type {str(data['type'])[:40]}"] += 1
        elif not data:
            day.skipped["empty object"] += 1
        else:
            if channel is None:
                channel = _channel_of(document, channels, data)
                yield SessionRecord(channel.id, channel.title, channel.created)
            yield from _message(channel.id, data, day, where)
    for kind, count in sorted(day.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'record')} without text ({kind})", harmless=True)


def _whole_channel(data: dict[str, Any], day: _SlackDay, where: str) -> Iterator[Record]:
    """The messages of a channel that slackdump wrote as one object; a thread's first message holds its replies."""
    messages = [as_dict(entry) for entry in data["messages"]]
    first = messages[0] if messages else {}
    session = first_text(data, "channel_id") or json_fields.made_id("slack", data.get("name"), first.get("ts"))
    yield SessionRecord(session, as_text(data.get("name")) or day.titles.get(session))
    for number, message in enumerate(messages, 1):
        for reply in (message, *map(as_dict, as_list(message.get("slackdump_thread_replies")))):
            yield from _message(session, reply, day, f"{where}, message {number}")


@dataclass(frozen=True, slots=True)
class _SlackChannel:
    id: str
    title: str | None
    created: datetime | None = None


@dataclass(slots=True)
class _SlackDay:
    """The state of a file: names by user id, titles by channel id, accounts by user id, the ids so far, and what was
    skipped."""

    names: dict[str, str]
    titles: dict[str, str]
    accounts: dict[str, tuple[tuple[IdentityKind, str | None], ...]]
    participants: Participants = field(default_factory=Participants)
    ids: PeopleMessageIds = field(default_factory=PeopleMessageIds)
    skipped: Counter[str] = field(default_factory=Counter)


def _message(session: str, data: dict[str, Any], day: _SlackDay, where: str) -> Iterator[Record]:
    ts = as_id(data.get("ts"))
    subtype = as_text(data.get("subtype"))
    text = _words(as_text(data.get("text")), day)
    attachments = [_attachment_text(as_dict(entry), day) for entry in as_list(data.get("attachments"))]
    if not text:
        # Blocks repeat the text; bots often have their whole text in attachments.
        text = _block_text(data.get("blocks"), day) or "\n\n".join(content for _, content, _ in attachments if content)
        attachments = []
    if not text and not data.get("files") and (text := unknown_text.text_under_text_keys(data)):
        yield unknown_text.kept(where)
    files = [file for entry in as_list(data.get("files")) or [data.get("file")] if (file := _file(as_dict(entry)))]
    files += [{"name": name, "text": content} for name, content, preview in attachments if content and not preview]
    text = with_attachments(text, files)
    if not text.strip():
        day.skipped[f"subtype {subtype}" if subtype else "message"] += 1
        return
    identity, is_copy, note = day.ids.claim(ts, text, as_text(data.get("user")), subtype)
    if note:
        yield InputProblem(where, note, harmless=True)
    if is_copy:
        return
    time, _ = json_fields.sent_at(ts, where, UTC)
    if time is None:
        # It is the message's id as well, so that another export of the day can't be joined with this one.
        yield InputProblem(where, f"the ts {str(data.get('ts'))[:40]!r} is no time; imported without a time")
    role: Role = "system" if _EVENT.fullmatch(subtype) else "user"
    thread = as_id(data.get("thread_ts"))
    reply_to, author = thread if thread != ts else None, _author(data, day)
    if user := as_text(data.get("user")):
        # A bot may write under another name for each message.
        account = day.accounts.get(user) or _account(as_dict(data.get("user_profile")), user, _team(data))
        if not as_text(data.get("username")):
            yield from day.participants.note(session, author, *account)
    yield MessageRecord(
        session, role, text, identity, author, time, reply_to, _metadata(data, files, day), where, _known_files(data)
    )


def _metadata(data: dict[str, Any], files: list[dict[str, str]], day: _SlackDay) -> dict[str, Any]:
    reactions = [
        {"emoji": as_text(reaction.get("name")), "by": day.names.get(user, user)}
        for reaction in map(as_dict, as_list(data.get("reactions")))
        for user in as_list(reaction.get("users"))
        if isinstance(user, str) and as_text(reaction.get("name"))
    ]
    is_deleted = data.get("subtype") == "tombstone"
    return metadata_of(attachments=files, reactions=reactions, edited=bool(data.get("edited")), deleted=is_deleted)


def _author(data: dict[str, Any], day: _SlackDay) -> str | None:
    """The author's name, from the record or the table of users; else an id."""
    user = as_text(data.get("user")) or as_text(as_dict(data.get("comment")).get("user"))
    if not user and data.get("subtype") == "file_comment":
        mention = _MENTIONED.match(as_text(data.get("text")))
        user = mention[1] if mention else ""
    name = as_text(data.get("username")) or day.names.get(user) or first_text(as_dict(data.get("bot_profile")), "name")
    return name or user or as_text(data.get("bot_id")) or None


def _name(profile: dict[str, Any], user: dict[str, Any]) -> str:
    return first_text(profile, "display_name", "real_name") or first_text(user, "real_name", "name")


def _file(data: dict[str, Any]) -> dict[str, str] | None:
    """A file by its name, with its text if the export contains that: snippets and posts."""
    name = first_text(data, "name", "title", "id")
    text = first_text(data, "plain_text", "preview")
    return {"name": name} | ({"text": text} if text else {}) if name else None


def _known_files(data: dict[str, Any]) -> tuple[AttachedFile, ...]:
    return tuple(
        json_fields.attached_file(name, type=file.get("mimetype"), size=file.get("size"))
        for file in map(as_dict, as_list(data.get("files")) or [data.get("file")])
        if (name := first_text(file, "name", "title", "id"))
    )


def _attachment_text(data: dict[str, Any], day: _SlackDay) -> tuple[str, str, bool]:
    """An attachment's name and text, and whether it is only the preview of a link."""
    title = _words(as_text(data.get("title")), day)
    parts = [_words(as_text(data.get("pretext")), day), title, _words(as_text(data.get("text")), day)]
    for entry in as_list(data.get("fields")):
        line = [_words(as_text(as_dict(entry).get(key)), day) for key in ("title", "value")]
        parts.append(": ".join(part for part in line if part))
    text = "\n".join(part for part in parts if part)
    text = text or _block_text(data.get("blocks"), day) or _words(as_text(data.get("fallback")), day)
    name = as_text(data.get("author_name")) or title or as_text(data.get("service_name")) or "attachment"
    is_shared = bool(data.get("is_msg_unfurl") or data.get("is_share"))
    return name, text, bool(data.get("from_url") or data.get("original_url")) and not is_shared


def _words(text: str, day: _SlackDay) -> str:
    """A text as people saw it: names instead of ids, labels of links, entities decoded."""
    return _MARKUP.sub(lambda found: _replace_markup(found, day), text) if "<" in text or "&" in text else text


def _replace_markup(found: re.Match[str], day: _SlackDay) -> str:
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


def _block_text(blocks: Any, day: _SlackDay) -> str:
    texts = [_element_text(block, day, 0) for block in as_list(blocks)]
    return "\n".join(text for text in texts if text)


def _element_text(element: Any, day: _SlackDay, depth: int) -> str:
    data = as_dict(element)
    kind = as_text(data.get("type"))
    if depth > 20:
        return ""
    if kind == "user":
        return "@" + (day.names.get(user := as_text(data.get("user_id"))) or user)
    if kind == "channel":
        return "#" + (day.titles.get(channel := as_text(data.get("channel_id"))) or channel)
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
    return glue.join(text for part in inner if (text := _element_text(part, day, depth + 1)))


def _read_lists(document: Document, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The entries of the lists in the parent folder (slackdump: beside the file). Damage there costs names, but no
    messages."""
    for name in names:
        table = document.context.find(f"../{name}") or document.context.find(name)
        for value in json_stream.records(table) if table else ():
            if not isinstance(value, InputProblem) and isinstance(value.data, dict):
                yield value.data


def _profiles(document: Document) -> dict[str, str]:
    """The names within a day's messages, as guests from other workspaces are in no table."""
    names: dict[str, str] = {}
    for value in json_stream.records(document, _FIRST_KEYS):
        data = {} if isinstance(value, InputProblem) else as_dict(value.data)
        for message in map(as_dict, as_list(data.get("messages")) or [data]):
            profile, user = as_dict(message.get("user_profile")), as_text(message.get("user"))
            if user and user not in names and (name := _name(profile, profile)):
                names[user] = name
    return names


def _users(document: Document) -> dict[str, str]:
    names: dict[str, str] = {}
    for user in _read_lists(document, _USERS):
        identity, name = as_text(user.get("id")), _name(as_dict(user.get("profile")), user)
        if identity and name:
            names.setdefault(identity, name)
    return names


def _team(data: dict[str, Any]) -> str:
    return first_text(data, "user_team", "team", "source_team")


def _account(profile: dict[str, Any], user: str, team: str) -> tuple[tuple[IdentityKind, str | None], ...]:
    """What identifies a user: the id within the workspace, the address, and the names."""
    names = dict.fromkeys(name for key in ("real_name", "display_name") if (name := as_text(profile.get(key))))
    return (
        ("id", f"{team}/{user}" if team else user),
        ("address", as_text(profile.get("email"))),
        *(("name", name) for name in names),
    )


def _accounts(document: Document) -> dict[str, tuple[tuple[IdentityKind, str | None], ...]]:
    accounts: dict[str, tuple[tuple[IdentityKind, str | None], ...]] = {}
    for user in _read_lists(document, _USERS):
        if identity := as_text(user.get("id")):
            profile = as_dict(user.get("profile"))
            own = _account(profile, identity, as_text(user.get("team_id")) or as_text(profile.get("team")))
            phone, handle = as_text(profile.get("phone")), as_text(user.get("name"))
            accounts.setdefault(identity, (*own, ("number", phone), ("handle", handle)))
    return accounts


def _read_channels(document: Document, user_names: dict[str, str]) -> dict[str, _SlackChannel]:
    """The channels by id and by name; a folder has the channel's name, or the id of a direct conversation."""
    channels: dict[str, _SlackChannel] = {}
    for entry in _read_lists(document, _CHANNELS):
        identity, name = as_text(entry.get("id")), as_text(entry.get("name"))
        if not identity:
            continue
        members = [user_names.get(user, user) for user in as_list(entry.get("members")) if isinstance(user, str)]
        title = name if name and not name.startswith("mpdm-") else ", ".join(members) or name or None
        channel = _SlackChannel(identity, title, json_fields.sent_at(entry.get("created"), "")[0])
        channels.setdefault(identity, channel)
        if name:
            channels.setdefault(name, channel)
    return channels


def _channel_of(document: Document, channels: dict[str, _SlackChannel], first: dict[str, Any]) -> _SlackChannel:
    """The channel of a file: from the export's list, else from its first message or its folder."""
    parts = document.name.split("/")
    folder = parts[-2] if len(parts) > 1 else ""
    if folder in channels:
        return channels[folder]
    identity = as_text(first.get("channel"))
    if not _SHARED_ID.fullmatch(identity):
        identity = f"slack:{folder}" if folder else json_fields.made_id("slack", first.get("ts"))
    return _SlackChannel(identity, folder or None)
