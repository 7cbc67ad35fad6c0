"""Records of agents in no dialect that is known, read by their shape: who speaks, what, and when.

A program writes a record's speaker under a word such as ``role`` or ``author``, its words under one such as ``content``
or ``text``, and its time under one such as ``created`` or ``ts``; parts of a message are tagged with a type. This
module knows the words, and turns the parts of all programs into those that ``agent_logs.blocks_of`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.formats import agent_logs, json_fields, unknown_text
from appliance.formats.agent_logs import ContentBlock, blocks_of, call_of, result_of
from appliance.formats.json_fields import as_dict, as_list, as_text, decode_object, first_text
from appliance.formats.timestamps import read_time
from appliance.types import Role

ROLES = json_fields.role_table(
    user="user human person",
    assistant="assistant model ai agent bot gemini claude chatgpt gpt copilot",
    system="system developer",
    tool="tool toolresult tool_result bashexecution function observation",
)
# Words that name a speaker where a record says who speaks, not of what type it is.
_STATED_ROLES = json_fields.role_table(
    user="you me prompt prompter question asker",
    assistant="response answer reply perplexity deepseek grok mistral llama",
)
_SPEAKERS = ("role", "author", "sender", "from", "speaker", "sender_name", "source", "type", "kind")
_STATING = frozenset({"role", "author", "sender", "from", "speaker"})
_CONTENTS = (
    "content", "parts", "text", "message", "value", "prompt", "input", "output", "result", "response", "answer", "body",
    "markdown", "rawText", "blocks", "segments", "thinking", "reasoning",
)  # fmt: skip
_TIMES = (
    "timestamp", "time", "created_at", "createdAt", "created", "ts", "date", "datetime", "sentAt", "sent_at",
    "create_time", "createTime", "time_created", "timeCreated", "created_timestamp", "startTime", "start_time",
    "startedAt", "started_at", "dateCreated", "start", "value", "$date", "seconds",
)  # fmt: skip
_TEXT_KINDS = frozenset(
    {"", "text", "markdown", "input_text", "output_text", "message", "prompt", "response", "mention", "markdowncontent"}
)
_TIME_HOLDERS = ("metadata", "meta", "usage", "timing", "timingInfo", "info")
_INNER = ("message", "llm_message", "data", "payload")
_IDS = ("id", "uuid", "message_id", "messageId", "messageID", "_id", "bubbleId")
_PARENTS = ("parentId", "parentUuid", "parent_id", "parentID", "parent_uuid")
_MODELS = ("model", "modelId", "modelID", "model_id", "modelName", "model_name")
_CALL_LISTS = ("tool_calls", "toolCalls", "tool_uses", "toolUses", "toolRequests")
# A record of a tool's use, where nothing says who speaks.
_TOOL_KEYS = frozenset({"arguments", "args", "observation", "tool_output", "toolOutput"})
_RESULT_LISTS = ("tool_results", "toolResults")
_RESULT_IDS = ("toolUseID", "toolUseId", "tool_call_id", "toolCallId", "callId", "call_id")
_PLAIN_KEYS = frozenset(
    "role content name tool_calls tool_call_id function_call weight refusal audio annotations reasoning"
    " reasoning_content id timestamp created_at createdAt date model".split()
)
# Parts of an answer in VS Code that say nothing that stays.
_PROGRESS = frozenset({"progressMessage", "progressTask", "progressTaskSerialized", "mcpServersStarting", "undoStop"})
_NATIVE_KEYS = frozenset({"session_id", "role", "content"})
_GEMINI_KEYS = frozenset({"role", "parts", "ts", "timestamp"})
_OWN_KEYS = frozenset(
    {"thread_id", "threadId", "sessionId", "sessionID", "tool_input", "toolInput", "toolCalls", "toolUses", "parentID"}
)
_LISTS = 4
"""How deep a list of turns may lie within an object."""

# Numbers before 2001 are counts or offsets.
_FIRST_SECOND = 978_307_200

_MAX_ROLE_CHARACTERS = 40
_RECORD_SUFFIX = re.compile(
    r"[._ -]?(?:message|msg|response|reply|answer|prompt|prompt[._ -]?submitted|input|turn|query)$"
)
# Programs that write a prompt and its answer as one record, under a key for each.
_PAIRS = tuple((user, answer) for user in ("user", "human") for answer in ("assistant", "ai", "model", "bot", "agent"))


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """The content of one record.

    ``agent`` is the speaker where that is not the session's own assistant. Logs that repeat themselves name the
    ``stream`` of a text. ``added`` are texts of the program beside it, and whether the person never saw them."""

    role: Role
    blocks: tuple[ContentBlock, ...] = ()
    identity: str | None = None
    parent: str | None = None
    time: Any = None
    hidden: bool = False
    agent: str | None = None
    model: str = ""
    stream: str = ""
    added: tuple[tuple[str, bool], ...] = ()


def role_of(word: str) -> Role | None:
    """The role for a program's word for a speaker, also within the type of a record, such as "user_message"."""
    plain = word.strip().lower()
    if (role := ROLES.get(plain)) is not None or len(plain) > _MAX_ROLE_CHARACTERS:
        return role
    return ROLES.get(_RECORD_SUFFIX.sub("", plain))


