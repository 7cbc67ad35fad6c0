"""``show`` and ``export``: read the memory, or write it out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from appliance import export_files
from appliance.cli import options, output
from appliance.cli.options import argument, flag, option, path_argument
from appliance.errors import DiskFull, UsageError

_ID = re.compile(r"[sm]\d+")
"""The id of a conversation or a message."""


def show(
    reference: Annotated[str | None, argument("ID", "A session (s12) or message (m345), or an external id.")] = None,
    what_you_know: Annotated[bool, flag("--what-you-know", "Show your profile with its evidence.")] = False,
    versions: Annotated[bool, flag("--versions", "Show the earlier forms of a message and the present one.")] = False,
    user: options.User = None,
    reveal: options.Reveal = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read a conversation, or one message with its neighbours, similar messages and importance.

    \b
    Examples:
      appliance show s12
      appliance show m345 --json
      appliance show m345 --versions
      appliance show --what-you-know
    """
    from appliance.cli import facts, transcript

    if (reference is None) != what_you_know:
        raise UsageError("Name an ID, or --what-you-know.", hint="See 'appliance show --help'.")
    if user is not None and not what_you_know:
        raise UsageError("--user needs --what-you-know.", hint="Leave it out; an ID already determines the user.")
    if reference is None:
        with options.open_to_read(home, "show", reveal) as memory:
            facts.show_profile(memory, user, json)
        return
    with options.open_to_read(home, "show", reveal) as memory:
        message, info = transcript.resolve(memory, reference)
        if versions:
            if message is None:
                raise UsageError("--versions needs a message.", hint="Give its id, such as m345.")
            earlier = memory.versions(message.id)
            if json:
                output.print_json({"message": message, "versions": earlier})
            else:
                transcript.show_versions(message, earlier)
            return
        messages = memory.sessions.messages(info.id)
        summary = next(iter(memory.summaries.list(session_id=info.id, level="session", limit=1)), None)
        if message is not None:
            variants = memory.variants(message.id)
            importance = memory.pins.importance(message.id)
            memory.pins.note_recalled([message.id])
    if message is not None:
        if json:
            position = transcript.message_position(message, messages)
            shown = {"message": message, "session": info, "place": position, "variants": variants}
            output.print_json({**shown, "importance": importance})
        else:
            transcript.show_message(message, info, messages, variants, importance)
    elif json:
        output.print_json({"session": info, "messages": messages, "summary": summary})
    else:
        transcript.show_session(info, messages, summary)


def export(
    file: Annotated[str, path_argument("FILE|-", "The file to write; - is stdout.")],
    ids: Annotated[
        list[str] | None, argument("[ID]…", "Only these conversations (s12) and messages (m345). Default: everything.")
    ] = None,
    format: Annotated[
        str | None,
        option(
            "--format",
            "jsonl|markdown|html",
            "jsonl can be ingested again; markdown and html are for reading. Default: by the suffix, else jsonl.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        option("--user", "U", "Export only this user's messages. Default: all users.", callback=options.refuse_empty),
    ] = None,
    mask_secrets: Annotated[
        bool, flag("--mask-secrets", "Hide keys, tokens, card numbers and passwords, as for an assistant.")
    ] = False,
    messages_only: Annotated[bool, flag("--messages-only", "Leave out everything but messages.")] = False,
    force: Annotated[bool, flag("--force", "Overwrite the file if it exists.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Export everything, or some conversations and messages.

    Native JSONL has one message per line, then what else the memory holds, in lines with the key "record": how
    conversations are set, branches, earlier forms of messages, facts and what you decided about them, and digests of
    what was forgotten. HTML is one page without scripts that loads nothing. The file is written completely or not at
    all, and only you can read it. An existing file is overwritten only with --force.
    Messages that are damaged in the database are named, and the exit code is 1; all others are exported.

    \b
    Examples:
      appliance export memory.jsonl
      appliance export memory.md --user ana
      appliance export - --messages-only | jq -r .content
      appliance export trip.html s12 m345
    """

    if _ID.fullmatch(file):
        hint = f"Name the file first: 'appliance export {file}.jsonl {file}'. './{file}' is a file of this name."
        raise UsageError(f"{file} is an id and no file; nothing was exported.", hint=hint)
    if format is None:
        format = export_files.format_of(file)
    if format not in export_files.FORMATS:
        raise UsageError(f"There is no format {format!r}.", hint=f"Use one of {', '.join(export_files.FORMATS)}.")
    if file == "-" and json:
        raise UsageError(
            "--json can't be used with -: both print to stdout.",
            hint="Leave --json out, or name a file to get a report as JSON.",
        )
    target = None if file == "-" else _writable_target(file, force)
    with options.open_to_read(home, "export", reveal=not mask_secrets) as memory:
        state = format == "jsonl" and not (ids or messages_only or mask_secrets)
        chunks = export_files.ReadableChunks(
            export_files.export_chunks(memory, format, user, ids=ids or (), state=state)
        )
        if target is None:
            sys.stdout.buffer.writelines(_neutral(chunks, format) if output.is_terminal() else chunks)
            sys.stdout.buffer.flush()
            chunks.raise_if_incomplete()
            return
        report = {**_write(target, chunks, force), "format": format}
    if json:
        problem = {"damaged": str(chunks.error.args[0])} if chunks.error else {}
        output.print_json({**report, **problem})
    else:
        output.print_line(f"{report['path']}: {output.format_size(report['bytes'])}")
    if chunks.error is not None:
        output.say_error(str(chunks.error), chunks.error.hint)
        raise typer.Exit(chunks.error.exit_code)


def _neutral(chunks: Iterable[bytes], format: str) -> Iterator[bytes]:
    """An export as a terminal can show it: controls of JSON are escaped, those of a text are replaced."""
    for chunk in chunks:
        yield output.escape_controls(chunk) if format == "jsonl" else output.clean(chunk.decode()).encode()


def _writable_target(file: str, force: bool) -> Path:
    """The path of a file to write, which exists only if it may be overwritten (``force``).

    Raises:
        UsageError: It is no file, or exists.
    """
    target = Path(file).expanduser().resolve()
    if target.exists() and not target.is_file():
        raise UsageError("Not a file.", where=output.display_path(target), hint="Name a file, or - for stdout.")
    if target.exists() and not force:
        raise _existing_error(target)
    return target


def _existing_error(target: Path) -> UsageError:
    return UsageError(
        "The file exists; nothing was exported.",
        where=output.display_path(target),
        hint="Name another file, or overwrite it with --force.",
    )


def _write(target: Path, chunks: Iterable[bytes], force: bool) -> dict[str, Any]:
    """Write the file as a whole.

    Returns:
        The path and the size in bytes.

    Raises:
        UsageError: the file can't be written, or exists now and may not be overwritten.
        DiskFull: the disk has no room for it.
    """
    try:
        size = export_files.write_export(target, chunks, overwrite=force)
    except FileExistsError as error:
        raise _existing_error(target) from error
    except OSError as error:
        raise _unwritable_error(target, error) from error
    return {"path": output.display_path(target), "bytes": size}


def _unwritable_error(target: Path, error: OSError) -> UsageError | DiskFull:
    from appliance.store.room import is_disk_full

    where = output.display_path(target)
    if is_disk_full(error):
        hint = "Make room there, or name a file on another disk."
        return DiskFull("The disk has no room for the export; nothing was exported.", where=where, hint=hint)
    return UsageError(f"Can't write the file ({error.strerror or error}).", where=where, hint="Name another file.")
