"""Gemini CLI: ``session-*.json`` with ``messages``, the newer ``session-*.jsonl``, and checkpoints.

The newer logs repeat a message when it changes: its last state counts, at the place of its first. Messages that were
taken back (``$rewindTo``) stay as a side branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from typing import Any

from appliance.formats import agent_logs, json_fields, unknown_text
from appliance.formats.agent_logs import ContentBlock, LogEntry, LogSession, blocks_of, call_of
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, parse_time, tool_metadata, with_attachments
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, Record, SessionRecord

_ROLES = json_fields.role_table(user="user", assistant="gemini model assistant", system="info error warning system")
_OTHER_CONTENT = ("thoughts", "toolCalls", "displayContent")
_KNOWN_KEYS = frozenset({"type", "role", "id", "timestamp", "ts", "model", "tokens", *_OTHER_CONTENT})
_INJECTED = re.compile(r"\s*(?:<session_context>|This is the Gemini CLI\. We are setting up the context)")


def matches(head: DocumentHead) -> float:
    """How surely this is a session of Gemini CLI."""
    best = 0.0
    for record in agent_logs.first_objects(head):
        if "sessionId" in record and {"projectHash", "startTime"} & record.keys() and "type" not in record:
            return 0.95
        messages = [as_dict(item) for item in as_list(record.get("messages"))]
        if any(item.get("type") == "gemini" and "content" in item for item in messages):
            best = max(best, 0.9)
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
class _GeminiCliSession:
    facts: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, LogEntry] = field(default_factory=dict)
    rewound_ids: set[str] = field(default_factory=set)

    def add(self, data: dict[str, Any], where: str) -> None:
        key = agent_logs.own_id(data.get("id")) or f"\x00{len(self.messages)}"
        self.messages[key] = LogEntry(data, where)
        self.rewound_ids.discard(key)

    def rewind(self, target: Any) -> None:
        keys = list(self.messages)
        self.rewound_ids |= set(keys[keys.index(target) :] if target in keys else keys)


def parse(document: Document) -> Iterator[Record]:
    """The sessions of the file. A log is read to its end before its messages are yielded."""
    session = _GeminiCliSession()
    empty = True
    for item in agent_logs.entries(document):
        if isinstance(item, InputProblem):
            yield item
            continue
        data = item.data
        next_id = data.get("sessionId")
        if session.messages and next_id not in (None, session.facts.get("sessionId")) and "id" not in data:
            yield from _messages(session, document)
            session, empty = _GeminiCliSession(), False
        if "$rewindTo" in data:
            session.rewind(data["$rewindTo"])
            continue
        if "$set" not in data and ("type" in data or "role" in data):
            if problem := json_fields.object_problem(data, item.where, "message"):
                yield problem
            else:
                session.add(data, item.where)
            continue
        facts = as_dict(data["$set"]) if "$set" in data else data
        session.facts |= {key: value for key, value in facts.items() if key not in ("messages", "history")}
        messages = facts.get("messages", facts.get("history"))
        if messages is not None and not isinstance(messages, list):
            yield InputProblem(item.where, f"messages is {json_fields.json_type(messages)}, not a list; skipped")
        for entry in json_fields.entries(as_list(messages), item.where, "message"):
            if isinstance(entry, InputProblem):
                yield entry
            else:
                session.add(entry[2], entry[1])
    if session.messages:
        yield from _messages(session, document)
    elif empty:
        yield agent_logs.no_messages()


def _messages(session: _GeminiCliSession, document: Document) -> Iterator[Record]:
    facts = session.facts
    identity = agent_logs.own_id(facts.get("sessionId")) or agent_logs.id_in_name(document)
    if identity is None:
        first = next(iter(session.messages.values())).data
        identity = agent_logs.made_id("gemini_cli", facts.get("startTime") or first.get("timestamp"), _content(first))
    created, _ = parse_time(facts.get("startTime"), "")
    metadata: dict[str, Any] = {}
    if folder := next((as_text(path) for path in as_list(facts.get("directories")) if as_text(path)), ""):
        metadata["folder"] = folder
    if facts.get("kind") == "subagent":
        metadata["sidechain"] = True
    log_session = LogSession(SessionRecord(identity, as_text(facts.get("summary")) or None, created, metadata))
    for key, message in session.messages.items():
        flags = {"branch": True} if key in session.rewound_ids else {}
        if "sidechain" in metadata:
            flags["sidechain"] = True
        yield from _message(log_session, message.data, None if key.startswith("\x00") else key, message.where, flags)
    if not log_session.has_begun:
        yield agent_logs.no_messages()


def _content(data: dict[str, Any]) -> Any:
    content = data.get("content")
    if isinstance(content, dict) and "parts" in content:
        content = content["parts"]
    return data.get("parts") if content in (None, "", []) else content


def _message(
    log_session: LogSession, data: dict[str, Any], identity: str | None, where: str, flags: dict[str, bool]
) -> Iterator[Record]:
    speaker = json_fields.first_text(data, "type", "role")
    role = _ROLES.get(speaker)
    sent, notes = parse_time(data.get("timestamp", data.get("ts")), where)
    yield from notes
    blocks = list(blocks_of(_content(data)))
    if role != "system" and not (blocks or any(data.get(key) for key in _OTHER_CONTENT)):
        if text := unknown_text.text_of(data, _KNOWN_KEYS):
            blocks = [ContentBlock("words", text, is_unknown=True)]
        else:
            yield unknown_text.lost(where)
    yield from agent_logs.unknown_notes(blocks, where)
    blocks += [ContentBlock("reasoning", _thought(thought)) for thought in as_list(data.get("thoughts"))]
    text = "\n".join(block.text for block in blocks if block.kind == "words")
    context = ""
    typed = "".join(block.text for block in blocks_of(data.get("displayContent")) if block.kind == "words")
    if role == "user" and typed.strip() and typed != text:
        # The person typed less than the model got: the content includes the files that the person named.
        text, context = typed, text
    metadata: dict[str, Any] = dict(flags)
    if role is None:
        if text.strip():
            yield InputProblem(where, f"unknown type {speaker!r}; imported as system")
        role = "system"
    elif role == "user" and _INJECTED.match(text):
        role, metadata["hidden"] = "system", True
    if attachments := [{"name": block.name} for block in blocks if block.kind == "file"]:
        metadata["attachments"] = attachments
    if role == "assistant" and (model := as_text(data.get("model"))):
        metadata["model"] = model
    emit = partial(log_session.emit, sent=sent, where=where)

    def part_id(part: str) -> str | None:
        return f"{identity}-{part}" if identity else None

    reasoning = "\n\n".join(block.text for block in blocks if block.kind == "reasoning" and block.text)
    tools = tool_metadata("reasoning") | flags
    yield from emit("tool", reasoning, part_id("thoughts"), reply_to=identity, metadata=tools)
    yield from emit(role, with_attachments(text, attachments), identity, metadata=metadata)
    hidden = {"hidden": True} | flags
    yield from emit("system", context, part_id("context"), reply_to=identity, metadata=hidden)
    calls = [block for block in blocks if block.kind in ("call", "result")]
    for call in as_list(data.get("toolCalls")):
        if isinstance(call, dict):
            calls += _call_with_result(call)
    number = 0
    for block in calls:
        # A result that comes later must not shift the numbers of the calls after it.
        number += block.kind == "call"
        tools = tool_metadata("result", block.name)
        if block.kind == "call":
            tools = agent_logs.call_metadata(block.name, block.arguments)
        own, author = part_id(f"{block.kind}-{block.call_id or number}"), block.name or None
        yield from emit("tool", block.text, own, author=author, reply_to=identity, metadata=tools | flags)


def _call_with_result(data: dict[str, Any]) -> Iterator[ContentBlock]:
    call = call_of(data)
    yield call
    results = [block.text for block in blocks_of(data.get("result")) if block.text]
    if text := "\n".join(results) or as_text(data.get("resultDisplay")):
        yield ContentBlock("result", text, call.name, call.call_id)


def _thought(thought: Any) -> str:
    parts = [as_text(as_dict(thought).get(key)) for key in ("subject", "description")]
    return "\n".join(part for part in parts if part) or as_text(thought)
