"""Claude Code: session logs (``<session>.jsonl``, ``agent-<id>.jsonl``), and the form with ``loglines``.

A record with words becomes a message under the record's uuid; reasoning, calls and results become
messages of role ``tool``. What the program wrote in the person's name is ``system``. Agents that talk to
an agent have a session of their own, marked ``sidechain``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.ingest.parse import logs
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_list, as_text, with_attachments
from appliance.ingest.parse.logs import Entry, Said
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, reading_order
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_TALK = frozenset({"user", "assistant"})
_TOOL_BLOCKS = {
    "thinking": "reasoning",
    "tool_use": "call",
    "server_tool_use": "call",
    "mcp_tool_use": "call",
    "tool_result": "result",
    "web_search_tool_result": "result",
    "web_fetch_tool_result": "result",
    "mcp_tool_result": "result",
}
_BOOKKEEPING = frozenset(
    "permission-mode mode queue-operation file-history-snapshot custom-title ai-title last-prompt"
    " worktree-state attachment progress".split()
)

# Written by the program in the person's name, where the person sees it, and where not.
_SEEN = re.compile(
    r"\s*(?:<(?:command-name|command-message|command-args|local-command-stdout|local-command-stderr|bash-input"
    r"|bash-stdout|bash-stderr|task-notification)>|\[Request interrupted by user)"
)
_UNSEEN = re.compile(r"\s*(?:Caveat: The messages below|<local-command-caveat>|<user-prompt-submit-hook>)")
_SYNTHETIC = "<synthetic>"


def matches(head: Head) -> float:
    """How surely these are records of Claude Code."""
    best = 0.0
    for record in logs.first_objects(head):
        if isinstance(record.get("loglines"), list):
            return 0.95
        kind = as_text(record.get("type"))
        message = record.get("message")
        if kind in _TALK and isinstance(message, dict) and "content" in message:
            linked = {"uuid", "parentUuid", "sessionId", "isSidechain"} & record.keys()
            best = max(best, 0.95 if linked else 0.8 if "timestamp" in record else 0.6)
        elif (
            (kind in _BOOKKEEPING and "sessionId" in record)
            or (kind == "summary" and "leafUuid" in record)
            or (kind == "file-history-snapshot" and "snapshot" in record)
        ):
            best = max(best, 0.9)
    return best


@dataclass(frozen=True, slots=True)
class _Overview:
    """What only the whole file tells: titles, and which records were left behind."""

    titles: dict[str, str]
    title: str | None
    branches: frozenset[str]
    retracted: frozenset[str]


@dataclass(slots=True)
class _Log:
    """A file as it goes by."""

    document: Document
    overview: _Overview
    sessions: dict[str, Said] = field(default_factory=dict)
    current: str | None = None
    # The message that a record without words continues, and the first record of an agent's talk.
    nearest: dict[str, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    answer: tuple[str, set[str]] = ("", set())


def parse(document: Document) -> Iterator[Record]:
    """The messages of the file in its order, each session before its first message."""
    log = _Log(document, _overview(document))
    for item in _records(document):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _record(log, item.data, item.where)
    if not any(said.begun for said in log.sessions.values()):
        yield Problem("", "the file holds no messages", harmless=True)


def _records(document: Document) -> Iterator[Entry | Problem]:
    """The records, a line each or in a list of ``loglines``."""
    for item in logs.entries(document):
        if isinstance(item, Problem) or not isinstance(item.data.get("loglines"), list):
            yield item
            continue
        for number, data in enumerate(item.data["loglines"], 1):
            place = f"record {number}"
            if not isinstance(data, dict):
                yield Problem(place, f"not an object but a {type(data).__name__}; passed over")
            elif not is_whole(data):
                yield Problem(place, "the record is damaged or cut off; passed over")
            else:
                yield Entry({"sessionId": item.data.get("sessionId")} | data, place)


def _overview(document: Document) -> _Overview:
    titles: dict[str, str] = {}
    generated: dict[str, str] = {}
    summaries: list[tuple[str, str | None]] = []
    sessions: dict[str, str] = {}
    links: dict[str, Link] = {}
    prompts: set[str] = set()
    superseded: set[str] = set()
    retracted: set[str] = set()
    last: str | None = None
    for item in _records(document):
        if isinstance(item, Problem):
            continue
        data = item.data
        kind = as_text(data.get("type"))
        session = _session_id(data) or ""
        if kind == "custom-title" and (title := as_text(data.get("customTitle"))):
            titles[session] = title
        elif kind == "ai-title" and (title := as_text(data.get("aiTitle"))):
            generated[session] = title
        elif kind == "summary" and (title := as_text(data.get("summary"))):
            summaries.append((title, logs.own_id(data.get("leafUuid"))))
        superseded |= {u for u in as_list(data.get("supersedesUuids")) if isinstance(u, str)}
        retracted |= {u for u in as_list(data.get("retractedMessageUuids")) if isinstance(u, str)}
        uuid = logs.own_id(data.get("uuid"))
        if uuid is None or uuid in links:
            continue
        parent = logs.own_id(data.get("parentUuid")) or logs.own_id(data.get("logicalParentUuid"))
        links[uuid] = Link(parent)
        sessions[uuid] = session
        if kind == "user" and _is_prompt(data):
            prompts.add(uuid)
        if kind in _TALK and data.get("isSidechain") is not True:
            last = uuid
    fallback: str | None = None
    for title, leaf in summaries:
        if leaf in sessions:
            generated.setdefault(sessions[leaf], title)
        else:
            fallback = fallback or title
    branches = _branches(links, prompts, last) | superseded
    return _Overview(generated | titles, fallback, frozenset(branches), frozenset(retracted))


def _branches(links: dict[str, Link], prompts: set[str], last: str | None) -> set[str]:
    """Records behind a prompt that was taken back: it and another one answer the same record.

    Tools that ran side by side leave forks too, and are no branches."""
    siblings: dict[str, int] = {}
    for uuid in prompts:
        if (parent := links[uuid].parent) in links:
            siblings[parent] = siblings.get(parent, 0) + 1
    if not any(count > 1 for count in siblings.values()):
        return set()
    found: set[str] = set()
    for placed in reading_order(links, last):
        forked = placed.node in prompts and siblings.get(placed.parent or "", 0) > 1
        if placed.branch and (forked or placed.parent in found):
            found.add(placed.node)
    return found


def _is_prompt(data: dict[str, Any]) -> bool:
    """Whether a record of type user is something that the person typed."""
    if data.get("isMeta") is True or data.get("isCompactSummary") is True or data.get("isSidechain") is True:
        return False
    content = _content(data)
    if isinstance(content, str):
        return True
    kinds = [as_dict(block).get("type") for block in as_list(content)]
    return "text" in kinds and "tool_result" not in kinds


@dataclass(frozen=True, slots=True)
class _Turn:
    """What all messages of one record have in common."""

    said: Said
    uuid: str | None
    above: str | None
    sent: datetime | None
    where: str
    marks: dict[str, Any]

    def say(
        self, role: Role, text: str, part: str, metadata: dict[str, Any], reply_to: str | None = None
    ) -> Iterator[Record]:
        identity = f"{self.uuid}{part}" if self.uuid else None
        tools = as_list(metadata.get("tools"))
        yield from self.said.say(
            role,
            text,
            identity,
            self.sent,
            self.where,
            author=(as_text(tools[0].get("name")) or None) if tools else None,
            reply_to=reply_to or self.above,
            metadata=metadata | self.marks,
        )


def _record(log: _Log, data: dict[str, Any], where: str) -> Iterator[Record]:
    uuid = logs.own_id(data.get("uuid"))
    above = logs.own_id(data.get("parentUuid"))
    above = log.nearest.get(above, above) if above else None
    kind = _kind(data)
    first = None
    if kind in _TALK or kind in _TOOL_BLOCKS or (kind == "system" and as_text(data.get("content"))):
        said = _session(log, data, where)
        sent, note = logs.sent_at(data.get("timestamp"), where)
        if note:
            yield note
        marks = {"sidechain": True} if said.session.metadata.get("sidechain") else {}
        if uuid in log.overview.branches:
            marks["branch"] = True
        if uuid in log.overview.retracted:
            marks["deleted"] = True
        turn = _Turn(said, uuid, above, sent, where, marks)
        for record in _said(log, turn, data, kind):
            if isinstance(record, MessageRecord) and (first is None or record.external_id == uuid):
                first = record.external_id
            yield record
    if uuid is not None and (stands := first or above):
        log.nearest.setdefault(uuid, stands)


def _kind(data: dict[str, Any]) -> str:
    kind = as_text(data.get("type"))
    if kind in ("", "message"):
        kind = as_text(as_dict(data.get("message")).get("role")) or as_text(data.get("role"))
    queued = as_dict(data.get("attachment"))
    if (
        kind == "attachment"
        and queued.get("type") == "queued_command"
        and queued.get("commandMode") == "prompt"
    ):
        # Typed while the assistant was at work; it stands nowhere else.
        return "user"
    return kind


def _content(data: dict[str, Any]) -> Any:
    if data.get("type") == "attachment":
        return as_dict(data.get("attachment")).get("prompt")
    message = data.get("message")
    if isinstance(message, str | list):
        return message
    return message.get("content") if isinstance(message, dict) else data.get("content")


def _said(log: _Log, turn: _Turn, data: dict[str, Any], kind: str) -> Iterator[Record]:
    """The messages of one record: reasoning and calls where they stood, words once."""
    if kind == "system":
        hidden = {"hidden": True} if data.get("isMeta") is True else {}
        yield from turn.say("system", as_text(data.get("content")), "", hidden)
        return
    content = _content(data)
    if content is not None and not isinstance(content, str | list):
        yield Problem(turn.where, f"content is a {type(content).__name__}, not a list; passed over")
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    if kind in _TOOL_BLOCKS:
        blocks = [data]
    texts: list[str] = []
    attachments: list[dict[str, str]] = []
    tools: list[tuple[bool, str, str, dict[str, Any], str | None]] = []
    for n, block in enumerate(blocks, 1):
        place = f"{turn.where}, block {n}"
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        if not isinstance(block, dict):
            if block is not None:
                yield Problem(place, f"not an object but a {type(block).__name__}; passed over")
            continue
        name = as_text(block.get("type"))
        if name in _TOOL_BLOCKS:
            part = f"-{name}-{n}"
            text, metadata, call = _tool(log, turn, block, name, part, data)
            tools.append((bool(texts), text, part, metadata, call))
        elif name in ("image", "document"):
            attachments.append({"name": as_text(block.get("title")) or name})
        elif text := as_text(block.get("text")):
            texts.append(text)
    if attachments and not texts and tools:
        # What a tool gave back besides its words.
        tools[0][3]["attachments"] = attachments
        attachments = []
    owner = turn.uuid if texts and kind in _TALK else None
    for late, text, part, metadata, call in tools:
        if not late:
            yield from turn.say("tool", text, part, metadata, call or owner)
    if kind == "user":
        yield from _persons_words(turn, data, texts, attachments)
    else:
        yield from _answer(log, turn, data, texts)
    for late, text, part, metadata, call in tools:
        if late:
            yield from turn.say("tool", text, part, metadata, call or owner)


def _persons_words(
    turn: _Turn, data: dict[str, Any], texts: list[str], attachments: list[dict[str, str]]
) -> Iterator[Record]:
    """What the person typed, apart from what the program put beside it."""
    if any(data.get(key) is True for key in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")):
        yield from turn.say("system", "\n\n".join(texts), "", {"hidden": True})
        return
    words: list[str] = []
    added: list[tuple[str, dict[str, Any]]] = []
    for text in texts:
        rest, reminders = logs.without_reminders(text)
        added += [(reminder, {"hidden": True}) for reminder in reminders]
        if _UNSEEN.match(rest):
            added.append((rest, {"hidden": True}))
        elif _SEEN.match(rest):
            added.append((rest, {}))
        elif rest.strip():
            words.append(rest)
    text = with_attachments("\n\n".join(words), attachments)
    yield from turn.say("user", text, "", {"attachments": attachments} if attachments else {})
    for n, (context, metadata) in enumerate(added, 1):
        alone = n == 1 and not text.strip()
        yield from turn.say("system", context, "" if alone else f"-context-{n}", metadata)


def _answer(log: _Log, turn: _Turn, data: dict[str, Any], texts: list[str]) -> Iterator[Record]:
    """The assistant's words; what the program says in its place is a notice."""
    message = as_dict(data.get("message"))
    text = "\n\n".join(texts)
    model = as_text(message.get("model"))
    if model == _SYNTHETIC or data.get("isApiErrorMessage") is True:
        yield from turn.say("system", text, "", {})
        return
    # One answer is written as several records, and some of them say again what one before has said.
    answer = logs.own_id(message.get("id"))
    if answer is not None:
        if log.answer[0] != answer:
            log.answer = (answer, set())
        if text and text in log.answer[1]:
            return
        log.answer[1].add(text)
    yield from turn.say("assistant", text, "", {"model": model} if model else {})


