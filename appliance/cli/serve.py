"""``serve``: the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from appliance.cli import options, output
from appliance.cli.options import flag, option, path_argument

if TYPE_CHECKING:
    from appliance.transports.daemon import DaemonAddress


def serve(
    paths: Annotated[
        list[str] | None, path_argument("[PATH]…", "Folders to watch besides the inbox and the configured ones.")
    ] = None,
    host: Annotated[str | None, option("--host", "ADDRESS", "Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[
        int | None, option("--port", "N", "Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = None,
    beyond_loopback: Annotated[
        bool, flag("--beyond-loopback", "Allow addresses that other machines can reach.")
    ] = False,
    wait: Annotated[
        bool, flag("--wait", "Wait until a program that has the memory open has ended, however long that takes.")
    ] = False,
    profile: options.MachineProfile = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Run the daemon, until stopped.

    The daemon owns the memory. It answers over HTTP with a token, imports exports as they land in the inbox and in
    watched folders, and runs the background jobs. Other commands and programs attach to it automatically. SIGHUP
    reloads the settings; SIGTERM and Ctrl-C stop it after the current work.

    A program that has the memory open leaves it to the daemon. One that imports is waited for, up to a minute.

    \b
    Examples:
      appliance serve
      appliance serve ~/Downloads --port 0
      curl -H "Authorization: Bearer $(cat ~/.local/share/appliance/token)" localhost:7707/v1/status
    """
    from appliance.server.daemon import serve as run

    def announce(address: DaemonAddress) -> None:
        if json:
            import msgspec

            output.print_json_line(msgspec.to_builtins(address))
        else:
            line = f"{address.url}  (token: {output.display_path(address.token_file)}; Ctrl-C stops it)"
            output.print_line(line, flush=True)

    def say_waiting(owner: str) -> None:
        output.say(f"The memory is in use by {owner}. Waiting until it can leave it…")

    run(
        home, host=host, port=port, folders=paths or (), beyond_loopback=beyond_loopback, wait=wait,
        on_wait=say_waiting, on_ready=announce,
    )  # fmt: skip
