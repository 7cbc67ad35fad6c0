"""Hints name what the caller has: a tool for an assistant, a path over HTTP; commands are for the person."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from appliance.cli.app import VERBS
from appliance.requests.typed_filters import FILTER_NAMES
from appliance.server import hints
from appliance.server.mcp import schemas
from appliance.server.mcp.tools import TOOLS

DOCUMENT = Path(__file__).parents[1] / "golden" / "files" / "openapi.json"


@pytest.mark.parametrize(
    ("hint", "over_mcp", "over_http"),
    [
        ("'appliance people list' shows who there is.", "memory_people shows who there is.",
         "GET /v1/people shows who there is."),
        ("Say so with 'appliance people me PERSON'.", "Say so with memory_people (action me).",
         "Say so with PUT /v1/people/me."),
        ("'appliance sessions' lists the sessions.", "memory_sessions lists the sessions.",
         "GET /v1/sessions lists the sessions."),
        ("'appliance show s3' lists its messages.", "memory_timeline lists its messages.",
         "GET /v1/sessions/{id}/messages lists its messages."),
        ("Run 'appliance reindex --vectors'.", "For the person: Run 'appliance reindex --vectors'.",
         "Run 'appliance reindex --vectors'."),
        ("'appliance core set x --writable'.", "For the person: 'appliance core set x --writable'.",
         "'appliance core set x --writable'."),
        ("The person can: 'appliance sessions scope all'.", "The person can: 'appliance sessions scope all'.",
         "The person can: 'appliance sessions scope all'."),
        ("Shorten it.", "Shorten it.", "Shorten it."),
    ],
)  # fmt: skip
def test_a_command_becomes_what_the_caller_has(hint: str, over_mcp: str, over_http: str) -> None:
    assert (hints.over_mcp(hint), hints.over_http(hint)) == (over_mcp, over_http)


def test_a_filter_in_a_query_over_mcp_is_named_with_its_argument() -> None:
    assert hints.filter_notes("note: call file:main.go user:ana https://a.org") == [
        "'file:main.go' was searched for as words; the argument files filters."
    ]
    assert set(hints.MCP_FILTERS) == {*FILTER_NAMES} - {"user"}
    assert set(hints.MCP_FILTERS.values()) <= {field.name for field in msgspec.structs.fields(schemas.SearchArguments)}


def test_what_is_named_is_there() -> None:
    assert {tool.partition(" ")[0] for tool in hints.MCP_TOOLS.values()} <= TOOLS.keys()
    paths = json.loads(DOCUMENT.read_text(encoding="utf-8"))["paths"]
    for route in hints.HTTP_PATHS.values():
        method, path = route.split()
        assert method.lower() in paths[path], route
    assert {command.split()[0] for command in (*hints.MCP_TOOLS, *hints.HTTP_PATHS)} <= set().union(*VERBS.values())
