"""iMessage: ``chat.db`` of a Mac (or ``sms.db`` of a phone's backup), every chat a conversation.

Only the places of the messages (chat, time, row) are sorted; the rows themselves are read one at a time.
Reactions are rows as well: those of a chat are read first, and become metadata of their messages.
"""

from __future__ import annotations

import plistlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from appliance.formats import html_pages, imessage_files, sqlite
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, attached_file, unreadable_time, with_attachments
from appliance.formats.json_stream import error_text
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted
from appliance.lazy_dataclasses import dataclass
from appliance.types import AttachedFile, InputProblem, MessageRecord, Record, SessionRecord

_EPOCH = datetime(2001, 1, 1, tzinfo=UTC)
# Seconds since 2001 stay below this until the year 5169; nanoseconds pass it after two minutes.
_SECONDS_BELOW = 10**11

_COLUMNS = (
    "guid text attributedBody subject date is_from_me handle_id other_handle item_type group_title group_action_type"
    " associated_message_guid associated_message_type associated_message_emoji thread_originator_guid date_edited"
    " date_retracted message_summary_info cache_has_attachments"
).split()

# Stands for the person whose database it is; messages say no more of them than that they are theirs.
OWN_HANDLE = "me"

_PLACEHOLDER = "\ufffc"
_REACTIONS = {0: "❤️", 1: "👍", 2: "👎", 3: "😂", 4: "‼️", 5: "❓"}
_ADDED = range(2000, 2008)
_REMOVED = range(3000, 3008)
_MEMBERSHIP_EVENT, _RENAME_EVENT, _LEAVE_EVENT, _LOCATION_EVENT = 1, 2, 3, 4

# The class at the beginning of an archived text, and the mark of the text's bytes within it.
_STRING = b"NSString"
_BYTES = b"\x84\x01+"
_STRING_SEARCH_BYTES = 40

# The rows of a damaged database are tried one by one, up to this number.
_MAX_ROWS_TRIED = 2_000_000


def matches(head: DocumentHead) -> float:
    """How surely this is the app's database, by its tables."""
    if not head.tables:
        return imessage_files.matches(head)
    if not {"message", "handle"} <= head.tables:
        return 0.0
    return 0.95 if head.tables & {"chat_message_join", "chat", "message_attachment_join"} else 0.6


@dataclass(slots=True)
class _ChatDatabase:
    """The open database, its handles by row, and the counts of what was skipped. ``me`` is the person's name."""

    connection: sqlite3.Connection
    me: str
    handles: dict[int, str]
    select: str
    tables: frozenset[str]
    used: set[str] = field(default_factory=set)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    participants: Participants = field(default_factory=Participants)

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a small query; none if a table or a column is missing."""
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError:
            return []


@dataclass(frozen=True, slots=True)
class _IMessageChat:
    """A conversation. ``other`` is the person's partner where there is only one."""

    session: str
    title: str | None
    other: str | None


def parse(document: Document) -> Iterator[Record]:
    """The chats of the database, one after the other, each in the order of time."""
    if imessage_files.matches(DocumentHead(document.name, html_pages.read_beginning(document), True)):
        yield from imessage_files.parse(document)
        return
    try:
        with sqlite.open_readonly(document) as connection:
            yield from _chats(connection, document.context.me or "Me")
    except sqlite3.Error as error:
        yield InputProblem("", f"the database is damaged: {error}")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {error_text(error)}")


def _chats(connection: sqlite3.Connection, me: str) -> Iterator[Record]:
    tables = frozenset(
        str(name).lower() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    )
    message_columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(message)")}
    if not message_columns:
        yield InputProblem("", "the database has no messages (no table message)", harmless=True)
        return
    columns = ", ".join(f'"{name}"' if name in message_columns else "NULL" for name in _COLUMNS)
    source = _ChatDatabase(connection, me, {}, f"SELECT {columns} FROM message WHERE ROWID = ?", tables)
    for row, name in source.rows("SELECT ROWID, id FROM handle"):
        if isinstance(name, str) and name:
            source.handles[row] = name
    problems: list[InputProblem] = []
    places = _reading_order(source, message_columns, problems)
    for (chat, handle), members in groupby(places, key=lambda place: place[:2]):
        yield from _chat(source, chat, handle, [row for *_, row in members])
    yield from problems
    for (noun, reason), count in sorted(source.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, noun)} {reason}", harmless=True)


