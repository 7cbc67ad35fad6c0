"""iMessage: the text files and pages that imessage-exporter makes of ``chat.db``, one for each conversation.

Times are local. A reply may stand twice: under the message that it answers, and at its own time. It is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from typing import Any

from appliance.formats import html_pages
from appliance.formats.base import Document, DocumentHead
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import made_id, with_attachments
from appliance.formats.meta_words import read_date
from appliance.formats.people_chats import Participants
from appliance.formats.records import metadata_of
from appliance.formats.text_lines import TextEntry, text_lines
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_TIME = r"[A-Z][a-z]{2} \d{2}, \d{4} {1,2}\d{1,2}:\d{2}:\d{2} [AP]M"
_HEADER = re.compile(rf"(?P<time>{_TIME})(?: \((?P<read>[^()]*)\))?(?: (?P<notice>\S.*))?")
_SET_IN = re.compile(r" {4,}")
_REACTIONS = re.compile(r"(?:Tapbacks|Reactions):")
_REACTION = re.compile(r"\s*(?P<emoji>.{1,40}?) by (?P<by>.+)")
_REPLY_LINE = "This message responded to an earlier message."
_DELETED_LINE = "This message was deleted from the conversation!"
_FILE = re.compile(r"(?!https?:)(?:~|[^/\n]{0,80})(?:/[^/\n]{1,200})+\.[A-Za-z0-9]{2,5}")
_UNSENT = re.compile(r".{1,80} unsent (?:this message part|a message)\b")
_PAGE = re.compile(r'class="(?:sent|received) ?(?:iMessage|SMS|RCS)?"')
_OWN_NAME = "Me"
_ORPHANS = "orphaned"


def matches(head: DocumentHead) -> float:
    """The confidence that this is such a file: a time alone on a line, then a name."""
    text = head.text.lstrip("\ufeff \r\n")
    if text.startswith("<"):
        return 0.9 if _PAGE.search(text) and 'class="message' in text and 'class="timestamp"' in text else 0.0
    lines = [line.rstrip("\r") for line in text.split("\n")[:200]]
    found = _HEADER.fullmatch(lines[0])
    if found is None:
        return 0.0
    return 0.95 if found["notice"] or (len(lines) > 1 and lines[1].strip() and not _HEADER.fullmatch(lines[1])) else 0.0


@dataclass(slots=True)
class _Chat:
    """The conversation, named by its file, and its session once it has begun."""

    document: Document
    session: str | None = None
    participants: Participants = field(default_factory=Participants)
    replies: set[tuple[str | None, datetime | None, str]] = field(default_factory=set)
    """The replies that were read where they are set in."""

    def message(
        self, where: str, author: str | None, sent: datetime | None, text: str, role: Role = "user",
        *, is_set_in: bool = False, **metadata: Any,
    ) -> Iterator[Record]:  # fmt: skip
        key = author, sent, text
        if key in self.replies and not is_set_in:
            self.replies.discard(key)
            return
        if is_set_in:
            self.replies.add(key)
        if not text.strip():
            yield InputProblem(where, "the message has no text; skipped", harmless=True)
            return
        if self.session is None:
            stem = self.document.name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
            title = stem if stem and stem != _ORPHANS else None
            self.session = made_id("imessage", *([title] if title else [sent, author, text]))
            yield SessionRecord(self.session, title, sent)
        is_own = author == _OWN_NAME
        if is_own and self.document.context.me:
            author = self.document.context.me
        kind = _kind(author or "")
        yield from self.participants.note(self.session, author, (kind, author), me=is_own)
        yield MessageRecord(self.session, role, text, None, author, sent, None, metadata_of(**metadata), where)


def _kind(author: str) -> Any:
    return "address" if "@" in author else "number" if author.lstrip("+").isdecimal() else "name"


def parse(document: Document) -> Iterator[Record]:
    """The messages in file order."""
    chat = _Chat(document)
    is_page = html_pages.read_beginning(document).lstrip("\ufeff \r\n").startswith("<")
    yield from _page(document, chat) if is_page else _text(document, chat)
    if chat.session is None:
        yield InputProblem("", "the file holds no messages", harmless=True)


def _text(document: Document, chat: _Chat) -> Iterator[Record]:
    for item in _entries(document):
        if isinstance(item, InputProblem):
            yield item
            continue
        entry, is_set_in = item
        where = f"line {entry.number}"
        if entry.author is None:
            yield from chat.message(where, None, entry.sent, entry.text, "system")
            continue
        words: list[str] = []
        files: list[dict[str, str]] = []
        reactions: list[dict[str, str]] = []
        in_reactions = deleted = False
        for line in entry.lines:
            if _REACTIONS.match(line):
                in_reactions = True
            elif in_reactions and (found := _REACTION.fullmatch(line)):
                reactions.append({"emoji": found["emoji"], "by": found["by"]})
            elif line == _DELETED_LINE:
                deleted = True
            elif _FILE.fullmatch(line):
                files.append({"name": line.rpartition("/")[2]})
            elif line != _REPLY_LINE:
                words.append(line)
        said = "\n".join(words).strip("\n")
        role: Role = "system" if _UNSENT.match(said) and "\n" not in said else "user"
        text = with_attachments(said, files)
        yield from chat.message(where, entry.author, entry.sent, text, role, attachments=files, reactions=reactions,
                                deleted=deleted, is_set_in=is_set_in)  # fmt: skip


def _entries(document: Document) -> Iterator[tuple[TextEntry, bool] | InputProblem]:
    """The messages, and whether each is a reply that is set in."""
    entry: TextEntry | None = None
    is_named = True
    margin = 0
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line[0], line[1].removeprefix("\ufeff")
        set_in = _SET_IN.match(text)
        found = _HEADER.fullmatch(text[set_in.end() :] if set_in else text)
        if found is not None:
            if entry is not None:
                yield entry, margin > 0
            margin = set_in.end() if set_in else 0
            notice = found["notice"]
            entry = TextEntry(number, None, read_date(found["time"]), [notice] if notice else [])
            is_named = notice is not None
            continue
        text = text[margin:] if text[:margin].isspace() else text
        if entry is None:
            if text.strip():
                entry, is_named = TextEntry(number, None, None, [text]), True
        elif not is_named:
            if text.strip():
                entry.author, is_named = text.strip(), True
        else:
            entry.lines.append(text)
    if entry is not None:
        yield entry, margin > 0


def _page(document: Document, chat: _Chat) -> Iterator[Record]:
    for element in html_pages.elements(document, lambda e: bool({"message", "announcement"} & set(e.classes))):
        if isinstance(element, InputProblem):
            yield element
            continue
        where = f"line {element.line}"
        if not element.is_complete:
            yield InputProblem(where, "the page is cut off or damaged; the intact part was imported")
        for reply, is_set_in in _with_replies(element):
            yield from _page_message(reply, chat, where, is_set_in)


def _with_replies(element: HtmlElement) -> Iterator[tuple[HtmlElement, bool]]:
    """A message, and the replies that are set in below it."""
    yield _without_replies(element), False
    for replies in element.find_all(lambda e: "replies" in e.classes, nested=False):
        for reply in replies.find_all(lambda e: "message" in e.classes, nested=False):
            yield _without_replies(reply), True


def _page_message(message: HtmlElement, chat: _Chat, where: str, is_set_in: bool) -> Iterator[Record]:
    stamp = message.find_first("timestamp")
    when = _HEADER.match(" ".join(stamp.text().split())) if stamp else None
    sent = read_date(when["time"]) if when else None
    if "announcement" in message.classes:
        said = _HEADER.fullmatch(" ".join(message.text().split()))
        yield from chat.message(where, None, sent, (said["notice"] or "") if said else message.text(), "system")
        return
    sender = message.find_first("sender")
    parts = list(message.find_all(lambda e: "message_part" in e.classes, nested=False))
    words = "\n".join(filter(None, (_words(part) for part in parts)))
    links = [e for part in parts for e in part.find_all(lambda e: e.tag in ("img", "video", "audio", "source"))]
    sources = [e.attributes.get("src") or "" for e in links]
    names = dict.fromkeys(source.rpartition("/")[2] for source in sources if "://" not in source)
    files = [{"name": name} for name in names if name]
    reactions = [
        {"emoji": found["emoji"].strip(), "by": found["by"].strip()}
        for e in message.find_all(lambda e: "tapback" in e.classes or "reaction" in e.classes)
        if (found := _REACTION.fullmatch(e.text().strip()))
    ]
    author = sender.text().strip() if sender else None
    text = with_attachments(words, files)
    yield from chat.message(where, author or None, sent, text, attachments=files, reactions=reactions,
                            is_set_in=is_set_in)  # fmt: skip


def _words(part: HtmlElement) -> str:
    bubbles = list(part.find_all(lambda e: "bubble" in e.classes or "edited" in e.classes, nested=False))
    # The card of an app or a link has no bubble.
    return "\n".join(bubble.text().strip() for bubble in bubbles) if bubbles else part.text().strip()


def _without_replies(element: HtmlElement) -> HtmlElement:
    inside = [
        _without_replies(inner) if isinstance(inner, HtmlElement) else inner
        for inner in element.children
        if isinstance(inner, str) or "replies" not in inner.classes
    ]
    return HtmlElement(element.tag, element.attributes, element.line, inside, element.is_complete)
