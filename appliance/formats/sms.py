"""SMS Backup & Restore: the XML backup of an Android phone's text messages, ``<smses>`` with ``<sms>`` and ``<mms>``.

Conversations are told apart by the numbers of the others. The file is read element by element, by a tolerant parser:
the program writes emoji as two half characters (``&#55357;&#56842;``), which no XML parser accepts. Pictures within
the file are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime

from appliance.formats import html_pages
from appliance.formats.base import Document, DocumentHead
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import made_id, sent_at, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted, metadata_of
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

OWN_NAME = "Me"
"""The author of the person's own messages, where the program does not know the name."""

_ROOT = re.compile(r"<(?:smses|mmses)\b")
_MESSAGE = re.compile(r"<(?:sms|mms)\s[^<>]{0,4000}\b(?:date|body)=")
_HALVES = re.compile(r"&#(5[56]\d{3});&#(5[67]\d{3});")
# A picture, as text: as long as the picture.
_DATA = re.compile(r'(\sdata=")[^"]{200,}(")')
_NO_VALUE = frozenset({"", "null", "(unknown)"})
_DRAFT = "3"
_INBOX = "1"
_FROM, _TO, _COPY = "137", "151", "130"
_SEPARATOR = "~"
_DIGITS = re.compile(r"\D+")
# Numbers with and without the country are the same in their last digits.
_COMPARED_DIGITS = 9


def matches(head: DocumentHead) -> float:
    """The confidence that this is a backup of text messages."""
    start = head.text.lstrip("\ufeff \t\r\n")
    if not start.startswith("<"):
        return 0.0
    if _ROOT.search(start[:4000]):
        return 0.97
    return 0.85 if _MESSAGE.search(start) else 0.0


@dataclass(slots=True)
class _SmsBackup:
    """The sessions begun, who took part, and what was skipped."""

    me: str
    begun: set[str] = field(default_factory=set)
    participants: Participants = field(default_factory=Participants)
    skipped: Counter[str] = field(default_factory=Counter)


def parse(document: Document) -> Iterator[Record]:
    """The messages in the order of the file."""
    backup = _SmsBackup(document.context.me or OWN_NAME)
    for element in html_pages.elements(document, lambda e: e.tag in ("sms", "mms"), _prepare):
        if isinstance(element, InputProblem):
            yield element
            continue
        where = f"line {element.line}"
        if not element.is_complete:
            yield InputProblem(where, "the message is cut off; the part that exists was imported")
        yield from (_sms if element.tag == "sms" else _mms)(element, backup, where)
    for kind, count in sorted(backup.skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'message')} without text ({kind})", harmless=True)


def _prepare(text: str) -> str:
    """The source with whole characters in place of halves, and without pictures."""
    if " data=" in text:
        text = _DATA.sub(r"\1\2", text)
    return _HALVES.sub(_joined, text) if "&#5" in text else text


def _joined(found: re.Match[str]) -> str:
    high, low = int(found[1]), int(found[2])
    if not (0xD800 <= high < 0xDC00 <= low < 0xE000):
        return found[0]
    return f"&#{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00};"


def _value(element: HtmlElement, name: str) -> str:
    value = element.attributes.get(name, "")
    return "" if value.strip().lower() in _NO_VALUE else value


def _sms(element: HtmlElement, backup: _SmsBackup, where: str) -> Iterator[Record]:
    number, is_own = _value(element, "address"), element.attributes.get("type", _INBOX) != _INBOX
    name = _value(element, "contact_name") or number
    author = backup.me if is_own else name or None
    yield from _message(element, backup, where, [number], name, author, "" if is_own else number,
                        _value(element, "body"), [])  # fmt: skip


def _mms(element: HtmlElement, backup: _SmsBackup, where: str) -> Iterator[Record]:
    addresses = [(one.attributes.get("address", ""), one.attributes.get("type", ""))
                 for one in element.find_all(lambda e: e.tag == "addr")]  # fmt: skip
    is_own = element.attributes.get("msg_box", _INBOX) != _INBOX
    numbers = [one for one in _value(element, "address").split(_SEPARATOR) if one]
    sender = next((number for number, kind in addresses if kind == _FROM), "")
    if not numbers:
        numbers = [number for number, kind in addresses if kind in ((_TO, _COPY) if is_own else (_FROM,))]
    names = [one.strip() for one in re.split(r"[,;]\s+|~", _value(element, "contact_name")) if one.strip()]
    known = dict(zip(map(_key, numbers), names, strict=False)) if len(names) == len(numbers) else {}
    sender = sender if _key(sender) and sender != "insert-address-token" else numbers[0] if len(numbers) == 1 else ""
    author = backup.me if is_own else known.get(_key(sender)) or sender or (names[0] if names else None)
    texts: list[str] = []
    files: list[dict[str, str]] = []
    for part in element.find_all(lambda e: e.tag == "part"):
        kind = part.attributes.get("ct", "")
        if kind == "text/plain" and (text := _value(part, "text")):
            texts.append(text)
        elif kind not in ("application/smil", "text/plain", ""):
            name = _value(part, "cl") or _value(part, "name") or _value(part, "fn") or kind
            files.append({"name": name})
    subject = _value(element, "sub")
    body = "\n".join([*([subject] if subject else []), *texts])
    title = ", ".join(names) or ", ".join(numbers)
    yield from _message(element, backup, where, numbers, title, author, "" if is_own else sender, body, files)


def _message(
    element: HtmlElement,
    backup: _SmsBackup,
    where: str,
    numbers: list[str],
    title: str,
    author: str | None,
    number: str,
    text: str,
    files: list[dict[str, str]],
) -> Iterator[Record]:
    is_draft = element.attributes.get("type", element.attributes.get("msg_box")) == _DRAFT
    words = with_attachments(text, files)
    if not words.strip():
        backup.skipped["a draft" if is_draft else element.tag.upper()] += 1
        return
    sent, note = _sent(element, where)
    if note:
        yield note
    session = made_id("sms", *sorted(map(_key, numbers)))
    if session not in backup.begun:
        backup.begun.add(session)
        yield SessionRecord(session, title or None, sent)
    if author == backup.me:
        yield from backup.participants.note(session, author, ("name", author), me=True)
    elif author:
        name = author if author != number else None
        yield from backup.participants.note(session, author, ("number", number), ("name", name))
    metadata = metadata_of(attachments=files, draft=is_draft)
    yield MessageRecord(session, "user", words, None, author, sent, None, metadata, where)


def _sent(element: HtmlElement, where: str) -> tuple[datetime | None, InputProblem | None]:
    """When it was sent or received: milliseconds since 1970. MMS of some phones have seconds."""
    return sent_at(_value(element, "date") or _value(element, "readable_date"), where)


def _key(number: str) -> str:
    """What two spellings of a number have in common; names of senders ("BANK") as they are."""
    digits = _DIGITS.sub("", number)
    return digits[-_COMPARED_DIGITS:] if len(digits) > 4 else number.strip().casefold()
