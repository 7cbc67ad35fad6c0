"""The MCP server: what a client may list and call by its grant, and answers and errors in the protocol's shapes."""

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
from appliance.server import hints
from appliance.server.mcp import prompts, rendering, resources, schemas, tools
from appliance.server.mcp.access import McpAccess

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.server.access.grants import Grant

logger = logging.getLogger(__name__)

McpRequestContext = ServerRequestContext[Any, Any]
MemoryProvider = Callable[[], AbstractContextManager["Appliance"]]
"""Provides the memory for one call. May block, and raises what opening a memory raises."""

T = TypeVar("T")


def _client_name(context: McpRequestContext) -> str:
    """The name that the client's program gives itself, "" without one."""
    client: Any = context.session.client_params
    return str(client.client_info.name) if client is not None else ""


def build_server(
    lease: MemoryProvider,
    grant: Callable[[McpRequestContext], Grant],
    conversation: Callable[[McpRequestContext], str],
    on_listed: Callable[[], None] = lambda: None,
) -> Server[Any]:
    """An MCP server on a memory.

    Args:
        lease: Provides the memory for each call.
        grant: The grant of a request's caller.
        conversation: The name of the client's present conversation.
        on_listed: Called when a client has listed the tools, that is after the handshake.
    """

    def bind(context: McpRequestContext, work: Callable[[McpAccess], T]) -> Callable[[], T]:
        request_grant, name, client = grant(context), conversation(context), _client_name(context)

        def call() -> T:
            with lease() as memory:
                return work(McpAccess(memory, request_grant, name, client))

        return call

    async def list_tools(context: McpRequestContext, _: PaginatedRequestParams | None) -> ListToolsResult:
        answer = ListToolsResult(tools=[tool.to_mcp_tool() for tool in tools.allowed(grant(context)).values()])
        on_listed()
        return answer

    async def call_tool(context: McpRequestContext, params: CallToolRequestParams) -> CallToolResult:
        allowed = tools.allowed(grant(context))
        try:
            if params.name in tools.TOOLS and params.name not in allowed:
                raise UsageError(f"{params.name} writes, but this access is read-only.")
            if params.name not in allowed:
                raise MCPError(
                    code=INVALID_PARAMS, message=f"There is no tool {params.name!r}. Use one of {', '.join(allowed)}."
                )
            tool = allowed[params.name]
            tools.require_reading(tool, params.arguments or {})
            arguments = schemas.parse_arguments(tool.arguments_type, params.arguments or {})
            result = await anyio.to_thread.run_sync(bind(context, lambda access: tool.handler(access, arguments)))
        except ApplianceError as error:
            return _error_result(error_text(error))
        except MCPError:
            raise
        except Exception as error:
            return _error_result(bug_text(params.name, error))
        return CallToolResult(
            content=[TextContent(text=rendering.RENDERERS[type(result)](result))],
            structured_content=msgspec.to_builtins(result),
        )

    async def list_resources(context: McpRequestContext, _: PaginatedRequestParams | None) -> ListResourcesResult:
        grant(context)
        return ListResourcesResult(resources=resources.RESOURCES)

    async def list_templates(
        context: McpRequestContext, _: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        grant(context)
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(context: McpRequestContext, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await run_or_raise(
            "The resource",
            bind(context, lambda access: resources.read_resource(access, str(params.uri))),
            {"uri": str(params.uri)},
        )

    async def list_prompts(context: McpRequestContext, _: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=prompts.allowed(grant(context)))

    async def get_prompt(context: McpRequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        return await run_or_raise(
            "The prompt",
            bind(context, lambda access: prompts.render_prompt(access, params.name, params.arguments or {})),
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


async def run_or_raise(what: str, work: Callable[[], T], data: Mapping[str, str] | None = None) -> T:
    """The result of ``work``, with errors as protocol errors: resources and prompts have no other form for them."""
    try:
        return await anyio.to_thread.run_sync(work)
    except ApplianceError as error:
        is_caller_error = isinstance(error, UsageError | NotFound)
        raise MCPError(
            code=INVALID_PARAMS if is_caller_error else INTERNAL_ERROR, message=error_text(error), data=data
        ) from None
    except MCPError:
        raise
    except Exception as error:
        raise MCPError(code=INTERNAL_ERROR, message=bug_text(what, error), data=data) from None


def error_text(error: ApplianceError) -> str:
    """An error's message and hint."""
    return f"{error}\n{hints.over_mcp(error.hint)}" if error.hint else str(error)


def bug_text(what: str, error: Exception) -> str:
    """The message for a bug. The exception's own text may quote stored messages, so only its places are logged."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed: %s\n%s", what, type(error).__name__, stack)
    return (
        f"{what} failed ({type(error).__name__}). This is a bug.\nPlease report it with the lines in the server's log."
    )


def _error_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
