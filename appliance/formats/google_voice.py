"""Google Voice: the pages of text messages and voicemails in Google's Takeout (``Ana - Text - 2023-….html``).

A page is a piece of a conversation; the numbers of the others identify it. A voicemail has the words that the program
heard. Pages of other calls hold no messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from appliance.formats import html_pages
from appliance.formats.base import Document, DocumentHead
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import made_id, unreadable_time, with_attachments
from appliance.formats.people_chats import Participants
from appliance.formats.records import metadata_of
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_PAGE = re.compile(r'class="?[^">]*\bhChatLog\b')
_CALL = re.compile(r'class="?haudio\b.{0,2000}class="?contributor vcard', re.DOTALL)
_PARTS = frozenset({"message", "haudio"})
_OWN_NAMES = frozenset({"me", "ich", "moi", "yo", "eu", "io", "ik"})
_NAME = re.compile(r"(?P<name>.*?)(?: - Text)? - \d{4}-\d\d-\d\dT.*")


def matches(head: DocumentHead) -> float:
    """The confidence that this is such a page."""
    if not head.text.lstrip("\ufeff \t\r\n").startswith("<"):
        return 0.0
    return 0.95 if _PAGE.search(head.text) else 0.9 if _CALL.search(head.text) else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages of a page in their order."""
    numbers: dict[str, str] = {}
    for element in html_pages.elements(document, lambda e: "participants" in e.classes or _is_part(e)):
        if isinstance(element, HtmlElement):
            for sender in element.find_all(lambda e: "tel" in e.classes):
                numbers.setdefault(_number(sender), _name(sender))
    others = {number: name for number, name in numbers.items() if number and not _is_own(name)}
    stem = document.name.replace("\\", "/").rpartition("/")[2]
    named = _NAME.fullmatch(stem)
    known = ", ".join(name or number for number, name in others.items())
    title = known or (named["name"] if named else "") or None
    session = made_id("google_voice", *sorted(others)) if others else made_id("google_voice", title)
    participants = Participants()
    begun = False
    for element in html_pages.elements(document, _is_part):
        if isinstance(element, InputProblem):
            yield element
            continue
        where = f"line {element.line}"
        if not element.is_complete:
            yield InputProblem(where, "the page is cut off or damaged; the intact part was imported")
        is_call = "haudio" in element.classes
        stamp = element.find_first("published" if is_call else "dt")
        time = stamp.attributes.get("title", "") if stamp else ""
        sent = read_time(time)
        if sent is None:
            yield unreadable_time(where, time)
        tel = element.find_first("tel")
        name, number = (_name(tel), _number(tel)) if tel else ("", "")
        is_own = _is_own(name)
        author = (document.context.me or name) if is_own else name or number or None
        said = element.find_all(_is_transcript if is_call else _is_quoted, nested=False)
        words = "\n".join(one.text() for one in said)
        files = _files(element)
        text = with_attachments("" if words.strip() in ("MMS Sent", "MMS Received") and files else words, files)
        if not text.strip():
            if not is_call:
                yield InputProblem(where, "the message has no text; skipped", harmless=True)
            continue
        if not begun:
            begun = True
            yield SessionRecord(session, title, sent)
        yield from participants.note(session, author, ("number", number), ("name", name), me=is_own)
        yield MessageRecord(session, "user", text, None, author, sent, None, metadata_of(attachments=files), where)
    if not begun:
        yield InputProblem("", "the page holds no messages", harmless=True)


def _is_transcript(element: HtmlElement) -> bool:
    return "full-text" in element.classes


def _is_quoted(element: HtmlElement) -> bool:
    return element.tag == "q"


def _is_part(element: HtmlElement) -> bool:
    return bool(_PARTS & set(element.classes))


def _is_own(name: str) -> bool:
    return name.casefold() in _OWN_NAMES


def _name(tel: HtmlElement) -> str:
    return tel.text().strip()


def _number(tel: HtmlElement) -> str:
    return tel.attributes.get("href", "").removeprefix("tel:")


def _files(element: HtmlElement) -> list[dict[str, str]]:
    """Pictures and cards by the names that the page has for them, which lack the ending."""
    links = element.find_all(lambda e: e.tag in ("img", "video", "audio") or ("vcard" in e.classes and e.tag == "a"))
    names = dict.fromkeys(one.attributes.get("src") or one.attributes.get("href") or "" for one in links)
    return [{"name": name.rpartition("/")[2]} for name in names if name and not name.startswith("tel:")]
