"""Mail: mailboxes (mbox, as in Gmail's Takeout) and single mails (.eml, .emlx).

The parser reads a mailbox twice: first the headers, to find the threads, then mail by mail. It holds one
mail at a time and a table of the mails' ids.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise

from appliance.formats import json_stream, mail_parts
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import with_attachments
from appliance.formats.mail_parts import Headers, MailReferences, first, headers_of, links_of
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted, metadata_of, repeated_id
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

# Providers accept no larger mails. Parsing a mail takes about five times its size in memory.
_MAX_MAIL_BYTES = 48 << 20

# The separator line before each mail of a mailbox: a sender and a time, in some order.
_FROM = re.compile(
    rb"From .{0,400}?\b\d{1,2}:\d{2}(?::\d{2})?\b.{0,40}\b\d{4}\b|From .{0,400}?\b\d{4}-\d{2}-\d{2}.\d{2}:\d{2}"
)
# Some programs write no time ("From 1844347792267117879@xxx", "From - "), in all of a mailbox or in none.
_UNTIMED_FROM = re.compile(rb"From \S{0,320}\s*")
_FROM_TIME = re.compile(r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d{2}(?::\d{2})?.*$")
_FIELD = re.compile(rb"[\x21-\x39\x3b-\x7e]{1,100}:|>?From ")
_BLANK_LINES = (b"\n", b"\r\n")
_QUOTED = re.compile(rb">+From ")
_SPECIAL = b"F>"
_COUNT = re.compile(rb"\d+\s*")

_MAIL_HEADERS = frozenset(
    "from to cc subject date message-id received return-path mime-version content-type delivered-to reply-to"
    " in-reply-to references sender x-mailer user-agent x-gm-thrid dkim-signature".split()
)
_KNOWN_FIELD = re.compile(
    rb"(?:%s|x-[\w-]+|content-[\w-]+):" % b"|".join(name.encode() for name in sorted(_MAIL_HEADERS)), re.IGNORECASE
)
_ENVELOPE_HEADERS = frozenset({"from", "received", "return-path", "message-id"})
_DATE_HEADERS = frozenset({"date", "message-id", "received", "mime-version"})
# Enough for a file whose name says that it is a mail.
_CORE_HEADERS = frozenset({"from", "to", "subject", "date"})
_MAIL_NAME = re.compile(r"\.(?:eml|emlx)$", re.IGNORECASE)


def matches(head: DocumentHead) -> float:
    """The confidence that this is mail: the first line of a mailbox, or the headers of a mail."""
    lines = head.text.lstrip("\ufeff\r\n").split("\n")
    if lines[0].startswith("From "):
        if len(lines) < 2 or not _FIELD.match(lines[1].encode("utf-8", "replace")):
            return 0.0
        return 0.97 if _FROM.match(lines[0].encode("utf-8", "replace")) else 0.8
    if lines[0].strip().isdigit():
        lines = lines[1:]
    names: set[str] = set()
    for line in lines:
        line = line.rstrip("\r")
        if not line:
            break
        if line[0] in " \t" and names:
            continue
        if _FIELD.match(line.encode("utf-8", "replace")) is None:
            return 0.0
        names.add(line.partition(":")[0].lower())
    known = len(names & _MAIL_HEADERS)
    if known < 3 or not names & _ENVELOPE_HEADERS or not names & _DATE_HEADERS:
        return 0.8 if _MAIL_NAME.search(head.name) and names & _CORE_HEADERS else 0.0
    return 0.95 if known >= 4 else 0.8


# What programs call the folder of sent mail, and the label that Gmail gives it.
_SENT_WORDS = (
    r"(?:sent|gesendet|enviados?|envoyés?|posta inviata|verzonden)(?:[ _-]?(?:mail|items|messages|objekte|elemente))?"
)
_SENT = re.compile(_SENT_WORDS, re.IGNORECASE)
_SENT_FOLDER = re.compile(rf"(?:^|/){_SENT_WORDS}(?:\.mbox)?(?:/mbox)?$", re.IGNORECASE)


@dataclass(slots=True)
class _RawMail:
    """A mail's bytes. ``envelope`` is the separator line before it in a mailbox."""

    line: int
    envelope: bytes
    data: bytearray = field(default_factory=bytearray)
    too_large: bool = False
    last: bool = False


