"""Telegram Desktop's HTML form: one chat in ``messages.html``, ``messages2.html`` and so on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from appliance.formats import html_pages
from appliance.formats.base import Document
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import made_id, unreadable_time, with_attachments
from appliance.formats.people_chats import PeopleMessageIds
from appliance.formats.records import counted, metadata_of
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_PAGE = re.compile(r"<div class=\"(?:history|message (?:default|service)\b|page_body chat_page)")
_NUMBER = re.compile(r"message(-?\d+)$", re.ASCII)
_REPLY_TARGET = re.compile(r"go_to_message(-?\d+)$", re.ASCII)
_TIME = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)(?: UTC([+-])(\d\d):(\d\d))?\s*$", re.ASCII)
_JSON_PATHS = ("result.json", "../../result.json")
_MEDIA = ("photo_wrap", "video_file_wrap", "animated_wrap", "sticker_wrap", "media", "media_wrap")


def is_page(head: str) -> bool:
    """Whether the beginning of a document is that of a page of a chat."""
    start = head.lstrip("\ufeff \t\r\n")[:100].lower()
    return start.startswith(("<!doctype html", "<html", "<div")) and _PAGE.search(head) is not None


def parse(document: Document) -> Iterator[Record]:
    """The messages of one page; none if the same export exists as JSON."""
    if any(document.context.find(path) is not None for path in _JSON_PATHS):
        yield InputProblem("", "skipped; the same export is imported from result.json", harmless=True)
        return
    chat = _TelegramPage()
    for element in html_pages.elements(document, _is_part):
        if isinstance(element, InputProblem):
            yield element
            continue
        where = f"line {element.line}"
        if "message" not in element.classes:
            chat.title = chat.title or element.text().strip() or None
        elif not element.is_complete:
            yield InputProblem(where, "the message is damaged or cut off; skipped")
        else:
            yield from _message(document, chat, element, where)
    if chat.empty:
        yield InputProblem("", f"skipped {counted(chat.empty, 'message')} without text", harmless=True)


@dataclass(slots=True)
class _TelegramPage:
    """The state of a page: the chat's title and id, the last author, the ids so far, the number of empty messages."""

    title: str | None = None
    session: str | None = None
    author: str | None = None
    ids: PeopleMessageIds = field(default_factory=PeopleMessageIds)
    empty: int = 0


def _is_part(element: HtmlElement) -> bool:
    classes = element.classes
    return element.tag == "div" and ("message" in classes or classes == ["text", "bold"])


def _message(document: Document, chat: _TelegramPage, element: HtmlElement, where: str) -> Iterator[Record]:
    match = _NUMBER.match(element.attributes.get("id", ""))
    number = match[1] if match else None
    is_service = "service" in element.classes
    if is_service and (number is None or number.startswith("-")):
        # The page's own separators between days.
        return
    body = element.find_first("body") or element
    forwarded = next(body.find_all(lambda e: {"forwarded", "body"} <= set(e.classes)), None)
    stamp = _own_element(body, "date", forwarded)
    sent, time_note = _time(stamp.attributes.get("title", "") if stamp else "", where)
    if time_note:
        yield time_note
    if chat.session is None:
        chat.session = _session(document, number, sent)
        yield SessionRecord(chat.session, chat.title)
    metadata: dict[str, Any] = {}
    reply_to: str | None = None
    if is_service:
        author, text = None, _without_part(body, stamp).text()
    else:
        if sender := _own_element(body, "from_name", forwarded):
            chat.author = _name(sender)
        author = chat.author
        content = forwarded or body
        text_element, files = content.find_first("text"), _files(content)
        text = with_attachments(text_element.text() if text_element else _poll(content), files)
        metadata = metadata_of(attachments=files, reactions=_reactions(body))
        if forwarded and (source := forwarded.find_first("from_name")):
            metadata["forwarded_from"] = _name(source) or ""
        if (reply := _own_element(body, "reply_to", forwarded)) is not None:
            links = reply.find_all(lambda e: e.tag == "a")
            targets = (_REPLY_TARGET.search(link.attributes.get("href", "")) for link in links)
            reply_to = next((target[1] for target in targets if target), None)
    if not text.strip():
        chat.empty += 1
        return
    identity, is_copy, note = chat.ids.claim(number, text, author or "")
    if note:
        yield InputProblem(where, note, harmless=True)
    if not is_copy:
        role: Role = "system" if is_service else "user"
        yield MessageRecord(chat.session, role, text, identity, author, sent, reply_to, metadata, where)


