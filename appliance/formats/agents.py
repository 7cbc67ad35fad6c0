"""Logs of other coding agents, in their small dialects, by one reader.

Antigravity, Copilot, Cursor, Droid, Hermes, Kimi, OpenClaw (and Pi), OpenCode, Qwen Code and, by the shape of their
records (``agent_shapes``), Amp, Continue, Goose, Jan and others. They differ in how a record says who speaks and where
the text stands: each dialect turns a record into an ``AgentTurn``, and the rest is the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from appliance.formats import (
    agent_databases,
    agent_logs,
    agent_shapes,
    agent_tasks,
    copilot_journal,
    json_fields,
    opencode_storage,
    unknown_text,
)
from appliance.formats import text as texts
from appliance.formats.agent_dialects import (
    ANTIGRAVITY_ANSWERS,
    COPILOT_TURNS,
    KIMI_EVENTS,
    dialect_of,
    opencode,
    plain_or_none,
)
from appliance.formats.agent_logs import ContentBlock, EchoFilter, LogEntry, LogSession
from appliance.formats.agent_shapes import (
    ROLES,
    AgentTurn,
    pair_in,
    request_turns,
    role_of,
    sessions_in,
    shape_confidence,
    time_of,
    turn_of,
    turns_in,
)
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text, parse_time, with_attachments
from appliance.types import InputProblem, Record, Role, SessionRecord

# The program's markup around the person's text, and around the text that it adds.
_USER_REQUEST = re.compile(r"<(USER_REQUEST|user_query|task|feedback|user_message|answer)>\n?(.*?)\n?</\1>", re.DOTALL)
_INJECTED = re.compile(r"\s*<(qwen:[\w-]+|environment_details|user_info|system_info|hook_context)\b.*", re.DOTALL)
_KNOWN_KEYS = frozenset({"summary", "sessionTitle", "systemPayload", "cwd", "directory", "gitBranch", "version"})
# Claude Code writes records of this shape with these keys.
_CLAUDE_CODE_KEYS = frozenset({"uuid", "parentUuid", "isSidechain"})
_SESSION_IDS = (
    "sessionId", "session_id", "sessionID", "thread_id", "threadId", "conversationId", "conversation_id",
)  # fmt: skip


@dataclass(slots=True)
class _AgentLog:
    """The state of reading a file.

    ``nearest`` has the message at or above each record, ``calls`` the message id and the tool's name of each call."""

    document: Document
    facts: dict[str, Any] = field(default_factory=dict)
    sessions: dict[str, LogSession] = field(default_factory=dict)
    nearest: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    echoes: EchoFilter = field(default_factory=EchoFilter)
    session_id: str | None = None


def matches(head: DocumentHead) -> float:
    """How surely this is one of the dialects, or has records of their shape."""
    if head.tables:
        return agent_databases.confidence(head.tables)
    records = agent_logs.first_objects(head)
    if records and all({"sessionId", "messageId", "message"} <= record.keys() for record in records):
        # Gemini CLI's list of prompts: its sessions have them, with the answers.
        return 0.0
    best = max(map(_confidence, records), default=0.0)
    if agent_tasks.is_task_file(head.name) and any(map(agent_shapes.is_turn, records)):
        return max(best, 0.97)
    if any(opencode_storage.kind_of(record, head.name) is not None for record in records[:1]):
        return max(best, 0.9)
    return max(best, shape_confidence(records))


def _confidence(record: dict[str, Any]) -> float:
    kind, message = as_text(record.get("type")), as_dict(record.get("message"))
    if copilot_journal.is_state(record):
        return 0.95
    if "step_index" in record and len({"source", "type", "status"} & record.keys()) > 1:
        return 0.95
    if "step_index" in record and kind in ("USER_INPUT", *ANTIGRAVITY_ANSWERS):
        return 0.9
    if "." in kind and isinstance(record.get("data"), dict) and {"id", "parentId"} & record.keys():
        return 0.95
    if kind in ("turn.prompt", "context.append_message", "context.append_loop_event"):
        return 0.95
    if kind in COPILOT_TURNS or (as_text(message.get("type")) in KIMI_EVENTS and "payload" in message):
        return 0.95
    if kind == "metadata" and "protocol_version" in record:
        return 0.9
    if agent_tasks.is_shown(record) and agent_tasks.is_certain(record):
        return 0.95
    if "sessionId" in record and isinstance(message.get("parts"), list):
        return 0.95
    if kind == "message" and as_text(message.get("role")).lower() in ROLES and "id" in record:
        return 0.9
    if kind == "message" and as_text(message.get("role")).lower() in ROLES and "content" in message:
        return 0.0 if _CLAUDE_CODE_KEYS & record.keys() else 0.7
    if kind in ("session", "session_start") and "id" in record and {"cwd", "version"} & record.keys():
        return 0.85
    if not kind and as_text(record.get("role")).lower() in ROLES and "content" in message:
        return 0.9
    messages = [as_dict(item) for item in as_list(record.get("messages"))]
    if any("info" in item and "parts" in item for item in messages):
        return 0.9
    if not kind and as_text(message.get("role")).lower() in ROLES and {"content", "parts"} & message.keys():
        return 0.0 if _CLAUDE_CODE_KEYS & record.keys() else 0.8
    return (
        0.85 if "session_id" in record and any(as_text(item.get("role")).lower() in ROLES for item in messages) else 0.0
    )


