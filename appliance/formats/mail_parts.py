"""Parsing one mail: sender, time, references, text and attachments.

This module reads the headers, in the forms found in real mail; the standard library's ``email`` package reads
the structure of the body. If the package raises, the mail loses its structure, but not its text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from email import message_from_bytes, policy
from email.message import Message
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from appliance.formats import text as texts
from appliance.formats.markup import text_of
from appliance.formats.timestamps import from_epoch, read_time
from appliance.lazy_dataclasses import dataclass

Headers = Mapping[str, list[str]]

_MAX_HEADER_CHARACTERS = 1 << 16
_MAX_ADDRESS_CHARACTERS = 1000
_MAX_RECIPIENTS_CHARACTERS = 8000
_MAX_RECIPIENTS = 50
# Mails attached to mails are opened to this depth; deeper ones are only named.
_MAX_PART_DEPTH = 4

_FIELD = re.compile(rb"([\x21-\x39\x3b-\x7e]{1,100}):[ \t]*(.*)", re.DOTALL)
_BLANK = re.compile(rb"\n\r?\n|^\r?\n")
_WORD = re.compile(r"=\?(?P<charset>[^?\s*]{1,40})(?:\*[^?\s]{0,20})?\?(?P<how>[bBqQ])\?(?P<data>[^?]*)\?=")
_ID = re.compile(r"<([^<>\s]{1,990})>")
_NAMED = re.compile(r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^<"]*)) ?<(?P<address>[^<>]*)>?')
_COMMENTED = re.compile(r"(?P<address>[^\s()]+@[^\s()]+) \((?P<name>[^()]*)\)")
_ADDRESSES = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,;"])+')
_REPLY = re.compile(
    r"\s*(?:re|aw|antw|sv|vs|odp|rif|res|fwd?|wg|tr|rv|enc|vb|doorst)\s?(?:\[\d+\])?\s?:\s*", re.IGNORECASE
)
_ZONED = re.compile(r":\d{2} ?(?:.*[+-]\d{4}\b|\(?(?:UTC?|GMT|Z|[ECMPA][SD]T)\b)|\d{4} (?:UTC?|GMT|Z|[ECMPA][SD]T)\b")
# Some programs write ISO 8601 instead of the form of mails.
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d|$)")
_ZONE_AMID = re.compile(r"(?P<zone>[+-]\d{4}) (?P<year>\d{4})$")

# Charset names that programs use for Windows-1252, or for a superset of what they name.
_CHARSETS = {
    **dict.fromkeys(("us-ascii", "ascii", "iso-8859-1", "latin1", "latin-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "ks_c_5601-1987": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8": "utf-8",
}
# Python codecs that are not charsets; some are slow on text that was not encoded with them.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "unicode-escape"})


@dataclass(slots=True)
class Mail:
    """A parsed mail. ``oddities`` maps each problem's message to whether content was lost."""

    subject: str = ""
    author: str | None = None
    recipients: list[str] = field(default_factory=list)
    sent: datetime | None = None
    text: str = ""
    attachments: list[dict[str, str]] = field(default_factory=list)
    bulk: bool = False
    unfinished: bool = False
    oddities: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MailReferences:
    """A mail's own id, the ids of its ancestors (oldest first), and Gmail's thread number."""

    message_id: str | None
    ancestors: tuple[str, ...]
    thread: str | None


def headers_of(data: bytes) -> dict[str, list[str]]:
    """The header fields before the first blank line, by lower-case name: unfolded, but not decoded."""
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    end = _BLANK.search(data)
    for line in (data[: end.start()] if end else data).split(b"\n"):
        line = line.removesuffix(b"\r")
        if line[:1] in b" \t":
            if values and len(values[-1]) < _MAX_HEADER_CHARACTERS:
                values[-1] += " " + decoded(line.strip(), "utf-8")[0]
            continue
        if match := _FIELD.match(line):
            values = fields.setdefault(match[1].decode("ascii").lower(), [])
            values.append(decoded(match[2][:_MAX_HEADER_CHARACTERS], "utf-8")[0])
    return fields


def first(headers: Headers, name: str) -> str:
    """The first field of this name with white space collapsed; empty if there is none."""
    return " ".join(headers[name][0].split()) if name in headers else ""


def links_of(headers: Headers) -> MailReferences:
    """The ids by which a mail is placed in its thread."""
    stated = first(headers, "message-id")
    match = _ID.search(stated)
    identity = match[1] if match else stated.strip("<> ") or None
    ancestors = _ID.findall(first(headers, "references")) or _ID.findall(first(headers, "in-reply-to"))[:1]
    thread = first(headers, "x-gm-thrid")
    return MailReferences(identity, tuple(i for i in dict.fromkeys(ancestors) if i != identity), thread or None)


