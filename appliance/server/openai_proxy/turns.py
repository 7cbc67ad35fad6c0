"""Chat requests, their turns, and answers assembled from streams.

Pure: bytes in, values out. Other fields of a request are kept as the bytes that they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from appliance.context import render
from appliance.errors import UsageError
from appliance.server.openai_proxy.tasks import TaskShape
from appliance.server.openai_proxy.wrapping import words_of_person
from appliance.types import Role
from appliance.types.reasoning import without_reasoning

PLACEHOLDER_TEXT = "(no text)"
"""The text of a turn without words (a picture), which is stored as hidden: every message needs a text."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
"""Reasoning in turns that were stored with it; many clients remove it from what they send back."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn to store. ``cut`` marks an interrupted answer, ``answer_id`` is the id that the model's endpoint gave it;
    ``comparable`` is the normalized text."""

    role: Role
    text: str
    author: str | None = None
    tools: tuple[Mapping[str, str], ...] = ()
    has_no_text: bool = False
    cut: bool = False
    answer_id: str | None = None
    comparable: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparable", normalize(self.text))

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the stored message."""
        tools = {"tools": [dict(tool) for tool in self.tools]} if self.tools else {}
        hidden = {"hidden": True} if self.has_no_text else {}
        return {**tools, **hidden, **({"cut": True} if self.cut else {})}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request: its raw fields and messages, and the turns of user, assistant and tools in them.

    ``system`` is the text of the system messages, ``shape`` what tells a task of the front end from what a person says.
    ``previous_answer`` is the id of the answer that it goes on from, which a chat does not name. Turns of a user are
    their words, without what a client puts around them.
    """

    fields: Mapping[str, msgspec.Raw]
    messages: Sequence[msgspec.Raw]
    turns: Sequence[ChatTurn]
    system: str
    latest_user_text: str
    leading_system_count: int
    latest_user_index: int | None
    shape: TaskShape
    previous_answer: str | None = None

    def body(self, knowledge: str, role: str = "user") -> bytes:
        """The body to forward: with ``knowledge`` before the words of the user's latest message, or in a message of its
        own with another ``role``, after the client's leading instructions."""
        messages = list(self.messages)
        if role == "user" and self.latest_user_index is not None:
            latest = messages[self.latest_user_index]
            messages[self.latest_user_index] = with_text_before(latest, f"{knowledge}{render.MESSAGE}")
        elif role != "user":
            messages.insert(self.leading_system_count, raw({"role": role, "content": knowledge}))
        return msgspec.json.encode({**self.fields, "messages": messages})


def raw(value: object) -> msgspec.Raw:
    """A value as JSON."""
    return msgspec.Raw(msgspec.json.encode(value))


def with_text_before(message: msgspec.Raw, text: str, part: str = "text") -> msgspec.Raw:
    """A message with a text before its content, as a ``part`` of this kind if it has parts. Its other fields stay as
    they are."""
    fields = msgspec.json.decode(message, type=dict[str, msgspec.Raw])
    content = msgspec.json.decode(fields["content"], type=str | list[msgspec.Raw])
    is_text = isinstance(content, str)
    added = raw(text + content) if is_text else raw([{"type": part, "text": text}, *content])
    return raw({**fields, "content": added})


def require_object(body: bytes) -> None:
    """
    Raises:
        UsageError: The body is not an object in JSON.
    """
    try:
        str(body, "utf-8")  # the values are not read
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"The request is not an object in JSON ({type(error).__name__}).", hint='Send {"model": …, "prompt": …}.'
        ) from None


def read(body: bytes) -> ChatRequest:
    """
    Raises:
        UsageError: The body is not a chat request.
    """
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        raw = msgspec.json.decode(fields["messages"], type=list[msgspec.Raw])
        messages = [msgspec.json.decode(raw_message, type=dict[str, Any]) for raw_message in raw]
    except KeyError:
        raise UsageError("The request has no messages.", hint='Give "messages", a list.') from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"The request is not a chat request in JSON ({type(error).__name__}).",
            hint='Send {"model": …, "messages": [{"role": …, "content": …}]}.',
        ) from None
    roles = [str(message.get("role")) for message in messages]
    leading = next((index for index, role in enumerate(roles) if role not in _SYSTEM), len(roles))
    texts = [_text(message.get("content")) for message in messages]
    system = "\n".join(text for text, role in zip(texts, roles, strict=True) if role in _SYSTEM)
    user_index = next((index for index in reversed(range(len(roles))) if roles[index] == "user"), None)
    return ChatRequest(
        fields=fields,
        messages=raw,
        turns=[turn for message in messages for turn in _turns(message)],
        system=system,
        latest_user_text="" if user_index is None else words_of_person(texts[user_index]),
        leading_system_count=leading,
        latest_user_index=user_index,
        shape=TaskShape(system, next(iter(texts[-1:]), ""), "assistant" in roles),
    )


_SYSTEM = ("system", "developer")


def normalize(text: str) -> str:
    """A text without what clients change when they send it back: white space and reasoning."""
    return " ".join(_THOUGHT.sub("", text).split())


def assistant_turns(message: Mapping[str, Any], *, cut: bool = False) -> list[ChatTurn]:
    """The turns of an assistant's message."""
    return [replace(turn, cut=cut) for turn in _turns({**message, "role": "assistant"})]


