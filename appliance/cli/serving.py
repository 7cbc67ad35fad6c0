"""``serve``: the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, out

if TYPE_CHECKING:
    from appliance.server.line import Address


def serve(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Folders to watch, beside the inbox and the configured ones."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host", metavar="ADDRESS", help="Listen there; on 127.0.0.1 unless set.", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Listen there; 0 takes a free one.",
            show_default=False,
        ),
    ] = None,
    beyond_loopback: Annotated[
        bool,
        typer.Option(
            "--beyond-loopback", help="Allow an address that other machines reach.", show_default=False
        ),
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Run the memory for everybody on this machine, until stopped.

    One process owns the memory: it answers over HTTP with a token, reads exports as they land in the inbox and in
    watched folders, and does all that is done in the background. Other commands and programs attach to it by
    themselves. SIGHUP reads the settings anew, SIGTERM and Ctrl-C end it after what is under way.

    \b
    Examples:
      appliance serve
      appliance serve ~/Downloads --port 0
      curl -H "Authorization: Bearer $(cat ~/.local/share/appliance/token)" localhost:7707/v1/status
    """
    from appliance.server.daemon import serve as run

    def told(address: Address) -> None:
        if json:
            import msgspec

            out.document_line(msgspec.to_builtins(address))
        else:
            out.line(f"{address.url}  (token: {out.path(address.token_file)}; Ctrl-C ends it)")

    run(home, host=host, port=port, folders=paths or (), beyond_loopback=beyond_loopback, on_ready=told)
