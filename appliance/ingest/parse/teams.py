"""Microsoft Teams: messages of chats and channels as Graph gives them (``chatMessage``), in JSON.

A list of messages, pages of them (``value``) or an object that holds them (``messages``); keys begin
with a small letter or, from PowerShell, with a capital one. Lists run newest first as a rule, so the
messages of a file are held until its last one is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream, markup, pieces
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import newest_first, read_time
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_FIRST_KEYS = (("id", "replyToId"), ("id", "etag"), ("Id", "ReplyToId"), ("Id", "CreatedDateTime"))
_PAGES = ("value", "messages")
# Emoji stand in the HTML as tags with their character as an attribute, in either order of attributes.
_EMOJI = re.compile(r"""<emoji\b[^>]*?\balt=["']([^"'<>]*)["'][^>]*>""", re.IGNORECASE)
_REACTIONS = {"like": "👍", "heart": "❤️", "laugh": "😆", "surprised": "😮", "sad": "🙁", "angry": "😡"}
_EVENT = re.compile(r"\.(\w+?)(?:EventMessageDetail)?$")
# What older PowerShell makes of a time.
_DATE = re.compile(r"/Date\((-?\d{1,18})\)/")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def matches(head: Head) -> float:
    """How surely these are messages of Teams, or pages of them."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        given = _small(record)
        inner = next((given[key] for key in _PAGES if isinstance(given.get(key), list)), [given])
        for message in map(_small, inner[:20]):
            keys = message.keys()
            if {"body", "createdDateTime"} <= keys and isinstance(message["body"], dict | str | None):
                if {"messageType", "chatId", "channelIdentity", "replyToId"} & keys:
                    best = max(best, 0.95)
                elif "from" in keys and "subject" not in keys:
                    best = max(best, 0.7)
            elif {"messageType", "createdDateTime"} <= keys:
                best = max(best, 0.9)
    return best


@dataclass(slots=True)
class _Chat:
    """A chat's or a channel's messages, as they stand in the file, with their places."""

    title: str | None = None
    messages: list[tuple[dict[str, Any], str]] = field(default_factory=list)


def parse(document: Document) -> Iterator[Record]:
    """The chats of the file, each with its messages oldest first."""
    chats: dict[str, _Chat] = {}
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
        else:
            yield from _sort(value.data, f"record {value.number}", chats)
    passed: Counter[str] = Counter()
    for session, chat in chats.items():
        if newest_first(_sent(message) for message, _ in chat.messages):
            chat.messages.reverse()
        times = [time for message, _ in chat.messages if (time := _sent(message)) is not None]
        if not session:
            first = chat.messages[0][0]
            session = pieces.made_id("teams", as_id(first.get("id")) or first.get("createdDateTime"))
        yield SessionRecord(session, chat.title, min(times, default=None))
        used: set[str] = set()
        for message, where in chat.messages:
            yield from _message(session, message, used, passed, where)
    for kind, count in sorted(passed.items()):
        yield Problem("", f"{count} {kind} without words; passed over", harmless=True)


def _sort(data: Any, where: str, chats: dict[str, _Chat]) -> Iterator[Problem]:
    """Put a message, or those of a page, to the others of its chat; replies lie within their message."""
    if not isinstance(data, dict):
        yield Problem(where, f"not a message but a {type(data).__name__}; passed over")
        return
    given = _small(data)
    inner = next((given[key] for key in _PAGES if isinstance(given.get(key), list)), None)
    if inner is None:
        yield from _put(data, where, None, chats)
        return
    owner = as_id(given.get("chatId")) or (as_id(given.get("id")) if "value" not in given else None)
    title = next((t for key in ("topic", "displayName") if (t := as_text(given.get(key)))), None)
    for number, entry in enumerate(inner, 1):
        place = f"{where}, message {number}" if len(inner) > 1 or "value" not in given else where
        if isinstance(entry, dict):
            yield from _put(entry, place, owner, chats, title)
        elif entry is not None:
            yield Problem(place, f"not an object but a {type(entry).__name__}; passed over")


def _put(
    data: dict[str, Any], where: str, owner: str | None, chats: dict[str, _Chat], title: str | None = None
) -> Iterator[Problem]:
    message = _small(data)
    channel = as_id(_small(message.get("channelIdentity")).get("channelId"))
    session = as_id(message.get("chatId")) or channel or owner or ""
    replies = as_list(message.pop("replies", None))
    if not is_whole(data):
        yield Problem(where, "the message is damaged or cut off; passed over")
    elif not {"body", "messageType", "createdDateTime"} & message.keys():
        yield Problem(where, "not a message of Teams; passed over")
        return
    else:
        chat = chats.setdefault(session, _Chat())
        chat.title = chat.title or title
        chat.messages.append((message, where))
    for number, reply in enumerate(replies, 1):
        if isinstance(reply, dict):
            above = {"replyToId": as_id(message.get("id"))}
            answer = (
                reply if reply.keys() & {"replyToId", "ReplyToId"} or not is_whole(reply) else above | reply
            )
            yield from _put(answer, f"{where}, reply {number}", session, chats)


