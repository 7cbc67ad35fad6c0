"""What a message of an assistant is made of, in the makers' different spellings.

Words, reasoning, calls, results and files stand in ``content`` or ``parts``, as text, one block or a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from appliance.ingest.parse import logs
from appliance.ingest.parse.fields import as_dict, as_list, as_text

Sort = Literal["words", "reasoning", "call", "result", "file"]

_REASONING = frozenset({"thinking", "reasoning", "think", "thought"})
_CALLS = frozenset(
    {"tool_use", "toolCall", "tool_call", "tool-call", "function_call", "functionCall", "function"}
)
_RESULTS = frozenset(
    {
        "tool_result",
        "toolResult",
        "tool-result",
        "function_call_output",
        "functionResponse",
        "function_response",
    }
)
_FILES = frozenset(
    {"image", "image_url", "input_image", "file", "document", "audio", "video_url", "audio_url"}
)
_GIVEN = ("input", "arguments", "args", "parameters")
_NAMES = ("filename", "file_name", "name", "displayName", "title", "fileUri")


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a message. ``given`` is what a call passes, ``call`` the id that joins it to its result."""

    sort: Sort
    text: str
    name: str = ""
    call: str | None = None
    given: Any = None


def blocks_of(content: Any) -> Iterator[Block]:
    """The pieces of ``content`` in their order; what is none of them is left out."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield Block("words", item)
        elif isinstance(item, dict):
            block = _block(item)
            if block is not None:
                yield block


def call_of(item: dict[str, Any]) -> Block:
    """A call, where its place alone says that it is one."""
    inner = next((item[key] for key in ("functionCall", "function") if isinstance(item.get(key), dict)), item)
    name = as_text(inner.get("name")) or as_text(item.get("name")) or as_text(inner.get("toolName"))
    given = next((inner[key] for key in _GIVEN if inner.get(key) is not None), None)
    return Block("call", logs.call_text(name, given), name, _call_id(inner) or _call_id(item), given)


def result_of(item: dict[str, Any]) -> Block:
    """A result, where its place alone says that it is one."""
    inner = as_dict(item.get("functionResponse")) or item
    said = next(
        (
            inner[key]
            for key in ("response", "content", "output", "result")
            if inner.get(key) not in (None, "")
        ),
        None,
    )
    text = logs.words_of(said)
    if not text and said not in (None, "", [], {}):
        text = logs.as_json(said)
    name = as_text(inner.get("name")) or as_text(inner.get("toolName")) or as_text(inner.get("tool_name"))
    call = next(
        (i for key in ("tool_use_id", "toolCallId", "tool_call_id") if (i := logs.own_id(inner.get(key)))),
        None,
    )
    return Block("result", text or as_text(inner.get("text")), name, call or _call_id(inner))


def _block(item: dict[str, Any]) -> Block | None:
    kind = as_text(item.get("type"))
    if kind in _REASONING or item.get("thought") is True:
        said = next(
            (t for key in ("thinking", "text", "think", "content") if (t := logs.words_of(item.get(key)))), ""
        )
        return Block("reasoning", said or logs.words_of(as_list(item.get("summary"))))
    if kind in _CALLS or isinstance(item.get("functionCall"), dict):
        return call_of(item)
    if kind in _RESULTS or isinstance(item.get("functionResponse"), dict):
        return result_of(item)
    data = as_dict(item.get("inlineData")) or as_dict(item.get("fileData"))
    if kind in _FILES or data:
        name = next((n for key in _NAMES if (n := as_text(data.get(key)) or as_text(item.get(key)))), "")
        return Block("file", "", name or kind or as_text(data.get("mimeType")) or "file")
    text = as_text(item.get("text"))
    return Block("words", text) if text else None


def _call_id(item: dict[str, Any]) -> str | None:
    return next(
        (i for key in ("id", "toolCallId", "call_id", "callId") if (i := logs.own_id(item.get(key)))), None
    )
