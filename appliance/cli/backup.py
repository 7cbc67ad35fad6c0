"""``backup`` and ``restore``: copies of the whole memory elsewhere, and a memory from one of them."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import options, output
from appliance.cli.options import flag, option, path_argument
from appliance.cli.verb_group import VerbGroup, near_command
from appliance.errors import ApplianceError, NotFound, StoreError, UsageError
from appliance.paths import BACKUP_PASSPHRASE_VARIABLE, find_home

if TYPE_CHECKING:
    from appliance.types import BackupInfo


PassphraseFile = Annotated[
    Path | None, option("--passphrase-file", "FILE", "Read the passphrase from the first line of this file.")
]
Identity = Annotated[
    str | None, option("--identity", "FILE", "Decrypt with the private key in this file, of age or SSH.")
]


class _BackupGroup(VerbGroup):
    """Reads ``backup FOLDER`` as ``backup make FOLDER``."""

    default_command = "make"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and not any(arg in self.commands for arg in args):
            for word in args[:1]:
                if meant := near_command(word, self.commands):
                    raise UsageError(
                        f"There is no folder {word!r}; nothing was backed up.",
                        hint=f"Did you mean 'backup {meant}'? A new folder of this name is given as ./{word}.",
                    )
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


verbs = typer.Typer(cls=_BackupGroup)


@verbs.callback()
def backup(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Back up the whole memory into a folder or a file; list and check backups.

    'appliance backup FOLDER|FILE' is short for 'appliance backup make', whose --help has all options.

    \b
    Examples:
      appliance backup /media/usb/memory
      appliance backup /media/usb/memory --encrypt --keep 7d4w12m
      appliance backup list /media/usb/memory
      appliance backup verify /media/usb/memory --read-data
    """
    options.inherit_options(context, home, json)


