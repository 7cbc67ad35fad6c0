"""The memory appliance, as one file: it installs without a network.

    {run} install      for this user; changes nothing outside of the folders that it names. Where this version
                       is installed already, it puts damaged files right
    {run} rollback     back to the version before
    {run} uninstall    the program goes, memories stay
    {run} verify       whether the kit is whole
    {run} unpack DIR   everything in it: wheels, licences, bill of materials, documentation

Each version is installed in a folder of its own, is tried, and only then becomes the current one, so that an
installation that fails or is killed leaves the version before in use.
"""

from __future__ import annotations

import argparse
import errno
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from .installing import install, rollback, uninstall
from .kit_file import Kit, KitError
from .machine import check_machine
from .place import Place, default_commands, default_prefix
from .processes import say


def main(arguments: Sequence[str] | None = None, kit_path: Path | None = None) -> int:
    """Run one command; returns its exit code."""
    path = kit_path or Path(sys.argv[0])
    is_installed = path.is_dir()  # this very installer, in the folder of a version
    run = "appliance" if is_installed else f"sh {path.name}" if path.suffix == ".run" else f"python3 {path.name}"
    parser = argparse.ArgumentParser(
        prog=run,
        description=None if is_installed else (__doc__ or "").format(run=run),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for verb, what in (
        ("install", "install or upgrade"),
        ("rollback", "go back to the version before"),
        ("uninstall", "remove the program"),
    )[is_installed:]:
        sub = verbs.add_parser(verb, help=what)
        sub.add_argument("--prefix", type=Path, default=default_prefix(), help="the program's folder (%(default)s)")
        sub.add_argument("--bin", type=Path, help=f"the folder of the command ({default_commands(default_prefix())})")
        if verb == "install":
            sub.add_argument("--no-backup", action="store_true", help="upgrade without a backup of the memory")
    if not is_installed:
        verbs.add_parser("verify", help="check that the kit is whole")
        verbs.add_parser("unpack", help="write its entries into a folder").add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    try:
        _do(chosen, path)
    except KitError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            print(
                f"error: The disk is full: {error.filename or getattr(chosen, 'prefix', path)}. Make room, or name"
                f" another folder with --prefix. {_what_is_left(chosen)}",
                file=sys.stderr,
            )
        else:
            print(f"error: {error.filename or path}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Interrupted. {_what_is_left(chosen)}", file=sys.stderr)
        return 130
    return 0


def _what_is_left(chosen: argparse.Namespace) -> str:
    """What holds after a command that did not come to its end."""
    if chosen.verb != "install":
        return "Run it again."
    is_upgrade = _place(chosen).current() is not None
    return "What was installed before is in use as before." if is_upgrade else "Nothing was installed."


def _place(chosen: argparse.Namespace) -> Place:
    prefix = chosen.prefix.expanduser().absolute()
    return Place(prefix, (chosen.bin or default_commands(prefix)).expanduser().absolute())


def _do(chosen: argparse.Namespace, path: Path) -> None:
    if chosen.verb == "verify":
        say(f"The kit is whole: {Kit(path).check()} entries.")
        return
    if chosen.verb == "unpack":
        kit = Kit(path)
        kit.check()
        say(f"{len(kit.extract(chosen.folder))} entries in {chosen.folder}.")
        return
    place = _place(chosen)
    if chosen.verb != "install" and not place.versions.is_dir():
        raise KitError(f"Nothing is installed in {place.prefix}.")
    if chosen.verb != "install":
        with place.locked():
            {"rollback": rollback, "uninstall": uninstall}[chosen.verb](place)
        return
    kit = Kit(path)
    check_machine(kit.description["target"])
    place.check_prefix()
    with place.locked():
        install(kit, place, backup=not chosen.no_backup)


def run_as_program() -> int:
    """Run the command that this process was given. A request to end it is an interrupt, after which nothing half done
    stays."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _interrupt)
    return main()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
