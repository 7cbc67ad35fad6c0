"""Gemini CLI: ``session-*.json`` with ``messages``, the newer ``session-*.jsonl``, and checkpoints.

The newer logs say again what has changed: the last state of a message counts, at the place of its first.
What was taken back (``$rewindTo``) stays as a side branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.ingest.parse import logs
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.blocks import Block, blocks_of, call_of
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.logs import Entry, Said
from appliance.ingest.parse.salvage import is_whole
from appliance.types import Problem, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "info": "system",
    "error": "system",
    "warning": "system",
    "system": "system",
}
_INJECTED = re.compile(r"\s*(?:<session_context>|This is the Gemini CLI\. We are setting up the context)")


def matches(head: Head) -> float:
    """How surely this is a session of Gemini CLI."""
    best = 0.0
    for record in logs.first_objects(head):
        if "sessionId" in record and {"projectHash", "startTime"} & record.keys() and "type" not in record:
            return 0.95
        history = as_list(record.get("history"))
        if any(_is_content(item) for item in history):
            best = max(best, 0.85)
        elif {"$set", "$rewindTo"} & record.keys():
            best = max(best, 0.7)
        elif record.get("type") == "gemini" and {"id", "content"} <= record.keys():
            best = max(best, 0.8)
        elif _is_content(record) and not {"uuid", "message"} & record.keys():
            best = max(best, 0.6)
    return best


def _is_content(value: Any) -> bool:
    item = as_dict(value)
    return item.get("role") in ("user", "model") and isinstance(item.get("parts"), list)


@dataclass(slots=True)
class _Session:
    """A session as its file tells it, record by record."""

    facts: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, Entry] = field(default_factory=dict)
    taken_back: set[str] = field(default_factory=set)

    def add(self, data: Any, where: str) -> Iterator[Problem]:
        if data is None:
            return
        if not isinstance(data, dict):
            yield Problem(where, f"not an object but a {type(data).__name__}; passed over")
        elif not is_whole(data):
            yield Problem(where, "the message is damaged or cut off; passed over")
        else:
            key = logs.own_id(data.get("id")) or f"\x00{len(self.messages)}"
            self.messages[key] = Entry(data, where)
            self.taken_back.discard(key)

    def rewind(self, target: Any) -> None:
        keys = list(self.messages)
        self.taken_back |= set(keys[keys.index(target) :] if target in keys else keys)


def parse(document: Document) -> Iterator[Record]:
    """The sessions of the file; a log is read to its end before its messages are told."""
    session = _Session()
    empty = True
    for item in logs.entries(document):
        if isinstance(item, Problem):
            yield item
            continue
        data = item.data
        other = data.get("sessionId")
        if (
            session.messages
            and other is not None
            and other != session.facts.get("sessionId")
            and "id" not in data
        ):
            yield from _told(session, document)
            session, empty = _Session(), False
        facts = data
        if "$rewindTo" in data:
            session.rewind(data["$rewindTo"])
            continue
        if "$set" in data:
            facts = as_dict(data["$set"])
        elif "type" in data or "role" in data:
            yield from session.add(data, item.where)
            continue
        session.facts |= {key: value for key, value in facts.items() if key not in ("messages", "history")}
        held = facts.get("messages", facts.get("history"))
        if held is not None and not isinstance(held, list):
            yield Problem(item.where, f"messages is a {type(held).__name__}, not a list; passed over")
        for number, message in enumerate(as_list(held), 1):
            yield from session.add(message, f"{item.where}, message {number}")
    if session.messages:
        yield from _told(session, document)
    elif empty:
        yield Problem("", "the file holds no messages", harmless=True)


def _told(session: _Session, document: Document) -> Iterator[Record]:
    facts = session.facts
    identity = logs.own_id(facts.get("sessionId")) or logs.id_in_name(document)
    if identity is None:
        first = next(iter(session.messages.values())).data
        identity = logs.made_id(
            "gemini_cli", facts.get("startTime") or first.get("timestamp"), _content(first)
        )
    created, _ = logs.sent_at(facts.get("startTime"), "")
    metadata: dict[str, Any] = {}
    if folder := next((as_text(path) for path in as_list(facts.get("directories")) if as_text(path)), ""):
        metadata["folder"] = folder
    if facts.get("kind") == "subagent":
        metadata["sidechain"] = True
    said = Said(SessionRecord(identity, as_text(facts.get("summary")) or None, created, metadata))
    for key, message in session.messages.items():
        marks = {"branch": True} if key in session.taken_back else {}
        if "sidechain" in metadata:
            marks["sidechain"] = True
        yield from _message(said, message.data, None if key.startswith("\x00") else key, message.where, marks)
    if not said.begun:
        yield Problem("", "the file holds no messages", harmless=True)


def _content(data: dict[str, Any]) -> Any:
    content = data.get("content")
    if isinstance(content, dict) and "parts" in content:
        content = content["parts"]
    return data.get("parts") if content in (None, "", []) else content


def _message(
    said: Said, data: dict[str, Any], identity: str | None, where: str, marks: dict[str, bool]
) -> Iterator[Record]:
    spoken = as_text(data.get("type")) or as_text(data.get("role"))
    role = _ROLES.get(spoken)
    sent, note = logs.sent_at(data.get("timestamp", data.get("ts")), where)
    if note:
        yield note
    found = list(blocks_of(_content(data)))
    found += [Block("reasoning", _thought(thought)) for thought in as_list(data.get("thoughts"))]
    text = "\n".join(block.text for block in found if block.sort == "words")
    context = ""
    shown = "".join(block.text for block in blocks_of(data.get("displayContent")) if block.sort == "words")
    if role == "user" and shown.strip() and shown != text:
        # The person typed less than the model got: files that were named stand in the content.
        text, context = shown, text
    metadata: dict[str, Any] = dict(marks)
    if role is None:
        if text.strip():
            yield Problem(where, f"unknown type {spoken!r}; kept as system")
        role = "system"
    elif role == "user" and _INJECTED.match(text):
        role, metadata["hidden"] = "system", True
    if attachments := [{"name": block.name} for block in found if block.sort == "file"]:
        metadata["attachments"] = attachments
    if role == "assistant" and (model := as_text(data.get("model"))):
        metadata["model"] = model
    reasoning = "\n\n".join(block.text for block in found if block.sort == "reasoning" and block.text)
    yield from said.say(
        "tool",
        reasoning,
        f"{identity}-thoughts" if identity else None,
        sent,
        where,
        reply_to=identity,
        metadata=logs.tool_metadata("reasoning") | marks,
    )
    yield from said.say(role, with_attachments(text, attachments), identity, sent, where, metadata=metadata)
    yield from said.say(
        "system",
        context,
        f"{identity}-context" if identity else None,
        sent,
        where,
        reply_to=identity,
        metadata={"hidden": True} | marks,
    )
    calls = [block for block in found if block.sort in ("call", "result")]
    for call in as_list(data.get("toolCalls")):
        if isinstance(call, dict):
            calls += _call_with_result(call)
    number = 0
    for block in calls:
        # A result that comes later must not shift the numbers of the calls behind it.
        number += block.sort == "call"
        own = f"{identity}-{block.sort}-{block.call or number}" if identity else None
        given = logs.call_metadata(block.name, block.given) if block.sort == "call" else None
        yield from said.say(
            "tool",
            block.text,
            own,
            sent,
            where,
            author=block.name or None,
            reply_to=identity,
            metadata=(given or logs.tool_metadata("result", block.name)) | marks,
        )


def _call_with_result(data: dict[str, Any]) -> Iterator[Block]:
    call = call_of(data)
    yield call
    results = [block.text for block in blocks_of(data.get("result")) if block.text]
    text = "\n".join(results) or as_text(data.get("resultDisplay"))
    if text:
        yield Block("result", text, call.name, call.call)


def _thought(thought: Any) -> str:
    given = as_dict(thought)
    parts = [as_text(given.get("subject")), as_text(given.get("description"))]
    return "\n".join(part for part in parts if part) or as_text(thought)