def _message(
    session: str, message: dict[str, Any], used: set[str], passed: Counter[str], where: str
) -> Iterator[Record]:
    sent = _sent(message)
    created = message.get("createdDateTime")
    if sent is None and created not in (None, ""):
        yield pieces.unreadable(where, created)
    author, event = _author(message), _event(message)
    attachments, quoted = _attachments(message)
    text = with_attachments(_words(message) or event, attachments)
    if not text.strip():
        kind = "deleted messages" if message.get("deletedDateTime") else "events and messages"
        passed[kind] += 1
        return
    identity = as_id(message.get("id"))
    if identity is not None and identity in used:
        yield Problem(where, f"the id {identity} is there twice; the second one has none", harmless=True)
        identity = None
    if identity is not None:
        used.add(identity)
    metadata: dict[str, Any] = {}
    if message.get("lastEditedDateTime"):
        metadata["edited"] = True
    if message.get("deletedDateTime"):
        metadata["deleted"] = True
    if attachments:
        metadata["attachments"] = attachments
    if reactions := _reactions(message):
        metadata["reactions"] = reactions
    reply_to = quoted or as_id(message.get("replyToId"))
    role: Role = "user" if author is not None and not _is_event(message) else "system"
    yield MessageRecord(session, role, text, identity, author, sent, reply_to, metadata, where)


# --- what a message says ------------------------------------------------------------------------------


def _small(value: Any) -> dict[str, Any]:
    """An object with the first letter of its keys small; empty for anything else."""
    return {key[:1].lower() + key[1:]: item for key, item in as_dict(value).items()}


def _sent(message: dict[str, Any]) -> datetime | None:
    """When it was written; an id is the same in milliseconds, where the time is missing."""
    created = message.get("createdDateTime")
    if created in (None, ""):
        identity = as_text(message.get("id"))
        created = identity if len(identity) == 13 and identity.isdecimal() else None
    if isinstance(created, str) and (number := _DATE.fullmatch(created)):
        created = int(number[1])
    return read_time(created, UTC)


def _words(message: dict[str, Any]) -> str:
    body = _small(message.get("body"))
    content = as_text(body.get("content")) or as_text(message.get("body"))
    kind = body.get("contentType")
    # A program that writes the name's number means HTML by 1.
    if kind == 1 or as_text(kind).lower() == "html":
        content = markup.text_of(_EMOJI.sub(r"\1", content))
    subject = as_text(message.get("subject"))
    return f"{subject}\n\n{content}" if subject and content else content or subject


def _name(identities: Any) -> str | None:
    """A person's name, else a bot's, out of a set of identities."""
    given = _small(identities)
    for kind in ("user", "application", "device", "conversation"):
        inner = _small(given.get(kind))
        if name := as_text(inner.get("displayName")):
            return name
    return None


def _author(message: dict[str, Any]) -> str | None:
    sender = message.get("from")
    name = _name(sender)
    if name is None and isinstance(sender, dict) and not _is_event(message):
        # Who has left the organisation has no name any more.
        return as_id(_small(_small(sender).get("user")).get("id"))
    return name or _name(_small(message.get("eventDetail")).get("initiator"))


def _is_event(message: dict[str, Any]) -> bool:
    kind = as_text(message.get("messageType"))
    return bool(message.get("eventDetail")) or (kind != "" and kind.lower() not in ("message", "chatmessage"))


def _event(message: dict[str, Any]) -> str:
    """What an event says: its kind in words, the members that it is about, a new name."""
    detail = _small(message.get("eventDetail"))
    kind = _EVENT.search(as_text(detail.get("@odata.type")) or as_text(detail.get("odataType")))
    if kind is None:
        return ""
    told = [_CAPITAL.sub(" ", kind[1]).lower()]
    members = [_small(member) for member in as_list(detail.get("members"))]
    names = [name for member in members if (name := as_text(member.get("displayName")))]
    for key in ("chatDisplayName", "channelDisplayName", "teamDisplayName", "teamsAppDisplayName"):
        names += [name] if (name := as_text(detail.get(key))) else []
    return ": ".join([*told, ", ".join(names)] if names else told)


def _attachments(message: dict[str, Any]) -> tuple[list[dict[str, str]], str | None]:
    """The files of a message, and the message that it quotes."""
    found: list[dict[str, str]] = []
    quoted: str | None = None
    for entry in as_list(message.get("attachments")):
        given = _small(entry)
        kind = as_text(given.get("contentType"))
        if kind == "messageReference":
            quoted = quoted or as_id(given.get("id"))
        elif name := as_text(given.get("name")):
            found.append({"name": name})
        elif "card" in kind and (card := _card(as_text(given.get("content")))):
            found.append({"name": "card", "text": card})
    return found, quoted


def _card(content: str) -> str:
    """The texts of a bot's card, in their order."""
    texts: list[str] = []
    waiting: list[Any] = [pieces.decoded(content)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            given = [as_text(value.get(key)) for key in ("title", "subtitle", "summary", "text")]
            texts += [text for text in dict.fromkeys(given) if text]
            waiting.extend(item for item in reversed(list(value.values())) if isinstance(item, dict | list))
    return "\n".join(texts)


def _reactions(message: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for entry in as_list(message.get("reactions")):
        given = _small(entry)
        kind = as_text(given.get("reactionType"))
        if kind:
            user = given.get("user")
            by = _name(user) or as_id(_small(_small(user).get("user")).get("id")) or ""
            found.append({"emoji": _REACTIONS.get(kind, kind), "by": by})
    return found
