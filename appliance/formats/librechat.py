"""LibreChat, and Chatbot UI, which came before it.

LibreChat exports messages with ``messageId`` and ``parentMessageId``, in a flat list or nested as ``children``.
No field names the active branch, so the parser takes the one that ends with the latest message.
Chatbot UI exports ``history``, a list of conversations of plain turns; its ``prompts`` are only templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from appliance.formats import agent_records, json_fields, unknown_text
from appliance.formats.agent_records import AgentContent, AgentContentPart, ConversationPlace
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text
from appliance.formats.message_tree import NodeLink, OrderedNode, reading_order
from appliance.formats.records import best_score, missing_messages, parse_objects, repeated_id
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, Record, Role, SessionRecord

_FIRST_KEYS = (("conversationId", "endpoint"), ("conversationId", "title"), ("version", "history"))
# A message nested in the one before it adds two levels.
_MAX_DEPTH = 20_000
# Messages that the confidence looks at: the first may be one that says little.
_SCORED_MESSAGES = 20
# The parent of a first message: empty, or zeros and dashes.
_ROOT = re.compile(r"[0-]*")
_KNOWN_KEYS = frozenset({"children", "files", "attachments", "plugin", "plugins", "feedback", "error"})
_THOUGHT = re.compile(r":::thinking[ \t]*\n(.*?)\n?:::[ \t]*(?:\n+|$)", re.DOTALL)


def matches(head: DocumentHead) -> float:
    """The confidence that these are conversations of LibreChat or Chatbot UI."""
    return best_score(head, lambda record: 0.95 if _is_chatbot(record) else _score(record))


def parse(document: Document) -> Iterator[Record]:
    return parse_objects(document, _FIRST_KEYS, "conversation", _object, _MAX_DEPTH)


def _object(data: dict[str, Any], where: str) -> Iterator[Record]:
    return _chatbot(data) if _is_chatbot(data) else _conversation(data, where)


def _score(record: dict[str, Any]) -> float:
    messages = [m for m in _root_messages(record)[:_SCORED_MESSAGES] if isinstance(m, dict)]
    score = max(map(_message_score, messages), default=0.0)
    return max(score, 0.9) if "messagesTree" in record or {"exportAt", "recursive"} <= record.keys() else score


def _message_score(message: dict[str, Any]) -> float:
    if "isCreatedByUser" in message:
        return 0.95 if "messageId" in message else 0.85
    return 0.8 if {"messageId", "parentMessageId"} <= message.keys() else 0.0


def _root_messages(record: dict[str, Any]) -> list[Any]:
    """The top-level messages: a list, or a single message with the others nested below it."""
    for key in ("messages", "messagesTree"):
        value = record.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            return [value] if "messageId" in value else as_list(value.get("children"))
    return []


@dataclass(frozen=True, slots=True)
class _LibreChatNode:
    message: dict[str, Any]
    parent: str | None
    identity: str | None
    sent: datetime | None


def _conversation(data: dict[str, Any], where: str) -> Iterator[Record]:
    if title := as_text(data.get("title")) or None:
        where += f" ({title})"
    messages = _root_messages(data)
    if not messages:
        value = data.get("messages", data.get("messagesTree"))
        yield missing_messages(None if value in ([], {}) else value, data, where)
        return
    nodes: dict[str, _LibreChatNode] = {}
    yield from _collect(messages, nodes, where)
    session = json_fields.first_id(data, "conversationId", "id")
    session = session or next((s for n in nodes.values() if (s := as_id(n.message.get("conversationId")))), None)
    session = session or agent_records.made_id("librechat", next(iter(nodes), title))
    options = as_dict(data.get("options"))
    created = min((n.sent for n in nodes.values() if n.sent), key=datetime.timestamp, default=None)
    yield SessionRecord(session, title, created, agent_records.model_of(options.get("model")))
    prompt = first_text(options, "promptPrefix", "system")
    if prompt.strip():
        yield agent_records.system_prompt(session, prompt, where)
    links = {
        key: NodeLink(node.parent, (), node.sent.timestamp() if node.sent else None) for key, node in nodes.items()
    }
    for placed in reading_order(links, None):
        node = nodes[placed.node]
        message, place = node.message, f"{where}, message {placed.node}"
        # Damage to its children does not count as damage to the message.
        if is_whole(message) or ("text" in message and not is_whole(message.get("children"))):
            yield from _message(session, node, placed, place)
        else:
            yield InputProblem(place, "the message is damaged or cut off; skipped")


def _collect(messages: list[Any], nodes: dict[str, _LibreChatNode], where: str) -> Iterator[InputProblem]:
    """Add the messages of a list, and those nested in them, to ``nodes``; a parent comes before its children."""
    stack: list[tuple[Any, str | None]] = [(message, None) for message in reversed(messages)]
    number = 0
    while stack:
        message, nested_in = stack.pop()
        number += 1
        place = f"{where}, message {number}"
        if not isinstance(message, dict):
            if message is not None:
                yield json_fields.wrong_type(place, "message", message)
            continue
        identity = json_fields.first_id(message, "messageId", "id")
        key = identity or f"#{number}"
        if identity is not None and identity in nodes:
            yield repeated_id(identity, place)
            identity, key = None, f"#{number}"
        parent_id = as_id(message.get("parentMessageId"))
        parent = nested_in or (parent_id if parent_id and not _ROOT.fullmatch(parent_id) else None)
        stamp = message.get("createdAt", message.get("timestamp"))
        sent = read_time(stamp, UTC)
        if sent is None and stamp not in (None, ""):
            yield agent_records.unreadable_time(place, stamp)
        nodes[key] = _LibreChatNode(message, parent, identity, sent)
        stack.extend((child, key) for child in reversed(as_list(message.get("children"))))


def _message(session: str, node: _LibreChatNode, placed: OrderedNode, where: str) -> Iterator[Record]:
    message = node.message
    role = _role(message)
    content = AgentContent()
    words = as_text(message.get("text"))
    parts = message.get("content")
    if isinstance(parts, list | dict) and parts:
        content = agent_records.parse_content(parts)
    elif words or isinstance(parts, str):
        words = words or as_text(parts)
        if role == "assistant" and (thought := _THOUGHT.match(words)):
            content.parts.append(AgentContentPart("reasoning", thought[1]))
            words = words[thought.end() :]
        content.parts.append(AgentContentPart("text", words))
    if not content.text.strip() and words:
        content.parts.append(AgentContentPart("text", words))
    content.attachments += agent_records.attachments_of(
        [*as_list(message.get("files")), *as_list(message.get("attachments"))]
    )
    if content.is_empty and (rest := unknown_text.text_of_record(message, _KNOWN_KEYS)):
        content.parts.append(AgentContentPart("text", rest))
        content.unknown_types.append("")
    metadata: dict[str, Any] = {}
    if role == "assistant":
        metadata = agent_records.model_of(message.get("model"), message.get("sender"))
        if message.get("error") is True:
            # The program showed this error in place of an answer.
            role, metadata = "system", {}
    if message.get("isEdited") is True:
        metadata["edited"] = True
    place = ConversationPlace(session, node.identity, node.sent, placed.parent, placed.is_off_path, where)
    yield from agent_records.records(place, role, content, metadata)


def _role(message: dict[str, Any]) -> Role:
    """The message's role. ``sender`` is a free label, so it counts only where no other field tells."""
    by_user = message.get("isCreatedByUser")
    if isinstance(by_user, bool):
        return "user" if by_user else "assistant"
    return agent_records.role_of(first_text(message, "role", "sender")) or "assistant"


def _is_chatbot(record: dict[str, Any]) -> bool:
    history = record.get("history")
    if not isinstance(history, list) or not {"version", "folders", "prompts"} & record.keys():
        return False
    return not history or any("messages" in as_dict(entry) for entry in history)


def _chatbot(data: dict[str, Any]) -> Iterator[Record]:
    for number, entry in enumerate(as_list(data.get("history")), 1):
        where = f"conversation {number}"
        if not isinstance(entry, dict):
            yield json_fields.wrong_type(where, "conversation", entry)
            continue
        if title := as_text(entry.get("name")) or None:
            where += f" ({title})"
        turns = entry.get("messages")
        if not isinstance(turns, list):
            yield InputProblem(where, "has no list of messages; skipped", harmless=is_whole(entry))
            continue
        session = as_id(entry.get("id")) or agent_records.made_id("librechat", *agent_records.opening_turns(turns))
        model = entry.get("model")
        yield SessionRecord(session, title, None, agent_records.model_of(as_dict(model).get("id"), model))
        if (prompt := as_text(entry.get("prompt"))).strip():
            yield agent_records.system_prompt(session, prompt, where)
        yield from agent_records.turn_messages(session, turns, where)
