"""The messages of assistants' programs: text, reasoning, calls and results.

Programs that speak the interfaces of the model makers store their messages alike: a role, and a
``content`` that is a string or a list of typed parts. The text parts together become one message; every other part
becomes a message of role ``tool`` around it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from appliance.formats import json_fields, unknown_text
from appliance.formats.json_fields import as_dict, as_id, as_json, as_list, as_text, first_id, first_text, role_table
from appliance.formats.json_fields import made_id as made_id
from appliance.formats.json_fields import unreadable_time as unreadable_time
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem, MessageRecord, Role

_ROLES = role_table(
    user="user human",
    assistant="assistant gpt chatgpt bing bard model bot ai",
    system="system developer",
    tool="tool function observation",
)
_TEXTS = frozenset(("text", "input_text", "output_text"))
_REASONING = frozenset(("think", "thinking", "reasoning"))
_CALLS = frozenset(("tool_call", "tool_use", "function_call"))
_RESULTS = frozenset(("tool_result", "function_call_output"))

_DATES = ("timestamp", "created_at", "createdAt", "date")
_TURN_IDS = ("id", "uuid", "message_id", "messageId")
_TURN_KEYS = frozenset({"from", "role", "name", "tool_calls", "function_call", "refusal", "reasoning"})


@dataclass(frozen=True, slots=True)
class AgentContentPart:
    """A part of a message. ``name`` is the tool's, of a call or a result."""

    kind: Literal["text", "reasoning", "call", "result"]
    text: str
    name: str = ""


@dataclass(slots=True)
class AgentContent:
    """The parts of a message in their order, its files, the types of parts that hold no text, and the types of
    those in an unknown shape, whose strings are kept."""

    parts: list[AgentContentPart] = field(default_factory=list)
    attachments: list[dict[str, str]] = field(default_factory=list)
    skipped_types: list[str] = field(default_factory=list)
    unknown_types: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither text nor a file."""
        return not self.attachments and not any(part.text.strip() for part in self.parts)

    def add_unknown(self, value: Any, kind: str, known: Collection[str] = ()) -> None:
        """Add the strings of a part in an unknown shape."""
        if text := unknown_text.text_of(value, known):
            self.parts.append(AgentContentPart("text", text))
            self.unknown_types.append(kind)
        else:
            self.skipped_types.append(kind or "(none)")

    @property
    def text(self) -> str:
        """The text parts, separated by blank lines."""
        return "\n\n".join(part.text for part in self.parts if part.kind == "text")


@dataclass(frozen=True, slots=True)
class ConversationPlace:
    """Everything about a message except its content, role and metadata."""

    session: str
    identity: str | None
    sent: datetime | None = None
    reply_to: str | None = None
    branch: bool = False
    where: str = ""
    author: str | None = None


def role_of(word: str) -> Role | None:
    """The role for a program's word for a speaker."""
    return _ROLES.get(word.strip().lower())


def parse_content(content: Any) -> AgentContent:
    """The parts of a message's ``content``: a string, a list of typed parts, or one such part."""
    parsed = AgentContent()
    if content is not None:
        for part in content if isinstance(content, list) else [content]:
            _add_part(part, parsed)
    return parsed


def call_text(name: str, arguments: Any) -> str:
    """A tool call as text: the tool's name, then a line for each argument."""
    decoded = decode_nested_json(arguments) if isinstance(arguments, str) else arguments
    return json_fields.call_text(name, None if decoded == "" else decoded)


def decode_nested_json(text: str) -> Any:
    """The value of JSON within a string, also of JSON within JSON; the string itself where it is no JSON."""
    value: Any = text
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            break
    return value