def _tool(
    log: _Log, turn: _Turn, block: dict[str, Any], kind: str, part: str, data: dict[str, Any]
) -> tuple[str, dict[str, Any], str | None]:
    """What a reasoning, call or result block says, its metadata, and the call that a result answers."""
    sort = _TOOL_BLOCKS[kind]
    if sort == "reasoning":
        return as_text(block.get("thinking")) or as_text(block.get("text")), logs.tool_metadata(sort), None
    if sort == "call":
        name, given = as_text(block.get("name")), block.get("input")
        if call := logs.own_id(block.get("id")):
            log.calls[call] = (f"{turn.uuid}{part}" if turn.uuid else None, name)
        return logs.call_text(name, given), logs.call_metadata(name, given), None
    call_id, name = log.calls.pop(logs.own_id(block.get("tool_use_id")) or "", (None, ""))
    text = logs.words_of(block.get("content")) or as_text(block.get("text"))
    if not text:
        outcome = data.get("toolUseResult")
        text = as_text(outcome) or as_text(as_dict(outcome).get("stdout"))
    metadata = logs.tool_metadata(sort, name)
    images = [b for b in as_list(block.get("content")) if as_dict(b).get("type") == "image"]
    if images:
        metadata["attachments"] = [{"name": "image"} for _ in images]
    return with_attachments(text, as_list(metadata.get("attachments"))), metadata, call_id


