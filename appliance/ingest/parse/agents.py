"""Logs of other coding agents, in their small dialects, by one reader.

Antigravity, Copilot CLI, Cursor, Droid, Hermes, Kimi, OpenClaw (and Pi), OpenCode (exported), Qwen Code.
What differs is how a record says who speaks and where the words stand; each dialect turns a record into a
``_Turn``, and the rest is alike for all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from appliance.ingest.parse import logs
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.blocks import Block, blocks_of, call_of, result_of
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.logs import Echoes, Said
from appliance.ingest.parse.salvage import is_whole
from appliance.types import Problem, Record, Role, SessionRecord

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "toolResult": "tool",
    "tool_result": "tool",
    "bashExecution": "tool",
    "function": "tool",
}
# The program's wrapping of what the person typed, and what it adds to it.
_ASKED = re.compile(r"<(USER_REQUEST|user_query)>\n?(.*?)\n?</\1>", re.DOTALL)
_ADDED = re.compile(
    r"\s*<(qwen:[\w-]+|environment_details|user_info|system_info|hook_context)\b.*", re.DOTALL
)
_ANSWERS = frozenset({"PLANNER_RESPONSE", "NOTIFY_USER"})


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one record says. ``agent`` is who speaks where it is not the session's own assistant;
    ``stream`` tells apart what a log says twice."""

    role: Role
    blocks: tuple[Block, ...] = ()
    identity: str | None = None
    parent: str | None = None
    time: Any = None
    hidden: bool = False
    agent: str | None = None
    model: str = ""
    stream: str = ""


@dataclass(slots=True)
class _Log:
    """A file as it goes by."""

    document: Document
    facts: dict[str, Any] = field(default_factory=dict)
    sessions: dict[str, Said] = field(default_factory=dict)
    nearest: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    echoes: Echoes = field(default_factory=Echoes)
    made: str | None = None


def matches(head: Head) -> float:
    """How surely one of the dialects is spoken here."""
    best = 0.0
    for record in logs.first_objects(head):
        best = max(best, _sureness(record))
    return best


def _sureness(record: dict[str, Any]) -> float:
    kind, message = as_text(record.get("type")), as_dict(record.get("message"))
    if {"step_index", "source", "type", "status"} <= record.keys():
        return 0.95
    if "." in kind and isinstance(record.get("data"), dict) and {"id", "parentId"} & record.keys():
        return 0.95
    if kind in ("turn.prompt", "context.append_message", "context.append_loop_event"):
        return 0.95
    if kind == "metadata" and "protocol_version" in record:
        return 0.9
    if "sessionId" in record and isinstance(message.get("parts"), list):
        return 0.95
    if kind == "message" and as_text(message.get("role")) in _ROLES and "id" in record:
        return 0.9
    if kind in ("session", "session_start") and "id" in record and {"cwd", "version"} & record.keys():
        return 0.85
    if not kind and as_text(record.get("role")) in _ROLES and "content" in message:
        return 0.9
    if any("info" in as_dict(m) and "parts" in as_dict(m) for m in as_list(record.get("messages"))):
        return 0.9
    if "session_id" in record and any(
        as_text(as_dict(m).get("role")) in _ROLES for m in as_list(record.get("messages"))
    ):
        return 0.85
    return 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages of the session in the order of the file."""
    log = _Log(document)
    for item in logs.entries(document):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _record(log, item.data, item.where)
    if not any(said.begun for said in log.sessions.values()):
        yield Problem("", "the file holds no messages", harmless=True)


def _record(log: _Log, data: dict[str, Any], where: str) -> Iterator[Record]:
    if isinstance(data.get("messages"), list):
        _learn(log, data | as_dict(data.get("info")))
        for number, message in enumerate(data["messages"], 1):
            place = f"message {number}"
            if not isinstance(message, dict):
                if message is not None:
                    yield Problem(place, f"not an object but a {type(message).__name__}; passed over")
            elif not is_whole(message):
                yield Problem(place, "the message is damaged or cut off; passed over")
            else:
                dialect = _opencode if isinstance(message.get("info"), dict) else _plain
                yield from _told(log, dialect(message), place)
        return
    turn = _dialect(data)(data)
    if turn is None:
        _learn(log, data)
        parent = log.nearest.get(logs.own_id(data.get("parentId", data.get("parentUuid"))) or "")
        identity = logs.own_id(data.get("id", data.get("uuid")))
        if parent and identity:
            log.nearest.setdefault(identity, parent)
        return
    if session := logs.own_id(data.get("sessionId")):
        log.facts.setdefault("id", session)
        log.facts.setdefault("cwd", data.get("cwd"))
    yield from _told(log, turn, where)


def _learn(log: _Log, data: dict[str, Any]) -> None:
    """What a record that says nothing tells about the session."""
    inner = as_dict(data.get("data"))
    kind = as_text(data.get("type"))
    opens = kind in ("session", "session_start") or "messages" in data
    facts = {
        "id": inner.get("sessionId")
        or data.get("session_id")
        or data.get("sessionId")
        or (opens and data.get("id")),
        "title": data.get("title") or data.get("sessionTitle") or data.get("summary"),
        "cwd": data.get("cwd") or data.get("directory") or as_dict(inner.get("context")).get("cwd"),
        "time": as_dict(data.get("time")).get("created")
        or inner.get("startTime")
        or data.get("session_start")
        or data.get("created_at")
        or (opens and data.get("timestamp")),
    }
    for key, value in facts.items():
        if value and (key != "id" or logs.own_id(value)):
            log.facts.setdefault(key, value)


# --- dialects -----------------------------------------------------------------------------------------


def _dialect(data: dict[str, Any]) -> Callable[[dict[str, Any]], _Turn | None]:
    kind = as_text(data.get("type"))
    if "step_index" in data:
        return _antigravity
    if kind.startswith(("turn.", "context.")):
        return _kimi
    if "." in kind and isinstance(data.get("data"), dict):
        return _copilot
    return _plain_or_none


def _plain_or_none(data: dict[str, Any]) -> _Turn | None:
    """A record with a role, its own or its message's; others are bookkeeping."""
    turn = _plain(data)
    return turn if turn.blocks else None