def decoded_words(value: str) -> str:
    """A header's text with its encoded words (RFC 2047) decoded; undecodable ones stay as they are."""
    out: list[str] = []
    pending: tuple[str, bytes] | None = None
    end = 0
    for word in _WORD.finditer(value):
        between = value[end : word.start()]
        data = _word_bytes(word["how"], word["data"])
        if data is None:
            continue
        charset = word["charset"].lower()
        if pending and not between.strip() and pending[0] == charset:
            # A character may be split between two words.
            pending = (charset, pending[1] + data)
        else:
            if pending:
                out.append(decoded(pending[1], pending[0])[0])
            if between.strip() or not pending:
                out.append(between)
            pending = (charset, data)
        end = word.end()
    if pending:
        out.append(decoded(pending[1], pending[0])[0])
    return "".join(out) + value[end:]


def _word_bytes(how: str, data: str) -> bytes | None:
    try:
        if how in "bB":
            return base64.b64decode(data + "=" * (-len(data) % 4))
        return binascii.a2b_qp(data.encode("latin-1"), header=True)
    except ValueError:
        return None


def person(value: str) -> str | None:
    """The name in an address, else the address itself."""
    value = " ".join(value[:_MAX_ADDRESS_CHARACTERS].split())
    if found := _NAMED.match(value):
        quoted = found["quoted"]
        name = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else found["plain"]
        # Some programs quote encoded words, or quote twice.
        name = decoded_words(name).strip().strip("\"'").strip()
        return name or found["address"].strip() or None
    if found := _COMMENTED.match(value):
        return decoded_words(found["name"]).strip() or found["address"]
    return decoded_words(value).strip().strip('<>"') or None


def address(value: str) -> str | None:
    """The mail address in a header's value."""
    value = " ".join(value[:_MAX_ADDRESS_CHARACTERS].split())
    found = _NAMED.match(value)
    if found and "@" in found["address"]:
        return found["address"].strip()
    if found := _COMMENTED.match(value):
        return found["address"]
    plain = value.strip("<> ")
    return plain if "@" in plain and " " not in plain else None


def without_reply_marks(subject: str) -> str:
    """A subject without leading "Re:", "Fwd:" and the like."""
    while found := _REPLY.match(subject):
        subject = subject[found.end() :]
    return subject


def read_date(value: str) -> datetime | None:
    """A mail's date: in UTC if it has a zone, naive if not, None if it can't be read."""
    if _ISO_DAY.match(value.strip()):
        return read_time(value.strip())
    value = _ZONE_AMID.sub(r"\g<year> \g<zone>", " ".join(value.split())[:200])
    try:
        parts = parsedate_tz(value)
        if parts is None:
            return None
        # This also checks the day: the package accepts days that the month doesn't have.
        local = datetime(*parts[:6])
        if not _ZONED.search(value):
            return local
        return from_epoch(mktime_tz(parts)) if abs(parts[9] or 0) < 86_400 else None
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def decoded(data: bytes, charset: str) -> tuple[str, str]:
    """Decode text under a charset that may be wrong: what doesn't fit is read as UTF-8, else as Windows-1252.

    Returns: The text, and the problem: "" for none, "charset" (another one was used), or "bytes" (some were
        replaced by U+FFFD).
    """
    charset = charset.strip().strip("\"'").lower()
    tried = _CHARSETS.get(charset, charset)
    if not data.isascii() and tried == "cp1252":
        # Mislabelled UTF-8 is far more likely than Windows-1252 text that is valid UTF-8.
        tried = "utf-8"
    odd = ""
    if tried not in _NO_CHARSETS:
        try:
            return texts.without_surrogates(data.decode(tried or "utf-8")), ""
        except UnicodeDecodeError:
            odd = "" if _CHARSETS.get(charset) == "cp1252" else "bytes"
        except (LookupError, ValueError):
            odd = "charset"
    if odd == "bytes" and tried == "utf-8":
        text = data.decode("utf-8", "replace")
        if text.count("\ufffd") <= sum(character > "\x7f" for character in text) / 2:
            return text, "bytes"
        return texts.decoded(data, "cp1252")[0], "charset"
    if odd == "bytes":
        return texts.without_surrogates(data.decode(tried, "replace")), "bytes"
    try:
        return data.decode("utf-8"), odd
    except UnicodeDecodeError:
        return texts.decoded(data, "cp1252")[0], odd


