"""Messages that are no JSON-RPC, or whose parameters are wrong, are refused in plain words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from appliance.server.mcp.json_rpc import refusal


def request(**fields: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", **fields})


@pytest.mark.parametrize(
    ("message", "id", "words"),
    [
        ("garbage", None, "The message is not JSON."),
        (b"\xff\xfe", None, "The message is not JSON."),
        ("[" * 100_000, None, "The message has too many objects and lists in one another."),
        ("[]", None, "The message must be one object of JSON-RPC 2.0."),
        ('{"id": 4}', 4, 'jsonrpc must be "2.0".'),
        (request(id=True), None, "id must be text or a whole number."),
        (request(id=None), None, "id must be text or a whole number."),
        ('{"jsonrpc": "2.0", "id": "x"}', "x", "method is missing."),
        (request(method=5), 3, "method must be text."),
        (request(params=[1]), 3, "params must be an object."),
        (request(params={}), 3, "params.name is missing."),
        (request(params={"name": "memory_search", "arguments": "x"}), 3, "params.arguments must be an object."),
        (request(method="resources/read", params={"uri": 5}), 3, "params.uri must be text."),
        (
            request(method="prompts/get", params={"name": "a", "arguments": {"b": 5}}),
            3,
            "params.arguments.b must be text.",
        ),
    ],
)
def test_what_is_wrong_is_named(message: str | bytes, id: object, words: str) -> None:
    found = refusal(message)
    assert found is not None and (found.id, found.error.message) == (id, words)


def test_what_the_protocol_takes_is_not_refused() -> None:
    for message in (
        request(params={"name": "memory_search", "arguments": {"query": 5}}),
        request(method="tools/list"),
        request(method="tools/list", params=None),
        request(method="unheard/of", params={"name": 5}),
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
    ):
        assert refusal(message) is None
