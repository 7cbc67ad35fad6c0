"""MCP over streamable HTTP on loopback: the SDK's own client, and what the grant in a request decides."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from appliance import Appliance
from appliance.server.access.grants import OWNER, Grant, Service
from appliance.server.mcp.streamable_http import build_application
from appliance.settings import ServerSettings
from tests.engines import engine_of
from tests.server.mcp_runs import READER, TOOLS, Caller, speak
from tests.waits import until

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

GRANTS = {
    "owner": OWNER,
    "ana": Grant("ana's", user_id="ana", namespace=""),
    "ana again": Grant("ana's other", user_id="ana", namespace=""),
    "ben": Grant("ben's", user_id="ben", namespace=""),
    "reader": Grant("reader", user_id="ana", namespace="", read_only=True),
}

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@contextmanager
def serving(memory: Appliance, *, mount: bool = False) -> Iterator[str]:
    """An application with MCP in it, behind a stand-in for the guard that takes a grant's name for a token."""
    mcp = build_application(Service(memory, engine_of(memory), memory.home, ServerSettings()))

    class Guard:
        def __init__(self, app: Any) -> None:
            self.app = app

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
                if token in GRANTS:
                    scope.setdefault("state", {})["grant"] = GRANTS[token]
            await self.app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan():
            yield

    route = Mount("/mcp", app=mcp.app) if mount else Route("/mcp", endpoint=mcp.app)
    app = Guard(Starlette(routes=[route], lifespan=lifespan))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive(), "the server's beginning")
        (socket,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()


@asynccontextmanager
async def client(url: str, token: str, mode: str = "legacy") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, follow_redirects=True) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as connected,
    ):
        yield connected


