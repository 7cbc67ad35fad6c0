"""``attachments``: the files that messages carry."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, option
from appliance.errors import NotFound, UsageError

if TYPE_CHECKING:
    from appliance.types import AttachmentKind, Role

verbs = typer.Typer()

Reference = Annotated[str, argument("ID", "An attachment, by the id that the list shows (m345.1).")]


@verbs.callback(invoke_without_command=True)
def list_attachments(
    context: typer.Context,
    kind: Annotated[
        list[str] | None, option("--kind", "image|audio|video|file", "Only this kind (repeatable).")
    ] = None,
    limit: Annotated[int, option("--limit -k", "N", "At most this many. Default: 50.", min=1)] = 50,
    offset: Annotated[int, option("--offset", "N", "Skip this many: go on behind them.", min=0)] = 0,
    user: options.User = None,
    namespace: options.Namespace = "",
    session: options.InSession = None,
    role: options.Roles = None,
    source: options.Sources = None,
    author: options.Authors = None,
    tag: options.Tag = None,
    since: options.Since = None,
    until: options.Until = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the files that messages carry, the newest first, or get one.

    \b
    Examples:
      appliance attachments
      appliance attachments --kind image --author ana --since 2026-01-01
      appliance attachments --session s12 --json
      appliance attachments open m345.1
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
        return
    with options.open_to_read(home, "attachments") as memory:
        found = memory.attachments.list(
            cast("list[AttachmentKind]", kind or []),
            user_id=user,
            namespace=namespace,
            session_id=session,
            roles=cast("list[Role] | None", role),
            sources=source,
            authors=author,
            tags=tag,
            since=since,
            until=until,
            limit=limit,
            offset=offset,
        )
        notes = () if found else options.author_notes(memory, author, user, namespace)
    output.say_notes(notes)
    if json:
        output.print_json({"attachments": list(found), "total": found.total})
        return
    if not found:
        output.say("No attachments match. Try fewer filters.")
        return
    rows = [
        (
            one.id,
            output.format_timestamp(one.timestamp),
            one.author or one.role,
            one.kind,
            "" if one.size is None else output.format_size(one.size),
            str(one.pages or ""),
            output.one_line(one.name),
        )
        for one in found
    ]
    output.print_table(("id", "time", "author", "kind", "size", "pages", "name"), rows, right=("size", "pages"))
    more = f"; --offset {offset + len(found)} shows the next" if offset + len(found) < found.total else ""
    output.say(f"{len(found):,} of {output.plural(found.total, 'attachment')}{more}")


@verbs.command("path")
def path(reference: Reference, home: options.Home = None, json: options.Json = False) -> None:
    """Print where the file of an attachment lies.

    A file in a zip, and a copy that the memory keeps, are put into a new private folder for temporary files; delete it
    when you are done.

    \b
    Examples:
      appliance attachments path m345.1
      cp "$(appliance attachments path m345.1)" ~/Pictures
    """
    file = _file(reference, home, "path")
    if json:
        output.print_json({"id": reference, "path": file})
    else:
        output.print_line(output.display_path(file))


@verbs.command("open")
def open_file(reference: Reference, home: options.Home = None, json: options.Json = False) -> None:
    """Open the file of an attachment with the program that this machine uses for such files.

    \b
    Examples:
      appliance attachments open m345.1
    """
    file = _file(reference, home, "open")
    _open(file)
    if json:
        output.print_json({"id": reference, "path": file})
    else:
        output.print_line(output.display_path(file))


def _file(reference: str, home: str | None, verb: str) -> str:
    with options.open_existing(home, f"attachments {verb}") as memory:
        return memory.attachments.file(reference)


def _open(file: str) -> None:
    """Hand a file to the platform's opener.

    Raises:
        NotFound: This machine has none.
        UsageError: It refuses the file.
    """
    if sys.platform == "win32":
        os.startfile(file)
        return
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    try:
        ended = subprocess.run([opener, file], check=False, stdout=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise NotFound(f"There is no {opener} on this machine.", hint=f"Open the file yourself: {file}") from error
    if ended.returncode:
        raise UsageError(f"{opener} can't open {file}.", hint="Open it with a program of your choice.")
