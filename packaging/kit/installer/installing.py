"""Installs, upgrades, goes back and removes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import machine, running, service, shared_files
from .kit_file import Kit, KitError
from .place import IS_WINDOWS, MARK, Place
from .processes import PROGRAM, clean_environment, python_of, run, say

KEPT_VERSIONS = 2
"""The current one, and the one before, to which ``rollback`` goes back."""

OWN_PYTHON = "python"
"""The folder of a version's own Python, where the kit brings one."""

_BACKUP = "backup-before"
"""A file in the folder of a version that names the backup made before it took the place of another."""

_NEWER = "newer"
"""A file in the folder of a version that was gone back to, and could not read the memory: the name of the folder of the
version that could."""

_FIND_HOME = "from appliance import paths; print(paths.find_home(None).root)"


def install(kit: Kit, place: Place, *, backup: bool = True) -> None:
    """Install the version of a kit beside the ones that are there, try it, and make it the current one.

    Raises:
        KitError: There is no room, the kit is damaged, the memory can't be backed up, or the new version does not run.
            What was installed before is in use as before.
    """
    previous = place.current()
    if previous is not None and not (previous / MARK).exists():
        previous = None  # its folder was removed by other means
    entries = kit.check()
    say(f"Checking the kit: {entries} entries are whole.")
    label = kit.label
    folder = place.versions / label
    if previous == folder:
        place.write_command()
        shared_files.link(place)
        say(f"Version {label} is installed already, and in use. If its files are damaged, uninstall it first.")
        return
    place.versions.mkdir(parents=True, exist_ok=True)
    for left in place.unfinished():
        shutil.rmtree(left, ignore_errors=True)
    machine.check_room(place.prefix)
    place.check_command()
    if not (folder / MARK).exists():
        with undone_on_failure(folder):
            build_environment(kit, folder)
            try_out(folder)
            (folder / MARK).touch()
    (folder / MARK).touch()
    saved = back_up(previous) if previous is not None and backup else None
    if saved is not None:
        (folder / _BACKUP).write_text(str(saved), encoding="utf-8")
    _put_in_use(place, folder, previous)
    say(f"Installed {label} in {folder}.")
    if previous is not None:
        say(f"The version before, {previous.name}, is kept: the same file with 'rollback' goes back to it.")
    _drop_old(place)
    if str(place.commands) not in os.environ.get("PATH", "").split(os.pathsep):
        say(f"{place.commands} is not in PATH: type {place.command}, or add the folder.")
    say("Next: appliance demo, or appliance discover to see what could be read on this machine.")


