"""Discord, as DiscordChatExporter writes a channel: one JSON object with ``guild``, ``channel`` and ``messages``.

A channel can be larger than memory, so that the object is taken apart message by message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.jsonstream import Part
from appliance.ingest.parse.people import Ids, made_id, sent_at
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_OPENED = frozenset({("messages",)})
_FIRST_KEYS = (("id", "type"),)
# Talk, under the names that the exporter has had for it; everything else is a notice of the channel.
_TALK = frozenset(
    "default reply chatinputcommand contextmenucommand threadstartermessage 0 19 20 21 23".split()
)
_DIRECT = "Direct Messages"


def matches(head: Head) -> float:
    """How surely this is an exported channel: a ``channel`` with ``messages`` in Discord's form."""
    record = next(iter(jsonstream.preview(head.text)), None)
    data = as_dict(record)
    messages = [as_dict(message) for message in as_list(data.get("messages"))]
    spoken = any(
        {"id", "author", "timestamp"} <= message.keys() and "content" in message for message in messages
    )
    framed = isinstance(data.get("guild"), dict) and isinstance(data.get("channel"), dict)
    if framed and (spoken or "dateRange" in data or "messageCount" in data or "exportedAt" in data):
        return 0.95
    return 0.6 if spoken and isinstance(data.get("channel"), dict) else 0.5 if framed and messages else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The channel's messages, one at a time."""
    channel = _Channel()
    for part in jsonstream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, Problem):
            yield part
        elif part.shape == ("messages", "*"):
            if channel.number != part.path[0]:
                yield from channel.ended()
                channel = _Channel(number=part.path[0], head=channel.head if channel.number is None else {})
            yield from _message(channel, part)
        elif part.shape == ("messages",):
            yield Problem(
                f"line {part.line}", f"messages is a {type(part.data).__name__}, not a list; passed over"
            )
        elif len(part.path) == 2 and isinstance(part.path[1], str):
            channel.head[part.path[1]] = part.data
        else:
            yield Problem(f"line {part.line}", f"not a channel but a {type(part.data).__name__}; passed over")
    yield from channel.ended()


@dataclass(slots=True)
class _Channel:
    """A channel as it goes by: what stands before its messages, and what was seen of them."""

    number: int | str | None = None
    head: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    ids: Ids = field(default_factory=Ids)
    passed: Counter[str] = field(default_factory=Counter)

    @property
    def id(self) -> str | None:
        return as_id(as_dict(self.head.get("channel")).get("id"))

    def begun(self, first: dict[str, Any]) -> SessionRecord:
        channel, guild = (
            as_dict(self.head.get("channel")),
            as_text(as_dict(self.head.get("guild")).get("name")),
        )
        self.session = self.id or made_id(
            "discord", first.get("id"), first.get("timestamp"), first.get("content")
        )
        metadata = {"guild": guild} if guild and guild != _DIRECT else {}
        return SessionRecord(self.session, as_text(channel.get("name")) or None, None, metadata)

    def ended(self) -> Iterator[Problem]:
        for kind, count in sorted(self.passed.items()):
            yield Problem("", f"{count} messages of type {kind} hold no words; passed over", harmless=True)


def _message(channel: _Channel, part: Part) -> Iterator[Record]:
    where, data = f"line {part.line}", part.data
    if not isinstance(data, dict):
        yield Problem(where, f"not a message but a {type(data).__name__}; passed over")
        return
    if not is_whole(data):
        yield Problem(where, "the message is damaged or cut off; passed over")
        return
    if channel.session is None:
        yield channel.begun(data)
    kind = as_id(data.get("type")) or "Default"
    author = as_dict(data.get("author"))
    forwarded = as_dict(data.get("forwardedMessage"))
    text = "\n\n".join(said for source in (data, forwarded) if (said := _words(source)))
    shown = [
        said
        for source in (data, forwarded)
        for embed in as_list(source.get("embeds"))
        if (said := _shown(embed))
    ]
    files = [file for source in (data, forwarded) for file in _files(source)]
    if not text:
        # What a bot says often stands in embeds only; elsewhere they are previews of links.
        text = "\n\n".join(shown)
    elif author.get("isBot") is True:
        files += [{"name": "embed", "text": said} for said in shown]
    text = with_attachments(text, files)
    if not text.strip():
        channel.passed[kind] += 1
        return
    identity, again, noted = channel.ids.claim(as_id(data.get("id")), text, as_text(author.get("id")))
    if noted:
        yield Problem(where, noted, harmless=True)
    if again:
        return
    sent, note = sent_at(data.get("timestamp"), where)
    if note:
        yield note
    yield MessageRecord(
        channel.session or "",
        "user" if kind.lower() in _TALK else "system",
        text,
        identity,
        _name(author),
        sent,
        _answered(as_dict(data.get("reference")), channel, forwarded),
        _metadata(data, files, forwarded),
        where,
    )


def _answered(reference: dict[str, Any], channel: _Channel, forwarded: dict[str, Any]) -> str | None:
    """The message of this channel that one answers."""
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
    return as_text(author.get("nickname")) or as_text(author.get("name")) or as_id(author.get("id"))


def _words(data: dict[str, Any]) -> str:
    """A message's text, with names where the export has left ids, and the question of a poll."""
    text = as_text(data.get("content"))
    for user in map(as_dict, as_list(data.get("mentions"))):
        identity, name = as_id(user.get("id")), _name(user)
        if identity and name and "<@" in text:
            text = text.replace(f"<@{identity}>", f"@{name}").replace(f"<@!{identity}>", f"@{name}")
    poll = as_dict(data.get("poll"))
    question = as_text(as_dict(poll.get("question")).get("text")) or as_text(poll.get("question"))
    if question:
        answers = [as_text(as_dict(answer).get("text")) for answer in as_list(poll.get("answers"))]
        text = "\n".join(
            [*([text] if text else []), question, *(f"- {answer}" for answer in answers if answer)]
        )
    return text


def _shown(embed: Any) -> str:
    data = as_dict(embed)
    parts = [as_text(as_dict(data.get("author")).get("name")), as_text(data.get("title"))]
    parts.append(as_text(data.get("description")))
    for entry in map(as_dict, as_list(data.get("fields"))):
        parts.append(": ".join(said for key in ("name", "value") if (said := as_text(entry.get(key)))))
    parts.append(as_text(as_dict(data.get("footer")).get("text")))
    return "\n".join(part for part in parts if part)


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    names = [as_text(as_dict(file).get("fileName")) for file in as_list(data.get("attachments"))]
    names += [as_text(as_dict(sticker).get("name")) for sticker in as_list(data.get("stickers"))]
    return [{"name": name} for name in names if name]
