"""Telegram Desktop: ``result.json`` of one chat or of the whole account, and ``messages*.html``.

A chat can be larger than memory, so that the JSON is taken apart message by message. The HTML form has
no ids of chats; it is read by ``telegram_html``, and passed over where the same export lies there as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.ingest.parse import jsonstream, pages, telegram_html
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.jsonstream import Part
from appliance.ingest.parse.people import Ids, made_id, sent_at
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_LISTS = ("chats", "left_chats")
_OPENED = frozenset(
    shape
    for name in _LISTS
    for shape in (
        ("messages",),
        (name,),
        (name, "list"),
        (name, "list", "*"),
        (name, "list", "*", "messages"),
    )
)
_FIRST_KEYS = (("id", "type"), ("name", "type"))
_KINDS = ("message", "service", "unsupported")
_ACCOUNT = {"personal_information", "profile_pictures", "frequent_contacts", "contacts", "sessions"}

_FILES = ("photo", "file", "contact_vcard")
_LEFT_OUT = "(File"
_TELLING = frozenset(
    "poll todo_list place_name address location_information contact_information game_title game_description"
    " invoice_information".split()
)
# Of a notice, what tells what happened, in the order in which it is said.
_TOLD = (
    "title",
    "new_title",
    "members",
    "duration_seconds",
    "discard_reason",
    "emoticon",
    "amount",
    "currency",
    "score",
)


def matches(head: Head) -> float:
    """How surely this is an export of Telegram: messages of its kinds, or an account's chats."""
    if telegram_html.is_page(head.text):
        return 0.95
    best = 0.0
    for record in jsonstream.preview(head.text)[:3]:
        data = as_dict(record)
        chats = [entry for name in _LISTS for entry in as_list(as_dict(data.get(name)).get("list"))]
        for chat in [data, *chats]:
            messages = as_list(as_dict(chat).get("messages"))
            if any(_is_message(as_dict(message)) for message in messages):
                best = max(best, 0.95)
        if chats and any({"id", "type", "messages"} <= as_dict(chat).keys() for chat in chats):
            best = max(best, 0.9)
        if "Telegram" in as_text(data.get("about")) or len(_ACCOUNT & data.keys()) > 2:
            best = max(best, 0.9)
    return best


def _is_message(data: dict[str, Any]) -> bool:
    return data.get("type") in _KINDS and bool(
        {"date_unixtime", "from_id", "actor_id", "text_entities"} & data.keys()
        or {"from", "text", "date"} <= data.keys()
    )


def parse(document: Document) -> Iterator[Record]:
    """The messages of the file's chats, one at a time."""
    if telegram_html.is_page(pages.beginning(document)):
        yield from telegram_html.parse(document)
    else:
        yield from _account(document)


@dataclass(slots=True)
class _Chat:
    """A chat as it goes by: what its object said before its messages, and what was seen of them."""

    path: tuple[str | int, ...]
    head: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    ids: Ids = field(default_factory=Ids)
    empty: int = 0

    @property
    def where(self) -> str:
        number = (
            f"chat {self.path[-1] + 1}" if isinstance(self.path[-1], int) and len(self.path) > 1 else "chat"
        )
        name = as_text(self.head.get("name"))
        return f"{number} ({name})" if name else number


def _account(document: Document) -> Iterator[Record]:
    late = _Late(document)
    chat: _Chat | None = None
    for part in jsonstream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, Problem):
            yield part
            continue
        at = part.path
        owner = at[:-2] if isinstance(at[-1], int) and at[-2:-1] == ("messages",) else at[:-1]
        if owner and (chat is None or chat.path != owner) and (len(owner) == 1 or isinstance(owner[-1], int)):
            if chat is not None:
                yield from _ended(chat)
            chat = _Chat(owner)
        if len(at) > 1 and isinstance(at[-1], str) and chat is not None:
            if at[-1] != "messages" and chat.path == owner:
                chat.head[at[-1]] = part.data
            elif at[-1] == "messages":
                yield Problem(
                    chat.where, f"messages is a {type(part.data).__name__}, not a list; passed over"
                )
        elif isinstance(part.data, dict) and isinstance(part.data.get("messages"), list):
            # A list of exports, or a chat that damage has put among another's messages.
            inner = _Chat(at, {key: value for key, value in part.data.items() if key != "messages"})
            for number, message in enumerate(part.data["messages"], 1):
                yield from _message(inner, message, f"{inner.where}, message {number}", late)
            yield from _ended(inner)
        elif at[-2:-1] == ("messages",) and chat is not None:
            yield from _message(chat, part.data, f"{chat.where}, line {part.line}", late)
        elif len(at) > 1:
            yield Problem(f"line {part.line}", f"not a chat but a {type(part.data).__name__}; passed over")
    if chat is not None:
        yield from _ended(chat)


