"""Facebook Messenger and Instagram: a thread's ``message_1.json`` and so on, and end-to-end encrypted threads.

The strings of these exports are UTF-8 bytes written as Latin-1; the parser repairs each string where it can. A
thread's numbered files are one session. ``meta_html`` reads the HTML forms, unless the same thread exists as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from typing import Any

from appliance.formats import json_fields, json_stream, meta_html, meta_words, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text, with_attachments
from appliance.formats.meta_words import thread_id
from appliance.formats.people_chats import Participants
from appliance.formats.records import counted, metadata_of, missing_messages, parse_objects
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_FIRST_KEYS = (("participants", "messages"), ("participants", "threadName"))
_FILES = ("photos", "videos", "audio_files", "files", "gifs", "media", "sticker")
_EVENT_TYPES = frozenset({"Call", "Subscribe", "Unsubscribe", "Plan", "Poll", "Payment", "placeholder"})
_TRAILING_NUMBER = re.compile(r"_\d+$")


def matches(head: DocumentHead) -> float:
    """The confidence that this is a thread: messages with ``sender_name`` and ``timestamp_ms``, or its HTML."""
    return max(meta_html.match_page(head), *map(_score, json_stream.preview(head.text)[:3]), 0.0)


def _score(record: Any) -> float:
    data = as_dict(record)
    messages = [as_dict(message) for message in as_list(data.get("messages"))]
    if any({"sender_name", "timestamp_ms"} <= message.keys() for message in messages):
        return 0.95
    if "threadName" in data and any({"senderName", "timestamp"} <= message.keys() for message in messages):
        return 0.95
    if any({"sender_name", "content"} <= message.keys() for message in messages):
        return 0.85
    is_thread = {"participants", "thread_path", "title"} <= data.keys() or {"participants", "threadName"} <= data.keys()
    return 0.9 if is_thread else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages of a file, oldest first."""
    if meta_html.is_page(document):
        return meta_html.parse(document)
    return parse_objects(document, _FIRST_KEYS, "thread", partial(_thread, document))


@dataclass(slots=True)
class _MetaThread:
    """The session of a file's messages, and counts of those that were skipped."""

    session: str
    where: str
    skipped: Counter[str] = field(default_factory=Counter)


def _thread(document: Document, data: dict[str, Any], where: str) -> Iterator[Record]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        yield missing_messages(messages, data, where)
        return
    thread_name = repair_mojibake(as_text(data.get("threadName")))
    title = repair_mojibake(as_text(data.get("title"))) or _TRAILING_NUMBER.sub("", thread_name) or None
    thread = _MetaThread(_session(document, data, thread_name, title), f"{where} ({title})" if title else where)
    if messages:
        yield SessionRecord(thread.session, title)
    participants, own = Participants(), _own_name(document)
    numbered = list(enumerate(messages, 1))
    times = [t for m in messages if isinstance(t := _time_of(as_dict(m)), int | float) and not isinstance(t, bool)]
    if len(times) > 1 and times[0] > times[-1]:
        # The file is newest first, also among messages of the same time.
        numbered.reverse()
    for number, message in numbered:
        for record in _message(thread, message, f"{thread.where}, message {number}"):
            if isinstance(record, MessageRecord) and own and record.author == own and record.role == "user":
                yield from participants.note(thread.session, own, ("name", own), me=True)
            yield record
    for kind, count in sorted(thread.skipped.items()):
        yield InputProblem(thread.where, f"skipped {counted(count, 'message')} {kind}", harmless=True)


_OWN_PROFILES = (
    "profile_information/profile_information.json", "personal_information/profile_information/profile_information.json",
    "personal_information/personal_information/personal_information.json",
    "personal_information/personal_information.json",
    "account_information/personal_information.json",
)  # fmt: skip
_MAX_FOLDERS_UP = 5
_MAX_PROFILE_BYTES = 10_000_000


def _own_name(document: Document) -> str:
    """The name of the person whose export it is, from the profile beside the messages; empty if there is none."""
    return document.context.get_or_create("meta owner", lambda: _read_own_name(document))