@pytest.fixture
def shared(memory: Appliance) -> Appliance:
    for user in ("ana", "ben"):
        memory.sessions.create(user_id=user, title=f"{user}'s").add("user", f"the heron of {user} 🪶 ärgert sich")
    memory.embed_pending()
    return memory


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("mount", [False, True])
def test_the_sdk_s_client_lists_and_calls_every_tool(memory: Appliance, mode: str, mount: bool) -> None:
    async def work(caller: Caller) -> None:
        assert {tool.name for tool in (await caller.client.list_tools()).tools} == TOOLS
        stored = await caller.call("memory_add", text="Der Käse 🧀 ist alle")
        again = await caller.call("memory_add", text="Ja", role="assistant")
        assert again["session"] == stored["session"]
        assert (await caller.call("memory_search", query="Käse"))["hits"][0]["id"] == stored["id"]
        assert (await caller.call("memory_get", ids=[stored["id"]]))["messages"][0]["text"] == "Der Käse 🧀 ist alle"
        assert (await caller.call("memory_timeline", session=stored["session"]))["stretches"]
        assert (await caller.call("memory_context", query="Käse"))["text"]
        assert (await caller.call("memory_sessions"))["sessions"]
        assert (await caller.call("memory_facts", action="add", text="I live in Łódź"))["facts"]
        code = (await caller.call("memory_forget", ids=[stored["id"]]))["confirm"]
        assert (await caller.call("memory_forget", ids=[stored["id"]], confirm=code))["done"]
        assert (await caller.call("memory_status"))["counts"]["messages"] == 1
        assert (await caller.client.list_prompts()).prompts and (await caller.client.list_resources()).resources
        assert (await caller.client.read_resource("memory://sessions")).contents
        assert (await caller.client.get_prompt("recall", {"about": "cheese"})).messages

    with serving(memory, mount=mount) as url:
        speak(lambda: client(url, "owner", mode), work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_grant_of_the_request_decides(shared: Appliance, mode: str) -> None:
    async def ana(caller: Caller) -> None:
        hits = (await caller.call("memory_search", query="heron"))["hits"]
        assert [hit["id"] for hit in hits] == ["m1"]
        assert "no message m2" in await caller.refused("memory_get", ids=["m2"])

    async def reader(caller: Caller) -> None:
        assert {tool.name for tool in (await caller.client.list_tools()).tools} == READER
        assert "read-only" in await caller.refused("memory_add", text="x")

    with serving(shared) as url:
        speak(lambda: client(url, "ana", mode), ana)
        speak(lambda: client(url, "reader", mode), reader)


def test_clients_of_the_same_grant_have_conversations_of_their_own(memory: Appliance) -> None:
    async def work(caller: Caller) -> str:
        return str((await caller.call("memory_add", text="x"))["session"])

    with serving(memory) as url:
        assert len({speak(lambda: client(url, "owner"), work) for _ in range(2)}) == 2


def test_without_a_grant_nothing_is_answered(shared: Appliance) -> None:
    with serving(shared) as url, httpx.Client(headers=HEADERS) as http:
        for headers in ({}, {"authorization": "Bearer nobody"}):
            for message in (INITIALIZE, LIST):
                said = http.post(url, json=message, headers=headers)
                assert said.status_code == 401 and said.json()["error"]["message"] == "The request has no grant."
            assert http.get(url, headers=headers).status_code == 401
            assert http.delete(url, headers=headers).status_code == 401
        modern = {**LIST, "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
        assert http.post(url, json=modern, headers={"mcp-protocol-version": "2026-07-28"}).status_code == 401


@pytest.mark.parametrize("other", ["ben", "ana again", "reader", "owner"])
def test_a_session_belongs_to_the_grant_that_began_it(shared: Appliance, other: str) -> None:
    with serving(shared) as url, httpx.Client(headers=HEADERS) as http:

        def post(message: dict[str, Any], token: str, session: str = "") -> httpx.Response:
            named = {"mcp-session-id": session} if session else {}
            return http.post(url, json=message, headers={"authorization": f"Bearer {token}", **named})

        began = post(INITIALIZE, "ana")
        session = began.headers["mcp-session-id"]
        assert began.json()["result"]["serverInfo"]["name"] == "appliance"
        nobody = post(LIST, other, "0" * 32)
        stolen = post(LIST, other, session)
        assert stolen.status_code == nobody.status_code == 404 and stolen.json() == nobody.json()
        named = {"authorization": f"Bearer {other}", "mcp-session-id": session}
        assert http.delete(url, headers=named).status_code == 404
        assert http.get(url, headers=named).status_code == 404
        assert len(post(LIST, "ana", session).json()["result"]["tools"]) == len(TOOLS)


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"[]", 400), (b"\xff\xfe", 400), (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400)],
)
def test_what_is_no_message_is_answered(memory: Appliance, content: bytes, status: int) -> None:
    with serving(memory) as url, httpx.Client(headers={**HEADERS, "authorization": "Bearer owner"}) as http:
        said = http.post(url, content=content)
        assert said.status_code == status and "Traceback" not in said.text and "pydantic" not in said.text
        assert http.post(url, json=INITIALIZE).status_code == 200


def test_half_a_character_is_refused_by_its_place(memory: Appliance) -> None:
    half = {"name": "memory_search", "arguments": {"query": "half: \ud83d"}}
    with serving(memory) as url, httpx.Client(headers={**HEADERS, "authorization": "Bearer owner"}) as http:
        call = json.dumps({"jsonrpc": "2.0", "id": 81, "method": "tools/call", "params": half})
        said = http.post(url, content=call.encode()).json()
        assert said["id"] == 81 and said["error"]["code"] == -32602
        assert said["error"]["message"].startswith("params.arguments.query has half a character")


def test_a_body_without_end_is_refused(memory: Appliance) -> None:
    with serving(memory) as url, httpx.Client(headers={**HEADERS, "authorization": "Bearer owner"}) as http:
        size = ServerSettings().body
        said = http.post(url, content=(b" " * 65_536 for _ in range(size // 65_536 + 2)))
        assert said.status_code == 413
