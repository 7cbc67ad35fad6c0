"""Skype: ``messages.json`` of "Export your chats": conversations with their messages, the newest first.

Texts are a kind of HTML. Calls and changes of members are notices.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, made_id, sent_at, with_attachments
from appliance.formats.markup import text_of
from appliance.formats.people_chats import Participants, PeopleMessageIds
from appliance.formats.records import best_score, counted, metadata_of
from appliance.formats.timestamps import is_newest_first, read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_OPENED = frozenset({("conversations",)})
_LISTS = ("MessageList", "messages", "messageList")
_MESSAGE_KEYS = frozenset({"messagetype", "originalarrivaltime", "amsreferences", "conversationid"})
# "8:live:ana" is a person, "19:…@thread.skype" a group, "28:…" a bot.
_ACCOUNT = re.compile(r"^\d{1,2}:")
_NOTICES = (
    "ThreadActivity/",
    "Event/",
    "Notice",
    "PopCard",
    "Translation",
    "EndToEndEncryption/",
    "InviteFreeRelationship",
)
_FILE_NAME = re.compile(r"<OriginalName[^>]*\bv=\"([^\"]+)\"|<meta[^>]*\boriginalName=\"([^\"]+)\"", re.IGNORECASE)
_PLAIN = "Text"


def matches(head: DocumentHead) -> float:
    """The confidence that this is the export: conversations with a list of messages in Skype's form."""
    return best_score(head, _score)


def _score(data: dict[str, Any]) -> float:
    conversations = [as_dict(one) for one in as_list(data.get("conversations"))]
    if any("MessageList" in one for one in conversations):
        return 0.95
    messages = [as_dict(m) for one in conversations for key in _LISTS for m in as_list(one.get(key))]
    return 0.9 if any(len(_MESSAGE_KEYS & message.keys()) > 1 for message in messages) else 0.0


@dataclass(slots=True)
class _SkypeExport:
    """The account that was exported, the names of others, and what was skipped."""

    me: str | None
    user: str = ""
    names: dict[str, str] = field(default_factory=dict)
    participants: Participants = field(default_factory=Participants)
    skipped: Counter[str] = field(default_factory=Counter)


def parse(document: Document) -> Iterator[Record]:
    """The conversations in the order of the file, each from its oldest message on."""
    export = _SkypeExport(document.context.me, *_account(document))
    number = 0
    for part in json_stream.parts(document, _OPENED, (("id", "displayName"),)):
        if isinstance(part, InputProblem):
            yield part
        elif part.shape == ("conversations", "*"):
            number += 1
            where = f"conversation {number}"
            if problem := json_fields.object_problem(part.data, where, "conversation"):
                yield problem
            else:
                yield from _conversation(part.data, export, where)
    for kind, count in sorted(export.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'message')} without text ({kind})", harmless=True)


def _account(document: Document) -> tuple[str, dict[str, str]]:
    """The exported account and the names of all, read before the messages: an own message has no name."""
    user, names = "", dict[str, str]()
    for part in json_stream.parts(document, _OPENED, (("id", "displayName"),)):
        if isinstance(part, InputProblem):
            continue
        if part.shape == ("userId",):
            user = as_text(part.data)
        elif part.shape == ("conversations", "*"):
            for message in _messages(as_dict(part.data)):
                account, name = as_text(message.get("from")), as_text(message.get("displayName"))
                if account and name:
                    names.setdefault(account, name)
            one, name = as_text(as_dict(part.data).get("id")), as_text(as_dict(part.data).get("displayName"))
            if one.startswith("8:") and name:
                names.setdefault(one, name)
    return user, names


def _messages(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_dict(one) for key in _LISTS for one in as_list(conversation.get(key))]


def _conversation(data: dict[str, Any], export: _SkypeExport, where: str) -> Iterator[Record]:
    messages = list(enumerate(_messages(data), 1))
    if is_newest_first(read_time(message.get("originalarrivaltime")) for _, message in messages):
        messages.reverse()
    topic = as_text(as_dict(data.get("threadProperties")).get("topic"))
    title = as_text(data.get("displayName")) or topic or _short(as_text(data.get("id"))) or None
    first = messages[0][1] if messages else {}
    session = as_id(data.get("id")) or made_id("skype", title, first.get("originalarrivaltime"), first.get("content"))
    begun = False
    ids = PeopleMessageIds()
    for number, message in messages:
        place = f"{where}, message {number}"
        records = list(_message(session, message, export, ids, place))
        if records and not begun:
            begun = True
            yield SessionRecord(session, title, read_time(message.get("originalarrivaltime")))
        yield from records


def _message(
    session: str, data: dict[str, Any], export: _SkypeExport, ids: PeopleMessageIds, where: str
) -> Iterator[Record]:
    kind, content = as_text(data.get("messagetype")), as_text(data.get("content"))
    name = _FILE_NAME.search(content)
    files = [{"name": name[1] or name[2]}] if name else []
    is_media = files or content.lstrip().lower().startswith("<uriobject")
    text = "" if is_media else content if kind == _PLAIN else _words(content)
    if is_media and not files:
        files = [{"name": kind.rpartition("/")[2] or "file"}]
    if not content and (text := unknown_text.text_under_text_keys(data)):
        yield unknown_text.kept(where)
    is_notice = kind.startswith(_NOTICES)
    if is_notice and not text.strip() and content:
        text = kind.rpartition("/")[2]
    text = with_attachments(text, files)
    if not text.strip():
        export.skipped[kind or "no type"] += 1
        return
    account = as_text(data.get("from"))
    is_own = bool(export.user) and _short(account) == _short(export.user)
    author = as_text(data.get("displayName")) or export.names.get(account) or (export.me if is_own else None)
    author = author or _short(account) or None
    identity, is_copy, note = ids.claim(as_id(data.get("id")), text, account)
    if note:
        yield InputProblem(where, note, harmless=True)
    if is_copy:
        return
    sent, time_note = sent_at(data.get("originalarrivaltime"), where)
    if time_note:
        yield time_note
    properties = as_dict(data.get("properties"))
    metadata = metadata_of(
        attachments=files, edited=bool(properties.get("edittime")), deleted=bool(properties.get("deletetime"))
    )
    if account:
        yield from export.participants.note(session, author, ("id", account), ("name", author), me=is_own)
    role: Role = "system" if is_notice else "user"
    yield MessageRecord(session, role, text, identity, author, sent, metadata=metadata, where=where)


def _short(account: str) -> str:
    return _ACCOUNT.sub("", account)


def _words(content: str) -> str:
    """A text as people saw it: its line breaks are line feeds, and its emoticons, quotations and links are elements."""
    if "<" not in content and "&" not in content:
        return content
    return text_of(content.replace("\r\n", "\n").replace("\n", "<br>"))
