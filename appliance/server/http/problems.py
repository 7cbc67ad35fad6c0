"""Errors as application/problem+json (RFC 9457), with the same messages as the command line.

``STATUSES`` maps the error tree to status codes. A bug is answered with 500 and no details: its class and place are
logged, its message is not, because it may quote stored text.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from appliance.errors import (
    ApplianceError,
    ConfigError,
    EndpointError,
    InputError,
    ModelUnavailable,
    NotFound,
    StoreError,
    UsageError,
)
from appliance.server import hints
from appliance.server.access.grants import OWNER, Grant
from appliance.server.http import request_faults
from appliance.server.http.request_faults import RequestFault
from appliance.types import IngestReport

MEDIA_TYPE = "application/problem+json"
REQUEST_ID_KEY = "appliance.request_id"
"""The key of the ASGI scope under which the middleware stores the id of the request."""

PACKAGE_FOLDER = str(Path(__file__).parents[1])
"""Tells this package's own lines in a traceback."""

log = logging.getLogger("appliance.server")


class MalformedRequest(UsageError):
    """The request is not valid HTTP or JSON."""

    wire_name = "Malformed"


class Unauthorized(UsageError):
    """The token is missing or unknown."""


class Forbidden(UsageError):
    """The token does not allow this."""


class MethodNotAllowed(UsageError):
    """The path exists, but not with this method."""


class Conflict(UsageError):
    """The request is valid but can't be performed in the present state."""


class BodyTooLarge(UsageError):
    """The body is larger than the limit."""

    wire_name = "TooLarge"


class UnsupportedMediaType(UsageError):
    """The body has the wrong media type."""

    wire_name = "NotJson"


class TooManyRequests(UsageError):
    """The token makes too many requests; the next is accepted after ``retry_after_seconds``."""

    wire_name = "TooMany"
    retry_after_seconds = 1


STATUSES: Mapping[type[ApplianceError], HTTPStatus] = {
    MalformedRequest: HTTPStatus.BAD_REQUEST,
    Unauthorized: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    Conflict: HTTPStatus.CONFLICT,
    BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    ConfigError: HTTPStatus.INTERNAL_SERVER_ERROR,
    UsageError: HTTPStatus.UNPROCESSABLE_ENTITY,
    InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    EndpointError: HTTPStatus.BAD_GATEWAY,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    ApplianceError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""The first class of an error's ancestry that is listed here decides."""

_ERRORS_BY_STATUS: Mapping[int, type[ApplianceError]] = {
    status: kind for kind, status in STATUSES.items() if kind is not ConfigError and status != 422
}


@dataclass(frozen=True, slots=True)
class HttpProblem:
    """An error. ``detail``, ``where`` and ``hint`` are those of the command line, ``error`` is the class of the error,
    ``request_id`` the id of the request, and ``errors`` the invalid places of the request."""

    type: str
    title: str
    status: int
    detail: str
    error: str
    request_id: str
    where: str | None = None
    hint: str | None = None
    errors: tuple[RequestFault, ...] = ()


def http_status(error: ApplianceError) -> HTTPStatus:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def to_problem(error: ApplianceError, request_id: str, grant: Grant = OWNER) -> HttpProblem:
    """An error as a problem. Only the owner is told paths on this machine."""
    code = http_status(error)
    kind = UsageError.__name__ if isinstance(error, Conflict) else getattr(error, "wire_name", type(error).__name__)
    return HttpProblem(
        type=f"urn:appliance:error:{kind}",
        title=code.phrase,
        status=code,
        detail=str(error.args[0]),
        error=kind,
        request_id=request_id,
        where=error.where if grant.is_owner else None,
        hint=hints.over_http(error.hint) if error.hint else None,
    )


def unreadable_response(request: Request, report: IngestReport, document: Mapping[str, object]) -> Response:
    """The answer to an export of which nothing could be read: a problem that has the report's fields, too."""
    reason = next(problem.message for file in report.files for problem in file.errors)
    error = InputError(f"Nothing could be read of the export: {reason}.", hint="Nothing was stored.")
    found = msgspec.to_builtins(to_problem(error, *_request_id_and_grant(request)))
    return Response(msgspec.json.encode({**document, **found}), found["status"], media_type=MEDIA_TYPE)


def problem_response(http_problem: HttpProblem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(http_problem), http_problem.status, headers=headers, media_type=MEDIA_TYPE)


def error_response(error: ApplianceError, request_id: str, grant: Grant = OWNER) -> Response:
    headers: dict[str, str] = {}
    if isinstance(error, Unauthorized):
        headers |= {"WWW-Authenticate": "Bearer", "Connection": "close"}  # strangers keep no connection
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, BodyTooLarge):
        headers["Connection"] = "close"  # the rest of the body is not read
    return problem_response(to_problem(error, request_id, grant), headers)


