"""``sources``: the files that the memory was read from, and those that could not be read completely."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import flag, path_argument
from appliance.errors import NotFound, UsageError
from appliance.paths import is_there

if TYPE_CHECKING:
    from appliance.types import FileProblem, ImportedFile

verbs = typer.Typer()

DEFAULT_LIMIT = 50
MAX_PROBLEMS = 1_000
KNOWN = "known"
"""Stands for the messages of a file that gave none of its own."""


@verbs.callback(invoke_without_command=True)
def sources(
    context: typer.Context,
    user: options.User = None,
    limit: options.Limit = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the files that the memory was read from, the latest read first, or those that were not read completely.

    \b
    Examples:
      appliance sources
      appliance sources problems
      appliance sources dismiss ~/Downloads/old-export.zip
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
    else:
        list_sources(user, limit, home, json)


@verbs.command("list")
def list_sources(
    user: options.User = None, limit: options.Limit = None, home: options.Home = None, json: options.Json = False
) -> None:
    """List the files that the memory was read from, the latest read first. A document in a zip is a file of its own.

    \b
    Examples:
      appliance sources list
      appliance sources list --user ana -k 200
    """
    with options.open_existing(home, "sources") as memory:
        found = memory.overview.imported_files(limit=limit or DEFAULT_LIMIT, user_id=user)
        problems = memory.overview.file_problems(limit=MAX_PROBLEMS)
    if json:
        output.print_json({"sources": found, "problems": len(problems)})
        return
    failed = {one.path: one.read_at for one in problems if one.state == "failed"}
    rows = [
        (
            "failed" if one.path in failed else _state(one), f"{one.sessions:,}",
            KNOWN if one.sessions and not one.messages else f"{one.messages:,}",
            output.format_timestamp(failed.get(one.path) or one.read_at), one.format, output.display_path(one.path),
        )
        for one in found
    ]  # fmt: skip
    if rows:
        output.print_table(
            ("state", "conversations", "messages", "read", "format", "file"), rows, right=("conversations", "messages")
        )
        if any(row[2] == KNOWN for row in rows):
            output.say(f"{KNOWN}: the memory has the messages of the file; all were known from another file.")
    else:
        output.say("Nothing was read from a file yet.")
    if len(found) == (limit or DEFAULT_LIMIT):
        output.say("There may be more: -k lists more.")
    if problems:
        verb = "was" if len(problems) == 1 else "were"
        output.say(f"{output.plural(len(problems), 'file')} {verb} not read completely: 'appliance sources problems'.")


def _state(file: ImportedFile) -> str:
    path = Path(file.path)
    exists = is_there(path) or any(parent.is_file() for parent in path.parents)
    return ("read" if file.complete else "in part") + ("" if exists else ", gone")


@verbs.command("problems")
def list_problems(
    dismissed: Annotated[bool, flag("--all", "Also those that were dismissed.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the files that could not be read completely: why, what the memory has from each, and what to do.

    \b
    Examples:
      appliance sources problems
      appliance sources problems --all
    """
    with options.open_existing(home, "sources") as memory:
        found = memory.overview.file_problems(dismissed=dismissed, limit=MAX_PROBLEMS)
    if json:
        output.print_json({"problems": found})
        return
    for one in found:
        output.print_styled(output.display_path(one.path), "bold")
        output.print_line(f"  {_what_is_wrong(one)}")
        output.print_line(f"  {_what_there_is(one)}")
        output.print_line(f"  {_what_to_do(one)}")
    if not found:
        rest = "" if dismissed else " --all also lists those that were dismissed."
        output.say(f"There is no file that was read incompletely.{rest}")


def _what_is_wrong(one: FileProblem) -> str:
    known = "dismissed: " if one.state == "dismissed" else ""
    return f"{known}{one.reason} ({output.format_timestamp(one.read_at)})"


def _what_there_is(one: FileProblem) -> str:
    if one.sessions and not one.messages:
        return "All of its messages that were read were known from another file."
    if not one.messages:
        return "The memory has no messages from it."
    kept = f"{output.plural(one.messages, 'message')} in {output.plural(one.sessions, 'conversation')}"
    return f"The memory keeps {kept} from it."


def _what_to_do(one: FileProblem) -> str:
    path = shlex.quote(output.display_path(one.path))
    dismiss = f"'appliance sources dismiss {path}'"
    if not one.is_there:
        if one.state == "dismissed":
            return "The file is not there any more."
        return f"The file is not there any more. It is no longer counted; {dismiss} takes it off this list."
    if one.state == "dismissed":
        return f"'appliance ingest {path}' reads it again."
    mend = "Make it readable" if "can't be read" in one.reason else "Mend the file"
    if one.is_watched:
        return f"{mend}, and it is read again; or be done with it: {dismiss}."
    return f"{mend}, then 'appliance ingest {path}'; or be done with it: {dismiss}."


@verbs.command("dismiss")
def dismiss(
    paths: Annotated[list[str] | None, path_argument("[PATH]…", "Files, or folders in which they lie.")] = None,
    gone: Annotated[bool, flag("--gone", "All that are not there any more.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Be done with files that could not be read completely; what was read of them stays.

    'status' no longer counts them, and 'sources problems --all' still lists them. A file that changes, or that is
    imported again, counts anew.

    \b
    Examples:
      appliance sources dismiss ~/Downloads/old-export.zip
      appliance sources dismiss --gone
    """
    if not paths and not gone:
        raise UsageError("No file is named.", hint="Name files or folders, or use --gone.")
    absolute = [os.path.abspath(os.path.expanduser(path)) for path in paths or ()]
    with options.open_existing(home, "sources") as memory:
        done = memory.overview.dismiss_problems(absolute, gone=gone)
    if json:
        output.print_json({"dismissed": done})
    elif not done and absolute:
        raise NotFound(
            "No file there was read incompletely; nothing was dismissed.",
            where=", ".join(map(output.display_path, absolute)), hint="'appliance sources problems' lists them.",
        )  # fmt: skip
    elif not done:
        output.say("No file that was read incompletely is gone.")
    for one in () if json else done:
        output.print_line(f"dismissed {output.display_path(one.path)}. {_what_there_is(one)}")
