"""Telegram Desktop's HTML form: ``messages.html``, ``messages2.html`` and so on are one chat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from appliance.ingest.parse import pages
from appliance.ingest.parse.base import Document
from appliance.ingest.parse.fields import with_attachments
from appliance.ingest.parse.pages import Element
from appliance.ingest.parse.people import Ids, made_id
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_PAGE = re.compile(r"<div class=\"(?:history|message (?:default|service)\b|page_body chat_page)")
_NUMBER = re.compile(r"message(-?\d+)$", re.ASCII)
_ANSWERED = re.compile(r"go_to_message(-?\d+)$", re.ASCII)
_TIME = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)(?: UTC([+-])(\d\d):(\d\d))?\s*$", re.ASCII)
_JSON_BESIDE = ("result.json", "../../result.json")
_MEDIA = ("photo_wrap", "video_file_wrap", "animated_wrap", "sticker_wrap", "media", "media_wrap")


def is_page(head: str) -> bool:
    """Whether a document begins like a page of a chat."""
    start = head.lstrip("\ufeff \t\r\n")[:100].lower()
    return start.startswith(("<!doctype html", "<html", "<div")) and _PAGE.search(head) is not None


def parse(document: Document) -> Iterator[Record]:
    """The messages of one page; none of them where the same export lies there as JSON."""
    if any(document.around.find(path) is not None for path in _JSON_BESIDE):
        yield Problem("", "the same export is there as result.json, which is read instead", harmless=True)
        return
    chat = _Chat()
    for element in pages.elements(document, _is_part):
        if isinstance(element, Problem):
            yield element
            continue
        where = f"line {element.line}"
        if "message" not in element.classes:
            chat.title = chat.title or element.text().strip() or None
        elif not element.whole:
            yield Problem(where, "the file is cut off or broken inside a message; passed over")
        else:
            yield from _message(document, chat, element, where)
    if chat.empty:
        yield Problem("", f"{chat.empty} messages hold no words; passed over", harmless=True)


@dataclass(slots=True)
class _Chat:
    """A page as it goes by: the chat's name and id, who spoke last, and the ids that were seen."""

    title: str | None = None
    session: str | None = None
    author: str | None = None
    ids: Ids = field(default_factory=Ids)
    empty: int = 0


def _is_part(element: Element) -> bool:
    classes = element.classes
    return element.tag == "div" and ("message" in classes or classes == ["text", "bold"])


def _message(document: Document, chat: _Chat, element: Element, where: str) -> Iterator[Record]:
    found = _NUMBER.match(element.attributes.get("id", ""))
    number = found[1] if found else None
    service = "service" in element.classes
    if service and (number is None or number.startswith("-")):
        # The page's own lines between two days.
        return
    body = element.first("body") or element
    forwarded = next(body.all(lambda e: {"forwarded", "body"} <= set(e.classes)), None)
    stamp = _own(body, "date", forwarded)
    sent, note = _time(stamp.attributes.get("title", "") if stamp else "", where)
    if note:
        yield note
    if chat.session is None:
        chat.session = _session(document, number, sent)
        yield SessionRecord(chat.session, chat.title)
    metadata: dict[str, Any] = {}
    reply_to: str | None = None
    if service:
        author, text = None, _without(body, stamp).text()
    else:
        if named := _own(body, "from_name", forwarded):
            chat.author = _without(named, named.first("details")).text().strip() or None
        author = chat.author
        inner = forwarded or body
        said = inner.first("text")
        text = said.text() if said else _poll(inner)
        files = _files(inner)
        text = with_attachments(text, files)
        if files:
            metadata["attachments"] = files
        if reactions := _reactions(body):
            metadata["reactions"] = reactions
        if forwarded and (source := forwarded.first("from_name")):
            metadata["forwarded_from"] = _without(source, source.first("details")).text().strip()
        if (answered := _own(body, "reply_to", forwarded)) is not None:
            targets = [
                _ANSWERED.search(e.attributes.get("href", "")) for e in answered.all(lambda e: e.tag == "a")
            ]
            reply_to = next((target[1] for target in targets if target), None)
    if not text.strip():
        chat.empty += 1
        return
    identity, again, noted = chat.ids.claim(number, text, author or "")
    if noted:
        yield Problem(where, noted, harmless=True)
    if not again:
        role: Role = "system" if service else "user"
        yield MessageRecord(chat.session, role, text, identity, author, sent, reply_to, metadata, where)


