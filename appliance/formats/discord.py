"""Discord, as DiscordChatExporter writes a channel: one JSON object with ``guild``, ``channel`` and ``messages``.

A channel can be larger than memory, so the object is read message by message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any
from urllib.parse import unquote

from appliance.formats import discord_files, html_pages, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, json_type, with_attachments
from appliance.formats.json_stream import JsonPart
from appliance.formats.people_chats import Participants, PeopleMessageIds, made_id, sent_at
from appliance.formats.records import counted
from appliance.lazy_dataclasses import dataclass
from appliance.types import AttachedFile, IdentityKind, InputProblem, MessageRecord, Record, Role, SessionRecord

_OPENED = frozenset({("messages",)})
_FIRST_KEYS = (("id", "type"),)
# Messages of people and bots, by all names that the exporter has used; other types are notices of the channel.
_MESSAGE_TYPES = frozenset(
    "default reply chatinputcommand contextmenucommand threadstartermessage 0 19 20 21 23".split()
)
_AUTHOR_KEYS = frozenset({"isBot", "nickname", "discriminator", "avatarUrl"})
_DIRECT = "Direct Messages"


def matches(head: DocumentHead) -> float:
    """How surely this is an exported channel: a ``channel`` with ``messages``, or another form."""
    if confidence := discord_files.matches(head):
        return confidence
    data = as_dict(next(iter(json_stream.preview(head.text)), None))
    messages = [as_dict(message) for message in as_list(data.get("messages"))]
    has_messages = any({"id", "author", "timestamp", "content"} <= message.keys() for message in messages)
    has_channel = isinstance(data.get("channel"), dict)
    has_guild = has_channel and isinstance(data.get("guild"), dict)
    if has_guild and (has_messages or {"dateRange", "messageCount", "exportedAt"} & data.keys()):
        return 0.95
    if any({"author", "content"} <= m.keys() and _AUTHOR_KEYS & as_dict(m["author"]).keys() for m in messages):
        return 0.85
    return 0.6 if has_messages and has_channel else 0.5 if has_guild and messages else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The channel's messages, one at a time."""
    if discord_files.matches(DocumentHead(document.name, html_pages.read_beginning(document), True)):
        yield from discord_files.parse(document)
        return
    channel = _DiscordChannel()
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield part
        elif part.shape == ("messages", "*"):
            if channel.number != part.path[0]:
                yield from channel.end()
                channel = _DiscordChannel(number=part.path[0], head=channel.head if channel.number is None else {})
            yield from _message(channel, part)
        elif part.shape == ("messages",):
            yield InputProblem(f"line {part.line}", f"messages is {json_type(part.data)}, not a list; skipped")
        elif len(part.path) == 2 and isinstance(part.path[1], str):
            channel.head[part.path[1]] = part.data
        else:
            yield json_fields.wrong_type(f"line {part.line}", "channel", part.data)
    yield from channel.end()


@dataclass(slots=True)
class _DiscordChannel:
    """The state of reading a channel. ``head`` has the values before its messages."""

    number: int | str | None = None
    head: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    ids: PeopleMessageIds = field(default_factory=PeopleMessageIds)
    skipped: Counter[str] = field(default_factory=Counter)
    participants: Participants = field(default_factory=Participants)

    @property
    def id(self) -> str | None:
        return as_id(as_dict(self.head.get("channel")).get("id"))

    def begin(self, first: dict[str, Any]) -> SessionRecord:
        channel, guild = as_dict(self.head.get("channel")), as_text(as_dict(self.head.get("guild")).get("name"))
        self.session = self.id or made_id("discord", first.get("id"), first.get("timestamp"), first.get("content"))
        metadata = {"guild": guild} if guild and guild != _DIRECT else {}
        return SessionRecord(self.session, as_text(channel.get("name")) or None, None, metadata)

    def end(self) -> Iterator[InputProblem]:
        for kind, count in sorted(self.skipped.items()):
            yield InputProblem("", f"skipped {counted(count, 'message')} without text (type {kind})", harmless=True)


