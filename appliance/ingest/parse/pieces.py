"""What records of assistants' programs are made of: words, reasoning, calls and results.

Programs that speak the interfaces of the model makers store their messages alike: a role, and a
``content`` that is a string or a list of typed parts. Read here into pieces, and the pieces into
messages: the words are one message, all else becomes messages of role ``tool`` around it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import read_time
from appliance.types import MessageRecord, Problem, Role

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}
_TEXTS = frozenset(("text", "input_text", "output_text"))
_REASONING = frozenset(("think", "thinking", "reasoning"))
_CALLS = frozenset(("tool_call", "tool_use", "function_call"))
_RESULTS = frozenset(("tool_result", "function_call_output"))

_TURN_IDS = ("id", "uuid", "message_id", "messageId")
_TURN_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "date")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message; ``name`` is the tool's, of a call or a result."""

    kind: Literal["text", "reasoning", "call", "result"]
    text: str
    name: str = ""


@dataclass(slots=True)
class Content:
    """The pieces of a message in their order, its files, and the types of parts that hold no text."""

    pieces: list[Piece] = field(default_factory=list)
    attachments: list[dict[str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words alone; several texts are apart by a blank line."""
        return "\n\n".join(piece.text for piece in self.pieces if piece.kind == "text")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the conversation a message stands, whatever it says."""

    session: str
    identity: str | None
    sent: datetime | None = None
    reply_to: str | None = None
    branch: bool = False
    where: str = ""
    author: str | None = None


def role_of(word: str) -> Role | None:
    """The role that a program means by its word for a speaker."""
    return _ROLES.get(word.strip().lower())


def content_of(content: Any) -> Content:
    """What a message's ``content`` holds: a string, a list of typed parts, or one such part."""
    read = Content()
    if content is not None:
        for part in content if isinstance(content, list) else [content]:
            _part(part, read)
    return read


def called(name: str, arguments: Any) -> str:
    """A tool call in words: the tool's name, and its arguments a line each."""
    given = arguments
    if isinstance(given, str):
        given = decoded(given)
    lines = [name] if name else []
    if isinstance(given, dict):
        lines += [
            f"{key}: {value if isinstance(value, str) else _json(value)}" for key, value in given.items()
        ]
    elif given not in (None, ""):
        lines.append(given if isinstance(given, str) else _json(given))
    return "\n".join(lines)


def decoded(text: str) -> Any:
    """The value of JSON within a string, and of JSON within that; the string itself where it is none."""
    value: Any = text
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            break
    return value


def said(value: Any) -> str:
    """The text of what a tool gave: a string, a list of parts with text, or any other value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        texts = [as_text(part) or as_text(as_dict(part).get("text")) for part in value]
        if all(texts):
            return "\n".join(texts)
    return _json(value)


def records(
    place: Place, role: Role, content: Content, metadata: dict[str, Any] | None = None
) -> Iterator[MessageRecord | Problem]:
    """The messages of one record: its words, and around them what the tools and the reasoning say.

    What comes before the first words stays before them. Ids of the latter are the message's id, the
    kind and the piece's number."""
    words = with_attachments(content.text, content.attachments)
    side = {"branch": True} if place.branch else {}
    before: list[MessageRecord] = []
    after: list[MessageRecord] = []
    spoken = False
    for number, piece in enumerate(content.pieces, 1):
        if piece.kind == "text":
            spoken = spoken or bool(piece.text.strip())
        elif piece.text.strip():
            identity = f"{place.identity}-{piece.kind}-{number}" if place.identity else None
            tool = {"kind": piece.kind} | ({"name": piece.name} if piece.name else {})
            (after if spoken else before).append(
                MessageRecord(
                    place.session, "tool", piece.text, identity, piece.name or None, place.sent,
                    place.identity, {"tools": [tool]} | side, place.where,
                )
            )  # fmt: skip
    yield from before
    if words.strip():
        own = dict(metadata or {}) | ({"attachments": content.attachments} if content.attachments else {})
        yield MessageRecord(
            place.session, role, words, place.identity, place.author, place.sent, place.reply_to, own | side,
            place.where,
        )  # fmt: skip
    elif not before and not after:
        yield Problem(place.where, "the message is empty; passed over", harmless=True)
    yield from after


def listed(session: str, given: Iterable[Any], where: str) -> Iterator[MessageRecord | Problem]:
    """The messages of a plain list of turns: ``role`` and ``content``, or ``from`` and ``value``.

    Where a turn has no id, its number in the conversation is what it is known by: it stays the same when
    the conversation goes on. Problems among the turns are handed on."""
    names: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    number = 0
    for turn in given:
        if isinstance(turn, Problem):
            yield turn
            continue
        number += 1
        place = f"{where}, message {number}"
        if not isinstance(turn, dict):
            if turn is not None:
                yield Problem(place, f"not an object but a {type(turn).__name__}; passed over")
        elif not is_whole(turn):
            yield Problem(place, "the message is damaged or cut off; passed over")
        else:
            identity = next((i for key in _TURN_IDS if (i := as_id(turn.get(key)))), None)
            if identity is None or identity in used or identity.isdecimal():
                identity = str(number)
            used.add(identity)
            yield from _turn(session, turn, identity, names, place)


def opening(given: Sequence[Any]) -> Iterator[str]:
    """What a conversation without an id is known by: its turns up to the first answer, which stay as they
    are when it goes on."""
    for turn in given:
        speaker, content = _speaker(as_dict(turn)), content_of(_content(as_dict(turn)))
        yield f"{speaker}\x1e{content.text}"
        if role_of(speaker) == "assistant":
            break


def numbered(identity: str, taken: Counter[str]) -> str:
    """A session's id, told apart from those of the file that are the same."""
    taken[identity] += 1
    return identity if taken[identity] == 1 else f"{identity}-{taken[identity]}"


def is_turn(turn: Any) -> bool:
    """Whether this is a turn with a speaker that is known."""
    return isinstance(turn, dict) and role_of(_speaker(turn)) is not None


def _turn(
    session: str, turn: dict[str, Any], identity: str, names: dict[str, tuple[str, str]], where: str
) -> Iterator[MessageRecord | Problem]:
    spoken = _speaker(turn)
    role = role_of(spoken)
    content = content_of(_content(turn))
    if role is None and spoken == "function_call":
        role, content.pieces = "assistant", [Piece("call", content.text)]
    if role is None:
        yield Problem(where, f"unknown role {spoken!r}; kept as system")
        role = "system"
    if thought := as_text(turn.get("reasoning_content")) or as_text(turn.get("reasoning")):
        content.pieces.insert(0, Piece("reasoning", thought))
    if not content.text and (refused := as_text(turn.get("refusal"))):
        content.pieces.append(Piece("text", refused))
    name = as_text(turn.get("name"))
    reply_to: str | None = None
    metadata: dict[str, Any] = {}
    if role == "tool":
        answered = as_id(turn.get("tool_call_id"))
        reply_to, asked = names.get(answered or "", (None, ""))
        name = name or asked
        metadata["tools"] = [{"kind": "result"} | ({"name": name} if name else {})]
    elif role == "system" and role_of(spoken) == "system":
        metadata["hidden"] = True
    for call, piece in calls_of(turn):
        content.pieces.append(piece)
        if call is not None and piece.kind == "call":
            names[call] = (f"{identity}-call-{len(content.pieces)}", piece.name)
    given = next(
        (turn[key] for key in ("timestamp", "created_at", "createdAt", "date") if turn.get(key)), None
    )
    sent = read_time(given)
    if sent is None and given is not None:
        yield unreadable(where, given)
    place = Place(session, identity, sent, reply_to, False, where, name or None)
    yield from records(place, role, content, metadata)


def _speaker(turn: dict[str, Any]) -> str:
    return next((word for key in ("from", "role") if (word := as_text(turn.get(key)))), "")


def _content(turn: dict[str, Any]) -> Any:
    return next((turn[key] for key in ("value", "content", "text") if turn.get(key) is not None), None)


def system_prompt(session: str, text: str, where: str) -> MessageRecord:
    """The instructions that a conversation was given before its first message."""
    return MessageRecord(session, "system", text, "system", metadata={"hidden": True}, where=where)


def made_id(format_name: str, *parts: Any) -> str:
    """A session's id out of what doesn't change when its conversation goes on or gets another title."""
    whole = "\x1f".join(str(part) for part in parts)
    return f"{format_name}-" + hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:24]


def unreadable(where: str, value: Any) -> Problem:
    """The note about a time that can't be read."""
    return Problem(where, f"the time {str(value)[:60]!r} can't be read; left open", harmless=True)


def model_of(*values: Any) -> dict[str, Any]:
    """The first name among the values, as metadata."""
    return next(({"model": name} for value in values if (name := as_text(value))), {})


def attachments_of(entries: Sequence[Any]) -> list[dict[str, str]]:
    """The files of a message by their names, with their text where the export holds it."""
    found: list[dict[str, str]] = []
    for entry in entries:
        given = as_dict(entry)
        inner = as_dict(given.get("file"))
        names = (*map(given.get, ("name", "filename", "title")), *map(inner.get, ("filename", "name")))
        name = next((name for value in names if (name := as_text(value))), "")
        text = as_text(given.get("text")) or as_text(as_dict(inner.get("data")).get("content"))
        kind = as_text(given.get("type"))
        name = name or (kind.partition("/")[0] if kind else "") or ("file" if text else "")
        if name:
            found.append({"name": name, "text": text} if text else {"name": name})
    return found


def _part(part: Any, read: Content) -> None:
    if isinstance(part, str):
        read.pieces.append(Piece("text", part))
        return
    given = as_dict(part)
    kind = as_text(given.get("type"))
    if kind in _REASONING:
        text = _words(given.get(kind)) or _words(given.get("text")) or said(given.get("summary"))
        read.pieces.append(Piece("reasoning", text))
    elif kind in _CALLS:
        call = as_dict(given.get("tool_call")) or given
        _call(call, read)
    elif kind in _RESULTS:
        result = given.get("content", given.get("output"))
        read.pieces.append(Piece("result", said(result), as_text(given.get("name"))))
    elif kind in _TEXTS or not kind or kind in ("refusal", "error"):
        text = _words(given.get("text")) or _words(given.get(kind)) or _words(given.get("content"))
        if text:
            read.pieces.append(Piece("text", text))
        elif kind not in _TEXTS and given:
            read.passed.append(kind or "(none)")
    elif as_text(given.get("text")):
        read.pieces.append(Piece("text", as_text(given.get("text"))))
    else:
        inner = as_dict(given.get(kind)) or as_dict(given.get("file"))
        name = as_text(inner.get("filename")) or as_text(given.get("filename")) or as_text(inner.get("name"))
        if not name and any(word in kind for word in ("image", "audio", "video", "file")):
            name = kind.removeprefix("input_").removesuffix("_url").removesuffix("_file")
        if name:
            read.attachments.append({"name": name})
        else:
            read.passed.append(kind)


def _call(call: dict[str, Any], read: Content) -> None:
    """A call, and its result where that stands in the same object."""
    function = as_dict(call.get("function")) or call
    name = as_text(function.get("name")) or as_text(call.get("name"))
    given = function.get("arguments", function.get("args", function.get("input")))
    read.pieces.append(Piece("call", called(name, given), name))
    if output := said(call.get("output")):
        read.pieces.append(Piece("result", output, name))


def calls_of(message: dict[str, Any]) -> Iterator[tuple[str | None, Piece]]:
    """The calls that stand beside a message's content (``tool_calls``, ``function_call``), with their ids."""
    for call in [*as_list(message.get("tool_calls")), message.get("function_call")]:
        if given := as_dict(call):
            read = Content()
            _call(given, read)
            for piece in read.pieces:
                yield as_id(given.get("id")), piece


def _words(value: Any) -> str:
    """A text, or one within ``value`` or ``content``."""
    if isinstance(value, dict):
        value = value.get("value", value.get("content"))
    return as_text(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
