"""Claude.ai: ``conversations.json``, a list of conversations with ``chat_messages``.

A message's text is the text blocks of its ``content``, or ``text`` where there are none. Reasoning, tool calls and
results become messages of their own with role ``tool``. The text of attachments is kept in the metadata and
follows the message's text, so that a search finds it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from typing import Any, NamedTuple

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_id, first_text, with_attachments
from appliance.formats.message_tree import NodeLink, reading_order
from appliance.formats.records import counted
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import AttachedFile, InputProblem, MessageRecord, Record, SessionRecord

_ROLES = json_fields.role_table(user="human user", assistant="assistant", system="system")
_FIRST_KEYS = (("uuid", "name"), ("uuid", "summary"))
_TOOL_BLOCKS = {"thinking": "reasoning", "tool_use": "call", "tool_result": "result"}

_MESSAGE_KEYS = frozenset({"content", "sender", "attachments", "files", "files_v2"})
# The parent of a first message: a UUID of zeros except for its version digits.
_ROOT = re.compile(r"[048-]+")


def matches(head: DocumentHead) -> float:
    """How surely these are Claude.ai conversations: objects with ``chat_messages``."""
    best = 0.0
    records = json_stream.preview(head.text)
    if len(records) == 1 and isinstance(wrapped := as_dict(records[0]).get(assistant_chats.WRAPPER), list):
        records = tuple(wrapped)
    for record in records:
        if not isinstance(record, dict):
            continue
        if "chat_messages" in record:
            best = max(best, 0.95)
        elif {"uuid", "name", "created_at"} <= record.keys() and not {"docs", "description"} & record.keys():
            best = max(best, 0.5)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations of the file, one at a time."""
    skipped: Counter[str] = Counter()
    parse_conversation = partial(_conversation, skipped=skipped)
    yield from assistant_chats.conversations(document, _FIRST_KEYS, "chat_messages", parse_conversation)
    for kind, count in sorted(skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'block')} without text (type {kind})", harmless=True)


def _conversation(data: dict[str, Any], number: int, skipped: Counter[str]) -> Iterator[Record]:
    title = first_text(data, "name", "title") or None
    where = json_fields.titled_place(number, title)
    messages = data.get("chat_messages", data.get("messages"))
    if not isinstance(messages, list):
        harmless = messages is None and is_whole(data)
        yield InputProblem(where, "has no messages (no list of chat_messages); skipped", harmless=harmless)
        return
    # A new title doesn't change the time.
    start = data.get("created_at") or as_text(data.get("name"))
    session = first_id(data, "uuid", "id") or json_fields.made_id("claude", start)
    metadata = {"model": model} if (model := as_text(data.get("model"))) else {}
    created, notes = json_fields.parse_time(data.get("created_at"), where)
    yield from notes
    yield SessionRecord(session, title, created, metadata)
    branches = _branches(messages, as_id(data.get("current_leaf_message_uuid")))
    used: set[str] = set()
    for entry in json_fields.entries(messages, where, "message"):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        _, place, message = entry
        identity = first_id(message, "uuid", "id")
        if identity is not None and identity in used:
            yield InputProblem(place, f"the id {identity} occurs twice; the second message gets none", harmless=True)
            identity = None
        if identity is not None:
            used.add(identity)
        yield from _message(session, message, identity, identity in branches, place, skipped)


class _ToolBlock(NamedTuple):
    """A reasoning, call or result block, with its number in the message."""

    number: int
    kind: str
    text: str
    name: str


@dataclass(slots=True)
class _MessageContent:
    """The texts of a message, and its tool blocks before and after the first of them."""

    texts: list[str] = field(default_factory=list)
    tools_before: list[_ToolBlock] = field(default_factory=list)
    tools_after: list[_ToolBlock] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.tools_before or self.tools_after)

    def add_tool(self, block: _ToolBlock) -> None:
        if block.text.strip():
            (self.tools_after if self.texts else self.tools_before).append(block)


