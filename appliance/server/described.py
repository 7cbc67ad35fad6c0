"""The OpenAPI document: what FastAPI knows of the routes, and what every route has besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from appliance.recall.weights import profiles
from appliance.server import guard, problems
from appliance.server.service import Service

ABOUT = """A memory of your own: what was said is stored and found again, on this machine alone.

Every request but `/health/live` and `/health/ready` carries a token (`Authorization: Bearer TOKEN`). The owner's is in
the file that `appliance path` names; `appliance tokens new` gives out others, for one user and one namespace. Over the
Unix socket none is needed. Whatever goes wrong is answered with a problem (`application/problem+json`): 422 where the
request does not say what it must, 409 where it does and can't be carried out as things stand."""

_PROBLEM = {"$ref": "#/components/schemas/Problem"}

_EVERYWHERE = {
    "400": "The request can't be read",
    "401": "There is no token, or it is nobody's",
    "403": "The token, or where the request comes from, may not do this",
    "413": "The body is too large",
    "429": "Too many requests; Retry-After says when the next is taken",
    "500": "A bug, which says nothing of itself",
}
_WITH_INPUT = {"422": "Something in the request can't be; errors says where"}
_WITH_JSON = {"415": "The body is not JSON"}


def describe(app: FastAPI, service: Service) -> None:
    """Give an app its document, made when it is first asked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, service)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI, service: Service) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    told = TypeAdapter(problems.Problem).json_schema(
        ref_template="#/components/schemas/{model}", mode="serialization"
    )
    schemas.update(told.pop("$defs", {}))
    schemas["Problem"] = told
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, operation in _operations(document):
        if path in guard.OPEN:
            operation["security"] = []
        _describe_problems(path, operation)
    _name_profiles(schemas, service)
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for operation in item.values():
            yield path, operation


def _describe_problems(path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {})
    takes = bool(body or operation.get("parameters"))
    wanted = {
        **_EVERYWHERE,
        **(_WITH_INPUT if takes else {}),
        **(_WITH_JSON if "application/json" in body else {}),
    }
    for status, description in wanted.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if status >= "400":
            # The chat proxy answers as OpenAI does, the guard before it with problems.
            response["content"] = {**response.get("content", {}), problems.MEDIA_TYPE: {"schema": _PROBLEM}}
    if path in guard.OPEN:
        del responses["401"], responses["429"]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter, which is there or not, and never null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _name_profiles(schemas: dict[str, Any], service: Service) -> None:
    """The profiles that there are, the person's own among them."""
    own = {name: (one.like, one.weights) for name, one in service.memory.settings.profiles.items()}
    for asked in ("SearchAsked", "ContextAsked"):
        if (schema := schemas.get(asked)) is not None:
            schema["properties"]["profile"] = {
                **schema["properties"]["profile"],
                "anyOf": [{"type": "string", "enum": [*profiles(own)]}, {"type": "null"}],
            }
