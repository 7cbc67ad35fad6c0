"""What all routes share: how a body is read, how a value is answered, and what is said of both in the document."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from appliance.server import idempotency, reach
from appliance.server.problems import Malformed, NotJson
from appliance.server.service import grant_of

JSON = "application/json"

DEEPEST = 64
"""How deep lists and objects may lie in one another: no conversation's metadata does so, and what is read here is
written, by others too, with a stack that ends somewhere."""

CREATED = 201


def answer(value: object, status: int = 200) -> Response:
    """A value of ours as JSON: encoded once, from what the memory gave, and not validated again."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def may(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route answers with beyond those that every route has; for its ``responses``."""
    return {status: {"description": _SAID[status]} for status in statuses}


_SAID: Mapping[int, str] = {
    404: "There is no such thing, or it is out of reach",
    409: "A good request that can't be carried out as things stand",
    503: "The memory does not answer now",
}


class _Asked(Request):
    """A request whose body has been read, and whose JSON was decoded strictly."""

    decoded: object = None

    async def json(self) -> Any:
        return self.decoded

    async def read_json(self) -> None:
        """
        Raises:
            NotJson, Malformed: the body is none.
        """
        body = await self.body()
        if not body:
            return
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise NotJson(
                f"the body is {kind or 'of no named media type'}, not JSON",
                hint=f"send 'Content-Type: {JSON}'",
            )
        try:
            self.decoded = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise Malformed(f"the body is no JSON: {_why(error)}") from None
        _check_depth(self.decoded)


class Route(APIRoute):
    """A route that reads JSON strictly, and does a write once that comes with an Idempotency-Key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        reads_json = self.body_field is not None
        writes = any(needed.call is reach.writer for needed in self.dependant.dependencies)
        streams = (self.openapi_extra or {}).get("requestBody") is not None

        async def handler(request: Request) -> Response:
            asked = _Asked(request.scope, request.receive)
            if reads_json:
                await asked.read_json()
            key = asked.headers.get(idempotency.HEADER)
            if key is None or not writes or streams:
                return await handle(asked)
            url, body = asked.url, b"" if not reads_json else await asked.body()
            print_ = idempotency.fingerprint(asked.method, url.path, url.query.encode(), body)
            answers: idempotency.Answers = asked.app.state.answers
            return await answers.once((grant_of(asked.scope), key), print_, lambda: handle(asked))

        return handler


def group(tag: str, prefix: str = "") -> APIRouter:
    """A router for a group of routes."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Route)


def _check_depth(value: object) -> None:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _within(outer)]
        if not level:
            return
    raise Malformed(f"the JSON lies more than {DEEPEST} levels deep")


def _within(value: Any) -> list[Any]:
    """The lists and objects directly in another one."""
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    if isinstance(value, list):
        return [inner for inner in value if isinstance(inner, dict | list)]
    return []


def _why(error: Exception) -> str:
    """Why it could not be read, without any of it."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, RecursionError):
        return f"it lies more than {DEEPEST} levels deep"
    if isinstance(error, msgspec.ValidationError):
        return "a number is out of range"
    return str(error)