def parse(document: Document) -> Iterator[Record]:
    """The messages of the session in the order of the file."""
    log = _AgentLog(document, facts=agent_tasks.facts_of(document) | _facts_beside(document))
    if agent_tasks.is_read_elsewhere(document):
        yield agent_tasks.read_elsewhere()
        return
    items: Iterator[LogEntry | InputProblem]
    try:
        is_database = agent_databases.is_database(document)
    except texts.READ_ERRORS:
        is_database = False  # the error is reported when the lines are read
    items = agent_databases.sessions(document) if is_database else _entries(document)
    yield from agent_logs.records(items, log.sessions.values(), partial(_record, log))


def _entries(document: Document) -> Iterator[LogEntry | InputProblem]:
    items = agent_logs.entries(document)
    first = next(items, None)
    if first is None:
        return
    items = chain([first], items)
    is_journal = isinstance(first, LogEntry) and copilot_journal.is_state(first.data)
    yield from copilot_journal.final_states(items) if is_journal else items


def _facts_beside(document: Document) -> dict[str, Any]:
    """What a file beside the messages tells about their session (Jan, Vibe)."""
    if not document.name.endswith("/messages.jsonl"):
        return {}
    for name in ("thread.json", "meta.json"):
        if (file := document.context.find(name)) is not None:
            item = next((item.data for item in agent_logs.entries(file) if isinstance(item, LogEntry)), {})
            cwd = as_dict(item.get("environment")).get("working_directory")
            facts = {"id": item.get("id") or item.get("session_id"), "title": item.get("title"), "cwd": cwd}
            return {key: value for key, value in (facts | {"time": time_of(item)}).items() if value}
    return {}


def _record(log: _AgentLog, data: dict[str, Any], where: str) -> Iterator[Record]:
    name = log.document.name
    if (kind := opencode_storage.kind_of(data, name)) is not None:
        for item in opencode_storage.assembled(log.document, data, kind):
            yield from [item] if isinstance(item, InputProblem) else _container(log, item.data, item.where)
        return
    if any(isinstance(data.get(key), list) for key in ("messages", "requests")):
        yield from _container(log, data, where)
        return
    turn = dialect_of(data)(data) if not agent_tasks.is_shown(data) else None
    if agent_tasks.is_shown(data):
        turn = agent_tasks.shown_turn(data, is_first=not log.sessions)
        if turn is None:
            return
    if turn is None and turn_of(data) is None and (turns_in(data) is not None or sessions_in(data)):
        yield from _container(log, data, where)
        return
    turn = turn or turn_of(data)
    if turn is None and (pair := pair_in(data)):
        for one in pair:
            if (turn := turn_of(one)) is not None:
                yield from _messages(log, turn, where)
        return
    if turn is None:
        turn, notes = _rescued(data, where)
        yield from notes
    if turn is None:
        _update_session_facts(log, data)
        parent = log.nearest.get(agent_logs.own_id(data.get("parentId", data.get("parentUuid"))) or "")
        identity = agent_logs.own_id(data.get("id", data.get("uuid")))
        if parent and identity:
            log.nearest.setdefault(identity, parent)
        return
    if agent_tasks.is_task_file(name):
        turn = agent_tasks.sent_turn(turn)
    if session := agent_logs.first_own_id(data, *_SESSION_IDS):
        if log.facts.get("id") not in (None, session) and log.sessions:
            # The file holds several sessions.
            log.facts = {}
        log.facts.setdefault("id", session)
        log.facts.setdefault("cwd", data.get("cwd"))
    yield from _messages(log, turn, where)


