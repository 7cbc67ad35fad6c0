"""WhatsApp: the text file of an exported chat, from either system and in any language.

The parser reads the file twice: first for the style of its headers, the order of its dates and the names,
then for the messages. Times are local, without a zone. Lines that the app itself wrote have the role ``system``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from appliance.formats import json_stream, whatsapp_lines
from appliance.formats import text as texts
from appliance.formats import whatsapp_words as words
from appliance.formats.base import Document, DocumentHead
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted
from appliance.formats.text_lines import CP1252_NOTE, collect_lines
from appliance.formats.whatsapp_lines import MARKS, DateOrderEvidence, HeaderStyle, Order, parse_header
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord
from appliance.types.placeholders import placeholder_kind

_MAX_NAME_CHARACTERS = 80
_MAX_NOTICE_CHARACTERS = 600
_MAX_TITLE_NAMES = 3
# With this many lines a name counts as one, whatever it looks like.
_MIN_LINES_PER_NAME = 3
_MAX_NAMES = 20_000
# With this many messages at the file's beginning or end, a second style is that of a second export.
_MIN_JOINED_LINES = 5
_NAME_SEPARATORS = " \u200e\u200f\u202f\xa0"
_AROUND_NAMES = MARKS + " \u202f\xa0"
_COPY = re.compile(r"\s?\(\d{1,2}\)$")
_LOG_LEVEL = re.compile(r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b.*:", re.IGNORECASE)
_TECHNICAL = re.compile(
    r"^_|^chat\b|_.*(?:\d|ios|android|chat|export)|(?:chat|export|test|sample).*_"
    r"|^\W*(?:whatsapp|export|messages?|conversation|backup)\W*\d*\W*$|^[\W\d]*$",
    re.IGNORECASE,
)
"""The names of files that programs have given."""
_OWN_MARK = ("\u200e", "\u200f")


def matches(head: DocumentHead) -> float:
    """The confidence that this is a chat: lines that begin with date and time, and a name before a colon."""
    lines = head.text.split("\n")[:400]
    headers = [header for line in lines if (header := parse_header(line.rstrip("\r")))]
    if not headers or head.text.lstrip("\ufeff \r\n").startswith(("{", "[{", '["')):
        return 0.0
    style, count = Counter(header.style for header in headers).most_common(1)[0]
    rests = [header.rest for header in headers if header.style == style]
    named = sum(": " in rest or rest.endswith(":") for rest in rests)
    first = next((n for n, line in enumerate(lines) if parse_header(line.rstrip("\r"))), 0)
    if _chat_name(head.name):
        return 0.9
    levels = sum(_LOG_LEVEL.match(rest) is not None for rest in rests)
    if named == 0 or levels > count // 2:
        return 0.3
    if style.ends_with_colon and (style.long_year == -1 or not _is_conversation(rests)):
        return 0.3
    if style.bracket and not style.seconds:
        # Between brackets the app writes seconds; without them, this may be another program's log.
        return 0.55
    early = 0.15 if first <= 2 else 0.0
    return min(0.9, 0.5 + early + 0.05 * min(count, 5))


def _is_conversation(rests: list[str]) -> bool:
    """Whether most lines have a name behind the date, and more than one name; logs have a date and a colon, too."""
    names = Counter(found[0] for rest in rests if (found := _name_candidates(rest)))
    return names.total() * 2 > len(rests) and len(names) > 1


@dataclass(slots=True)
class _WhatsAppSurvey:
    styles: dict[HeaderStyle, DateOrderEvidence] = field(default_factory=dict)
    names: dict[HeaderStyle, Counter[str]] = field(default_factory=dict)
    encoding: texts.Encoding = "utf-8"
    identity: str = ""


class _WhatsAppEntry(NamedTuple):
    """A header and the lines of its message; ``rest`` is the header's line without date and time, None for the lines
    before the first header."""

    number: int
    rest: str | None
    sent: datetime | None
    lines: list[str]


def parse(document: Document) -> Iterator[Record]:
    try:
        survey = _survey(document)
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {json_stream.error_text(error)}")
        return
    if not survey.styles:
        yield InputProblem("", "no line begins with a date and a time; no messages", harmless=True)
        return
    styles = (whatsapp_lines.main_style(survey.styles), *whatsapp_lines.joined_styles(survey.styles, _MIN_JOINED_LINES))
    orders, notes = whatsapp_lines.decide_orders({style: survey.styles[style] for style in styles}, document)
    yield from notes
    if survey.encoding == "cp1252":
        yield CP1252_NOTE
    name = _chat_name(document.name)
    session = f"whatsapp:{name}" if name else f"whatsapp:{survey.identity}"
    names = sum((survey.names[style] for style in orders), Counter[str]())
    called_themselves = {_clean_name(raw) for raw in names if _is_own_name(raw)}
    participants, own = Participants(), _exporting_person(name, names)
    pending: list[InputProblem] = []
    begun = False
    for entry in _entries(document, survey.encoding, orders, names, pending):
        if pending:
            yield from pending
            pending.clear()
        if not begun:
            begun = True
            # Every export's file is called "_chat", unless a person has renamed it, or a program.
            stem = document.name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
            title = name or ("" if _TECHNICAL.search(stem) else stem) or _people_title(names)
            yield SessionRecord(session, title, entry.sent)
        record = _message(session, entry, names)
        if record.author and record.role == "user":
            if entry.rest is not None and _is_own_name(entry.rest):
                yield from participants.note(session, record.author, ("handle", f"~{record.author}"))
            elif record.author == own:
                yield from participants.note(session, record.author, ("name", record.author), me=True)
            elif record.author in called_themselves:
                yield from participants.note(session, record.author, ("name", record.author))
        yield record
    yield from pending
    quoted = sum(seen.lines for style, seen in survey.styles.items() if style not in orders)
    if quoted:
        message = f"read {counted(quoted, 'line')} with a date in another style as text"
        yield InputProblem("", message, harmless=True)


def _is_own_name(raw: str) -> bool:
    """Whether a name is what the person calls themselves, because they are not in the address book."""
    return raw.lstrip(_AROUND_NAMES).startswith("~")


def _exporting_person(chat: str | None, names: Counter[str]) -> str | None:
    """Who exported a chat of two: not the one after whom it is named."""
    people = dict.fromkeys(_clean_name(name) for name in names)
    others = [name for name in people if name != chat]
    return others[0] if len(people) == 2 and len(others) == 1 else None


def _people_title(names: Counter[str]) -> str | None:
    """The title of a chat without a name: the people with the most messages."""
    people = [_clean_name(name) for name, _ in names.most_common() if ":" not in name]
    others = len(people) - _MAX_TITLE_NAMES
    return (", ".join(people[:_MAX_TITLE_NAMES]) + (f" and {others} more" if others > 0 else "")) or None


def _survey(document: Document) -> _WhatsAppSurvey:
    survey = _WhatsAppSurvey(encoding=texts.encoding_of(document))
    styles: dict[HeaderStyle, tuple[DateOrderEvidence, Counter[str]]] = {}
    previous: HeaderStyle | None = None
    for line in json_stream.lines(document):
        if isinstance(line, InputProblem):
            continue
        number, data = line
        text = texts.decoded(data, survey.encoding)[0].rstrip("\r\n")
        head = parse_header(text)
        if head is None:
            continue
        if (seen := styles.get(head.style)) is None:
            if head.has_year and not any(head.to_date(order) for order in whatsapp_lines.ORDERS):
                continue
            seen = styles[head.style] = DateOrderEvidence(), Counter()
        evidence, names = seen
        evidence.add(head, number)
        evidence.runs += head.style != previous
        previous = head.style
        if len(names) < _MAX_NAMES:
            for name in _name_candidates(head.rest):
                names[name] += 1
        if not survey.identity:
            survey.identity = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:24]
    survey.styles = {style: evidence for style, (evidence, _) in styles.items()}
    survey.names = {style: names for style, (_, names) in styles.items()}
    return survey


def _entries(
    document: Document,
    encoding: texts.Encoding,
    orders: dict[HeaderStyle, Order],
    names: Counter[str],
    problems: list[InputProblem],
) -> Iterator[_WhatsAppEntry]:
    """The file split at its headers, every line in one entry; problems are appended to ``problems``."""
    entry = _WhatsAppEntry(1, None, None, [])
    last: datetime | None = None
    for number, text in collect_lines(document, encoding, problems):
        head = parse_header(text)
        order = orders.get(head.style) if head else None
        sent, rest = None, None
        if head is not None and order is not None:
            sent = head.to_datetime(order) if head.has_year else head.to_datetime_after(last and last.date())
            rest = head.rest if sent is not None or not head.has_year else None
            if sent is None and rest is not None and last is None and entry.rest is None:
                problems.append(
                    InputProblem(f"line {number}", "the dates have no year; times are left open", harmless=True)
                )
            last = sent or last
        if rest is None and (broken := whatsapp_lines.parse_broken_header(text)) and broken[0] in orders:
            where = f"line {number}"
            exists = head is not None and any(map(head.to_date, whatsapp_lines.ORDERS))
            if not exists and any(names[name] for name in _name_candidates(broken[1])):
                rest = broken[1]
                problems.append(InputProblem(where, "the date or time does not exist; left open", harmless=True))
            else:
                reason = "contradicts the order of the others" if exists else "does not exist"
                message = f"the date {reason}; the line is read as text of the message before it"
                problems.append(InputProblem(where, message, harmless=True))
        if rest is None:
            entry.lines.append(text)
            continue
        if entry.rest is not None or _has_content(entry):
            yield entry
        entry = _WhatsAppEntry(number, rest, sent, [rest])
    # Trailing blank lines belong to the file, not to its last message.
    while len(entry.lines) > 1 and not entry.lines[-1].strip():
        entry.lines.pop()
    if entry.rest is not None or _has_content(entry):
        yield entry


def _has_content(entry: _WhatsAppEntry) -> bool:
    return any(line.strip(MARKS + " ") for line in entry.lines)


def _message(session: str, entry: _WhatsAppEntry, names: Counter[str]) -> MessageRecord:
    where = f"line {entry.number}"
    sent = entry.sent
    if entry.rest is None:
        return MessageRecord(session, "system", "\n".join(entry.lines), where=where)
    author, text = _author(entry.rest, names)
    if len(entry.lines) > 1:
        text = "\n".join((text, *entry.lines[1:]))
    marked = text.startswith(_OWN_MARK)
    plain = text.lstrip(MARKS) if marked else text
    if author is None:
        return MessageRecord(session, "system", plain, sent_at=sent, where=where)
    name = _clean_name(author) or None
    metadata: dict[str, Any] = {}
    if text.endswith(">") and (edited := words.EDITED.search(text)):
        metadata["edited"] = True
        text = text[: edited.start()]
        plain = text.lstrip(MARKS)
    placeholder = placeholder_kind(plain)
    if placeholder is not None:
        text = plain
        if placeholder == "deleted":
            metadata["deleted"] = True
    elif files := _files(text):
        metadata["attachments"] = [{"name": file} for file in files]
        text = plain
    elif len(plain) <= _MAX_NOTICE_CHARACTERS and (
        words.is_notice(plain)
        or ((marked or (name and plain.startswith(name))) and words.is_event(plain, marked=marked))
    ):
        return MessageRecord(session, "system", plain, author=name, sent_at=sent, where=where)
    return MessageRecord(session, "user", text, None, name, sent, None, metadata, where)


def _files(text: str) -> list[str]:
    if "<" in text and (files := [match["name"].strip() for match in words.ATTACHED.finditer(text)]):
        return files
    return [match["name"].strip() for match in words.FILE_ATTACHED.finditer(text)] if " (" in text else []


def _author(rest: str, names: Counter[str]) -> tuple[str | None, str]:
    """The name before the colon (None if the line has no name) and the text after it.

    A name may itself contain a colon: then every line of that person continues in the same way. It may be empty."""
    if rest.startswith(": "):
        return "", rest[2:]
    candidates = _name_candidates(rest)
    if not candidates:
        return _bare_name(rest, names, len(rest))
    author = candidates[0]
    if ":" in author:
        bare, text = _bare_name(rest, names, len(author))
        if bare is not None:
            return bare, text
    if _is_sentence(author) and names[author] < _MIN_LINES_PER_NAME:
        return None, rest
    for longer in candidates[1:]:
        if names[longer] >= _MIN_LINES_PER_NAME and names[longer] == names[author]:
            author = longer
    return author, rest[len(author) + 1 :].removeprefix(" ")


@lru_cache(maxsize=256)
def _is_sentence(author: str) -> bool:
    """Whether the text before a colon is a sentence of the app about a group, not a name."""
    # The colon splits a group's name between quotation marks.
    if sum(map(author.count, '"“”„«»「」')) % 2:
        return True
    return words.is_event_before_colon(author)


def _bare_name(rest: str, names: Counter[str], end: int) -> tuple[str | None, str]:
    """A known name before a colon without a space, as some apps write before an empty text."""
    at = rest.find(":", 0, end)
    if at > 0 and rest[:at] in names:
        return rest[:at], rest[at + 1 :]
    return None, rest


def _name_candidates(rest: str) -> list[str]:
    """The texts before the first three colons that are followed by a space or the end of the line."""
    # A name may begin with a colon.
    at = rest.find(":", 1)
    if not 0 < at <= _MAX_NAME_CHARACTERS:
        return []
    # At the end of the line the slice is empty, and "" is in every string.
    found = [rest[:at]] if rest[at + 1 : at + 2] in _NAME_SEPARATORS else []
    while (at := rest.find(":", at + 1, _MAX_NAME_CHARACTERS + 1)) > 0 and len(found) < 3:
        if rest[at + 1 : at + 2] in _NAME_SEPARATORS:
            found.append(rest[:at])
    return found


@lru_cache(maxsize=1024)
def _clean_name(author: str) -> str:
    """A name without marks around it, and without the tilde that the app writes before unknown contacts."""
    name = author.strip(_AROUND_NAMES)
    if name.startswith("~"):
        name = name[1:].strip(_AROUND_NAMES)
    return name or author


def _chat_name(path: str) -> str | None:
    """The chat's name, if the app wrote it into the name of the file, its folder or its zip."""
    for part in reversed(path.replace("\\", "/").split("/")[-3:]):
        stem = re.sub(r"\.(?:txt|zip)$", "", part, flags=re.IGNORECASE)
        if match := words.CHAT_NAME.match(_COPY.sub("", stem).strip()):
            return match["name"].strip()
    return None
