"""Installs, upgrades, goes back and removes."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path

from . import machine, running, service, shared_files
from .building import build, put_right, undone_on_failure
from .contents import files_of, needed_bytes
from .kit_file import Kit, KitError
from .place import IS_WINDOWS, MARK, Place
from .processes import PROGRAM, ask, python_of, run, say

_BACKUP = "backup-before"
"""A file in the folder of a version that names the backup made before it took the place of another."""

_PREVIOUS = "previous"
"""A file in the folder of a version that names the one that it took the place of, to which ``rollback`` goes back.
Empty where there was none, and where it was gone back from."""

_NEWER = "newer"
"""A file in the folder of a version that was gone back to, and could not read the memory: the name of the folder of the
version that could."""

_FIND_HOME = "from appliance import paths; print(paths.find_home(None).root)"


def install(kit: Kit, place: Place, *, backup: bool = True) -> None:
    """Install the version of a kit beside the ones that are there, try it, and make it the current one. Where it is
    there already, its files are checked, and put right.

    Raises:
        KitError: There is no room, the kit is damaged, the memory can't be backed up, or the new version does not run.
            What was installed before is in use as before.
        OSError: A file can't be written: likewise.
    """
    previous = place.current()
    if previous is not None and not (previous / MARK).exists():
        previous = None  # its folder was removed by other means
    entries = kit.check()
    say(f"Checking the kit: {entries} entries are whole.")
    label = kit.label
    folder = place.versions / label
    repaired = put_right(kit, folder) if (folder / MARK).exists() else 0
    if previous == folder:
        _put_in_use(place, folder, previous if repaired else None)
        say(f"Version {label} is installed already, and in use.")
        _name(
            running.processes(place) if repaired else [], "Running since before the repair; end it and start it again:"
        )
        return
    place.check_command()
    is_new = not (folder / MARK).exists()
    with undone_on_failure(folder) if is_new else nullcontext():
        if is_new:
            place.versions.mkdir(parents=True, exist_ok=True)
            for left in place.unfinished():
                shutil.rmtree(left, ignore_errors=True)
            machine.check_room(place.prefix, needed_bytes(files_of(kit)))
            build(kit, folder)
        (folder / MARK).touch()
        saved = back_up(previous) if previous is not None and backup else None
        (folder / _BACKUP).write_text("" if saved is None else str(saved), encoding="utf-8")
        (folder / _PREVIOUS).write_text("" if previous is None else previous.name, encoding="utf-8")
    _put_in_use(place, folder, previous)
    say(f"Installed {label} in {folder}.")
    if previous is not None:
        way = "the same file with 'rollback'" if IS_WINDOWS else "'appliance rollback'"
        say(f"The version before, {previous.name}, is kept: {way} goes back to it.")
    _drop_old(place)
    for line in shared_files.described(place):
        say(line)
    if str(place.commands) not in os.environ.get("PATH", "").split(os.pathsep):
        say(f"{place.commands} is not in PATH: type {place.command}, or add the folder.")
    say("Next: appliance demo, or appliance discover to see what could be read on this machine.")


def back_up(previous: Path) -> Path | None:
    """Back the person's memory up with the version that has written it, beside it: the one in use, or after a rollback
    the newer one. Returns the folder of backups; None if there is no memory, which needs none.

    Raises:
        KitError: The backup fails.
    """
    home = _memory_of(previous)
    if home is None:
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


def _memory_of(folder: Path) -> str | None:
    """The folder of the person's memory, as a version finds it; None if there is no memory in it.

    Raises:
        KitError: The version can't say.
    """
    asked = ask([python_of(folder), "-I", "-c", _FIND_HOME])
    if asked.returncode != 0:
        raise KitError(
            f"{folder.name} can't say where the memory is, so it can't be backed up:\n{asked.stderr.strip()}\n"
            "If it is damaged, its own kit puts it right with 'install'. Or back the memory up by other means, then"
            " install with --no-backup."
        )
    home = asked.stdout.strip()
    return home if (Path(home) / "recall.db").exists() else None


def _run_backup(folder: Path, home: str, target: Path) -> None:
    run(
        [python_of(folder), *PROGRAM, "backup", str(target), "--home", home],
        "back the memory up with the version in use. If that is damaged, its own kit puts it right with 'install';"
        " --no-backup goes on without a backup",
    )


def rollback(place: Place) -> None:
    """Make the version current that the current one took the place of. To go forward again, its kit is installed.

    Raises:
        KitError: There is none, or it does not run.
    """
    current = place.current()
    folder = _previous_of(place, current) if current is not None else None
    if current is None or folder is None:
        others = [one.name for one in place.installed() if one != current]
        newer = f" To use {others[0]} again, install its kit." if others else ""
        raise KitError(f"No version before the one in use is kept in {place.versions}.{newer}")
    try:
        run([python_of(folder), *PROGRAM, "--version"], "start it")
    except KitError as error:
        raise KitError(f"{folder.name} does not run any more; its kit puts it right with 'install'. {error}") from error
    backups = (current / _BACKUP).read_text(encoding="utf-8") if (current / _BACKUP).exists() else ""
    _put_in_use(place, folder, current)
    (current / _PREVIOUS).write_text("", encoding="utf-8")
    say(f"Back to {folder.name}. To use {current.name} again, install its kit.")
    if _memory_of(folder) is None:
        return
    asked = ask([python_of(folder), *PROGRAM, "status"], {"NO_COLOR": "1"})
    if asked.returncode != 0:
        (folder / _NEWER).write_text(current.name, encoding="utf-8")
        say(f"It can't read the memory as it is now:\n{asked.stderr.strip()}")
        if backups:
            say(
                "The backup from before the upgrade can be restored into a new folder:\n"
                f"  appliance restore {shlex.quote(backups)} --home NEW_FOLDER"
            )


def _previous_of(place: Place, folder: Path) -> Path | None:
    """The version that a version took the place of, if it is kept."""
    try:
        name = (folder / _PREVIOUS).read_text(encoding="utf-8")
        found = [place.versions / name] if name else []
    except FileNotFoundError:  # an older installer has noted nothing: the one that was installed before it
        installed = place.installed()
        found = installed[installed.index(folder) + 1 :] if folder in installed else []
    return next((one for one in found if (one / MARK).exists()), None)


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
    """Remove versions but the one in use, the one before it, and those that something runs with."""
    current = place.current()
    needed = {current, current and _previous_of(place, current), *(one.version for one in running.processes(place))}
    for old in place.installed():
        if old not in needed:
            shutil.rmtree(old, ignore_errors=True)