def _reading_order(
    source: _ChatDatabase, message_columns: set[str], problems: list[InputProblem]
) -> Iterator[tuple[Any, Any, int]]:
    """The chat, handle and row of every message in reading order; the handle only for messages outside any chat."""
    tables = ("chat_message_join", "chat_recoverable_message_join")
    joins = [f"SELECT chat_id, message_id FROM {table}" for table in tables if table in source.tables]
    joined = " UNION ".join(joins) or "SELECT NULL AS chat_id, NULL AS message_id"
    handle = "m.handle_id" if "handle_id" in message_columns else "NULL"
    date = "m.date" if "date" in message_columns else "NULL"
    query = (
        f"SELECT j.chat_id AS chat, CASE WHEN j.chat_id IS NULL THEN {handle} END AS other, m.ROWID "
        f"FROM message m LEFT JOIN ({joined}) j ON j.message_id = m.ROWID ORDER BY 1, 2, {date}, 3"
    )
    has_begun = False
    try:
        for place in source.connection.execute(query):
            has_begun = True
            yield place
    except sqlite3.DatabaseError as error:
        problems.append(InputProblem("", f"the database is damaged: {error}; its readable rows were kept"))
        # A sort yields its first row only after it has read all of them.
        if not has_begun:
            yield from _rows_one_by_one(source)


def _rows_one_by_one(source: _ChatDatabase) -> Iterator[tuple[Any, Any, int]]:
    """The places in a damaged database: every row that can be read by its number."""
    last = 0
    for query in (
        "SELECT max(ROWID) FROM message",
        "SELECT max(message_id) FROM chat_message_join",
        "SELECT max(seq) FROM sqlite_sequence WHERE name = 'message'",
    ):
        for (number,) in source.rows(query):
            last = max(last, number if isinstance(number, int) else 0)
    places: list[tuple[Any, Any, int]] = []
    for row in range(1, min(last, _MAX_ROWS_TRIED) + 1):
        if source.rows("SELECT 1 FROM message WHERE ROWID = ?", row):
            chats = source.rows("SELECT DISTINCT chat_id FROM chat_message_join WHERE message_id = ?", row)
            places.extend((chat, None, row) for (chat,) in chats or [(None,)])
    yield from sorted(places, key=lambda place: (place[0] is not None, str(place[0]), place[2]))


def _chat(source: _ChatDatabase, number: Any, handle: Any, rows: list[int]) -> Iterator[Record]:
    """One conversation. ``rows`` are its messages and reactions."""
    reactions = _reactions(source, rows)
    chat = _session_key(source, number, handle, rows)
    has_begun = False
    ids: set[str] = set()
    # Problems wait for the session to begin.
    waiting: list[InputProblem] = []
    for row in rows:
        where = f"message {row}"
        try:
            values = source.connection.execute(source.select, (row,)).fetchone()
        except sqlite3.DatabaseError as error:
            waiting.append(InputProblem(where, f"the row is damaged ({error}); skipped"))
            continue
        if values is None:
            continue
        message = dict(zip(_COLUMNS, values, strict=True))
        if _number(message["associated_message_type"]) in (*_ADDED, *_REMOVED):
            continue
        guid = _text(message["guid"]) or None
        if guid in ids:
            note = f"the id {guid} occurs twice; the second message gets none"
            waiting.append(InputProblem(where, note, harmless=True))
            guid = None
        elif guid is not None:
            ids.add(guid)
        sent, time_note = _time(message["date"], where)
        record, problem = _message(source, chat, message, guid, sent, row, reactions.get(guid or "", {}))
        waiting += [item for item in (time_note, problem) if item]
        if record is None:
            continue
        if not has_begun:
            has_begun = True
            yield SessionRecord(chat.session, chat.title, sent)
        yield from waiting
        waiting.clear()
        if _number(message["is_from_me"]):
            yield from source.participants.note(chat.session, record.author, ("handle", OWN_HANDLE), me=True)
        yield record
    yield from waiting
    if lost := sum(len(by) for target, by in reactions.items() if target not in ids):
        source.skipped["reaction", "to messages that are not in the database"] += lost


