"""``/v1/responses``: requests of OpenAI's Responses API, their turns, and answers assembled from streams.

Pure, as ``turns``, whose values it makes. An item of the input is a message, a call of a tool, or its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import msgspec

from appliance.context import render
from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.server.openai_proxy import turns
from appliance.server.openai_proxy.tasks import TaskShape
from appliance.server.openai_proxy.turns import ChatTurn, EventStreamReader

TEXT_PARTS = ("input_text", "output_text", "text", "refusal")
"""The kinds of parts of a message that have words."""


@dataclass(frozen=True, slots=True)
class ResponsesRequest:
    """A request of the Responses API; ``text`` is its input if that is a text. The fields that a ``ChatRequest`` has
    too mean the same."""

    fields: Mapping[str, msgspec.Raw]
    items: Sequence[msgspec.Raw]
    turns: Sequence[ChatTurn]
    system: str
    latest_user_text: str
    leading_system_count: int
    latest_user_index: int | None
    shape: TaskShape
    previous_answer: str | None
    text: str | None

    def body(self, knowledge: str, role: str = "user") -> bytes:
        """As ``ChatRequest.body``."""
        items = list(self.items)
        if role == "user" and self.text is not None:
            return msgspec.json.encode({**self.fields, "input": f"{knowledge}{render.MESSAGE}{self.text}"})
        if role != "user":
            items.insert(self.leading_system_count, turns.raw({"role": role, "content": knowledge}))
        elif self.latest_user_index is not None:
            latest = items[self.latest_user_index]
            text = f"{knowledge}{render.MESSAGE}"
            items[self.latest_user_index] = turns.with_text_before(latest, text, "input_text")
        return msgspec.json.encode({**self.fields, "input": items})


def read(body: bytes) -> ResponsesRequest:
    """
    Raises:
        UsageError: The body is not a request of the Responses API.
    """
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        given = msgspec.json.decode(fields.get("input", msgspec.Raw(b'""')), type=str | list[msgspec.Raw])
        items = [turns.raw({"role": "user", "content": given})] if isinstance(given, str) else given
        decoded = [msgspec.json.decode(item, type=dict[str, Any]) for item in items]
        others = {name: msgspec.json.decode(fields[name]) for name in _OTHER_FIELDS if name in fields}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"The request is not one of the Responses API in JSON ({type(error).__name__}).",
            hint='Send {"model": …, "input": "…"}.',
        ) from None
    messages = [_chat_message(item) for item in decoded]
    chat = turns.read(msgspec.json.encode({"messages": messages}))
    instructions = others.get("instructions")
    system = "\n".join(filter(None, (instructions if isinstance(instructions, str) else "", chat.system)))
    previous = others.get("previous_response_id")
    return ResponsesRequest(
        fields=fields,
        items=items,
        turns=chat.turns if given else (),
        system=system,
        latest_user_text=chat.latest_user_text,
        leading_system_count=chat.leading_system_count,
        latest_user_index=chat.latest_user_index,
        shape=replace(chat.shape, system=system),
        previous_answer=previous if isinstance(previous, str) and previous else None,
        text=given if isinstance(given, str) else None,
    )


_OTHER_FIELDS = ("instructions", "previous_response_id")


def answer_turns(body: bytes) -> list[ChatTurn]:
    """The turns of an answer; empty if the body is not one."""
    try:
        return _output_turns(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, ValueError, AttributeError):
        return []


def _output_turns(response: Any, *, cut: bool = False) -> list[ChatTurn]:
    """The turns of a response object. The last one has its id, by which the next request continues from it."""
    if not isinstance(response, dict) or not isinstance(response.get("output"), list):
        return []
    said = list(_answer_turns(response["output"], cut=cut or response.get("status") == "incomplete"))
    return _with_answer_id(said, response.get("id"))


def _with_answer_id(said: list[ChatTurn], id: object) -> list[ChatTurn]:
    return [*said[:-1], replace(said[-1], answer_id=id)] if said and isinstance(id, str) and id else said


def _answer_turns(output: Sequence[Any], *, cut: bool) -> Iterator[ChatTurn]:
    items = [item for item in output if isinstance(item, dict)]
    texts = [_text(item.get("content")) for item in items if item.get("type", "message") == "message"]
    calls = [{"function": item} for item in items if item.get("type") == "function_call"]
    yield from turns.assistant_turns({"content": "\n\n".join(filter(None, texts)), "tool_calls": calls}, cut=cut)


def _chat_message(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of the input as a message of a chat. What has no words, such as reasoning, is an empty one."""
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item.get("role"), "content": _chat_content(item.get("content"))}
    if kind == "function_call":
        return {"role": "assistant", "content": None, "tool_calls": [{"function": dict(item)}]}
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": _text(item.get("output"))}
    return {"role": kind, "content": ""}


def _chat_content(content: object) -> object:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [part if _has_text(part) else {"type": "other"} for part in content]


def _has_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type", "text") in TEXT_PARTS


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") for part in parts if _has_text(part)]
    return "\n".join(text for text in texts if isinstance(text, str))


@dataclass(slots=True)
class ResponseAssembler(EventStreamReader):
    """Assembles an answer from a stream of events of the Responses API; see ``turns.StreamAssembler``."""

    _text: list[str] = field(default_factory=list)
    _calls: list[dict[str, Any]] = field(default_factory=list)
    _id: str = ""
    _complete: list[ChatTurn] = field(default_factory=list)

    def turns(self) -> list[ChatTurn]:
        """The turns so far."""
        if self._complete:
            return self._complete
        message = {"type": "message", "content": "".join(self._text)}
        return _with_answer_id(list(_answer_turns([message, *self._calls], cut=True)), self._id)

    def read_event(self, event: Any) -> None:
        """Take an event."""
        match event.get("type"):
            case "response.created":
                self._id = event["response"]["id"]
            case "response.output_text.delta" | "response.refusal.delta" if self.reserve(event["delta"]):
                self._text.append(event["delta"])
            case "response.output_item.done" if event["item"].get("type") == "function_call":
                if self.reserve(msgspec.json.encode(event["item"]).decode()):
                    self._calls.append(event["item"])
            case "response.completed" | "response.incomplete":
                self.is_ended = True
                if self.size <= self.max_characters:
                    self._complete = _output_turns(event["response"])
