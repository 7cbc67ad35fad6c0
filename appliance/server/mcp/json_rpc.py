"""Refuses messages that are no JSON-RPC, or whose parameters are not what the protocol says, in plain words.

The SDK leaves the first unanswered on stdio, so that a client waits in vain, answers them over HTTP with what pydantic
says of each class of message, and does not name the parameter of the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

_TYPE_NAMES: Mapping[type, str] = {str: "text", dict: "an object"}


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
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "The message is not JSON.")
    if not isinstance(value, dict):
        return _error(None, INVALID_REQUEST, "The message must be one object of JSON-RPC 2.0.")
    id = value.get("id")
    if isinstance(id, bool) or not isinstance(id, str | int | None):
        return _error(None, INVALID_REQUEST, "id must be text or a whole number.")
    if fault := _envelope_fault(value):
        return _error(id, INVALID_REQUEST, fault)
    if "id" in value and (fault := _parameter_fault(value.get("method"), value.get("params") or {})):
        return _error(id, INVALID_PARAMS, fault)
    return None


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