def _plain(data: dict[str, Any]) -> _Turn:
    """Cursor, Droid, Hermes, OpenClaw, Qwen: a role, and content or parts, here or in ``message``."""
    message = as_dict(data.get("message")) or data
    spoken = as_text(message.get("role")) or as_text(data.get("role")) or as_text(data.get("type"))
    role = _ROLES.get(spoken)
    payload = as_dict(data.get("systemPayload"))
    content = message.get("content", message.get("parts"))
    blocks = tuple(blocks_of(content)) if role else ()
    if role == "tool":
        result = result_of(message)
        blocks = (replace(result, name=result.name or as_text(message.get("name"))),)
    elif role == "assistant":
        blocks += tuple(
            call_of(call) for call in as_list(message.get("tool_calls")) if isinstance(call, dict)
        )
        said = next((t for key in ("reasoning_content", "reasoning") if (t := as_text(message.get(key)))), "")
        blocks = (Block("reasoning", said), *blocks) if said else blocks
    notice = role == "user" and as_text(data.get("subtype")) == "notification"
    if notice and payload:
        role = "system"
    return _Turn(
        role or "system",
        blocks,
        logs.own_id(data.get("id")) or logs.own_id(data.get("uuid")),
        logs.own_id(data.get("parentId")) or logs.own_id(data.get("parentUuid")),
        data.get("timestamp") or message.get("timestamp") or data.get("created_at"),
        hidden=role == "system" and not notice,
        model=as_text(data.get("model")) or as_text(message.get("model")),
    )


def _opencode(data: dict[str, Any]) -> _Turn:
    """A message's facts, and its parts; a tool's part holds its call and its result."""
    info = as_dict(data.get("info"))
    role = _ROLES.get(as_text(info.get("role")), "system")
    blocks: list[Block] = []
    for part in as_list(data.get("parts")):
        given = as_dict(part)
        state = as_dict(given.get("state"))
        if given.get("type") == "tool":
            call = {"name": given.get("tool"), "id": given.get("callID"), "input": state.get("input")}
            blocks += [
                call_of(call),
                result_of({"toolCallId": given.get("callID"), "output": state.get("output")}),
            ]
        elif given.get("synthetic") is not True:
            # Synthetic parts are what the program adds to a prompt.
            blocks += blocks_of(part)
    return _Turn(
        role,
        tuple(blocks),
        logs.own_id(info.get("id")),
        logs.own_id(info.get("parentID")),
        as_dict(info.get("time")).get("created"),
        hidden=role == "system",
        model=as_text(info.get("modelID")),
    )