def _ended(chat: _Chat) -> Iterator[Problem]:
    if chat.empty:
        yield Problem(chat.where, f"{chat.empty} messages hold no words; passed over", harmless=True)


def _begun(chat: _Chat, first: dict[str, Any], late: _Late) -> SessionRecord:
    """The chat's header; its id is Telegram's, else made from its first message."""
    identity = as_id(chat.head.get("id"))
    name = as_text(chat.head.get("name"))
    # Deleted accounts have no name, and then there is none behind the messages either.
    if identity is None or not {"name", "type"} & chat.head.keys():
        after = late.head(chat.path)
        identity = identity or as_id(after.get("id"))
        name = name or as_text(after.get("name"))
    if not name and chat.head.get("type") == "saved_messages":
        name = "Saved Messages"
    chat.head.setdefault("name", name)
    said = (first.get("id"), first.get("date_unixtime") or first.get("date"))
    chat.session = identity or made_id("telegram", *said, first.get("from"), _plain_text(first.get("text")))
    kind = as_text(chat.head.get("type"))
    return SessionRecord(chat.session, name or None, None, {"type": kind} if kind else {})


@dataclass(slots=True)
class _Late:
    """What stands behind the messages in files that another program has written with other orders of keys.

    The file is read a second time for it, and only if something is missing."""

    document: Document
    _heads: dict[tuple[str | int, ...], dict[str, Any]] | None = None

    def head(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        if self._heads is None:
            self._heads = {}
            for part in jsonstream.parts(self.document, _OPENED, _FIRST_KEYS):
                if isinstance(part, Part) and part.path[-1] in ("id", "name"):
                    self._heads.setdefault(part.path[:-1], {})[str(part.path[-1])] = part.data
        return self._heads.get(path, {})


def _message(chat: _Chat, data: Any, where: str, late: _Late) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield Problem(where, f"not a message but a {type(data).__name__}; passed over")
        return
    if not is_whole(data):
        yield Problem(where, "the message is damaged or cut off; passed over")
        return
    if chat.session is None:
        yield _begun(chat, data, late)
    session = chat.session or ""
    service = data.get("type") == "service"
    files = [] if service else _files(data)
    text = _notice(data) if service else _said(data)
    text = with_attachments(text, files)
    if not text.strip():
        chat.empty += 1
        return
    author = _author(data, "actor" if service else "from")
    sent, note = _time(data, where)
    if note:
        yield note
    identity, again, noted = chat.ids.claim(as_id(data.get("id")), text, author or "")
    if noted:
        yield Problem(where, noted, harmless=True)
    if again:
        return
    role: Role = "system" if service else "user"
    reply_to = as_id(data.get("reply_to_message_id"))
    # An answer to something in another chat names a message that this one doesn't have.
    if data.get("reply_to_peer_id") not in (None, chat.head.get("id")):
        reply_to = None
    yield MessageRecord(session, role, text, identity, author, sent, reply_to, _metadata(data, files), where)


def _metadata(data: dict[str, Any], files: list[dict[str, str]]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"attachments": files} if files else {}
    reactions: list[dict[str, Any]] = []
    for entry in map(as_dict, as_list(data.get("reactions"))):
        emoji = as_text(entry.get("emoji")) or as_text(entry.get("document_id")) or as_text(entry.get("type"))
        by = [name for recent in as_list(entry.get("recent")) if (name := _author(as_dict(recent), "from"))]
        reactions += [{"emoji": emoji, "by": name} for name in by]
        count = entry.get("count")
        if isinstance(count, int) and count > len(by):
            reactions.append({"emoji": emoji, "count": count - len(by)})
    if reactions:
        metadata["reactions"] = reactions
    if data.get("edited") or data.get("edited_unixtime"):
        metadata["edited"] = True
    if forwarded := as_text(data.get("forwarded_from")) or as_text(data.get("saved_from")):
        metadata["forwarded_from"] = forwarded
    return metadata


def _author(data: dict[str, Any], key: str) -> str | None:
    """The name, or the id of an account that is gone."""
    return as_text(data.get(key)) or as_id(data.get(f"{key}_id")) or None


def _time(data: dict[str, Any], where: str) -> tuple[datetime | None, Problem | None]:
    """UTC where the export has it, else the local time of whoever exported."""
    sent, note = sent_at(data.get("date_unixtime"), where)
    if sent is not None:
        return sent, None
    sent, other = sent_at(data.get("date"), where)
    return sent, None if sent else note or other


def _plain_text(text: Any) -> str:
    """A text, whole or in pieces with and without a format."""
    if isinstance(text, str):
        return text
    return "".join(
        piece if isinstance(piece, str) else as_text(as_dict(piece).get("text")) for piece in as_list(text)
    )


def _said(data: dict[str, Any]) -> str:
    """A message's words; of polls, places, contacts and the like what they say."""
    text = _plain_text(data.get("text")) or _plain_text(data.get("text_entities"))
    return text if _TELLING.isdisjoint(data) else "\n\n".join(part for part in (text, *_told(data)) if part)


def _told(data: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    poll, todo = as_dict(data.get("poll")), as_dict(data.get("todo_list"))
    for title, lines in (
        (poll.get("question"), poll.get("answers")),
        (todo.get("title"), todo.get("answers")),
    ):
        answers = [_plain_text(as_dict(line).get("text")) for line in as_list(lines)]
        if said := _plain_text(title):
            parts.append("\n".join([said, *(f"- {answer}" for answer in answers if answer)]))
    parts.append(", ".join(said for key in ("place_name", "address") if (said := as_text(data.get(key)))))
    place = as_dict(data.get("location_information"))
    if place:
        parts.append(f"[location: {place.get('latitude')}, {place.get('longitude')}]")
    contact = as_dict(data.get("contact_information"))
    if said := " ".join(
        as_text(contact.get(key)) for key in ("first_name", "last_name", "phone_number")
    ).strip():
        parts.append(f"[contact: {said}]")
    parts += [said for key in ("game_title", "game_description") if (said := as_text(data.get(key)))]
    invoice = as_dict(data.get("invoice_information"))
    parts += [said for key in ("title", "description") if (said := as_text(invoice.get(key)))]
    return parts


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    """Files by their names; what was left out of the export by what it was."""
    found: list[dict[str, str]] = []
    for key in _FILES:
        path = as_text(data.get(key))
        if not path:
            continue
        kind = as_text(data.get("media_type")).replace("_", " ") or key
        name = as_text(data.get("file_name")) if key == "file" else ""
        found.append(
            {"name": name or (kind if path.startswith(_LEFT_OUT) else path.rpartition("/")[2] or path)}
        )
    if not found and (kind := as_text(data.get("media_type"))):
        found.append({"name": kind.replace("_", " ")})
    return found


def _notice(data: dict[str, Any]) -> str:
    """What happened, in the words of the export: "invite members: Ana, Ben"."""
    told = []
    for key in _TOLD:
        value = data.get(key)
        if isinstance(value, list):
            told += [name for name in value if isinstance(name, str)]
        elif isinstance(value, str | int | float) and value != "":
            told.append(f"{value} s" if key == "duration_seconds" else str(value))
    action = as_text(data.get("action")).replace("_", " ")
    said = _plain_text(data.get("text"))
    return "\n".join(part for part in (": ".join(p for p in (action, ", ".join(told)) if p), said) if part)
