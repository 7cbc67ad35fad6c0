"""Discord besides the JSON of DiscordChatExporter: its text files, tables and pages, and Discord's own data package.

The exporter writes local times without a zone in text files and pages, in the style of the computer's language. The
package holds only the messages of the person who asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from typing import Any

from appliance.formats import html_pages, json_stream
from appliance.formats.base import Document, DocumentHead
from appliance.formats.html_pages import HtmlElement
from appliance.formats.json_fields import (
    as_dict,
    as_id,
    as_list,
    as_text,
    first_text,
    made_id,
    object_problem,
    sent_at,
    unreadable_time,
    with_attachments,
)
from appliance.formats.meta_words import read_date
from appliance.formats.people_chats import Participants
from appliance.formats.records import metadata_of
from appliance.formats.text_lines import TextEntry, csv_rows, text_lines
from appliance.formats.timestamps import read_time
from appliance.formats.whatsapp_lines import DateOrderEvidence, HeaderStyle, Order, decide_orders, parse_header
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_RULE = re.compile(r"={20,}")
_HEADER = re.compile(r"\[(?P<time>[^\]\n]{8,40})\] (?P<name>[^\n]{1,80}?)(?P<pinned> \(pinned\))?")
_FIELD = re.compile(r"(?P<name>Guild|Channel|Topic|After|Before): (?P<value>.+)")
_SECTION = re.compile(r"\{(?P<name>Attachments|Embed|Stickers|Reactions)\}")
_REACTION = re.compile(r"(?P<emoji>[^\s,()]+)(?: \((?P<count>\d+)\))?")
_WORD_DAY = re.compile(r"(?P<day>\d{1,2})-(?P<month>[A-Z][a-z]{2})-(?P<year>\d{2}) (?P<clock>.+)")
_COLUMNS = ("AuthorID", "Author", "Date", "Content", "Attachments", "Reactions")
_PACKAGE_COLUMNS = ("ID", "Timestamp", "Contents", "Attachments")
_CHANNEL_ID = re.compile(r"\[(?P<exporter>\d{15,})\]|(?:^|/)c?(?P<package>\d{15,})/messages\.(?:json|csv)$")
_PAGE = re.compile(r'class="?[^">]*chatlog__message')
_OWN_NAME = "Me"


def matches(head: DocumentHead) -> float:
    """The confidence that this is one of these files."""
    text = head.text.lstrip("\ufeff \r\n")
    first = text.split("\n", 1)[0].rstrip("\r")
    if _RULE.fullmatch(first) and any(_FIELD.fullmatch(line.rstrip("\r")) for line in text.split("\n")[1:4]):
        return 0.95
    if tuple(first.split(",")) in (_COLUMNS, _COLUMNS[:-1], _COLUMNS[:-2], _PACKAGE_COLUMNS):
        return 0.95
    if text.startswith("<"):
        return 0.95 if _PAGE.search(text) or "preamble__guild" in text else 0.0
    if text.startswith(("[", "{")) and (messages := json_stream.preview(head.text)):
        return 0.95 if set(_PACKAGE_COLUMNS[:3]) <= as_dict(messages[0]).keys() else 0.0
    return 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages in file order."""
    beginning = html_pages.read_beginning(document).lstrip("\ufeff \r\n")
    first = beginning.split("\n", 1)[0].rstrip("\r")
    channel = _Channel(document)
    if beginning.startswith("<"):
        yield from _pages(document, channel)
    elif _RULE.fullmatch(first):
        yield from _text(document, channel)
    elif beginning.startswith(("[", "{")):
        yield from _package_json(document, channel)
    else:
        yield from _table(document, channel)
    if channel.session is None:
        yield InputProblem("", "the file holds no messages", harmless=True)


@dataclass(slots=True)
class _Channel:
    """What is known of the channel, and its session once it has begun."""

    document: Document
    guild: str = ""
    name: str | None = None
    session: str | None = None
    participants: Participants = field(default_factory=Participants)

    def message(
        self,
        where: str,
        author: str | None,
        sent: datetime | None,
        text: str,
        *,
        identity: str | None = None,
        account: str | None = None,
        role: Role = "user",
        me: bool = False,
        **metadata: Any,
    ) -> Iterator[Record]:
        if not text.strip():
            yield InputProblem(where, "the message has no text; skipped", harmless=True)
            return
        if self.session is None:
            found = _CHANNEL_ID.search(self.document.name.replace("\\", "/"))
            known = (found["exporter"] or found["package"]) if found else None
            named = [self.guild, self.name] if self.name else [sent, author, text]
            self.session = known or made_id("discord", *named)
            yield SessionRecord(self.session, self.name, sent, metadata_of(guild=self.guild))
        yield from self.participants.note(self.session, author, ("id", account), ("name", author), me=me)
        values = metadata_of(**metadata)
        yield MessageRecord(self.session, role, text, identity, author, sent, None, values, where)


def _file_name(address: str) -> str:
    return address.partition("?")[0].rstrip("/").rpartition("/")[2] or address


