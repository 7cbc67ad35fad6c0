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
from appliance.paths import absolute_paths, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from appliance.client import Appliance
    from appliance.types import FileProblem, ImportedFile, UnfinishedImport

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
        running, broken_off = _unfinished(memory)
    if json:
        output.print_json({"sources": found, "problems": len(problems), "broken_off": len(broken_off)})
        return
    failed = {one.path: one.read_at for one in problems if one.state == "failed"}
    rows = [
        (
            "failed" if one.path in failed else _state(one, running), f"{one.sessions:,}",
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
    if broken_off:
        imports = "1 import was" if len(broken_off) == 1 else f"{len(broken_off):,} imports were"
        output.say(f"{imports} broken off: 'appliance sources problems'.")


def _state(file: ImportedFile, running: Iterable[UnfinishedImport]) -> str:
    path = Path(file.path)
    if not file.complete and any(_lies_in(file.path, [one.path]) for one in running):
        return "being read"
    exists = is_there(path) or any(parent.is_file() for parent in path.parents)
    return ("read" if file.complete else "in part") + ("" if exists else ", gone")


def _unfinished(memory: Appliance) -> tuple[list[UnfinishedImport], list[UnfinishedImport]]:
    """The imports that run now, and those that were broken off."""
    found = memory.overview.unfinished_imports(running=True)
    return [one for one in found if one.is_running], [one for one in found if not one.is_running]


def _lies_in(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one of them."""
    return any(path == place or path.startswith(place.rstrip(os.sep) + os.sep) for place in places)


@verbs.command("problems")
def list_problems(
    dismissed: Annotated[bool, flag("--all", "Also those that were dismissed.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the files that could not be read completely, and the imports that were broken off: why, what the memory has
    from each, and what to do.

    \b
    Examples:
      appliance sources problems
      appliance sources problems --all
    """
    with options.open_existing(home, "sources") as memory:
        found = memory.overview.file_problems(dismissed=dismissed, limit=MAX_PROBLEMS)
        running, broken_off = _unfinished(memory)
        given = {one.path: memory.overview.imported_files(one.path, limit=MAX_PROBLEMS) for one in broken_off}
    if json:
        output.print_json({"problems": found, "broken_off": broken_off, "running": running})
        return
    for begun in broken_off:
        output.print_styled(output.display_path(begun.path), "bold")
        output.print_line(f"  The import was broken off ({output.format_timestamp(begun.begun_at)}).")
        read = given[begun.path]
        output.print_line(f"  {_what_there_is(sum(f.messages for f in read), sum(f.sessions for f in read))}")
        output.print_line(f"  {_how_to_finish(begun)}")
    for one in found:
        output.print_styled(output.display_path(one.path), "bold")
        output.print_line(f"  {_what_is_wrong(one)}")
        output.print_line(f"  {_what_there_is(one.messages, one.sessions)}")
        output.print_line(f"  {_what_to_do(one)}")
    for begun in running:
        output.say(f"{output.display_path(begun.path)} is being read, since {output.format_timestamp(begun.begun_at)}.")
    if not found and not broken_off:
        kind = "file has an error" if dismissed else "file has an error that was not dismissed"
        output.say(f"No {kind}, and no import was broken off.{'' if dismissed else ' --all also lists the dismissed.'}")


def _what_is_wrong(one: FileProblem) -> str:
    known = "dismissed: " if one.state == "dismissed" else ""
    return f"{known}{one.reason} ({output.format_timestamp(one.read_at)})"


def _what_there_is(messages: int, sessions: int) -> str:
    if sessions and not messages:
        return "All of its messages that were read were known from another file."
    if not messages:
        return "The memory has no messages from it."
    kept = f"{output.plural(messages, 'message')} in {output.plural(sessions, 'conversation')}"
    return f"The memory keeps {kept} from it."


def _how_to_finish(one: UnfinishedImport) -> str:
    path = shlex.quote(output.display_path(one.path))
    give_up = f"'appliance sources dismiss {path}' gives it up, and what was read stays."
    if not is_there(one.path):
        return f"It is not there any more; connect its disk, or put it back. {give_up}"
    if one.options:  # the command would have to repeat them
        return f"'appliance ingest --resume' reads the rest, with the options that it began with; {give_up}"
    return f"'appliance ingest {path}' reads the rest; {give_up}"


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
    """Be done with files that could not be read completely, and give up imports that were broken off; what was read of
    them stays.

    'status' no longer counts them, and 'sources problems --all' still lists them. A file that changes, or that is
    imported again, counts anew.

    \b
    Examples:
      appliance sources dismiss ~/Downloads/old-export.zip
      appliance sources dismiss --gone
    """
    if not paths and not gone:
        raise UsageError("No file is named.", hint="Name files or folders, or use --gone.")
    absolute = [str(path) for path in absolute_paths(paths or [])]
    with options.open_existing(home, "sources") as memory:
        given_up = _give_up(memory, absolute, gone)
        done = memory.overview.dismiss_problems(absolute, gone=gone)
        running, broken_off = _unfinished(memory)
    if json:
        output.print_json({"dismissed": done, "given_up": [one.path for one in given_up]})
    elif not done and not given_up and absolute:
        _refuse_parts(absolute, running, broken_off)
        raise NotFound(
            "No file there was read incompletely; nothing was dismissed.",
            where=", ".join(map(output.display_path, absolute)), hint="'appliance sources problems' lists them.",
        )  # fmt: skip
    elif not done and not given_up:
        output.say("No file that was read incompletely is gone.")
    for begun in () if json else given_up:
        output.print_line(f"gave up the import of {output.display_path(begun.path)}. What was read of it stays.")
    for one in () if json else done:
        output.print_line(f"dismissed {output.display_path(one.path)}. {_what_there_is(one.messages, one.sessions)}")


def _refuse_parts(
    places: Sequence[str], running: Iterable[UnfinishedImport], broken_off: Iterable[UnfinishedImport]
) -> None:
    """
    Raises:
        UsageError: One of these is being read, or is a part of an import that was broken off.
    """
    for one in running:
        if _lies_in(one.path, places) or any(_lies_in(place, [one.path]) for place in places):
            hint = "Wait for its end, or stop it where it runs, with Ctrl+C or x."
            raise UsageError("This is being read now; nothing was dismissed.", where=one.path, hint=hint)
    for one in broken_off:
        if any(_lies_in(place, [one.path]) for place in places):
            hint = f"'appliance sources dismiss {shlex.quote(output.display_path(one.path))}' gives all of it up."
            raise UsageError("The import of this was broken off, as a whole.", where=one.path, hint=hint)


def _give_up(memory: Appliance, places: Sequence[str], gone: bool) -> list[UnfinishedImport]:
    """Give up the imports of these files and folders that were broken off; with ``gone`` also those of what is not
    there any more."""
    _, broken_off = _unfinished(memory)
    meant = [one for one in broken_off if _lies_in(one.path, places) or (gone and not is_there(one.path))]
    for one in meant:
        memory.overview.give_up_import(one.path, user_id=one.user_id, namespace=one.namespace)
    return meant