def parse_mail(data: bytes, headers: Headers) -> Mail:
    """Parse a mail from its bytes and the result of ``headers_of``."""
    mail = Mail(decoded_words(" ".join(first(headers, "subject").split())))
    mail.author = person(first(headers, "from") or first(headers, "sender"))
    to = headers.get("to", []) + headers.get("cc", [])
    addresses = (address for value in to for address in _ADDRESSES.findall(value[:_MAX_RECIPIENTS_CHARACTERS]))
    people = list(dict.fromkeys(name for address in addresses if "@" in address and (name := person(address))))
    mail.recipients = people[:_MAX_RECIPIENTS]
    if len(people) > _MAX_RECIPIENTS or any(len(value) > _MAX_RECIPIENTS_CHARACTERS for value in to):
        mail.oddities[f"it has more recipients; only {len(mail.recipients)} were kept"] = False
    mail.bulk = "list-unsubscribe" in headers or "list-id" in headers
    mail.sent = _sent_time(headers, mail)
    try:
        message = message_from_bytes(data, policy=policy.compat32)
        mail.unfinished = any(type(d).__name__ == "CloseBoundaryNotFoundDefect" for d in message.defects)
        mail.text, mail.attachments = _content(message, mail.oddities)
    except Exception:
        # The package fails on this structure, or it is nested too deep; the raw body still holds the text.
        end = _BLANK.search(data)
        body = data[end.end() :] if end else b""
        mail.text = _plain(decoded(body, "utf-8")[0])
        mail.oddities["can't parse the structure of the mail; its body was kept as it is"] = True
    return mail


def _sent_time(headers: Headers, mail: Mail) -> datetime | None:
    """When the mail was sent, else when the first server received it."""
    stamp = first(headers, "date")
    if sent := read_date(stamp):
        return sent
    if stamp:
        mail.oddities[f"the time {stamp[:60]!r} can't be read"] = False
    for received in reversed(headers.get("received", [])):
        if sent := read_date(received.rpartition(";")[2]):
            return sent
    return None


def _content(message: Message, oddities: dict[str, bool], depth: int = 0) -> tuple[str, list[dict[str, str]]]:
    """The text of a mail, and its attachments by name, with the text of those that are text."""
    bodies: list[str] = []
    files: list[dict[str, str]] = []
    for part, is_used in _leaves(message):
        kind = part.get_content_type()
        name = _file_name(part)
        inner = _subparts(part)[:1] if kind == "message/rfc822" else []
        if inner:
            title = _clean_file_name(str(inner[0].get("Subject") or "")) or "mail"
            text = _content(inner[0], oddities, depth + 1)[0] if depth < _MAX_PART_DEPTH else ""
            files.append({"name": name or title} | ({"text": text} if text.strip() else {}))
        elif part.get_content_maintype() == "multipart" or (
            kind.startswith("text/") and not name and part.get_content_disposition() != "attachment"
        ):
            text = _text(part, oddities) if is_used else ""
            if text.strip():
                bodies.append(text)
        else:
            text = _text(part, oddities) if kind.startswith("text/") else ""
            files.append({"name": name or _clean_file_name(kind)} | ({"text": text} if text.strip() else {}))
    return "\n\n".join(bodies), files


def _leaves(message: Message) -> Iterator[tuple[Message, bool]]:
    """The leaf parts in order, each with whether its text is used: of alternatives, only one is."""
    stack = [(message, True)]
    while stack:
        part, is_used = stack.pop()
        if not part.is_multipart() or part.get_content_maintype() == "message":
            yield part, is_used
            continue
        inner = _subparts(part)
        best = _best_alternative(inner) if part.get_content_subtype() == "alternative" else None
        stack.extend((child, is_used and best in (None, n)) for n, child in reversed(list(enumerate(inner))))


def _best_alternative(alternatives: list[Message]) -> int | None:
    """The number of the alternative to use: plain text that isn't blank, else HTML."""
    for kind in ("text/plain", "text/html"):
        for number, alternative in enumerate(alternatives):
            stack = [alternative]
            while stack:
                part = stack.pop()
                stack.extend(_subparts(part) if part.get_content_maintype() == "multipart" else ())
                if part.get_content_type() == kind and not _file_name(part) and _text(part, {}).strip():
                    return number
    return None


def _subparts(part: Message) -> list[Message]:
    payload: Any = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _text(part: Message, oddities: dict[str, bool]) -> str:
    payload: Any = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = _charset(part)
    text, problem = decoded(payload, charset)
    if problem == "bytes":
        oddities[f"bytes that are not {charset or 'utf-8'} were replaced by U+FFFD"] = True
    elif problem == "charset":
        oddities[f"the text is not in its stated charset {charset[:40]!r}; another one was used"] = False
    return text_of(text) if part.get_content_type() == "text/html" else _plain(text)


def _charset(part: Message) -> str:
    try:
        return part.get_content_charset() or "us-ascii"
    except (ValueError, LookupError, TypeError):
        return "us-ascii"


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError):
        name = None
    return _clean_file_name(str(name)) if name else ""


def _clean_file_name(value: str) -> str:
    return texts.without_surrogates(" ".join(decoded_words(value).split()))


def _plain(text: str) -> str:
    """Text with local line ends, without the trailing ones, which belong to the transport."""
    return text.replace("\r\n", "\n").rstrip("\n")
