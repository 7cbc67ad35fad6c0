"""Claude.ai: ``conversations.json``, a list of conversations with ``chat_messages``.

The text blocks of a message's ``content`` are its words, ``text`` only where there are none. Reasoning,
tool calls and results become messages of their own with role ``tool``; the text of attachments is kept
in the metadata and follows the words, so that it is found.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, reading_order
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
_FIRST_KEYS = (("uuid", "name"), ("uuid", "summary"))
_TOOL_BLOCKS = {"thinking": "reasoning", "tool_use": "call", "tool_result": "result"}

# The parent of a first message: a uuid of zeros, but for its version digits.
_ROOT = re.compile(r"[048-]+")


def matches(head: Head) -> float:
    """How surely these are Claude.ai conversations: objects with ``chat_messages``."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if not isinstance(record, dict):
            continue
        if "chat_messages" in record:
            best = max(best, 0.95)
        elif {"uuid", "name", "created_at"} <= record.keys() and not {"docs", "description"} & record.keys():
            best = max(best, 0.5)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations of the file, one at a time."""
    passed: Counter[str] = Counter()
    for found in turns.conversations(document, _FIRST_KEYS, "chat_messages"):
        if isinstance(found, Problem):
            yield found
        else:
            number, data = found
            yield from _conversation(data, number, passed)
    for kind, count in sorted(passed.items()):
        yield Problem("", f"{count} blocks of type {kind} hold no text; passed over", harmless=True)


def _conversation(data: dict[str, Any], number: int, passed: Counter[str]) -> Iterator[Record]:
    where = f"conversation {number}"
    title = as_text(data.get("name")) or as_text(data.get("title")) or None
    if title:
        where += f" ({title})"
    messages = data.get("chat_messages", data.get("messages"))
    if messages is None:
        yield Problem(where, "has no messages (no chat_messages); passed over", harmless=is_whole(data))
        return
    if not isinstance(messages, list):
        yield Problem(where, f"chat_messages is a {type(messages).__name__}, not a list; passed over")
        return
    session = _session_id(data)
    metadata = {"model": model} if (model := as_text(data.get("model"))) else {}
    created, note = _time(data.get("created_at"), where)
    if note:
        yield note
    yield SessionRecord(session, title, created, metadata)
    branches = _branches(messages, as_id(data.get("current_leaf_message_uuid")))
    used: set[str] = set()
    for n, message in enumerate(messages, 1):
        if message is None:
            continue
        place = f"{where}, message {n}"
        if not isinstance(message, dict):
            yield Problem(place, f"not an object but a {type(message).__name__}; passed over")
        elif not is_whole(message):
            yield Problem(place, "the message is damaged or cut off; passed over")
        else:
            identity = as_id(message.get("uuid")) or as_id(message.get("id"))
            if identity is not None and identity in used:
                yield Problem(
                    place, f"the id {identity} is there twice; the second one has none", harmless=True
                )
                identity = None
            if identity is not None:
                used.add(identity)
            yield from _message(session, message, identity, identity in branches, place, passed)


def _message(
    session: str,
    message: dict[str, Any],
    identity: str | None,
    branch: bool,
    where: str,
    passed: Counter[str],
) -> Iterator[Record]:
    spoken = as_text(message.get("sender")) or as_text(message.get("role"))
    role = _ROLES.get(spoken.lower())
    if role is None:
        yield Problem(where, f"unknown sender {spoken!r}; kept as system")
        role = "system"
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        yield Problem(where, f"content is a {type(content).__name__}, not a list; its text was taken instead")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    stated = as_text(message.get("text"))
    texts: list[str] = []
    before: list[MessageRecord] = []
    after: list[MessageRecord] = []
    sent, note = _time(message.get("created_at", message.get("timestamp")), where)
    if note:
        yield note
    side = {"branch": True} if branch else {}
    for n, block in enumerate(blocks, 1):
        if not isinstance(block, dict):
            if block is not None:
                yield Problem(
                    f"{where}, block {n}", f"not an object but a {type(block).__name__}; passed over"
                )
            continue
        kind = as_text(block.get("type"))
        if kind in _TOOL_BLOCKS:
            text, name = _tool_text(kind, block)
            if not text.strip():
                continue
            tool: dict[str, Any] = {"kind": _TOOL_BLOCKS[kind]} | ({"name": name} if name else {})
            own = f"{identity}-{kind}-{n}" if identity else None
            (after if texts else before).append(
                MessageRecord(
                    session, "tool", text, own, name or None, sent, identity, {"tools": [tool]} | side, where
                )
            )
        elif text := as_text(block.get("text")):
            texts.append(text)
        elif kind != "text":
            passed[kind or "(none)"] += 1
    text = _joined(texts, stated) if any(t.strip() for t in texts) else stated
    attachments = _attachments(message)
    text = with_attachments(text, attachments)
    yield from before
    if text.strip():
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        parent = as_id(message.get("parent_message_uuid"))
        reply_to = parent if parent and not _ROOT.fullmatch(parent) else None
        yield MessageRecord(session, role, text, identity, None, sent, reply_to, metadata | side, where)
    elif not before and not after:
        yield Problem(where, "the message is empty; passed over", harmless=True)
    yield from after


def _joined(texts: list[str], stated: str) -> str:
    """Text blocks as one text. Citations split sentences and tools split paragraphs: ``text`` tells."""
    return next(
        (whole for glue in ("", "\n", "\n\n") if (whole := glue.join(texts)) == stated), "\n\n".join(texts)
    )


def _tool_text(kind: str, block: dict[str, Any]) -> tuple[str, str]:
    """What a reasoning, call or result block says, and the tool's name."""
    name = as_text(block.get("name"))
    if kind == "thinking":
        said = as_text(block.get("thinking")) or as_text(block.get("text"))
        if not said:
            said = "\n".join(as_text(as_dict(s).get("summary")) for s in as_list(block.get("summaries")))
        return said, ""
    if kind == "tool_use":
        given = block.get("input")
        lines = [name] if name else []
        if isinstance(given, dict):
            lines += [f"{key}: {v if isinstance(v, str) else _json(v)}" for key, v in given.items()]
        elif given is not None:
            lines.append(given if isinstance(given, str) else _json(given))
        return "\n".join(lines), name
    content = block.get("content")
    if isinstance(content, str):
        return content, name
    said = "\n".join(
        words for part in as_list(content) if (words := as_text(as_dict(part).get("text")) or _title(part))
    )
    return said, name


