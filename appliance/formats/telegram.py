"""Telegram Desktop: ``result.json`` of one chat or of the whole account, and ``messages*.html``.

A chat can be larger than memory, so the parser reads the JSON message by message. ``telegram_html`` reads the HTML
form, unless the same export exists as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from appliance.formats import html_pages, json_fields, json_stream, telegram_html, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, with_attachments
from appliance.formats.json_stream import JsonPart
from appliance.formats.people_chats import Participants, PeopleMessageIds
from appliance.formats.records import counted, metadata_of
from appliance.lazy_dataclasses import dataclass
from appliance.types import (
    AttachedFile,
    ContactRecord,
    IdentityKind,
    InputProblem,
    MessageRecord,
    Record,
    Role,
    SessionRecord,
)

_LISTS = ("chats", "left_chats")
_OPENED = frozenset(
    shape
    for name in _LISTS
    for shape in (("messages",), (name,), (name, "list"), (name, "list", "*"), (name, "list", "*", "messages"))
)
_FIRST_KEYS = (("id", "type"), ("name", "type"))
_KINDS = ("message", "service", "unsupported")
_CHAT_TYPES = frozenset(
    "saved_messages replies verification_codes personal_chat bot_chat private_group private_supergroup"
    " public_supergroup private_channel public_channel".split()
)
_ACCOUNT = {"personal_information", "profile_pictures", "frequent_contacts", "contacts", "sessions"}

# No zone is farther from UTC than 14 hours; a clock may be some hours wrong.
_FARTHEST_ZONE = timedelta(hours=26)
_FIRST_YEAR = 2013
_FILES = ("photo", "file", "contact_vcard")
_OMITTED_PREFIX = "(File"
_RICH_CONTENT_KEYS = frozenset(
    "poll todo_list place_name address location_information contact_information game_title game_description"
    " invoice_information".split()
)
# The fields of a service message that become its text, in this order.
_NOTICE_FIELDS = "title new_title members duration_seconds discard_reason emoticon amount currency score".split()


def matches(head: DocumentHead) -> float:
    """The confidence that this is an export of Telegram: messages of its types, or an account's chats."""
    if telegram_html.is_page(head.text):
        return 0.95
    return max(map(_score, json_stream.preview(head.text)[:3]), default=0.0)


def _score(record: Any) -> float:
    data = as_dict(record)
    chats = [as_dict(entry) for name in _LISTS for entry in as_list(as_dict(data.get(name)).get("list"))]
    if any(_is_message(as_dict(message)) for chat in [data, *chats] for message in as_list(chat.get("messages"))):
        return 0.95
    is_account = "Telegram" in as_text(data.get("about")) or len(_ACCOUNT & data.keys()) > 2
    is_chat = as_text(data.get("type")) in _CHAT_TYPES and isinstance(data.get("messages"), list)
    return 0.9 if is_account or is_chat or any({"id", "type", "messages"} <= chat.keys() for chat in chats) else 0.0


def _is_message(data: dict[str, Any]) -> bool:
    if {"date_unixtime", "text_entities"} <= data.keys() and "text" in data:
        return True
    return data.get("type") in _KINDS and bool(
        {"date_unixtime", "from_id", "actor_id", "text_entities"} & data.keys()
        or ({"id", "text"} <= data.keys() and {"from", "date"} & data.keys())
    )


def parse(document: Document) -> Iterator[Record]:
    if telegram_html.is_page(html_pages.read_beginning(document)):
        return telegram_html.parse(document)
    return _account(document)


@dataclass(slots=True)
class _TelegramChat:
    """The state of a chat: the fields before its messages, the ids so far, and the number of empty messages."""

    path: tuple[str | int, ...]
    head: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    ids: PeopleMessageIds = field(default_factory=PeopleMessageIds)
    empty: int = 0

    @property
    def where(self) -> str:
        number = f"chat {self.path[-1] + 1}" if isinstance(self.path[-1], int) and len(self.path) > 1 else "chat"
        name = as_text(self.head.get("name"))
        return f"{number} ({name})" if name else number


