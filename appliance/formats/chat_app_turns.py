"""What a message of a front end, a character app or a framework says: ``AppTurn``, and the readers of records that hold
one message each.

A record is known by keys of its own; its reader makes turns of it. Records without a message tell about their
conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from appliance.formats import agent_records, json_fields, unknown_text
from appliance.formats.agent_records import AgentContentPart
from appliance.formats.json_fields import as_dict, as_list, as_text, decode_object, first_id, first_text
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, Role


@dataclass(frozen=True, slots=True)
class AppTurn:
    """One message with its parts. ``conversation`` is the id of its conversation where the record names it."""

    role: Role
    parts: tuple[AgentContentPart, ...] = ()
    time: Any = None
    identity: str | None = None
    author: str | None = None
    reply_to: str | None = None
    conversation: str | None = None
    is_branch: bool = False
    model: str = ""
    attachments: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True)
class AppConversation:
    """A conversation with its turns, and the problems among them."""

    identity: str | None = None
    title: str | None = None
    time: Any = None
    turns: list[AppTurn | InputProblem] = field(default_factory=list)


Fields = dict[str, Any]
PartKind = Literal["text", "reasoning", "call", "result"]
UNKNOWN = "(unknown shape)"
"""The name of a part whose words stood in an unknown shape."""

ReadTurns = Callable[[Fields], Iterable[AppTurn]]


def text_parts(value: Any, kind: PartKind = "text") -> tuple[AgentContentPart, ...]:
    """The words of a value as the one part of a message; no part if it is blank. Of a value that is no string, every
    string is kept, in a part with the name ``UNKNOWN``."""
    if isinstance(value, str) or value is None:
        return (AgentContentPart(kind, value),) if value and value.strip() else ()
    text = unknown_text.text_of(value)
    return (AgentContentPart(kind, text, UNKNOWN),) if text else ()


def turn_of_content(role: Role | None, content: Any, **more: Any) -> Iterator[AppTurn]:
    """A turn whose content is a string, a typed part or a list of them. Without a known role it is the program's."""
    parsed = agent_records.parse_content(content)
    names = tuple(one["name"] for one in parsed.attachments)
    if not parsed.is_empty:
        yield AppTurn(
            role or "system", tuple(parsed.parts), attachments=names, unknown=tuple(parsed.unknown_types), **more
        )


def reader_of(record: Fields) -> ReadTurns | None:
    """The reader of a record that is a message; None if it is none of a known program."""
    return next((read for is_it, read in _READERS if is_it(record)), None)


def facts_of(record: Fields) -> Mapping[str, Any]:
    """What a record without a message tells about the conversation: its ``identity``, ``title`` and ``time``."""
    if {"user_name", "character_name"} <= record.keys():
        start, names = record.get("create_date"), (record.get("user_name"), record.get("character_name"))
        identity = json_fields.made_id("sillytavern", *names, start) if start else None
        return {"identity": identity, "title": as_text(record.get("character_name")) or None, "time": start}
    if "chat_metadata" in record:
        return {"title": as_text(record.get("name")) or None}
    if "composerId" in record and "bubbleId" not in record:
        identity = as_text(record.get("composerId")) or None
        return {"identity": identity, "title": as_text(record.get("name")) or None, "time": record.get("createdAt")}
    return {}


def _sillytavern(record: Fields) -> Iterator[AppTurn]:
    role: Role = "user" if record.get("is_user") else "assistant"
    is_hidden = record.get("is_system") is True
    text, name = record.get("mes"), as_text(record.get("name")) or None
    reasoning = text_parts(as_text(as_dict(record.get("extra")).get("reasoning")), "reasoning")
    swipes = [swipe for swipe in as_list(record.get("swipes")) if isinstance(swipe, str)]
    for swipe in swipes:
        if text and isinstance(text, str) and swipe != text:
            yield AppTurn(role, text_parts(swipe), record.get("send_date"), author=name, is_branch=True)
    text = text or next(iter(swipes), "")
    yield AppTurn("system" if is_hidden else role, reasoning + text_parts(text), record.get("send_date"), author=name)


