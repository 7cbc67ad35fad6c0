"""The chat proxy in the OpenAPI document. Requests and answers are OpenAI's own; this describes the additions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_JSON: Mapping[str, Any] = {"application/json": {"schema": {"type": "object"}}}
_EVENTS: Mapping[str, Any] = {"text/event-stream": {"schema": {}}}


def _response(description: str, content: Mapping[str, Any] = _JSON) -> dict[str, Any]:
    return {"description": description, "content": dict(content)}


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


MODELS_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: _response("The models, as the endpoint lists them"),
    502: _response("The model's endpoint can't be reached"),
    503: _response("No model's endpoint is configured"),
    504: _response("The model's endpoint does not answer in time"),
    "default": _response("What the model's endpoint says"),
}

CHAT_RESPONSES: dict[int | str, dict[str, Any]] = {
    **MODELS_RESPONSES,
    200: _response("The completion, or its pieces as server-sent events", {**_JSON, **_EVENTS}),
    400: _response("The request is invalid"),
    404: _response("There is no such session"),
    413: _response("The request is too large"),
}

_MEMORY_HEADERS = [
    _header(
        "X-Memory",
        "Whether memory is read and written for this request",
        type="string",
        enum=["on", "off", "read", "write"],
    ),
    _header("X-Memory-Session", "The session's id, or a name of your own", type="string", maxLength=200),
    _header("X-Memory-Budget", "Tokens of memory to add", type="integer", minimum=0, maximum=999_999_999),
    _header("X-Memory-User", "The user, with a token for any user: up to 200 printable characters", type="string"),
    _header("X-Memory-Task", 'The task of a front end ("title"); "none" for what a person says', type="string"),
]


def openapi_extra(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """What the document says of a request with memory, whose body has these properties."""
    return {"parameters": _MEMORY_HEADERS, **plain_extra(properties, *required)}


def plain_extra(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """The same for a request without memory."""
    schema = {"type": "object", "properties": dict(properties), **({"required": [*required]} if required else {})}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


MODEL_RESPONSES: dict[int | str, dict[str, Any]] = {
    **MODELS_RESPONSES,
    200: _response("The model"),
    404: _response("There is no such model"),
}

EMBEDDINGS_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: _response("The vectors, in the order of the texts"),
    400: _response("The request is invalid, or a text is longer than the model can read"),
    404: _response("There is no such model"),
    413: _response("The request is too large"),
    503: _response("The model can't be run"),
}