def turn_of(data: dict[str, Any]) -> AgentTurn | None:
    """The turn of a record, or None if it has no speaker that is known, or no words."""
    tag, tagged = _variant(data)
    if tag and role_of(tag) is not None:
        data = {"role": tag} | (tagged if isinstance(tagged, dict) else {"content": tagged})
    inner = next((value for key in _INNER if isinstance(value := data.get(key), dict)), data)
    role = _role(inner) or _role(data)
    if role is None and isinstance(data.get("tool"), str) and _TOOL_KEYS & data.keys():
        role = "tool"
    if role is None:
        return None
    blocks = _blocks(inner) or (_blocks(data) if inner is not data else ())
    if role == "tool":
        blocks = _tool_blocks(inner, blocks)
    for result in (one for key in _RESULT_LISTS for one in as_list(inner.get(key)) if isinstance(one, dict)):
        block = result_of(result)
        text = block.text or unknown_text.text_of(result)
        blocks += (ContentBlock("result", text, block.name, block.call_id),) if text else ()
    if role == "assistant":
        if reasoning := first_text(inner, "reasoning_content", "reasoning", "thinking", "reasoningText"):
            blocks = (ContentBlock("reasoning", reasoning), *(b for b in blocks if b.text != reasoning))
        calls = next((calls for key in _CALL_LISTS if (calls := as_list(inner.get(key)))), [])
        blocks += tuple(call_of(call) for call in calls if isinstance(call, dict))
    if not any(block.text.strip() or block.kind == "file" for block in blocks):
        return None
    identity = agent_logs.first_own_id(data, *_IDS) or agent_logs.first_own_id(inner, *_IDS)
    parent = agent_logs.first_own_id(data, *_PARENTS)
    model = first_text(data, *_MODELS) or first_text(inner, *_MODELS)
    is_hidden = as_dict(data.get("metadata")).get("userVisible") is False or data.get("hide") is True
    return AgentTurn(
        role, blocks, identity, parent, time_of(data, inner), hidden=role == "system" or is_hidden, model=model
    )


def only_person_is_known(turns: Sequence[Any]) -> bool:
    """Whether a conversation has a person's turns, and none of a speaker that is known for an assistant."""
    roles = {turn.role for item in turns if isinstance(item, dict) and (turn := turn_of(item)) is not None}
    return "user" in roles and "assistant" not in roles


def turn_of_unknown_speaker(data: dict[str, Any]) -> AgentTurn | None:
    """The turn of a speaker whose word is not known ("claude_2"), as an assistant's; None if it names none."""
    speaker = next((word for key in _SPEAKERS[:6] if isinstance(word := data.get(key), str) and word), "")
    return turn_of(data | {"role": "assistant"}) if speaker and turn_of(data) is None else None


def pair_in(data: Any) -> list[dict[str, Any]]:
    """The two turns of a record that holds a prompt and its answer; empty if it is none."""
    fields = as_dict(data)
    for user, answer in _PAIRS:
        if isinstance(fields.get(user), dict | str) and isinstance(fields.get(answer), dict | str):
            turns = []
            for role, key in (("user", user), ("assistant", answer)):
                value = fields[key]
                inside = value if isinstance(value, dict) and set(_CONTENTS) & value.keys() else {"content": value}
                turns.append({"timestamp": time_of(fields)} | inside | {"role": role})
            return turns if any(map(is_turn, turns)) else []
    return []


