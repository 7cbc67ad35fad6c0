"""The HTML forms of Meta's threads: today's pages, whose class names are made up, and 2017's ``messages.htm``.

A message of today's pages is known by its shape: who, what, and last a time. Times are local.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from appliance.ingest.parse import pages
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import with_attachments
from appliance.ingest.parse.meta_words import folder_id, is_notice, is_thread_file, read_date, role_of
from appliance.ingest.parse.pages import Element
from appliance.ingest.parse.people import made_id
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_PAGE = re.compile(
    r'class="[^"]*(?:\b_a6-[a-z]\b|\b_a7[0-9a-z]{2}\b|\b_2le[a-z]\b|uiBoxWhite|message_header)'
)
_OLD = re.compile(r'class="message_header"')
_LONGEST_NAME = 200
_EMOJI_FIRST = re.compile(r"([^\w\s]+)\s*(.*)", re.DOTALL)


def likeness(head: Head) -> float:
    """How surely a document is a page of a thread. Posts and comments are marked up in the same way."""
    start = head.text.lstrip("\ufeff \t\r\n")[:100].lower()
    if not start.startswith(("<!doctype html", "<html", "<div")) or not _PAGE.search(head.text):
        return 0.0
    if _OLD.search(head.text):
        return 0.9
    if is_thread_file(head.name) or "Participants:" in head.text:
        return 0.9
    data = head.text.encode("utf-8", "replace")
    page = Document(head.name, len(data), lambda: io.BytesIO(data))
    senders = [
        sender
        for element in pages.elements(page, _is_top)
        if isinstance(element, Element)
        for sender, _, _ in map(_parts, _messages(element))
    ]
    return 0.6 if len(senders) > 2 and len(set(senders)) < len(senders) else 0.0


def is_page(document: Document) -> bool:
    """Whether a document is HTML and no JSON."""
    return pages.beginning(document).lstrip("\ufeff \t\r\n").startswith("<")


def parse(document: Document) -> Iterator[Record]:
    """The messages of a page, in its order; none where the same thread lies there as JSON."""
    beside = {document.name.rpartition("/")[2].rpartition(".")[0] + ".json", "message_1.json"}
    if is_thread_file(document.name) and any(document.around.find(name) for name in sorted(beside)):
        yield Problem("", "the same thread is there as JSON, which is read instead", harmless=True)
        return
    title: str | None = None
    begun: set[str] = set()
    # All threads of 2017 are on one page, which may be larger than memory; each is taken by itself.
    old = _OLD.search(pages.beginning(document)) is not None
    for element in pages.elements(document, _is_old_thread if old else _is_top):
        if isinstance(element, Problem):
            yield element
        elif element.tag == "title":
            title = "".join(part for part in element.inside if isinstance(part, str)).strip() or None
        elif old:
            yield from _old_thread(element, begun)
        else:
            session = folder_id(document.name)
            for message in _messages(element):
                sender, body, time = _parts(message)
                session = session or made_id("meta", title, *([] if title else [sender, body.text()]))
                if session not in begun:
                    begun.add(session)
                    yield SessionRecord(session, title)
                yield from _message(session, sender, body, time.text(), f"line {message.line}")
        if isinstance(element, Element) and not element.whole:
            yield Problem(
                f"line {element.line}", "the page is cut off or broken; what is whole of it was kept"
            )
    if not begun:
        yield Problem("", "the page holds no messages", harmless=True)


def _is_top(element: Element) -> bool:
    return element.tag in ("title", "body", "main", "div")


def _elements(element: Element) -> list[Element]:
    return [inner for inner in element.inside if isinstance(inner, Element)]


def _messages(element: Element) -> Iterator[Element]:
    """The elements of the shape of a message, none within another."""
    inner = _elements(element)
    if element.whole and len(inner) > 2 and _is_time(inner[-1]) and not any(map(_is_message, inner)):
        yield element
        return
    for each in inner:
        yield from _messages(each)


def _is_message(element: Element) -> bool:
    return next(_messages(element), None) is not None


def _is_time(element: Element) -> bool:
    return len(element.inside) <= 3 and read_date(element.text()) is not None


def _parts(message: Element) -> tuple[str, Element, Element]:
    """Who, what and when."""
    inner = _elements(message)
    body = Element("div", {}, message.line, list[Element | str](inner[1:-1]), True)
    return inner[0].text().strip()[:_LONGEST_NAME], body, inner[-1]


def _message(session: str, sender: str, body: Element, time: str, where: str) -> Iterator[Record]:
    reactions: list[dict[str, Any]] = []
    for item in body.all(lambda e: e.tag == "li"):
        found = _EMOJI_FIRST.fullmatch(item.text().removeprefix("- ").strip())
        if found:
            reactions.append({"emoji": found[1], "by": found[2].strip()})
    files = _files(body)
    words = (_without_lists(body) if reactions else body).text()
    text = with_attachments(words, files)
    if not text.strip():
        yield Problem(where, "the message holds no words; passed over", harmless=True)
        return
    sent = read_date(time)
    if sent is None and time.strip():
        yield Problem(where, f"the time {time.strip()[:60]!r} can't be read; left open", harmless=True)
    metadata: dict[str, Any] = {"attachments": files} if files else {}
    if reactions:
        metadata["reactions"] = reactions
    role = role_of(is_notice(words.strip(), sender or None, bool(files)))
    yield MessageRecord(session, role, text, None, sender or None, sent, metadata=metadata, where=where)


def _without_lists(element: Element) -> Element:
    inside = [
        _without_lists(inner) if isinstance(inner, Element) else inner
        for inner in element.inside
        if isinstance(inner, str) or inner.tag != "ul"
    ]
    return Element(element.tag, element.attributes, element.line, inside, element.whole)


def _files(body: Element) -> list[dict[str, str]]:
    """Media by the names of their files; they are linked by relative paths."""
    paths = [element.attributes.get("src") or element.attributes.get("href") or ""
             for element in body.all(lambda e: e.tag in ("img", "video", "audio", "source", "a"))]  # fmt: skip
    names = dict.fromkeys(path.rpartition("/")[2] for path in paths if "/" in path and "://" not in path)
    return [{"name": name} for name in names if name]


# --- 2017: all threads on one page --------------------------------------------------------------------


def _is_old_thread(element: Element) -> bool:
    return "thread" in element.classes


def _old_thread(thread: Element, begun: set[str]) -> Iterator[Record]:
    """A thread of 2017: headers, each followed by its text; the newest first."""
    people = "".join(part for part in thread.inside if isinstance(part, str)).strip()
    session = made_id("meta", *sorted(name.strip() for name in people.split(",")))
    if session not in begun:
        begun.add(session)
        yield SessionRecord(session, people or None)
    found: list[list[Record]] = []
    header: Element | None = None
    for element in _elements(thread):
        if "message" in element.classes:
            header = element
        elif header is not None and element.tag == "p" and element.whole:
            user, when = header.first("user"), header.first("meta")
            sender, time = user.text().strip() if user else "", when.text() if when else ""
            found.append([*_message(session, sender, element, time, f"line {header.line}")])
            header = None
    for records in reversed(found):
        yield from records
