"""WhatsApp: the text file of an exported chat, from either system and in any language.

The file is read twice: first for the style of its headers, the order of its dates and the names, then
for the messages. Times are local and carry no zone. What the app wrote by itself has role ``system``.
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

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse import text as texts
from appliance.ingest.parse import whatsapp_words as words
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.whatsapp_lines import (
    MARKS,
    ORDERS,
    Evidence,
    Header,
    Order,
    Style,
    decide,
    header,
    joined_styles,
    main_style,
)
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_LONGEST_NAME = 80
_LONGEST_NOTICE = 600
_NAMES_SHOWN = 3
# So many lines of one name, and it is one, whatever it looks like.
_LINES_OF_A_NAME = 3
_NAMES_HELD = 20_000
# This many messages in a second style at the file's end or beginning are a second export.
_JOINED_LINES = 5
_BEHIND_A_NAME = " \u200e\u200f\u202f\xa0"
_COPY = re.compile(r"\s?\(\d{1,2}\)$")
_LOG_LEVEL = re.compile(r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b.*:", re.IGNORECASE)
_OWN_MARK = ("\u200e", "\u200f")


def matches(head: Head) -> float:
    """How surely this is a chat: lines that begin with date and time, and a name before a colon."""
    lines = head.text.split("\n")[:400]
    heads = [found for line in lines if (found := header(line.rstrip("\r")))]
    if not heads or head.text.lstrip("\ufeff \r\n").startswith(("{", "[{", '["')):
        return 0.0
    style, count = Counter(found.style for found in heads).most_common(1)[0]
    named = sum(": " in found.rest or found.rest.endswith(":") for found in heads if found.style == style)
    first = next((n for n, line in enumerate(lines) if header(line.rstrip("\r"))), 0)
    if _chat_name(head.name):
        return 0.9
    levels = sum(_LOG_LEVEL.match(found.rest) is not None for found in heads if found.style == style)
    if named == 0 or levels > count // 2:
        return 0.3
    if style.bracket and not style.seconds:
        # The app writes seconds between brackets; other programs' logs look like this, too.
        return 0.55
    early = 0.15 if first <= 2 else 0.0
    return min(0.9, 0.5 + early + 0.05 * min(count, 5))


@dataclass(slots=True)
class _Survey:
    """What the first reading found."""

    styles: dict[Style, Evidence] = field(default_factory=dict)
    names: dict[Style, Counter[str]] = field(default_factory=dict)
    encoding: texts.Encoding = "utf-8"
    identity: str = ""


class _Entry(NamedTuple):
    """A header with the lines of its body; the lines before the first header have none."""

    number: int
    head: Header | None
    sent: datetime | None
    lines: list[str]


def parse(document: Document) -> Iterator[Record]:
    """The chat's messages in the order of the file."""
    try:
        survey = _survey(document)
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {jsonstream.explained(error)}")
        return
    if not survey.styles:
        yield Problem("", "no line begins with a date and a time; no messages", harmless=True)
        return
    orders: dict[Style, Order] = {}
    main = main_style(survey.styles)
    for style in (main, *joined_styles(survey.styles, _JOINED_LINES)):
        decision = decide(style, survey.styles[style])
        orders[style] = decision.order
        if decision.sure == "guessed":
            spelled = "/".join({"d": "day", "m": "month", "y": "year"}[letter] for letter in decision.order)
            yield Problem(
                f"line {survey.styles[style].first_line}",
                f"nothing in the file tells days from months; dates are read as {spelled}, {decision.why}",
                harmless=True,
            )
    if survey.encoding == "cp1252":
        yield Problem("", "read as Windows-1252, as the file is not UTF-8", harmless=True)
    name = _chat_name(document.name)
    session = f"whatsapp:{name}" if name else f"whatsapp:{survey.identity}"
    known = sum((survey.names[style] for style in orders), Counter[str]())
    pending: list[Problem] = []
    begun = False
    for entry in _entries(document, survey.encoding, orders, pending):
        if pending:
            yield from pending
            pending.clear()
        if not begun:
            begun = True
            created = entry.sent
            title = name or _file_title(document.name) or _people(known)
            yield SessionRecord(session, title, created)
        yield _message(session, entry, known)
    yield from pending
    quoted = sum(seen.lines for style, seen in survey.styles.items() if style not in orders)
    if quoted:
        yield Problem("", f"{quoted} lines begin with a date in another style; read as text", harmless=True)