def result_text(value: Any) -> str:
    """A tool's result as text: a string, a list of parts with text, or any other value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        texts = [as_text(part) or as_text(as_dict(part).get("text")) for part in value]
        if all(texts):
            return "\n".join(texts)
    return as_json(value)


def records(
    place: ConversationPlace, role: Role, content: AgentContent, metadata: dict[str, Any] | None = None
) -> Iterator[MessageRecord | InputProblem]:
    """The messages of one record: its text, and around it a message for each call, result and reasoning.

    Parts before the first text stay before it. Their ids are the message's id, the kind and the part's number."""
    for kind in content.unknown_types:
        yield unknown_text.kept(place.where, kind)
    for kind in content.skipped_types:
        yield InputProblem(place.where, f"skipped a part without text (type {kind[:60]})", harmless=True)
    text = json_fields.with_attachments(content.text, content.attachments)
    branch_metadata = {"branch": True} if place.branch else {}
    before: list[MessageRecord] = []
    after: list[MessageRecord] = []
    has_text = False
    for number, part in enumerate(content.parts, 1):
        if part.kind == "text":
            has_text = has_text or bool(part.text.strip())
        elif part.text.strip():
            identity = f"{place.identity}-{part.kind}-{number}" if place.identity else None
            (after if has_text else before).append(
                MessageRecord(
                    place.session, "tool", part.text, identity, part.name or None, place.sent, place.identity,
                    json_fields.tool_metadata(part.kind, part.name) | branch_metadata, place.where,
                )
            )  # fmt: skip
    yield from before
    if text.strip():
        own = dict(metadata or {}) | ({"attachments": content.attachments} if content.attachments else {})
        yield MessageRecord(
            place.session, role, text, place.identity, place.author, place.sent, place.reply_to, own | branch_metadata,
            place.where,
        )  # fmt: skip
    elif not before and not after:
        yield InputProblem(place.where, "the message is empty; skipped", harmless=True)
    yield from after


def turn_messages(session: str, turns: Iterable[Any], where: str) -> Iterator[MessageRecord | InputProblem]:
    """The messages of a plain list of turns: ``role`` and ``content``, or ``from`` and ``value``.

    A turn without an id gets its number in the conversation, which stays the same when the conversation
    goes on. Problems among the turns are passed through."""
    calls: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    for entry in json_fields.entries(turns, where, "message"):
        if isinstance(entry, InputProblem):
            yield entry
            continue
        number, place, turn = entry
        identity = first_id(turn, *_TURN_IDS)
        if identity is None or identity in used or identity.isdecimal():
            identity = str(number)
        used.add(identity)
        yield from _turn(session, turn, identity, calls, place)


def opening_turns(turns: Sequence[Any]) -> Iterator[str]:
    """What identifies a conversation without an id: its turns up to the first answer, which stay as they are
    when the conversation goes on."""
    for turn in turns:
        speaker, content = _speaker(as_dict(turn)), parse_content(_content(as_dict(turn)))
        yield f"{speaker}\x1e{content.text}"
        if role_of(speaker) == "assistant":
            break


def damaged_opening(turns: Sequence[Any], where: str) -> InputProblem | None:
    """The problem of a conversation without an id that is damaged or cut off in its opening and has nothing behind it:
    it would be another one than the undamaged conversation, and stay beside it."""
    opening: list[Any] = []
    is_answered = False
    for turn in turns:
        opening.append(turn)
        if is_answered := role_of(_speaker(as_dict(turn))) == "assistant":
            break
    if len(opening) < len(turns) or (all(map(is_whole, opening)) and (is_answered or is_whole(turns))):
        return None
    left_out = "1 message was left out" if len(turns) == 1 else f"{len(turns)} messages were left out"
    reason = "damaged or cut off before the end of its first answer, by which a conversation without an id is known"
    return InputProblem(where, f"{reason}; {left_out}")


def unique_id(identity: str, id_counts: Counter[str]) -> str:
    """A session's id, with a number if the file has used it before."""
    id_counts[identity] += 1
    return identity if id_counts[identity] == 1 else f"{identity}-{id_counts[identity]}"


def is_turn(turn: Any) -> bool:
    """Whether this is a turn with a known speaker."""
    return isinstance(turn, dict) and role_of(_speaker(turn)) is not None


def _turn(
    session: str, turn: dict[str, Any], identity: str, calls: dict[str, tuple[str, str]], where: str
) -> Iterator[MessageRecord | InputProblem]:
    speaker = _speaker(turn)
    role = role_of(speaker)
    content = parse_content(_content(turn))
    if role is None and speaker == "function_call":
        role, content.parts = "assistant", [AgentContentPart("call", content.text)]
    if role is None:
        yield InputProblem(where, f"unknown role {speaker!r}; imported as system")
        role = "system"
    if reasoning := first_text(turn, "reasoning_content", "reasoning"):
        content.parts.insert(0, AgentContentPart("reasoning", reasoning))
    if not content.text and (refusal := as_text(turn.get("refusal"))):
        content.parts.append(AgentContentPart("text", refusal))
    if content.is_empty and not turn.get("tool_calls") and not turn.get("function_call"):
        content.skipped_types.clear()
        content.add_unknown(turn, "", _TURN_KEYS)
        content.skipped_types.clear()
    name = as_text(turn.get("name"))
    reply_to: str | None = None
    metadata: dict[str, Any] = {}
    if role == "tool":
        reply_to, tool_name = calls.get(as_id(turn.get("tool_call_id")) or "", (None, ""))
        name = name or tool_name
        metadata = json_fields.tool_metadata("result", name)
    elif role == "system" and role_of(speaker) == "system":
        metadata["hidden"] = True
    for call_id, part in tool_calls(turn):
        content.parts.append(part)
        if call_id is not None and part.kind == "call":
            calls[call_id] = (f"{identity}-call-{len(content.parts)}", part.name)
    inner = as_dict(_content(turn))
    date = next((one[key] for one in (turn, inner) for key in _DATES if one.get(key)), None)
    sent = read_time(date)
    if sent is None and date is not None:
        yield unreadable_time(where, date)
    place = ConversationPlace(session, identity, sent, reply_to, False, where, name or None)
    yield from records(place, role, content, metadata)


