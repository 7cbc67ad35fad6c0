"""ChatGPT: ``conversations.json``, alone or numbered, a single conversation, or one a line.

A conversation is a tree of nodes, ``mapping``. Every node that carries words becomes a message: the
active path as it was read, other branches with ``branch``, what the person never saw with ``hidden``,
and calls, results and reasoning as role ``tool`` with ``tools``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, Placed, reading_order
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_FIRST_KEYS = (("title", "create_time"), ("id", "title"), ("conversation_id", "title"))
_REASONING = ("thoughts", "reasoning_recap")
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def matches(head: Head) -> float:
    """How surely these are ChatGPT conversations: objects with a ``mapping`` of nodes."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("mapping"), dict):
            nodes = [node for node in record["mapping"].values() if isinstance(node, dict)]
            messages = [m for node in nodes if isinstance(m := node.get("message"), dict)]
            # DeepSeek has the same tree, with fragments in place of an author and a content.
            foreign = bool(messages) and all("fragments" in m for m in messages)
            best = max(best, 0.2 if foreign else 0.95 if messages else 0.8)
        elif {"title", "create_time"} <= record.keys():
            best = max(best, 0.6 if {"conversation_id", "default_model_slug"} & record.keys() else 0.4)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations of the file, one at a time."""
    for found in turns.conversations(document, _FIRST_KEYS, "mapping"):
        if isinstance(found, Problem):
            yield found
        else:
            number, data = found
            yield from _conversation(data, number)


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    where = f"conversation {number}"
    title = as_text(data.get("title")) or None
    if title:
        where += f" ({title})"
    mapping = data.get("mapping")
    if mapping is None:
        yield Problem(where, "has no messages (no mapping); passed over", harmless=is_whole(data))
        return
    if not isinstance(mapping, dict):
        yield Problem(where, f"mapping is a {type(mapping).__name__}, not an object; passed over")
        return
    session = _session_id(data, mapping)
    metadata = {}
    if model := as_text(data.get("default_model_slug")):
        metadata["model"] = model
    created = read_time(data.get("create_time"), UTC)
    if created is None and data.get("create_time") is not None:
        yield _unreadable(where, data["create_time"])
    yield SessionRecord(session, title, created, metadata)
    yield from _messages(session, mapping, as_id(data.get("current_node")), where)


def _messages(session: str, mapping: dict[str, Any], current: str | None, where: str) -> Iterator[Record]:
    links: dict[str, Link] = {}
    times: dict[str, datetime | None] = {}
    for key, node in mapping.items():
        if isinstance(node, dict):
            time = times[key] = read_time(as_dict(node.get("message")).get("create_time"), UTC)
            children = [child for child in as_list(node.get("children")) if isinstance(child, str)]
            links[key] = Link(as_id(node.get("parent")), children, time.timestamp() if time else None)
        else:
            yield Problem(f"{where}, node {key}", f"not an object but a {type(node).__name__}; passed over")
    if current is not None and current not in links:
        yield Problem(
            where, f"current_node {current} is not there; the last message was taken", harmless=True
        )
    # The nearest message at or above each node, which is what an answer to the node answers.
    nearest: dict[str | None, str | None] = {None: None}
    used: set[str] = set()
    for placed in reading_order(links, current):
        above = nearest.get(placed.parent)
        nearest[placed.node] = above
        message = mapping[placed.node].get("message")
        if message is None:
            continue
        place = f"{where}, node {placed.node}"
        if not isinstance(message, dict):
            yield Problem(place, f"message is a {type(message).__name__}, not an object; passed over")
            continue
        if not is_whole(message):
            yield Problem(place, "the message is damaged or cut off; passed over")
            continue
        for record in _message(session, message, placed, times[placed.node], above, place):
            if isinstance(record, MessageRecord) and record.external_id in used:
                # The tree's key is unique in any case.
                if placed.node in used:
                    yield Problem(place, f"the id {record.external_id} is there twice; passed over")
                    continue
                yield _with_id(record, placed.node)
                used.add(placed.node)
                nearest[placed.node] = placed.node
                continue
            if isinstance(record, MessageRecord) and record.external_id is not None:
                used.add(record.external_id)
                nearest[placed.node] = record.external_id
            yield record


def _message(
    session: str,
    message: dict[str, Any],
    placed: Placed,
    sent: datetime | None,
    reply_to: str | None,
    where: str,
) -> Iterator[Record]:
    author = as_dict(message.get("author"))
    own = as_dict(message.get("metadata"))
    content = message.get("content")
    spoken = as_text(author.get("role")) or as_text(message.get("role"))
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    if not isinstance(content, dict) and content is not None:
        yield Problem(where, f"content is a {type(content).__name__}, not an object; passed over")
        return
    content = content or {}
    kind = as_text(content.get("content_type"))
    text, pointers = _words(content, kind)
    attachments = _attachments(own, pointers)
    text = with_attachments(text, attachments)
    if not text.strip():
        if spoken != "system" and any(
            content.get(key) not in (None, "", [], [""]) for key in ("parts", "text")
        ):
            yield Problem(where, f"no text in this {kind or 'message'}; passed over", harmless=True)
        return
    if spoken.lower() not in _ROLES:
        yield Problem(where, f"unknown role {spoken!r}; kept as system")
    role = _ROLES.get(spoken.lower(), "system")
    name = as_text(author.get("name")) or None
    recipient = as_text(message.get("recipient"))
    metadata: dict[str, Any] = {}
    if kind in _REASONING:
        role, metadata["tools"] = "tool", [{"kind": "reasoning"}]
    elif role == "tool":
        metadata["tools"] = [{"kind": "result", "name": name or ""}]
    elif role == "assistant" and recipient not in ("", "all"):
        role, metadata["tools"] = "tool", [{"kind": "call", "name": recipient}]
    injected = kind in ("user_editable_context", "model_editable_context") or own.get(
        "is_user_system_message"
    )
    if role == "system" or injected or own.get("is_visually_hidden_from_conversation") is True:
        metadata["hidden"] = True
        role = "tool" if role == "tool" else "system"
    if placed.branch:
        metadata["branch"] = True
    if attachments:
        metadata["attachments"] = attachments
    if model := as_text(own.get("model_slug")):
        metadata["model"] = model
    if sent is None and message.get("create_time") is not None:
        yield _unreadable(where, message["create_time"])
    identity = as_id(message.get("id")) or placed.node
    yield MessageRecord(session, role, text, identity, name, sent, reply_to, metadata, where)


def _words(content: dict[str, Any], kind: str) -> tuple[str, list[str]]:
    """What a message's content says, and the files that it points to."""
    pointers: list[str] = []
    words: list[str] = []
    if kind == "user_editable_context":
        words = [as_text(content.get("user_profile")), as_text(content.get("user_instructions"))]
    elif kind == "thoughts":
        for thought in as_list(content.get("thoughts")):
            told = as_dict(thought)
            words += [as_text(told.get("summary")), as_text(told.get("content"))]
    elif kind == "tether_quote":
        words = [as_text(content.get(key)) for key in ("title", "text", "url")]
    elif kind == "tether_browsing_display":
        words = [as_text(content.get("result")) or as_text(content.get("summary"))]
    if not any(words):
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else [parts]:
            _part(part, words, pointers)
    if not any(words):
        words = [as_text(content.get(key)) for key in ("text", "content", "result", "model_set_context")]
    return "\n".join(word for word in words if word), pointers


