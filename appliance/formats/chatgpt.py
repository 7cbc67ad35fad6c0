"""ChatGPT: ``conversations.json``, alone or numbered, a single conversation, or one a line.

A conversation is a tree of nodes, ``mapping``. Every node with text becomes a message: the active path as it was read,
other branches with ``branch``, what the person never saw with ``hidden``, and calls, results and reasoning as
role ``tool`` with ``tools``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_id, first_text, with_attachments
from appliance.formats.message_tree import NodeLink, OrderedNode, reading_order
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import AttachedFile, InputProblem, MessageRecord, Record, SessionRecord

_FIRST_KEYS = (("title", "create_time"), ("id", "title"), ("conversation_id", "title"))
_REASONING = ("thoughts", "reasoning_recap")
_ROLES = json_fields.role_table(
    user="user human", assistant="assistant", system="system developer", tool="tool function"
)


_SPEAKERS = frozenset({"user", "human", "assistant"})
_TEXT_KEYS = ("parts", "text")
_MESSAGE_KEYS = frozenset({"author", "content", "recipient", "channel", "weight", "status", "metadata"})


def matches(head: DocumentHead) -> float:
    """How surely these are ChatGPT conversations: objects with a ``mapping`` of nodes."""
    best = 0.0
    for record in json_stream.preview(head.text):
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
    return assistant_chats.conversations(document, _FIRST_KEYS, "mapping", _conversation)


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    title = as_text(data.get("title")) or None
    where = json_fields.titled_place(number, title)
    mapping = data.get("mapping")
    if not isinstance(mapping, dict):
        harmless = mapping is None and is_whole(data)
        yield InputProblem(where, "has no messages (no mapping of nodes); skipped", harmless=harmless)
        return
    session = first_id(data, "conversation_id", "id")
    if session is None:
        # Neither a new title nor a new message changes these.
        start = data.get("create_time") or as_text(data.get("title"))
        session = json_fields.made_id("chatgpt", f"{start}|{next(iter(mapping), '')}")
    metadata = {"model": model} if (model := as_text(data.get("default_model_slug"))) else {}
    created = read_time(data.get("create_time"), UTC)
    if created is None and data.get("create_time") is not None:
        yield json_fields.unreadable_time(where, data["create_time"])
    yield SessionRecord(session, title, created, metadata)
    yield from _messages(session, mapping, as_id(data.get("current_node")), where)


def _messages(session: str, mapping: dict[str, Any], current: str | None, where: str) -> Iterator[Record]:
    links: dict[str, NodeLink] = {}
    times: dict[str, datetime | None] = {}
    for key, node in mapping.items():
        if isinstance(node, dict):
            time = times[key] = read_time(as_dict(node.get("message")).get("create_time"), UTC)
            children = [child for child in as_list(node.get("children")) if isinstance(child, str)]
            links[key] = NodeLink(as_id(node.get("parent")), children, time.timestamp() if time else None)
        else:
            yield json_fields.wrong_type(f"{where}, node {key}", "node", node)
    if current is not None and current not in links:
        yield InputProblem(
            where, f"current_node {current} is not in the export; the last message was taken", harmless=True
        )
    # The nearest message at or above each node: what an answer to the node replies to.
    nearest: dict[str | None, str | None] = {None: None}
    used: set[str] = set()
    for placed in reading_order(links, current):
        reply_to = nearest.get(placed.parent)
        nearest[placed.node] = reply_to
        message = mapping[placed.node].get("message")
        if message is None:
            continue
        place = f"{where}, node {placed.node}"
        if problem := json_fields.object_problem(message, place, "message"):
            yield problem
            continue
        for record in _message(session, message, placed, times[placed.node], reply_to, place):
            if isinstance(record, MessageRecord):
                if record.external_id in used:
                    # The key of the tree is unique in any case.
                    if placed.node in used:
                        yield InputProblem(place, f"the id {record.external_id} occurs twice; skipped")
                        continue
                    record = replace(record, external_id=placed.node)
                if record.external_id is not None:
                    used.add(record.external_id)
                    nearest[placed.node] = record.external_id
            yield record


def _message(
    session: str, message: dict[str, Any], placed: OrderedNode, sent: datetime | None, reply_to: str | None, where: str
) -> Iterator[Record]:
    author = as_dict(message.get("author"))
    own = as_dict(message.get("metadata"))
    content = message.get("content")
    speaker = as_text(author.get("role")) or as_text(message.get("role"))
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    if isinstance(content, list):
        content = {"content_type": "text", "parts": content}
    if not isinstance(content, dict) and content is not None:
        yield InputProblem(where, f"content is {json_fields.json_type(content)}, not an object; skipped")
        return
    content = content or {}
    kind = as_text(content.get("content_type"))
    words, pointers, unknown = _words(content, kind)
    if not words and not pointers and speaker.lower() in _SPEAKERS:
        words = unknown = unknown_text.text_of(content) or unknown_text.text_of(message, _MESSAGE_KEYS)
    if unknown:
        yield unknown_text.kept(where, kind)
    attachments = _attachments(own, pointers)
    text = with_attachments(words, attachments)
    if not text.strip():
        if speaker.lower() in _SPEAKERS or any(content.get(key) not in (None, "", [], [""]) for key in _TEXT_KEYS):
            yield InputProblem(where, f"no text in this {kind or 'message'}; skipped", harmless=True)
        return
    if speaker.lower() not in _ROLES:
        yield InputProblem(where, f"unknown role {speaker!r}; imported as system")
    role = _ROLES.get(speaker.lower(), "system")
    name = as_text(author.get("name")) or None
    recipient = as_text(message.get("recipient"))
    metadata: dict[str, Any] = {}
    if kind in _REASONING:
        role, metadata["tools"] = "tool", [{"kind": "reasoning"}]
    elif role == "tool":
        metadata["tools"] = [{"kind": "result", "name": name or ""}]
    elif role == "assistant" and recipient not in ("", "all"):
        role, metadata["tools"] = "tool", [{"kind": "call", "name": recipient}]
    injected = kind in ("user_editable_context", "model_editable_context") or own.get("is_user_system_message")
    if role == "system" or injected or own.get("is_visually_hidden_from_conversation") is True:
        metadata["hidden"] = True
        role = "tool" if role == "tool" else "system"
    if placed.is_off_path:
        metadata["branch"] = True
    if attachments:
        metadata["attachments"] = attachments
    if model := as_text(own.get("model_slug")):
        metadata["model"] = model
    if sent is None and message.get("create_time") is not None:
        yield json_fields.unreadable_time(where, message["create_time"])
    identity = as_id(message.get("id")) or placed.node
    known = _known_files(own, pointers)
    yield MessageRecord(session, role, text, identity, name, sent, reply_to, metadata, where, known)


def _words(content: dict[str, Any], kind: str) -> tuple[str, list[str], str]:
    """The text of a message's content, the files that it points to, and the text of parts in an unknown shape."""
    pointers: list[str] = []
    words: list[str] = []
    unknown = ""
    if kind == "user_editable_context":
        words = [as_text(content.get(key)) for key in ("user_profile", "user_instructions")]
    elif kind == "thoughts":
        thoughts = map(as_dict, as_list(content.get("thoughts")))
        words = [as_text(thought.get(key)) for thought in thoughts for key in ("summary", "content")]
    elif kind == "tether_quote":
        words = [as_text(content.get(key)) for key in ("title", "text", "url")]
    elif kind == "tether_browsing_display":
        words = [first_text(content, "result", "summary")]
    if not any(words):
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else [parts]:
            fields = as_dict(part)
            text = as_text(part) or as_text(fields.get("text"))
            pointer = fields.get("asset_pointer") or as_dict(fields.get("audio_asset_pointer")).get("asset_pointer")
            pointers += [pointer] if isinstance(pointer, str) else []
            if not text and "asset_pointer" not in as_text(fields.get("content_type")) and not isinstance(pointer, str):
                text = unknown_text.text_of(part)
                unknown = unknown or text
            words.append(text)
    if not any(words):
        words = [as_text(content.get(key)) for key in ("text", "content", "result", "model_set_context")]
    return "\n".join(word for word in words if word), pointers, unknown


def _known_files(own: dict[str, Any], pointers: list[str]) -> tuple[AttachedFile, ...]:
    """What the export says of files; a file without a name has that of its id."""
    told = [
        json_fields.attached_file(
            name, path=as_text(file.get("id")), type=first_text(file, "mime_type", "mimeType"), size=file.get("size")
        )
        for file in map(as_dict, as_list(own.get("attachments")))
        if (name := first_text(file, "name", "id"))
    ]
    return (*told, *(json_fields.attached_file(pointer.rpartition("://")[2]) for pointer in pointers))


def _attachments(own: dict[str, Any], pointers: list[str]) -> list[dict[str, str]]:
    """The files of a message by name, with their text where the export has it."""
    attachments: list[dict[str, str]] = []
    known: set[str] = set()
    for fields in map(as_dict, as_list(own.get("attachments"))):
        name = first_text(fields, "name", "id")
        if not name:
            continue
        known.add(as_text(fields.get("id")) or name)
        text = first_text(fields, "text", "extracted_content", "content")
        attachments.append({"name": name, "text": text} if text else {"name": name})
    for pointer in pointers:
        if not any(identity in pointer for identity in known):
            attachments.append({"name": pointer.rpartition("://")[2]})
    return attachments
