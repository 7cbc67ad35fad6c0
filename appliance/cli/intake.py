"""``ingest`` and ``add``: what goes in."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, out
from appliance.errors import InputError, UsageError

if TYPE_CHECKING:
    from appliance.types import FileReport, IngestReport, Problem, Role

NOTES = "notes"
"""The session of what is added without naming one."""

TOLD = 20
"""How many of one file's damaged places are told one by one."""

HEADS = ("file", "format", "status", "chats", "new", "updated", "known")

PARTLY = 1
"""The exit code when an input failed or could be read only in part."""


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files, folders and zips.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="A format by its name (docs/formats.md); detected unless given.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="U", help="Whose memory they go into.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would happen; change nothing.", show_default=False)
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Take in, too, what was forgotten before.", show_default=False),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Embed and summarise before ending, or leave it for later."),
    ] = True,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read chat exports into the memory.

    The same export again, or a later one, adds only what is new. What can't be read is named, costs only
    itself, and makes the exit code 1.

    \b
    Examples:
      appliance ingest ~/Downloads/chatgpt-export.zip
      appliance ingest exports/ --dry-run
      appliance ingest "WhatsApp Chat with Ana.txt" --user ana --json
    """  # fmt: skip
    report = _ingest(paths, format, user, dry_run, again, wait, home)
    _tell_problems(report, all_notes=not json)
    if json:
        from appliance.server.shapes import ingest_shape

        out.document(ingest_shape(report))
    else:
        _show(report, dry_run)
    if not report.complete:
        wrong = sum(file.status in ("partial", "failed") for file in report.files)
        kept = "would be stored" if dry_run else "is stored"
        out.say(
            f"{wrong} of {out.plural(len(report.files), 'file')} failed or could be read only in part; all else"
            f" {kept}. Put them right and ingest again: only what is new is added."
        )
        raise typer.Exit(PARTLY)


def _ingest(
    paths: list[Path],
    format: str | None,
    user: str | None,
    dry_run: bool,
    again: bool,
    wait: bool,
    home: str | None,
) -> IngestReport:
    with ExitStack() as stack:
        if dry_run and not _begun(home):
            # To try what it would do must not begin a memory.
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="appliance-"))
        memory = stack.enter_context(options.writing(home, "ingest"))
        on_file, on_embedded = stack.enter_context(out.progress())
        report = memory.ingest(
            paths,
            format=format,
            user_id=user,
            dry_run=dry_run,
            again=again,
            wait=wait,
            on_file=on_file,
            on_embedded=on_embedded,
        )
        # Nobody is there afterwards to do it in the background. A language model would take minutes to hours.
        if wait and not dry_run and not memory.settings.llm.base_url:
            memory.tend()
        return report


def _begun(home: str | None) -> bool:
    from appliance.paths import find_home

    return find_home(home).database.is_file()


def _tell_problems(report: IngestReport, *, all_notes: bool) -> None:
    for file in report.files:
        if file.errors:
            out.say(f"{file.status}: {file.path}")
            _tell(file.errors)
        if file.notes and file.status != "skipped" and all_notes:
            out.say(f"note: {file.path}")
            _tell(file.notes)


def _tell(problems: tuple[Problem, ...]) -> None:
    for problem in problems[:TOLD]:
        out.say(f"  {problem.where}: {problem.message}" if problem.where else f"  {problem.message}")
    if len(problems) > TOLD:
        out.say(f"  and {len(problems) - TOLD:,} more; --json lists all errors")


def _show(report: IngestReport, dry_run: bool) -> None:
    if out.on_terminal():
        _draw([file for file in report.files if file.status != "skipped"])
        _tell_skipped([file for file in report.files if file.status == "skipped"])
    else:
        out.table(HEADS, [_row(file) for file in report.files], right=HEADS[3:])
    new = "would be new" if dry_run else "new"
    out.line(
        f"{out.plural(report.total('messages'), 'message')} in"
        f" {out.plural(report.total('conversations'), 'conversation')}:"
        f" {report.total('new'):,} {new}, {report.total('updated'):,} updated,"
        f" {report.total('duplicates'):,} known already"
    )
    out.line(
        f"{out.plural(report.chunks, 'chunk')}, {report.embedded:,} embedded, {report.pending:,} waiting;"
        f" {report.seconds:.1f} s"
    )
    if report.pending and not dry_run:
        out.say("their words are found already; 'appliance reindex --pending' embeds what waits")


def _draw(files: list[FileReport]) -> None:
    """The files as a narrow screen has room for them: without the folder that all are in, and without
    columns that say the same in every row."""
    if not files:
        return
    folder = _common_folder([file.path for file in files])
    rows = [_row(file) for file in files]
    names = [os.path.relpath(file.path, folder) if folder else file.path for file in files]
    keep = [1, *(i for i in range(2, len(HEADS)) if {row[i] for row in rows} - {"ok", "0"})]
    shown = [(name, *(row[i] for i in keep)) for name, row in zip(names, rows, strict=True)]
    out.table(("file", *(HEADS[i] for i in keep)), shown, right=HEADS[3:])
    if len(files) > 1 and folder:
        out.say(f"all in {folder}")


def _common_folder(paths: list[str]) -> str:
    """The folder that all lie in; empty where there is none worth naming."""
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # some are absolute and some are not
        return ""
    return "" if folder == os.path.sep else folder


def _tell_skipped(files: list[FileReport]) -> None:
    if files:
        # The first words of a reason are the kind; what follows a colon is this file's own.
        reasons = Counter(file.notes[0].message.split(":")[0] if file.notes else "" for file in files)
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        out.say(f"passed over {out.plural(len(files), 'file')}: {why}")


def _row(file: FileReport) -> tuple[str, ...]:
    why = f": {file.notes[0].message}" if file.status == "skipped" and file.notes else ""
    counts = (f"{getattr(file, name):,}" for name in ("conversations", "new", "updated", "duplicates"))
    return (file.path, file.format or "-", file.status + why, *counts)


def add(
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="The message; - reads it from stdin.")],
    session: Annotated[
        str,
        typer.Option("--session", metavar="ID", help="An id, an external id, or the name of a new session."),
    ] = NOTES,
    role: Annotated[
        str, typer.Option("--role", metavar="user|assistant|system|tool", help="Who it is.")
    ] = "user",
    author: Annotated[
        str | None, typer.Option("--author", metavar="NAME", help="Who said it.", show_default=False)
    ] = None,
    user: options.User = None,
    pin: Annotated[bool, typer.Option("--pin", help="Mark it as one to keep.", show_default=False)] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Store one message by hand.

    \b
    Examples:
      appliance add "My deadline is March 15th" --pin
      appliance add "The blue key opens the cellar" --session house --author Ana
      pbpaste | appliance add - --session clippings
    """
    from appliance.serving import SOON

    said = stdin() if text == "-" else text
    if not said.strip():
        raise UsageError("there is nothing to add", hint="give a text, or - and a text on stdin")
    with options.writing(home, "add") as memory:
        info = (
            options.own_session(memory, session, user)
            or memory.sessions.create(external_id=session, title=session, user_id=user).info
        )
        kept = memory.sessions.resume(info.id)
        message = kept.add(cast("Role", role), said, author=author, metadata={"pinned": True} if pin else {})
        info = kept.info
        # A backlog of an earlier ingest is left to 'reindex --pending'; one message is done at once.
        if memory.status()["counts"]["pending"] <= SOON:
            memory.embed_pending()
    if json:
        out.document({"message": message})
    else:
        out.line(f"{message.id} added to {info.title or info.external_id} ({info.id})")


def stdin() -> str:
    """The text on stdin, as somebody typed or piped it.

    Raises:
        InputError: it is not UTF-8.
    """
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 text at byte {error.start}",
            where="stdin",
            hint="convert it first, for instance by iconv",
        ) from error
    return text.removesuffix("\n").removesuffix("\r")
