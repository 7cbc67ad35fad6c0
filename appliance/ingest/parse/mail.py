"""Mail: mailboxes (mbox, as Gmail's Takeout has them) and single mails (.eml, .emlx).

A mailbox is read twice: first the headers, for the threads, then mail by mail. Only one mail is held at
a time, beside a table of the mails' ids.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from appliance.ingest.parse import jsonstream
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import with_attachments
from appliance.ingest.parse.mail_parts import (
    Headers,
    Links,
    first,
    headers_of,
    links_of,
    read_date,
    taken_apart,
    without_reply_marks,
)
from appliance.types import MessageRecord, Problem, Record, SessionRecord

# Providers take no larger mails; taking one apart needs some five times its size.
_LARGEST = 48 << 20

# The line before each mail of a mailbox has a sender and a time in some order.
_FROM = re.compile(
    rb"From .{0,400}?\b\d{1,2}:\d{2}(?::\d{2})?\b.{0,40}\b\d{4}\b|From .{0,400}?\b\d{4}-\d{2}-\d{2}.\d{2}:\d{2}"
)
_FROM_TIME = re.compile(r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d{2}(?::\d{2})?.*$")
_FIELD = re.compile(rb"[\x21-\x39\x3b-\x7e]{1,100}:|>?From ")
_QUOTED = re.compile(rb">+From ")
_SPECIAL = b"F>"
_COUNT = re.compile(rb"\d+\s*")

_OF_MAIL = frozenset(
    "from to cc subject date message-id received return-path mime-version content-type delivered-to reply-to"
    " in-reply-to references sender x-mailer user-agent x-gm-thrid dkim-signature".split()
)
_OF_SENDING = frozenset({"from", "received", "return-path", "message-id"})
_OF_TIME = frozenset({"date", "message-id", "received", "mime-version"})


def matches(head: Head) -> float:
    """How surely this is mail: a mailbox's first line, or a mail's header."""
    lines = head.text.lstrip("\ufeff\r\n").split("\n")
    if lines[0].startswith("From "):
        headed = len(lines) > 1 and _FIELD.match(lines[1].encode("utf-8", "replace")) is not None
        return 0.97 if headed and _FROM.match(lines[0].encode("utf-8", "replace")) else 0.8 if headed else 0.0
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
    known = len(names & _OF_MAIL)
    if known < 3 or not names & _OF_SENDING or not names & _OF_TIME:
        return 0.0
    return 0.95 if known >= 4 else 0.8


@dataclass(slots=True)
class _Raw:
    """A mail's bytes. ``envelope`` is the line before it in a mailbox."""

    line: int
    envelope: bytes
    data: bytearray = field(default_factory=bytearray)
    too_large: bool = False
    last: bool = False


def parse(document: Document) -> Iterator[Record]:
    """The mails in the order of the file, each in its thread."""
    threads = _Threads()
    for raw in _mails(document, only_headers=True):
        if isinstance(raw, _Raw):
            threads.learn(links_of(headers_of(bytes(raw.data))))
    threads.settle()
    given = _Given()
    for raw in _mails(document):
        if isinstance(raw, Problem):
            yield raw
        else:
            yield from _mail(raw, threads, given)
    if given.copies:
        yield Problem("", f"{given.copies} mails are there twice; taken once", harmless=True)


@dataclass(slots=True)
class _Given:
    """What was given out: sessions, and of each mail that has an id, what it said."""

    sessions: set[str] = field(default_factory=set)
    mails: dict[bytes, bytes] = field(default_factory=dict)
    copies: int = 0


def _mail(raw: _Raw, threads: _Threads, given: _Given) -> Iterator[Record]:
    data = bytes(raw.data)
    headers = headers_of(data)
    links = links_of(headers)
    mail = taken_apart(data, headers)
    where = f"line {raw.line}" + (f" ({mail.subject[:60]})" if mail.subject else "")
    if raw.too_large:
        yield Problem(where, f"the mail is larger than {_LARGEST >> 20} MB; its end was left out")
    elif raw.last and mail.unfinished:
        yield Problem(where, "the mail is cut off; what is there of it was kept")
    envelope = texts.decoded(raw.envelope, "utf-8")[0]
    sent = mail.sent
    if sent is None and (stamp := _FROM_TIME.search(envelope.strip())):
        sent = read_date(stamp[0])
    for oddity, lost in mail.oddities.items():
        yield Problem(where, oddity, harmless=not lost)
    text = with_attachments(mail.text if mail.text.strip() else "", mail.attachments)
    if not text.strip():
        text = mail.subject
    if not text.strip():
        yield Problem(where, "the mail is empty; passed over", harmless=True)
        return
    session = threads.session(links) or _made_session(headers, envelope)
    identity = links.own
    if identity is not None:
        key = _digest(f"{session}\x1f{identity}")
        said = _digest(text)
        known = given.mails.setdefault(key, said)
        if known is not said and known == said:
            given.copies += 1
            return
        if known is not said:
            yield Problem(where, f"the id {identity} is there twice; the second one has none", harmless=True)
            identity = None
    if session not in given.sessions:
        given.sessions.add(session)
        yield SessionRecord(session, without_reply_marks(mail.subject) or None, sent)
    metadata: dict[str, Any] = {}
    if mail.subject:
        metadata["subject"] = mail.subject
    if mail.recipients:
        metadata["to"] = mail.recipients
    if mail.attachments:
        metadata["attachments"] = mail.attachments
    if mail.bulk:
        metadata["bulk"] = True
    reply_to = links.before[-1] if links.before else None
    yield MessageRecord(session, "user", text, identity, mail.author, sent, reply_to, metadata, where)