def _session_key(source: _ChatDatabase, number: Any, handle: Any, rows: list[int]) -> _IMessageChat:
    """The conversation's id and title: its own where the database has them, else made of its members."""
    guid = name = identifier = ""
    members: list[str] = []
    if number is not None:
        # One query a column: old databases lack some of them.
        columns = ("guid", "display_name", "chat_identifier")
        values = [source.rows(f"SELECT {column} FROM chat WHERE ROWID = ?", number) for column in columns]
        guid, name, identifier = (_text(value[0][0]) if value else "" for value in values)
        joined = source.rows("SELECT handle_id FROM chat_handle_join WHERE chat_id = ? ORDER BY handle_id", number)
        members = [source.handles[h] for (h,) in joined if isinstance(h, int) and h in source.handles]
        members = members or _senders(source, rows)
    elif handle in source.handles:
        members = [source.handles[handle]]
    # One person can be in a chat twice, by the handle of each service.
    members = list(dict.fromkeys(members))
    other = members[0] if len(members) == 1 else (identifier or None) if not members else None
    session = guid or identifier or (f"imessage:{other}" if other else f"imessage:chat {number or 0}")
    if session in source.used:
        session += f" ({number})" if number is not None else " (no chat)"
    source.used.add(session)
    return _IMessageChat(session, name or ", ".join(members) or identifier or None, other)


def _senders(source: _ChatDatabase, rows: list[int]) -> list[str]:
    """The handles that a chat's messages name, in the order of their first message."""
    senders: dict[int, None] = {}
    for row in rows:
        for (handle,) in source.rows("SELECT handle_id FROM message WHERE ROWID = ?", row):
            if isinstance(handle, int) and handle in source.handles:
                senders.setdefault(handle)
    return [source.handles[handle] for handle in senders]


def _message(
    source: _ChatDatabase,
    chat: _IMessageChat,
    message: Mapping[str, Any],
    guid: str | None,
    sent: datetime | None,
    row: int,
    reactions: Mapping[tuple[str, str], str],
) -> tuple[MessageRecord | None, InputProblem | None]:
    where = f"message {row}"
    author = _author(source, message, chat)
    metadata: dict[str, Any] = {}
    if kind := _number(message["item_type"]):
        text = _event(source, kind, message)
        return MessageRecord(chat.session, "system", text, guid, author, sent, where=where), None
    text, note = _words(message, where)
    retracted = bool(_number(message["date_retracted"]))
    known = _known_files(source, row)
    attachments: list[dict[str, str]] = [{"name": file.name} for file in known]
    if not known and _PLACEHOLDER in text and _number(message["cache_has_attachments"]):
        attachments = [{"name": "file"}]
    if attachments:
        text = text.replace(_PLACEHOLDER, "")
        text = text if text.strip() else ""
        metadata["attachments"] = attachments
    if subject := _text(message["subject"]):
        text = f"{subject}\n{text}" if text else subject
    text = with_attachments(text, attachments)
    if not text.strip():
        if not retracted:
            source.skipped["message", "without text or files (games, drawings and the like)"] += 1
            return None, note
        metadata["deleted"] = True
        text = "unsent a message"
        return MessageRecord(chat.session, "system", text, guid, author, sent, None, metadata, where), note
    if _number(message["date_edited"]):
        metadata["edited"] = True
    if retracted or _is_recoverable(source, row):
        metadata["deleted"] = True
    if reactions:
        metadata["reactions"] = [{"emoji": emoji, "by": by} for (by, _), emoji in reactions.items()]
    reply_to = _text(message["thread_originator_guid"]) or None
    return MessageRecord(chat.session, "user", text, guid, author, sent, reply_to, metadata, where, known), note


def _author(source: _ChatDatabase, message: Mapping[str, Any], chat: _IMessageChat | None) -> str | None:
    if _number(message["is_from_me"]):
        return source.me
    handle = message["handle_id"]
    known = source.handles.get(handle) if isinstance(handle, int) else None
    return known or (chat.other if chat else None)


def _words(message: Mapping[str, Any], where: str) -> tuple[str, InputProblem | None]:
    """A message's text, else that of its archive, else the last of its edits."""
    if text := _text(message["text"]):
        return text, None
    body = message["attributedBody"]
    note = None
    if isinstance(body, bytes) and body:
        archived = archived_text(body)
        if archived:
            return archived, None
        if archived is None:
            note = InputProblem(where, "the archived text (attributedBody) can't be read; skipped")
    edited = _edited_text(message["message_summary_info"])
    return edited, None if edited else note


def archived_text(body: bytes) -> str | None:
    """The text in an archive of the app (a typedstream); None if it can't be found."""
    at = body.find(_STRING)
    at = body.find(_BYTES, at, at + _STRING_SEARCH_BYTES) + len(_BYTES) if at >= 0 else 0
    if at < len(_BYTES) or at >= len(body):
        return None
    size = body[at]
    at += 1
    # A mark for its width precedes a length that needs more than a byte.
    width = {0x81: 2, 0x82: 4}.get(size, 0)
    if len(body) < at + width:
        return None
    if width:
        size = int.from_bytes(body[at : at + width], "little")
        at += width
    elif size >= 0x80:
        return None
    data = body[at : at + size]
    return data.decode("utf-8", "replace") if len(data) == size else None