def parse(document: Document) -> Iterator[Record]:
    """The mails in file order; a session is a thread."""
    threads = _MailThreads()
    emitted = _EmittedMail()
    recipients: Counter[str] = Counter()
    for raw in _mails(document, only_headers=True):
        if isinstance(raw, _RawMail):
            headers = headers_of(bytes(raw.data))
            threads.learn(links_of(headers))
            emitted.own |= _own_addresses(headers, document.name)
            if delivered := mail_parts.address(first(headers, "delivered-to")):
                recipients[delivered.casefold()] += 1
    threads.resolve_roots()
    emitted.own |= {one for one, count in recipients.most_common(1) if 2 * count > recipients.total()}
    for raw in _mails(document):
        if isinstance(raw, InputProblem):
            yield raw
        else:
            yield from _mail(raw, threads, emitted)
    if emitted.copies:
        yield InputProblem("", f"skipped {counted(emitted.copies, 'copy of a mail', 'copies of mails')}", harmless=True)


@dataclass(slots=True)
class _EmittedMail:
    """The sessions and mails that were yielded: digests of the texts by digests of the ids."""

    sessions: set[str] = field(default_factory=set)
    mails: dict[bytes, bytes] = field(default_factory=dict)
    copies: int = 0
    own: set[str] = field(default_factory=set)
    """The addresses of the mailbox."""
    participants: Participants = field(default_factory=Participants)


def _own_addresses(headers: Headers, name: str) -> set[str]:
    """The address of the mailbox, as far as a mail says it: the sender of what is in a folder of sent mail."""
    labels = mail_parts.decoded_words(first(headers, "x-gmail-labels"))
    is_sent = any(_SENT.fullmatch(label.strip()) for label in labels.split(",")) or bool(_SENT_FOLDER.search(name))
    sender = mail_parts.address(first(headers, "from")) if is_sent else None
    return {sender.casefold()} if sender else set()


def _mail(raw: _RawMail, threads: _MailThreads, emitted: _EmittedMail) -> Iterator[Record]:
    data = bytes(raw.data)
    headers = headers_of(data)
    links = links_of(headers)
    mail = mail_parts.parse_mail(data, headers)
    where = f"line {raw.line}" + (f" ({mail.subject[:60]})" if mail.subject else "")
    if raw.too_large:
        yield InputProblem(where, f"the mail is larger than {_MAX_MAIL_BYTES >> 20} MB; its end was not imported")
    elif raw.last and mail.unfinished:
        yield InputProblem(where, "the mail is cut off; the part that exists was imported")
    envelope = texts.decoded(raw.envelope, "utf-8")[0]
    sent = mail.sent
    if sent is None and (stamp := _FROM_TIME.search(envelope.strip())):
        sent = mail_parts.read_date(stamp[0])
    for oddity, is_loss in mail.oddities.items():
        yield InputProblem(where, oddity, harmless=not is_loss)
    text = with_attachments(mail.text if mail.text.strip() else "", mail.attachments)
    text = text if text.strip() else mail.subject
    if not text.strip():
        yield InputProblem(where, "the mail is empty; skipped", harmless=True)
        return
    session = threads.session(links) or _made_session(headers, envelope)
    identity = links.message_id
    if identity is not None:
        key = _digest(f"{session}\x1f{identity}")
        text_digest = _digest(text)
        known = emitted.mails.setdefault(key, text_digest)
        if known is not text_digest and known == text_digest:
            emitted.copies += 1
            return
        if known is not text_digest:
            yield repeated_id(identity, where)
            identity = None
    if session not in emitted.sessions:
        emitted.sessions.add(session)
        yield SessionRecord(session, mail_parts.without_reply_marks(mail.subject) or None, sent)
    metadata = metadata_of(subject=mail.subject, to=mail.recipients, attachments=mail.attachments, bulk=mail.bulk)
    reply_to = links.ancestors[-1] if links.ancestors else None
    sender = mail_parts.address(first(headers, "from") or first(headers, "sender"))
    if sender is not None:
        is_own = sender.casefold() in emitted.own
        yield from emitted.participants.note(session, mail.author, ("address", sender.casefold()), me=is_own)
    yield MessageRecord(session, "user", text, identity, mail.author, sent, reply_to, metadata, where)


