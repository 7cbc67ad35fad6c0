"""Tasks of Cline, Roo Code and Kilo Code: ``ui_messages.json`` (what was shown) and ``api_conversation_history.json``.

Both hold the same conversation. What was shown has the times and the person's own words, so the other file is read only
where it lies alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from appliance.formats import agent_logs
from appliance.formats.agent_logs import ContentBlock, LogEntry
from appliance.formats.agent_shapes import AgentTurn
from appliance.formats.base import Document
from appliance.formats.json_fields import as_dict, as_list, as_text, decode_object, first_text
from appliance.types import InputProblem, Role

SHOWN, SENT = "ui_messages.json", "api_conversation_history.json"

_TASK_FILE = re.compile(rf"(?:^|/)(?P<task>[^/]+)/(?:{re.escape(SHOWN)}|{re.escape(SENT)})$")
_TASK_ID = re.compile(r"\d{12,14}|[0-9a-f]{8}-[0-9a-f-]{27}", re.IGNORECASE)
_RESULT = re.compile(r"\[(?P<name>[a-z_]+)(?: for .{0,400}?)?\] Result:", re.DOTALL)

_PERSON = frozenset({"task", "user_feedback", "user_feedback_diff"})
_ASSISTANT = frozenset(
    {"text", "completion_result", "followup", "plan_mode_respond", "act_mode_respond", "plan_mode_response", "new_task"}
)
_CALLS = frozenset(
    {"tool", "command", "use_mcp_server", "mcp_server_request_started", "browser_action", "browser_action_launch"}
)
_RESULTS = frozenset(
    {"command_output", "mcp_server_response", "browser_action_result", "codebase_search_result", "subtask_result"}
)
_SAID = _PERSON | {"completion_result", "followup", "plan_mode_respond", "api_req_started"}
_NOTICES = frozenset(
    {"error", "diff_error", "info", "clineignore_error", "rooignore_error", "mistake_limit_reached", "api_req_failed"}
)


def is_task_file(name: str) -> bool:
    """Whether a file has one of the two names, within the folder of a task."""
    return _TASK_FILE.search(name.replace("\\", "/")) is not None


def is_shown(record: dict[str, Any]) -> bool:
    """Whether a record is one of ``ui_messages.json``; the type may be missing."""
    if "type" not in record:
        has_kind = any(isinstance(record.get(key), str) for key in ("say", "ask"))
        return has_kind and "text" in record and "role" not in record
    return record.get("type") in ("say", "ask") and isinstance(record.get(as_text(record.get("type"))), str)


def is_certain(record: dict[str, Any]) -> bool:
    """Whether a record that is shown has what only these programs write: its time, or a word of theirs."""
    return "ts" in record or first_text(record, "say", "ask") in _SAID


def facts_of(document: Document) -> dict[str, Any]:
    """What a task's folder tells about its session: the id, which is often the time when it began, and the title."""
    found = _TASK_FILE.search(document.name.replace("\\", "/"))
    if found is None or not _TASK_ID.fullmatch(found["task"]):
        return {}
    facts: dict[str, Any] = {"id": found["task"]}
    if found["task"].isdecimal():
        facts["time"] = int(found["task"])
    for name in ("history_item.json", "task_metadata.json"):
        if (file := document.context.find(name)) is not None:
            item = next((item.data for item in agent_logs.entries(file) if isinstance(item, LogEntry)), {})
            facts |= {"title": first_text(item, "title"), "cwd": first_text(item, "workspace", "cwd")}
            break
    return facts


def is_read_elsewhere(document: Document) -> bool:
    """Whether this is what was sent, and what was shown lies beside it."""
    if not document.name.endswith(SENT) or (file := document.context.find(SHOWN)) is None:
        return False
    first = next((item for item in agent_logs.entries(file) if isinstance(item, LogEntry)), None)
    return first is not None and is_shown(first.data)


def shown_turn(data: dict[str, Any], *, is_first: bool) -> AgentTurn | None:
    """A record of what was shown. The first text is the person's task."""
    kind = as_text(data.get(as_text(data.get("type")))) or first_text(data, "say", "ask")
    text = as_text(data.get("text"))
    if data.get("partial") is True:
        return None
    role: Role = "assistant"
    blocks: tuple[ContentBlock, ...] = (ContentBlock("words", text),)
    if kind in _PERSON or (kind == "text" and is_first):
        role = "user"
        images = as_list(data.get("images"))
        blocks += tuple(ContentBlock("file", "", _image_name(as_text(path))) for path in images)
    elif kind == "reasoning":
        blocks = (ContentBlock("reasoning", text or as_text(data.get("reasoning"))),)
    elif kind in _CALLS:
        fields = decode_object(text)
        name = first_text(as_dict(fields), "tool", "toolName", "action", "type") or kind
        arguments = {key: value for key, value in as_dict(fields).items() if key not in ("tool", "toolName")} or text
        blocks = (ContentBlock("call", agent_logs.call_text(name, arguments), name, arguments=arguments),)
    elif kind in _RESULTS:
        role, blocks = "tool", (ContentBlock("result", text, kind),)
    elif kind in _NOTICES:
        role = "system"
    elif kind == "followup" or kind.startswith(("plan_mode", "act_mode")):
        words = first_text(as_dict(decode_object(text)), "question", "response") or text
        blocks = (ContentBlock("words", words),)
    elif kind not in _ASSISTANT:
        return None
    return AgentTurn(role, blocks, time=data.get("ts")) if any(b.text or b.kind == "file" for b in blocks) else None


def sent_turn(turn: AgentTurn) -> AgentTurn:
    """A turn of what was sent, in which the results of tools stand as the person's text."""
    blocks: list[ContentBlock] = []
    for block in turn.blocks:
        found = _RESULT.match(block.text) if turn.role == "user" and block.kind == "words" else None
        blocks.append(replace(block, kind="result", name=found["name"]) if found else block)
    return replace(turn, blocks=tuple(blocks))


def read_elsewhere() -> InputProblem:
    """The note on a file that is not read because the other one is."""
    return InputProblem("", f"the same conversation is read from {SHOWN}", harmless=True)


def _image_name(path: str) -> str:
    """The name of an image; those that stand in the record itself (``data:image/png;base64,…``) have none."""
    return "image" if path.startswith("data:") else path.replace("\\", "/").rpartition("/")[2] or "image"