def _le_chat(record: Fields) -> Iterator[AppTurn]:
    content = as_text(record.get("content")) or record.get("contentChunks")
    names = tuple(name for file in as_list(record.get("files")) if (name := as_text(as_dict(file).get("name"))))
    for turn in turn_of_content(
        agent_records.role_of(as_text(record.get("role"))),
        content,
        time=record.get("createdAt"),
        identity=first_id(record, "id"),
        conversation=first_id(record, "chatId"),
        reply_to=first_id(record, "parentId"),
        model=as_text(record.get("model")),
    ):
        yield replace(turn, attachments=turn.attachments + names)


def _prompt_and_answer(record: Fields) -> Iterator[AppTurn]:
    time = next((record[key] for key in _PAIR_TIMES if record.get(key)), None)
    shared: dict[str, Any] = {
        "time": time,
        "conversation": first_id(record, "thread_id", "threadId", "workspace", "conversation_id"),
    }
    asked, answered = next(pair for pair in _PAIRS if _is_pair(record, pair))
    yield AppTurn("user", text_parts(record.get(asked)), author=first_text(record, "username") or None, **shared)
    answer = decode_object(record.get(answered))
    text = as_text(as_dict(answer).get("text")) or record.get(answered)
    yield AppTurn("assistant", text_parts(text), model=as_text(record.get("model")), **shared)


def _langchain(record: Fields) -> Iterator[AppTurn]:
    fields = as_dict(record.get("kwargs"))
    word = (as_text(fields.get("type")) or as_text(as_list(record.get("id"))[-1])).removesuffix("Chunk")
    role = agent_records.role_of(word.removesuffix("Message"))
    yield from turn_of_content(role, fields.get("content"), identity=first_id(fields, "id"))
    for call in map(as_dict, as_list(fields.get("tool_calls"))):
        name = as_text(call.get("name"))
        yield AppTurn("tool", (AgentContentPart("call", agent_records.call_text(name, call.get("args")), name),))


def _pydantic_ai(record: Fields) -> Iterator[AppTurn]:
    for part in map(as_dict, as_list(record.get("parts"))):
        kind, content = as_text(part.get("part_kind")), part.get("content")
        time, name = part.get("timestamp") or record.get("timestamp"), as_text(part.get("tool_name"))
        if kind == "tool-call":
            call = agent_records.call_text(name, part.get("args"))
            yield AppTurn("tool", (AgentContentPart("call", call, name),), time)
        elif kind in ("tool-return", "retry-prompt", "builtin-tool-return"):
            yield AppTurn("tool", (AgentContentPart("result", agent_records.result_text(content), name),), time)
        elif kind == "thinking":
            yield AppTurn("assistant", text_parts(content, "reasoning"), time)
        else:
            role: Role = "assistant" if kind == "text" else "system" if kind == "system-prompt" else "user"
            yield from turn_of_content(role, content, time=time, model=as_text(record.get("model_name")))


def _autogen(record: Fields) -> Iterator[AppTurn]:
    kind, source, content = as_text(record.get("type")), as_text(record.get("source")), record.get("content")
    shared: dict[str, Any] = {"time": record.get("created_at"), "identity": first_id(record, "id")}
    if kind.startswith("ToolCall") and isinstance(content, list):
        for item in map(as_dict, content):
            name = as_text(item.get("name"))
            is_call = "arguments" in item
            text = agent_records.call_text(name, item["arguments"]) if is_call else as_text(item.get("content"))
            part = AgentContentPart("call" if is_call else "result", text, name)
            yield AppTurn("tool", (part,), record.get("created_at"))
    elif kind == "ThoughtEvent":
        yield AppTurn("assistant", text_parts(content, "reasoning"), **shared)
    else:
        side = "user" if "user" in source.lower() else "assistant"
        yield from turn_of_content(side, content, author=source, **shared)  # type: ignore[arg-type]