def _own(body: Element, name: str, forwarded: Element | None) -> Element | None:
    """The first element of a class that belongs to the message itself, not to what it forwards."""
    foreign = set() if forwarded is None else {id(e) for e in forwarded.all(lambda e: True)}
    return next((e for e in body.all(lambda e: name in e.classes) if id(e) not in foreign), None)


def _without(element: Element, part: Element | None) -> Element:
    inside = [inner for inner in element.inside if inner is not part]
    return Element(element.tag, element.attributes, element.line, inside, element.whole)


def _time(title: str, where: str) -> tuple[datetime | None, Problem | None]:
    """ "12.05.2020 10:00:00 UTC+01:00" in UTC; older exports have no zone."""
    found = _TIME.match(title.strip())
    try:
        if found is not None:
            day, month, year, hour, minute, second = (int(part) for part in found.groups()[:6])
            local = datetime(year, month, day, hour, minute, second)
            if found[7] is None:
                return local, None
            ahead = timedelta(hours=int(found[8]), minutes=int(found[9]))
            return local.replace(tzinfo=timezone(ahead if found[7] == "+" else -ahead)).astimezone(UTC), None
    except (ValueError, OverflowError):
        pass
    if not title:
        return None, None
    return None, Problem(where, f"the time {title[:60]!r} can't be read; left open", harmless=True)


def _files(body: Element) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for media in body.all(lambda e: any(name in e.classes for name in _MEDIA[:-1]), within=False):
        href = media.attributes.get("href", "")
        title, status = media.first("title"), media.first("description")
        name = href.rpartition("/")[2] if href and "://" not in href else ""
        kind = title.text().strip() if title else ""
        # A place, a contact or a call is no file: what it says stands in its title and status.
        if not name or any(c in media.classes for c in ("media_call", "media_location", "media_contact")):
            status = status or media.first("status")
            said = status.text().strip() if status and "Not included" not in status.text() else ""
            name = ": ".join(part for part in (kind, said) if part)
        found.append({"name": name or "file"})
    return found


def _poll(body: Element) -> str:
    poll = body.first("media_poll")
    if poll is None:
        return ""
    lines = [e.text().strip() for e in poll.all(lambda e: "question" in e.classes or "answer" in e.classes)]
    return "\n".join(lines)


def _reactions(body: Element) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for reaction in body.all(lambda e: "reaction" in e.classes):
        emoji = reaction.first("emoji")
        name = emoji.text().strip() if emoji else ""
        people = [e.attributes["title"] for e in reaction.all(lambda e: bool(e.attributes.get("title")))]
        count = reaction.first("count")
        found += [{"emoji": name, "by": person} for person in people]
        if not people and name:
            number = count.text().strip() if count else ""
            found.append({"emoji": name} | ({"count": int(number)} if number.isdecimal() else {}))
    return found


def _session(document: Document, number: str | None, sent: datetime | None) -> str:
    """The chat by its first message: a page says neither its id nor anything else that stays."""
    first = document.around.find("messages.html")
    if first is not None and not document.name.endswith("/messages.html"):
        for element in pages.elements(first, _is_part):
            if isinstance(element, Problem) or "message" not in element.classes:
                continue
            found = _NUMBER.match(element.attributes.get("id", ""))
            if found is None or found[1].startswith("-"):
                continue
            body = element.first("body") or element
            stamp = _own(body, "date", next(body.all(lambda e: "forwarded" in e.classes), None))
            number, (sent, _) = found[1], _time(stamp.attributes.get("title", "") if stamp else "", "")
            break
    return made_id("telegram", number, sent.isoformat() if sent else "")
