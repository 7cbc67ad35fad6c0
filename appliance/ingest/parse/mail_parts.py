"""One mail taken apart: who, when, what it answers, its words and its files.

Headers are read here, in the forms that they have in the wild; the package of the standard library reads
the structure of the body. Whatever it raises costs the structure, not the mail.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_bytes, policy
from email.message import Message
from email.utils import mktime_tz, parsedate_tz
from itertools import islice
from typing import Any

from appliance.ingest.parse import text as texts
from appliance.ingest.parse.markup import text_of
from appliance.ingest.parse.when import from_epoch

Headers = Mapping[str, list[str]]

_LONGEST_HEADER = 1 << 16
_LONGEST_PERSON = 1000
_LONGEST_RECIPIENTS = 8000
_RECIPIENTS = 50
# Mails within mails are opened this far; what lies deeper is only named.
_DEEPEST = 4

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
_ZONED = re.compile(
    r":\d{2} ?(?:.*[+-]\d{4}\b|\(?(?:UTC?|GMT|Z|[ECMPA][SD]T)\b)|\d{4} (?:UTC?|GMT|Z|[ECMPA][SD]T)\b"
)
_ZONE_AMID = re.compile(r"(?P<zone>[+-]\d{4}) (?P<year>\d{4})$")

# Names that people's programs give to the encoding of Windows, and to supersets of what they name.
_CHARSETS = {
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8": "utf-8",
}
# Codecs of the language that are no charsets: some of them are slow on what nobody encoded with them.
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "unicode-escape"}
)


@dataclass(slots=True)
class Mail:
    """A mail as it will be a message. ``oddities`` say what was lost (True) or left open (False)."""

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
class Links:
    """What a mail says of its place: its own id, those of the mails before it (oldest first), Gmail's
    number of the thread."""

    own: str | None
    before: tuple[str, ...]
    thread: str | None


# --- headers ------------------------------------------------------------------------------------------


def headers_of(data: bytes) -> dict[str, list[str]]:
    """The header fields before the first blank line, by their lower-case names, unfolded, not decoded."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    end = _BLANK.search(data)
    for line in (data[: end.start()] if end else data).split(b"\n"):
        line = line.removesuffix(b"\r")
        if line[:1] in b" \t":
            if values and len(values[-1]) < _LONGEST_HEADER:
                values[-1] += " " + decoded(line.strip(), "utf-8")[0]
            continue
        field_ = _FIELD.match(line)
        if field_ is None:
            continue
        values = found.setdefault(field_[1].decode("ascii").lower(), [])
        values.append(decoded(field_[2][:_LONGEST_HEADER], "utf-8")[0])
    return found


def first(headers: Headers, name: str) -> str:
    """The first field of a name, with white space as single blanks; empty where there is none."""
    return " ".join(headers[name][0].split()) if name in headers else ""


def links_of(headers: Headers) -> Links:
    """The mail's place in its thread."""
    given = first(headers, "message-id")
    own = _ID.search(given)
    before = _ID.findall(first(headers, "references")) or _ID.findall(first(headers, "in-reply-to"))[:1]
    name = own[1] if own else given.strip("<> ") or None
    thread = first(headers, "x-gm-thrid")
    return Links(name, tuple(other for other in dict.fromkeys(before) if other != name), thread or None)


def decoded_words(value: str) -> str:
    """A header's text with its encoded words in plain; what can't be decoded stays."""
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
            # A character may be cut in two between words.
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
    """What an address calls its owner: the name, else the address."""
    value = " ".join(value[:_LONGEST_PERSON].split())
    if found := _NAMED.match(value):
        quoted = found["quoted"]
        name = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else found["plain"]
        # Some programs quote what they have encoded, and what was quoted already.
        name = decoded_words(name).strip().strip("\"'").strip()
        return name or found["address"].strip() or None
    if found := _COMMENTED.match(value):
        return decoded_words(found["name"]).strip() or found["address"]
    return decoded_words(value).strip().strip('<>"') or None


def without_reply_marks(subject: str) -> str:
    """A subject without "Re:" and its like in front."""
    while found := _REPLY.match(subject):
        subject = subject[found.end() :]
    return subject


def read_date(value: str) -> datetime | None:
    """A date of a mail: UTC where it has a zone, naive where it has none, None where it can't be read."""
    value = _ZONE_AMID.sub(r"\g<year> \g<zone>", " ".join(value.split())[:200])
    try:
        parts = parsedate_tz(value)
        if parts is None:
            return None
        # Also a check: the package itself counts on from a day that no month has.
        local = datetime(*parts[:6])
        if not _ZONED.search(value):
            return local
        return from_epoch(mktime_tz(parts)) if abs(parts[9] or 0) < 86_400 else None
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


# --- the body -----------------------------------------------------------------------------------------


def decoded(data: bytes, charset: str) -> tuple[str, str]:
    """The text of ``data``, and what was odd about it: empty, "charset" or "bytes" (some were replaced).

    What a mail says of its charset is often wrong: what doesn't fit is read as UTF-8, else as Windows-1252.
    """
    charset = charset.strip().strip("\"'").lower()
    tried = _CHARSETS.get(charset, charset)
    if not data.isascii() and tried == "cp1252":
        # UTF-8 under a false name is far more likely than text of Windows that looks like it.
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