def _speaker(turn: dict[str, Any]) -> str:
    return first_text(turn, "from", "role")


def _content(turn: dict[str, Any]) -> Any:
    return next((turn[key] for key in ("value", "content", "text") if turn.get(key) is not None), None)


def system_prompt(session: str, text: str, where: str) -> MessageRecord:
    """The instructions to the assistant before a conversation's first message."""
    return MessageRecord(session, "system", text, "system", metadata={"hidden": True}, where=where)


def model_of(*values: Any) -> dict[str, Any]:
    """The first name among the values, as metadata of a message."""
    return next(({"model": name} for value in values if (name := as_text(value))), {})


def attachments_of(entries: Sequence[Any]) -> list[dict[str, str]]:
    """The files of a message by name, with their text where the export holds it."""
    attachments: list[dict[str, str]] = []
    for fields in map(as_dict, entries):
        inner = as_dict(fields.get("file"))
        name = first_text(fields, "name", "filename", "title") or first_text(inner, "filename", "name")
        text = as_text(fields.get("text")) or as_text(as_dict(inner.get("data")).get("content"))
        name = name or as_text(fields.get("type")).partition("/")[0] or ("file" if text else "")
        if name:
            attachments.append({"name": name, "text": text} if text else {"name": name})
    return attachments


def _add_part(part: Any, parsed: AgentContent) -> None:
    if isinstance(part, str):
        parsed.parts.append(AgentContentPart("text", part))
        return
    fields = as_dict(part)
    kind = as_text(fields.get("type"))
    if kind in _REASONING:
        text = _nested_text(fields.get(kind)) or _nested_text(fields.get("text")) or result_text(fields.get("summary"))
        parsed.parts.append(AgentContentPart("reasoning", text))
    elif kind in _CALLS:
        _add_call(as_dict(fields.get("tool_call")) or fields, parsed)
    elif kind in _RESULTS:
        result = fields.get("content", fields.get("output"))
        parsed.parts.append(AgentContentPart("result", result_text(result), as_text(fields.get("name"))))
    elif kind in _TEXTS or not kind or kind in ("refusal", "error"):
        if text := next((text for key in ("text", kind, "content") if (text := _nested_text(fields.get(key)))), ""):
            parsed.parts.append(AgentContentPart("text", text))
        elif fields:
            parsed.add_unknown(fields, kind)
    elif text := as_text(fields.get("text")):
        parsed.parts.append(AgentContentPart("text", text))
    else:
        inner = as_dict(fields.get(kind)) or as_dict(fields.get("file"))
        name = as_text(inner.get("filename")) or as_text(fields.get("filename")) or as_text(inner.get("name"))
        if not name and any(word in kind for word in ("image", "audio", "video", "file")):
            name = kind.removeprefix("input_").removesuffix("_url").removesuffix("_file")
        if name:
            parsed.attachments.append({"name": name})
        else:
            parsed.add_unknown(fields, kind)


def _add_call(call: dict[str, Any], parsed: AgentContent) -> None:
    """Add a call, and its result where the same object has it."""
    function = as_dict(call.get("function")) or call
    name = as_text(function.get("name")) or as_text(call.get("name"))
    arguments = function.get("arguments", function.get("args", function.get("input")))
    parsed.parts.append(AgentContentPart("call", call_text(name, arguments), name))
    if output := result_text(call.get("output")):
        parsed.parts.append(AgentContentPart("result", output, name))


def tool_calls(message: dict[str, Any]) -> Iterator[tuple[str | None, AgentContentPart]]:
    """The calls outside a message's content (in ``tool_calls`` or ``function_call``), with their ids."""
    for call in map(as_dict, [*as_list(message.get("tool_calls")), message.get("function_call")]):
        if call:
            parsed = AgentContent()
            _add_call(call, parsed)
            for part in parsed.parts:
                yield as_id(call.get("id")), part


def _nested_text(value: Any) -> str:
    """A string, or one within ``value`` or ``content``."""
    return as_text(value.get("value", value.get("content")) if isinstance(value, dict) else value)
