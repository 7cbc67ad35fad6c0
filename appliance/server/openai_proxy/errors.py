"""Errors in OpenAI's shape, which its clients print: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from appliance.errors import ApplianceError, EndpointError, NotFound, UsageError
from appliance.server import hints
from appliance.server.http.problems import MEDIA_TYPE, BodyTooLarge
from appliance.server.openai_proxy import upstream

PATHS = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/embeddings", "/v1/responses")
"""The beginnings of the paths that are OpenAI's."""

UNSERVED_PATHS = (
    "/v1/assistants", "/v1/audio/", "/v1/batches", "/v1/files", "/v1/fine_tuning/", "/v1/images/", "/v1/moderations",
    "/v1/threads", "/v1/vector_stores", "/chat/completions", "/completions", "/embeddings", "/models", "/responses",
)  # fmt: skip
"""The beginnings of the other paths that OpenAI's clients ask for, and of its paths without "/v1". The clients show
only what is in OpenAI's shape."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"error": {"type": "object", "properties": {"message": {"type": "string"}}}},
}
"""An error in the OpenAPI document. An endpoint may send others of its own."""

STATUSES: tuple[tuple[type[ApplianceError], int, str], ...] = (
    (upstream.UpstreamNotConfigured, 503, "model_not_configured"),
    (upstream.UpstreamTimeout, 504, "model_timeout"),
    (upstream.UpstreamStreamEnded, 502, "model_stream_ended"),
    (EndpointError, 502, "model_unreachable"),
    (BodyTooLarge, 413, "request_too_large"),
    (UsageError, 400, "invalid_request"),
    (NotFound, 404, "not_found"),
    (ApplianceError, 503, "memory_unavailable"),
)
"""The status and code of an error: the first class that matches."""

_CODES: Mapping[int, str] = {
    400: "invalid_request",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "not_found",
    405: "method_not_allowed",
    413: "request_too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    429: "rate_limit_exceeded",
}
"""The codes of the errors of a request that no handler got."""


def response(error: ApplianceError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to an error of a handler."""
    status, code = next((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
    message = f"{error} {hints.over_http(error.hint)}" if error.hint else str(error)
    return _response(message, status, code, headers)


def _response(message: str, status: int, code: str, headers: Mapping[str, str] | None = None) -> Response:
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "api_error"
    details = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": details}, status, headers)


class OpenAIErrorMiddleware:
    """ASGI: on the paths that are OpenAI's, the problems of requests that no handler answered become its errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PATHS + UNSERVED_PATHS):
            await self._app(scope, receive, send)
            return
        begun: Message | None = None
        problem = bytearray()

        async def send_translated(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and _is_problem(message):
                begun = message
            elif begun is None:
                await send(message)
            else:
                problem.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _translated(begun, bytes(problem))(scope, receive, send)

        await self._app(scope, receive, send_translated)


def _is_problem(start: Message) -> bool:
    return (b"content-type", MEDIA_TYPE.encode()) in [(name.lower(), value) for name, value in start["headers"]]


def _translated(start: Message, body: bytes) -> Response:
    """A problem as an error. The headers that are not about its body stay."""
    problem, status = msgspec.json.decode(body, type=dict[str, object]), int(start["status"])
    message = " ".join(str(problem[name]) for name in ("detail", "hint") if problem.get(name))
    code = _CODES.get(status, HTTPStatus(status).phrase.lower().replace(" ", "_"))
    answer = _response(message, status, code)
    kept = [
        (name, value) for name, value in start["headers"] if name.lower() not in (b"content-type", b"content-length")
    ]
    answer.raw_headers.extend(kept)
    return answer
