"""The page of the MCP server: every tool, prompt and resource, as a client lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from docs_site.markdown import code, prose, table


def pages() -> dict[str, str]:
    """The page by its path."""
    from appliance.server.access.grants import OWNER
    from appliance.server.mcp import prompts, resources, tools

    parts = [
        "# MCP tools\n",
        "Every tool, made from what the server tells its clients. [MCP](../mcp.md) says how they are used together, and"
        " how a client is told of the server. A read-only access has those that change nothing.\n",
        table(
            ("tool", "title", "changes"),
            ((f"[{code(tool.name)}](#{tool.name})", tool.title, _changes(tool)) for tool in tools.TOOLS.values()),
        ),
    ]
    for tool in tools.TOOLS.values():
        shape = tool.to_mcp_tool()
        parts += [
            f"## {tool.name} {{ #{tool.name} }}\n",
            prose(tool.description) + "\n",
            table(("argument", "type", "meaning"), _fields(shape.input_schema)) or "It takes no arguments.\n",
            "**Result**\n",
            table(("field", "type", "meaning"), _fields(shape.output_schema or {})),
        ]
        parts += _definitions(tool.name, shape.output_schema or {})
    parts += [
        "## Prompts\n",
        table(
            ("prompt", "what it does"),
            ((code(one.name), prose(one.description or "")) for one in prompts.allowed(OWNER)),
        ),
    ]
    listed = [(code(str(one.uri)), prose(one.description or "")) for one in resources.RESOURCES]
    listed += [(code(one.uri_template), prose(one.description or "")) for one in resources.TEMPLATES]
    parts += ["## Resources\n", table(("resource", "what it is"), listed)]
    return {"reference/mcp-tools.md": "\n".join(parts)}


def _changes(tool: Any) -> str:
    return "erases" if tool.is_destructive else "yes" if tool.writes else ""


def _definitions(tool: str, schema: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, one in schema.get("$defs", {}).items():
        if "properties" in one:
            words = " ".join(prose(one.get("description", "")).split())
            parts += [
                f"{code(name)}: {words}\n" if words else f"{code(name)}\n",
                table(("field", "type", "meaning"), _fields(one)),
            ]
    return parts


def _fields(schema: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    required = schema.get("required", ())
    return [
        (code(name), _type(one), _meaning(one, name in required)) for name, one in schema.get("properties", {}).items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return ", ".join(code(str(value)) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _meaning(schema: Mapping[str, Any], required: bool) -> str:
    words = prose(schema.get("description", ""))
    if required:
        return f"**required** {words}".strip()
    default = schema.get("default")
    return words if default in (None, "", [], {}) else f"{words} Default: {code(json.dumps(default))}.".strip()