class _Threads:
    """Which mail answers which, by digests of their ids: a table of all of a mailbox must stay small."""

    def __init__(self) -> None:
        self._parents: dict[bytes, bytes] = {}

    def learn(self, links: Links) -> None:
        if links.thread is not None:
            return
        chain = [*links.before, links.own] if links.own else list(links.before)
        for above, below in pairwise(chain):
            self._parents.setdefault(_digest(below), _digest(above))

    def settle(self) -> None:
        """Every mail's thread instead of its parent; a circle is known by the least of its ids."""
        for node in list(self._parents):
            trail: dict[bytes, None] = {}
            at = node
            while at not in trail:
                trail[at] = None
                above = self._parents.get(at)
                if above is None or above == at:
                    break
                at = above
            else:
                ring = list(trail)
                at = min(ring[ring.index(at) :])
            for passed in trail:
                self._parents[passed] = at

    def session(self, links: Links) -> str | None:
        """The key of a mail's thread: Gmail's number, else the id of its oldest mail that is known."""
        if links.thread is not None:
            return f"gmail:{links.thread}"
        oldest = links.before[0] if links.before else links.own
        if oldest is None:
            return None
        own = _digest(links.own or oldest)
        root = self._parents.get(own) or self._parents.get(_digest(oldest)) or _digest(oldest)
        return f"mail:{root.hex()}"


def _made_session(headers: Headers, envelope: str) -> str:
    """The key of a mail without any id: who sent what when."""
    told = [first(headers, name) for name in ("date", "from", "subject")]
    return "mail:" + _digest("\x1f".join(told if told[0] else [*told, envelope])).hex()


def _digest(value: str) -> bytes:
    return hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=12).digest()


# --- the file -----------------------------------------------------------------------------------------


def _mails(document: Document, *, only_headers: bool = False) -> Iterator[_Raw | Problem]:
    """The mails of a mailbox, or the one of a file. With ``only_headers``, as far as their first blank line."""
    raw: _Raw | None = None
    held: tuple[int, bytes] | None = None
    box = False
    headers = True
    count: int | None = None
    for line in jsonstream.lines(document, blank=True):
        if isinstance(line, Problem):
            yield line
            continue
        number, data = line
        if raw is not None and not headers and held is None and data[0] not in _SPECIAL and count is None:
            # Nearly every line of a mailbox.
            if not only_headers:
                _add(raw, data)
            continue
        if raw is None and held is None:
            if not data.strip(b"\r\n\xef\xbb\xbf\x00 "):
                continue
            if data.startswith(b"From "):
                box, held = True, (number, data)
            elif _COUNT.fullmatch(data):
                # Apple's files say how long the mail is, and have a list of their own behind it.
                count, raw = int(data), _Raw(number + 1, b"")
            else:
                raw = _Raw(number, b"")
                _add(raw, data)
            continue
        if held is not None:
            begins, envelope = held
            held = None
            if raw is None or _FIELD.match(data):
                if raw is not None:
                    yield raw
                raw, headers = _Raw(begins, envelope), True
            elif headers or not only_headers:
                _add(raw, envelope)
        if box and data.startswith(b"From ") and _FROM.match(data):
            held = (number, data)
            continue
        if raw is None or (only_headers and not headers):
            continue
        if headers and not data.strip(b"\r\n"):
            headers = False
        if box and data.startswith(b">") and _QUOTED.match(data):
            data = data[1:]
        if count is not None:
            data = data[: max(0, count - len(raw.data))]
        _add(raw, data)
    if raw is not None:
        raw.last = held is None
        yield raw
    if held is not None and not only_headers:
        yield Problem(f"line {held[0]}", "the file ends where a mail begins")


def _add(raw: _Raw, data: bytes) -> None:
    if raw.too_large or len(raw.data) + len(data) > _LARGEST:
        raw.too_large = True
    else:
        raw.data += data
