"""Tables of messages: CSV with a column each for the time, the author and the text, as many programs export chats.

The columns are known by their names: iMazing's ("Message Date", "Sender Name", "Text"), and plain ones ("timestamp,
sender, message"). A column that names the conversation tells several apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime

from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import made_id, unreadable_time, with_attachments
from appliance.formats.meta_words import read_date
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted, metadata_of
from appliance.formats.text_lines import csv_rows
from appliance.formats.timestamps import read_time
from appliance.formats.whatsapp_lines import DateOrderEvidence, HeaderStyle, Order, decide_orders, parse_header
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

# The names of columns, in the order of preference.
_TIMES = ("message date", "timestamp", "datetime", "date time", "date_time", "sent at", "sent_at", "created_at",
          "time sent", "createtime", "strtime", "date", "time")  # fmt: skip
_AUTHORS = (
    "sender name",
    "sender_name",
    "sender",
    "author",
    "from",
    "user",
    "username",
    "name",
    "speaker",
    "nickname",
    "talker",
)
_TEXTS = ("text", "message", "content", "body", "message text", "strcontent", "msg")
_CONVERSATIONS = (
    "chat session",
    "conversation",
    "conversation title",
    "chat name",
    "chat",
    "thread",
    "channel",
    "room",
    "group",
)
_FILES = ("attachment", "attachments", "file", "media")
_NUMBERS = ("sender id", "sender_id", "author id", "phone", "address", "number")
_DIRECTIONS = ("type", "direction")
_OUTGOING = frozenset({"outgoing", "sent", "out", "outbox"})
_OWN_NAME = "Me"
_MAX_COLUMNS = 60
# A table with a time, an author and a text may hold anything; few columns say that it is a chat.
_FEW_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class _Columns:
    """The places of the columns; None for those that are missing."""

    time: int
    author: int
    text: int
    conversation: int | None
    file: int | None
    number: int | None
    direction: int | None


def matches(head: DocumentHead) -> float:
    """The confidence that this is a table of messages: its columns, and times in the first rows."""
    lines = [line.rstrip("\r") for line in head.text.lstrip("\ufeff \r\n").split("\n")[:30]]
    columns = _columns([name.strip().strip('"') for name in lines[0].split(",")])
    if columns is None or len(lines) < 2 or not lines[1].strip():
        return 0.0
    first = [field.strip().strip('"') for field in lines[1].split(",")]
    is_time = columns.time < len(first) and (
        _time(first[columns.time], {}) or _time(",".join(first[columns.time :][:2]), {})
    )
    if not is_time:
        return 0.0
    return 0.8 if lines[0].count(",") < _FEW_COLUMNS or columns.conversation is not None else 0.0


def _columns(names: list[str]) -> _Columns | None:
    places = {name.lower(): at for at, name in reversed(list(enumerate(names[:_MAX_COLUMNS])))}

    def first(wanted: tuple[str, ...]) -> int | None:
        return next((places[name] for name in wanted if name in places), None)

    time, author, text = first(_TIMES), first(_AUTHORS), first(_TEXTS)
    if time is None or author is None or text is None or len({time, author, text}) < 3:
        return None
    return _Columns(time, author, text, *(first(wanted) for wanted in (_CONVERSATIONS, _FILES, _NUMBERS, _DIRECTIONS)))


@dataclass(slots=True)
class _Table:
    columns: _Columns
    begun: set[str] = field(default_factory=set)
    participants: Participants = field(default_factory=Participants)
    skipped: int = 0


def parse(document: Document) -> Iterator[Record]:
    """The rows in file order, each a message."""
    table: _Table | None = None
    orders, notes = _orders(document)
    yield from notes
    for row in csv_rows(document):
        if isinstance(row, InputProblem):
            yield row
            continue
        number, fields = row
        if table is None:
            columns = _columns([name.strip() for name in fields])
            if columns is None:
                yield InputProblem("", "the table has no columns for the time, the author and the text of messages")
                return
            table = _Table(columns)
        else:
            yield from _message(document, table, fields, orders, f"line {number}")
    if table is not None and table.skipped:
        yield InputProblem("", f"skipped {counted(table.skipped, 'row')} without text", harmless=True)


def _message(
    document: Document, table: _Table, fields: list[str], orders: dict[HeaderStyle, Order], where: str
) -> Iterator[Record]:
    columns = table.columns

    def value(at: int | None) -> str:
        return fields[at] if at is not None and at < len(fields) else ""

    files = [{"name": value(columns.file).replace("\\", "/").rpartition("/")[2]}] if value(columns.file).strip() else []
    text = with_attachments(value(columns.text), files)
    if not text.strip():
        table.skipped += 1
        return
    stamp = value(columns.time).strip()
    sent = _time(stamp, orders)
    if sent is None and stamp:
        yield unreadable_time(where, stamp)
    author, number = value(columns.author).strip(), value(columns.number).strip()
    is_own = value(columns.direction).strip().lower() in _OUTGOING
    if is_own and not author:
        author = document.context.me or _OWN_NAME
    author = author or number
    title = value(columns.conversation).strip()
    stem = document.name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    session = made_id("chat_table", title or stem)
    if session not in table.begun:
        table.begun.add(session)
        yield SessionRecord(session, title or stem or None, sent)
    yield from table.participants.note(session, author or None, ("number", number), ("name", author), me=is_own)
    metadata = metadata_of(attachments=files)
    yield MessageRecord(session, "user", text, None, author or None, sent, None, metadata, where)


def _orders(document: Document) -> tuple[dict[HeaderStyle, Order], list[InputProblem]]:
    """The order of day and month in the times of the table."""
    styles: dict[HeaderStyle, DateOrderEvidence] = {}
    columns: _Columns | None = None
    for row in csv_rows(document):
        if isinstance(row, InputProblem):
            continue
        number, fields = row
        if columns is None:
            if (columns := _columns([name.strip() for name in fields])) is None:
                break
        elif columns.time < len(fields) and (header := parse_header(f"[{fields[columns.time].strip()}] ")):
            styles.setdefault(header.style, DateOrderEvidence()).add(header, number)
    return decide_orders({style: seen for style, seen in styles.items() if style.long_year != -1}, document)


def _time(stamp: str, orders: dict[HeaderStyle, Order]) -> datetime | None:
    if not any(character.isdecimal() for character in stamp):
        return None
    when = read_time(stamp) or read_date(stamp)
    header = parse_header(f"[{stamp}] ") if when is None or "/" in stamp else None
    if header is None:
        return when
    return header.to_datetime(orders.get(header.style, "dmy")) or header.to_datetime("mdy") or header.to_datetime("ymd")
