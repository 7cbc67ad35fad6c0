"""Mattermost: the bulk export, a record a line: users, channels, posts with their replies, and direct posts.

A channel and a group of people who write to each other are conversations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import field
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text, made_id, sent_at, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted, metadata_of
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_POSTS = ("post", "direct_post")
_KINDS = frozenset(
    {"version", "team", "channel", "user", "post", "direct_channel", "direct_post", "emoji", "role", "scheme", "bot"}
)


def matches(head: DocumentHead) -> float:
    """The confidence that this is a bulk export: records that hold an object under the name of their type."""
    found = 0
    for record in json_stream.preview(head.text):
        kind = as_text(as_dict(record).get("type"))
        if kind == "version" and "version" in as_dict(record):
            found += 1
        elif kind in _KINDS and isinstance(as_dict(record).get(kind), dict):
            return 0.95
        elif {"message", "create_at"} <= as_dict(
            as_dict(record).get("post") or as_dict(record).get("direct_post")
        ).keys():
            return 0.9
    return 0.6 if found else 0.0


@dataclass(slots=True)
class _MattermostExport:
    names: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    titles: dict[tuple[str, str], str] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    participants: Participants = field(default_factory=Participants)
    skipped: Counter[str] = field(default_factory=Counter)


def parse(document: Document) -> Iterator[Record]:
    """The posts in file order; the replies of a post follow on it."""
    export = _MattermostExport()
    for value in json_stream.records(document):
        if isinstance(value, InputProblem):
            yield value
            continue
        where = f"line {value.line}"
        if problem := json_fields.object_problem(value.data, where, "record"):
            yield problem
            continue
        kind = as_text(value.data.get("type"))
        if not isinstance(value.data.get(kind), dict):
            # A record without its type, or of a new one: its content is an object.
            kind = next((key for key, inner in value.data.items() if isinstance(inner, dict)), kind)
        data = as_dict(value.data.get(kind))
        if kind == "user":
            user = as_text(data.get("username"))
            name = as_text(data.get("nickname")) or " ".join(
                filter(None, (as_text(data.get("first_name")), as_text(data.get("last_name"))))
            )
            export.names[user] = name or user
            export.addresses[user] = as_text(data.get("email"))
        elif kind == "channel":
            key = as_text(data.get("team")), as_text(data.get("name"))
            export.titles[key] = first_text(data, "display_name", "name")
        elif kind in _POSTS or (kind not in _KINDS and "message" in data):
            yield from _post(data, export, where)
        elif kind not in _KINDS and unknown_text.text_under_text_keys(value.data):
            export.skipped[f"type {kind[:40]}" if kind else "no type"] += 1
    for kind, count in sorted(export.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'record')} ({kind})", harmless=True)


def _post(data: dict[str, Any], export: _MattermostExport, where: str) -> Iterator[Record]:
    team, channel = as_text(data.get("team")), as_text(data.get("channel"))
    members = [one for one in as_list(data.get("channel_members")) if isinstance(one, str)]
    if members:
        session, title = (
            made_id("mattermost", *sorted(members)),
            ", ".join(export.names.get(one, one) for one in members),
        )
    else:
        session, title = made_id("mattermost", team, channel), export.titles.get((team, channel)) or channel
    top = yield from _message(session, title, data, export, where, None)
    for number, reply in enumerate(as_list(data.get("replies")), 1):
        yield from _message(session, title, as_dict(reply), export, f"{where}, reply {number}", top)


def _message(
    session: str, title: str, data: dict[str, Any], export: _MattermostExport, where: str, reply_to: str | None
) -> Generator[Record, None, str | None]:
    files = [
        {"name": path.rpartition("/")[2]}
        for one in map(as_dict, as_list(data.get("attachments")))
        if (path := as_text(one.get("path")))
    ]
    words = as_text(data.get("message"))
    if not words and not files and (words := unknown_text.text_under_text_keys(data)):
        yield unknown_text.kept(where)
    text = with_attachments(words, files)
    if not text.strip():
        export.skipped["a post without text"] += 1
        return None
    sent, note = sent_at(data.get("create_at"), where)
    if note:
        yield note
    if session not in export.begun:
        export.begun.add(session)
        yield SessionRecord(session, title or None, sent)
    user = as_text(data.get("user"))
    author = export.names.get(user) or user or None
    yield from export.participants.note(session, author, ("handle", user), ("address", export.addresses.get(user)))
    reactions = [
        {"emoji": as_text(one.get("emoji_name")), "by": export.names.get(by, by)}
        for one in map(as_dict, as_list(data.get("reactions")))
        if (by := as_text(one.get("user")))
    ]
    role: Role = "system" if as_text(data.get("type")).startswith("system_") else "user"
    identity = made_id("post", user, data.get("create_at"), words)
    metadata = metadata_of(attachments=files, reactions=reactions, edited=bool(data.get("edit_at")))
    yield MessageRecord(session, role, text, identity, author, sent, reply_to, metadata, where)
    return identity