def _edited_text(summary: Any) -> str:
    """The last version of an edited message, from the list of its edits."""
    if not isinstance(summary, bytes) or not summary.startswith(b"bplist"):
        return ""
    try:
        edits = as_dict(as_dict(plistlib.loads(summary)).get("ec"))
    except Exception:
        # On a broken list, the library may raise any exception.
        return ""
    parts: list[str] = []
    for _, forms in sorted((str(key), value) for key, value in edits.items() if isinstance(value, list)):
        last = as_dict(as_list(forms)[-1]).get("t") if forms else None
        if isinstance(last, bytes):
            parts.append(archived_text(last) or "")
    return "".join(parts)


def _event(source: _ChatDatabase, kind: int, message: Mapping[str, Any]) -> str:
    """A notice of the app as text; the database has only its kind."""
    if text := _text(message["text"]):
        return text
    who = source.handles.get(_number(message["other_handle"]), "somebody")
    removed = _number(message["group_action_type"]) == 1
    if kind == _MEMBERSHIP_EVENT:
        return f"{'removed' if removed else 'added'} {who}"
    if kind == _RENAME_EVENT:
        title = _text(message["group_title"])
        return f"named the conversation {title}" if title else "removed the name of the conversation"
    if kind == _LEAVE_EVENT:
        return "changed the photo of the group" if removed else "left the conversation"
    if kind == _LOCATION_EVENT:
        return "changed the sharing of a place"
    return f"notice of the app (kind {kind})"


def _known_files(source: _ChatDatabase, row: int) -> tuple[AttachedFile, ...]:
    if "message_attachment_join" not in source.tables:
        return ()
    files = source.rows(
        "SELECT a.transfer_name, a.filename, a.mime_type FROM message_attachment_join j "
        "JOIN attachment a ON a.ROWID = j.attachment_id WHERE j.message_id = ? ORDER BY a.ROWID",
        row,
    )
    return tuple(
        attached_file(
            _text(name) or _text(path).rpartition("/")[2] or _text(kind) or "file", path=_text(path), type=_text(kind)
        )
        for name, path, kind in files
    )


def _reactions(source: _ChatDatabase, rows: list[int]) -> dict[str, dict[tuple[str, str], str]]:
    """Reactions by the id of the message, then by person and kind; without those that were taken back."""
    reactions: dict[str, dict[tuple[str, str], str]] = {}
    for row in rows:
        kinds = source.rows("SELECT associated_message_type FROM message WHERE ROWID = ?", row)
        kind = _number(kinds[0][0]) if kinds else 0
        if kind not in _ADDED and kind not in _REMOVED:
            continue
        values = source.rows(source.select, row)
        if not values:
            continue
        message = dict(zip(_COLUMNS, values[0], strict=True))
        by = _author(source, message, None) or "somebody"
        emoji = _text(message["associated_message_emoji"]) or _REACTIONS.get(kind % 1000, "")
        # "p:0/…" is a part of a message, "bp:…" its balloon.
        target = _text(message["associated_message_guid"]).rpartition("/")[2].removeprefix("bp:")
        by_person = reactions.setdefault(target, {})
        key = (by, emoji if kind % 1000 == 6 else str(kind % 1000))
        if kind in _REMOVED:
            by_person.pop(key, None)
        else:
            by_person[key] = emoji or "sticker"
    return reactions


def _is_recoverable(source: _ChatDatabase, row: int) -> bool:
    query = "SELECT 1 FROM chat_recoverable_message_join WHERE message_id = ?"
    return "chat_recoverable_message_join" in source.tables and bool(source.rows(query, row))


def _time(value: Any, where: str) -> tuple[datetime | None, InputProblem | None]:
    """A time in nanoseconds since 2001, or in seconds in old databases; 0 is no time."""
    if value in (None, 0):
        return None, None
    if isinstance(value, int | float):
        try:
            seconds = value if abs(value) < _SECONDS_BELOW else value / 10**9
            whole = int(seconds)
            # A float holds no nanoseconds of this size; whole numbers are divided exactly.
            micro = value // 1000 % 10**6 if isinstance(value, int) and value != seconds else 0
            if isinstance(value, int) and value != seconds:
                whole = value // 10**9
            return _EPOCH + timedelta(seconds=whole, microseconds=micro), None
        except (OverflowError, ValueError):
            pass
    return None, unreadable_time(where, value)


def _text(value: Any) -> str:
    """A column that should be text; some programs write it as bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