def _openhands(record: Fields) -> Iterator[AppTurn]:
    shared: dict[str, Any] = {"time": record.get("timestamp"), "identity": first_id(record, "id")}
    args, action = as_dict(record.get("args")), as_text(record.get("action"))
    if "observation" in record:
        name = as_text(record.get("observation"))
        if name not in _SILENT_OBSERVATIONS:
            yield AppTurn("tool", (AgentContentPart("result", as_text(record.get("content")), name),), **shared)
    elif action in ("message", "system"):
        text = args.get("content") or record.get("message")
        is_person = as_text(record.get("source")) == "user"
        yield AppTurn(
            "system" if action == "system" else "user" if is_person else "assistant", text_parts(text), **shared
        )
    elif action in ("finish", "reject"):
        text = first_text(args, "final_thought", "thought") or record.get("message")
        yield AppTurn("assistant", text_parts(text), **shared)
    elif action == "think":
        yield AppTurn("assistant", text_parts(args.get("thought"), "reasoning"), **shared)
    elif action not in ("change_agent_state", "recall", "null"):
        call = {key: value for key, value in args.items() if key in _CALL_ARGUMENTS and value not in (None, "")}
        part = AgentContentPart("call", agent_records.call_text(action, call), action)
        yield AppTurn("assistant", (*text_parts(args.get("thought")), part), **shared)


def _windsurf(record: Fields) -> Iterator[AppTurn]:
    kind = as_text(record.get("type"))
    fields = as_dict(record.get(kind))
    time = record.get("timestamp", record.get("created_at"))
    if kind == "user_input":
        yield AppTurn(
            "user", text_parts(fields.get("user_response") or fields.get("query") or fields.get("text")), time
        )
    elif kind == "planner_response":
        parts = text_parts(fields.get("thinking"), "reasoning") + text_parts(fields.get("response"))
        yield AppTurn("assistant", parts, time)
    elif fields:
        yield AppTurn("tool", (AgentContentPart("result", agent_records.call_text("", fields), kind),), time)


def _cursor_bubble(record: Fields) -> Iterator[AppTurn]:
    role: Role = "user" if record.get("type") == 1 else "assistant"
    tool = as_dict(record.get("toolFormerData"))
    parts = text_parts(as_text(as_dict(record.get("thinking")).get("text")), "reasoning")
    parts += text_parts(record.get("text"))
    if name := as_text(tool.get("name")):
        arguments = next((tool[key] for key in ("rawArgs", "params") if tool.get(key)), None)
        parts += (AgentContentPart("call", agent_records.call_text(name, arguments), name),)
        parts += tuple(AgentContentPart("result", part.text, name) for part in text_parts(tool.get("result")))
    model = as_text(as_dict(record.get("modelInfo")).get("modelName"))
    yield AppTurn(role, parts, record.get("createdAt"), first_id(record, "bubbleId"), model=model)


_PAIRS = (("prompt", "response"), ("question", "answer"), ("query", "response"), ("query", "answer"))
_PAIR_TIMES = ("sent_at", "sentAt", "created_at", "createdAt", "timestamp", "datetime_utc", "date")
_SILENT_OBSERVATIONS = frozenset({"agent_state_changed", "null", "recall", "condense"})
_CALL_ARGUMENTS = frozenset(
    {"command", "code", "path", "url", "browser_actions", "name", "arguments", "content", "file_text"}
)

_READERS: tuple[tuple[Callable[[Fields], bool], ReadTurns], ...] = (
    (lambda r: "mes" in r and "is_user" in r, _sillytavern),
    (lambda r: {"chatId", "role", "content"} <= r.keys() and "contentChunks" in r, _le_chat),
    (lambda r: isinstance(r.get("kwargs"), dict) and "lc" in r and isinstance(r.get("id"), list), _langchain),
    (lambda r: r.get("kind") in ("request", "response") and _has_part_kinds(r), _pydantic_ai),
    (lambda r: {"source", "models_usage", "content"} <= r.keys(), _autogen),
    (lambda r: {"source", "message"} <= r.keys() and bool({"action", "observation"} & r.keys()), _openhands),
    (lambda r: "status" in r and isinstance(r.get(as_text(r.get("type"))), dict), _windsurf),
    (lambda r: "bubbleId" in r and r.get("type") in (1, 2), _cursor_bubble),
    (lambda r: any(_is_pair(r, pair) for pair in _PAIRS) and bool({*_PAIR_TIMES} & r.keys()), _prompt_and_answer),
)


def _has_part_kinds(record: Fields) -> bool:
    return any("part_kind" in as_dict(part) for part in as_list(record.get("parts")))


def _is_pair(record: Fields, pair: tuple[str, str]) -> bool:
    return bool(record.get(pair[0])) and bool(record.get(pair[1])) and "role" not in record
