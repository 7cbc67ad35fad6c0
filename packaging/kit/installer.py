"""Installs, upgrades and removes the memory appliance from this file, without a network.

    python3 KIT.pyz install      for this user, without changing anything outside of the two folders that it names
    python3 KIT.pyz rollback     back to the version before
    python3 KIT.pyz uninstall    the program goes, memories stay
    python3 KIT.pyz verify       whether the kit is whole
    python3 KIT.pyz unpack DIR   everything in it: wheels, licences, bill of materials, documentation

It needs Python alone, not even pip. Each version is installed in a folder of its own, is tried, and only then becomes
the current one, so that an installation that fails or is killed leaves the version before in use.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DESCRIPTION = "kit.json"
CHECKSUMS = "SHA256SUMS"
NEEDED_BYTES = 700_000_000
"""What an installation needs at its largest: the program, byte code, and the wheels until they are installed."""

MARK = "installed"
"""An empty file in the folder of a version that has been installed and tried."""

KEPT_VERSIONS = 2
"""The current one, and the one before, to which ``rollback`` goes back."""

PROGRAM = ("-I", "-m", "appliance")
"""How Python runs the program: whatever is set for other Pythons, and wherever one stands."""

COMMAND_VARIABLE = "MEMORY_APPLIANCE_COMMAND"
"""Tells the program which command starts it, whatever version is current: clients and the service manager are given
it."""

IS_WINDOWS = os.name == "nt"
_COPY_BYTES = 1 << 20


class KitError(Exception):
    """The kit can't do what it was asked for; the message says why, and what to do."""


class Kit:
    """The file that this program is in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.description: Mapping[str, Any] = json.loads(archive.read(DESCRIPTION))

    @property
    def label(self) -> str:
        """The name of the folder of this version: the version, and the first digits of the kit's checksum list."""
        with zipfile.ZipFile(self.path) as archive:
            return f"{self.description['version']}-{hashlib.sha256(archive.read(CHECKSUMS)).hexdigest()[:8]}"

    def check(self) -> int:
        """Compare every entry with its checksum. Returns their number.

        Raises:
            KitError: One of them is damaged, missing, or not listed.
        """
        with zipfile.ZipFile(self.path) as archive:
            sums = dict(line.split("  ", 1)[::-1] for line in archive.read(CHECKSUMS).decode().splitlines())
            names = set(archive.namelist()) - {CHECKSUMS}
            if odd := sorted(names ^ set(sums)):
                problem = "not listed in" if odd[0] in names else "missing from"
                raise KitError(f"{odd[0]} is {problem} this kit. Copy the kit again.")
            for name, expected in sums.items():
                if _digest(archive, name) != expected:
                    raise KitError(f"{name} is damaged in {self.path}. Copy the kit again.")
        return len(sums)

    def extract(self, folder: Path, prefix: str = "") -> list[Path]:
        """Write the entries whose names begin with ``prefix`` into a folder."""
        with zipfile.ZipFile(self.path) as archive:
            return [Path(archive.extract(name, folder)) for name in archive.namelist() if name.startswith(prefix)]


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as entry:
            while block := entry.read(_COPY_BYTES):
                digest.update(block)
    except (zipfile.BadZipFile, EOFError, OSError):  # its own checksum is wrong, or the file ends in it
        return ""
    return digest.hexdigest()


# --- where things go ------------------------------------------------------------------------------------


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
        """The folder of the version in use."""
        try:
            label = self._current.read_text().strip()
        except FileNotFoundError:
            return None
        return self.versions / label

    def switch(self, label: str) -> None:
        """Make a version the current one, at once."""
        _replace(self._current, label + "\n")

    def installed(self) -> list[Path]:
        """The versions that were installed and tried, the latest first."""
        if not self.versions.is_dir():
            return []
        found = [one for one in self.versions.iterdir() if (one / MARK).exists()]
        return sorted(found, key=lambda one: (one / MARK).stat().st_mtime_ns, reverse=True)

    def write_command(self) -> None:
        """Write the command, which starts the current version.

        Raises:
            KitError: Something else has its name.
        """
        if self.command.is_symlink() or (self.command.exists() and not self.owns_command()):
            raise KitError(
                f"{self.command} exists and is not of this kit. Move it away, or name another folder with --bin."
            )
        self.commands.mkdir(parents=True, exist_ok=True)
        _replace(self.command, self._command_text(), 0o755)

    def owns_command(self) -> bool:
        """Whether the command is that of this installation."""
        try:
            return self.command.read_bytes() == self._command_text().encode()
        except OSError:
            return False

    def _command_text(self) -> str:
        return _windows_command(self) if IS_WINDOWS else _posix_command(self)