def _attached(addresses: list[str]) -> list[dict[str, str]]:
    return [{"name": _file_name(address)} for address in addresses if address.strip()]


def _reactions(text: str) -> list[dict[str, Any]]:
    found = _REACTION.finditer(text.strip())
    return [{"emoji": one["emoji"], "count": int(one["count"] or 1)} for one in found]


def _text(document: Document, channel: _Channel) -> Iterator[Record]:
    orders, notes = _orders(document)
    yield from notes
    for entry in _text_entries(document, channel):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        where = f"line {entry.number}"
        stamp, lines = entry.lines[0], entry.lines[1:]
        sent = _local_time(stamp, orders)
        if sent is None:
            yield unreadable_time(where, stamp)
        parts: dict[str, list[str]] = {"": []}
        section = ""
        for line in lines:
            if found := _SECTION.fullmatch(line.strip()):
                section = found["name"]
                # A second embed follows on the first one after a blank line.
                parts.setdefault(section, []).append("")
            else:
                parts[section].append(line)
        files = _attached(parts.get("Attachments", []) + parts.get("Stickers", []))
        embed = "\n".join(parts.get("Embed", [])).strip()
        said = "\n".join(parts[""]).strip("\n")
        text = with_attachments(said or embed, files)
        if said and embed:
            files.append({"name": "embed", "text": embed})
        reactions = _reactions(" ".join(parts.get("Reactions", [])))
        author = entry.author or ""
        yield from channel.message(where, author or None, sent, text, attachments=files, reactions=reactions)


def _text_entries(document: Document, channel: _Channel) -> Iterator[TextEntry | InputProblem]:
    """The messages; the first line of each is its time. The title and the count between rules are none."""
    entry: TextEntry | None = None
    waiting: list[str] = []
    for line in text_lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, text = line[0], line[1].removeprefix("\ufeff")
        if entry is None and (found := _FIELD.fullmatch(text)):
            if found["name"] == "Guild":
                channel.guild = "" if found["value"] == "Direct Messages" else found["value"]
            elif found["name"] == "Channel":
                channel.name = found["value"].rpartition(" / ")[2]
        header = _HEADER.fullmatch(text)
        if header is not None and _is_time(header["time"]):
            if entry is not None:
                entry.lines += waiting
                yield entry
            entry, waiting = TextEntry(number, header["name"], None, [header["time"]]), []
        elif entry is not None:
            # The end of the file is a count between two rules.
            if waiting or _RULE.fullmatch(text):
                waiting.append(text)
                if len([one for one in waiting if one.strip()]) > 3:
                    entry.lines += waiting
                    waiting = []
            else:
                entry.lines.append(text)
    if entry is not None:
        if not any(one.startswith("Exported ") for one in waiting):
            entry.lines += waiting
        yield entry


def _is_time(stamp: str) -> bool:
    return _local_time(stamp, {}) is not None


def _orders(document: Document) -> tuple[dict[HeaderStyle, Order], list[InputProblem]]:
    """The order of day and month in the times of a text file or page."""
    styles: dict[HeaderStyle, DateOrderEvidence] = {}
    for line in text_lines(document):
        if not isinstance(line, InputProblem) and (found := _HEADER.fullmatch(line[1])):
            header = parse_header(f"[{found['time']}] ")
            if header is not None:
                styles.setdefault(header.style, DateOrderEvidence()).add(header, line[0])
    return decide_orders(styles, document)


def _local_time(stamp: str, orders: dict[HeaderStyle, Order]) -> datetime | None:
    """A local time: "01/15/2024 10:30 AM", "15-Jan-24 10:30 AM", "15.01.2024 10:30", ISO 8601."""
    stamp = stamp.strip()
    if (when := read_time(stamp)) is not None:
        return when
    if found := _WORD_DAY.fullmatch(stamp):
        return read_date(f"{found['day']} {found['month']} 20{found['year']} {found['clock']}")
    header = parse_header(f"[{stamp}] ")
    if header is None:
        return read_date(stamp)
    order = orders.get(header.style)
    return header.to_datetime(order) if order else header.to_datetime("mdy") or header.to_datetime("dmy")


def _table(document: Document, channel: _Channel) -> Iterator[Record]:
    columns: list[str] | None = None
    _describe_package(document, channel)
    for row in csv_rows(document):
        if isinstance(row, InputProblem):
            yield row
            continue
        number, fields = row
        if columns is None:
            columns = fields
            continue
        where, values = f"line {number}", dict(zip(columns, fields, strict=False))
        if "Contents" in values:
            yield from _package_message(values, channel, where)
            continue
        sent = _local_time(values.get("Date", ""), {})
        if sent is None:
            yield unreadable_time(where, values.get("Date", ""))
        files = _attached(values.get("Attachments", "").split(","))
        text = with_attachments(values.get("Content", ""), files)
        yield from channel.message(where, values.get("Author") or None, sent, text, account=values.get("AuthorID"),
                                   attachments=files, reactions=_reactions(values.get("Reactions", "")))  # fmt: skip