def _account(document: Document) -> Iterator[Record]:
    trailing_fields = _TrailingFields(document)
    account = _TelegramAccount()
    chat: _TelegramChat | None = None
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield part
            continue
        path = part.path
        owner = path[:-2] if isinstance(path[-1], int) and path[-2:-1] == ("messages",) else path[:-1]
        if owner and (chat is None or chat.path != owner) and (len(owner) == 1 or isinstance(owner[-1], int)):
            if chat is not None:
                yield from _end_chat(chat)
            chat = _TelegramChat(owner)
        if len(path) > 1 and isinstance(path[-1], str) and chat is not None:
            if path[-1] != "messages" and chat.path == owner:
                chat.head[path[-1]] = part.data
                if len(path) == 2:
                    yield from account.note(path[-1], part.data)
            elif path[-1] == "messages":
                yield InputProblem(chat.where, f"messages is {json_fields.json_type(part.data)}, not a list; skipped")
        elif isinstance(part.data, dict) and isinstance(part.data.get("messages"), list):
            # A list of exports, or a chat that damage has moved into the messages of another.
            inner = _TelegramChat(path, {key: value for key, value in part.data.items() if key != "messages"})
            for number, message in enumerate(part.data["messages"], 1):
                yield from _message(inner, message, f"{inner.where}, message {number}", trailing_fields, account)
            yield from _end_chat(inner)
        elif path[-2:-1] == ("messages",) and chat is not None:
            yield from _message(chat, part.data, f"{chat.where}, line {part.line}", trailing_fields, account)
        elif len(path) > 1:
            yield json_fields.wrong_type(f"line {part.line}", "chat", part.data)
    if chat is not None:
        yield from _end_chat(chat)


def _end_chat(chat: _TelegramChat) -> Iterator[InputProblem]:
    if chat.empty:
        yield InputProblem(chat.where, f"skipped {counted(chat.empty, 'message')} without text", harmless=True)


def _begin_chat(chat: _TelegramChat, first: dict[str, Any], trailing_fields: _TrailingFields) -> SessionRecord:
    """The chat's session; its id is Telegram's, else made from its first message."""
    identity = as_id(chat.head.get("id"))
    name = as_text(chat.head.get("name"))
    # The chat of a deleted account has no name, not even after its messages.
    if identity is None or not {"name", "type"} & chat.head.keys():
        trailing = trailing_fields.head(chat.path)
        identity = identity or as_id(trailing.get("id"))
        name = name or as_text(trailing.get("name"))
    if not name and chat.head.get("type") == "saved_messages":
        name = "Saved Messages"
    chat.head.setdefault("name", name)
    time, sender, text = first.get("date_unixtime") or first.get("date"), first.get("from"), first.get("text")
    chat.session = identity or json_fields.made_id("telegram", first.get("id"), time, sender, _plain_text(text))
    return SessionRecord(chat.session, name or None, None, metadata_of(type=as_text(chat.head.get("type"))))


