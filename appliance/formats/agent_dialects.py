"""The dialects of coding agents whose records need more than their shape: each turns a record into an ``AgentTurn``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from appliance.formats import agent_logs
from appliance.formats.agent_logs import ContentBlock, blocks_of, call_of, result_of
from appliance.formats.agent_shapes import AgentTurn, content_blocks, role_of, time_of, turn_of
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text
from appliance.types import Role

COPILOT_TURNS = frozenset({"user.message", "assistant.message"})
KIMI_EVENTS = frozenset({"TurnBegin", "TurnEnd", "SteerInput", "ContentPart", "ToolCall", "ToolResult", "StepBegin"})
ANTIGRAVITY_ANSWERS = frozenset({"PLANNER_RESPONSE", "NOTIFY_USER"})


def dialect_of(data: dict[str, Any]) -> Callable[[dict[str, Any]], AgentTurn | None]:
    kind = as_text(data.get("type"))
    if "step_index" in data:
        return _antigravity
    if kind.startswith(("turn.", "context.")):
        return _kimi
    if "." in kind and (isinstance(data.get("data"), dict) or kind in COPILOT_TURNS):
        return _copilot
    if as_text(as_dict(data.get("message")).get("type")) in KIMI_EVENTS:
        return _kimi_wire
    return plain_or_none


def plain_or_none(data: dict[str, Any]) -> AgentTurn | None:
    """A record with a role of its own or of its message; other records are bookkeeping."""
    turn = _plain(data)
    if not turn.blocks:
        return None
    if turn.role in ("user", "assistant") and not any(block.kind == "words" for block in turn.blocks):
        # The words may stand under another key.
        other = turn_of(data)
        return other if other and any(block.kind == "words" for block in other.blocks) else turn
    return turn


def _plain(data: dict[str, Any]) -> AgentTurn:
    """Cursor, Droid, Hermes, OpenClaw, Qwen: a role, and content or parts, in the record or in its ``message``."""
    message = as_dict(data.get("message")) or data
    speaker = as_text(message.get("role")) or first_text(data, "role", "type")
    role = role_of(speaker)
    blocks = tuple(content_blocks(message.get("content", message.get("parts")))) if role else ()
    if role == "tool" and not any(block.kind in ("call", "result") for block in blocks):
        result = result_of(message)
        blocks = (replace(result, name=result.name or as_text(message.get("name"))),) if result.text else ()
    elif role == "assistant":
        blocks += tuple(call_of(call) for call in as_list(message.get("tool_calls")) if isinstance(call, dict))
        if reasoning := first_text(message, "reasoning_content", "reasoning", "thinking"):
            blocks = (ContentBlock("reasoning", reasoning), *blocks)
    notice = role == "user" and as_text(data.get("subtype")) == "notification"
    if notice and as_dict(data.get("systemPayload")):
        role = "system"
    identity = agent_logs.first_own_id(data, "id", "uuid", "message_id", "messageId")
    parent = agent_logs.first_own_id(data, "parentId", "parentUuid")
    time = time_of(data, message)
    model = as_text(data.get("model")) or as_text(message.get("model"))
    hidden = role == "system" and not notice
    return AgentTurn(role or "system", blocks, identity, parent, time, hidden=hidden, model=model)


def opencode(data: dict[str, Any]) -> AgentTurn:
    """A message's ``info`` and its parts; a tool's part holds its call and its result."""
    info = as_dict(data.get("info"))
    role = role_of(as_text(info.get("role"))) or "system"
    blocks: list[ContentBlock] = []
    added: list[tuple[str, bool]] = []
    for part in map(as_dict, as_list(data.get("parts"))):
        # Some exports have the state's fields in the part itself.
        state = as_dict(part.get("state")) or part
        if part.get("type") == "tool":
            call_id = first_text(part, "callID", "id")
            call = {"name": first_text(part, "tool", "name"), "id": call_id, "input": state.get("input")}
            output = state.get("output", state.get("error"))
            blocks += [call_of(call), result_of({"toolCallId": call_id, "output": output})]
        elif part.get("synthetic") is True:
            # What the program adds to a prompt.
            added += [(as_text(part.get("text")), True)]
        else:
            blocks += blocks_of(part)
    if error := first_text(as_dict(as_dict(info.get("error")).get("data")), "message"):
        added.append((error, False))
    identity, parent = agent_logs.own_id(info.get("id")), agent_logs.own_id(info.get("parentID"))
    time, model = time_of(info), as_text(info.get("modelID"))
    model = model or first_text(as_dict(info.get("model")), "modelID")
    hidden = role == "system"
    return AgentTurn(role, tuple(blocks), identity, parent, time, hidden=hidden, model=model, added=tuple(added))


def _antigravity(data: dict[str, Any]) -> AgentTurn | None:
    """Steps of the person, of the model with its tools, or of the program."""
    kind = as_text(data.get("type"))
    text = as_text(data.get("content"))
    role: Role = "system"
    blocks: tuple[ContentBlock, ...] = (ContentBlock("words", text),)
    if kind == "USER_INPUT":
        role = "user"
    elif kind in ANTIGRAVITY_ANSWERS:
        role = "assistant"
        calls = [call for call in as_list(data.get("tool_calls")) if isinstance(call, dict)]
        # The arguments are JSON within JSON.
        arguments = [{key: _decode_string(value) for key, value in as_dict(call.get("args")).items()} for call in calls]
        blocks = (ContentBlock("reasoning", as_text(data.get("thinking"))), *blocks)
        blocks += tuple(call_of(call | {"args": args}) for call, args in zip(calls, arguments, strict=True))
    elif as_text(data.get("source")) != "SYSTEM":
        role, blocks = "tool", (ContentBlock("result", text, kind.lower()),)
    step = agent_logs.own_id(data.get("step_index"))
    return AgentTurn(role, blocks, step, None, data.get("created_at"), hidden=role == "system")


def _decode_string(value: Any) -> Any:
    if isinstance(value, str) and value.startswith('"'):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _copilot(data: dict[str, Any]) -> AgentTurn | None:
    """Events. The arguments of a tool stand in the message that requests it."""
    kind, fields = as_text(data.get("type")), as_dict(data.get("data")) or data
    call = as_text(fields.get("parentToolCallId"))
    agent = (agent_logs.own_id(call) or "agents") if call else None
    identity, parent = agent_logs.own_id(data.get("id")), agent_logs.own_id(data.get("parentId"))
    model = as_text(fields.get("model"))
    time = data.get("timestamp") or fields.get("timestamp")
    turn = AgentTurn("system", (), identity, parent, time, agent=agent, model=model)
    words = ContentBlock("words", first_text(fields, "content", "message", "prompt", "output", "text"))
    if kind == "user.message":
        names = [first_text(as_dict(item), "displayName", "path") for item in as_list(fields.get("attachments"))]
        files = tuple(ContentBlock("file", "", name) for name in names if name)
        return replace(turn, role="user", blocks=(words, *files))
    if kind == "assistant.message":
        calls = tuple(call_of(call) for call in as_list(fields.get("toolRequests")) if isinstance(call, dict))
        reasoning = ContentBlock("reasoning", as_text(fields.get("reasoningText")))
        return replace(turn, role="assistant", blocks=(reasoning, words, *calls))
    if kind == "tool.execution_complete":
        return replace(turn, role="tool", blocks=(result_of(fields),))
    if kind in ("system.message", "system.notification"):
        return replace(turn, blocks=(words,), hidden=True)
    if kind in ("session.info", "session.error", "session.warning"):
        return replace(turn, blocks=(words,))
    return None


def _kimi(data: dict[str, Any]) -> AgentTurn | None:
    """Prompts, as the person typed them and as the model got them, and the events of the agent's loop."""
    kind = as_text(data.get("type"))
    agent = as_text(data.get("agentId"))
    is_prompt = kind in ("turn.prompt", "turn.steer")
    turn = AgentTurn("user", time=data.get("time"), agent=agent if agent not in ("", "main") else None, stream=kind)
    message = data if is_prompt else as_dict(data.get("message"))
    own = as_dict(message.get("origin")).get("kind") in (None, "user")
    if is_prompt:
        blocks = tuple(blocks_of(data.get("input")))
        return replace(turn, role="user" if own else "system", blocks=blocks, hidden=not own, stream="prompt")
    if kind == "context.append_message":
        plain = _plain(message | {"tool_calls": message.get("toolCalls")})
        role = plain.role if own or plain.role != "user" else "system"
        return replace(turn, role=role, blocks=plain.blocks, hidden=role == "system")
    if kind == "context.apply_compaction":
        summary = ContentBlock("words", as_text(data.get("summary")))
        return replace(turn, role="system", blocks=(summary,), hidden=True)
    event = as_dict(data.get("event"))
    turn = replace(turn, role="assistant", identity=agent_logs.own_id(event.get("uuid")))
    if event.get("type") == "content.part":
        return replace(turn, blocks=tuple(blocks_of(event.get("part"))))
    if event.get("type") == "tool.call":
        return replace(turn, blocks=(call_of({k: v for k, v in event.items() if k != "type"}),))
    if event.get("type") == "tool.result":
        return replace(turn, role="tool", blocks=(result_of(event),))
    return None


def _kimi_wire(data: dict[str, Any]) -> AgentTurn | None:
    """The events of earlier versions of Kimi."""
    message = as_dict(data.get("message"))
    kind, payload = as_text(message.get("type")), as_dict(message.get("payload"))
    turn = AgentTurn("assistant", time=data.get("timestamp"))
    if kind in ("TurnBegin", "SteerInput"):
        return replace(turn, role="user", blocks=tuple(content_blocks(payload.get("user_input"))))
    if kind == "ContentPart":
        return replace(turn, blocks=tuple(content_blocks(payload)))
    if kind == "ToolCall":
        return replace(turn, blocks=(call_of(payload),))
    if kind == "ToolResult":
        result = result_of({"tool_call_id": payload.get("tool_call_id"), "output": payload.get("return_value")})
        return replace(turn, role="tool", blocks=(result,))
    return None
