"""Microsoft Teams: messages of chats and channels (``chatMessage`` of Microsoft Graph) in JSON.

A file is a list of messages, pages of them (``value``), or an object with ``messages``. Keys begin with a lower-case
letter or, from PowerShell, with a capital. Lists are usually newest first, so the parser reads the whole file
before it yields a message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from appliance.formats import agent_records, json_fields, markup, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import best_score, counted, metadata_of, parse_objects, repeated_id
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import is_newest_first, read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_FIRST_KEYS = (("id", "replyToId"), ("id", "etag"), ("Id", "ReplyToId"), ("Id", "CreatedDateTime"))
_PAGES = ("value", "messages")
# In the HTML, emoji are tags with their character as an attribute.
_EMOJI = re.compile(r"""<emoji\b[^>]*?\balt=["']([^"'<>]*)["'][^>]*>""", re.IGNORECASE)
_REACTIONS = {"like": "👍", "heart": "❤️", "laugh": "😆", "surprised": "😮", "sad": "🙁", "angry": "😡"}
_EVENT = re.compile(r"\.(\w+?)(?:EventMessageDetail)?$")
# A time as older versions of PowerShell write it.
_DATE = re.compile(r"/Date\((-?\d{1,18})\)/")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def matches(head: DocumentHead) -> float:
    """The confidence that these are messages of Teams, or pages of them."""

    def score(record: dict[str, Any]) -> float:
        fields = _lower_keys(record)
        page = _page(fields)
        return max(map(_score_message, map(_lower_keys, [fields] if page is None else page[:20])), default=0.0)

    return best_score(head, score)


def _score_message(message: dict[str, Any]) -> float:
    keys = message.keys()
    if {"body", "createdDateTime"} <= keys and isinstance(message["body"], dict | str | None):
        if {"messageType", "chatId", "channelIdentity", "replyToId"} & keys:
            return 0.95
        return 0.7 if "from" in keys and "subject" not in keys else 0.0
    if {"messageType", "createdDateTime"} <= keys:
        return 0.9
    return 0.8 if {"messageType", "body", "from"} <= keys and isinstance(message["body"], dict | str) else 0.0


def _page(fields: dict[str, Any]) -> list[Any] | None:
    """The messages of a page or of a chat; None for a message."""
    return next((fields[key] for key in _PAGES if isinstance(fields.get(key), list)), None)


@dataclass(slots=True)
class _TeamsChat:
    """A chat's or channel's messages in file order, with their places."""

    title: str | None = None
    messages: list[tuple[dict[str, Any], str]] = field(default_factory=list)


def parse(document: Document) -> Iterator[Record]:
    """The chats of the file, each with its messages from the oldest on."""
    chats: dict[str, _TeamsChat] = {}
    yield from parse_objects(document, _FIRST_KEYS, "record", partial(_collect_messages, chats))
    skipped: Counter[str] = Counter()
    participants = Participants()
    for session, chat in chats.items():
        if is_newest_first(_sent(message) for message, _ in chat.messages):
            chat.messages.reverse()
        times = [time for message, _ in chat.messages if (time := _sent(message)) is not None]
        if not session:
            first = chat.messages[0][0]
            session = agent_records.made_id("teams", as_id(first.get("id")) or first.get("createdDateTime"))
        yield SessionRecord(session, chat.title, min(times, default=None))
        used: set[str] = set()
        for message, where in chat.messages:
            for record in _message(session, message, used, skipped, where):
                if isinstance(record, MessageRecord) and record.role == "user":
                    user = _lower_keys(_lower_keys(message.get("from")).get("user"))
                    id, address = as_id(user.get("id")), as_text(user.get("userPrincipalName"))
                    yield from participants.note(session, record.author, ("id", id), ("address", address))
                yield record
    for kind, count in sorted(skipped.items()):
        yield InputProblem("", f"skipped {counted(count, kind)} without text", harmless=True)


def _collect_messages(chats: dict[str, _TeamsChat], data: dict[str, Any], where: str) -> Iterator[InputProblem]:
    """Add a message, or those of a page, to their chats."""
    fields = _lower_keys(data)
    page = _page(fields)
    if page is None:
        yield from _add_message(data, where, None, chats)
        return
    chat_id = as_id(fields.get("chatId")) or (as_id(fields.get("id")) if "value" not in fields else None)
    title = first_text(fields, "topic", "displayName") or None
    for number, entry in enumerate(page, 1):
        place = f"{where}, message {number}" if len(page) > 1 or "value" not in fields else where
        if isinstance(entry, dict):
            yield from _add_message(entry, place, chat_id, chats, title)
        elif entry is not None:
            yield json_fields.wrong_type(place, "message", entry)


def _add_message(
    data: dict[str, Any], where: str, chat_id: str | None, chats: dict[str, _TeamsChat], title: str | None = None
) -> Iterator[InputProblem]:
    """Add a message and the replies within it to their chat."""
    message = _lower_keys(data)
    channel = as_id(_lower_keys(message.get("channelIdentity")).get("channelId"))
    session = as_id(message.get("chatId")) or channel or chat_id or ""
    replies = as_list(message.pop("replies", None))
    if not is_whole(data):
        yield InputProblem(where, "the message is damaged or cut off; skipped")
    elif not {"body", "messageType", "createdDateTime"} & message.keys():
        yield InputProblem(where, "not a message of Teams; skipped")
        return
    else:
        chat = chats.setdefault(session, _TeamsChat())
        chat.title = chat.title or title
        chat.messages.append((message, where))
    for number, reply in enumerate(replies, 1):
        if isinstance(reply, dict):
            if is_whole(reply) and not reply.keys() & {"replyToId", "ReplyToId"}:
                reply = {"replyToId": as_id(message.get("id"))} | reply
            yield from _add_message(reply, f"{where}, reply {number}", session, chats)


def _message(
    session: str, message: dict[str, Any], used: set[str], skipped: Counter[str], where: str
) -> Iterator[Record]:
    sent = _sent(message)
    created = message.get("createdDateTime")
    if sent is None and created not in (None, ""):
        yield agent_records.unreadable_time(where, created)
    author, (attachments, quoted) = _author(message), _attachments(message)
    words = _words(message) or _event(message)
    if not words and not attachments and (words := unknown_text.text_under_text_keys(message)):
        yield unknown_text.kept(where)
    text = with_attachments(words, attachments)
    if not text.strip():
        skipped["deleted message" if message.get("deletedDateTime") else "event or message"] += 1
        return
    identity = as_id(message.get("id"))
    if identity is not None and identity in used:
        yield repeated_id(identity, where)
        identity = None
    if identity is not None:
        used.add(identity)
    metadata = metadata_of(
        edited=bool(message.get("lastEditedDateTime")),
        deleted=bool(message.get("deletedDateTime")),
        attachments=attachments,
        reactions=_reactions(message),
    )
    reply_to = quoted or as_id(message.get("replyToId"))
    # Without a sender, a message is the program's; one that lost it, or has no name in it, is a person's.
    is_said = author is not None or message.get("from", message) is not None
    role: Role = "user" if is_said and not _is_event(message) else "system"
    yield MessageRecord(session, role, text, identity, author, sent, reply_to, metadata, where)


def _lower_keys(value: Any) -> dict[str, Any]:
    """An object with the first letter of its keys in lower case; an empty one for any other value."""
    return {key[:1].lower() + key[1:]: item for key, item in as_dict(value).items()}


def _sent(message: dict[str, Any]) -> datetime | None:
    """The time of a message. If it is missing, the id is the same in milliseconds."""
    created = message.get("createdDateTime")
    if created in (None, ""):
        identity = as_text(message.get("id"))
        created = identity if len(identity) == 13 and identity.isdecimal() else None
    if isinstance(created, str) and (number := _DATE.fullmatch(created)):
        created = int(number[1])
    return read_time(created, UTC)


def _words(message: dict[str, Any]) -> str:
    body = _lower_keys(message.get("body"))
    content = as_text(body.get("content")) or as_text(message.get("body"))
    kind = body.get("contentType")
    # Some programs write the number of the content type, and 1 is HTML.
    if kind == 1 or as_text(kind).lower() == "html":
        content = markup.text_of(_EMOJI.sub(r"\1", content))
    subject = as_text(message.get("subject"))
    return f"{subject}\n\n{content}" if subject and content else content or subject


def _name(identities: Any) -> str | None:
    """The name of a person, else of a bot, in a set of identities."""
    fields = _lower_keys(identities)
    kinds = (_lower_keys(fields.get(kind)) for kind in ("user", "application", "device", "conversation"))
    return next((name for kind in kinds if (name := as_text(kind.get("displayName")))), None)


def _author(message: dict[str, Any]) -> str | None:
    sender = message.get("from")
    name = _name(sender)
    if name is None and isinstance(sender, dict) and not _is_event(message):
        # People who have left the organisation have only an id.
        return as_id(_lower_keys(_lower_keys(sender).get("user")).get("id"))
    return name or _name(_lower_keys(message.get("eventDetail")).get("initiator"))


def _is_event(message: dict[str, Any]) -> bool:
    kind = as_text(message.get("messageType"))
    return bool(message.get("eventDetail")) or (kind != "" and kind.lower() not in ("message", "chatmessage"))


def _event(message: dict[str, Any]) -> str:
    """An event as text: its kind, its members, a new name."""
    detail = _lower_keys(message.get("eventDetail"))
    kind = _EVENT.search(as_text(detail.get("@odata.type")) or as_text(detail.get("odataType")))
    if kind is None:
        return ""
    text = _CAPITAL.sub(" ", kind[1]).lower()
    members = [_lower_keys(member) for member in as_list(detail.get("members"))]
    names = [name for member in members if (name := as_text(member.get("displayName")))]
    keys = ("chatDisplayName", "channelDisplayName", "teamDisplayName", "teamsAppDisplayName")
    names += [name for key in keys if (name := as_text(detail.get(key)))]
    return f"{text}: {', '.join(names)}" if names else text


def _attachments(message: dict[str, Any]) -> tuple[list[dict[str, str]], str | None]:
    """The attachments of a message, and the id of the message that it quotes."""
    attachments: list[dict[str, str]] = []
    quoted: str | None = None
    for fields in map(_lower_keys, as_list(message.get("attachments"))):
        kind = as_text(fields.get("contentType"))
        if kind == "messageReference":
            quoted = quoted or as_id(fields.get("id"))
        elif name := as_text(fields.get("name")):
            attachments.append({"name": name})
        elif "card" in kind and (card := _card(as_text(fields.get("content")))):
            attachments.append({"name": "card", "text": card})
    return attachments, quoted


def _card(content: str) -> str:
    texts: list[str] = []
    stack: list[Any] = [agent_records.decode_nested_json(content)]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            own = dict.fromkeys(as_text(value.get(key)) for key in ("title", "subtitle", "summary", "text"))
            texts += [text for text in own if text]
            stack.extend(item for item in reversed(list(value.values())) if isinstance(item, dict | list))
    return "\n".join(texts)


def _reactions(message: dict[str, Any]) -> list[dict[str, str]]:
    reactions: list[dict[str, str]] = []
    for fields in map(_lower_keys, as_list(message.get("reactions"))):
        if kind := as_text(fields.get("reactionType")):
            user = fields.get("user")
            by = _name(user) or as_id(_lower_keys(_lower_keys(user).get("user")).get("id")) or ""
            reactions.append({"emoji": _REACTIONS.get(kind, kind), "by": by})
    return reactions
