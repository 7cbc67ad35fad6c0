"""The OpenAPI document: FastAPI's, with the problems and the security of every route."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from appliance.retrieval.weights import profiles
from appliance.server.access import middleware
from appliance.server.access.grants import Service
from appliance.server.http import problems
from appliance.server.http.routes.base import STRICT_PREFIX
from appliance.server.openai_proxy import errors

DESCRIPTION = """A personal memory of conversations, stored and searched entirely on this machine.

Every request except `/health/live` and `/health/ready` needs a token (`Authorization: Bearer TOKEN`). `appliance path`
names the file with the owner's token; `appliance tokens new` issues others, each for one user and one namespace. The
Unix socket needs no token. Errors are problems (`application/problem+json`): 422 if the request is invalid, 409 if it
is valid but can't be performed in the present state. Query parameters and fields of bodies that a route does not know
are refused with 422; OpenAI's routes, `/health` and `/metrics` take others too."""

_PROBLEM = {"$ref": "#/components/schemas/Problem"}

_COMMON_PROBLEMS = {
    "400": "The request is malformed",
    "401": "The token is missing or unknown",
    "403": "The token or the origin of the request does not allow this",
    "413": "The body is too large",
    "429": "Too many requests; Retry-After says when to try again",
    "500": "A bug; the log has its place",
}
_INPUT_PROBLEMS = {"422": "The request is invalid; errors lists the places"}
_JSON_PROBLEMS = {"415": "The body is not JSON"}


def install(app: FastAPI, service: Service) -> None:
    """Install the document, built at the first request for it."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build_document(app, service)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _build_document(app: FastAPI, service: Service) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    problem_schema = TypeAdapter(problems.HttpProblem).json_schema(
        ref_template="#/components/schemas/{model}", mode="serialization"
    )
    schemas.update(problem_schema.pop("$defs", {}))
    schemas["Problem"] = problem_schema
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, operation in _operations(document):
        if path in middleware.PUBLIC_PATHS:
            operation["security"] = []
        _describe_problems(path, operation)
    _list_profiles(schemas, service)
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
    refuses_unknown = path.startswith(STRICT_PREFIX) and not path.startswith(errors.PATHS)
    has_input = bool(body or operation.get("parameters") or refuses_unknown)
    descriptions = {
        **_COMMON_PROBLEMS,
        **(_INPUT_PROBLEMS if has_input else {}),
        **(_JSON_PROBLEMS if "application/json" in body else {}),
    }
    for status, description in descriptions.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if status < "400":  # "default" is not
            continue
        if path.startswith(errors.PATHS):
            response["content"] = {"application/json": {"schema": errors.SCHEMA}}
        else:
            response["content"] = {**response.get("content", {}), problems.MEDIA_TYPE: {"schema": _PROBLEM}}
    if path in middleware.PUBLIC_PATHS:
        del responses["401"], responses["429"]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter, which can be absent but not null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _list_profiles(schemas: dict[str, Any], service: Service) -> None:
    """List the scoring profiles, those of the settings included."""
    own = {name: (profile.like, profile.weights) for name, profile in service.memory.settings.profiles.items()}
    for schema_name in ("SearchBody", "ContextBody"):
        if (schema := schemas.get(schema_name)) is not None:
            schema["properties"]["profile"] = {
                **schema["properties"]["profile"],
                "anyOf": [{"type": "string", "enum": [*profiles(own)]}, {"type": "null"}],
            }
