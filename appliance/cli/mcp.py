"""``mcp``: serve the memory to assistants over the Model Context Protocol, and edit the clients' settings for it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import flag, option
from appliance.errors import NotFound, UsageError

if TYPE_CHECKING:
    from appliance.server.mcp.clients import RemoteServerEntry, StdioServerEntry
    from appliance.server.mcp.settings_files import SettingsChange

verbs = typer.Typer()

OTHERS_PERMISSION_BITS = 0o077
"""Bits of a file's mode that let other users read a token in it."""

Namespace = Annotated[str | None, option("--namespace", "N", "Serve only this namespace.")]
ReadOnly = Annotated[bool, flag("--read-only", "Offer no tools that write.")]
ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="claude-desktop, claude-code, cursor, vscode, windsurf, zed, lm-studio, opencode or codex.",
    ),
]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the server in the client.")]
Write = Annotated[bool, flag("--write", "Change the client's settings file.")]


@verbs.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    user: options.User = None,
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    profile: options.MachineProfile = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Serve the memory to an assistant over MCP on stdin and stdout, or set up a client for it.

    Clients start this command themselves. 'appliance mcp install CLIENT' shows the settings that they need.

    \b
    Examples:
      appliance mcp
      appliance mcp --user ana --read-only
      appliance mcp install cursor --write
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
        context.default_map = {
            name: {**inherited, "user": user, "namespace": namespace, "read_only": read_only}
            for name, inherited in (context.default_map or {}).items()
        }
        return
    # The SDK makes some hundred thousand lasting objects; searching them for garbage takes a tenth of its import time.
    gc.disable()
    from appliance.server.access.grants import Grant
    from appliance.server.mcp import stdio

    gc.freeze()
    gc.enable()
    stdio.serve(home, Grant("mcp", user_id=user, namespace=namespace, read_only=read_only))


@verbs.command("install")
def install(
    client: ClientName,
    write: Write = False,
    http: Annotated[bool, flag("--http", "Connect to the daemon's address instead of starting a command.")] = False,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="With --http: a token other than the owner's.")
    ] = None,
    name: Name = "appliance",
    user: options.User = None,
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show or write the settings that a client needs.

    --write leaves the rest of the file as it is and keeps a copy of the old file next to it. It refuses a file with
    comments or errors.

    \b
    Examples:
      appliance mcp install claude-desktop
      appliance mcp install cursor --write
      appliance mcp install claude-code --http --write
    """
    from appliance.server.mcp import clients, settings_files

    client_spec = clients.find_client(client)
    if http:
        client_spec.http_entry_maker()
    server = (_http_server if http else _stdio_server)(home, token_file, user, namespace, read_only)
    entry = client_spec.entry(server)
    path = client_spec.file(clients.current_locations())
    shown_path = output.display_path(path)
    if not write:
        text = settings_files.shown(path, client_spec.keys, name, entry)
        if json:
            output.print_json(
                {"client": client_spec.name, "path": shown_path, "name": name, "entry": entry, "text": text}
            )
            return
        output.write(text.encode())
        output.say(f"Add this to {shown_path}, or run again with --write. Next: {client_spec.next_step}.")
        if http:
            output.say("note: It contains a token that opens your memory. Keep it secret.")
        return
    change = settings_files.put(path, client_spec.keys, name, entry)
    _print_change(client_spec.name, name, change, json, "Added to" if change.changed else "No change: already in")
    if change.changed:
        output.say(f"Next: {client_spec.next_step}.")
    if http and change.path.stat().st_mode & OTHERS_PERMISSION_BITS:
        output.say(f"note: Other users can read {shown_path}, which now contains a token. Run 'chmod 600' on it.")


@verbs.command("uninstall")
def uninstall(
    client: ClientName,
    write: Write = False,
    name: Name = "appliance",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Remove this memory from a client's settings. Everything else in the file stays.

    \b
    Examples:
      appliance mcp uninstall cursor
      appliance mcp uninstall cursor --write
    """
    from appliance.server.mcp import clients, settings_files

    client_spec = clients.find_client(client)
    path = client_spec.file(clients.current_locations())
    if not write:
        key_path = ".".join((*client_spec.keys, name))
        if json:
            output.print_json(
                {"client": client_spec.name, "path": output.display_path(path), "name": name, "place": key_path}
            )
        else:
            output.print_line(f"{output.display_path(path)}: {key_path}")
            output.say("Remove this entry from the file, or run again with --write.")
        return
    change = settings_files.put(path, client_spec.keys, name, None)
    _print_change(client_spec.name, name, change, json, "Removed from" if change.changed else "No change: not in")


def _print_change(client: str, name: str, change: SettingsChange, json: bool, verb: str) -> None:
    backup = None if change.backup is None else output.display_path(change.backup)
    if json:
        where = {"client": client, "path": output.display_path(change.path), "name": name}
        output.print_json({**where, "changed": change.changed, "backup": backup})
        return
    output.print_line(f"{verb} {output.display_path(change.path)}")
    if backup:
        output.say(f"The old file is kept as {backup}.")


def _stdio_server(
    home: str | None, token_file: Path | None, user: str | None, namespace: str | None, read_only: bool
) -> StdioServerEntry:
    from appliance.paths import HOME_VARIABLE, find_home
    from appliance.runtime import child_process
    from appliance.server.mcp import clients

    if token_file is not None:
        raise UsageError("--token-file needs --http.", hint="A command needs no token.")
    program, *program_arguments = child_process.own_command()
    scope_arguments = [
        *(["--user", user] if user is not None else []),
        *(["--namespace", namespace] if namespace is not None else []),
        *(["--read-only"] if read_only else []),
    ]
    return clients.StdioServerEntry(
        program, (*program_arguments, "mcp", *scope_arguments), {HOME_VARIABLE: str(find_home(home).root)}
    )


def _http_server(
    home: str | None, token_file: Path | None, user: str | None, namespace: str | None, read_only: bool
) -> RemoteServerEntry:
    """The entry for the daemon's address, with the token from the file.

    Raises:
        UsageError: a scope is named, or the file holds no token.
        NotFound: there is no token yet.
    """
    from appliance.config import load
    from appliance.paths import find_home
    from appliance.server.mcp import clients

    if user is not None or namespace is not None or read_only:
        raise UsageError(
            "--user, --namespace and --read-only can't be used with --http: the token decides.",
            hint="Create a token with 'appliance tokens new', and name its file with --token-file.",
        )
    home_paths = find_home(home)
    file = token_file or home_paths.token
    try:
        token = file.read_text("utf-8").strip()
    except OSError as error:
        raise NotFound(
            f"No token ({error.strerror}).", where=str(file), hint="'appliance serve' creates one when it starts."
        ) from error
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise UsageError("Not a token.", where=str(file), hint="Name a file that contains only a token.")
    server = load(home_paths).server
    running = _running_url(home_paths.daemon)
    return clients.RemoteServerEntry(f"{running or f'http://{server.host}:{server.port}'}/mcp", token)


def _running_url(file: Path) -> str | None:
    """The address of the running daemon, from its own file; None if there is none."""
    import msgspec

    try:
        address = msgspec.json.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    url = address.get("url") if isinstance(address, dict) else None
    return url.rstrip("/") if isinstance(url, str) else None