def _antigravity(data: dict[str, Any]) -> _Turn | None:
    """Steps by source: the person, the model with its tools, the program."""
    kind, source = as_text(data.get("type")), as_text(data.get("source"))
    text = as_text(data.get("content"))
    blocks: tuple[Block, ...] = ()
    role: Role = "system"
    if kind == "USER_INPUT":
        role, blocks = "user", (Block("words", text),)
    elif kind in _ANSWERS:
        role = "assistant"
        blocks = (Block("reasoning", as_text(data.get("thinking"))), Block("words", text))
        blocks += tuple(
            call_of(call | {"args": {k: _unquoted(v) for k, v in as_dict(call.get("args")).items()}})
            for call in as_list(data.get("tool_calls"))
            if isinstance(call, dict)
        )
    elif source == "SYSTEM":
        blocks = (Block("words", text),)
    else:
        role, blocks = "tool", (Block("result", text, kind.lower()),)
    step = logs.own_id(data.get("step_index"))
    return _Turn(role, blocks, step, None, data.get("created_at"), hidden=role == "system")


def _unquoted(value: Any) -> Any:
    """Arguments are JSON within JSON."""
    if isinstance(value, str) and value.startswith('"'):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _copilot(data: dict[str, Any]) -> _Turn | None:
    """Events; what a tool began is in the request for it."""
    kind, given = as_text(data.get("type")), as_dict(data.get("data"))
    agent = as_text(given.get("parentToolCallId"))
    turn = _Turn(
        "system",
        (),
        logs.own_id(data.get("id")),
        logs.own_id(data.get("parentId")),
        data.get("timestamp"),
        agent=(logs.own_id(agent) or "agents") if agent else None,
        model=as_text(given.get("model")),
    )
    words = Block("words", as_text(given.get("content")) or as_text(given.get("message")))
    if kind == "user.message":
        files = tuple(
            Block("file", "", name)
            for item in as_list(given.get("attachments"))
            if (name := as_text(as_dict(item).get("displayName")) or as_text(as_dict(item).get("path")))
        )
        return replace(turn, role="user", blocks=(words, *files))
    if kind == "assistant.message":
        calls = tuple(call_of(call) for call in as_list(given.get("toolRequests")) if isinstance(call, dict))
        reasoning = Block("reasoning", as_text(given.get("reasoningText")))
        return replace(turn, role="assistant", blocks=(reasoning, words, *calls))
    if kind == "tool.execution_complete":
        return replace(turn, role="tool", blocks=(result_of(given),))
    if kind in ("system.message", "system.notification"):
        return replace(turn, blocks=(words,), hidden=True)
    if kind in ("session.info", "session.error", "session.warning"):
        return replace(turn, blocks=(words,))
    return None


def _kimi(data: dict[str, Any]) -> _Turn | None:
    """Prompts as they were given and as the model got them, and the events of the loop."""
    kind = as_text(data.get("type"))
    agent = as_text(data.get("agentId"))
    turn = _Turn(
        "user", time=data.get("time"), agent=agent if agent not in ("", "main") else None, stream=kind
    )
    message = data if kind in ("turn.prompt", "turn.steer") else as_dict(data.get("message"))
    own = as_dict(message.get("origin")).get("kind") in (None, "user")
    if kind in ("turn.prompt", "turn.steer"):
        role: Role = "user" if own else "system"
        blocks = tuple(blocks_of(data.get("input")))
        return replace(turn, role=role, blocks=blocks, hidden=not own, stream="prompt")
    if kind == "context.append_message":
        plain = _plain(message | {"tool_calls": message.get("toolCalls")})
        role = plain.role if own or plain.role != "user" else "system"
        return replace(turn, role=role, blocks=plain.blocks, hidden=role == "system")
    if kind == "context.apply_compaction":
        return replace(
            turn, role="system", blocks=(Block("words", as_text(data.get("summary"))),), hidden=True
        )
    event = as_dict(data.get("event"))
    turn = replace(turn, role="assistant", identity=logs.own_id(event.get("uuid")))
    if event.get("type") == "content.part":
        return replace(turn, blocks=tuple(blocks_of(event.get("part"))))
    if event.get("type") == "tool.call":
        return replace(turn, blocks=(call_of({k: v for k, v in event.items() if k != "type"}),))
    if event.get("type") == "tool.result":
        return replace(turn, role="tool", blocks=(result_of(event),))
    return None


# --- what is alike ------------------------------------------------------------------------------------


