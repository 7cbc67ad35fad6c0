"""Refuses messages that are no JSON-RPC, or whose parameters are not what the protocol says, in plain words.

The SDK leaves the first unanswered on stdio, so that a client waits in vain, answers them over HTTP with what pydantic
says of each class of message, and does not name the parameter of the others. So a message is read here as the SDK reads
it, and what it would not take is answered, by the request's id wherever one can be made out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

MAX_ID_CHARACTERS = 200
"""Characters of an id that is read from a message that is not JSON. The ids of clients have far fewer."""

_TYPE_NAMES: Mapping[type, str] = {str: "text", dict: "an object"}

DEEP = 190
"""Objects and lists in one another at which depth is named as the fault. The SDK reads about 200."""

_TOO_DEEP = "The message has too many objects and lists in one another."
_HALF_CHARACTER = "has half a character (a lone surrogate), which can't be stored or searched. Send whole characters."
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_ID = re.compile(r'"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)', re.DOTALL)


class _Parameter(NamedTuple):
    name: str
    type: type
    required: bool = False


_CALL = (_Parameter("name", str, required=True), _Parameter("arguments", dict))
_PAGE = (_Parameter("cursor", str),)
_PARAMETERS: Mapping[str, Sequence[_Parameter]] = {
    "initialize": (
        _Parameter("protocolVersion", str, required=True),
        _Parameter("capabilities", dict, required=True),
        _Parameter("clientInfo", dict, required=True),
    ),
    "tools/call": _CALL,
    "prompts/get": _CALL,
    "resources/read": (_Parameter("uri", str, required=True),),
    "tools/list": _PAGE,
    "prompts/list": _PAGE,
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
}


def refusal(message: bytes | str) -> JSONRPCError | None:
    """Return the answer to a message that can't be understood; None for any other."""
    try:
        value = json.loads(message)
    except RecursionError:
        return _error(_outer_id(message), PARSE_ERROR, _TOO_DEEP)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return _error(None, PARSE_ERROR, "The message is not JSON.")
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        return _error(_outer_id(message), PARSE_ERROR, "The message has a number with too many digits.")
    if not isinstance(value, dict):
        return _error(None, INVALID_REQUEST, "The message must be one object of JSON-RPC 2.0.")
    id = value.get("id")
    if isinstance(id, bool) or not isinstance(id, str | int | None):
        return _error(None, INVALID_REQUEST, "id must be text or a whole number.")
    if isinstance(id, str) and _LONE_SURROGATE.search(id):
        return _error(None, INVALID_REQUEST, f"id {_HALF_CHARACTER}")
    if fault := _envelope_fault(value):
        return _error(id, INVALID_REQUEST, fault)
    if "id" in value and (fault := _parameter_fault(value.get("method"), value.get("params") or {})):
        return _error(id, INVALID_PARAMS, fault)
    return _unreadable(message, id, value)


def _unreadable(message: bytes | str, id: str | int | None, value: Mapping[str, Any]) -> JSONRPCError | None:
    """The answer to a message that the SDK can't read, which is stricter than Python; None for any other."""
    try:
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValueError:
        if (place := next(_half_characters(value), None)) is not None:
            return _error(id, INVALID_PARAMS, f"{place} {_HALF_CHARACTER}")
        return _error(id, INVALID_REQUEST, _TOO_DEEP if _is_deep(value) else "The message is no JSON-RPC 2.0.")
    return None


def _half_characters(value: object) -> Iterator[str]:
    """The places of lone surrogates, which JSON can express and UTF-8, and so the memory, can't."""
    inner: list[tuple[str, object]] = [("", value)]
    while inner:
        place, value = inner.pop()
        if isinstance(value, str) and _LONE_SURROGATE.search(value):
            yield place
        elif isinstance(value, list):
            inner += [(f"{place}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            if any(_LONE_SURROGATE.search(name) for name in value):
                yield f"A name in {place or 'the message'}"
            inner += [(f"{place}.{name}".lstrip("."), item) for name, item in value.items()]


def _is_deep(value: object) -> bool:
    layer = [value]
    for _ in range(DEEP):
        layer = [
            item
            for outer in layer
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(layer)


def _outer_id(message: bytes | str) -> str | int | None:
    """The id of a request that can't be read as a whole."""
    text = message if isinstance(message, str) else message.decode(errors="replace")
    depth, before = 0, ("", "")
    for found in _TOKEN.finditer(text):
        token = found.group()
        if depth == 1 and before == ('"id"', ":"):
            return _read_id(token)
        depth += (token in "{[") - (token in "}]")
        before = (before[1], token)
    return None


def _read_id(token: str) -> str | int | None:
    is_id = len(token) <= MAX_ID_CHARACTERS and _ID.fullmatch(token)
    id: str | int | None = json.loads(token) if is_id else None
    return None if isinstance(id, str) and _LONE_SURROGATE.search(id) else id


def _envelope_fault(value: Mapping[str, Any]) -> str | None:
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0".'
    if "result" in value or "error" in value:
        return None
    if "method" not in value:
        return "method is missing."
    if not isinstance(value["method"], str):
        return "method must be text."
    if "id" in value and value["id"] is None:
        return "id must be text or a whole number."
    return None if isinstance(value.get("params"), dict | None) else "params must be an object."


def _parameter_fault(method: object, params: Mapping[str, Any]) -> str | None:
    """What is wrong with the parameters of a request, without what only its own schema says."""
    for name, kind, is_required in _PARAMETERS.get(str(method), ()):
        given = params.get(name)
        if given is None and is_required:
            return f"params.{name} is missing."
        if given is not None and not isinstance(given, kind):
            return f"params.{name} must be {_TYPE_NAMES[kind]}."
    if method == "prompts/get":
        for name, value in (params.get("arguments") or {}).items():
            if not isinstance(value, str):
                return f"params.arguments.{name} must be text."
    return None


def _error(id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))