@verbs.command("make")
def make(
    target: Annotated[str, path_argument("FOLDER|FILE", "A folder, or a file named with a suffix.")],
    keep: Annotated[
        str | None, option("--keep", "7d4w12m", "Then keep the last backup of so many days, weeks, months, years.")
    ] = None,
    encrypt: Annotated[bool, flag("--encrypt", "Encrypt a new folder or file with a passphrase.")] = False,
    recipient: Annotated[
        list[str] | None, option("--recipient", "KEY", "Encrypt a new one to this age or SSH public key; repeatable.")
    ] = None,
    passphrase_file: PassphraseFile = None,
    identity: Identity = None,
    force: Annotated[bool, flag("--force", "Replace the file if it exists.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Back up the memory while it is in use.

    Into a folder with earlier backups, only what has changed since is written. A file holds one backup, and an
    existing one is replaced only with --force. Index, logs and the exports in the inbox are left out: the index is made
    again from the vectors, which are in the backup.

    The passphrase is that in APPLIANCE_BACKUP_PASSPHRASE, or in --passphrase-file, or asked for. Once a folder is
    encrypted, more backups into it need neither passphrase nor key, except with --keep.

    \b
    Examples:
      appliance backup /media/usb/memory
      appliance backup /media/usb/memory --keep 7d4w12m
      appliance backup ~/memory-2026.backup --encrypt --json
    """  # fmt: skip
    if not force and Path(target).expanduser().is_file():
        hint = "Name another file, a folder, which keeps every backup, or replace the file with --force."
        raise UsageError("The file exists; nothing was backed up.", where=output.display_path(target), hint=hint)
    passphrase = _passphrase_to_write(target, encrypt, keep is not None and identity is None, passphrase_file)
    with options.open_existing(home, "backup") as memory, output.step_progress() as step:
        report = memory.backups.make(
            target,
            keep=keep,
            passphrase=passphrase,
            recipients=recipient or (),
            identity=identity,
            progress=lambda done, left: step("saving", done, done + left),
        )
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
    source: Annotated[str | None, path_argument("[FOLDER|FILE]", "Where the backups are.")] = None,
    passphrase_file: PassphraseFile = None,
    identity: Identity = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the backups in a folder or a file, the latest first; without one, where backups of this memory were made.

    \b
    Examples:
      appliance backup list
      appliance backup list /media/usb/memory
    """
    if source is None:
        _list_known(home, json=json)
        return
    from appliance.backups import Backups

    passphrase = passphrase_to_read(source, passphrase_file, identity)
    found = Backups.list(source, passphrase=passphrase, identity=identity)
    if json:
        output.print_json({"path": str(Path(source).expanduser().absolute()), "backups": found})
        return
    output.print_table(
        ("id", "when", "messages", "size", "new", "version"),
        [_row(one) for one in found],
        right=("messages", "size", "new"),
    )


def _list_known(home: str | None, *, json: bool) -> None:
    """Print where backups of the memory were made, as it knows."""
    with options.open_existing(home, "backup") as memory:
        found = memory.backups.known()
    if json:
        output.print_json({"known": found})
        return
    if not found:
        output.say("No backup of this memory is known: 'appliance backup FOLDER' makes one.")
        return
    rows = [
        (
            output.format_timestamp(one.times[-1]), f"{len(one.times):,}",
            "there" if one.is_reachable else "not there now", output.display_path(one.path),
        )
        for one in found
    ]  # fmt: skip
    output.print_table(("latest", "backups", "state", "path"), rows, right=("backups",))
    output.say("'appliance backup list PATH' lists the backups there.")


def _row(one: BackupInfo) -> tuple[str, ...]:
    size, new = output.format_size(one.bytes), output.format_size(one.new_bytes)
    return one.id, output.format_timestamp(one.at), f"{one.messages:,}", size, new, one.version


@verbs.command("verify")
def verify(
    source: Annotated[str, path_argument("FOLDER|FILE", "Where the backups are.")],
    read_data: Annotated[bool, flag("--read-data", "Also read everything, and compare it with its digests.")] = False,
    passphrase_file: PassphraseFile = None,
    identity: Identity = None,
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

    passphrase = passphrase_to_read(source, passphrase_file, identity)
    with output.step_progress() as step:
        found = Backups.verify(
            source,
            read_data=read_data,
            passphrase=passphrase,
            identity=identity,
            progress=lambda done, left: step("checking", done, done + left),
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
    source: Annotated[str, path_argument("FOLDER|FILE", "Where the backup is.")],
    id: Annotated[
        str | None, option("--id", "ID", "Which backup; its beginning is enough. Default: the latest.")
    ] = None,
    passphrase_file: PassphraseFile = None,
    identity: Identity = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Also make the index again. Default: --wait.")] = True,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Restore a backup into a new home, never over an existing one.

    --home names the new folder, which must not exist or be empty. A backup holds the vectors and not the index, which
    is then made again from them. With --no-wait, or after Ctrl-C, a daemon, the screen or 'appliance reindex --pending'
    makes it; until that is done, searches find messages by their words.

    \b
    Examples:
      appliance restore /media/usb/memory --home ~/restored
      appliance restore /media/usb/memory --id 20260401 --home ~/april
      appliance restore ~/memory-2026.backup --home ~/restored --json
    """  # fmt: skip
    from appliance.backups import Backups

    passphrase = passphrase_to_read(source, passphrase_file, identity)
    with output.step_progress() as step:
        report = Backups.restore(
            source,
            find_home(home).root,
            id=id,
            passphrase=passphrase,
            identity=identity,
            progress=lambda done, left: step("restoring", done, done + left),
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
    if not wait or not _make_index(report.home):
        output.say(
            "note: The index is not made yet, so that searches find messages by their words only. Make it with"
            f" 'appliance reindex --pending --home {shlex.quote(report.home)}'."
        )
    if report.lost:
        raise typer.Exit(1)


def _make_index(home: str) -> bool:
    """Make the index of a restored home from its vectors; whether that worked. The memory is restored in any case."""
    try:
        with options.open_existing(home, "restore") as memory, output.progress() as (_, on_embedded):
            memory.embed_pending(on_embedded)
    except ApplianceError as error:
        output.say_error(str(error), error.hint)
        return False
    except KeyboardInterrupt:
        return False
    return True


# --- passphrases ----------------------------------------------------------------------------------------------


def _passphrase_to_write(target: str, encrypt: bool, reads: bool, file: Path | None) -> str | None:
    """The passphrase for a new backup that is to be encrypted, or to read earlier ones that have a passphrase. One that
    is set in the environment does not encrypt a backup by itself."""
    if not encrypt and not (reads and _has_passphrase(target)):
        return None
    return _given_passphrase(file) or _ask_passphrase(target, new=encrypt and not Path(target).expanduser().exists())


def passphrase_to_read(source: str, file: Path | None, identity: str | None) -> str | None:
    """The passphrase of backups that have one: given, or asked for on a terminal."""
    if identity is not None or not _has_passphrase(source):
        return None
    return _given_passphrase(file) or _ask_passphrase(source)


def _has_passphrase(source: str) -> bool:
    from appliance.backups import Backups

    try:
        return Backups.has_passphrase(source)
    except (NotFound, StoreError):  # what reads it says so
        return False


def _given_passphrase(file: Path | None) -> str | None:
    """The passphrase in a file, else in the environment.

    Raises:
        UsageError: The file can't be read.
    """
    if file is None:
        return os.environ.get(BACKUP_PASSPHRASE_VARIABLE) or None
    try:
        lines = file.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"The passphrase can't be read: {reason}.", where=output.display_path(file)) from error
    return lines[0] if lines else ""


def _ask_passphrase(source: str, *, new: bool = False) -> str:
    """Ask for a passphrase, twice if it is new.

    Raises:
        UsageError: There is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        hint = f"Set {BACKUP_PASSPHRASE_VARIABLE}, or use --passphrase-file."
        raise UsageError("A passphrase is needed.", where=output.display_path(source), hint=hint)
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True))
