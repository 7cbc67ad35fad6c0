"""What the OpenAPI document says of the chat proxy. Requests and answers are OpenAI's own; here stands what is ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_JSON: Mapping[str, Any] = {"application/json": {"schema": {"type": "object"}}}
_EVENTS: Mapping[str, Any] = {"text/event-stream": {"schema": {}}}


def _answer(words: str, content: Mapping[str, Any] = _JSON) -> dict[str, Any]:
    return {"description": words, "content": dict(content)}


def _header(name: str, words: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": words, "schema": schema}


MODELS: dict[int | str, dict[str, Any]] = {
    200: _answer("The models, as the endpoint lists them"),
    502: _answer("The model's endpoint can't be reached"),
    503: _answer("No model's endpoint is configured"),
    504: _answer("The model's endpoint does not answer in time"),
    "default": _answer("What the model's endpoint says"),
}

ANSWERS: dict[int | str, dict[str, Any]] = {
    **MODELS,
    200: _answer("The completion, or its pieces as server-sent events", {**_JSON, **_EVENTS}),
    400: _answer("The request can't be understood"),
    404: _answer("There is no such session"),
    413: _answer("The request is too large"),
}

REQUEST: dict[str, Any] = {
    "parameters": [
        _header(
            "X-Memory",
            "Whether memory is read and written for this request",
            type="string",
            enum=["on", "off", "read", "write"],
        ),
        _header("X-Memory-Session", "The session's id, or a name of your own", type="string", maxLength=200),
        _header("X-Memory-Budget", "Tokens of memory to add", type="integer", minimum=0, maximum=999_999_999),
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["messages"],
                    "properties": {
                        "messages": {"type": "array", "items": {"type": "object"}},
                    },
                }
            }
        },
    },
}
