"""``mcp``: the memory for assistants that speak the Model Context Protocol, and the clients' settings for it."""

from __future__ import annotations

from typing import Annotated

import typer

from appliance.cli import options

verbs = typer.Typer()

Namespace = Annotated[
    str | None, typer.Option("--namespace", metavar="N", help="Only this namespace.", show_default=False)
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer nothing that writes.", show_default=False)]


@verbs.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    user: options.User = None,
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Serve the memory to an assistant over MCP on stdin and stdout; or set up a client for it.

    A client starts this by itself: 'appliance mcp install CLIENT' shows what to put where.

    \b
    Examples:
      appliance mcp
      appliance mcp --user ana --read-only
      appliance mcp install cursor --write
    """
    if context.invoked_subcommand is not None:
        options.hand_down(context, home, json)
        return
    from appliance.server.mcp import stdio
    from appliance.server.service import Grant

    stdio.serve(home, Grant("mcp", user_id=user, namespace=namespace, read_only=read_only))