def _name(element: HtmlElement) -> str | None:
    return _without_part(element, element.find_first("details")).text().strip() or None


def _own_element(body: HtmlElement, name: str, forwarded: HtmlElement | None) -> HtmlElement | None:
    """The first element of a class that belongs to the message itself, not to the forwarded one."""
    excluded = set() if forwarded is None else {id(e) for e in forwarded.find_all(lambda e: True)}
    return next((e for e in body.find_all(lambda e: name in e.classes) if id(e) not in excluded), None)


def _without_part(element: HtmlElement, part: HtmlElement | None) -> HtmlElement:
    children = [child for child in element.children if child is not part]
    return HtmlElement(element.tag, element.attributes, element.line, children, element.is_complete)


def _time(title: str, where: str) -> tuple[datetime | None, InputProblem | None]:
    """Parse "12.05.2020 10:00:00 UTC+01:00": in UTC, or local in older exports, which have no zone."""
    try:
        if match := _TIME.match(title.strip()):
            day, month, year, hour, minute, second = (int(part) for part in match.groups()[:6])
            local = datetime(year, month, day, hour, minute, second)
            if match[7] is None:
                return local, None
            offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
            return local.replace(tzinfo=timezone(offset if match[7] == "+" else -offset)).astimezone(UTC), None
    except (ValueError, OverflowError):
        pass
    return None, unreadable_time(where, title) if title else None


def _files(body: HtmlElement) -> list[dict[str, str]]:
    files: list[dict[str, str]] = []
    for media in body.find_all(lambda e: any(name in e.classes for name in _MEDIA[:-1]), nested=False):
        href = media.attributes.get("href", "")
        name = href.rpartition("/")[2] if href and "://" not in href else ""
        # A place, a contact or a call is not a file; its title and status describe it.
        if not name or any(c in media.classes for c in ("media_call", "media_location", "media_contact")):
            title, status = media.find_first("title"), media.find_first("description") or media.find_first("status")
            details = status.text().strip() if status and "Not included" not in status.text() else ""
            name = ": ".join(part for part in (title.text().strip() if title else "", details) if part)
        files.append({"name": name or "file"})
    return files


def _poll(body: HtmlElement) -> str:
    poll = body.find_first("media_poll")
    lines = poll.find_all(lambda e: "question" in e.classes or "answer" in e.classes) if poll else ()
    return "\n".join(line.text().strip() for line in lines)


def _reactions(body: HtmlElement) -> list[dict[str, Any]]:
    reactions: list[dict[str, Any]] = []
    for reaction in body.find_all(lambda e: "reaction" in e.classes):
        emoji = reaction.find_first("emoji")
        name = emoji.text().strip() if emoji else ""
        people = [e.attributes["title"] for e in reaction.find_all(lambda e: bool(e.attributes.get("title")))]
        reactions += [{"emoji": name, "by": person} for person in people]
        if not people and name:
            count = reaction.find_first("count")
            number = count.text().strip() if count else ""
            reactions.append({"emoji": name} | ({"count": int(number)} if number.isdecimal() else {}))
    return reactions


def _session(document: Document, number: str | None, sent: datetime | None) -> str:
    """A session id from the chat's first message, as a page contains no other lasting identity."""
    first = document.context.find("messages.html")
    if first is not None and not document.name.endswith("/messages.html"):
        for element in html_pages.elements(first, _is_part):
            if isinstance(element, InputProblem) or "message" not in element.classes:
                continue
            match = _NUMBER.match(element.attributes.get("id", ""))
            if match is None or match[1].startswith("-"):
                continue
            body = element.find_first("body") or element
            stamp = _own_element(body, "date", next(body.find_all(lambda e: "forwarded" in e.classes), None))
            number, (sent, _) = match[1], _time(stamp.attributes.get("title", "") if stamp else "", "")
            break
    return made_id("telegram", number, sent.isoformat() if sent else "")
