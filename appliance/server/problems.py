"""Every error as one kind of answer: application/problem+json (RFC 9457), in the words of the command line.

``STATUSES`` is the one table from the error tree to status codes. A bug is 500 and says nothing of what went wrong:
its class and place are logged, and its words, which may hold somebody's, are not.
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
from appliance.server.service import OWNER, Grant

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "appliance.request_id"
"""Under which names the guard leaves in the ASGI scope who asks, and the id of the request."""

HERE = str(Path(__file__).parents[1])
"""Where our own lines are, among those of a traceback."""

TOLD = 20
"""How many places of a body that can't be are told one by one."""

log = logging.getLogger("appliance.server")


class Malformed(UsageError):
    """The request is no HTTP, or no JSON, that can be read."""


class Unauthorized(UsageError):
    """There is no token, or it is nobody's."""


class Forbidden(UsageError):
    """The token is somebody's who may not do this."""


class MethodNotAllowed(UsageError):
    """The path is there, and answers to other methods."""


class Conflict(UsageError):
    """The request is a good one, and can't be carried out as things stand."""


class TooLarge(UsageError):
    """The body is larger than what is taken."""


class NotJson(UsageError):
    """The body is of another media type."""


class TooMany(UsageError):
    """More requests than this token may make. ``after`` is in how many seconds the next is taken."""

    after = 1


STATUSES: Mapping[type[ApplianceError], HTTPStatus] = {
    Malformed: HTTPStatus.BAD_REQUEST,
    Unauthorized: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    Conflict: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NotJson: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    TooMany: HTTPStatus.TOO_MANY_REQUESTS,
    ConfigError: HTTPStatus.INTERNAL_SERVER_ERROR,
    UsageError: HTTPStatus.UNPROCESSABLE_ENTITY,
    InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    EndpointError: HTTPStatus.BAD_GATEWAY,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    ApplianceError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""The first class of an error's ancestry that stands here decides."""

_OF_HTTP: Mapping[int, type[ApplianceError]] = {
    status: kind for kind, status in STATUSES.items() if kind is not ConfigError and status != 422
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request something can't be ("body.limit"), and why."""

    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as HTTP answers it. ``detail``, ``where`` and ``hint`` are what the command line would say, ``error``
    is the class of the error, ``request_id`` is that of the request, and ``errors`` are the places of a body that
    can't be."""

    type: str
    title: str
    status: int
    detail: str
    error: str
    request_id: str
    where: str | None = None
    hint: str | None = None
    errors: tuple[Place, ...] = ()


def status(error: ApplianceError) -> HTTPStatus:
    """What an error is answered with."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem(error: ApplianceError, request_id: str, grant: Grant = OWNER) -> Problem:
    """An error as an answer. Places on this machine are for its owner alone."""
    code = status(error)
    kind = UsageError.__name__ if isinstance(error, Conflict) else type(error).__name__
    return Problem(
        type=f"urn:appliance:error:{kind}",
        title=code.phrase,
        status=code,
        detail=str(error.args[0]),
        error=kind,
        request_id=request_id,
        where=error.where if grant.is_owner else None,
        hint=error.hint,
    )


def answer(found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response."""
    return Response(msgspec.json.encode(found), found.status, headers=headers, media_type=MEDIA_TYPE)


def refusal(error: ApplianceError, request_id: str, grant: Grant = OWNER) -> Response:
    """The answer to a request that is refused or went wrong."""
    headers: dict[str, str] = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.after)
    if isinstance(error, TooLarge):
        headers["Connection"] = "close"  # what is left of the body is not waited for
    return answer(problem(error, request_id, grant), headers)


def bug(error: BaseException, request_id: str) -> Response:
    """The answer to a slip of ours: nothing of it but the id that its line in the log has."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(HERE)]
    place = ", from ".join(f"{one.filename}:{one.lineno} in {one.name}" for one in (*frames[-1:], *own[-1:]))
    log.error("bug: %s at %s (request %s)", type(error).__name__, place, request_id)
    code = HTTPStatus.INTERNAL_SERVER_ERROR
    return answer(
        Problem(
            type="urn:appliance:error:bug",
            title=code.phrase,
            status=code,
            detail="this is a bug",
            error="Bug",
            request_id=request_id,
            hint="please report it to the project's issue tracker, with the line of the log that has this request's id",
        )
    )


@contextmanager
def as_things_stand() -> Iterator[None]:
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


def _asked(request: Request) -> tuple[str, Grant]:
    return request.scope.get(REQUEST_ID, ""), request.scope.get("state", {}).get("grant", OWNER)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApplianceError)
    return refusal(error, *_asked(request))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _OF_HTTP.get(error.status_code, UsageError)
    if kind is NotFound:
        words = f"nothing answers at {request.url.path}"
    elif kind is MethodNotAllowed:
        words = f"{request.url.path} does not answer to {request.method}"
    else:
        words = str(error.detail)
    headers = dict(error.headers or {})
    if kind is MethodNotAllowed:
        headers["Allow"] = ", ".join(_methods(request))
    return answer(problem(kind(words), *_asked(request)), headers)


def _methods(request: Request) -> list[str]:
    """What a path answers to: a route knows of its own method alone."""
    routes: Sequence[BaseRoute] = request.app.state.routes
    path = request.url.path
    known = [route for route in routes if isinstance(route, Route) and route.path_regex.match(path)]
    known = [route for route in known if route.path == path] or known
    return sorted(set().union(*(route.methods or () for route in known)))


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = tuple(Place(".".join(map(str, one["loc"])), str(one["msg"])) for one in error.errors()[:TOLD])
    first = places[0]
    told = UsageError(f"{first.where}: {first.message}", hint="/openapi.json says what each request has")
    return answer(replace(problem(told, *_asked(request)), errors=places))
