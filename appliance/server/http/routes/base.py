"""What all routes share: reading JSON bodies, encoding responses, and their OpenAPI descriptions."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from appliance.server.access.grants import get_grant
from appliance.server.http import caller, idempotency
from appliance.server.http.problems import MalformedRequest, UnsupportedMediaType, invalid_response
from appliance.server.http.request_faults import unknown_parameters

JSON_MEDIA_TYPE = "application/json"

MAX_JSON_DEPTH = 64
"""How deep JSON may be nested. No conversation's metadata comes near it, and encoders that recurse stay within their
stack."""

STRICT_PREFIX = "/v1/"
"""The paths whose routes refuse query parameters that they do not know."""

CREATED = 201


def json_response(value: object, status: int = 200) -> Response:
    """A value as JSON, encoded once and not validated again."""
    return Response(msgspec.json.encode(value), status, media_type=JSON_MEDIA_TYPE)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """A route's ``responses`` for the problems that not every route has."""
    return {status: {"description": _PROBLEM_DESCRIPTIONS[status]} for status in statuses}


_PROBLEM_DESCRIPTIONS: Mapping[int, str] = {
    404: "Not found, or not visible to this token",
    409: "The request is valid but can't be performed in the present state",
    503: "The memory is not available now",
}


class _JsonRequest(Request):
    """A request whose JSON body was decoded strictly."""

    decoded: object = None

    async def json(self) -> Any:
        return self.decoded

    async def read_json(self) -> None:
        """
        Raises:
            UnsupportedMediaType, MalformedRequest: The body is not JSON.
        """
        body = await self.body()
        if not body:
            return
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON_MEDIA_TYPE:
            raise UnsupportedMediaType(
                f"The body must be JSON, not {kind or 'an unnamed media type'}.",
                hint=f"Send 'Content-Type: {JSON_MEDIA_TYPE}'.",
            )
        try:
            self.decoded = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise MalformedRequest(f"The body is not JSON: {_decode_error_text(error)}.") from None
        _check_depth(self.decoded)


class JsonRoute(APIRoute):
    """A route that reads JSON strictly, refuses query parameters that it does not know, and performs a write with an
    Idempotency-Key once. What monitors call (``/metrics``, ``/health``) takes any parameters, which some add."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        reads_json = self.body_field is not None
        writes = any(dependency.call is caller.writer for dependency in self.dependant.dependencies)
        streams = (self.openapi_extra or {}).get("requestBody") is not None
        parameters = _query_parameters(self.dependant) if self.path.startswith(STRICT_PREFIX) else None

        async def handler(request: Request) -> Response:
            if parameters is not None and (faults := unknown_parameters(request.query_params, parameters)):
                return invalid_response(request, faults)
            json_request = _JsonRequest(request.scope, request.receive)
            if reads_json:
                await json_request.read_json()
            key = json_request.headers.get(idempotency.KEY_HEADER)
            if key is None or not writes or streams:
                return await handle(json_request)
            url, body = json_request.url, b"" if not reads_json else await json_request.body()
            fingerprint = idempotency.fingerprint(json_request.method, url.path, url.query.encode(), body)
            answers: idempotency.ResponseCache = json_request.app.state.answers
            return await answers.run_once(
                (get_grant(json_request.scope), key), fingerprint, lambda: handle(json_request)
            )

        return handler


def make_router(tag: str, prefix: str = "") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=JsonRoute)


def _query_parameters(dependant: Dependant) -> frozenset[str]:
    """The query parameters of a route and of all that it depends on."""
    own = frozenset(parameter.alias for parameter in dependant.query_params)
    return own.union(*map(_query_parameters, dependant.dependencies))


def _check_depth(value: object) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return
    raise MalformedRequest(f"The JSON is nested more than {MAX_JSON_DEPTH} levels deep.")


def _children(value: Any) -> list[Any]:
    """The lists and objects directly in another one."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [inner for inner in values if isinstance(inner, dict | list)]


def _decode_error_text(error: Exception) -> str:
    """Why decoding failed, without quoting the body."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, RecursionError):
        return f"it is nested more than {MAX_JSON_DEPTH} levels deep"
    if isinstance(error, msgspec.ValidationError):
        return "a number is out of range"
    return str(error).removeprefix("JSON is malformed: ")