def bug_response(error: BaseException, request_id: str) -> Response:
    """The answer to a slip of ours: nothing of it but the id that its line in the log has."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE_FOLDER)]
    location = ", from ".join(f"{entry.filename}:{entry.lineno} in {entry.name}" for entry in (*frames[-1:], *own[-1:]))
    log.error("bug: %s at %s (request %s)", type(error).__name__, location, request_id)
    code = HTTPStatus.INTERNAL_SERVER_ERROR
    return problem_response(
        HttpProblem(
            type="urn:appliance:error:bug",
            title=code.phrase,
            status=code,
            detail="This is a bug.",
            error="Bug",
            request_id=request_id,
            hint="Please report it, with the line of the log that has this request's id.",
        )
    )


@contextmanager
def usage_error_as_conflict() -> Iterator[None]:
    """A usage error within is about what is stored, not about the request, which was a good one."""
    try:
        yield
    except ConfigError:
        raise
    except UsageError as error:
        if type(error) is not UsageError:
            raise
        raise Conflict(str(error.args[0]), where=error.where, hint=error.hint) from error


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Let an app answer everything that goes wrong with problems; ``routes`` are all that it has."""
    app.state.routes = routes
    app.add_exception_handler(ApplianceError, _on_error)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)


def _request_id_and_grant(request: Request) -> tuple[str, Grant]:
    return request.scope.get(REQUEST_ID_KEY, ""), request.scope.get("state", {}).get("grant", OWNER)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApplianceError)
    return error_response(error, *_request_id_and_grant(request))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _ERRORS_BY_STATUS.get(error.status_code, UsageError)
    hint = None
    if kind is NotFound:
        message = f"There is no {request.url.path}."
        if _matching_routes(request, f"/v1{request.url.path}"):
            hint = f"Its path is /v1{request.url.path}."
    elif kind is MethodNotAllowed:
        message = f"{request.url.path} does not allow {request.method}."
    else:
        message = str(error.detail)
    headers = dict(error.headers or {})
    if kind is MethodNotAllowed:
        headers["Allow"] = ", ".join(_allowed_methods(request))
    return problem_response(to_problem(kind(message, hint=hint), *_request_id_and_grant(request)), headers)


def _allowed_methods(request: Request) -> list[str]:
    """The methods of a path: each route knows only its own."""
    path = request.url.path
    matching = _matching_routes(request, path)
    matching = [route for route in matching if route.path == path] or matching
    return sorted(set().union(*(route.methods or () for route in matching)))


def _matching_routes(request: Request, path: str) -> list[Route]:
    routes: Sequence[BaseRoute] = request.app.state.routes
    return [route for route in routes if isinstance(route, Route) and route.path_regex.match(path)]


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    field = getattr(request.scope.get("route"), "body_field", None)
    faults = request_faults.describe(error.errors(), None if field is None else field.field_info.annotation)
    return invalid_response(request, faults)


def invalid_response(request: Request, faults: Sequence[RequestFault]) -> Response:
    """The answer to a request with at least one fault: the first as a sentence, and all in ``errors``."""
    usage_error = UsageError(faults[0].sentence, hint="/openapi.json describes every request.")
    return problem_response(replace(to_problem(usage_error, *_request_id_and_grant(request)), errors=tuple(faults)))
