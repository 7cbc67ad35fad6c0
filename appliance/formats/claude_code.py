"""Claude Code: session logs (``<session>.jsonl``, ``agent-<id>.jsonl``), and the form with ``loglines``.

A record with text becomes a message under the record's UUID; reasoning, calls and results become messages of role
``tool``. What the program wrote in the person's name is ``system``. Agents that an agent started have a session of
their own, marked ``sidechain``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import Any

from appliance.formats import agent_logs, json_fields, unknown_text
from appliance.formats.agent_logs import LogEntry, LogSession
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text, tool_metadata, with_attachments
from appliance.formats.message_tree import NodeLink, reading_order
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_MESSAGE_TYPES = frozenset({"user", "assistant"})
_TOOL_BLOCKS = {"thinking": "reasoning"}
# Other programs' words for the two who speak.
_SPEAKERS = {"human": "user", "ai": "assistant", "model": "assistant"}
_TOOL_BLOCKS |= dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), "call")
_TOOL_BLOCKS |= dict.fromkeys(
    ("tool_result", "web_search_tool_result", "web_fetch_tool_result", "mcp_tool_result"), "result"
)
_BOOKKEEPING = frozenset(
    "permission-mode mode queue-operation file-history-snapshot custom-title ai-title last-prompt"
    " worktree-state attachment progress".split()
)
_NOTICES = frozenset({"", "message", "system", "summary"})
_OWN_FIELDS = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}

# Texts that the program writes in the person's name: those that the person sees, and those that stay hidden.
_VISIBLE_MARKUP = re.compile(
    r"\s*(?:<(?:command-name|command-message|command-args|local-command-stdout|local-command-stderr|bash-input"
    r"|bash-stdout|bash-stderr|task-notification)>|\[Request interrupted by user)"
)
_INJECTED = re.compile(r"\s*(?:Caveat: The messages below|<local-command-caveat>|<user-prompt-submit-hook>)")
# What a record without content says besides; "message" is not among them, as it may hold the words in another shape.
_RECORD_KEYS = frozenset(
    "version slug permissionMode toolUseResult requestId logicalParentUuid error isApiErrorMessage origin promptSource"
    " container context_management attribution caller toolUseID sourceToolAssistantUUID planContent todos".split()
)
_SYNTHETIC = "<synthetic>"


def matches(head: DocumentHead) -> float:
    """How surely these are records of Claude Code."""
    best = 0.0
    for record in agent_logs.first_objects(head):
        if isinstance(record.get("loglines"), list):
            return 0.95
        kind = as_text(record.get("type"))
        message = record.get("message")
        own = {"uuid", "parentUuid", "isSidechain"} & record.keys()
        if kind in ("", "message") and as_text(as_dict(message).get("role")) in _MESSAGE_TYPES:
            best = max(best, 0.95 if own and "sessionId" in record else 0.0)
        if kind in ("", "message", *_MESSAGE_TYPES) and as_text(record.get("role")) in _MESSAGE_TYPES:
            # The message's fields stand in the record itself.
            best = max(best, 0.95 if {"uuid", "sessionId", "content"} <= record.keys() else 0.0)
        # Other programs' logs have a text under the same key.
        has_content = isinstance(message, dict) or (bool(own) and isinstance(message, str | list))
        if kind in _MESSAGE_TYPES and has_content and _content(record) is not None:
            linked = own or "sessionId" in record
            best = max(best, 0.95 if linked else 0.8 if "timestamp" in record else 0.6)
        elif (kind in _BOOKKEEPING and "sessionId" in record) or (kind in _OWN_FIELDS and _OWN_FIELDS[kind] in record):
            best = max(best, 0.9)
    return best


@dataclass(frozen=True, slots=True)
class _ClaudeCodeOverview:
    """What only the whole file tells: titles by session, and the records on side branches or retracted."""

    titles: dict[str, str]
    title: str | None
    branches: frozenset[str]
    retracted: frozenset[str]

    def title_of(self, session: str) -> str | None:
        return self.titles.get(session) or self.titles.get("") or self.title

    def changed_since(self, other: _ClaudeCodeOverview) -> frozenset[str]:
        """The records that this and another overview say different things of."""
        return (self.branches ^ other.branches) | (self.retracted ^ other.retracted)


@dataclass(slots=True)
class _ClaudeCodeLog:
    document: Document
    overview: _ClaudeCodeOverview
    sessions: dict[str, LogSession] = field(default_factory=dict)
    current: str | None = None
    # The message at or above each record, and the first record of each agent's session.
    nearest: dict[str, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    # The message id and the tool's name of each call, and the texts so far of the current answer.
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    answer: tuple[str, set[str]] = ("", set())
    # The records so far, of a file that is read in pieces.
    recorded: set[str] = field(default_factory=set)


def parse(document: Document) -> Iterator[Record]:
    """The messages of the file in its order, each session before its first message."""
    log = _ClaudeCodeLog(document, _overview(document))
    yield from agent_logs.records(_records(document), log.sessions.values(), partial(_record, log))


class Follower:
    """See ``base.LogFollower``."""

    def __init__(self, document: Document) -> None:
        self._survey = _ClaudeCodeSurvey()
        self._log = _ClaudeCodeLog(document, self._survey.overview())

    def survey(self, data: dict[str, Any]) -> None:
        self._survey.add(data)

    def agrees(self) -> bool:
        overview = self._survey.overview()
        changed = overview.changed_since(self._log.overview)
        titles = [
            (overview.title_of(key), one.session.title)
            for key, one in self._log.sessions.items()
            if not one.session.metadata.get("sidechain")
        ]
        self._log.overview = overview
        return changed.isdisjoint(self._log.recorded) and all(new == old for new, old in titles)

    def records(self, data: dict[str, Any], where: str) -> Iterator[Record]:
        if uuid := agent_logs.own_id(data.get("uuid")):
            self._log.recorded.add(uuid)
        return _record(self._log, data, where)


def _records(document: Document) -> Iterator[LogEntry | InputProblem]:
    """The records, one a line or in a list of ``loglines``."""
    for item in agent_logs.entries(document):
        if isinstance(item, InputProblem) or not isinstance(item.data.get("loglines"), list):
            yield item
            continue
        for number, data in enumerate(item.data["loglines"], 1):
            place = f"record {number}"
            problem = json_fields.object_problem(data, place, "record")
            yield problem or LogEntry({"sessionId": item.data.get("sessionId")} | data, place)


@dataclass(slots=True)
class _ClaudeCodeSurvey:
    """What is known of a file after some of its records."""

    titles: dict[str, str] = field(default_factory=dict)
    generated: dict[str, str] = field(default_factory=dict)
    summaries: list[tuple[str, str | None]] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    links: dict[str, NodeLink] = field(default_factory=dict)
    prompts: set[str] = field(default_factory=set)
    superseded: set[str] = field(default_factory=set)
    retracted: set[str] = field(default_factory=set)
    last: str | None = None

    def add(self, data: dict[str, Any]) -> None:
        kind = as_text(data.get("type"))
        session = _session_id(data) or ""
        if kind == "custom-title" and (title := as_text(data.get("customTitle"))):
            self.titles[session] = title
        elif kind == "ai-title" and (title := as_text(data.get("aiTitle"))):
            self.generated[session] = title
        elif kind == "summary" and (title := as_text(data.get("summary"))):
            self.summaries.append((title, agent_logs.own_id(data.get("leafUuid"))))
        self.superseded |= {u for u in as_list(data.get("supersedesUuids")) if isinstance(u, str)}
        self.retracted |= {u for u in as_list(data.get("retractedMessageUuids")) if isinstance(u, str)}
        uuid = agent_logs.own_id(data.get("uuid"))
        if uuid is None or uuid in self.links:
            return
        self.links[uuid] = NodeLink(agent_logs.first_own_id(data, "parentUuid", "logicalParentUuid"))
        self.sessions[uuid] = session
        if kind == "user" and _is_prompt(data):
            self.prompts.add(uuid)
        if kind in _MESSAGE_TYPES and data.get("isSidechain") is not True:
            self.last = uuid

    def overview(self) -> _ClaudeCodeOverview:
        generated, fallback = dict(self.generated), None
        for title, leaf in self.summaries:
            if leaf in self.sessions:
                generated.setdefault(self.sessions[leaf], title)
            else:
                fallback = fallback or title
        branches = _branches(self.links, self.prompts, self.last) | self.superseded
        return _ClaudeCodeOverview(generated | self.titles, fallback, frozenset(branches), frozenset(self.retracted))


def _overview(document: Document) -> _ClaudeCodeOverview:
    survey = _ClaudeCodeSurvey()
    for item in _records(document):
        if not isinstance(item, InputProblem):
            survey.add(item.data)
    return survey.overview()


def _branches(links: dict[str, NodeLink], prompts: set[str], last: str | None) -> set[str]:
    """The records after a prompt that was taken back: it and another prompt answer the same record.

    Tools that ran side by side leave forks too, and are no branches."""
    prompt_counts = Counter(parent for uuid in prompts if (parent := links[uuid].parent) in links)
    branches: set[str] = set()
    if max(prompt_counts.values(), default=0) < 2:
        return branches
    for placed in reading_order(links, last):
        is_fork = placed.node in prompts and prompt_counts[placed.parent or ""] > 1
        if placed.is_off_path and (is_fork or placed.parent in branches):
            branches.add(placed.node)
    return branches


def _is_prompt(data: dict[str, Any]) -> bool:
    """Whether the person typed this record of type user."""
    if any(data.get(key) is True for key in ("isMeta", "isCompactSummary", "isSidechain")):
        return False
    content = _content(data)
    if isinstance(content, str):
        return True
    kinds = [as_dict(block).get("type") for block in as_list(content)]
    return "text" in kinds and "tool_result" not in kinds


@dataclass(frozen=True, slots=True)
class _RecordFields:
    """What all messages of one record have in common."""

    log_session: LogSession
    uuid: str | None
    parent: str | None
    sent: datetime | None
    where: str
    flags: dict[str, Any]

    def emit(
        self, role: Role, text: str, part: str, metadata: dict[str, Any], reply_to: str | None = None
    ) -> Iterator[Record]:
        identity = f"{self.uuid}{part}" if self.uuid else None
        tools = as_list(metadata.get("tools"))
        author = as_text(tools[0].get("name")) or None if tools else None
        reply_to, metadata = reply_to or self.parent, metadata | self.flags
        return self.log_session.emit(
            role, text, identity, self.sent, self.where, author=author, reply_to=reply_to, metadata=metadata
        )


def _record(log: _ClaudeCodeLog, data: dict[str, Any], where: str) -> Iterator[Record]:
    uuid = agent_logs.own_id(data.get("uuid"))
    parent = agent_logs.own_id(data.get("parentUuid"))
    parent = log.nearest.get(parent, parent) if parent else None
    kind = _kind(data)
    first = None
    if kind in _MESSAGE_TYPES or kind in _TOOL_BLOCKS or (kind == "system" and as_text(data.get("content"))):
        log_session = _session(log, data)
        sent, notes = json_fields.parse_time(data.get("timestamp"), where)
        yield from notes
        if as_text(data.get("type")) not in _SPEAKERS and _is_unknown_kind(as_text(data.get("type"))):
            yield unknown_text.kept(where, as_text(data.get("type")))
        flags = {"sidechain": True} if log_session.session.metadata.get("sidechain") else {}
        if uuid in log.overview.branches:
            flags["branch"] = True
        if uuid in log.overview.retracted:
            flags["deleted"] = True
        turn = _RecordFields(log_session, uuid, parent, sent, where, flags)
        for record in _messages(log, turn, data, kind):
            if isinstance(record, MessageRecord) and (first is None or record.external_id == uuid):
                first = record.external_id
            yield record
    elif (not kind or _is_unknown_kind(kind)) and (
        text := unknown_text.text_of(as_dict(data.get("message")).get("content"))
    ):
        if kind.startswith("tool"):
            yield from _foreign_tool(log, data, kind, text, where)
            return
        yield InputProblem(where, f"a record of the unknown type {kind[:60]!r} has text and no speaker; left out")
    if uuid is not None and (message_id := first or parent):
        log.nearest.setdefault(uuid, message_id)


def _kind(data: dict[str, Any]) -> str:
    kind = as_text(data.get("type"))
    role = as_text(as_dict(data.get("message")).get("role")) or as_text(data.get("role"))
    kind, role = _SPEAKERS.get(kind, kind), _SPEAKERS.get(role, role)
    if kind in ("", "message") or (_is_unknown_kind(kind) and role in _MESSAGE_TYPES):
        kind = role
    queued = as_dict(data.get("attachment"))
    if kind == "attachment" and queued.get("type") == "queued_command" and queued.get("commandMode") == "prompt":
        # The person typed it while the assistant was at work; no other record has it.
        return "user"
    return kind


def _foreign_tool(log: _ClaudeCodeLog, data: dict[str, Any], kind: str, text: str, where: str) -> Iterator[Record]:
    """A call or a result that another program writes as a record of its own type."""
    sent, notes = json_fields.parse_time(data.get("timestamp"), where)
    yield from notes
    turn = _RecordFields(_session(log, data), agent_logs.own_id(data.get("uuid")), None, sent, where, {})
    message = as_dict(data.get("message"))
    metadata = tool_metadata("result" if "result" in kind else "call", first_text(message, "tool", "name"))
    yield from turn.emit("tool", text, "", metadata)


def _is_unknown_kind(kind: str) -> bool:
    return kind not in _MESSAGE_TYPES and kind not in _TOOL_BLOCKS and kind not in _BOOKKEEPING and kind not in _NOTICES


def _content(data: dict[str, Any]) -> Any:
    if data.get("type") == "attachment":
        return as_dict(data.get("attachment")).get("prompt")
    message = data.get("message")
    if isinstance(message, dict):
        return message.get("content")
    return message if isinstance(message, str | list) and message else data.get("content")


def _messages(log: _ClaudeCodeLog, turn: _RecordFields, data: dict[str, Any], kind: str) -> Iterator[Record]:
    """The messages of one record: its text once, with reasoning, calls and results where they stand."""
    if kind == "system":
        hidden = {"hidden": True} if data.get("isMeta") is True else {}
        yield from turn.emit("system", as_text(data.get("content")), "", hidden)
        return
    content = _content(data)
    if isinstance(content, dict):
        content = [content]
    if content in (None, "", []) and kind in _MESSAGE_TYPES:
        if text := unknown_text.text_of(data, _RECORD_KEYS):
            yield unknown_text.kept(turn.where)
            content = text
    elif content is not None and not isinstance(content, str | list):
        yield InputProblem(turn.where, f"content is {json_fields.json_type(content)}, not a list; skipped")
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    if kind in _TOOL_BLOCKS:
        blocks = [data]
    texts: list[str] = []
    attachments: list[dict[str, str]] = []
    before: list[tuple[str, str, dict[str, Any], str | None]] = []
    after: list[tuple[str, str, dict[str, Any], str | None]] = []
    for n, block in enumerate(blocks, 1):
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        if not isinstance(block, dict):
            if block is not None:
                yield json_fields.wrong_type(f"{turn.where}, block {n}", "block", block)
            continue
        name = as_text(block.get("type"))
        if name in _TOOL_BLOCKS:
            part = f"-{name}-{n}"
            text, metadata, call = _tool(log, turn, block, name, part, data)
            (after if texts else before).append((text, part, metadata, call))
        elif name in ("image", "document"):
            attachments.append({"name": as_text(block.get("title")) or name})
        elif text := as_text(block.get("text")):
            texts.append(text)
        elif name not in agent_logs.SILENT and (text := unknown_text.text_of(block)):
            texts.append(text)
            yield unknown_text.kept(f"{turn.where}, block {n}", name)
    if kind in _MESSAGE_TYPES and not (texts or attachments or before or after):
        yield unknown_text.lost(turn.where)
    if attachments and not texts and before:
        # The tool returned these together with its text.
        before[0][2]["attachments"] = attachments
        attachments = []
    owner = turn.uuid if texts and kind in _MESSAGE_TYPES else None
    for text, part, metadata, call in before:
        yield from turn.emit("tool", text, part, metadata, call or owner)
    yield from _user_messages(turn, data, texts, attachments) if kind == "user" else _answer(log, turn, data, texts)
    for text, part, metadata, call in after:
        yield from turn.emit("tool", text, part, metadata, call or owner)


def _user_messages(
    turn: _RecordFields, data: dict[str, Any], texts: list[str], attachments: list[dict[str, str]]
) -> Iterator[Record]:
    """The person's own text, and apart from it the texts that the program added."""
    if any(data.get(key) is True for key in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")):
        yield from turn.emit("system", "\n\n".join(texts), "", {"hidden": True})
        return
    words: list[str] = []
    added: list[tuple[str, dict[str, Any]]] = []
    for text in texts:
        rest, reminders = agent_logs.split_reminders(text)
        added += [(reminder, {"hidden": True}) for reminder in reminders]
        if _INJECTED.match(rest):
            added.append((rest, {"hidden": True}))
        elif _VISIBLE_MARKUP.match(rest):
            added.append((rest, {}))
        elif rest.strip():
            words.append(rest)
    text = with_attachments("\n\n".join(words), attachments)
    yield from turn.emit("user", text, "", {"attachments": attachments} if attachments else {})
    for n, (context, metadata) in enumerate(added, 1):
        is_first_message = n == 1 and not text.strip()
        yield from turn.emit("system", context, "" if is_first_message else f"-context-{n}", metadata)


def _answer(log: _ClaudeCodeLog, turn: _RecordFields, data: dict[str, Any], texts: list[str]) -> Iterator[Record]:
    """The assistant's text; a text of the program in its place is a notice."""
    message = as_dict(data.get("message"))
    text = "\n\n".join(texts)
    model = as_text(message.get("model"))
    if model == _SYNTHETIC or data.get("isApiErrorMessage") is True:
        yield from turn.emit("system", text, "", {})
        return
    # One answer is written as several records, and some of them repeat the text of an earlier one.
    answer = agent_logs.own_id(message.get("id"))
    if answer is not None:
        if log.answer[0] != answer:
            log.answer = (answer, set())
        if text and text in log.answer[1]:
            return
        log.answer[1].add(text)
    yield from turn.emit("assistant", text, "", {"model": model} if model else {})


def _tool(
    log: _ClaudeCodeLog, turn: _RecordFields, block: dict[str, Any], block_type: str, part: str, data: dict[str, Any]
) -> tuple[str, dict[str, Any], str | None]:
    """The text of a reasoning, call or result block, its metadata, and the call that a result answers."""
    kind = _TOOL_BLOCKS[block_type]
    if kind == "reasoning":
        return first_text(block, "thinking", "text"), tool_metadata(kind), None
    if kind == "call":
        name, arguments = as_text(block.get("name")), block.get("input")
        if call := agent_logs.own_id(block.get("id")):
            log.calls[call] = (f"{turn.uuid}{part}" if turn.uuid else None, name)
        return agent_logs.call_text(name, arguments), agent_logs.call_metadata(name, arguments), None
    call_id, name = log.calls.pop(agent_logs.own_id(block.get("tool_use_id")) or "", (None, ""))
    text = agent_logs.words_of(block.get("content")) or as_text(block.get("text"))
    if not text:
        outcome = data.get("toolUseResult")
        text = as_text(outcome) or as_text(as_dict(outcome).get("stdout"))
    if not text and not isinstance(block.get("content"), str):
        text = unknown_text.text_of(block.get("content"))
    metadata = tool_metadata(kind, name)
    images = [{"name": "image"} for part in as_list(block.get("content")) if as_dict(part).get("type") == "image"]
    if images:
        metadata["attachments"] = images
    return with_attachments(text, images), metadata, call_id


def _session(log: _ClaudeCodeLog, data: dict[str, Any]) -> LogSession:
    """The session of a record: by its own id, the file's latest one, the file's name, or the record's content."""
    identity = _session_id(data) or log.current or agent_logs.id_in_name(log.document)
    if identity is None:
        identity = agent_logs.made_id("claude_code", data.get("timestamp"), _content(data))
    log.current = key = identity
    metadata: dict[str, Any] = {}
    title = log.overview.title_of(identity)
    if data.get("isSidechain") is True:
        agent = agent_logs.own_id(data.get("agentId")) or _root(log, data)
        key = f"{identity}/{agent}"
        metadata = {"sidechain": True, "parent": identity}
        title = _agent_title(log.document, agent)
    if key not in log.sessions:
        if folder := as_text(data.get("cwd")):
            metadata["folder"] = folder
        log.sessions[key] = LogSession(SessionRecord(key, title, None, metadata, has_global_ids=True))
    return log.sessions[key]


def _root(log: _ClaudeCodeLog, data: dict[str, Any]) -> str:
    """The first record of an agent's session, for records that don't name the agent."""
    uuid, parent = agent_logs.own_id(data.get("uuid")), agent_logs.own_id(data.get("parentUuid"))
    root = log.roots.get(parent or "") or uuid or "sidechain"
    if uuid is not None:
        log.roots[uuid] = root
    return root


def _agent_title(document: Document, agent: str) -> str | None:
    """An agent's task, from the metadata file next to its log."""
    name = document.name.rpartition("/")[2].removesuffix(".jsonl")
    file = document.context.find(f"{name}.meta.json") if agent in name else None
    if file is None:
        return None
    facts = next((item.data for item in agent_logs.entries(file) if isinstance(item, LogEntry)), {})
    return first_text(facts, "description", "agentType") or None


def _session_id(data: dict[str, Any]) -> str | None:
    return agent_logs.first_own_id(data, "sessionId", "session_id")