def _part(part: Any, words: list[str], pointers: list[str]) -> None:
    if isinstance(part, str):
        words.append(part)
    elif isinstance(part, dict):
        words.append(as_text(part.get("text")))
        pointer = part.get("asset_pointer") or as_dict(part.get("audio_asset_pointer")).get("asset_pointer")
        if isinstance(pointer, str):
            pointers.append(pointer)


def _attachments(own: dict[str, Any], pointers: list[str]) -> list[dict[str, str]]:
    """The files of a message by name, with their text where the export has it."""
    attachments: list[dict[str, str]] = []
    known: set[str] = set()
    for entry in as_list(own.get("attachments")):
        given = as_dict(entry)
        name = as_text(given.get("name")) or as_text(given.get("id"))
        if not name:
            continue
        known.add(as_text(given.get("id")) or name)
        attachment = {"name": name}
        text = next(
            (t for key in ("text", "extracted_content", "content") if (t := as_text(given.get(key)))), ""
        )
        if text:
            attachment["text"] = text
        attachments.append(attachment)
    for pointer in pointers:
        name = pointer.rpartition("://")[2]
        if not any(identity in pointer for identity in known):
            attachments.append({"name": name})
    return attachments


def _session_id(data: dict[str, Any], mapping: dict[str, Any]) -> str:
    """The conversation's own id, else one made from what doesn't change when it is renamed or goes on."""
    given = as_id(data.get("conversation_id")) or as_id(data.get("id"))
    if given:
        return given
    born = data.get("create_time") or as_text(data.get("title"))
    first = next(iter(mapping), "")
    return "chatgpt-" + hashlib.sha256(f"{born}|{first}".encode("utf-8", "replace")).hexdigest()[:24]


def _with_id(record: MessageRecord, identity: str) -> MessageRecord:
    return MessageRecord(
        record.session, record.role, record.text, identity, record.author, record.sent_at,
        record.reply_to, record.metadata, record.where,
    )  # fmt: skip


def _unreadable(where: str, value: Any) -> Problem:
    return Problem(where, f"the time {str(value)[:60]!r} can't be read; left open", harmless=True)