def _message(channel: _DiscordChannel, part: JsonPart) -> Iterator[Record]:
    where, data = f"line {part.line}", part.data
    if problem := json_fields.object_problem(data, where, "message"):
        yield problem
        return
    if channel.session is None:
        yield channel.begin(data)
    kind = as_id(data.get("type")) or "Default"
    author = as_dict(data.get("author"))
    forwarded = as_dict(data.get("forwardedMessage"))
    sources = (data, forwarded)
    text = "\n\n".join(words for source in sources if (words := _message_text(source)))
    embeds = [_embed_text(as_dict(embed)) for source in sources for embed in as_list(source.get("embeds"))]
    files = [file for source in sources for file in _files(source)]
    if not text:
        # A bot's text often stands in embeds only; elsewhere embeds are previews of links.
        text = "\n\n".join(embed for embed in embeds if embed)
        if not text and not files and (text := unknown_text.text_under_text_keys(data)):
            yield unknown_text.kept(where)
    elif author.get("isBot") is True:
        files += [{"name": "embed", "text": embed} for embed in embeds if embed]
    text = with_attachments(text, files)
    if not text.strip():
        channel.skipped[kind] += 1
        return
    identity, is_copy, note = channel.ids.claim(as_id(data.get("id")), text, as_text(author.get("id")))
    if note:
        yield InputProblem(where, note, harmless=True)
    if is_copy:
        return
    sent, time_note = sent_at(data.get("timestamp"), where)
    if time_note:
        yield time_note
    role: Role = "user" if kind.lower() in _MESSAGE_TYPES else "system"
    reply_to = _reply_target(as_dict(data.get("reference")), channel, forwarded)
    metadata = _metadata(data, files, forwarded)
    known = tuple(file for source in sources for file in _known_files(source))
    session, name = channel.session or "", _name(author)
    yield from channel.participants.note(session, name, *_account(author))
    yield MessageRecord(session, role, text, identity, name, sent, reply_to, metadata, where, known)


def _reply_target(reference: dict[str, Any], channel: _DiscordChannel, forwarded: dict[str, Any]) -> str | None:
    if forwarded or as_id(reference.get("channelId")) not in (None, channel.id):
        return None
    return as_id(reference.get("messageId"))


def _metadata(data: dict[str, Any], files: list[dict[str, str]], forwarded: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"attachments": files} if files else {}
    reactions: list[dict[str, Any]] = []
    for entry in map(as_dict, as_list(data.get("reactions"))):
        emoji, count = as_text(as_dict(entry.get("emoji")).get("name")), entry.get("count")
        by = [name for user in as_list(entry.get("users")) if (name := _name(as_dict(user)))]
        reactions += [{"emoji": emoji, "by": name} for name in by]
        if isinstance(count, int) and count > len(by):
            reactions.append({"emoji": emoji, "count": count - len(by)})
    if reactions:
        metadata["reactions"] = reactions
    if data.get("timestampEdited"):
        metadata["edited"] = True
    if forwarded:
        metadata["forwarded"] = True
    return metadata


def _name(author: dict[str, Any]) -> str | None:
    return first_text(author, "nickname", "name") or as_id(author.get("id"))


def _account(author: dict[str, Any]) -> list[tuple[IdentityKind, str | None]]:
    """What identifies an author; a user name with a discriminator of four digits is one of the old kind."""
    name, number = as_text(author.get("name")), as_text(author.get("discriminator"))
    handle = f"{name}#{number}" if name and number.strip("0") else name
    return [("id", as_id(author.get("id"))), ("handle", handle), ("name", as_text(author.get("nickname")))]


def _message_text(data: dict[str, Any]) -> str:
    """A message's text, with names in place of ids, and the question and answers of a poll."""
    text = as_text(data.get("content"))
    for user in map(as_dict, as_list(data.get("mentions"))):
        identity, name = as_id(user.get("id")), _name(user)
        if identity and name and "<@" in text:
            text = text.replace(f"<@{identity}>", f"@{name}").replace(f"<@!{identity}>", f"@{name}")
    poll = as_dict(data.get("poll"))
    question = as_text(as_dict(poll.get("question")).get("text")) or as_text(poll.get("question"))
    if question:
        answers = [as_text(as_dict(answer).get("text")) for answer in as_list(poll.get("answers"))]
        text = "\n".join([*([text] if text else []), question, *(f"- {answer}" for answer in answers if answer)])
    return text


def _embed_text(embed: dict[str, Any]) -> str:
    parts = [as_text(as_dict(embed.get("author")).get("name")), as_text(embed.get("title"))]
    parts.append(as_text(embed.get("description")))
    for entry in map(as_dict, as_list(embed.get("fields"))):
        parts.append(": ".join(text for key in ("name", "value") if (text := as_text(entry.get(key)))))
    parts.append(as_text(as_dict(embed.get("footer")).get("text")))
    return "\n".join(part for part in parts if part)


def _known_files(data: dict[str, Any]) -> Iterator[AttachedFile]:
    """What the export says of files; the address of one that was downloaded is its path."""
    for file in map(as_dict, as_list(data.get("attachments"))):
        if name := as_text(file.get("fileName")):
            address = as_text(file.get("url"))
            path = "" if "://" in address else unquote(address)
            yield json_fields.attached_file(name, path=path, size=file.get("fileSizeBytes"))


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    names = [as_text(as_dict(file).get("fileName")) for file in as_list(data.get("attachments"))]
    names += [as_text(as_dict(sticker).get("name")) for sticker in as_list(data.get("stickers"))]
    return [{"name": name} for name in names if name]