@contextmanager
def undone_on_failure(folder: Path) -> Iterator[None]:
    """Remove a folder if what is done within the context fails, or is interrupted."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def build_environment(kit: Kit, folder: Path) -> None:
    """Make a virtual environment with the wheels of a kit."""
    say("Installing …")
    if kit.python is not None:
        python = str(kit.unpack_python(folder / OWN_PYTHON))
    else:
        python = getattr(sys, "_base_executable", sys.executable)
    kind = "--copies" if IS_WINDOWS else "--symlinks"
    run([python, "-I", "-m", "venv", "--without-pip", kind, str(folder)], "make an environment")
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        kit.extract(Path(unpacked), "wheels/")
        (tool,) = kit.extract(Path(unpacked), "tools/")
        wheels = [str(Path(unpacked) / "wheels" / name) for name in kit.description["wheels"]]
        options = [
            "--isolated", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--disable-pip-version-check",
        ]  # fmt: skip
        run([python_of(folder), f"{tool}/pip", "install", "-q", *options, *wheels], "install its packages")
    (packages,) = (*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages"))
    for pattern in kit.description["unused"]:
        for unused in [*packages.glob(pattern)]:
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()
    kit.extract(folder, "share/")


def try_out(folder: Path) -> None:
    """Run the new version on its own samples, in a memory that is removed again. This also compiles what it loads."""
    say("Trying it …")
    with tempfile.TemporaryDirectory() as home:
        run(
            [python_of(folder), *PROGRAM, "demo"], "run its demo", {"APPLIANCE_HOME": f"{home}/memory", "NO_COLOR": "1"}
        )


def back_up(previous: Path) -> Path | None:
    """Back the person's memory up with the version that has written it, beside it: the one in use, or after a rollback
    the newer one. Returns the folder of backups; None if there is no memory, which needs none.

    Raises:
        KitError: The backup fails.
    """
    asked = subprocess.run(
        [python_of(previous), "-I", "-c", _FIND_HOME],
        capture_output=True, encoding="utf-8", errors="replace", env=clean_environment(),
    )  # fmt: skip
    if asked.returncode != 0:
        raise KitError(
            f"The version before can't say where the memory is, so it can't be backed up:\n{asked.stderr.strip()}\n"
            "Back it up by other means, then install with --no-backup."
        )
    home = asked.stdout.strip()
    if not (Path(home) / "recall.db").exists():
        return None
    target = Path(f"{home}-backups")
    say(f"Backing up {home} into {target} …")
    newer = previous.parent / (previous / _NEWER).read_text("utf-8") if (previous / _NEWER).exists() else None
    try:
        _run_backup(previous, home, target)
    except KitError:
        if newer is None or not (newer / MARK).exists():
            raise
        _run_backup(newer, home, target)
    return target


def _run_backup(folder: Path, home: str, target: Path) -> None:
    run(
        [python_of(folder), *PROGRAM, "backup", str(target), "--home", home],
        "back up the memory (--no-backup goes on without)",
    )


def rollback(place: Place) -> None:
    """Make the version before the current one. Raises KitError if there is none."""
    current = place.current()
    others = [one for one in place.installed() if one != current]
    if current is None or not others:
        raise KitError(f"There is no other version in {place.versions}.")
    folder = others[0]
    backups = (current / _BACKUP).read_text(encoding="utf-8") if (current / _BACKUP).exists() else None
    _put_in_use(place, folder, current)
    say(f"Back to {folder.name}.")
    asked = subprocess.run(
        [python_of(folder), *PROGRAM, "status"],
        capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace",
        env=clean_environment() | {"NO_COLOR": "1"},
    )  # fmt: skip
    if asked.returncode != 0:
        (folder / _NEWER).write_text(current.name, encoding="utf-8")
        say(f"It can't read the memory as it is now:\n{asked.stderr.strip()}")
        if backups is not None:
            say(
                "The backup from before the upgrade can be restored into a new folder:\n"
                f"  appliance restore {shlex.quote(backups)} --home NEW_FOLDER"
            )


def uninstall(place: Place) -> None:
    """Remove the program. Memories, their settings and backups stay where they are.

    Raises:
        KitError: Nothing is installed, or, on Windows, something of it runs.
    """
    current = place.current()
    if current is None and not place.versions.is_dir():
        raise KitError(f"Nothing is installed in {place.prefix}.")
    if current is not None and (current / MARK).exists() and service.service_of(place, current):
        if problem := service.remove(place, current):
            say(f"The service could not be removed: {problem}")
        else:
            say("The service is removed.")
    shared_files.unlink(place)
    if place.owns_command():
        place.command.unlink()
    still = running.processes(place)
    for name in ("current", ".current.new"):
        (place.prefix / name).unlink(missing_ok=True)
    try:
        for folder in place.folders():
            shutil.rmtree(folder)
    except PermissionError as error:  # Windows keeps the files of what runs
        raise KitError(
            f"{error.filename} can't be removed: {error.strerror}. End what runs of the program, and uninstall again."
        ) from error
    with suppress(OSError):  # something else lies there
        place.versions.rmdir()
    say(f"Removed the program from {place.prefix}. Memories and backups are left as they are.")
    _name(still, "Still running, without its files; end it:")


def _put_in_use(place: Place, folder: Path, previous: Path | None) -> None:
    """Make a version the current one, for the command, the service and the shells."""
    installed = service.service_of(place, previous) if previous is not None else None
    place.switch(folder.name)
    place.write_command()
    for path in shared_files.link(place):
        say(f"{path} is not of this kit, and is left as it is.")
    if installed is not None and installed.is_own:
        problem = service.renew(place, folder)
        say(f"The service could not be restarted: {problem}" if problem else "The service is restarted.")
    elif installed is not None:
        say("The service is for another memory, or was changed: restart it with 'appliance service install'.")
    older = [one for one in running.processes(place) if one.version != folder]
    _name(older, "Running with another version; end it and start it again:")


def _name(processes: list[running.Process], introduction: str) -> None:
    if processes:
        say("\n  ".join([introduction, *map(str, processes)]))


def _drop_old(place: Place) -> None:
    """Remove versions but the latest, and those that something runs with."""
    needed = {place.current(), *(one.version for one in running.processes(place))}
    for old in place.installed()[KEPT_VERSIONS:]:
        if old not in needed:
            shutil.rmtree(old, ignore_errors=True)
