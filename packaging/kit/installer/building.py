"""Makes the folder of a version from a kit, and puts right what is damaged in one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .contents import OWN_PYTHON, files_of
from .kit_file import Kit, KitError
from .place import IS_WINDOWS
from .processes import PROGRAM, python_of, run, say

_IS_HERE = "import os, sys; sys.exit(not os.path.samefile(sys.prefix, sys.argv[1]))"
_LISTED = 10


@contextmanager
def undone_on_failure(folder: Path) -> Iterator[None]:
    """Remove a folder if what is done within the context fails, or is interrupted."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def build(kit: Kit, folder: Path) -> None:
    """Make a virtual environment with the packages of a kit, and try it.

    Raises:
        KitError: The new version does not run.
        OSError: A file can't be written.
    """
    say("Installing …")
    for file in files_of(kit):
        file.write(folder)
    _make_environment(kit, folder)
    try_out(folder)


def _make_environment(kit: Kit, folder: Path) -> None:
    python = getattr(sys, "_base_executable", sys.executable)
    if own := kit.description.get("python"):
        python = str(folder / OWN_PYTHON / own["executable"])
    for link in (folder / "bin").glob("python*"):  # which venv would leave as they are
        link.unlink()
    kind = "--copies" if IS_WINDOWS else "--symlinks"
    run([python, "-I", "-m", "venv", "--without-pip", kind, str(folder)], "make an environment")


def try_out(folder: Path) -> None:
    """Run a version on its own samples, in a memory that is removed again. This also compiles what it loads."""
    say("Trying it …")
    with tempfile.TemporaryDirectory() as home:
        run(
            [python_of(folder), *PROGRAM, "demo"], "run its demo", {"APPLIANCE_HOME": f"{home}/memory", "NO_COLOR": "1"}
        )


def put_right(kit: Kit, folder: Path) -> int:
    """Compare every file of an installed version with the kit, and write again what is damaged or missing. Files that
    are not of the kit are left as they are, but for byte code, which Python makes anew. Returns how many were damaged.

    Raises:
        KitError: It does not run although every file is as it should be.
        OSError: A file can't be written.
    """
    say(f"Checking the files of {folder.name} …")
    repaired, count = [], 0
    for file in files_of(kit):
        count += 1
        if not file.is_whole(folder):
            file.write(folder)
            repaired.append(file.path)
    if not _has_its_python(folder):
        _make_environment(kit, folder)
        repaired.append("bin/python")
    for cache in [*folder.rglob("__pycache__")]:
        shutil.rmtree(cache, ignore_errors=True)
    if repaired:
        more = [f"and {len(repaired) - _LISTED} more"] if len(repaired) > _LISTED else []
        number = "1 file was" if len(repaired) == 1 else f"{len(repaired)} files were"
        say("\n  ".join([f"{number} damaged or missing, now as in the kit:", *repaired[:_LISTED], *more]))
    else:
        say(f"All {count} files are as in the kit.")
    try_out(folder)
    return len(repaired)


def _has_its_python(folder: Path) -> bool:
    """Whether the Python of a version runs, and takes this folder for its own."""
    try:
        run([python_of(folder), "-I", "-c", _IS_HERE, str(folder)], "run its Python")
    except KitError:
        return False
    return True