def _message(
    session: str, message: dict[str, Any], identity: str | None, branch: bool, where: str, skipped: Counter[str]
) -> Iterator[Record]:
    sender = first_text(message, "sender", "role")
    role = _ROLES.get(sender.lower())
    if role is None:
        yield InputProblem(where, f"unknown sender {sender!r}; imported as system")
        role = "system"
    sent, notes = json_fields.parse_time(message.get("created_at", message.get("timestamp")), where)
    yield from notes
    content = _MessageContent()
    yield from _read_blocks(message, where, content, skipped)
    branch_metadata = {"branch": True} if branch else {}

    def tool_messages(blocks: list[_ToolBlock]) -> Iterator[MessageRecord]:
        for block in blocks:
            own = f"{identity}-{block.kind}-{block.number}" if identity else None
            tools = json_fields.tool_metadata(_TOOL_BLOCKS[block.kind], block.name) | branch_metadata
            yield MessageRecord(session, "tool", block.text, own, block.name or None, sent, identity, tools, where)

    whole = as_text(message.get("text"))
    attachments = _attachments(message)
    if not (whole or attachments) and content.is_empty and (whole := unknown_text.text_of(message, _MESSAGE_KEYS)):
        yield unknown_text.kept(where)
    text = with_attachments(
        _joined(content.texts, whole) if any(t.strip() for t in content.texts) else whole, attachments
    )
    yield from tool_messages(content.tools_before)
    if text.strip():
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        parent = as_id(message.get("parent_message_uuid"))
        reply_to = parent if parent and not _ROOT.fullmatch(parent) else None
        metadata |= branch_metadata
        known = _known_files(message)
        yield MessageRecord(session, role, text, identity, None, sent, reply_to, metadata, where, known)
    elif not (content.tools_before or content.tools_after):
        yield InputProblem(where, "the message is empty; skipped", harmless=True)
    yield from tool_messages(content.tools_after)


def _read_blocks(
    message: dict[str, Any], where: str, content: _MessageContent, skipped: Counter[str]
) -> Iterator[InputProblem]:
    """Add the blocks of a message to its ``content``."""
    listed = message.get("content")
    if isinstance(listed, dict):
        listed = [listed]
    if listed is not None and not isinstance(listed, str | list):
        kind = json_fields.json_type(listed)
        yield InputProblem(where, f"content is {kind}, not a list; its text was taken instead")
    blocks = [{"type": "text", "text": listed}] if isinstance(listed, str) else as_list(listed)
    for number, block in enumerate(blocks, 1):
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        if not isinstance(block, dict):
            if block is not None:
                yield json_fields.wrong_type(f"{where}, block {number}", "block", block)
            continue
        kind = as_text(block.get("type"))
        if kind in _TOOL_BLOCKS:
            content.add_tool(_ToolBlock(number, kind, *_tool_text(kind, block)))
        elif text := as_text(block.get("text")):
            content.texts.append(text)
        elif text := unknown_text.text_of(block):
            content.texts.append(text)
            yield unknown_text.kept(f"{where}, block {number}", kind)
        elif kind != "text":
            skipped[kind or "(none)"] += 1


def _joined(texts: list[str], whole: str) -> str:
    """Text blocks as one text. Citations split sentences, tools split paragraphs: the ``whole`` shows which."""
    glues = ("", "\n", "\n\n")
    return next((joined for glue in glues if (joined := glue.join(texts)) == whole), "\n\n".join(texts))


def _tool_text(kind: str, block: dict[str, Any]) -> tuple[str, str]:
    """The text of a reasoning, call or result block, and the tool's name."""
    name = as_text(block.get("name"))
    if kind == "thinking":
        summaries = "\n".join(as_text(as_dict(summary).get("summary")) for summary in as_list(block.get("summaries")))
        return first_text(block, "thinking", "text") or summaries, ""
    if kind == "tool_use":
        return json_fields.call_text(name, block.get("input")), name
    content = block.get("content")
    if isinstance(content, str):
        return content, name
    parts = (first_text(as_dict(part), "text", "title") for part in as_list(content))
    return "\n".join(part for part in parts if part), name


def _known_files(message: dict[str, Any]) -> tuple[AttachedFile, ...]:
    return tuple(
        json_fields.attached_file(name, type=file.get("file_type"), size=file.get("file_size"))
        for key in ("attachments", "files", "files_v2")
        for file in map(as_dict, as_list(message.get(key)))
        if (name := first_text(file, "file_name", "name"))
    )


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    """Pasted or uploaded files with their text, and other files by name."""
    attachments: list[dict[str, str]] = []
    for key in ("attachments", "files", "files_v2"):
        for fields in map(as_dict, as_list(message.get(key))):
            text = as_text(fields.get("extracted_content"))
            name = first_text(fields, "file_name", "name") or ("pasted text" if text else "")
            if name and not any(known["name"] == name and key != "attachments" for known in attachments):
                attachments.append({"name": name, "text": text} if text else {"name": name})
    return attachments


def _branches(messages: list[Any], leaf: str | None) -> set[str]:
    """The ids of messages off the active path; empty where the export has no links, or no forks."""
    links: dict[str, NodeLink] = {}
    for fields in map(as_dict, messages):
        if (identity := as_id(fields.get("uuid"))) and identity not in links:
            time = read_time(fields.get("created_at"), UTC)
            links[identity] = NodeLink(as_id(fields.get("parent_message_uuid")), (), time.timestamp() if time else None)
    if not any(link.parent in links for link in links.values()):
        return set()
    return {placed.node for placed in reading_order(links, leaf) if placed.is_off_path}