def _turns(message: Mapping[str, Any]) -> Iterator[ChatTurn]:
    """A message's turns: one for its text, and one for all its tool calls."""
    role, content, name = message.get("role"), message.get("content"), message.get("name")
    text, author = _text(content), name if isinstance(name, str) and name else None
    match role:
        case "user":
            if text.strip():
                yield ChatTurn("user", words_of_person(text), author)
            elif content:
                yield ChatTurn("user", PLACEHOLDER_TEXT, author, has_no_text=True)
        case "assistant":
            answer_text = without_reasoning(text) if text.strip() else _text(message.get("refusal"))
            if normalize(answer_text):
                yield ChatTurn("assistant", answer_text, author)
            calls = _calls(message)
            if calls:
                kinds = tuple({"kind": "call", "name": name} for name, _ in calls)
                yield ChatTurn(
                    "tool", "\n".join(f"{name} {arguments}".strip() for name, arguments in calls), tools=kinds
                )
        case "tool" | "function":
            id = message.get("tool_call_id")
            id_field = {"id": id} if isinstance(id, str) else {}
            result = {"kind": "result", "name": author or "", **id_field}
            yield ChatTurn("tool", text if text.strip() else PLACEHOLDER_TEXT, tools=(result,))


def _text(content: object) -> str:
    """The text of a content, or of its text parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tool calls: name and arguments, as the model wrote them."""
    tool_calls = message.get("tool_calls")
    functions = (
        [one.get("function") for one in tool_calls if isinstance(one, dict)] if isinstance(tool_calls, list) else []
    )
    function_calls = [one for one in (*functions, message.get("function_call")) if isinstance(one, dict)]
    return [(str(one.get("name") or "tool"), str(one.get("arguments") or "")) for one in function_calls]


def completion_turns(body: bytes) -> list[ChatTurn]:
    """The turns of a completion's first choice; empty if the body is not a completion."""
    try:
        choices = msgspec.json.decode(body)["choices"]
        message = min(choices, key=lambda choice: choice.get("index") or 0)["message"]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, ValueError, AttributeError):
        return []
    return assistant_turns(message) if isinstance(message, dict) else []


_FAILURES = ("error", "response.failed")
"""Events of the Responses API by which a model says that its answer failed."""


@dataclass(slots=True)
class EventStreamReader:
    """Reads the JSON of server-sent events, wherever their bytes are cut. It holds at most ``max_characters``.

    Attributes:
        is_ended: Whether the answer is complete.
        has_failed: Whether the model has said that it is not, and why.
    """

    max_characters: int
    is_ended: bool = False
    has_failed: bool = False
    size: int = 0
    _line: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; they may end anywhere."""
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._buffer_line(piece)
            self._read_line(bytes(self._line))
            self._line.clear()
        self._buffer_line(rest)

    def finish(self) -> None:
        """Take the end of the stream, behind a last line that has none."""
        self._read_line(bytes(self._line))
        self._line.clear()

    def turns(self) -> list[ChatTurn]:
        """The turns so far."""
        raise NotImplementedError

    def read_event(self, event: Any) -> None:
        """Take an event. A LookupError, TypeError, ValueError or AttributeError means that it is not one to read."""
        raise NotImplementedError

    def reserve(self, text: str) -> bool:
        """Whether a text still fits."""
        self.size += len(text)
        return self.size <= self.max_characters

    def _buffer_line(self, piece: bytes) -> None:
        if len(self._line) + len(piece) <= self.max_characters:
            self._line += piece

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.is_ended = True
            return
        try:
            event = msgspec.json.decode(data)
            self.has_failed = self.has_failed or bool(event.get("error")) or event.get("type") in _FAILURES
            self.read_event(event)
        except (
            msgspec.MsgspecError,
            LookupError,
            StopIteration,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
        ):
            return


@dataclass(slots=True)
class StreamAssembler(EventStreamReader):
    """Assembles the first choice of an answer from a stream. A longer answer than ``max_characters`` is stored up to
    there, and marked as cut."""

    _text: list[str] = field(default_factory=list)
    _calls: dict[int, list[str]] = field(default_factory=dict)

    def turns(self) -> list[ChatTurn]:
        """The turns so far."""
        calls = [
            {"function": {"name": name, "arguments": arguments}} for _, (name, arguments) in sorted(self._calls.items())
        ]
        is_complete = self.is_ended and self.size <= self.max_characters
        return assistant_turns({"content": "".join(self._text), "tool_calls": calls}, cut=not is_complete)

    def read_event(self, event: Any) -> None:
        """Take a piece of a completion."""
        choice = next(candidate for candidate in event["choices"] if not candidate.get("index"))
        delta = choice.get("delta") or {}
        self._add_text(delta.get("content") or delta.get("refusal"))
        for index, call in enumerate(delta.get("tool_calls") or ()):
            self._add_call(int(call.get("index") or index), call.get("function") or {})
        self.is_ended = self.is_ended or bool(choice.get("finish_reason"))

    def _add_text(self, text: object) -> None:
        if isinstance(text, str) and self.reserve(text):
            self._text.append(text)

    def _add_call(self, index: int, function: Mapping[str, Any]) -> None:
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        if self.reserve(name + arguments):
            call = self._calls.setdefault(index, ["", ""])
            call[0] += name
            call[1] += arguments