def _posix_command(place: Place) -> str:
    return (
        "#!/bin/sh\n"
        "# The memory appliance, as its offline kit installed it.\n"
        f"prefix={shlex.quote(str(place.prefix))}\n"
        f"export {COMMAND_VARIABLE}={shlex.quote(str(place.command))}\n"
        'read -r version < "$prefix/current" || exit 1\n'
        'exec "$prefix/versions/$version/bin/python" -I -m appliance "$@"\n'
    )


def _windows_command(place: Place) -> str:
    return (
        "@echo off\r\n"
        "rem The memory appliance, as its offline kit installed it.\r\n"
        f'set "{COMMAND_VARIABLE}={place.command}"\r\n'
        f'set /p version=<"{place.prefix}\\current"\r\n'
        f'"{place.prefix}\\versions\\%version%\\Scripts\\python.exe" -I -m appliance %*\r\n'
    )


def _replace(path: Path, content: str, mode: int = 0o644) -> None:
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


# --- install --------------------------------------------------------------------------------------------


def install(kit: Kit, place: Place, *, backup: bool = True) -> None:
    """Install the version of a kit beside the ones that are there, try it, and make it the current one.

    Raises:
        KitError: This machine is another one than the kit is for, there is no room, the kit is damaged, the memory
            can't be backed up, or the new version does not run. What was installed before is in use as before.
    """
    check_machine(kit.description["target"])
    previous = place.current()
    label = kit.label
    folder = place.versions / label
    if previous == folder and (folder / MARK).exists():
        place.write_command()
        say(f"Version {label} is installed already, and in use.")
        return
    place.versions.mkdir(parents=True, exist_ok=True)
    check_room(place.prefix)
    say(f"Checking the kit: {kit.check()} entries are whole.")
    if place.command.exists() and not place.owns_command():
        place.write_command()  # says what is in its place
    if not (folder / MARK).exists():
        with undone_on_failure(folder):
            build_environment(kit, folder)
            try_out(folder)
            (folder / MARK).touch()
    if previous is not None and backup:
        back_up(previous)
    place.switch(label)
    place.write_command()
    for old in place.installed()[KEPT_VERSIONS:]:
        if old != folder and old != previous:
            shutil.rmtree(old, ignore_errors=True)
    say(f"Installed {label} in {folder}.")
    if previous is not None:
        say(f"The version before, {previous.name}, is kept: 'rollback' goes back to it.")
        say("Restart what runs of it: a daemon, a screen, an assistant's client.")
    if str(place.commands) not in os.environ.get("PATH", "").split(os.pathsep):
        say(f"{place.commands} is not in PATH: type {place.command}, or add the folder.")
    say("Next: appliance demo, or appliance discover to see what could be read on this machine.")


def check_machine(target: Mapping[str, str]) -> None:
    """Raise KitError unless the kit is for this system, processor and version of Python."""
    machine = {"AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    system = {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    here = f"{system}-{machine}"
    if here != target["platform"]:
        raise KitError(f"This kit is for {target['platform']}, and this machine is {here}. Take the kit for {here}.")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != target["python"]:
        other = shutil.which(f"python{target['python']}")
        way = f"Run it with {other}." if other else f"Take the kit for Python {version}."
        raise KitError(f"This kit is for Python {target['python']}, and this is Python {version}. {way}")
    name, glibc = platform.libc_ver()
    if target.get("glibc") and name == "glibc" and _numbers(glibc) < _numbers(target["glibc"]):
        raise KitError(f"This kit needs glibc {target['glibc']} or later, and this system has {glibc}.")
    if target.get("glibc") and name != "glibc":
        raise KitError("This kit needs a system with glibc; Alpine and others with musl are not supported.")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise KitError(
            f"{folder} has {free // 1_000_000} MB left, and {NEEDED_BYTES // 1_000_000} MB are needed. Make room, or"
            " name another folder with --prefix."
        )


@contextmanager
def undone_on_failure(folder: Path) -> Iterator[None]:
    """Remove a folder if what is done within the context fails, or is interrupted."""
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted installation left
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def build_environment(kit: Kit, folder: Path) -> None:
    """Make a virtual environment with the wheels of a kit."""
    say("Installing …")
    venv.EnvBuilder(with_pip=False, symlinks=not IS_WINDOWS).create(folder)
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        kit.extract(Path(unpacked), "wheels/")
        (tool,) = kit.extract(Path(unpacked), "installer/")
        wheels = [str(Path(unpacked) / "wheels" / name) for name in kit.description["wheels"]]
        options = [
            "--isolated",
            "--no-index",
            "--no-deps",
            "--no-compile",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ]
        run(
            [
                python_of(folder),
                str(tool / "pip") if tool.is_dir() else f"{tool}/pip",
                "install",
                "-q",
                *options,
                *wheels,
            ],
            "install its packages",
        )
    (packages,) = (*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages"))
    for pattern in kit.description["unused"]:
        for unused in [*packages.glob(pattern)]:
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()
    for name in ("docs", "man", "completions", "licences"):
        kit.extract(folder / "share", f"{name}/")


def try_out(folder: Path) -> None:
    """Run the new version on its own samples, in a memory that is removed again. This also compiles what it loads."""
    say("Trying it …")
    with tempfile.TemporaryDirectory() as home:
        run(
            [python_of(folder), *PROGRAM, "demo"], "run its demo", {"APPLIANCE_HOME": f"{home}/memory", "NO_COLOR": "1"}
        )


def back_up(previous: Path) -> None:
    """Back the person's memory up with the version that has written it, beside it. A home that is not there needs
    none."""
    asked = subprocess.run(
        [python_of(previous), "-I", "-c", "from appliance import paths; print(paths.find_home(None).root)"],
        capture_output=True, text=True, env=_environment(),
    )  # fmt: skip
    if asked.returncode != 0:
        raise KitError(
            f"The version before can't say where the memory is, so it can't be backed up:\n{asked.stderr.strip()}\n"
            "Back it up by other means, then install with --no-backup."
        )
    home = asked.stdout.strip()
    if not (Path(home) / "recall.db").exists():
        return
    target = Path(f"{home}-backups")
    say(f"Backing up {home} into {target} …")
    run(
        [python_of(previous), *PROGRAM, "backup", str(target), "--home", home],
        "back up the memory (--no-backup goes on without)",
    )


def python_of(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if IS_WINDOWS else "bin/python"))


def run(command: Sequence[str], purpose: str, more: Mapping[str, str] | None = None) -> None:
    """Run a program; its output is shown only if it fails."""
    ended = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env=_environment() | dict(more or {}),
    )
    if ended.returncode != 0:
        raise KitError(f"Could not {purpose}:\n{ended.stdout.strip()}")