def _session(log: _Log, data: dict[str, Any], where: str) -> Said:
    """The session of a record: its own id, the file's last one, the file's name, or what it begins with."""
    given = _session_id(data) or log.current or logs.id_in_name(log.document)
    if given is None:
        given = logs.made_id("claude_code", data.get("timestamp"), _content(data))
    log.current = given
    key = given
    metadata: dict[str, Any] = {}
    title = log.overview.titles.get(given) or log.overview.titles.get("") or log.overview.title
    if data.get("isSidechain") is True:
        agent = logs.own_id(data.get("agentId")) or _root(log, data)
        key = f"{given}/{agent}"
        metadata = {"sidechain": True, "parent": given}
        title = _agent_title(log.document, agent)
    if key not in log.sessions:
        if folder := as_text(data.get("cwd")):
            metadata["folder"] = folder
        log.sessions[key] = Said(SessionRecord(key, title, None, metadata))
    return log.sessions[key]


def _root(log: _Log, data: dict[str, Any]) -> str:
    """The first record of an agent's talk, for records that don't name the agent."""
    uuid, parent = logs.own_id(data.get("uuid")), logs.own_id(data.get("parentUuid"))
    root = log.roots.get(parent or "") or uuid or "sidechain"
    if uuid is not None:
        log.roots[uuid] = root
    return root


def _agent_title(document: Document, agent: str) -> str | None:
    """What an agent was asked for, out of the file beside its log."""
    name = document.name.rpartition("/")[2].removesuffix(".jsonl")
    if agent not in name:
        return None
    beside = document.around.find(f"{name}.meta.json")
    if beside is None:
        return None
    told = next((item.data for item in logs.entries(beside) if isinstance(item, Entry)), {})
    return as_text(told.get("description")) or as_text(told.get("agentType")) or None


def _session_id(data: dict[str, Any]) -> str | None:
    return logs.own_id(data.get("sessionId")) or logs.own_id(data.get("session_id"))