def _read_own_name(document: Document) -> str:
    for folders in range(1, _MAX_FOLDERS_UP + 1):
        for place in _OWN_PROFILES:
            data = json_stream.first_object(document.context.find("../" * folders + place), _MAX_PROFILE_BYTES)
            for key in ("profile_v2", "profile"):
                name = as_dict(as_dict(data.get(key)).get("name"))
                if full := repair_mojibake(as_text(name.get("full_name"))):
                    return full
            for user in map(as_dict, as_list(data.get("profile_user"))):
                fields = as_dict(user.get("string_map_data"))
                if full := repair_mojibake(as_text(as_dict(fields.get("Name")).get("value"))):
                    return full
    return ""


def _session(document: Document, data: dict[str, Any], thread_name: str, title: str | None) -> str:
    """The thread's own id, else one from its folder, else one from its participants."""
    if identity := thread_id(repair_mojibake(as_text(data.get("thread_path")))):
        return identity
    if thread_name:
        return f"e2ee:{thread_name}"
    if folder := meta_words.folder_id(document.name):
        return folder
    people = [as_text(p) or as_text(as_dict(p).get("name")) for p in as_list(data.get("participants"))]
    return json_fields.made_id("meta", *sorted(repair_mojibake(name) for name in people), *([] if people else [title]))


def _message(thread: _MetaThread, data: Any, where: str) -> Iterator[Record]:
    if problem := json_fields.object_problem(data, where, "message"):
        if data is not None:
            yield problem
        return
    author = repair_mojibake(first_text(data, "sender_name", "senderName")) or None
    text = repair_mojibake(first_text(data, "content", "text"))
    files = _files(data)
    if not text and not files and (text := repair_mojibake(unknown_text.text_under_text_keys(data))):
        yield unknown_text.kept(where)
    is_unsent = data.get("is_unsent") is True or data.get("isUnsent") is True
    kind, seconds = as_text(data.get("type")), data.get("call_duration")
    if not text and (kind == "Call" or isinstance(seconds, int)):
        text = f"[call: {seconds} s]" if isinstance(seconds, int) and not isinstance(seconds, bool) else "[call]"
    is_event = kind in _EVENT_TYPES or isinstance(seconds, int) or meta_words.is_notice(text, author, bool(files))
    text = with_attachments(text, files)
    if not text.strip():
        thread.skipped["that had been unsent" if is_unsent else "without text"] += 1
        return
    sent, note = json_fields.sent_at(_time_of(data), where)
    if note:
        yield note
    reactions = [
        {"emoji": repair_mojibake(as_text(entry.get("reaction"))), "by": repair_mojibake(as_text(entry.get("actor")))}
        for entry in map(as_dict, as_list(data.get("reactions")))
        if as_text(entry.get("reaction"))
    ]
    metadata = metadata_of(attachments=files, reactions=reactions, deleted=is_unsent)
    role: Role = "system" if is_event else "user"
    known = tuple(json_fields.attached_file(_base(uri), path=uri) for uri in _addresses(data))
    yield MessageRecord(thread.session, role, text, None, author, sent, metadata=metadata, where=where, files=known)


def _time_of(data: dict[str, Any]) -> Any:
    return data.get("timestamp_ms", data.get("timestamp"))


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    """Media by their file names, and shared content by its link."""
    files = [{"name": _base(uri)} for uri in _addresses(data)]
    share = as_dict(data.get("share"))
    link, text = repair_mojibake(as_text(share.get("link"))), repair_mojibake(as_text(share.get("share_text")))
    # A typed link is part of the message's text already.
    if text or (link and link not in repair_mojibake(as_text(data.get("content")))):
        files.append({"name": link or "shared"} | ({"text": text} if text else {}))
    return files


def _addresses(data: dict[str, Any]) -> Iterator[str]:
    """The paths of media in the export."""
    for key in _FILES:
        value = data.get(key)
        for entry in [value] if isinstance(value, dict) else as_list(value):
            if uri := repair_mojibake(as_text(as_dict(entry).get("uri"))):
                yield uri


def _base(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2] or uri


def repair_mojibake(text: str) -> str:
    """Undo the reading of UTF-8 bytes as Latin-1; other texts stay as they are."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
