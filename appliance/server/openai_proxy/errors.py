"""Errors in OpenAI's shape, which its clients print: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse, Response

from appliance.errors import ApplianceError, EndpointError, NotFound, UsageError
from appliance.server.openai_proxy import upstream

PATHS = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/embeddings", "/v1/responses")
"""The beginnings of the paths that are OpenAI's."""


class ChatTooLarge(UsageError):
    """The request is larger than the limit."""


STATUSES: tuple[tuple[type[ApplianceError], int, str], ...] = (
    (upstream.UpstreamNotConfigured, 503, "model_not_configured"),
    (upstream.UpstreamTimeout, 504, "model_timeout"),
    (EndpointError, 502, "model_unreachable"),
    (ChatTooLarge, 413, "request_too_large"),
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


def is_openai_path(path: str) -> bool:
    return path.startswith(PATHS)


def response(error: ApplianceError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to an error of a handler."""
    status, code = next((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
    return _response(f"{error} {error.hint}" if error.hint else str(error), status, code, headers)


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that was refused before a handler got it, or that a bug ended."""
    return _response(message, status, _CODES.get(status, HTTPStatus(status).phrase.lower().replace(" ", "_")), headers)


def _response(message: str, status: int, code: str, headers: Mapping[str, str] | None) -> Response:
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "api_error"
    details = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": details}, status, headers)
