"""The HTML forms of Meta's threads: current pages, whose class names are generated, and the ``messages.htm`` of 2017.

The parser recognises a message of current pages by its shape: sender, content, and last a time. Times are local.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from appliance.formats import html_pages
from appliance.formats.base import Document, DocumentHead
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import made_id, unreadable_time, with_attachments
from appliance.formats.meta_words import folder_id, is_notice, is_thread_file, read_date
from appliance.formats.records import metadata_of
from appliance.formats.timestamps import is_newest_first
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_PAGE = re.compile(r'class="[^"]*(?:\b_a6-[a-z]\b|\b_a7[0-9a-z]{2}\b|\b_2le[a-z]\b|uiBoxWhite|message_header)')
_OLD = re.compile(r'class="message_header"')
_MAX_NAME_CHARACTERS = 200
_REACTION_TIME = re.compile(r"\s*\([^()]*\d[^()]*\)\s*$")
_EMOJI_FIRST = re.compile(r"([^\w\s]+)\s*(.*)", re.DOTALL)


def match_page(head: DocumentHead) -> float:
    """The confidence that a document is a page of a thread; posts and comments have the same markup."""
    start = head.text.lstrip("\ufeff \t\r\n")[:100].lower()
    if not start.startswith(("<!doctype html", "<html", "<div")):
        return 0.0
    has_classes = _PAGE.search(head.text) is not None
    is_named = is_thread_file(head.name) or "Participants:" in head.text
    if has_classes and (is_named or _OLD.search(head.text)):
        return 0.9
    if not has_classes and not is_named:
        return 0.0
    data = head.text.encode("utf-8", "replace")
    page = Document(head.name, len(data), lambda: io.BytesIO(data))
    senders = [
        sender
        for element in html_pages.elements(page, _is_top)
        if isinstance(element, HtmlElement)
        for sender, _, _ in map(_parts, _messages(element))
    ]
    # Class names change from year to year; a page that is named as a thread's needs none.
    if is_named:
        return 0.85 if any(senders) else 0.0
    return 0.6 if len(senders) > 2 and len(set(senders)) < len(senders) else 0.0


def is_page(document: Document) -> bool:
    """Whether a document is HTML rather than JSON."""
    return html_pages.read_beginning(document).lstrip("\ufeff \t\r\n").startswith("<")


def parse(document: Document) -> Iterator[Record]:
    """The messages of a page in their order; none if the same thread exists as JSON."""
    json_names = {document.name.rpartition("/")[2].rpartition(".")[0] + ".json", "message_1.json"}
    if is_thread_file(document.name) and any(document.context.find(name) for name in sorted(json_names)):
        yield InputProblem("", "skipped; the same thread is imported from JSON", harmless=True)
        return
    title: str | None = None
    begun: set[str] = set()
    # An export of 2017 has all threads on one page, which may be larger than memory.
    is_old = _OLD.search(html_pages.read_beginning(document)) is not None
    for element in html_pages.elements(document, (lambda e: "thread" in e.classes) if is_old else _is_top):
        if isinstance(element, InputProblem):
            yield element
        elif element.tag == "title":
            title = "".join(part for part in element.children if isinstance(part, str)).strip() or None
        elif is_old:
            yield from _old_thread(element, begun)
        else:
            session = folder_id(document.name)
            messages = [(message.line, *_parts(message)) for message in _messages(element)]
            # Times have no seconds, so that the order of the page decides within a minute.
            if is_newest_first(read_date(time.text()) for _, _, _, time in messages):
                messages.reverse()
            for line, sender, body, time in messages:
                session = session or made_id("meta", title, *([] if title else [sender, body.text()]))
                if session not in begun:
                    begun.add(session)
                    yield SessionRecord(session, title)
                yield from _message(session, sender, body, time.text(), f"line {line}")
        if isinstance(element, HtmlElement) and not element.is_complete:
            yield InputProblem(f"line {element.line}", "the page is cut off or damaged; the intact part was imported")
    if not begun:
        yield InputProblem("", "the page holds no messages", harmless=True)


def _is_top(element: HtmlElement) -> bool:
    return element.tag in ("title", "body", "main", "div")


def _elements(element: HtmlElement) -> list[HtmlElement]:
    return [inner for inner in element.children if isinstance(inner, HtmlElement)]


def _messages(element: HtmlElement) -> Iterator[HtmlElement]:
    """The innermost elements with the shape of a message."""
    inner = _elements(element)
    has_shape = element.is_complete and len(inner) > 2 and _is_time(inner[-1])
    if has_shape and not any(True for child in inner for _ in _messages(child)):
        yield element
        return
    for child in inner:
        yield from _messages(child)


def _is_time(element: HtmlElement) -> bool:
    return len(element.children) <= 3 and read_date(element.text()) is not None


def _parts(message: HtmlElement) -> tuple[str, HtmlElement, HtmlElement]:
    """The sender, the content and the time."""
    inner = _elements(message)
    body = HtmlElement("div", {}, message.line, list[HtmlElement | str](inner[1:-1]), True)
    return inner[0].text().strip()[:_MAX_NAME_CHARACTERS], body, inner[-1]


def _message(session: str, sender: str, body: HtmlElement, time: str, where: str) -> Iterator[Record]:
    items = (
        _EMOJI_FIRST.fullmatch(e.text().removeprefix("- ").strip()) for e in body.find_all(lambda e: e.tag == "li")
    )
    reactions = [{"emoji": item[1], "by": _REACTION_TIME.sub("", item[2]).strip()} for item in items if item]
    files = _files(body)
    words = (_without_list_elements(body) if reactions else body).text()
    text = with_attachments(words, files)
    if not text.strip():
        yield InputProblem(where, "the message has no text; skipped", harmless=True)
        return
    sent = read_date(time)
    if sent is None and time.strip():
        yield unreadable_time(where, time.strip())
    metadata = metadata_of(attachments=files, reactions=reactions)
    role: Role = "system" if is_notice(words.strip(), sender or None, bool(files)) else "user"
    yield MessageRecord(session, role, text, None, sender or None, sent, metadata=metadata, where=where)


def _without_list_elements(element: HtmlElement) -> HtmlElement:
    inside = [
        _without_list_elements(inner) if isinstance(inner, HtmlElement) else inner
        for inner in element.children
        if isinstance(inner, str) or inner.tag != "ul"
    ]
    return HtmlElement(element.tag, element.attributes, element.line, inside, element.is_complete)


def _files(body: HtmlElement) -> list[dict[str, str]]:
    """Media by their file names; the page links them by relative paths."""
    paths = [element.attributes.get("src") or element.attributes.get("href") or ""
             for element in body.find_all(lambda e: e.tag in ("img", "video", "audio", "source", "a"))]  # fmt: skip
    names = dict.fromkeys(path.rpartition("/")[2] for path in paths if "/" in path and "://" not in path)
    return [{"name": name} for name in names if name]


def _old_thread(thread: HtmlElement, begun: set[str]) -> Iterator[Record]:
    """A thread of 2017: headers, each followed by its text, newest first."""
    people = "".join(part for part in thread.children if isinstance(part, str)).strip()
    session = made_id("meta", *sorted(name.strip() for name in people.split(",")))
    if session not in begun:
        begun.add(session)
        yield SessionRecord(session, people or None)
    messages: list[list[Record]] = []
    header: HtmlElement | None = None
    for element in _elements(thread):
        if "message" in element.classes:
            header = element
        elif header is not None and element.tag == "p" and element.is_complete:
            user, when = header.find_first("user"), header.find_first("meta")
            sender, time = user.text().strip() if user else "", when.text() if when else ""
            messages.append([*_message(session, sender, element, time, f"line {header.line}")])
            header = None
    for records in reversed(messages):
        yield from records