def _package_json(document: Document, channel: _Channel) -> Iterator[Record]:
    _describe_package(document, channel)
    for value in json_stream.records(document, (("ID", "Timestamp"),)):
        if isinstance(value, InputProblem):
            yield value
        elif problem := object_problem(value.data, f"line {value.line}", "message"):
            yield problem
        else:
            yield from _package_message(value.data, channel, f"line {value.line}")


def _describe_package(document: Document, channel: _Channel) -> None:
    """The channel's name and server, from the file beside the messages."""
    about = json_stream.first_object(document.context.find("channel.json"))
    channel.guild = as_text(as_dict(about.get("guild")).get("name"))
    people = [name for one in as_list(about.get("recipients")) if (name := as_id(one))]
    channel.name = as_text(about.get("name")) or ", ".join(people) or None


def _package_message(values: dict[str, Any], channel: _Channel, where: str) -> Iterator[Record]:
    sent, note = sent_at(values.get("Timestamp"), where)
    if note:
        yield note
    files = _attached(re.split(r"[ ,]+", as_text(values.get("Attachments"))))
    text = with_attachments(first_text(values, "Contents"), files)
    yield from channel.message(where, channel.document.context.me or _OWN_NAME, sent, text,
                               identity=as_id(values.get("ID")), me=True, attachments=files)  # fmt: skip


def _pages(document: Document, channel: _Channel) -> Iterator[Record]:
    entries: list[HtmlElement] = []
    author: str | None = None
    account: str | None = None
    sent: datetime | None = None
    for element in html_pages.elements(document, _is_part):
        if isinstance(element, InputProblem):
            yield element
            continue
        if "preamble__entry" in element.classes:
            entries.append(element)
            channel.guild, path = entries[0].text().strip(), entries[1].text() if len(entries) > 1 else ""
            channel.guild = "" if channel.guild == "Direct Messages" else channel.guild
            channel.name = path.rpartition(" / ")[2].strip() or None
            continue
        if not element.is_complete:
            yield InputProblem(f"line {element.line}", "the page is cut off or damaged; the intact part was imported")
        # Pages before 2021 have one header for several messages.
        for message in _messages_in(element):
            header = next((e for e in (message, element) if _find(e, "author", "author-name")), None)
            if header is not None and (name := _find(header, "author", "author-name")) is not None:
                author, account = name.text().strip() or None, name.attributes.get("data-user-id")
            when = _find(message, "timestamp", "short-timestamp") or _find(element, "timestamp")
            if when is not None:
                sent = _page_time(when)
            notice = _find(message, "system-notification-content")
            files = _page_files(message)
            body = notice or _find(message, "content")
            text = with_attachments(_without(body, "edited-timestamp").text().strip() if body else "", files)
            if not text and (embed := _find(message, "embed")):
                text = embed.text()
            where = f"line {message.line}"
            if notice is not None and (name := _find(message, "system-notification-author")):
                author, account = name.text().strip() or None, name.attributes.get("data-user-id")
                stamp = _find(message, "system-notification-timestamp")
                sent = _page_time(stamp) if stamp else sent
            identity = as_id(message.attributes.get("data-message-id"))
            edited = _find(message, "edited-timestamp") is not None
            role: Role = "system" if notice else "user"
            yield from channel.message(where, author, sent, text, identity=identity, account=account, role=role,
                                       attachments=files, edited=edited)  # fmt: skip


def _is_part(element: HtmlElement) -> bool:
    return bool({"chatlog__message-group", "preamble__entry"} & set(element.classes))


def _messages_in(group: HtmlElement) -> list[HtmlElement]:
    def is_message(element: HtmlElement) -> bool:
        return "data-message-id" in element.attributes

    return list(group.find_all(is_message, nested=False)) or [group]


def _find(element: HtmlElement, *names: str) -> HtmlElement | None:
    wanted = {f"chatlog__{name}" for name in names}
    return next(iter(element.find_all(lambda e: bool(wanted & set(e.classes)))), None)


def _without(element: HtmlElement, name: str) -> HtmlElement:
    inside = [
        _without(inner, name) if isinstance(inner, HtmlElement) else inner
        for inner in element.children
        if isinstance(inner, str) or f"chatlog__{name}" not in inner.classes
    ]
    return HtmlElement(element.tag, element.attributes, element.line, inside, element.is_complete)


def _page_time(element: HtmlElement) -> datetime | None:
    """The time of a message: the title has the month as a word, the text only numbers."""
    title, text = element.attributes.get("title", ""), element.text().strip()
    return (read_date(title) if title else None) or _local_time(text, {}) or _local_time(title, {})


def _page_files(message: HtmlElement) -> list[dict[str, str]]:
    inside = list(message.find_all(lambda e: any("attachment" in one for one in e.classes), nested=False))
    links = [
        inner for element in inside for inner in element.find_all(lambda e: e.tag in ("a", "img", "video", "source"))
    ]
    addresses = dict.fromkeys(one.attributes.get("href") or one.attributes.get("src") or "" for one in links)
    return list({file["name"]: file for file in _attached(list(addresses))}.values())