def _title(part: Any) -> str:
    return as_text(as_dict(part).get("title"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    """Pasted or uploaded files with their text, and other files by name."""
    found: list[dict[str, str]] = []
    for key in ("attachments", "files", "files_v2"):
        for entry in as_list(message.get(key)):
            given = as_dict(entry)
            text = as_text(given.get("extracted_content"))
            name = (
                as_text(given.get("file_name"))
                or as_text(given.get("name"))
                or ("pasted text" if text else "")
            )
            if name and not any(other["name"] == name and key != "attachments" for other in found):
                found.append({"name": name, "text": text} if text else {"name": name})
    return found


def _branches(messages: list[Any], leaf: str | None) -> set[str]:
    """The ids of messages off the active path; empty where the export has no links, or no forks."""
    links: dict[str, Link] = {}
    for message in messages:
        given = as_dict(message)
        if (identity := as_id(given.get("uuid"))) and identity not in links:
            time = read_time(given.get("created_at"), UTC)
            links[identity] = Link(
                as_id(given.get("parent_message_uuid")), (), time.timestamp() if time else None
            )
    if not any(link.parent in links for link in links.values()):
        return set()
    return {placed.node for placed in reading_order(links, leaf) if placed.branch}


def _session_id(data: dict[str, Any]) -> str:
    """The conversation's own id, else one made from what doesn't change when it is renamed."""
    given = as_id(data.get("uuid")) or as_id(data.get("id"))
    if given:
        return given
    born = data.get("created_at") or as_text(data.get("name"))
    return "claude-" + hashlib.sha256(str(born).encode("utf-8", "replace")).hexdigest()[:24]


def _time(value: Any, where: str) -> tuple[datetime | None, Problem | None]:
    """A time; the format's zone is UTC also where a cut-off text has lost it."""
    time = read_time(value, UTC)
    if time is None and value not in (None, ""):
        return None, Problem(where, f"the time {str(value)[:60]!r} can't be read; left open", harmless=True)
    return time, None