class _MailThreads:
    """Which mail answers which. The table holds digests of ids, to stay small for a large mailbox."""

    def __init__(self) -> None:
        self._parents: dict[bytes, bytes] = {}

    def learn(self, links: MailReferences) -> None:
        if links.thread is not None:
            return
        chain = [*links.ancestors, links.message_id] if links.message_id else list(links.ancestors)
        for parent, child in pairwise(chain):
            self._parents.setdefault(_digest(child), _digest(parent))

    def resolve_roots(self) -> None:
        """Replace every mail's parent by the root of its thread; the root of a cycle is its smallest digest."""
        for node in list(self._parents):
            path: dict[bytes, None] = {}
            root = node
            while root not in path:
                path[root] = None
                parent = self._parents.get(root)
                if parent is None or parent == root:
                    break
                root = parent
            else:
                nodes = list(path)
                root = min(nodes[nodes.index(root) :])
            self._parents |= dict.fromkeys(path, root)

    def session(self, links: MailReferences) -> str | None:
        """The key of a mail's thread: Gmail's number, else the digest of its oldest known mail; None without any id."""
        if links.thread is not None:
            return f"gmail:{links.thread}"
        oldest = links.ancestors[0] if links.ancestors else links.message_id
        if oldest is None:
            return None
        own = _digest(links.message_id or oldest)
        root = self._parents.get(own) or self._parents.get(_digest(oldest)) or _digest(oldest)
        return f"mail:{root.hex()}"


def _made_session(headers: Headers, envelope: str) -> str:
    """The key of a mail without any id: its date, sender and subject."""
    header_values = [first(headers, name) for name in ("date", "from", "subject")]
    return "mail:" + _digest("\x1f".join(header_values if header_values[0] else [*header_values, envelope])).hex()


def _digest(value: str) -> bytes:
    return hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=12).digest()


def _mails(document: Document, *, only_headers: bool = False) -> Iterator[_RawMail | InputProblem]:
    """The mails of a mailbox, or the one mail of a file; with ``only_headers``, each up to its first blank line."""
    raw: _RawMail | None = None
    # A separator line, until the next line shows whether a mail follows.
    separator: tuple[int, bytes] | None = None
    is_mailbox = False
    is_untimed = False
    after_blank = False
    in_headers = True
    count: int | None = None
    for line in json_stream.lines(document, blank=True):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, data = line
        if raw is not None and not in_headers and separator is None and data[0] not in _SPECIAL and count is None:
            # The fast path: nearly every line of a mailbox ends here.
            after_blank = is_untimed and _ends_part(data)
            if not only_headers:
                _add(raw, data)
            continue
        if raw is None and separator is None:
            if not data.strip(b"\r\n\xef\xbb\xbf\x00 "):
                continue
            if data.startswith(b"From "):
                is_mailbox, separator = True, (number, data)
                is_untimed = _UNTIMED_FROM.fullmatch(data) is not None
            elif _COUNT.fullmatch(data):
                # Apple's files begin with the length of the mail and end with a property list.
                count, raw = int(data), _RawMail(number + 1, b"")
            else:
                raw = _RawMail(number, b"")
                _add(raw, data)
            continue
        if separator is not None:
            begins, envelope = separator
            separator = None
            if raw is None or (_KNOWN_FIELD if is_untimed else _FIELD).match(data):
                if raw is not None:
                    yield raw
                raw, in_headers = _RawMail(begins, envelope), True
            elif in_headers or not only_headers:
                _add(raw, envelope)
        if (
            is_mailbox
            and data.startswith(b"From ")
            and (_FROM.match(data) or (is_untimed and (after_blank or in_headers) and _UNTIMED_FROM.fullmatch(data)))
        ):
            separator = (number, data)
            continue
        after_blank = is_untimed and _ends_part(data)
        if raw is None or (only_headers and not in_headers):
            continue
        if in_headers and not data.strip(b"\r\n"):
            in_headers = False
        if is_mailbox and data.startswith(b">") and _QUOTED.match(data):
            data = data[1:]
        if count is not None:
            data = data[: max(0, count - len(raw.data))]
        _add(raw, data)
    if raw is not None:
        raw.last = separator is None
        yield raw
    if separator is not None and not only_headers:
        yield InputProblem(f"line {separator[0]}", "the file ends at the start of a mail")


def _ends_part(line: bytes) -> bool:
    """Whether a mail may end with this line: a blank one, or the last boundary of its parts."""
    return line in _BLANK_LINES or (line.startswith(b"--") and line.rstrip().endswith(b"--"))


def _add(raw: _RawMail, data: bytes) -> None:
    if raw.too_large or len(raw.data) + len(data) > _MAX_MAIL_BYTES:
        raw.too_large = True
    else:
        raw.data += data
