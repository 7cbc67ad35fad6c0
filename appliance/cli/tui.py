"""``tui``: the terminal user interface, in this terminal or in a browser on this machine."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

from appliance.cli import SCREEN_PURPOSE, options
from appliance.cli.options import flag, option
from appliance.errors import UsageError
from appliance.paths import find_home
from appliance.transports import owner_process


def tui(
    profile: options.MachineProfile = None,
    home: options.Home = None,
    user: options.User = None,
    theme: Annotated[str | None, option("--theme", "NAME", "dark, light, contrast or plain.")] = None,
    serve: Annotated[bool, flag("--serve", "Show it in a browser on this machine.")] = False,
    port: Annotated[int, option("--port", "N", "Port for the browser. Default: a free one.", min=0, max=65535)] = 0,
    reveal: options.Reveal = False,
    json: options.Json = False,
) -> None:
    """Open the terminal user interface: search, read and manage the memory.

    The bottom line and '?' list the keys; config.toml sets keys and theme under [tui]. It works beside every other
    program that has the memory open. Without a daemon it imports what lands in the inbox while it runs. --serve opens
    it in a browser on this machine only, at an address with a new token each time.

    \b
    Examples:
      appliance tui
      appliance tui --theme light --user ana
      appliance tui --serve
    """
    if json:
        raise UsageError(
            "'appliance tui' has no JSON output.", hint="Use another verb, such as 'appliance search QUERY --json'."
        )
    if port and not serve:
        raise UsageError("--port needs --serve.")
    # Imported by name, because no module of the engine or the command line may import the user interface.
    if serve:
        code = importlib.import_module("appliance_tui.browser").serve(home, user, theme, port, reveal)
    else:
        _check_terminal()
        with owner_process.running(find_home(home), SCREEN_PURPOSE) as wait_for_owner:
            code = importlib.import_module("appliance_tui.main").run(home, user, theme, wait_for_owner, reveal)
    if code:
        raise typer.Exit(code)


def _check_terminal() -> None:
    """
    Raises:
        UsageError: the streams are not a terminal, or one that can't move its cursor.
    """
    # With --serve a browser drives the screen over pipes, and TEXTUAL_DRIVER is set.
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
    if redirected := [name for name, stream in streams.items() if not stream.isatty()]:
        which = f"{' and '.join(redirected)} {'is' if len(redirected) == 1 else 'are'} not one"
        raise UsageError(
            f"'appliance tui' needs a terminal, and {which}.",
            hint="The screen reads keys from stdin, takes its size from stdout and draws on stderr: run it without"
            " redirecting them, or use --serve for a browser. Other verbs, such as 'appliance search', work in pipes.",
        )
    if os.environ.get("TERM") == "dumb":
        raise UsageError(
            "'appliance tui' needs a terminal that can move its cursor, and TERM=dumb says that this one can't.",
            hint="Run it in another terminal, or use --serve for a browser, or 'appliance search'.",
        )
