"""A chat request as it came, the turns in it, and the answer as it is gathered from a stream.

Pure: bytes in, values out. Fields of a request that are not looked at here are kept as the bytes that they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from appliance.errors import UsageError
from appliance.types import Role

WORDLESS = "(no text)"
"""Stands for a turn without words (a picture), which is kept and hidden: every message of the memory has a text."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
"""What some models think aloud before they answer; many clients take it out of what they send back."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Something of a conversation that is worth storing. ``cut`` says that it is an answer that broke off; ``said`` is
    its text as it is compared."""

    role: Role
    text: str
    author: str | None = None
    tools: tuple[Mapping[str, str], ...] = ()
    wordless: bool = False
    cut: bool = False
    said: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", same(self.text))

    @property
    def metadata(self) -> dict[str, Any]:
        """As a stored message has it."""
        tools = {"tools": [dict(tool) for tool in self.tools]} if self.tools else {}
        hidden = {"hidden": True} if self.wordless else {}
        return {**tools, **hidden, **({"cut": True} if self.cut else {})}


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its fields as they came, its messages as they came, and the turns of a person, an assistant and
    their tools in them. ``system`` is what the system messages say, ``asked`` the latest turn of the user."""

    fields: Mapping[str, msgspec.Raw]
    messages: Sequence[msgspec.Raw]
    turns: Sequence[Turn]
    system: str
    asked: str
    leading: int

    def body(self, knowledge: str) -> bytes:
        """The body to forward: with what is known as a system message behind the client's own ones at the
        beginning, and nothing else changed."""
        added = msgspec.Raw(msgspec.json.encode({"role": "system", "content": knowledge}))
        messages = [*self.messages[: self.leading], added, *self.messages[self.leading :]]
        return msgspec.json.encode({**self.fields, "messages": messages})


def read(body: bytes) -> Request:
    """
    Raises:
        UsageError: it is no chat request.
    """
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        raw = msgspec.json.decode(fields["messages"], type=list[msgspec.Raw])
        messages = [msgspec.json.decode(one, type=dict[str, Any]) for one in raw]
    except KeyError:
        raise UsageError("the request has no messages", hint='give "messages", a list') from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"the request is no chat request in JSON ({type(error).__name__})",
            hint='give {"model": …, "messages": [{"role": …, "content": …}]}',
        ) from None
    roles = [str(message.get("role")) for message in messages]
    leading = next((at for at, role in enumerate(roles) if role not in _SYSTEM), len(roles))
    said = [_text(message.get("content")) for message in messages]
    return Request(
        fields=fields,
        messages=raw,
        turns=[turn for message in messages for turn in _turns(message)],
        system="\n".join(text for text, role in zip(said, roles, strict=True) if role in _SYSTEM),
        asked=next((text for text, role in zip(said[::-1], roles[::-1], strict=True) if role == "user"), ""),
        leading=leading,
    )


_SYSTEM = ("system", "developer")


def same(text: str) -> str:
    """A text without what clients change when they send it back: blanks, and what a model thought aloud."""
    return " ".join(_THOUGHT.sub("", text).split())


def answer(message: Mapping[str, Any], *, cut: bool = False) -> list[Turn]:
    """The turns of an assistant's message."""
    turns = _turns({**message, "role": "assistant"})
    return [Turn(turn.role, turn.text, turn.author, turn.tools, turn.wordless, cut) for turn in turns]


def _turns(message: Mapping[str, Any]) -> Iterator[Turn]:
    """A message's turns: its words, and one of all calls of tools. What has neither is none."""
    role, content, name = message.get("role"), message.get("content"), message.get("name")
    text, author = _text(content), name if isinstance(name, str) and name else None
    match role:
        case "user":
            if text.strip():
                yield Turn("user", text, author)
            elif content:
                yield Turn("user", WORDLESS, author, wordless=True)
        case "assistant":
            said = text if text.strip() else _text(message.get("refusal"))
            if same(said):
                yield Turn("assistant", said, author)
            calls = _calls(message)
            if calls:
                kinds = tuple({"kind": "call", "name": name} for name, _ in calls)
                yield Turn("tool", "\n".join(f"{name} {given}".strip() for name, given in calls), tools=kinds)
        case "tool" | "function":
            id = message.get("tool_call_id")
            marks = {"id": id} if isinstance(id, str) else {}
            result = {"kind": "result", "name": author or "", **marks}
            yield Turn("tool", text if text.strip() else WORDLESS, tools=(result,))


def _text(content: object) -> str:
    """The words of a content: text, or the texts among its parts. Pictures, sounds and files have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The calls of tools: name and arguments, as the model wrote them."""
    listed = message.get("tool_calls")
    functions = (
        [one.get("function") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    given = [one for one in (*functions, message.get("function_call")) if isinstance(one, dict)]
    return [(str(one.get("name") or "tool"), str(one.get("arguments") or "")) for one in given]


def of_completion(body: bytes) -> list[Turn]:
    """The turns of a finished completion, of its first choice; none where it is no completion."""
    try:
        choices = msgspec.json.decode(body)["choices"]
        message = min(choices, key=lambda one: one.get("index") or 0)["message"]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, ValueError, AttributeError):
        return []
    return answer(message) if isinstance(message, dict) else []


@dataclass(slots=True)
class Gathering:
    """Puts an answer together from a stream of server-sent events, of its first choice, while the bytes pass by.

    No more than ``most`` characters are held; an answer that is longer is stored as far as that, and marked as cut.
    """

    most: int
    ended: bool = False
    _line: bytearray = field(default_factory=bytearray)
    _text: list[str] = field(default_factory=list)
    _calls: dict[int, list[str]] = field(default_factory=dict)
    _size: int = 0

    def take(self, chunk: bytes) -> None:
        """The next bytes, wherever they are cut."""
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._hold(piece)
            self._read(bytes(self._line))
            self._line.clear()
        self._hold(rest)

    def turns(self) -> list[Turn]:
        """What was said so far."""
        calls = [
            {"function": {"name": name, "arguments": given}}
            for _, (name, given) in sorted(self._calls.items())
        ]
        whole = self.ended and self._size <= self.most
        return answer({"content": "".join(self._text), "tool_calls": calls}, cut=not whole)

    def _hold(self, piece: bytes) -> None:
        if len(self._line) + len(piece) <= self.most:
            self._line += piece

    def _read(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.ended = True
            return
        try:
            choice = next(one for one in msgspec.json.decode(data)["choices"] if not one.get("index"))
            delta = choice.get("delta") or {}
            self._add(delta.get("content") or delta.get("refusal"))
            for at, call in enumerate(delta.get("tool_calls") or ()):
                self._call(int(call.get("index") or at), call.get("function") or {})
            self.ended = self.ended or bool(choice.get("finish_reason"))
        except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, StopIteration):
            return  # what is no completion's piece passes by as it is
        except (TypeError, ValueError, AttributeError):
            return

    def _add(self, text: object) -> None:
        if isinstance(text, str) and self._fits(text):
            self._text.append(text)

    def _call(self, at: int, function: Mapping[str, Any]) -> None:
        name, given = function.get("name") or "", function.get("arguments") or ""
        if self._fits(name + given):
            call = self._calls.setdefault(at, ["", ""])
            call[0] += name
            call[1] += given

    def _fits(self, text: str) -> bool:
        self._size += len(text)
        return self._size <= self.most
