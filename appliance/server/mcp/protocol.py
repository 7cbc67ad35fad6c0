"""The protocol's side: what a client may list and call, by its grant; answers and errors in the protocol's shapes."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from appliance import __version__
from appliance.errors import ApplianceError, NotFound, UsageError
from appliance.server.mcp import prompts, resources, shapes, tools, words
from appliance.server.mcp.reach import Reach

if TYPE_CHECKING:
    from appliance.engine import Engine
    from appliance.server.service import Grant

logger = logging.getLogger(__name__)

Asking = ServerRequestContext[Any, Any]
Lease = Callable[[], AbstractContextManager["Engine"]]
"""Lends the memory for one call. May block, and raise what opening a memory raises."""

T = TypeVar("T")


def server(
    lease: Lease,
    grant: Callable[[Asking], Grant],
    conversation: Callable[[Asking], str],
    listed: Callable[[], None] = lambda: None,
) -> Server[Any]:
    """An MCP server on a memory. ``grant`` says what the caller of a request may do, ``conversation`` names the
    client's present one; ``listed`` is called when a client has asked what there is, that is after the handshake."""

    def reached(asking: Asking, work: Callable[[Reach], T]) -> Callable[[], T]:
        may, name = grant(asking), conversation(asking)

        def call() -> T:
            with lease() as memory:
                return work(Reach(memory, may, name))

        return call

    async def list_tools(asking: Asking, _: PaginatedRequestParams | None) -> ListToolsResult:
        answer = ListToolsResult(tools=[one.told_as() for one in tools.allowed(grant(asking)).values()])
        listed()
        return answer

    async def call_tool(asking: Asking, params: CallToolRequestParams) -> CallToolResult:
        known = tools.allowed(grant(asking))
        try:
            if params.name in tools.TOOLS and params.name not in known:
                raise UsageError(f"{params.name} writes, and this access is for reading only")
            if params.name not in known:
                raise MCPError(
                    code=INVALID_PARAMS, message=f"no tool {params.name!r}; there are {', '.join(known)}"
                )
            tool = known[params.name]
            asked = shapes.asked(tool.asked, params.arguments or {})
            given = await anyio.to_thread.run_sync(reached(asking, lambda reach: tool.call(reach, asked)))
        except ApplianceError as error:
            return _refused(said(error))
        except MCPError:
            raise
        except Exception as error:
            return _refused(bug(params.name, error))
        return CallToolResult(
            content=[TextContent(text=words.SAID[type(given)](given))],
            structured_content=msgspec.to_builtins(given),
        )

    async def list_resources(asking: Asking, _: PaginatedRequestParams | None) -> ListResourcesResult:
        grant(asking)
        return ListResourcesResult(resources=resources.RESOURCES)

    async def list_templates(asking: Asking, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        grant(asking)
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(asking: Asking, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await plainly(
            "a resource",
            reached(asking, lambda reach: resources.read(reach, str(params.uri))),
            {"uri": str(params.uri)},
        )

    async def list_prompts(asking: Asking, _: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=prompts.allowed(grant(asking)))

    async def get_prompt(asking: Asking, params: GetPromptRequestParams) -> GetPromptResult:
        return await plainly(
            "a prompt",
            reached(asking, lambda reach: prompts.filled(reach, params.name, params.arguments or {})),
        )

    return Server(
        "appliance",
        version=__version__,
        title="Memory",
        instructions=tools.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


async def plainly(what: str, work: Callable[[], T], data: Mapping[str, str] | None = None) -> T:
    """What ``work`` gives, where the protocol has no other form for a refusal than its own errors."""
    try:
        return await anyio.to_thread.run_sync(work)
    except ApplianceError as error:
        asked = isinstance(error, UsageError | NotFound)
        raise MCPError(
            code=INVALID_PARAMS if asked else INTERNAL_ERROR, message=said(error), data=data
        ) from None
    except MCPError:
        raise
    except Exception as error:
        raise MCPError(code=INTERNAL_ERROR, message=bug(what, error), data=data) from None


def said(error: ApplianceError) -> str:
    """An error in the words that it has everywhere."""
    return f"{error}\n{error.hint}" if error.hint else str(error)


def bug(what: str, error: Exception) -> str:
    """What is told of a slip of ours. Its message may quote what somebody said: the log gets places alone."""
    places = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed: %s\n%s", what, type(error).__name__, places)
    return (
        f"{what} failed ({type(error).__name__}): this is a bug\nreport it with the lines in the server's log"
    )


def _refused(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