def is_turn(data: Any) -> bool:
    """Whether a person or an assistant speaks in this record."""
    turn = turn_of(data) if isinstance(data, dict) else None
    return turn is not None and turn.role in ("user", "assistant")


def time_of(*records: Mapping[str, Any]) -> Any:
    """The time of a record: the first value that can be read, else the first that should be one."""
    unreadable: Any = None
    for record in records:
        for key in _TIMES:
            value = record.get(key)
            if isinstance(value, dict):
                value = time_of(value)
            if _is_time(value):
                return value
            if key in _TIMES[:4] and unreadable is None and isinstance(value, str) and value:
                unreadable = value
        for key in _TIME_HOLDERS:
            if (held := as_dict(record.get(key))) and _is_time(value := time_of(held)):
                return value
    return unreadable


def _is_time(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    when = read_time(value)
    return when is not None and (when.tzinfo is None or when.timestamp() >= _FIRST_SECOND)


def _role(record: Mapping[str, Any]) -> Role | None:
    for key in _SPEAKERS:
        value = record.get(key)
        if isinstance(value, dict):
            value = first_text(value, "role", "type", "kind", "name")
        if isinstance(value, str) and (role := role_of(value)) is not None:
            return role
        if (
            isinstance(value, str)
            and key in _STATING
            and (role := _STATED_ROLES.get(value.strip().lower())) is not None
        ):
            return role
    return None


def _blocks(record: Mapping[str, Any]) -> tuple[ContentBlock, ...]:
    for key in _CONTENTS:
        value = record.get(key)
        if value in (None, "", [], {}):
            continue
        if blocks := tuple(block for block in content_blocks(value) if block.text or block.kind == "file"):
            return blocks
    return ()


def _tool_blocks(record: Mapping[str, Any], blocks: tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
    """The call and the result of a record of a tool."""
    name = first_text(record, "name", "toolName", "tool_name", "tool")
    call_id = agent_logs.first_own_id(record, *_RESULT_IDS)
    arguments = next((record[key] for key in ("tool_input", "toolInput", "arguments", "args") if key in record), None)
    calls: tuple[ContentBlock, ...] = ()
    if arguments is not None:
        text = agent_logs.call_text(name, arguments)
        calls = (ContentBlock("call", text, name, call_id, decode_object(arguments)),)
    if any(block.kind in ("call", "result") for block in blocks):
        return (*calls, *blocks)
    output = next(
        (record[key] for key in ("tool_output", "toolOutput", "observation") if record.get(key) not in (None, "")), None
    )
    text = "\n".join(block.text for block in blocks if block.text)
    if output is not None:
        text = agent_logs.words_of(output) or json_fields.as_json(output)
    return (*calls, ContentBlock("result", text, name, call_id))


# --- the parts of a message ---------------------------------------------------------------------------


def content_blocks(content: Any) -> Iterator[ContentBlock]:
    """The parts of a message's content, in the shapes of all programs."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict):
            for known in _known_parts(item):
                yield from blocks_of(known)
        elif isinstance(item, str):
            yield ContentBlock("words", item)


def _known_parts(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One part, in the shape that ``agent_logs`` reads. A part that holds a call and its result is two."""
    tag, tagged = _variant(item)
    if tag:
        item = {"type": tag} | (tagged if isinstance(tagged, dict) else {"text": tagged})
    data = item.get("data")
    if isinstance(data, dict) and not {"text", "content"} & item.keys():
        item = item | data | {"type": as_text(item.get("type")) or as_text(data.get("type"))}
    kind = as_text(item.get("type")) or as_text(item.get("kind"))
    if isinstance(item.get("tool_uses"), list) or isinstance(item.get("tool_use_results"), list):
        if text := as_text(item.get("content")):
            yield {"type": "text", "text": text}
        for name, part in (("tool_uses", "tool_use"), ("tool_use_results", "tool_result")):
            for one in map(as_dict, as_list(item.get(name))):
                yield from _known_parts(one | {"type": part})
    elif isinstance(request := item.get("toolCall", item.get("toolRequest")), dict):
        call = as_dict(request.get("value")) or request
        yield {"type": "tool_use"} | call | {"id": item.get("id", call.get("id"))}
    elif isinstance(response := item.get("toolResult", item.get("toolResponse")), dict):
        value = response.get("value", response.get("error", response.get("content")))
        content = value.get("content", value) if isinstance(value, dict) else value
        yield {"type": "tool_result", "tool_use_id": item.get("id"), "content": content}
    elif isinstance(invocation := item.get("toolInvocation"), dict) or kind.startswith("tool-"):
        made = as_dict(invocation) or item
        name = as_text(made.get("toolName")) or kind.removeprefix("tool-")
        arguments = made.get("args", made.get("input"))
        yield {"type": "tool_use", "id": made.get("toolCallId"), "name": name, "input": arguments}
        if (output := made.get("result", made.get("output"))) not in (None, ""):
            yield {"type": "tool_result", "tool_use_id": made.get("toolCallId"), "name": name, "content": output}
    elif kind in ("tool_result", "toolResult", "tool-result"):
        run = as_dict(item.get("run"))
        content = item.get("content", item.get("output", run.get("result", run.get("error"))))
        inner = list(content_blocks(content)) if isinstance(content, list) else []
        if inner and all(block.kind == "words" for block in inner):
            content = "\n".join(block.text for block in inner)
        call_id = next((item[key] for key in _RESULT_IDS if item.get(key)), item.get("tool_use_id"))
        yield item | {"type": "tool_result", "tool_use_id": call_id, "content": content}
    else:
        yield _with_text(item, kind)


def _with_text(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """A part whose words stand as a string under ``text``."""
    text = item.get("text")
    if isinstance(text, dict | list):
        return item | {"type": kind, "text": agent_logs.words_of(text) or first_text(as_dict(text), "value")}
    if not text and kind in _TEXT_KINDS:
        for key in ("value", "content", "markdown", "message", "prompt"):
            if words := agent_logs.words_of(item.get(key)):
                return item | {"type": "text", "text": words}
    return item | {"type": kind}


def _variant(item: Mapping[str, Any]) -> tuple[str, Any]:
    """The tag and the content of an object such as ``{"ToolUse": {…}}``, as programs in Rust write variants."""
    if len(item) != 1:
        return "", None
    ((name, value),) = item.items()
    if not name[:1].isupper() or not isinstance(value, str | dict):
        return "", None
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(), value


# --- lists of turns -----------------------------------------------------------------------------------


def turns_in(data: Mapping[str, Any]) -> list[Any] | None:
    """The list of turns that an object holds, wherever it lies in it; None if there is none."""
    level: list[Mapping[str, Any]] = [data]
    for _ in range(_LISTS):
        below: list[Mapping[str, Any]] = []
        for value in (value for fields in level for value in fields.values()):
            if isinstance(value, list):
                if pairs := _paired(value):
                    return [turn for pair in pairs for turn in pair_in(pair)]
                items = [item[0] if isinstance(item, list) and item else item for item in value]
                if any(map(is_turn, items[:20])):
                    return items
                if any(map(pair_in, items[:20])):
                    return [turn for item in items for turn in pair_in(item) or [item]]
            elif isinstance(value, dict):
                below.append(value)
        level = below
    return None


def _paired(items: list[Any]) -> list[dict[str, Any]]:
    """The prompts and answers of a list of lists of two, in which no record says who speaks (Amazon Q)."""
    if not items or not all(isinstance(item, list) and len(item) == 2 for item in items):
        return []
    pairs = [{"user": item[0], "assistant": item[1]} for item in items]
    return pairs if all(map(pair_in, pairs)) and not any(is_turn(item[0]) for item in items) else []


def sessions_in(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects of a list that each hold turns of their own: several sessions in one file."""
    for value in data.values():
        items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        if items and turns_in(items[0]) is not None and not is_turn(items[0]):
            return items
    return []


def request_turns(data: dict[str, Any]) -> list[Any]:
    """The prompts and answers of Copilot's chats in VS Code, which are requests."""
    turns: list[Any] = []
    for request in map(as_dict, as_list(data.get("requests"))):
        identity, when = request.get("requestId"), request.get("timestamp")
        words = as_dict(request.get("message")).get("text") or request.get("message")
        turns.append({"role": "user", "content": words, "id": identity, "timestamp": when})
        content = list(_response_parts(request.get("response")))
        turns.append({"role": "assistant", "content": content, "id": request.get("responseId"), "timestamp": when})
    return turns


def _response_parts(response: Any) -> Iterator[dict[str, Any]]:
    """The parts of an answer of Copilot in VS Code: its text, with the names of the files that it refers to between the
    words, and its reasoning and calls."""
    words = ""
    others: list[dict[str, Any]] = []
    for part in response if isinstance(response, list) else [response]:
        fields = as_dict(part)
        kind = as_text(fields.get("kind"))
        if kind == "thinking":
            others.append({"type": "thinking", "thinking": agent_logs.words_of(fields.get("value"))})
        elif kind == "toolInvocationSerialized":
            said = next(
                (_markdown(fields[key]) for key in ("pastTenseMessage", "invocationMessage") if fields.get(key)), ""
            )
            call = {"name": as_text(fields.get("toolId")), "id": fields.get("toolCallId")}
            others.append(call | {"type": "tool_use", "input": {"message": said} if said else None})
        elif kind == "inlineReference":
            words += _reference_name(as_dict(fields.get("inlineReference")), as_text(fields.get("name")))
        elif kind not in _PROGRESS:
            words += _markdown(fields.get("value", fields.get("content"))) if fields else as_text(part)
    yield {"type": "text", "text": words}
    yield from (part for part in others if part["type"] != "thinking" or part["thinking"])


def _reference_name(reference: dict[str, Any], name: str) -> str:
    """What an answer shows for a file or a symbol."""
    uri = as_dict(as_dict(reference.get("location")).get("uri")) or as_dict(reference.get("uri")) or reference
    name = name or as_text(reference.get("name"))
    name = name or first_text(uri, "path", "fsPath").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"`{name}`" if name else ""


def _markdown(value: Any) -> str:
    """Markdown as a string, or within ``value`` or ``content``."""
    if isinstance(value, dict):
        return _markdown(value.get("value", value.get("content")))
    return as_text(value)


def shape_confidence(records: list[dict[str, Any]]) -> float:
    """How surely records of no known dialect are those of an agent, by their shape."""
    for record in records:
        turns = turns_in(record) if not is_turn(record) else None
        if turns is not None or any(map(is_turn, request_turns(record))) or sessions_in(record):
            found = [turn for turn in turns or () if isinstance(turn, dict)]
            return 0.45 if found and all(map(_is_plain, found)) and "messages" in record else 0.68
        if pair_in(record):
            return 0.68
    turns = [record for record in records if is_turn(record)]
    # The other format reads a file only if all its records are turns, and have no other keys.
    is_left_to_others = len(turns) == len([one for one in records if one]) and all(
        turn.keys() <= _PLAIN_KEYS or turn.keys() <= _GEMINI_KEYS or turn.keys() >= _NATIVE_KEYS for turn in turns
    )
    if not any("role" in turn or _role(turn) == "assistant" for turn in turns):
        # Prompts alone are a list of what was typed; the sessions hold them too.
        return 0.0
    return 0.45 if is_left_to_others and all(map(_is_plain, turns)) else 0.68


def _is_plain(turn: dict[str, Any]) -> bool:
    """Whether another format reads all of a turn: native JSONL, Gemini CLI, or the model makers' interfaces."""
    content = turn.get("content")
    if turn.keys() >= _NATIVE_KEYS and isinstance(content, str):
        return True
    if "parts" in turn and turn.keys() <= _GEMINI_KEYS:
        return True
    times = [turn[key] for key in ("timestamp", "created_at", "createdAt", "date") if key in turn]
    is_dated = (when := time_of(turn)) is None or when in times
    has_parts = any(_is_own_part(part) for part in content) if isinstance(content, list) else False
    return {"role", "content"} <= turn.keys() and is_dated and not has_parts and not _OWN_KEYS & turn.keys()


def _is_own_part(part: Any) -> bool:
    """Whether a part of a message has a shape that only programs write, not the model makers' interfaces."""
    fields = as_dict(part)
    own = {"data", "toolCall", "toolResult", "toolInvocation", "toolUseID"} & fields.keys()
    return bool(own) or isinstance(fields.get("text"), dict) or bool(_variant(fields)[0])
