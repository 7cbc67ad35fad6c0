"""Facebook Messenger and Instagram: a thread's ``message_1.json`` and so on, and what was encrypted end to end.

The strings of these exports are UTF-8 that was written as if it were Latin-1; that is undone, string by
string, where it can be. A thread's numbered files are one session. The HTML forms are read by
``meta_html``, and passed over where the same thread lies there as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.ingest.parse import jsonstream, meta_html, meta_words
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.meta_words import thread_id
from appliance.ingest.parse.people import made_id, sent_at
from appliance.ingest.parse.salvage import is_whole
from appliance.types import MessageRecord, Problem, Record, SessionRecord

_FIRST_KEYS = (("participants", "messages"), ("participants", "threadName"))
_FILES = ("photos", "videos", "audio_files", "files", "gifs", "media", "sticker")
_EVENT_TYPES = frozenset({"Call", "Subscribe", "Unsubscribe", "Plan", "Poll", "Payment", "placeholder"})
_NUMBER_BEHIND = re.compile(r"_\d+$")


def matches(head: Head) -> float:
    """How surely this is a thread: messages with ``sender_name`` and ``timestamp_ms``, or its HTML."""
    best = meta_html.likeness(head)
    for record in jsonstream.preview(head.text)[:3]:
        data = as_dict(record)
        messages = [as_dict(message) for message in as_list(data.get("messages"))]
        told = any({"sender_name", "timestamp_ms"} <= message.keys() for message in messages)
        encrypted = any({"senderName", "timestamp"} <= message.keys() for message in messages)
        if told or (encrypted and "threadName" in data):
            best = max(best, 0.95)
        elif {"participants", "thread_path", "title"} <= data.keys() or {
            "participants",
            "threadName",
        } <= data.keys():
            best = max(best, 0.9)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The messages of a file, the oldest first."""
    if meta_html.is_page(document):
        yield from meta_html.parse(document)
        return
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
        elif not isinstance(value.data, dict):
            yield Problem(
                f"thread {value.number}", f"not a thread but a {type(value.data).__name__}; passed over"
            )
        else:
            yield from _thread(document, value.data, f"thread {value.number}")


@dataclass(slots=True)
class _Thread:
    """What the messages of a file share."""

    session: str
    where: str
    passed: Counter[str] = field(default_factory=Counter)


def _thread(document: Document, data: dict[str, Any], where: str) -> Iterator[Record]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        lost = (
            "has no messages" if messages is None else f"messages is a {type(messages).__name__}, not a list"
        )
        yield Problem(where, f"{lost}; passed over", harmless=messages is None and is_whole(data))
        return
    thread_name = unmangled(as_text(data.get("threadName")))
    title = unmangled(as_text(data.get("title"))) or _NUMBER_BEHIND.sub("", thread_name) or None
    thread = _Thread(_session(document, data, thread_name, title), f"{where} ({title})" if title else where)
    if messages:
        yield SessionRecord(thread.session, title)
    numbered = list(enumerate(messages, 1))
    times = [
        t for m in messages if isinstance(t := _time_of(as_dict(m)), int | float) and not isinstance(t, bool)
    ]
    if len(times) > 1 and times[0] > times[-1]:
        # Newest first: of messages of the same moment, too, the later one stands before the earlier.
        numbered.reverse()
    for number, message in numbered:
        yield from _message(thread, message, f"{thread.where}, message {number}")
    for kind, count in sorted(thread.passed.items()):
        yield Problem(thread.where, f"{count} {kind}; passed over", harmless=True)


def _session(document: Document, data: dict[str, Any], thread_name: str, title: str | None) -> str:
    """The thread by its own id, by its folder, or by who takes part in it."""
    given = thread_id(unmangled(as_text(data.get("thread_path"))))
    if given:
        return given
    if thread_name:
        return f"e2ee:{thread_name}"
    if folder := meta_words.folder_id(document.name):
        return folder
    people = [as_text(p) or as_text(as_dict(p).get("name")) for p in as_list(data.get("participants"))]
    return made_id("meta", *sorted(unmangled(name) for name in people), *([] if people else [title]))


def _message(thread: _Thread, data: Any, where: str) -> Iterator[Record]:
    if not isinstance(data, dict):
        if data is not None:
            yield Problem(where, f"not a message but a {type(data).__name__}; passed over")
        return
    if not is_whole(data):
        yield Problem(where, "the message is damaged or cut off; passed over")
        return
    author = unmangled(as_text(data.get("sender_name")) or as_text(data.get("senderName"))) or None
    words = unmangled(as_text(data.get("content")) or as_text(data.get("text")))
    files = _files(data)
    unsent = data.get("is_unsent") is True or data.get("isUnsent") is True
    kind, lasted = as_text(data.get("type")), data.get("call_duration")
    if not words and (kind == "Call" or isinstance(lasted, int)):
        words = (
            f"[call: {lasted} s]" if isinstance(lasted, int) and not isinstance(lasted, bool) else "[call]"
        )
    text = with_attachments(words, files)
    if not text.strip():
        thread.passed["messages were unsent" if unsent else "messages hold no words"] += 1
        return
    sent, note = sent_at(_time_of(data), where)
    if note:
        yield note
    event = (
        kind in _EVENT_TYPES or isinstance(lasted, int) or meta_words.is_notice(words, author, bool(files))
    )
    metadata: dict[str, Any] = {"attachments": files} if files else {}
    reactions = [
        {"emoji": unmangled(as_text(entry.get("reaction"))), "by": unmangled(as_text(entry.get("actor")))}
        for entry in map(as_dict, as_list(data.get("reactions")))
        if as_text(entry.get("reaction"))
    ]
    if reactions:
        metadata["reactions"] = reactions
    if unsent:
        metadata["deleted"] = True
    role = meta_words.role_of(event)
    yield MessageRecord(thread.session, role, text, None, author, sent, metadata=metadata, where=where)


def _time_of(data: dict[str, Any]) -> Any:
    return data.get("timestamp_ms", data.get("timestamp"))


def _files(data: dict[str, Any]) -> list[dict[str, str]]:
    """Media by the names of their files, and what was shared by its link."""
    found: list[dict[str, str]] = []
    for key in _FILES:
        value = data.get(key)
        for entry in [value] if isinstance(value, dict) else as_list(value):
            uri = unmangled(as_text(as_dict(entry).get("uri")))
            if uri:
                found.append({"name": uri.rstrip("/").rpartition("/")[2] or uri})
    share = as_dict(data.get("share"))
    link, said = unmangled(as_text(share.get("link"))), unmangled(as_text(share.get("share_text")))
    words = unmangled(as_text(data.get("content")))
    # A link that was typed stands in the words already.
    if said or (link and link not in words):
        found.append({"name": link or "shared"} | ({"text": said} if said else {}))
    return found


def unmangled(text: str) -> str:
    """A text out of its UTF-8 bytes that were taken for Latin-1; as it is where it is not that."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
