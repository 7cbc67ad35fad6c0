"""``tui``: the memory on a screen, in this terminal or in a browser on this machine."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from appliance.cli import options
from appliance.errors import UsageError
from appliance.paths import find_home


def tui(
    home: options.Home = None,
    user: options.User = None,
    theme: Annotated[
        str | None,
        typer.Option("--theme", metavar="NAME", help="dark, light, contrast or plain.", show_default=False),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it in a browser on this machine.", show_default=False)
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Where the browser finds it; a free one unless named.",
            show_default=False,
        ),
    ] = 0,
    json: options.Json = False,
) -> None:
    """Look through the memory on a screen: search, read, and tend it.

    Every key is named at the bottom and under '?'; they and the looks are set in config.toml under [tui]. With a
    daemon it attaches to that; else this process owns the memory while it runs, and reads what lands in the inbox.
    With --serve it is in a browser, on this machine alone, at an address that holds a token and is new each time.

    \\b
    Examples:
      appliance tui
      appliance tui --theme light --user ana
      appliance tui --serve
    """
    if json:
        raise UsageError("a screen prints no document", hint="'appliance search QUERY --json' does")
    if port and not serve:
        raise UsageError("--port is for --serve")
    # The engine never imports the screen, and nothing else here needs it: it is found by its name when it is wanted.
    if serve:
        code = importlib.import_module("appliance_tui.serving").serve(home, user, theme, port)
    else:
        _check_terminal()
        with ExitStack() as stack:

            def begun() -> None:
                stack.enter_context(options.read_ahead(find_home(home)))

            code = importlib.import_module("appliance_tui.main").run(home, user, theme, begun)
    if code:
        raise typer.Exit(code)


def _check_terminal() -> None:
    """
    Raises:
        UsageError: nobody sits before this.
    """
    # Behind --serve the screen is driven over pipes by a browser, and Textual is told so.
    # In a terminal it reads from stdin and draws on stderr, so that stdout stays free.
    if os.environ.get("TEXTUAL_DRIVER") or all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr)):
        return
    raise UsageError(
        "the screen needs a terminal",
        hint="start it in one, or use --serve for a browser; 'appliance search' and the others print to pipes",
    )
