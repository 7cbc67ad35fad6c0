"""KakaoTalk: the text that "Export chat" makes on phones and computers, in Korean and English, and the table of a Mac.

Phones write the time before each message (``2024년 3월 11일 오전 9:12, 박서준 : text``), Windows a line for each day
and ``[박서준] [오전 9:12] text``. Times are local.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import date, datetime, time

from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import made_id, unreadable_time
from appliance.formats.meta_words import month_number
from appliance.formats.people_chats import Participants
from appliance.formats.text_lines import TextEntry, csv_rows, text_lines
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_CLOCK = r"(?:(?P<half>오전|오후|AM|PM) )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?(?P<after>[AaPp][Mm]))?"
_STAMPS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<year>\d{{4}})년 (?P<month>\d{{1,2}})월 (?P<day>\d{{1,2}})일 {_CLOCK}",
        rf"(?P<year>\d{{4}})\. (?P<month>\d{{1,2}})\. (?P<day>\d{{1,2}})\.? {_CLOCK}",
        rf"{_CLOCK}, (?P<word>[A-Z][a-z]{{2,8}}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}})",
        rf"(?P<word>[A-Z][a-z]{{2,8}}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}})(?:,| at) {_CLOCK}",
    )
)
_BRACKETED = re.compile(rf"\[(?P<name>[^\n]{{1,80}}?)\] \[{_CLOCK}\](?: (?P<text>.*))?", re.DOTALL)
_DAYS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-*\s*(?P<year>\d{4})년 (?P<month>\d{1,2})월 (?P<day>\d{1,2})일(?: .요일)?\s*-*",
        r"-*\s*[A-Z][a-z]{5,8}, (?P<word>[A-Z][a-z]{2,8}) (?P<day>\d{1,2}), (?P<year>\d{4})\s*-*",
    )
)
_TITLE = re.compile(
    r"(?P<name>.{1,200}?)(?: 님)?(?:과|와)? ?(?:with )?(?:카카오톡 대화|KakaoTalk Chats)(?:-\d+)?(?:\.txt)?"
    r"|KakaoTalk Chats with (?P<english>.{1,200}?)(?:-\d+)?(?:\.txt)?"
)
_SAVED = re.compile(r"(?:저장한 날짜|Date Saved) ?: ?.{4,40}")
_COLUMNS = ["Date", "User", "Message"]
_OWN_NAMES = frozenset({"회원님", "you", "You"})
_MIN_MESSAGES = 2


def matches(head: DocumentHead) -> float:
    """The confidence that this is an exported chat: its title and date of saving, else its messages."""
    lines = [line.rstrip("\r") for line in head.text.lstrip("\ufeff").split("\n")[:400]]
    lines = [line for line in lines if line.strip()]
    if not lines:
        return 0.0
    if lines[0] == ",".join(_COLUMNS):
        return 0.9 if len(lines) > 1 and lines[1][:4].isdecimal() else 0.6
    if any(_TITLE.fullmatch(line) for line in lines[:2]) and any(_SAVED.fullmatch(line) for line in lines[:3]):
        return 0.97
    headers = sum(" : " in found[1] for line in lines if (found := _dated(line)) and found[0])
    has_day = any(_day(line) for line in lines)
    bracketed = sum(_BRACKETED.fullmatch(line) is not None for line in lines) if has_day else 0
    return 0.9 if headers >= _MIN_MESSAGES or bracketed >= _MIN_MESSAGES else 0.0


@dataclass(slots=True)
class _KakaoChat:
    """What the file says of the chat, and the session once it has begun."""

    me: str | None
    title: str | None = None
    session: str | None = None
    participants: Participants = field(default_factory=Participants)


def parse(document: Document) -> Iterator[Record]:
    """The messages in file order."""
    chat = _KakaoChat(document.context.me)
    first = next(
        (line for line in text_lines(document) if not isinstance(line, InputProblem) and line[1].strip()), None
    )
    is_table = first is not None and first[1].strip("\ufeff ") == ",".join(_COLUMNS)
    for entry in _rows(document) if is_table else _entries(document, chat):
        if isinstance(entry, InputProblem):
            yield entry
        elif entry.text.strip():
            yield from _message(entry, chat)
    if chat.session is None:
        yield InputProblem("", "the file holds no messages", harmless=True)


def _message(entry: TextEntry, chat: _KakaoChat) -> Iterator[Record]:
    author, text = entry.author, entry.text
    if chat.session is None:
        chat.session = made_id("kakaotalk", chat.title, *([] if chat.title else [entry.sent, author, text]))
        yield SessionRecord(chat.session, chat.title, entry.sent)
    is_own = author in _OWN_NAMES
    if is_own and chat.me:
        author = chat.me
    yield from chat.participants.note(chat.session, author, ("name", author), me=is_own)
    role: Role = "user" if author else "system"
    yield MessageRecord(chat.session, role, text, None, author, entry.sent, where=f"line {entry.number}")


def _entries(document: Document, chat: _KakaoChat) -> Iterator[TextEntry | InputProblem]:
    entry: TextEntry | None = None
    day: date | None = None
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line[0], line[1].removeprefix("\ufeff")
        if entry is None and day is None:
            if (found := _TITLE.fullmatch(text)) and chat.title is None:
                chat.title = found["name"] or found["english"]
                continue
            if not text.strip() or _SAVED.fullmatch(text):
                continue
        following: TextEntry | None = None
        if (new_day := _day(text)) is not None:
            day = new_day
        elif bracketed := _BRACKETED.fullmatch(text):
            sent = _at(day, bracketed) if day else None
            following = TextEntry(number, bracketed["name"], sent, [bracketed["text"] or ""])
        elif dated := _dated(text):
            when, rest = dated
            if when is None:
                yield unreadable_time(f"line {number}", text[:40])
            name, colon, words = rest.partition(" : ")
            day = day or (when.date() if when else None)
            if rest:
                following = TextEntry(number, name, when, [words]) if colon else TextEntry(number, None, when, [rest])
        elif entry is None:
            following = TextEntry(number, None, None, [text])
        else:
            entry.lines.append(text)
            continue
        if entry is not None:
            yield entry
        entry = following
    if entry is not None:
        yield entry


def _dated(line: str) -> tuple[datetime | None, str] | None:
    """The time at the beginning of a line and what follows it: "name : text", a notice, or nothing."""
    for stamp in _STAMPS:
        if found := stamp.match(line):
            rest = line[found.end() :]
            if rest.startswith((", ", ": ")):
                return _at(_date_of(found), found), rest[2:]
            return (_at(_date_of(found), found), "") if not rest.strip() else None
    return None


def _day(line: str) -> date | None:
    """The day that a line of its own names."""
    return next((_date_of(found) for pattern in _DAYS if (found := pattern.fullmatch(line.strip()))), None)


def _date_of(found: re.Match[str]) -> date | None:
    parts = found.groupdict()
    month = month_number(parts["word"]) if parts.get("word") else int(parts["month"])
    try:
        return date(int(parts["year"]), month or 0, int(parts["day"]))
    except ValueError:
        return None


def _at(day: date | None, found: re.Match[str]) -> datetime | None:
    hour, half = int(found["hour"]), found["half"] or found["after"]
    if half:
        hour = hour % 12 + (12 if half == "오후" or half[0] in "pP" else 0)
    if day is None or hour > 23 or int(found["minute"]) > 59:
        return None
    return datetime.combine(day, time(hour, int(found["minute"])))


def _rows(document: Document) -> Iterator[TextEntry | InputProblem]:
    for row in csv_rows(document):
        if isinstance(row, InputProblem):
            yield row
            continue
        number, fields = row
        if fields == _COLUMNS:
            continue
        when, name, text = (*fields, "", "", "")[:3]
        if len(fields) > len(_COLUMNS):
            # An export of an old version has commas outside quotation marks.
            text = ",".join(fields[2:])
        sent = read_time(when)
        if sent is None:
            yield unreadable_time(f"line {number}", when)
        yield TextEntry(number, name or None, sent, text.split("\n"))