def taken_apart(data: bytes, headers: Headers) -> Mail:
    """A mail out of its bytes. ``headers`` are those of ``headers_of``."""
    mail = Mail(decoded_words(" ".join(first(headers, "subject").split())))
    mail.author = person(first(headers, "from") or first(headers, "sender"))
    to = headers.get("to", []) + headers.get("cc", [])
    found = list(islice(_people(to), _RECIPIENTS + 1))
    mail.recipients = found[:_RECIPIENTS]
    if len(found) > _RECIPIENTS or any(len(value) > _LONGEST_RECIPIENTS for value in to):
        mail.oddities[f"it has more recipients than are named here ({len(mail.recipients)})"] = False
    mail.bulk = "list-unsubscribe" in headers or "list-id" in headers
    mail.sent = _sent(headers, mail)
    try:
        message = message_from_bytes(data, policy=policy.compat32)
        mail.unfinished = any(type(d).__name__ == "CloseBoundaryNotFoundDefect" for d in message.defects)
        mail.text, mail.attachments = _content(message, mail.oddities)
    except Exception:
        # Structure that the package fails on, or that is nested too deep for it: the words are in there.
        end = _BLANK.search(data)
        body = data[end.end() :] if end else b""
        mail.text = _plain(decoded(body, "utf-8")[0])
        mail.oddities["the structure of the mail can't be read; its body was kept as it is"] = True
    return mail


def _people(values: Iterable[str]) -> Iterator[str]:
    found = (
        person(one)
        for value in values
        for one in _ADDRESSES.findall(value[:_LONGEST_RECIPIENTS])
        if "@" in one
    )
    return iter(dict.fromkeys(name for name in found if name))


def _sent(headers: Headers, mail: Mail) -> datetime | None:
    """When it was sent; else when the first program on its way received it."""
    given = first(headers, "date")
    if sent := read_date(given):
        return sent
    if given:
        mail.oddities[f"the time {given[:60]!r} can't be read"] = False
    for received in reversed(headers.get("received", [])):
        if sent := read_date(received.rpartition(";")[2]):
            return sent
    return None


def _content(message: Message, oddities: dict[str, bool], depth: int = 0) -> tuple[str, list[dict[str, str]]]:
    """The words of a mail, and its files: by name, and with their text where they are text."""
    words: list[str] = []
    files: list[dict[str, str]] = []
    for part, wanted in _leaves(message):
        kind = part.get_content_type()
        name = _file_name(part)
        inner = _inner(part)[:1] if kind == "message/rfc822" else []
        if inner:
            title = _clean(str(inner[0].get("Subject") or "")) or "mail"
            text = _content(inner[0], oddities, depth + 1)[0] if depth < _DEEPEST else ""
            files.append({"name": name or title} | ({"text": text} if text.strip() else {}))
        elif part.get_content_maintype() == "multipart" or (
            kind.startswith("text/") and not name and part.get_content_disposition() != "attachment"
        ):
            text = _text(part, oddities) if wanted else ""
            if text.strip():
                words.append(text)
        else:
            text = _text(part, oddities) if kind.startswith("text/") else ""
            files.append({"name": name or _clean(kind)} | ({"text": text} if text.strip() else {}))
    return "\n\n".join(words), files


def _leaves(message: Message) -> Iterator[tuple[Message, bool]]:
    """The parts that have no parts, and whether their words are wanted: of alternatives, one is."""
    waiting = [(message, True)]
    while waiting:
        part, wanted = waiting.pop()
        if not part.is_multipart() or part.get_content_maintype() == "message":
            yield part, wanted
            continue
        inner = _inner(part)
        best = _best(inner) if part.get_content_subtype() == "alternative" else None
        waiting.extend((child, wanted and best in (None, n)) for n, child in reversed(list(enumerate(inner))))


def _best(alternatives: list[Message]) -> int | None:
    """Which alternative has the words: plain text that isn't blank, else a page."""
    for kind in ("text/plain", "text/html"):
        for number, alternative in enumerate(alternatives):
            waiting = [alternative]
            while waiting:
                part = waiting.pop()
                waiting.extend(_inner(part) if part.get_content_maintype() == "multipart" else ())
                if part.get_content_type() == kind and not _file_name(part) and _text(part, {}).strip():
                    return number
    return None


def _inner(part: Message) -> list[Message]:
    """The parts of a part; none where it has no structure."""
    inner: Any = part.get_payload()
    return [child for child in inner if isinstance(child, Message)] if isinstance(inner, list) else []


def _text(part: Message, oddities: dict[str, bool]) -> str:
    payload: Any = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = _charset(part)
    text, odd = decoded(payload, charset)
    if odd == "bytes":
        oddities[f"bytes that are not {charset or 'utf-8'} were replaced by U+FFFD"] = True
    elif odd == "charset":
        oddities[f"the text is not in the charset {charset[:40]!r} that it names; another one was taken"] = (
            False
        )
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
    return _clean(str(name)) if name else ""


def _clean(value: str) -> str:
    return texts.without_surrogates(" ".join(decoded_words(value).split()))


def _plain(text: str) -> str:
    """Lines as they are here; what mails have behind their last word belongs to the transport."""
    return text.replace("\r\n", "\n").rstrip("\n")