def _rescued(data: dict[str, Any], where: str, *, is_turn: bool = False) -> tuple[AgentTurn | None, list[InputProblem]]:
    """The turn of a record whose words stand under a key, or whose speaker under a name, that no dialect has.
    ``is_turn`` if its place shows it to be one."""
    message = as_dict(data.get("message")) or data
    role = role_of(as_text(message.get("role")) or first_text(data, "role", "type"))
    identity = agent_logs.own_id(data.get("id"))
    words = message.get("content") if message is not data or is_turn else None
    if role is None and "role" in message and not unknown_text.text_of(words):
        words = unknown_text.text_under_text_keys(message) or unknown_text.sentences_of(message, _KNOWN_KEYS)
    if role in ("user", "assistant") and "messages" not in data:
        if not (text := unknown_text.text_of(message, _KNOWN_KEYS)):
            return None, [unknown_text.lost(where)]
        block = ContentBlock("words", text, is_unknown=True)
        return AgentTurn(role, (block,), identity, time=time_of(data, message)), []
    if role is None and (text := unknown_text.text_of(words)):
        problem = InputProblem(where, "the role is missing or unknown; imported as system")
        return AgentTurn("system", (ContentBlock("words", text),), identity, time=time_of(data, message)), [problem]
    texts_beside = [
        part.get(key) for part in (data, as_dict(data.get("payload"))) for key in ("content", "text", "message")
    ]
    if role is None and (
        any(map(unknown_text.text_of, texts_beside)) or (is_turn and unknown_text.sentences_of(message, _KNOWN_KEYS))
    ):
        return None, [InputProblem(where, "the record has text and no known speaker; left out", harmless=True)]
    return None, []


def _container(log: _AgentLog, data: dict[str, Any], where: str) -> Iterator[Record]:
    """A session, or several, in one object."""
    # The place of a file's only object says nothing.
    where = "" if where in ("line 1", "line 1, record 1") else where
    for session in sessions_in(data):
        yield from _container(log, session, where)
    turns = data.get("messages")
    if not isinstance(turns, list):
        turns = request_turns(data) or turns_in(data) or []
    if log.sessions:
        # The file holds several sessions.
        log.facts, log.session_id = {}, None
    heads = [as_dict(data.get(key)) for key in ("info", "session", "session_meta", "thread")]
    head = {key: value for one in heads for key, value in one.items() if key != "messages"}
    _update_session_facts(log, data | head | {"messages": turns})
    if prompt := first_text(data, "system_prompt", "systemPrompt"):
        yield from _messages(log, AgentTurn("system", (ContentBlock("words", prompt),), hidden=True), where)
    strangers_answer = agent_shapes.only_person_is_known(turns)
    for entry in json_fields.entries(turns, where, "message"):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        _, place, message = entry
        if strangers_answer and (turn := agent_shapes.turn_of_unknown_speaker(message)) is not None:
            yield from _messages(log, turn, place)
        elif isinstance(message.get("info"), dict) and "parts" in message:
            yield from _messages(log, opencode(message), place)
        elif (turn := plain_or_none(message)) is not None or (turn := turn_of(message)) is not None:
            yield from _messages(log, turn, place)
        else:
            turn, notes = _rescued(message, place, is_turn=True)
            yield from notes
            yield from _messages(log, turn, place) if turn else ()


def _update_session_facts(log: _AgentLog, data: dict[str, Any]) -> None:
    """Keep what a record without a message tells about the session."""
    inner = as_dict(data.get("data"))
    opens = as_text(data.get("type")) in ("session", "session_start") or "messages" in data
    is_header = "working_dir" in data
    facts = {
        "id": inner.get("sessionId") or agent_logs.first_own_id(data, *_SESSION_IDS) or (opens and data.get("id")),
        "title": data.get("title") or data.get("sessionTitle") or data.get("customTitle") or data.get("summary")
        or (is_header and data.get("description")) or (opens and as_text(data.get("name"))),
        "cwd": first_text(data, "cwd", "directory", "working_dir", "workspaceDirectory", "workspacePath")
        or as_dict(inner.get("context")).get("cwd"),
        "parent": (opens and data.get("parent_session")) or data.get("parentID"),
        "time": as_dict(data.get("time")).get("created")
        or inner.get("startTime")
        or data.get("session_start")
        or data.get("created_at")
        or data.get("creationDate")
        or (opens and time_of({key: value for key, value in data.items() if key != "messages"})),
    }  # fmt: skip
    for key, value in facts.items():
        if value and (key not in ("id", "parent") or agent_logs.own_id(value)):
            log.facts.setdefault(key, value)


# --- all dialects -------------------------------------------------------------------------------------