def _told(log: _Log, turn: _Turn, where: str) -> Iterator[Record]:
    """The messages of a turn: words once, what was thought and done around them."""
    words = "\n\n".join(block.text for block in turn.blocks if block.sort == "words" and block.text)
    added: list[str] = []
    if turn.role == "user":
        words, added = _own_words(
            [block.text for block in turn.blocks if block.sort == "words" and block.text]
        )
        if turn.stream and words and log.echoes.told(turn.stream, "user", words):
            return
    said = _session(log, turn, words)
    sent, note = logs.sent_at(turn.time, where)
    if note and turn.blocks:
        yield note
    marks = {"sidechain": True} if turn.agent else {}
    above = log.nearest.get(turn.parent or "")
    first: str | None = None

    def say(role: Role, text: str, part: str, metadata: dict[str, Any], **more: Any) -> Iterator[Record]:
        nonlocal first
        identity = f"{turn.identity}{part}" if turn.identity else None
        for record in said.say(role, text, identity, sent, where, metadata=metadata | marks, **more):
            if (first is None or part == "") and not isinstance(record, Problem):
                first = identity
            yield record

    attachments = [{"name": block.name} for block in turn.blocks if block.sort == "file"]
    text = with_attachments(words, attachments)
    owner = turn.identity if text.strip() and turn.role != "tool" else above
    seen = False
    for n, block in enumerate(turn.blocks, 1):
        if block.sort == "reasoning":
            yield from say(
                "tool", block.text, f"-reasoning-{n}", logs.tool_metadata("reasoning"), reply_to=owner
            )
        elif block.sort == "call":
            part = f"-call-{n}"
            if block.call:
                log.calls[block.call] = (f"{turn.identity}{part}" if turn.identity else None, block.name)
                if turn.identity:
                    log.nearest[block.call] = f"{turn.identity}{part}"
            metadata = logs.call_metadata(block.name, block.given)
            yield from say("tool", block.text, part, metadata, author=block.name or None, reply_to=owner)
        elif block.sort == "result":
            call, name = log.calls.get(block.call or "", (None, ""))
            name = block.name or name
            part = f"-result-{n}" if len(turn.blocks) > 1 or turn.role != "tool" else ""
            metadata = logs.tool_metadata("result", name)
            yield from say("tool", block.text, part, metadata, author=name or None, reply_to=call or owner)
        elif not seen and turn.role != "tool":
            seen = True
            metadata = {"attachments": attachments} if attachments else {}
            if turn.role == "assistant" and turn.model:
                metadata["model"] = turn.model
            if turn.hidden:
                metadata["hidden"] = True
            yield from say(turn.role, text, "", metadata, reply_to=above)
    for n, context in enumerate(added, 1):
        part = f"-context-{n}" if words.strip() else "" if n == 1 else f"-context-{n}"
        yield from say("system", context, part, {"hidden": True}, reply_to=owner)
    if turn.identity and (stands := first or above):
        log.nearest.setdefault(turn.identity, stands)


def _own_words(texts: list[str]) -> tuple[str, list[str]]:
    """What the person typed, and what the program put around it."""
    words: list[str] = []
    added: list[str] = []
    for text in texts:
        if asked := _ASKED.findall(text):
            words += [inner for _, inner in asked]
            added += [rest] if (rest := _ASKED.sub("", text).strip()) else []
        elif _ADDED.fullmatch(text):
            added.append(text)
        else:
            own, reminders = logs.without_reminders(text)
            added += reminders
            words += [own] if own.strip() else []
    return "\n\n".join(words), added


def _session(log: _Log, turn: _Turn, words: str) -> Said:
    """The session of a turn; the file's own, or that of the agent who speaks."""
    facts = log.facts
    identity = logs.own_id(facts.get("id")) or log.made or logs.id_in_name(log.document)
    if identity is None:
        # Without a time, sessions that begin alike are told apart by their files' names.
        born = facts.get("time") or turn.time
        name = "" if born else log.document.name.rpartition("/")[2]
        identity = logs.made_id("agents", name, born, words or [block.text for block in turn.blocks])
        log.made = identity
    key = f"{identity}/{turn.agent}" if turn.agent else identity
    if key not in log.sessions:
        metadata: dict[str, Any] = {"sidechain": True, "parent": identity} if turn.agent else {}
        if folder := as_text(facts.get("cwd")):
            metadata["folder"] = folder
        title = None if turn.agent else as_text(facts.get("title")) or None
        created, _ = (None, None) if turn.agent else logs.sent_at(facts.get("time"), "")
        log.sessions[key] = Said(SessionRecord(key, title, created, metadata))
    return log.sessions[key]
