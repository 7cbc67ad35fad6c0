"""LibreChat's exports of a conversation, nested or flat, and those of Chatbot UI, its forerunner.

LibreChat: messages with ``messageId`` and ``parentMessageId``, in a flat list or each with its
``children``. Nothing says which branch was last seen: the latest message is taken to be its end.
Chatbot UI: ``history``, a list of conversations of plain turns; its ``prompts`` are templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream, pieces
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text
from appliance.ingest.parse.pieces import Content, Piece, Place
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, Placed, reading_order
from appliance.ingest.parse.when import read_time
from appliance.types import Problem, Record, Role, SessionRecord

_FIRST_KEYS = (("conversationId", "endpoint"), ("conversationId", "title"), ("version", "history"))
# Two levels for each message that is nested in the one before it.
_MAX_DEPTH = 20_000
# A first message's parent.
_ROOT = re.compile(r"[0-]*")
_THOUGHT = re.compile(r":::thinking[ \t]*\n(.*?)\n?:::[ \t]*(?:\n+|$)", re.DOTALL)


def matches(head: Head) -> float:
    """How surely these are conversations of LibreChat, or a file of Chatbot UI."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if isinstance(record, dict):
            best = max(best, _own(record), 0.95 if _is_chatbot(record) else 0.0)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations of the file."""
    for value in jsonstream.records(document, _FIRST_KEYS, max_depth=_MAX_DEPTH):
        if isinstance(value, Problem):
            yield value
        elif isinstance(value.data, dict) and _is_chatbot(value.data):
            yield from _chatbot(value.data)
        else:
            yield from _conversation(value.data, f"conversation {value.number}")


def _own(record: dict[str, Any]) -> float:
    first = next((m for m in _given(record) if isinstance(m, dict)), {})
    if {"messageId", "isCreatedByUser"} <= first.keys():
        return 0.95
    if "messagesTree" in record or {"exportAt", "recursive"} <= record.keys():
        return 0.9
    return 0.8 if {"messageId", "parentMessageId"} <= first.keys() else 0.0


def _given(record: dict[str, Any]) -> list[Any]:
    """The messages at the top: a list, or one message with all others below it."""
    for key in ("messages", "messagesTree"):
        value = record.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            return [value] if "messageId" in value else as_list(value.get("children"))
    return []


# --- LibreChat --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Node:
    message: dict[str, Any]
    parent: str | None
    identity: str | None
    sent: datetime | None


def _conversation(data: Any, where: str) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield Problem(where, f"not a conversation but a {type(data).__name__}; passed over")
        return
    if title := as_text(data.get("title")) or None:
        where += f" ({title})"
    given = _given(data)
    if not given:
        wrong = data.get("messages", data.get("messagesTree"))
        said = f"messages is a {type(wrong).__name__}, not a list" if wrong not in (None, [], {}) else ""
        yield Problem(
            where, f"{said or 'has no messages'}; passed over", harmless=is_whole(data) and not said
        )
        return
    nodes: dict[str, _Node] = {}
    yield from _collect(given, nodes, where)
    session = as_id(data.get("conversationId")) or as_id(data.get("id"))
    session = session or next(
        (s for n in nodes.values() if (s := as_id(n.message.get("conversationId")))), None
    )
    session = session or pieces.made_id("librechat", next(iter(nodes), title))
    options = as_dict(data.get("options"))
    created = min((n.sent for n in nodes.values() if n.sent), key=datetime.timestamp, default=None)
    yield SessionRecord(session, title, created, pieces.model_of(options.get("model")))
    prompt = next((p for key in ("promptPrefix", "system") if (p := as_text(options.get(key)))), "")
    if prompt.strip():
        yield pieces.system_prompt(session, prompt, where)
    links = {
        key: Link(node.parent, (), node.sent.timestamp() if node.sent else None)
        for key, node in nodes.items()
    }
    for placed in reading_order(links, None):
        node = nodes[placed.node]
        place = f"{where}, message {placed.node}"
        if not _is_whole_itself(node.message):
            yield Problem(place, "the message is damaged or cut off; passed over")
        else:
            yield from _message(session, node, placed, place)


def _collect(given: list[Any], nodes: dict[str, _Node], where: str) -> Iterator[Problem]:
    """All messages of a list, and of what is nested in it, a parent before its children."""
    waiting: list[tuple[Any, str | None]] = [(message, None) for message in reversed(given)]
    number = 0
    while waiting:
        message, above = waiting.pop()
        number += 1
        place = f"{where}, message {number}"
        if not isinstance(message, dict):
            if message is not None:
                yield Problem(place, f"not an object but a {type(message).__name__}; passed over")
            continue
        identity = as_id(message.get("messageId")) or as_id(message.get("id"))
        key = identity or f"#{number}"
        if identity is not None and identity in nodes:
            yield Problem(place, f"the id {identity} is there twice; the second one has none", harmless=True)
            identity, key = None, f"#{number}"
        named = as_id(message.get("parentMessageId"))
        parent = above or (named if named and not _ROOT.fullmatch(named) else None)
        given_time = message.get("createdAt", message.get("timestamp"))
        sent = read_time(given_time, UTC)
        if sent is None and given_time not in (None, ""):
            yield pieces.unreadable(place, given_time)
        nodes[key] = _Node(message, parent, identity, sent)
        children = as_list(message.get("children"))
        waiting.extend((child, key) for child in reversed(children))


def _is_whole_itself(message: dict[str, Any]) -> bool:
    """Whether nothing of the message was lost; what was lost of its children is not its own."""
    return is_whole(message) or ("text" in message and not is_whole(message.get("children")))


def _message(session: str, node: _Node, placed: Placed, where: str) -> Iterator[Record]:
    message = node.message
    role = _role(message)
    content = Content()
    words = as_text(message.get("text"))
    parts = message.get("content")
    if isinstance(parts, list) and parts:
        content = pieces.content_of(parts)
    elif words or isinstance(parts, str):
        words = words or as_text(parts)
        if role == "assistant" and (thought := _THOUGHT.match(words)):
            content.pieces.append(Piece("reasoning", thought[1]))
            words = words[thought.end() :]
        content.pieces.append(Piece("text", words))
    if not content.text.strip() and words:
        content.pieces.append(Piece("text", words))
    files = [*as_list(message.get("files")), *as_list(message.get("attachments"))]
    content.attachments += pieces.attachments_of(files)
    metadata: dict[str, Any] = {}
    if role == "assistant":
        metadata = pieces.model_of(message.get("model"), message.get("sender"))
        if message.get("error") is True:
            # In place of an answer the person was shown this.
            role, metadata = "system", {}
    if message.get("isEdited") is True:
        metadata["edited"] = True
    place = Place(session, node.identity, node.sent, placed.parent, placed.branch, where)
    yield from pieces.records(place, role, content, metadata)


def _role(message: dict[str, Any]) -> Role:
    """Whose message it is; ``sender`` is a free label, and tells only where nothing else does."""
    person = message.get("isCreatedByUser")
    if isinstance(person, bool):
        return "user" if person else "assistant"
    spoken = as_text(message.get("role")) or as_text(message.get("sender"))
    return pieces.role_of(spoken) or "assistant"


# --- Chatbot UI -------------------------------------------------------------------------------------


def _is_chatbot(record: dict[str, Any]) -> bool:
    history = record.get("history")
    if not isinstance(history, list) or not {"version", "folders", "prompts"} & record.keys():
        return False
    return not history or any("messages" in as_dict(entry) for entry in history)


def _chatbot(data: dict[str, Any]) -> Iterator[Record]:
    for number, entry in enumerate(as_list(data.get("history")), 1):
        where = f"conversation {number}"
        if not isinstance(entry, dict):
            yield Problem(where, f"not a conversation but a {type(entry).__name__}; passed over")
            continue
        if title := as_text(entry.get("name")) or None:
            where += f" ({title})"
        listed = entry.get("messages")
        if not isinstance(listed, list):
            yield Problem(where, "has no messages (no list of them); passed over", harmless=is_whole(entry))
            continue
        session = as_id(entry.get("id")) or pieces.made_id("librechat", *pieces.opening(listed))
        model = entry.get("model")
        yield SessionRecord(session, title, None, pieces.model_of(as_dict(model).get("id"), model))
        if (prompt := as_text(entry.get("prompt"))).strip():
            yield pieces.system_prompt(session, prompt, where)
        yield from pieces.listed(session, listed, where)
