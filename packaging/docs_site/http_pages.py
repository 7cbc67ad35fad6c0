"""The pages of the HTTP service, from its OpenAPI document: each path with what it takes and gives, and an example."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docs_site.markdown import code, fence, prose, table

Schemas = Mapping[str, Any]
"""The types of the document, by name."""

Operations = list[tuple[str, str, dict[str, Any]]]
"""Method, path, and what the document says of it."""

COMMON_PROBLEMS = {
    "400": "The request is malformed",
    "401": "The token is missing or unknown",
    "403": "The token or the origin of the request does not allow this",
    "413": "The body is too large",
    "415": "The body is not JSON",
    "422": "The request is invalid; errors lists the places",
    "429": "Too many requests; Retry-After says when to try again",
    "500": "A bug; the log has its place",
}
"""Problems that most paths have, said once; a path that says more of one says it itself."""

OPENAI_BODIES: Mapping[str, Any] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "what do I cook for Ben?"}]},
    "/v1/responses": {"input": "what do I cook for Ben?"},
    "/v1/completions": {"prompt": "Once upon a time"},
}
"""Bodies for paths whose bodies are OpenAI's: their schema says only what is looked at."""

SCOPE = {
    "user_id": "Whose memory; by default the configured user's. A token for one user allows no other.",
    "namespace": "The namespace within that memory.",
    "since": "Only from this day or time on.",
}
"""What some names mean wherever they occur; a field that says it itself keeps its words."""

FOLDER = "reference/http"
_REFERENCE = "#/components/schemas/"
_JSON = "application/json"

_SAMPLES = {"id": "m1", "label": "persona", "tag": "trip", "kind": "helpful", "person": "p3"}
"""What stands in an example for a part of a path. An id is that of what the path is about."""

_IDS = {"sessions": "s1", "facts": "f1", "summaries": "sum7", "receipts": "e1", "models": "qwen3:8b"}


def pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Every page by its path.

    Args:
        document: The OpenAPI document.
    """
    groups: dict[str, Operations] = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    schemas = document["components"]["schemas"]
    found = {
        f"{FOLDER}/{_slug(group)}.md": _group_page(group, operations, schemas) for group, operations in groups.items()
    }
    found[f"{FOLDER}.md"] = _index(document, groups)
    found[f"{FOLDER}/types.md"] = _types_page(schemas)
    return found


def _index(document: Mapping[str, Any], groups: Mapping[str, Operations]) -> str:
    parts = [
        "# HTTP paths\n",
        prose(document["info"]["description"]) + "\n",
        "Every path, made from the OpenAPI document that `GET /openapi.json` gives. [HTTP](../http.md) is the guide to"
        " it, with tokens, streams and examples in their order. `/mcp` is the [MCP server](mcp-tools.md).\n",
        "## Common problems\n",
        table(("status", "meaning"), ((code(status), words) for status, words in COMMON_PROBLEMS.items())),
    ]
    for group, operations in groups.items():
        parts += [
            f"## {_title(group)}\n",
            table(
                ("path", "what it does"),
                (
                    (f"[{code(f'{method} {path}')}](http/{_slug(group)}.md#{_anchor(method, path)})", _first(operation))
                    for method, path, operation in operations
                ),
            ),
        ]
    return "\n".join(parts)


def _group_page(group: str, operations: Operations, schemas: Schemas) -> str:
    parts = [f"# HTTP: {group}\n"]
    for method, path, operation in operations:
        parts += [f"## {method} {path} {{ #{_anchor(method, path)} }}\n", *_operation(method, path, operation, schemas)]
    return "\n".join(parts)


def _operation(method: str, path: str, operation: Mapping[str, Any], schemas: Schemas) -> Iterator[str]:
    common = COMMON_PROBLEMS.values()
    yield prose(operation.get("description") or operation["summary"] + ".") + "\n"
    parameters = operation.get("parameters", ())
    yield table(
        ("parameter", "in", "type", "meaning"),
        (
            (
                code(one["name"]),
                one["in"],
                _type(one["schema"]),
                _meaning(one["name"], one["schema"] | one, one.get("required", False)),
            )
            for one in parameters
        ),
    )
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"**Body** ({code(kind)}): {_type(content.get('schema', {}))}\n"
        yield _fields(content.get("schema", {}), schemas)
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            types = [
                f"{code(kind)}: {_type(content.get('schema') or {})}"
                for kind, content in response.get("content", {}).items()
            ]
            words = "" if response["description"] == "Successful Response" else f" {response['description']}."
            yield f"**Answer** {code(status)}:{words} {'; '.join(types) or 'empty'}\n"
    problems = [
        f"{code(status)} {response['description']}"
        for status, response in sorted(operation["responses"].items())
        if status >= "4" and response["description"] not in common
    ]
    if problems:
        yield f"**Problems**: {'; '.join(problems)}; and the [common ones](../http.md#common-problems).\n"
    yield fence(example(method, path, operation, schemas), "sh")


def example(method: str, path: str, operation: Mapping[str, Any], schemas: Schemas) -> str:
    """A request with curl, as a shell runs it once ``AUTH`` and ``URL`` are set."""
    bodies = operation.get("requestBody", {}).get("content", {})
    kind = next(iter(bodies), "")
    schema = bodies.get(kind, {}).get("schema", {})
    url = path
    for one in operation.get("parameters", ()):
        if one["in"] == "path":
            sample = _IDS.get(path.partition("/{id}")[0].rpartition("/")[2], "m1")
            url = url.replace(f"{{{one['name']}}}", sample if one["name"] == "id" else _SAMPLES.get(one["name"], "1"))
    needed = [one for one in operation.get("parameters", ()) if one["in"] == "query" and one.get("required")]
    if needed:
        url += "?" + "&".join(f"{one['name']}={_sample(one['schema'] | one, schemas)}" for one in needed)
    parts = ["curl -s", "" if method in ("GET", "POST") else f"-X {method}", '-H "$AUTH"']
    if kind == _JSON:
        parts += [
            '-H "$JSON"',
            f'"$URL{url}"',
            "\\\n  -d " + quoted(OPENAI_BODIES.get(path) or _sample(schema, schemas)),
        ]
    elif kind:
        parts += ["-X POST -T FILE", f'"$URL{url}"']
    else:
        parts += ["-X POST" if method == "POST" else "", f'"$URL{url}"']
    return " ".join(part for part in parts if part)


def quoted(value: Any) -> str:
    """JSON as an argument of a shell."""
    return "'" + json.dumps(value, ensure_ascii=False).replace("'", "'\\''") + "'"


def _resolved(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    name = schema.get("$ref", "").removeprefix(_REFERENCE)
    found: Mapping[str, Any] = schemas[name] if name else schema
    return found


def _sample(schema: Mapping[str, Any], schemas: Schemas) -> Any:
    """A value that a schema allows: its example, else the least that it needs."""
    schema = _resolved(schema, schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object" or "properties" in schema:
        return {name: _sample(schema["properties"][name], schemas) for name in schema.get("required", ())}
    if schema.get("type") == "array":
        return [_sample(schema["items"], schemas)]
    return {"integer": 1, "number": 1.0, "boolean": True}.get(schema.get("type", ""), "…")


def _fields(schema: Mapping[str, Any], schemas: Schemas) -> str:
    """The fields of a body; a reference to a type is followed."""
    schema = _resolved(schema, schemas)
    if "anyOf" in schema:
        return ""
    required = schema.get("required", ())
    rows = [
        (code(name), _type(field), _meaning(name, field, name in required))
        for name, field in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "meaning"), rows)


def _types_page(schemas: Schemas) -> str:
    parts = ["# HTTP: types\n", "What bodies and answers are made of. A field may be null where its type says so.\n"]
    for name, schema in sorted(schemas.items()):
        parts += [f"## {name} {{ #{name.lower()} }}\n"]
        if schema.get("description"):
            parts.append(prose(" ".join(schema["description"].split())) + "\n")
        if "properties" in schema:
            parts.append(_fields(schema, schemas))
        else:
            parts.append(f"{_type(schema)}\n")
    return "\n".join(parts)


def _type(schema: Mapping[str, Any]) -> str:
    """The type in words; a type of the document links to its place."""
    if not schema:
        return "any"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        return f"[{name}](types.md#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "oneOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["oneOf"])))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _meaning(name: str, schema: Mapping[str, Any], required: bool) -> str:
    words = prose(schema.get("description") or SCOPE.get(name, ""))
    if required:
        return f"**required** {words}".strip()
    default = schema.get("default", schema.get("schema", {}).get("default"))
    return words if default in (None, "", [], {}) else f"{words} Default: {code(json.dumps(default))}.".strip()


def _first(operation: Mapping[str, Any]) -> str:
    text = " ".join(prose(operation.get("description") or operation["summary"]).split())
    return text.split(". ")[0].removesuffix(".") + "."


def _title(group: str) -> str:
    return group[:1].upper() + group[1:]


def _slug(group: str) -> str:
    return group.replace(" ", "-")


def _anchor(method: str, path: str) -> str:
    return "-".join([method.lower(), *(part.strip("{}") for part in path.strip("/").split("/"))])