@dataclass(slots=True)
class _TrailingFields:
    """The fields after a chat's messages, where another program's file has them.

    The first use reads the file a second time."""

    document: Document
    _heads: dict[tuple[str | int, ...], dict[str, Any]] | None = None

    def head(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        if self._heads is None:
            self._heads = {}
            for part in json_stream.parts(self.document, _OPENED, _FIRST_KEYS):
                if isinstance(part, JsonPart) and part.path[-1] in ("id", "name"):
                    self._heads.setdefault(part.path[:-1], {})[str(part.path[-1])] = part.data
        return self._heads.get(path, {})


@dataclass(slots=True)
class _TelegramAccount:
    """What an export of a whole account says of people: the id of the account, and who takes part in its chats."""

    id: str | None = None
    participants: Participants = field(default_factory=Participants)

    def note(self, key: str | int, data: Any) -> Iterator[ContactRecord]:
        """Learn a field of the export; yields the contacts in it."""
        if key == "personal_information":
            own = as_dict(data)
            self.id = _user(own.get("user_id"))
            yield from _contact(own, me=True)
        elif key == "contacts":
            for entry in map(as_dict, as_list(as_dict(data).get("list"))):
                yield from _contact(entry)


def _user(value: Any) -> str | None:
    """The id of a user as messages have it."""
    number = as_id(value)
    return f"user{number}" if number is not None and number.isdecimal() else number


def _contact(data: dict[str, Any], *, me: bool = False) -> Iterator[ContactRecord]:
    name = " ".join(text for key in ("first_name", "last_name") if (text := as_text(data.get(key)).strip()))
    stated: list[tuple[IdentityKind, str | None]] = [
        ("id", _user(data.get("user_id"))), ("number", _phone(as_text(data.get("phone_number")))),
        ("handle", as_text(data.get("username"))), ("name", name),
    ]  # fmt: skip
    known = tuple((kind, value) for kind, value in stated if value)
    if len(known) > 1:
        yield ContactRecord(known, me)


def _phone(value: str) -> str:
    """A number with its country: the app writes "0049 151 …"."""
    return f"+{value[2:]}" if value.startswith("00") else value


def _message(
    chat: _TelegramChat, data: Any, where: str, trailing_fields: _TrailingFields, account: _TelegramAccount
) -> Iterator[Record]:
    if problem := json_fields.object_problem(data, where, "message"):
        yield problem
        return
    if chat.session is None:
        yield _begin_chat(chat, data, trailing_fields)
    is_service = data.get("type") == "service"
    files = [] if is_service else _files(data)
    text = _notice(data) if is_service else _message_text(data)
    if any(isinstance(piece, dict) and not isinstance(piece.get("text"), str) for piece in as_list(data.get("text"))):
        yield unknown_text.kept(where)
    if not text and not is_service and (text := unknown_text.text_under_text_keys(data)):
        yield unknown_text.kept(where)
    text = with_attachments(text, files)
    if not text.strip():
        chat.empty += 1
        return
    author = _author(data, "actor" if is_service else "from")
    sent, time_note = _time(data, where)
    if time_note:
        yield time_note
    identity, is_copy, note = chat.ids.claim(as_id(data.get("id")), text, author or "")
    if note:
        yield InputProblem(where, note, harmless=True)
    if is_copy:
        return
    role: Role = "system" if is_service else "user"
    reply_to = as_id(data.get("reply_to_message_id"))
    # A reply to another chat has the id of a message that this one doesn't have.
    if data.get("reply_to_peer_id") not in (None, chat.head.get("id")):
        reply_to = None
    metadata, known = _metadata(data, files), () if is_service else _known_files(data)
    if not is_service:
        user = as_id(data.get("from_id"))
        yield from account.participants.note(
            chat.session or "", author, ("id", user), me=user is not None and user == account.id
        )
    yield MessageRecord(chat.session or "", role, text, identity, author, sent, reply_to, metadata, where, known)


def _metadata(data: dict[str, Any], files: list[dict[str, str]]) -> dict[str, Any]:
    reactions: list[dict[str, Any]] = []
    for entry in map(as_dict, as_list(data.get("reactions"))):
        emoji = first_text(entry, "emoji", "document_id", "type")
        by = [name for recent in as_list(entry.get("recent")) if (name := _author(as_dict(recent), "from"))]
        reactions += [{"emoji": emoji, "by": name} for name in by]
        count = entry.get("count")
        if isinstance(count, int) and count > len(by):
            reactions.append({"emoji": emoji, "count": count - len(by)})
    return metadata_of(
        attachments=files,
        reactions=reactions,
        edited=bool(data.get("edited") or data.get("edited_unixtime")),
        forwarded_from=first_text(data, "forwarded_from", "saved_from"),
    )


def _author(data: dict[str, Any], key: str) -> str | None:
    """A person's name, or the id of a deleted account."""
    return as_text(data.get(key)) or as_id(data.get(f"{key}_id")) or None


def _time(data: dict[str, Any], where: str) -> tuple[datetime | None, InputProblem | None]:
    """The time of a message in UTC if the export has that, else in the exporting person's local time."""
    sent, note = json_fields.sent_at(data.get("date_unixtime"), where)
    local, local_note = json_fields.sent_at(data.get("date"), where)
    if sent is None:
        return local, None if local else note or local_note
    is_far = local is not None and local.tzinfo is None and abs(sent.replace(tzinfo=None) - local) > _FARTHEST_ZONE
    # One of the two is wrong: the one that the app can't have written.
    if local is not None and is_far and not _is_likely(sent) and _is_likely(local):
        excerpt = str(data.get("date_unixtime"))[:40]
        return local, InputProblem(where, f"date_unixtime {excerpt!r} contradicts date; date was taken", harmless=True)
    return sent, None


def _is_likely(time: datetime) -> bool:
    """Whether a message can have this time: the app appeared in 2013."""
    return _FIRST_YEAR <= time.year <= datetime.now().year + 1


def _plain_text(text: Any) -> str:
    """A text that is a string, or a list of strings and formatted pieces."""
    if isinstance(text, str):
        return text
    pieces = [piece if isinstance(piece, str) else as_dict(piece).get("text", piece) for piece in as_list(text)]
    return "".join(piece if isinstance(piece, str) else unknown_text.text_of(piece) for piece in pieces)


def _message_text(data: dict[str, Any]) -> str:
    """A message's text, followed by that of its poll, place, contact and the like."""
    text = _plain_text(data.get("text")) or _plain_text(data.get("text_entities"))
    if _RICH_CONTENT_KEYS.isdisjoint(data):
        return text
    return "\n\n".join(part for part in (text, *_rich_content_parts(data)) if part)


def _rich_content_parts(data: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    poll, todo = as_dict(data.get("poll")), as_dict(data.get("todo_list"))
    for title, lines in ((poll.get("question"), poll.get("answers")), (todo.get("title"), todo.get("answers"))):
        answers = [_plain_text(as_dict(line).get("text")) for line in as_list(lines)]
        if question := _plain_text(title):
            parts.append("\n".join([question, *(f"- {answer}" for answer in answers if answer)]))
    parts.append(", ".join(text for key in ("place_name", "address") if (text := as_text(data.get(key)))))
    place = as_dict(data.get("location_information"))
    if place:
        parts.append(f"[location: {place.get('latitude')}, {place.get('longitude')}]")
    contact = as_dict(data.get("contact_information"))
    if text := " ".join(as_text(contact.get(key)) for key in ("first_name", "last_name", "phone_number")).strip():
        parts.append(f"[contact: {text}]")
    parts += [text for key in ("game_title", "game_description") if (text := as_text(data.get(key)))]
    invoice = as_dict(data.get("invoice_information"))
    parts += [text for key in ("title", "description") if (text := as_text(invoice.get(key)))]
    return parts


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    """Files by name; files that the export omits, by their kind."""
    names = [_file_name(data, key, path) for key in _FILES if (path := as_text(data.get(key)))]
    return [{"name": name} for name in names or [_media_type(data)] if name]


def _file_name(data: dict[str, Any], key: str, path: str) -> str:
    name = as_text(data.get("file_name")) if key == "file" else ""
    is_omitted = path.startswith(_OMITTED_PREFIX)
    return name or (_media_type(data) or key if is_omitted else path.rpartition("/")[2] or path)


def _media_type(data: dict[str, Any]) -> str:
    return as_text(data.get("media_type")).replace("_", " ")


def _known_files(data: dict[str, Any]) -> tuple[AttachedFile, ...]:
    return tuple(
        json_fields.attached_file(
            _file_name(data, key, path),
            path="" if path.startswith(_OMITTED_PREFIX) else path,
            type=data.get("mime_type") if key == "file" else None,
            size=data.get("file_size" if key == "file" else f"{key}_file_size"),
        )
        for key in _FILES
        if (path := as_text(data.get(key)))
    )


def _notice(data: dict[str, Any]) -> str:
    """The text of a service message, from the export's own words: "invite members: Ana, Ben"."""
    values: list[str] = []
    for key in _NOTICE_FIELDS:
        value = data.get(key)
        if isinstance(value, list):
            values += [name for name in value if isinstance(name, str)]
        elif isinstance(value, str | int | float) and value != "":
            values.append(f"{value} s" if key == "duration_seconds" else str(value))
    action = as_text(data.get("action")).replace("_", " ")
    notice = ": ".join(part for part in (action, ", ".join(values)) if part)
    return "\n".join(part for part in (notice, _plain_text(data.get("text"))) if part)
