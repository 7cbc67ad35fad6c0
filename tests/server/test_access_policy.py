"""What a token's bearer sees of a session follows its storage scope, and is the same over HTTP and over MCP."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from appliance import Appliance
from appliance.server.access.grants import Grant
from tests.http_calls import application, calling, given, owner
from tests.server.mcp_runs import Caller, talk

pytestmark = pytest.mark.usefixtures("every_field_index")

ANA = Grant("ana's", user_id="ana", namespace="")

SCOPES = ["all", "conversational", "summaries_only", "none"]

Face = Callable[[str, str], str]
"""Asks a memory in one protocol: a verb and the id it is about. Returns the answer as text, "" for a refusal."""


def ask_http(memory: Appliance, verb: str, id: str) -> str:
    requests: dict[str, tuple[str, str, dict[str, Any]]] = {
        "search": ("POST", "/v1/search", {"json": {"query": "heron nests", "limit": 50, "mode": "lexical"}}),
        "search records": ("POST", "/v1/search", {"json": {"query": "heron lookup", "roles": ["tool"]}}),
        "search in": ("POST", "/v1/search", {"json": {"query": "heron nests", "session_id": id}}),
        "search records in": (
            "POST", "/v1/search", {"json": {"query": "heron lookup", "session_id": id, "roles": ["tool"]}},
        ),
        "context": ("POST", "/v1/context", {"json": {"query": "heron nests"}}),
        "context in": ("POST", "/v1/context", {"json": {"query": "heron nests", "session_id": id}}),
        "message": ("GET", f"/v1/messages/{id}", {}),
        "read": ("GET", f"/v1/sessions/{id}/messages", {}),
        "list": ("GET", "/v1/sessions", {}),
        "session": ("GET", f"/v1/sessions/{id}", {}),
        "summary": ("GET", "/v1/summaries", {"params": {"session_id": id}}),
    }  # fmt: skip
    method, path, options = requests[verb]
    with calling(application(memory), given(memory, secrets.token_hex(8), user_id="ana")) as client:
        answer = client.request(method, path, **options)
    assert answer.status_code in (200, 404), answer.text
    return answer.text if answer.status_code == 200 else ""


def ask_mcp(memory: Appliance, verb: str, id: str) -> str:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "search": ("memory_search", {"query": "heron nests", "limit": 50}),
        "search records": ("memory_search", {"query": "heron lookup", "role": "tool"}),
        "search in": ("memory_search", {"query": "heron nests", "session": id}),
        "search records in": ("memory_search", {"query": "heron lookup", "session": id, "role": "tool"}),
        "context": ("memory_context", {"query": "heron nests"}),
        "context in": ("memory_context", {"query": "heron nests", "session": id}),
        "message": ("memory_get", {"ids": [id]}),
        "read": ("memory_timeline", {"session": id, "records": True}),
        "list": ("memory_sessions", {}),
        "session": ("memory_sessions", {"session": id}),
        "summary": ("memory_sessions", {"session": id}),
    }
    tool, arguments = calls[verb]

    async def work(caller: Caller) -> str:
        answer = await caller.raw(tool, **arguments)
        return "" if answer.is_error else str(answer.structured_content)

    return talk(memory, work, ANA)


@pytest.fixture(params=["http", "mcp"])
def ask(memory: Appliance, request: pytest.FixtureRequest) -> Face:
    face = ask_http if request.param == "http" else ask_mcp

    def ask(verb: str, id: str) -> str:
        return face(memory, verb, id)

    return ask


@pytest.fixture
def diary(memory: Appliance, scope: Any) -> str:
    """Ana's session with this storage scope: a message, a tool's output, and enough for a summary."""
    session = memory.sessions.create(title="Diary", user_id="ana", storage_scope=scope)
    session.add("user", "the heron nests")
    session.add("tool", "lookup: heron")
    for number in range(24):
        session.add("user" if number % 2 == 0 else "assistant", f"We decided to count {number} eggs at the harbour.")
    memory.embed_pending()
    memory.summaries.make(session.id)
    return session.id


@pytest.mark.parametrize("scope", SCOPES)
def test_a_session_shows_what_it_shares(ask: Face, diary: str, scope: str) -> None:
    shares_talk, shares_records = scope in ("all", "conversational"), scope == "all"
    seen = {
        "a message in a search": "the heron nests" in ask("search", ""),
        "a message in a search of the session": "the heron nests" in ask("search in", diary),
        "a message in a context": "the heron nests" in ask("context", ""),
        "a message in a context of the session": "the heron nests" in ask("context in", diary),
        "a message by its id": "the heron nests" in ask("message", "m1"),
        "a message in the session": "the heron nests" in ask("read", diary),
        "a record in a search": "lookup: heron" in ask("search records", ""),
        "a record in a search of the session": "lookup: heron" in ask("search records in", diary),
        "a record by its id": "lookup: heron" in ask("message", "m2"),
        "a record in the session": "lookup: heron" in ask("read", diary),
        "the session in the list": "Diary" in ask("list", ""),
        "the session by its id": "Diary" in ask("session", diary),
        "its summary": "eggs" in ask("summary", diary),
    }
    expected = {
        what: shares_records if "record" in what else shares_talk if "message" in what else scope != "none"
        for what in seen
    }
    assert seen == expected


@pytest.mark.parametrize("scope", SCOPES)
def test_the_owner_sees_every_session_over_http(memory: Appliance, diary: str, scope: str) -> None:
    with calling(application(memory), owner(memory)) as client:
        assert client.get("/v1/messages/m2").status_code == 200
        assert len(client.get(f"/v1/sessions/{diary}/messages").json()["messages"]) == 26
        assert client.get("/v1/sessions", params={"user_id": "ana"}).json()["sessions"]
        answer = client.post("/v1/search", json={"query": "heron nests", "session_id": diary, "user_id": "ana"})
        assert "the heron nests" in answer.text


@pytest.mark.parametrize("scope", ["none", "summaries_only"])
def test_other_routes_show_nothing_of_a_withheld_session_either(memory: Appliance, diary: str, scope: str) -> None:
    fact = memory.facts.add("I live in Heronville", user_id="ana")[0]
    with calling(application(memory), given(memory, "ana", user_id="ana")) as client:
        for path in (f"/v1/sessions/{diary}/window", "/v1/messages/m1/variants", "/v1/messages/m1/importance"):
            assert client.get(path).status_code == 404, path
        assert client.post("/v1/search", json={"query": "heron", "asked_in": diary}).status_code == 404
        assert client.post("/v1/search", json={"query": "heron", "why_not": "m1"}).status_code == 404
        assert client.post("/v1/forget", json={"ids": ["m1"], "dry_run": True}).status_code == 404
        summaries = client.get("/v1/summaries", params={"limit": 1}).json()["summaries"]
        assert len(summaries) == (scope != "none")
        made = memory.summaries.list(user_id="ana", session_id=diary)[0]
        assert client.get(f"/v1/summaries/{made.id}").status_code == (404 if scope == "none" else 200)
        assert client.get(f"/v1/facts/{fact.id}").status_code == 200


@pytest.mark.parametrize("scope", SCOPES[1:])
def test_a_token_can_not_widen_what_a_session_shares(memory: Appliance, diary: str, scope: Any) -> None:
    external_id = memory.sessions.info(diary).external_id
    with calling(application(memory), given(memory, "ana", user_id="ana")) as client:
        answer = client.patch(f"/v1/sessions/{diary}", json={"storage_scope": "all"})
        assert answer.status_code == (404 if scope == "none" else 403)
        answer = client.post("/v1/sessions", json={"external_id": external_id, "storage_scope": "all"})
        assert answer.status_code == (409 if scope == "none" else 403)
        assert memory.sessions.info(diary).storage_scope == scope
        if scope != "none":
            assert client.patch(f"/v1/sessions/{diary}", json={"storage_scope": "none"}).status_code == 200
    with calling(application(memory), owner(memory)) as client:
        assert client.patch(f"/v1/sessions/{diary}", json={"storage_scope": "all"}).status_code == 200


def test_a_private_session_serves_the_token_that_began_it(memory: Appliance) -> None:
    with calling(application(memory), given(memory, "ana", user_id="ana")) as client:
        id = client.post("/v1/sessions", json={"private": True}).json()["id"]
        assert client.post(f"/v1/sessions/{id}/messages", json={"text": "between us"}).status_code == 201
        assert "between us" in client.get(f"/v1/sessions/{id}/messages").text
        assert "between us" in client.get(f"/v1/sessions/{id}/window").text
    with calling(application(memory), given(memory, "ben", user_id="ben")) as client:
        assert client.get(f"/v1/sessions/{id}").status_code == 404