def _messages(log: _AgentLog, turn: AgentTurn, where: str) -> Iterator[Record]:
    """The messages of a turn: its text once, with reasoning, calls and results where they stand."""
    texts = [block.text for block in turn.blocks if block.kind == "words" and block.text]
    words, added = _split_user_text(texts) if turn.role == "user" else ("\n\n".join(texts), [])
    if turn.role == "user" and turn.stream and words and log.echoes.is_echo(turn.stream, "user", words):
        return
    log_session = _session(log, turn, words)
    sent, notes = parse_time(turn.time, where)
    yield from notes if turn.blocks else ()
    yield from agent_logs.unknown_notes(turn.blocks, where)
    sidechain = {"sidechain": True} if turn.agent or log_session.session.metadata.get("sidechain") else {}
    parent = log.nearest.get(turn.parent or "")
    first: str | None = None

    def emit(role: Role, text: str, part: str, metadata: dict[str, Any], **more: Any) -> Iterator[Record]:
        nonlocal first
        identity = f"{turn.identity}{part}" if turn.identity else None
        for record in log_session.emit(role, text, identity, sent, where, metadata=metadata | sidechain, **more):
            if (first is None or part == "") and not isinstance(record, InputProblem):
                first = identity
            yield record

    attachments = [{"name": block.name} for block in turn.blocks if block.kind == "file"]
    text = with_attachments(words, attachments)
    owner = turn.identity if text.strip() and turn.role != "tool" else parent
    has_text = False
    for n, block in enumerate(turn.blocks, 1):
        if block.kind == "reasoning":
            yield from emit(
                "tool", block.text, f"-reasoning-{n}", json_fields.tool_metadata("reasoning"), reply_to=owner
            )
        elif block.kind == "call":
            part = f"-call-{n}"
            message_id = f"{turn.identity}{part}" if turn.identity else None
            if block.call_id:
                log.calls[block.call_id] = (message_id, block.name)
                if message_id:
                    log.nearest[block.call_id] = message_id
            metadata = agent_logs.call_metadata(block.name, block.arguments)
            yield from emit("tool", block.text, part, metadata, author=block.name or None, reply_to=owner)
        elif block.kind == "result":
            call, name = log.calls.get(block.call_id or "", (None, ""))
            name = block.name or name
            part = f"-result-{n}" if len(turn.blocks) > 1 or turn.role != "tool" else ""
            metadata = json_fields.tool_metadata("result", name)
            yield from emit("tool", block.text, part, metadata, author=name or None, reply_to=call or owner)
        elif not has_text and turn.role != "tool":
            has_text = True
            metadata = {"attachments": attachments} if attachments else {}
            if turn.role == "assistant" and turn.model:
                metadata["model"] = turn.model
            if turn.hidden:
                metadata["hidden"] = True
            yield from emit(turn.role, text, "", metadata, reply_to=parent)
    for n, (context, is_hidden) in enumerate([*((text, True) for text in added), *turn.added], 1):
        part = "" if n == 1 and not words.strip() and not turn.added else f"-context-{n}"
        yield from emit("system", context, part, {"hidden": True} if is_hidden else {}, reply_to=owner)
    if turn.identity and (message_id := first or parent):
        log.nearest.setdefault(turn.identity, message_id)


def _split_user_text(texts: list[str]) -> tuple[str, list[str]]:
    """The person's own text, and the texts that the program put around it."""
    words: list[str] = []
    added: list[str] = []
    for text in texts:
        if requests := _USER_REQUEST.findall(text):
            words += [request for _, request in requests]
            added += [rest] if (rest := _USER_REQUEST.sub("", text).strip()) else []
        elif _INJECTED.fullmatch(text):
            added.append(text)
        else:
            own, reminders = agent_logs.split_reminders(text)
            added += reminders
            words += [own] if own.strip() else []
    return "\n\n".join(words), added


def _session(log: _AgentLog, turn: AgentTurn, words: str) -> LogSession:
    """The session of a turn: the file's own, or that of the agent who speaks."""
    facts = log.facts
    identity = agent_logs.own_id(facts.get("id")) or log.session_id or agent_logs.id_in_name(log.document)
    if identity is None:
        # Without a time, the files' names tell apart sessions that begin alike.
        start = facts.get("time") or turn.time
        name = "" if start else log.document.name.rpartition("/")[2]
        identity = agent_logs.made_id("agents", name, start, words or [block.text for block in turn.blocks])
        log.session_id = identity
    key = f"{identity}/{turn.agent}" if turn.agent else identity
    if key not in log.sessions:
        parent = identity if turn.agent else as_text(facts.get("parent"))
        metadata: dict[str, Any] = {"sidechain": True, "parent": parent} if parent else {}
        if folder := as_text(facts.get("cwd")):
            metadata["folder"] = folder
        title = None if turn.agent else as_text(facts.get("title")) or None
        created = None if turn.agent else parse_time(facts.get("time"), "")[0]
        log.sessions[key] = LogSession(SessionRecord(key, title, created, metadata))
    return log.sessions[key]
