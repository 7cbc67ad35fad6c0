"""Where an installation is: its versions, the one in use, and the command that starts it."""

from __future__ import annotations

import ntpath
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .kit_file import KitError

MARK = "installed"
"""An empty file in the folder of a version that has been installed and tried."""

COMMAND_VARIABLE = "MEMORY_APPLIANCE_COMMAND"
"""Tells the program which command starts it, whatever version is current: clients and the service manager are given
it."""

INSTALLER = "installer"
"""The folder of a version with this installer: its command goes back and uninstalls without the kit."""

IS_WINDOWS = os.name == "nt"
_SIGNATURE = "The memory appliance, as its offline kit installed it."
"""The second line of a command, by which later versions know it as their own."""

_LOCK = ".lock"

_OWN_NAMES = frozenset({"versions", "current", ".current.new", _LOCK})
_LABEL = re.compile(r"\d[\w.+]*-[0-9a-f]{8}")
"""The name of a version's folder (``Kit.label``)."""


class Place:
    """An installation: a folder with a version in each folder of ``versions``, and the folder of the command."""

    def __init__(self, prefix: Path, commands: Path) -> None:
        self.prefix = prefix
        self.commands = commands
        self.versions = prefix / "versions"
        self._current = prefix / "current"

    @property
    def command(self) -> Path:
        return self.commands / ("appliance.cmd" if IS_WINDOWS else "appliance")

    def current(self) -> Path | None:
        """The folder of the version in use; None if there is none. Where the file that names it is missing or damaged,
        it is the latest that was installed."""
        label = self._named()
        return self.versions / label if _LABEL.fullmatch(label) else next(iter(self.installed()), None)

    def _named(self) -> str:
        try:
            return self._current.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return ""

    def switch(self, label: str) -> None:
        """Make a version the current one, at once."""
        replace_file(self._current, label + ("\r\n" if IS_WINDOWS else "\n"))

    def installed(self) -> list[Path]:
        """The versions that were installed and tried, the latest first."""
        found = [one for one in self.folders() if (one / MARK).exists()]
        return sorted(found, key=lambda one: (one / MARK).stat().st_mtime_ns, reverse=True)

    def unfinished(self) -> list[Path]:
        """What installations left that were killed."""
        return [one for one in self.folders() if not (one / MARK).exists()]

    def folders(self) -> list[Path]:
        """The folders of versions, finished or not, and of nothing else that may lie beside them."""
        found = self.versions.iterdir() if self.versions.is_dir() else ()
        return [one for one in found if _LABEL.fullmatch(one.name) and one.is_dir() and not one.is_symlink()]

    def check_prefix(self) -> None:
        """Raise KitError if the folder holds something that is not of an installation."""
        own = _OWN_NAMES | ({self.commands.name} if self.commands.parent == self.prefix else set())
        entries = [*self.prefix.iterdir()] if self.prefix.is_dir() else []
        odd = [one for one in entries if one.name not in own]
        odd += [one for one in self.versions.iterdir() if one not in self.folders()] if self.versions.is_dir() else []
        if (named := self._named()) and not _LABEL.fullmatch(named) and not self.folders():
            odd.append(self._current)
        if odd:
            raise KitError(f"{min(odd)} is not of this program. Name an empty folder with --prefix.")

    def check_command(self) -> None:
        """Raise KitError if something that is not of this installation has the name of the command."""
        if self.command.is_symlink() or (self.command.exists() and not self.owns_command()):
            raise KitError(
                f"{self.command} exists and is not of this kit. Move it away, or name another folder with --bin."
            )

    def write_command(self) -> None:
        """Write the command, which starts the current version. Raises KitError as ``check_command``."""
        self.check_command()
        self.commands.mkdir(parents=True, exist_ok=True)
        replace_file(self.command, self._command_text(), 0o755)

    def owns_command(self) -> bool:
        """Whether the command is of an installation in this place, of whatever version."""
        try:
            _, signature, place, *_ = self.command.read_text(encoding="utf-8").splitlines()
            if IS_WINDOWS:
                return signature == f"rem {_SIGNATURE}"
            return signature == f"# {_SIGNATURE}" and shlex.split(place) == [f"prefix={self.prefix}"]
        except (OSError, ValueError):  # there is none, or it is something else
            return False

    def _command_text(self) -> str:
        return windows_command(self) if IS_WINDOWS else posix_command(self)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other installers away from this place within the context.

        Raises:
            KitError: One is at work.
        """
        self.prefix.mkdir(parents=True, exist_ok=True)
        path = self.prefix / _LOCK
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(file)
        except OSError:
            os.close(file)
            raise KitError(f"Another installer is at work in {self.prefix}. Wait for its end.") from None
        try:
            yield
        finally:
            if IS_WINDOWS:  # where an open file can't be removed
                os.close(file)
            self._remove_if_empty(path)
            if not IS_WINDOWS:
                os.close(file)

    def _remove_if_empty(self, lock: Path) -> None:
        """Remove the folders of the installation if there is no version in them."""
        with suppress(OSError):  # one of them is not empty, or is there no longer
            self.versions.rmdir()
        if not self.versions.exists() and not self._current.exists():
            with suppress(OSError):
                lock.unlink()
                self.prefix.rmdir()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def posix_command(place: Place) -> str:
    return (
        "#!/bin/sh\n"
        f"# {_SIGNATURE}\n"
        f"prefix={shlex.quote(str(place.prefix))}\n"
        f"export {COMMAND_VARIABLE}={shlex.quote(str(place.command))}\n"
        'version=; { read -r version < "$prefix/current"; } 2>/dev/null\n'
        "folder=$prefix/versions/$version\n"
        "python=$folder/bin/python\n"
        "damaged() {\n"
        '  echo "error: The installation in $prefix is damaged: $1 Install the kit again." >&2\n'
        "  exit 1\n"
        "}\n"
        "case ${1-} in rollback | uninstall)\n"
        "  installer=\n"
        '  for one in "$folder" "$prefix"/versions/*; do\n'
        f'    [ ! -d "$one/{INSTALLER}" ] || installer=${{installer:-$one/{INSTALLER}}}\n'
        "  done\n"
        # By the first Python that runs it: that of the version in use may be what is damaged.
        '  for one in "$folder" "$prefix"/versions/*; do\n'
        '    ! "$one/bin/python" -IB "$installer" --help >/dev/null 2>&1 ||\n'
        '      exec "$one/bin/python" -IB "$installer" "$@" --prefix "$prefix"'
        f" --bin {shlex.quote(str(place.commands))}\n"
        "  done\n"
        '  [ -z "$installer" ] || damaged "No Python in it runs."\n'
        "esac\n"
        '[ -n "$version" ] || damaged "$prefix/current is missing or empty."\n'
        '[ -x "$python" ] || damaged "$python is missing."\n'
        'exec "$python" -I -m appliance "$@"\n'
    )


def windows_command(place: Place) -> str:
    """A batch file. It names the installation as seen from its own folder: batch files are read in the console's code
    page, in which a person's name may look otherwise.

    Raises:
        KitError: The folders are on two drives, or the way between them has letters beyond ASCII.
    """
    try:
        way = ntpath.relpath(place.prefix, place.commands)
    except ValueError:
        raise KitError("--bin and --prefix must be on the same drive.") from None
    if not way.isascii():
        raise KitError(f"The way from --bin to --prefix must have no letters beyond ASCII: {way}. Name other folders.")
    prefix = "%~dp0" + way.replace("%", "%%")
    return (
        "@echo off\r\n"
        f"rem {_SIGNATURE}\r\n"
        "setlocal DisableDelayedExpansion\r\n"
        f'set "{COMMAND_VARIABLE}=%~f0"\r\n'
        f'set /p version=<"{prefix}\\current"\r\n'
        f'"{prefix}\\versions\\%version%\\Scripts\\python.exe" -I -m appliance %*\r\n'
    )


def replace_file(path: Path, content: str, mode: int = 0o644) -> None:
    """Write a small file so that it is there as a whole, or as before."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.chmod(mode)
    temporary.replace(path)


def default_prefix() -> Path:
    if IS_WINDOWS:
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "Programs" / "memory-appliance"
    return Path.home() / ".local/lib/memory-appliance"


def default_commands(prefix: Path) -> Path:
    return prefix / "bin" if IS_WINDOWS else Path.home() / ".local/bin"
