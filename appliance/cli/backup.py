"""``backup`` and ``restore``: copies of the whole memory elsewhere, and a memory from one of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import StoreError
from appliance.paths import find_home

if TYPE_CHECKING:
    from appliance.types import BackupInfo


class _BackupGroup(TyperGroup):
    """Reads ``backup FOLDER`` as ``backup make FOLDER``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and "--help" not in args[:1] and not any(arg in self.commands for arg in args):
            args = ["make", *args]
        return super().parse_args(ctx, args)


verbs = typer.Typer(cls=_BackupGroup, no_args_is_help=True)


@verbs.callback()
def backup(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Back up the whole memory into a folder or a file; list and check backups.

    \b
    Examples:
      appliance backup /media/usb/memory
      appliance backup list /media/usb/memory
      appliance backup verify /media/usb/memory --read-data
    """
    options.inherit_options(context, home, json)


@verbs.command("make")
def make(
    target: Annotated[str, argument("FOLDER|FILE", "A folder, or a file named with a suffix.")],
    keep: Annotated[
        str | None, option("--keep", "7d4w12m", "Then keep the last backup of so many days, weeks, months, years.")
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Back up the memory while it is in use.

    Into a folder with earlier backups, only what has changed since is written. A file holds one backup. Index, logs and
    the exports in the inbox are left out: the index is made again from the vectors, which are in the backup.

    \b
    Examples:
      appliance backup /media/usb/memory
      appliance backup /media/usb/memory --keep 7d4w12m
      appliance backup ~/memory-2026.backup --json
    """  # fmt: skip
    with options.open_existing(home, "backup") as memory, output.step_progress() as step:
        report = memory.backup(target, keep=keep, progress=lambda done, left: step("saving", done, done + left))
    if json:
        output.print_json(asdict(report))
        return
    output.print_line(
        f"{report.path}: {output.plural(report.messages, 'message')}, {output.format_size(report.bytes)},"
        f" {output.format_size(report.new_bytes)} new, in {report.seconds:.1f} s"
    )
    if report.removed:
        output.say(f"Removed {output.plural(len(report.removed), 'older backup')}.")


@verbs.command("list")
def list_backups(
    source: Annotated[str, argument("FOLDER|FILE", "Where the backups are.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the backups in a folder or a file, the latest first.

    \b
    Examples:
      appliance backup list /media/usb/memory
    """
    from appliance.backups import Backups

    found = Backups.list(source)
    if json:
        output.print_json({"path": str(Path(source).expanduser().absolute()), "backups": found})
        return
    output.print_table(
        ("id", "when", "messages", "size", "new", "version"),
        [_row(one) for one in found],
        right=("messages", "size", "new"),
    )


def _row(one: BackupInfo) -> tuple[str, ...]:
    size, new = output.format_size(one.bytes), output.format_size(one.new_bytes)
    return one.id, output.table_timestamp(one.at), f"{one.messages:,}", size, new, one.version


@verbs.command("verify")
def verify(
    source: Annotated[str, argument("FOLDER|FILE", "Where the backups are.")],
    read_data: Annotated[bool, flag("--read-data", "Also read everything, and compare it with its digests.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Check that backups are complete; changes nothing.

    The exit code is 3 if something is missing or damaged. Without --read-data only presence and sizes are checked.

    \b
    Examples:
      appliance backup verify /media/usb/memory
      appliance backup verify ~/memory-2026.backup --read-data --json
    """  # fmt: skip
    from appliance.backups import Backups

    with output.step_progress() as step:
        found = Backups.verify(
            source, read_data=read_data, progress=lambda done, left: step("checking", done, done + left)
        )
    if json:
        output.print_json({"ok": not found.problems, **asdict(found)})
    else:
        output.print_fields(
            {
                "backups": f"{found.backups:,}",
                "packs": f"{found.packs:,}, {output.format_size(found.bytes)}",
                "data": "read" if found.read_data else "not read (--read-data reads it)",
            }
        )
        rows = [["problem", one.where, one.message, f"needed by {', '.join(one.backups)}"] for one in found.problems]
        output.print_columns(rows or [["no problems"]])
    if found.problems:
        output.say(f"{output.plural(len(found.problems), 'problem')} found")
        raise typer.Exit(StoreError.exit_code)


def restore(
    source: Annotated[str, argument("FOLDER|FILE", "Where the backup is.")],
    id: Annotated[
        str | None, option("--id", "ID", "Which backup; its beginning is enough. Default: the latest.")
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Restore a backup into a new home, never over an existing one.

    --home names the new folder, which must not exist or be empty. The index is made again when the memory is first
    opened; until that is done, searches find messages by their words.

    \b
    Examples:
      appliance restore /media/usb/memory --home ~/restored
      appliance restore /media/usb/memory --id 20260401 --home ~/april
      appliance restore ~/memory-2026.backup --home ~/restored --json
    """  # fmt: skip
    from appliance.backups import Backups

    with output.step_progress() as step:
        report = Backups.restore(
            source, find_home(home).root, id=id, progress=lambda done, left: step("restoring", done, done + left)
        )
    if json:
        output.print_json(asdict(report))
    else:
        output.print_line(
            f"{report.home}: {output.plural(report.messages, 'message')} of {output.format_timestamp(report.at)},"
            f" {output.format_size(report.bytes)}, in {report.seconds:.1f} s"
        )
    for part in report.lost:
        output.say(f"not restored: {part.where}: {part.reason}")
    if report.lost:
        raise typer.Exit(1)
