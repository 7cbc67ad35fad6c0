"""``mcp``: the memory for assistants that speak the Model Context Protocol, and the clients' settings for it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, out
from appliance.errors import NotFound, UsageError

if TYPE_CHECKING:
    from appliance.server.mcp.clients import Local, Remote
    from appliance.server.mcp.settings_files import Change

verbs = typer.Typer()

SECRET = 0o077
"""Bits of a file's mode by which others could read a token in it."""

Namespace = Annotated[
    str | None, typer.Option("--namespace", metavar="N", help="Only this namespace.", show_default=False)
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer nothing that writes.", show_default=False)]
ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="claude-desktop, claude-code, cursor, vscode, windsurf, zed, lm-studio, opencode or codex.",
    ),
]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="What the server is called there.")]
Write = Annotated[bool, typer.Option("--write", help="Change the client's file.", show_default=False)]


@verbs.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    user: options.User = None,
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Serve the memory to an assistant over MCP on stdin and stdout; or set a client up for it.

    A client starts this by itself: 'appliance mcp install CLIENT' shows what to put where.

    \b
    Examples:
      appliance mcp
      appliance mcp --user ana --read-only
      appliance mcp install cursor --write
    """
    if context.invoked_subcommand is not None:
        options.hand_down(context, home, json)
        context.default_map = {
            name: {**given, "user": user, "namespace": namespace, "read_only": read_only}
            for name, given in (context.default_map or {}).items()
        }
        return
    # The SDK makes some hundred thousand objects that stay: looking for garbage among them takes a tenth of its time.
    gc.disable()
    from appliance.server.mcp import stdio
    from appliance.server.service import Grant

    gc.freeze()
    gc.enable()
    stdio.serve(home, Grant("mcp", user_id=user, namespace=namespace, read_only=read_only))


@verbs.command("install")
def install(
    client: ClientName,
    write: Write = False,
    http: Annotated[
        bool,
        typer.Option(
            "--http", help="Point at the daemon's address instead of a command.", show_default=False
        ),
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="With --http: another token than the owner's."),
    ] = None,
    name: Name = "appliance",
    user: options.User = None,
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show what a client's settings need for this memory, or put it there.

    With --write everything else in the file stays, a copy of it as it was is kept beside it, and a file with comments,
    or one that is broken, is not touched.

    \b
    Examples:
      appliance mcp install claude-desktop
      appliance mcp install cursor --write
      appliance mcp install claude-code --http --write
    """
    from appliance.server.mcp import clients, settings_files

    one = clients.client(client)
    if http:
        one.over_http()
    server = (
        _remote(home, token_file, user, namespace, read_only)
        if http
        else _local(home, token_file, user, namespace, read_only)
    )
    entry = one.entry(server)
    path = one.file(clients.this_machine())
    if not write:
        text = settings_files.shown(path, one.keys, name, entry)
        if json:
            out.document(
                {"client": one.name, "path": out.path(path), "name": name, "entry": entry, "text": text}
            )
            return
        out.write(text.encode())
        out.say(f"put this into {out.path(path)}, beside what is there (--write does it), then {one.then}")
        if http:
            out.say("note: it holds a token that opens your memory; keep it to yourself")
        return
    change = settings_files.put(path, one.keys, name, entry)
    _tell(
        one.name,
        name,
        change,
        json,
        f"{one.title} has it in" if change.changed else f"{one.title} had it already:",
    )
    if change.changed:
        out.say(one.then)
    if http and change.path.stat().st_mode & SECRET:
        out.say(
            f"note: others can read {out.path(change.path)}, which holds a token now: chmod 600 closes it"
        )


@verbs.command("uninstall")
def uninstall(
    client: ClientName,
    write: Write = False,
    name: Name = "appliance",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Take this memory out of a client's settings again; everything else there stays.

    \b
    Examples:
      appliance mcp uninstall cursor
      appliance mcp uninstall cursor --write
    """
    from appliance.server.mcp import clients, settings_files

    one = clients.client(client)
    path = one.file(clients.this_machine())
    if not write:
        place = ".".join((*one.keys, name))
        if json:
            out.document({"client": one.name, "path": out.path(path), "name": name, "place": place})
        else:
            out.line(f"{out.path(path)}: {place}")
            out.say("take this out of the file, or let --write do it")
        return
    change = settings_files.put(path, one.keys, name, None)
    _tell(one.name, name, change, json, "taken out of" if change.changed else "it is not in")


def _tell(client: str, name: str, change: Change, json: bool, words: str) -> None:
    backup = None if change.backup is None else out.path(change.backup)
    if json:
        where = {"client": client, "path": out.path(change.path), "name": name}
        out.document({**where, "changed": change.changed, "backup": backup})
        return
    out.line(f"{words} {out.path(change.path)}")
    if backup:
        out.say(f"the file as it was: {backup}")


def _local(
    home: str | None, token_file: Path | None, user: str | None, namespace: str | None, read_only: bool
) -> Local:
    from appliance.paths import HOME_VARIABLE, find_home
    from appliance.server.mcp import clients

    if token_file is not None:
        raise UsageError("--token-file goes with --http", hint="a command needs no token")
    program, *before = clients.command()
    narrowed = [
        *(["--user", user] if user is not None else []),
        *(["--namespace", namespace] if namespace is not None else []),
        *(["--read-only"] if read_only else []),
    ]
    return clients.Local(program, (*before, "mcp", *narrowed), {HOME_VARIABLE: str(find_home(home).root)})


def _remote(
    home: str | None, token_file: Path | None, user: str | None, namespace: str | None, read_only: bool
) -> Remote:
    """
    Raises:
        UsageError: a scope is named, which the token decides.
        NotFound: there is no token yet.
    """
    from appliance.config import load
    from appliance.paths import find_home
    from appliance.server.mcp import clients

    if user is not None or namespace is not None or read_only:
        raise UsageError(
            "over HTTP the token decides whose memory it is",
            hint="name a token of that scope with --token-file",
        )
    found = find_home(home)
    file = token_file or found.token
    try:
        token = file.read_text("utf-8").strip()
    except OSError as error:
        raise NotFound(
            f"no token there ({error.strerror})",
            where=str(file),
            hint="'appliance serve' makes one when it starts",
        ) from error
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise UsageError(
            "holds no token", where=str(file), hint="name a file that holds a token and nothing else"
        )
    server = load(found).server
    running = _running(found.daemon)
    return clients.Remote(f"{running or f'http://{server.host}:{server.port}'}/mcp", token)


def _running(file: Path) -> str | None:
    """Where the daemon listens that runs now, as it says itself."""
    import msgspec

    try:
        said = msgspec.json.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    url = said.get("url") if isinstance(said, dict) else None
    return url.rstrip("/") if isinstance(url, str) else None
