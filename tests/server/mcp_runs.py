"""What the MCP tests share: the SDK's own client on a server in this process, over pipes and over loopback."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from appliance import Appliance
from appliance.server.access.grants import OWNER, Grant
from appliance.server.mcp import pagination, protocol
from tests.tested_program import STRICT_PROGRAM

ROOT = Path(__file__).parents[2]

READER = {
    "memory_search",
    "memory_context",
    "memory_get",
    "memory_timeline",
    "memory_sessions",
    "memory_facts",
    "memory_overview",
    "memory_people",
    "memory_core",
    "memory_status",
}
WRITER = {"memory_add", "memory_update", "memory_feedback", "memory_forget"}
TOOLS = READER | WRITER

T = TypeVar("T")


class Caller:
    """A connected client whose calls are checked: an answer is within its bound, and as its schema says."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def raw(self, tool: str, **arguments: Any) -> CallToolResult:
        found = await self.client.call_tool(tool, arguments)
        assert isinstance(found, CallToolResult)
        if tool != "memory_context" and not found.is_error:
            assert len(text(found)) <= pagination.ANSWER_CHARACTERS
            assert pagination.json_length(found.structured_content) <= pagination.ANSWER_CHARACTERS
        return found

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that has one."""
        found = await self.raw(tool, **arguments)
        assert not found.is_error, text(found)
        given: dict[str, Any] = found.structured_content
        return given

    async def said(self, tool: str, **arguments: Any) -> str:
        """The text of a call that is answered."""
        found = await self.raw(tool, **arguments)
        assert not found.is_error, text(found)
        return text(found)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The words of a call that is refused."""
        found = await self.raw(tool, **arguments)
        assert found.is_error and found.structured_content is None
        return text(found)


def text(found: CallToolResult) -> str:
    (content,) = found.content
    assert content.type == "text"
    return content.text


def talk(
    memory: Appliance, work: Callable[[Caller], Awaitable[T]], grant: Grant = OWNER, conversation: str = "here"
) -> T:
    """Let ``work`` speak to a server on ``memory`` in this process."""

    server = protocol.build_server(lambda: nullcontext(memory), lambda _: grant, lambda _: conversation)
    return speak(lambda: Client(server, mode="legacy"), work)


def speak(connect: Callable[[], AbstractAsyncContextManager[Client]], work: Callable[[Caller], Awaitable[T]]) -> T:
    """Let ``work`` speak to a server; what it raises comes as it was raised."""
    outcome: list[T | BaseException] = []

    async def run() -> None:
        async with connect() as client:
            try:
                outcome.append(await work(Caller(client)))
            except Exception as error:
                outcome.append(error)

    anyio.run(run)
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found


def parameters(*arguments: str, **variables: str) -> StdioServerParameters:
    """What starts ``appliance mcp`` as a client does, with nothing of this process's settings but the home."""
    return StdioServerParameters(
        command=STRICT_PROGRAM[0],
        args=[*STRICT_PROGRAM[1:], "mcp", *arguments],
        env={
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'models'}",
            "APPLIANCE_HOME": os.environ["APPLIANCE_HOME"],
            **variables,
        },
    )


def over_pipes(work: Callable[[Caller], Awaitable[T]], *arguments: str, mode: str = "legacy", **variables: str) -> T:
    """Let ``work`` speak to a real process."""
    return speak(lambda: Client(stdio_client(parameters(*arguments, **variables)), mode=mode), work)