def _people(known: Counter[str]) -> str | None:
    """What a chat without a name is called: those who say most in it."""
    names = [_clean_name(name) for name, _ in known.most_common() if ":" not in name]
    if not names:
        return None
    others = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {others} more" if others > 0 else "")


def _survey(document: Document) -> _Survey:
    survey = _Survey(encoding=texts.encoding_of(document))
    styles: dict[Style, tuple[Evidence, Counter[str]]] = {}
    for line in jsonstream.lines(document):
        if isinstance(line, Problem):
            continue
        number, data = line
        text = texts.decoded(data, survey.encoding)[0].rstrip("\r\n")
        head = header(text)
        if head is None:
            continue
        if (seen := styles.get(head.style)) is None:
            if not any(head.day(order) for order in ORDERS):
                continue
            seen = styles[head.style] = Evidence(), Counter()
        evidence, names = seen
        evidence.add(head, number)
        if len(names) < _NAMES_HELD:
            for name in _name_candidates(head.rest):
                names[name] += 1
        if not survey.identity:
            survey.identity = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:24]
    survey.styles = {style: evidence for style, (evidence, _) in styles.items()}
    survey.names = {style: names for style, (_, names) in styles.items()}
    return survey


def _entries(
    document: Document, encoding: texts.Encoding, orders: dict[Style, Order], problems: list[Problem]
) -> Iterator[_Entry]:
    """The file cut at its headers. Every line is in one entry; ``problems`` collects what went wrong."""
    entry = _Entry(1, None, None, [])
    for line in jsonstream.lines(document, blank=True):
        if isinstance(line, Problem):
            problems.append(line)
            continue
        number, data = line
        raw, readable = texts.decoded(data, encoding)
        if not readable:
            problems.append(Problem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD"))
        text = raw[:-2] if raw.endswith("\r\n") else raw.removesuffix("\n")
        head = header(text)
        order = orders.get(head.style) if head else None
        sent = head.when(order) if head and order else None
        if head is None or sent is None:
            entry.lines.append(text)
            continue
        if entry.head is not None or _says_something(entry):
            yield entry
        entry = _Entry(number, head, sent, [head.rest])
    # Line ends at the end of the file belong to the file.
    while len(entry.lines) > 1 and not entry.lines[-1].strip():
        entry.lines.pop()
    if entry.head is not None or _says_something(entry):
        yield entry


def _says_something(entry: _Entry) -> bool:
    return any(line.strip(MARKS + " ") for line in entry.lines)


def _message(session: str, entry: _Entry, known: Counter[str]) -> MessageRecord:
    where = f"line {entry.number}"
    sent = entry.sent
    if entry.head is None:
        return MessageRecord(session, "system", "\n".join(entry.lines), where=where)
    author, text = _author(entry.head.rest, known)
    if len(entry.lines) > 1:
        text = "\n".join((text, *entry.lines[1:]))
    marked = text.startswith(_OWN_MARK)
    plain = text.lstrip(MARKS) if marked else text
    if author is None:
        return MessageRecord(session, "system", plain, sent_at=sent, where=where)
    spoken = _clean_name(author)
    metadata: dict[str, Any] = {}
    if text.endswith(">") and (edited := words.EDITED.search(text)):
        metadata["edited"] = True
        text = text[: edited.start()]
        plain = text.lstrip(MARKS)
    stand = words.stands_for(plain) if len(plain) <= words.LONGEST_STAND else None
    if stand is not None:
        text = plain
        if stand == "deleted":
            metadata["deleted"] = True
    elif files := _files(text):
        metadata["attachments"] = [{"name": name} for name in files]
        text = plain
    elif len(plain) <= _LONGEST_NOTICE and (
        words.is_notice(plain)
        or ((marked or plain.startswith(spoken)) and words.is_event(plain, marked=marked))
    ):
        return MessageRecord(session, "system", plain, author=spoken, sent_at=sent, where=where)
    return MessageRecord(session, "user", text, None, spoken, sent, None, metadata, where)


def _files(text: str) -> list[str]:
    """The names of the files that came with a message."""
    if "<" in text and (found := [match["name"].strip() for match in words.ATTACHED.finditer(text)]):
        return found
    return [match["name"].strip() for match in words.FILE_ATTACHED.finditer(text)] if " (" in text else []


def _author(rest: str, known: Counter[str]) -> tuple[str | None, str]:
    """The name before the colon, and the text after it; None where the line has no name.

    A name may hold a colon itself: then every line of that person goes on in the same way."""
    candidates = _name_candidates(rest)
    if not candidates:
        return _bare(rest, known, len(rest))
    author = candidates[0]
    if ":" in author:
        bare, text = _bare(rest, known, len(author))
        if bare is not None:
            return bare, text
    if _is_sentence(author) and known[author] < _LINES_OF_A_NAME:
        return None, rest
    for longer in candidates[1:]:
        if known[longer] >= _LINES_OF_A_NAME and known[longer] == known[author]:
            author = longer
    text = rest[len(author) + 1 :]
    return author, text.removeprefix(" ")


@lru_cache(maxsize=256)
def _is_sentence(author: str) -> bool:
    """Whether what stands before a colon is the app's sentence about a group, not a name."""
    # A group's name between quotation marks, cut in the middle.
    if sum(map(author.count, '"“”„«»「」')) % 2:
        return True
    return words.EVENT_NOT_NAME.fullmatch(author) is not None


def _bare(rest: str, known: Counter[str], end: int) -> tuple[str | None, str]:
    """A known name before a colon without a space, which some apps write before an empty text."""
    at = rest.find(":", 0, end)
    if at > 0 and rest[:at] in known:
        return rest[:at], rest[at + 1 :]
    return None, rest


def _name_candidates(rest: str) -> list[str]:
    """What stands before the first few colons that a space or the line's end follows."""
    at = rest.find(":")
    if not 0 < at <= _LONGEST_NAME:
        return []
    # At the line's end there is nothing behind the colon, which is in every text.
    found = [rest[:at]] if rest[at + 1 : at + 2] in _BEHIND_A_NAME else []
    while (at := rest.find(":", at + 1, _LONGEST_NAME + 1)) > 0 and len(found) < 3:
        if rest[at + 1 : at + 2] in _BEHIND_A_NAME:
            found.append(rest[:at])
    return found


@lru_cache(maxsize=1024)
def _clean_name(author: str) -> str:
    """A name without the marks around it and without the tilde before one that is not in the contacts."""
    name = author.strip(MARKS + " \u202f\xa0")
    if name.startswith("~"):
        name = name[1:].strip(MARKS + " \u202f\xa0")
    return name or author


def _chat_name(path: str) -> str | None:
    """The chat's name, where the app wrote it into the name of the file, its folder or its zip."""
    for part in reversed(path.replace("\\", "/").split("/")[-3:]):
        stem = re.sub(r"\.(?:txt|zip)$", "", part, flags=re.IGNORECASE)
        found = words.CHAT_NAME.match(_COPY.sub("", stem).strip())
        if found:
            return found["name"].strip()
    return None


def _file_title(path: str) -> str | None:
    """A file's own name as a title, unless it is the one that every export has."""
    stem = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    return None if stem.lower().strip("_") in ("chat", "") else stem