def _environment() -> dict[str, str]:
    """This environment without what would lead another Python or pip elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))}


# --- back, and away -------------------------------------------------------------------------------------


def rollback(place: Place) -> None:
    """Make the version before the current one. Raises KitError if there is none."""
    current = place.current()
    others = [one for one in place.installed() if one != current]
    if current is None or not others:
        raise KitError(f"There is no other version in {place.versions}.")
    place.switch(others[0].name)
    say(
        f"Back to {others[0].name}. A memory that the newer version has opened may be too new for it: then restore the"
        " backup from before the upgrade with 'appliance restore'."
    )


def uninstall(place: Place) -> None:
    """Remove the program. Memories, their settings and backups stay where they are."""
    current = place.current()
    if current is None and not place.versions.is_dir():
        raise KitError(f"Nothing is installed in {place.prefix}.")
    if place.owns_command():
        place.command.unlink()
    for name in ("current", ".current.new"):
        (place.prefix / name).unlink(missing_ok=True)
    shutil.rmtree(place.versions)
    if not any(place.prefix.iterdir()):
        place.prefix.rmdir()
    say(f"Removed the program from {place.prefix}. Memories and backups are left as they are.")


def say(line: str) -> None:
    print(line, flush=True)


def main(arguments: Sequence[str] | None = None, kit_path: Path | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python3 KIT.pyz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for verb, what in (
        ("install", "install or upgrade"),
        ("rollback", "go back to the version before"),
        ("uninstall", "remove the program"),
    ):
        sub = verbs.add_parser(verb, help=what)
        sub.add_argument("--prefix", type=Path, default=default_prefix(), help="the program's folder (%(default)s)")
        sub.add_argument("--bin", type=Path, help=f"the folder of the command ({default_commands(default_prefix())})")
        if verb == "install":
            sub.add_argument("--no-backup", action="store_true", help="upgrade without a backup of the memory")
    verbs.add_parser("verify", help="check that the kit is whole")
    verbs.add_parser("unpack", help="write its entries into a folder").add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    kit = Kit(kit_path or Path(sys.argv[0]))
    try:
        if chosen.verb == "verify":
            say(f"The kit is whole: {kit.check()} entries.")
        elif chosen.verb == "unpack":
            kit.check()
            say(f"{len(kit.extract(chosen.folder))} entries in {chosen.folder}.")
        else:
            prefix = chosen.prefix.expanduser().absolute()
            place = Place(prefix, (chosen.bin or default_commands(prefix)).expanduser().absolute())
            if chosen.verb == "install":
                install(kit, place, backup=not chosen.no_backup)
            else:
                {"rollback": rollback, "uninstall": uninstall}[chosen.verb](place)
    except KitError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or kit.path}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
